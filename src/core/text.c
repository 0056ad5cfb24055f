/*
 * text.c -- see text.h.
 *
 * A parser accepts what its comment says, and nothing else: a lenient parser would read a lease of
 * "3O s" as three milliseconds.
 */
#include "core/text.h"

#include <string.h>

static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void bwl_token_write(char ret_token[BWL_TOKEN_MAX + 1], const bwl_random *random)
{
    const uint8_t *from = random->bytes;
    unsigned       size = 0;

    for (unsigned i = 0; i < 15; i += 3) {
        uint32_t bits     = (uint32_t)from[i] << 16 | (uint32_t)from[i + 1] << 8 | from[i + 2];
        ret_token[size++] = base64url[bits >> 18];
        ret_token[size++] = base64url[bits >> 12 & 63];
        ret_token[size++] = base64url[bits >> 6 & 63];
        ret_token[size++] = base64url[bits & 63];
    }
    ret_token[size++] = base64url[from[15] >> 2];
    ret_token[size++] = base64url[(from[15] & 3) << 4];
    ret_token[size]   = '\0';
    assert(size == BWL_TOKEN_SIZE);
}

bool bwl_number_parse(uint64_t *ret_number, const char *text, size_t size, uint64_t max)
{
    uint64_t number = 0;

    if (size == 0 || (size > 1 && text[0] == '0'))
        return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (digit > max || number > (max - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *ret_number = number;
    return true;
}

typedef struct unit {
    char     name[3];
    uint64_t ms;
} unit;

static const unit units[] = {
    { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 },
};
enum { UNITS = sizeof units / sizeof units[0] };

static const uint64_t duration_max_ms = UINT64_C(1) << 53;

static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

/* The unit at the start of this text, not before `from` in units[]; UNITS if there is none. */
static unsigned unit_at(const char *text, size_t size, unsigned from)
{
    for (unsigned u = from; u < UNITS; u++) {
        size_t length = units[u].name[1] == '\0' ? 1 : 2;
        if (size < length || text[0] != units[u].name[0])
            continue;
        if (length == 2 ? text[1] == units[u].name[1] : size == 1 || !is_letter(text[1]))
            return u;
    }
    return UNITS;
}

bool bwl_duration_parse(bwl_ms *ret_ms, const char *text, size_t size)
{
    uint64_t total = 0;
    unsigned next  = 0;
    size_t   at    = 0;

    if (size == 0)
        return false;
    while (at < size) {
        size_t digits = 0;
        while (at + digits < size && text[at + digits] >= '0' && text[at + digits] <= '9')
            digits++;
        unsigned u = unit_at(text + at + digits, size - at - digits, next);
        uint64_t number;
        if (u == UNITS || !bwl_number_parse(&number, text + at, digits, duration_max_ms))
            return false;
        if (number > (duration_max_ms - total) / units[u].ms)
            return false;
        total += number * units[u].ms;
        next = u + 1;
        at += digits + (units[u].name[1] == '\0' ? 1 : 2);
    }
    *ret_ms = (bwl_ms)total;
    return true;
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

void bwl_printable_copy(char *ret_text, size_t capacity, const char *text, size_t size)
{
    size_t most = size < capacity ? size : capacity - 1;

    assert(capacity > 0);
    for (size_t i = 0; i < most; i++)
        ret_text[i] = is_control(text[i]) ? '?' : text[i];
    ret_text[most] = '\0';
}

const char *bwl_name_fault(const char *name, size_t size)
{
    if (size == 0)
        return "a name has at least one character";
    if (size > BWL_NAME_MAX)
        return "a name has at most 200 bytes";
    for (size_t i = 0; i < size; i++)
        if (is_control(name[i]))
            return "a name has no control characters (no NUL, tab or new line)";
    return NULL;
}

static bool is_plain(char c, const char *also)
{
    if (is_letter(c) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
        return true;
    if (c == '-' || c == '_' || c == '.' || c == '~')
        return true;
    for (; *also != '\0'; also++)
        if (c == *also)
            return true;
    return false;
}

static const char hex[] = "0123456789ABCDEF";

size_t bwl_percent_encode(char *ret_text, size_t capacity, const char *bytes, size_t size,
                          const char *also)
{
    size_t length = 0;

    assert(capacity > 0);
    for (size_t i = 0; i < size; i++) {
        bool   plain = is_plain(bytes[i], also);
        size_t need  = plain ? 1 : 3; /* bytes */
        if (length + need >= capacity)
            return 0;
        if (plain) {
            ret_text[length] = bytes[i];
        } else {
            ret_text[length]     = '%';
            ret_text[length + 1] = hex[(unsigned char)bytes[i] >> 4];
            ret_text[length + 2] = hex[(unsigned char)bytes[i] & 15];
        }
        length += need;
    }
    ret_text[length] = '\0';
    return length;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

bool bwl_percent_decode(char *ret_bytes, size_t capacity, const char *text, size_t size)
{
    size_t length = 0;

    assert(capacity > 0);
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == '%') {
            int high = size - i > 2 ? hex_value(text[i + 1]) : -1;
            int low  = size - i > 2 ? hex_value(text[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        if (c == '\0' || length + 1 >= capacity)
            return false;
        ret_bytes[length++] = c;
    }
    ret_bytes[length] = '\0';
    return true;
}

/* ---- passwords ------------------------------------------------------------------------------- */

static bool is_end_of_url(char c)
{
    return c == '\0' || c == ' ' || c == '"' || c == '\'';
}

/* True if only digits follow the colon: this is a port and not a password. */
static bool is_port(const char *from, const char *end)
{
    while (from < end && *from >= '0' && *from <= '9')
        from++;
    return from == end || *from == '/' || *from == ',';
}

/* Hides the password in the text after "://", which ends at `end`.  Returns where the search for
 * the next URL continues. */
static char *hide_in(char *at, char *end, bool is_cut)
{
    char *colon = at, *question = at, *last;

    while (question < end && *question != '?')
        question++;
    while (colon < question && *colon != ':')
        colon++;
    last = question;
    while (last > colon && *last != '@')
        last--;
    if (last == colon && !is_port(colon + 1, question)) {
        /* The password may have a '?' that is not encoded; the '@' may be truncated. */
        last = end;
        while (last > colon && *last != '@')
            last--;
        if (last == colon && is_cut && *end == '\0')
            last = end;
    }
    if (last <= colon + 1 || colon == question)
        return at;
    for (unsigned i = 0; i < 3 && colon + 1 < last; i++)
        *++colon = '*';
    memmove(colon + 1, last, strlen(last) + 1);
    return colon + 1;
}

void bwl_hide_passwords(char *text, bool is_cut)
{
    char *at = text;

    while (*at != '\0') {
        if (at[0] != ':' || at[1] != '/' || at[2] != '/') {
            at++;
            continue;
        }
        char *end = at += 3;
        while (!is_end_of_url(*end))
            end++;
        at = hide_in(at, end, is_cut);
    }
}

/* ---- truncated texts ------------------------------------------------------------------------- */

void bwl_mark_cut(char *text)
{
    static const char mark[] = "...";
    enum { MARK = sizeof mark - 1, CUT_MIN = 12 };
    size_t size = strlen(text), end;

    if (size < CUT_MIN)
        return;
    /* A word as long as half of the text is cut too. */
    for (end = size - MARK; end > size / 2 && text[end] != ' '; end--)
        continue;
    if (text[end] != ' ')
        end = size - MARK;
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == ',' || text[end - 1] == ':'))
        end--;
    memcpy(text + end, mark, sizeof mark);
}

uint64_t bwl_hash(const char *bytes, size_t size)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)bytes[i]) * UINT64_C(1099511628211);
    return hash;
}
