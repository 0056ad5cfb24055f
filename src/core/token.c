/*
 * token.c -- see token.h.  token_format.c has the formats that are patterns.
 */
#include "core/token.h"
#include "core/token_format.h"
#include "core/text.h"

enum {
    UUID_SIZE  = 36,
    HEX_SIZE   = 32,
    PID_BITS   = 22, /* the largest pid of Linux */
    TID_BITS   = 46, /* an address in user space; other programs may write larger ones */
    DIGITS_MAX = 20,
};

static const char hex[] = "0123456789abcdef";

static unsigned write_hex(char *ret_text, uint8_t byte)
{
    ret_text[0] = hex[byte >> 4];
    ret_text[1] = hex[byte & 15];
    return 2;
}

static void write_uuid(char *ret_token, const bwl_random *random)
{
    unsigned size = 0;

    for (unsigned i = 0; i < BWL_RANDOM_BYTES; i++) {
        uint8_t byte = random->bytes[i];
        if (i == 6)
            byte = (uint8_t)(0x40 | (byte & 0x0f)); /* version 4 */
        if (i == 8)
            byte = (uint8_t)(0x80 | (byte & 0x3f)); /* the variant of RFC 4122 */
        if (i == 4 || i == 6 || i == 8 || i == 10)
            ret_token[size++] = '-';
        size += write_hex(ret_token + size, byte);
    }
    ret_token[size] = '\0';
    assert(size == UUID_SIZE);
}

static void write_all_hex(char *ret_token, const bwl_random *random)
{
    unsigned size = 0;

    for (unsigned i = 0; i < BWL_RANDOM_BYTES; i++)
        size += write_hex(ret_token + size, random->bytes[i]);
    ret_token[size] = '\0';
    assert(size == HEX_SIZE);
}

static unsigned write_number(char *ret_text, uint64_t number)
{
    char     digits[DIGITS_MAX];
    unsigned count = 0;

    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    for (unsigned i = 0; i < count; i++)
        ret_text[i] = digits[count - 1 - i];
    return count;
}

/* A number from 1 to 2^bits, made from 8 bytes. */
static uint64_t take_bits(const uint8_t *from, unsigned bits)
{
    uint64_t all = 0;

    for (unsigned i = 0; i < 8; i++)
        all = all << 8 | from[i];
    return (all >> (64 - bits)) + 1;
}

static void write_pid_tid(char *ret_token, const bwl_random *random)
{
    unsigned size = write_number(ret_token, take_bits(random->bytes, PID_BITS));

    ret_token[size++] = '-';
    size += write_number(ret_token + size, take_bits(random->bytes + 8, TID_BITS));
    ret_token[size] = '\0';
    assert(size <= BWL_TOKEN_MAX);
}

void bwl_token_write_as(char ret_token[BWL_TOKEN_MAX + 1], bwl_token_format format,
                        const bwl_random *random, int64_t wall_ns)
{
    switch (format) {
    case BWL_TOKEN_OURS: bwl_token_write(ret_token, random); return;
    case BWL_TOKEN_UUID: write_uuid(ret_token, random); return;
    case BWL_TOKEN_HEX: write_all_hex(ret_token, random); return;
    case BWL_TOKEN_PID_TID: write_pid_tid(ret_token, random); return;
    case BWL_TOKEN_UUID_BARE:
    case BWL_TOKEN_UUID1:
    case BWL_TOKEN_UUID1_BARE:
    case BWL_TOKEN_BASE64:
    case BWL_TOKEN_BASE64_18:
    case BWL_TOKEN_ALNUM_16:
    case BWL_TOKEN_ALNUM_20:
    case BWL_TOKEN_ALNUM_22:
    case BWL_TOKEN_DATE_UUID:
    case BWL_TOKEN_BASE64_32:
    case BWL_TOKEN_UUID_THREAD: bwl_token_format_write(ret_token, format, random, wall_ns); return;
    }
    bwl_unreachable("no such token format");
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool is_ours(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!is_digit(text[i]) && !(text[i] >= 'A' && text[i] <= 'Z') &&
            !(text[i] >= 'a' && text[i] <= 'z') && text[i] != '-' && text[i] != '_')
            return false;
    /* the last character holds two bits */
    return size == BWL_TOKEN_SIZE && (text[size - 1] == 'A' || text[size - 1] == 'Q' ||
                                      text[size - 1] == 'g' || text[size - 1] == 'w');
}

static bool is_uuid(const char *text, size_t size)
{
    if (size != UUID_SIZE)
        return false;
    for (size_t i = 0; i < size; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash ? text[i] != '-' : !is_hex(text[i]))
            return false;
    }
    return text[14] == '4' &&
           (text[19] == '8' || text[19] == '9' || text[19] == 'a' || text[19] == 'b');
}

static bool is_all_hex(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!is_hex(text[i]))
            return false;
    return size == HEX_SIZE;
}

static bool is_pid_tid(const char *text, size_t size)
{
    uint64_t number;
    size_t   dash = 0;

    while (dash < size && text[dash] != '-')
        dash++;
    return dash < size && bwl_number_parse(&number, text, dash, UINT64_C(1) << PID_BITS) &&
           number > 0 && bwl_number_parse(&number, text + dash + 1, size - dash - 1, INT64_MAX) &&
           number > 0;
}

/* A UUID, a colon and the number of a thread: any number, because Redisson has many threads. */
static bool is_uuid_thread(const char *text, size_t size)
{
    uint64_t thread;

    return size > UUID_SIZE && is_uuid(text, UUID_SIZE) && text[UUID_SIZE] == ':' &&
           bwl_number_parse(&thread, text + UUID_SIZE + 1, size - UUID_SIZE - 1, INT64_MAX) &&
           thread > 0;
}

bool bwl_token_is_of(bwl_token_format format, const char *text, size_t size)
{
    switch (format) {
    case BWL_TOKEN_OURS: return is_ours(text, size);
    case BWL_TOKEN_UUID: return is_uuid(text, size);
    case BWL_TOKEN_HEX: return is_all_hex(text, size);
    case BWL_TOKEN_PID_TID: return is_pid_tid(text, size);
    case BWL_TOKEN_UUID_BARE:
    case BWL_TOKEN_UUID1:
    case BWL_TOKEN_UUID1_BARE:
    case BWL_TOKEN_BASE64:
    case BWL_TOKEN_BASE64_18:
    case BWL_TOKEN_ALNUM_16:
    case BWL_TOKEN_ALNUM_20:
    case BWL_TOKEN_ALNUM_22:
    case BWL_TOKEN_BASE64_32:
    case BWL_TOKEN_DATE_UUID: return bwl_token_format_matches(format, text, size);
    case BWL_TOKEN_UUID_THREAD: return is_uuid_thread(text, size);
    }
    bwl_unreachable("no such token format");
}
