/*
 * resp.c -- see resp.h, which has the states of the scanner.
 *
 * The bytes of the scanner come from a peer, so it checks everything.  The cursor reads only frames
 * that the scanner has accepted, so anything wrong there is a programming error.  Asserts catch it
 * before a byte outside the frame is read.
 */
#include "engine/redis/wire/resp.h"
#include "core/text.h"

#include <string.h>

enum {
    PREFIX_SIZE     = 4,  /* of a verbatim string: "txt:" */
    LINE_END_SIZE   = 2,  /* CR LF */
    NUMBER_SIZE_MAX = 20, /* the digits of UINT64_MAX, or a sign and those of INT64_MIN */
    LONG_HEAD_MAX   = 24, /* "$1099511627776\r\n" has 16 bytes */
};

#define LONG_MAX_BYTES (UINT64_C(1) << 40) /* no server has a longer value */

_Static_assert(BWL_RESP_ELEMENTS_MAX <= UINT16_MAX, "scan.left has 16 bits");
_Static_assert(BWL_RESP_BULK_MAX < BWL_RESP_FRAME_MAX, "the largest bulk fits into a frame");

static bool is_text(char type)
{
    return type == '+' || type == '-' || type == ',' || type == '(';
}

static bool is_bulk(char type)
{
    return type == '$' || type == '!' || type == '=';
}

static bool is_aggregate(char type)
{
    return type == '*' || type == '~' || type == '>' || type == '%' || type == '|';
}

/* The number of values inside an aggregate with this number in its header. */
static uint64_t children_of(char type, uint64_t number)
{
    const bool holds_pairs = type == '%' || type == '|';

    assert(is_aggregate(type));
    assert(number <= BWL_RESP_ELEMENTS_MAX * 10 + 9);
    return holds_pairs ? 2 * number : number;
}

/* The number of values after the header of an aggregate, up to its end.  An attribute ends with the
 * value that it annotates, so that value counts too. */
static uint64_t items_of(char type, uint64_t number)
{
    return children_of(type, number) + (type == '|' ? 1 : 0);
}

/* ---- the scanner ---- */

static bwl_resp_status take_type(bwl_resp_scan *scan, char byte)
{
    /* A push inside a reply would count as an item of the reply, and all later replies would go to
     * the wrong requests. */
    if (byte == '>' && scan->depth > 0)
        return BWL_RESP_MALFORMED;

    if (is_text(byte))
        scan->state = BWL_RESP_AT_TEXT;
    else if (byte == '#' || byte == '_')
        scan->state = BWL_RESP_AT_MARK;
    else if (byte == ':' || is_bulk(byte) || is_aggregate(byte))
        scan->state = BWL_RESP_AT_NUMBER;
    else
        return BWL_RESP_MALFORMED;
    scan->type     = byte;
    scan->negative = false;
    scan->number   = 0;
    scan->taken    = 0;
    return BWL_RESP_MORE;
}

static bwl_resp_status take_text(bwl_resp_scan *scan, char byte)
{
    if (byte == '\r') {
        scan->state = BWL_RESP_AT_LINE_END;
        return BWL_RESP_MORE;
    }
    if (byte == '\n')
        return BWL_RESP_MALFORMED;
    if (scan->taken == BWL_RESP_LINE_MAX)
        return BWL_RESP_TOO_BIG;

    scan->taken++;
    return BWL_RESP_MORE;
}

/* The line of '#' is one letter, the line of '_' is empty. */
static bwl_resp_status take_mark(bwl_resp_scan *scan, char byte)
{
    const uint32_t letters = scan->type == '#' ? 1 : 0;

    assert(scan->taken <= letters);
    if (scan->taken < letters) {
        scan->taken++;
        return byte == 't' || byte == 'f' ? BWL_RESP_MORE : BWL_RESP_MALFORMED;
    }
    if (byte != '\r')
        return BWL_RESP_MALFORMED;

    scan->state = BWL_RESP_AT_LINE_END;
    return BWL_RESP_MORE;
}

/* True for the header of a RESP2 null: -1 is the only length with a sign. */
static bool is_null_length(const bwl_resp_scan *scan)
{
    return scan->negative && scan->type != ':';
}

static uint64_t magnitude_max(const bwl_resp_scan *scan)
{
    if (is_null_length(scan))
        return 1;
    if (scan->type == ':')
        return (uint64_t)INT64_MAX + (scan->negative ? 1 : 0);
    return UINT64_MAX; /* a length: exceeds_limit() refuses it long before */
}

/* True if the frame would exceed a limit if the number ended here.  More digits make a number only
 * larger, so each digit is checked, and a huge number is refused before its header is complete. */
static bool exceeds_limit(const bwl_resp_scan *scan)
{
    if (scan->type == ':')
        return false;
    if (is_aggregate(scan->type))
        return scan->depth == BWL_RESP_DEPTH_MAX ||
               scan->elements + items_of(scan->type, scan->number) > BWL_RESP_ELEMENTS_MAX;
    assert(is_bulk(scan->type));
    return scan->number > BWL_RESP_BULK_MAX ||
           scan->size + LINE_END_SIZE + scan->number + LINE_END_SIZE > BWL_RESP_FRAME_MAX;
}

static bwl_resp_status take_digit(bwl_resp_scan *scan, char byte)
{
    const bool is_first = scan->taken == (scan->negative ? 1 : 0);

    if (byte < '0' || byte > '9')
        return BWL_RESP_MALFORMED;
    const uint64_t digit = (uint64_t)(byte - '0');
    if (!is_first && scan->number == 0)
        return BWL_RESP_MALFORMED; /* a leading zero */
    if (is_first && scan->negative && digit == 0)
        return BWL_RESP_MALFORMED; /* minus zero */
    const uint64_t max = magnitude_max(scan);
    if (digit > max || scan->number > (max - digit) / 10)
        return BWL_RESP_MALFORMED; /* no int64, or a length below -1 */

    scan->number = scan->number * 10 + digit;
    scan->taken++;
    assert(scan->taken <= NUMBER_SIZE_MAX);
    if (!is_null_length(scan) && exceeds_limit(scan))
        return BWL_RESP_TOO_BIG;
    return BWL_RESP_MORE;
}

static bwl_resp_status take_number(bwl_resp_scan *scan, char byte)
{
    const char type            = scan->type;
    const bool may_be_negative = type == ':' || type == '$' || type == '*';

    if (byte == '-' && scan->taken == 0 && may_be_negative) {
        scan->negative = true;
        scan->taken    = 1;
        return BWL_RESP_MORE;
    }
    if (byte != '\r')
        return take_digit(scan, byte);
    if (scan->taken == (scan->negative ? 1 : 0))
        return BWL_RESP_MALFORMED; /* no digits */
    if (type == '=' && scan->number < PREFIX_SIZE)
        return BWL_RESP_MALFORMED;

    scan->state = BWL_RESP_AT_LINE_END;
    return BWL_RESP_MORE;
}

/* An item is complete, and so is each aggregate whose last item it is. */
static bwl_resp_status end_item(bwl_resp_scan *scan)
{
    scan->state = BWL_RESP_AT_TYPE;
    while (scan->depth > 0) {
        uint16_t *left = &scan->left[scan->depth - 1];

        assert(*left > 0);
        (*left)--;
        if (*left > 0)
            return BWL_RESP_MORE;
        scan->depth--;
    }
    return BWL_RESP_OK;
}

static bwl_resp_status begin_aggregate(bwl_resp_scan *scan)
{
    const uint64_t items = items_of(scan->type, scan->number);

    assert(scan->depth < BWL_RESP_DEPTH_MAX);
    assert(scan->elements + items <= BWL_RESP_ELEMENTS_MAX);
    if (items == 0)
        return end_item(scan);

    scan->elements += (uint32_t)items;
    scan->left[scan->depth] = (uint16_t)items;
    scan->depth++;
    scan->state = BWL_RESP_AT_TYPE;
    return BWL_RESP_MORE;
}

static bwl_resp_status begin_bulk(bwl_resp_scan *scan)
{
    assert(scan->number <= BWL_RESP_BULK_MAX);
    scan->bulk_left = (uint32_t)scan->number;
    scan->taken     = 0;
    scan->state     = scan->type == '=' ? BWL_RESP_AT_PREFIX : BWL_RESP_AT_BULK;
    return BWL_RESP_MORE;
}

static bwl_resp_status take_line_end(bwl_resp_scan *scan, char byte)
{
    if (byte != '\n')
        return BWL_RESP_MALFORMED;
    if (is_null_length(scan))
        return end_item(scan);
    if (is_bulk(scan->type))
        return begin_bulk(scan);
    if (is_aggregate(scan->type))
        return begin_aggregate(scan);
    return end_item(scan);
}

static bwl_resp_status take_prefix(bwl_resp_scan *scan, char byte)
{
    assert(scan->bulk_left > 0);
    assert(scan->taken < PREFIX_SIZE);
    scan->bulk_left--;
    scan->taken++;
    if (scan->taken < PREFIX_SIZE)
        return BWL_RESP_MORE;

    if (byte != ':')
        return BWL_RESP_MALFORMED;
    scan->state = BWL_RESP_AT_BULK;
    return BWL_RESP_MORE;
}

/* A payload may have any bytes, so this takes all that are available. */
static bwl_resp_status take_bulk(bwl_resp_scan *scan, size_t available)
{
    const size_t taken = available < scan->bulk_left ? available : scan->bulk_left;

    assert(taken > 0);
    scan->size += taken;
    scan->bulk_left -= (uint32_t)taken;
    return BWL_RESP_MORE;
}

static bwl_resp_status take(bwl_resp_scan *scan, const char *bytes, size_t size)
{
    assert(scan->size < size);
    assert(scan->state <= BWL_RESP_AT_BULK_LF); /* otherwise it did not begin with { 0 } */
    if (scan->state == BWL_RESP_AT_BULK && scan->bulk_left > 0)
        return take_bulk(scan, size - scan->size);

    const char byte = bytes[scan->size];
    scan->size++;
    switch (scan->state) {
    case BWL_RESP_AT_TYPE: return take_type(scan, byte);
    case BWL_RESP_AT_TEXT: return take_text(scan, byte);
    case BWL_RESP_AT_MARK: return take_mark(scan, byte);
    case BWL_RESP_AT_NUMBER: return take_number(scan, byte);
    case BWL_RESP_AT_LINE_END: return take_line_end(scan, byte);
    case BWL_RESP_AT_PREFIX: return take_prefix(scan, byte);
    case BWL_RESP_AT_BULK: /* after the payload */
        if (byte != '\r')
            return BWL_RESP_MALFORMED;
        scan->state = BWL_RESP_AT_BULK_LF;
        return BWL_RESP_MORE;
    case BWL_RESP_AT_BULK_LF: return byte == '\n' ? end_item(scan) : BWL_RESP_MALFORMED;
    }
    return BWL_RESP_MALFORMED; /* not reached: see the assert above */
}

bwl_resp_status bwl_resp_scan_bytes(bwl_resp_scan *scan, const char *bytes, size_t size)
{
    assert(bytes != NULL || size == 0);
    assert(size >= scan->size);
    while (scan->status == BWL_RESP_MORE && scan->size < size) {
        scan->status = take(scan, bytes, size);
        if (scan->status == BWL_RESP_MORE && scan->size >= BWL_RESP_FRAME_MAX)
            scan->status = BWL_RESP_TOO_BIG;
    }
    assert(scan->status != BWL_RESP_OK || scan->depth == 0);
    return scan->status;
}

/* ---- frames ---- */

/* Reads the head of a value that is too long for a frame, such as "$1000000\r\n".  False: it is not
 * such a head, or not complete. */
static bool read_long_head(const char *bytes, size_t size, size_t *ret_head, uint64_t *ret_length)
{
    const char *end = memchr(bytes, '\r', size);

    if (end == NULL || (size_t)(end - bytes) + 2 > size)
        return false;
    *ret_head = (size_t)(end - bytes) + 2;
    return end[1] == '\n' &&
           bwl_number_parse(ret_length, bytes + 1, (size_t)(end - bytes) - 1, LONG_MAX_BYTES);
}

static bwl_frame_status pass_over(bwl_frames *frames, size_t size, size_t *ret_consumed)
{
    uint64_t skipped = frames->long_left < size ? frames->long_left : size;

    *ret_consumed += (size_t)skipped;
    frames->long_left -= skipped;
    if (frames->long_left > 0)
        return BWL_FRAME_MORE;
    frames->scan = (bwl_resp_scan){ 0 };
    return BWL_FRAME_PASSED;
}

bwl_frame_status bwl_frames_next(bwl_frames *frames, const char *bytes, size_t size,
                                 size_t *ret_consumed)
{
    size_t   head   = 0;
    uint64_t length = 0;

    *ret_consumed = 0;
    if (size == 0)
        return BWL_FRAME_MORE;
    if (frames->long_left > 0)
        return pass_over(frames, size, ret_consumed);
    switch (bwl_resp_scan_bytes(&frames->scan, bytes, size)) {
    case BWL_RESP_MORE: return BWL_FRAME_MORE;
    case BWL_RESP_OK:
        *ret_consumed = frames->scan.size;
        frames->scan  = (bwl_resp_scan){ 0 };
        return BWL_FRAME_WHOLE;
    case BWL_RESP_MALFORMED: return BWL_FRAME_MALFORMED;
    case BWL_RESP_TOO_BIG:
        if (!frames->passes_long || bytes[0] != '$')
            return BWL_FRAME_TOO_BIG;
        if (!read_long_head(bytes, size, &head, &length))
            return size <= LONG_HEAD_MAX ? BWL_FRAME_MORE : BWL_FRAME_TOO_BIG;
        *ret_consumed     = head;
        frames->long_left = length + 2;
        return pass_over(frames, size - head, ret_consumed);
    }
    bwl_unreachable("a status outside of its enum");
}

/* ---- the cursor ---- */

/* The number in a line that take_number() has accepted. */
static int64_t integer_of(const char *line, size_t size)
{
    const bool negative  = line[0] == '-';
    uint64_t   magnitude = 0;

    assert(size > (negative ? 1 : 0));
    assert(size <= NUMBER_SIZE_MAX);
    for (size_t i = negative ? 1 : 0; i < size; i++)
        magnitude = magnitude * 10 + (uint64_t)(line[i] - '0');
    /* int64_t cannot hold the magnitude of INT64_MIN: so subtract one before the negation. */
    return negative ? -(int64_t)(magnitude - 1) - 1 : (int64_t)magnitude;
}

bwl_resp_cursor bwl_resp_begin(const char *bytes, size_t size)
{
    assert(bytes != NULL);
    assert(size <= BWL_RESP_FRAME_MAX);
    return (bwl_resp_cursor){ .bytes = bytes, .size = size };
}

/* Completes a value with a length in its header.  The cursor is after the header. */
static void read_counted(bwl_resp_cursor *cursor, int64_t length, bwl_resp_value *value)
{
    const size_t left = cursor->size - cursor->at;

    if (length < 0) {
        value->type = '_';
    } else if (is_aggregate(value->type)) {
        value->count = (uint32_t)children_of(value->type, (uint64_t)length);
    } else {
        assert(is_bulk(value->type)); /* otherwise the scanner has not accepted this frame */
        assert((uint64_t)length + LINE_END_SIZE <= left);
        value->text = cursor->bytes + cursor->at;
        value->size = (size_t)length;
        cursor->at += value->size + LINE_END_SIZE;
    }
}

/* Moves the cursor, which is after the type byte, to the next line.  Returns the length of the line
 * without CR LF. */
static size_t read_line(bwl_resp_cursor *cursor)
{
    const char *line     = cursor->bytes + cursor->at;
    const char *line_end = memchr(line, '\r', cursor->size - cursor->at);

    assert(line_end != NULL);
    cursor->at += (size_t)(line_end - line) + LINE_END_SIZE;
    assert(cursor->at <= cursor->size);
    return (size_t)(line_end - line);
}

bool bwl_resp_next(bwl_resp_cursor *cursor, bwl_resp_value *ret_value)
{
    assert(cursor->at <= cursor->size);
    if (cursor->at == cursor->size)
        return false;

    bwl_resp_value value = { .type = cursor->bytes[cursor->at] };
    cursor->at++;
    const char  *line      = cursor->bytes + cursor->at;
    const size_t line_size = read_line(cursor);
    if (is_text(value.type)) {
        value.text = line;
        value.size = line_size;
    } else if (value.type == '#') {
        value.integer = line[0] == 't';
    } else if (value.type == ':') {
        value.integer = integer_of(line, line_size);
    } else if (value.type != '_') {
        read_counted(cursor, integer_of(line, line_size), &value);
    }
    *ret_value = value;
    return true;
}

bool bwl_resp_next_bare(bwl_resp_cursor *cursor, bwl_resp_value *ret_value)
{
    bwl_resp_value value;

    while (bwl_resp_next(cursor, &value)) {
        if (value.type != '|') {
            *ret_value = value;
            return true;
        }
        bwl_resp_skip(cursor, &value);
    }
    return false;
}

void bwl_resp_skip(bwl_resp_cursor *cursor, const bwl_resp_value *aggregate)
{
    uint32_t left = aggregate->count;

    assert(left <= BWL_RESP_ELEMENTS_MAX);
    while (left > 0) {
        bwl_resp_value value;
        const bool     found = bwl_resp_next(cursor, &value);

        assert(found);
        left += value.count;
        /* An attribute is not an item. */
        if (value.type != '|')
            left--;
    }
    assert(cursor->at <= cursor->size);
}

bool bwl_resp_text_is(const bwl_resp_value *value, const char *text)
{
    assert(text != NULL);
    if (value->text == NULL)
        return false;
    const size_t size = strlen(text);
    return value->size == size && memcmp(value->text, text, size) == 0;
}

/* ---- the writer ---- */

static size_t count_digits(uint64_t number)
{
    size_t digits = 1;

    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

/* Writes the digits before `end`, as many as the number has. */
static void write_digits(char *end, uint64_t number)
{
    do {
        *--end = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
}

/* Reserves space for a whole item, writes its header, and returns where its payload goes.  NULL:
 * this item or an earlier one did not fit. */
static char *begin_item(bwl_resp_writer *writer, char type, uint64_t number, size_t payload_size,
                        size_t end_size)
{
    const size_t header_size = 1 + count_digits(number) + LINE_END_SIZE;
    const size_t room        = writer->capacity - writer->size;

    assert(writer->size <= writer->capacity);
    if (header_size + end_size > room || payload_size > room - header_size - end_size)
        writer->overflowed = true;
    if (writer->overflowed)
        return NULL;
    char *item    = writer->bytes + writer->size;
    char *payload = item + header_size;
    item[0]       = type;
    write_digits(payload - LINE_END_SIZE, number);
    memcpy(payload - LINE_END_SIZE, "\r\n", LINE_END_SIZE);
    writer->size += header_size + payload_size + end_size;
    return payload;
}

void bwl_resp_write_array(bwl_resp_writer *writer, uint32_t count)
{
    (void)begin_item(writer, '*', count, 0, 0);
}

void bwl_resp_write_bulk(bwl_resp_writer *writer, const char *bytes, size_t size)
{
    assert(bytes != NULL || size == 0);
    char *payload = begin_item(writer, '$', size, size, LINE_END_SIZE);
    if (payload == NULL)
        return;
    if (size > 0) /* bytes may be NULL, which is not allowed for memcpy */
        memcpy(payload, bytes, size);
    memcpy(payload + size, "\r\n", LINE_END_SIZE);
}

void bwl_resp_write_text(bwl_resp_writer *writer, const char *text)
{
    assert(text != NULL);
    bwl_resp_write_bulk(writer, text, strlen(text));
}

void bwl_resp_write_integer(bwl_resp_writer *writer, int64_t integer)
{
    const bool negative = integer < 0;
    /* Unsigned negation is defined for every value, INT64_MIN included. */
    const uint64_t magnitude = negative ? 0 - (uint64_t)integer : (uint64_t)integer;
    const size_t   size      = count_digits(magnitude) + negative;
    char          *payload   = begin_item(writer, '$', size, size, LINE_END_SIZE);

    if (payload == NULL)
        return;
    payload[0] = '-'; /* the first digit of a positive number overwrites it */
    write_digits(payload + size, magnitude);
    memcpy(payload + size, "\r\n", LINE_END_SIZE);
}

void bwl_resp_write_list(bwl_resp_writer *writer, const char *format, va_list list)
{
    uint32_t count = 1;

    for (const char *at = format; *at != '\0'; at++)
        count += *at == ' ';
    bwl_resp_write_array(writer, count);
    for (; count > 0; count--) {
        size_t size = strcspn(format, " ");
        if (format[0] != '%') {
            bwl_resp_write_bulk(writer, format, size);
        } else if (format[1] == 's') {
            bwl_resp_write_text(writer, va_arg(list, const char *));
        } else if (format[1] == '.') {
            int bytes_size = va_arg(list, int);
            bwl_resp_write_bulk(writer, va_arg(list, const char *), (size_t)bytes_size);
        } else {
            bwl_resp_write_integer(writer, va_arg(list, long long));
        }
        format += size + 1;
    }
}

void bwl_resp_write(bwl_resp_writer *writer, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    bwl_resp_write_list(writer, format, list);
    va_end(list);
}
