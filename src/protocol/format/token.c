/*
 * token.c -- see token.h.
 *
 * A format is a pattern with one character for each character of the token:
 *
 *      x   a hexadecimal digit in lower case         4 bits
 *      y   8, 9, a or b: the variant in a UUID       2 bits
 *      s   A-Z a-z 0-9 + and the slash of base64     6 bits
 *      u   A-Z a-z 0-9 - _                           6 bits
 *      q   A, Q, g or w: the end of 16 bytes         2 bits
 *      e   every fourth of s: the end of 32 bytes    4 bits
 *      a   a letter or a digit                       log2(62) bits
 *      d   a digit of the time of day
 *      any other character is itself
 *
 * PID_TID has no pattern.  OURS is written without its pattern, which would take longer.
 *
 * The random bits are one number of 160 bits: 128 random bits, and above them 32 bits of a hash of
 * those.  For a pattern of more than 40 characters it has 256 bits, 128 of them from the hash.
 * Each character is the remainder of a division by the size of its alphabet.  An alphabet whose
 * size is a power of two so gets the bits unchanged.  With letters and digits (62 characters) some
 * tokens are more likely than others, by less than one in two hundred.
 */
#include "protocol/format/token.h"
#include "core/text.h"

#include <string.h>

enum {
    UUID_SIZE = 36,
    PID_BITS  = 22, /* the largest pid of Linux */
    TID_BITS  = 46, /* an address in user space; other programs may write larger ones */
};

static const char hex[]       = "0123456789abcdef";
static const char base64[]    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static const char alnum[]     = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

#define X4      "xxxx"
#define X12     X4 X4 X4
#define A4      "aaaa"
#define S20     "ssssssssssssssssssss"
#define UUID(v) X4 X4 "-" X4 "-" v "xxx-yxxx-" X12
#define BARE(v) X12 v "xxxyxxx" X12
#define DATE    "dddd-dd-ddTdd:dd:dd.dddZ"

static const bwl_token_format_info kinds[BWL_TOKEN_FORMATS] = {
    [BWL_TOKEN_OURS]       = { "22 characters of base64url", "uuuuuuuuuuuuuuuuuuuuuq", 128, false },
    [BWL_TOKEN_UUID]       = { "a UUID", UUID("4"), 122, false },
    [BWL_TOKEN_HEX]        = { "32 hexadecimal digits", X4 X4 X12 X12, 128, false },
    [BWL_TOKEN_PID_TID]    = { "two numbers", "", 46, false },
    [BWL_TOKEN_UUID_BARE]  = { "a UUID without dashes", BARE("4"), 122, false },
    [BWL_TOKEN_UUID1]      = { "a UUID (version 1)", UUID("1"), 122, false },
    [BWL_TOKEN_UUID1_BARE] = { "a UUID (version 1) without dashes", BARE("1"), 122, false },
    [BWL_TOKEN_BASE64]     = { "16 bytes in base64", "sssssssssssssssssssssq==", 128, false },
    [BWL_TOKEN_BASE64_18]  = { "18 bytes in base64", "ssssssssssssssssssssssss", 128, false },
    [BWL_TOKEN_ALNUM_16]   = { "16 letters and digits", A4 A4 A4 A4, 95, false },
    [BWL_TOKEN_ALNUM_20]   = { "20 letters and digits", A4 A4 A4 A4 A4, 119, false },
    [BWL_TOKEN_ALNUM_22]   = { "22 letters and digits", A4 A4 A4 A4 A4 "aa", 128, false },
    [BWL_TOKEN_DATE_UUID]  = { "the time of day and a UUID", DATE "@" UUID("4"), 122, true },
    [BWL_TOKEN_BASE64_32]  = { "32 bytes in base64", S20 S20 "sse=", 128, false },
    [BWL_TOKEN_UUID_THREAD] = { "a UUID, a colon and a number", UUID("4") ":1", 122, false },
};

const bwl_token_format_info *bwl_token_format_info_of(bwl_token_format format)
{
    assert((unsigned)format < BWL_TOKEN_FORMATS);
    return &kinds[format];
}

/* ---- alphabets ------------------------------------------------------------------------------- */

static const char *alphabet_of(char class)
{
    switch (class) {
    case 'x': return hex;
    case 'y': return "89ab";
    case 's': return base64;
    case 'u': return base64url;
    case 'q': return "AQgw";
    case 'e': return "AEIMQUYcgkosw048";
    case 'a': return alnum;
    case 'd': return "0123456789";
    }
    return NULL;
}

static bool is_among(char c, const char *alphabet)
{
    for (; *alphabet != '\0'; alphabet++)
        if (*alphabet == c)
            return true;
    return false;
}

/* ---- random bits ----------------------------------------------------------------------------- */

enum { LIMBS = 8, LIMBS_USUAL = 5, LIMBS_DRAWN = 4, USUAL_MAX = 40 };

/* A number, least significant limb first. */
typedef struct random_number {
    uint32_t limbs[LIMBS];
} random_number;

/* The last steps of MurmurHash3 (Austin Appleby, public domain): every bit of the argument affects
 * every bit of the result. */
static uint32_t mixed(uint32_t x)
{
    x = (x ^ x >> 16) * UINT32_C(0x85ebca6b);
    x = (x ^ x >> 13) * UINT32_C(0xc2b2ae35);
    return x ^ x >> 16;
}

static random_number number_of(const bwl_random *random, unsigned limbs)
{
    random_number n    = { { 0 } };
    uint32_t      fold = UINT32_C(0x811c9dc5); /* FNV-1a: a hash adds no random bits */

    assert(limbs <= LIMBS);
    for (unsigned i = 0; i < BWL_RANDOM_BYTES; i++)
        n.limbs[i / 4] |= (uint32_t)random->bytes[i] << 8 * (i % 4);
    for (unsigned limb = LIMBS_DRAWN; limb < limbs; limb++) {
        for (unsigned i = 0; i < BWL_RANDOM_BYTES; i++)
            fold = (fold ^ random->bytes[i]) * UINT32_C(0x01000193);
        n.limbs[limb] = limb == LIMBS_DRAWN ? fold : mixed(fold);
    }
    return n;
}

/* Divides the number by base, and returns the remainder. */
static unsigned take(random_number *n, unsigned base)
{
    uint64_t rest = 0;

    for (unsigned i = LIMBS; i-- > 0;) {
        uint64_t part = rest << 32 | n->limbs[i];
        n->limbs[i]   = (uint32_t)(part / base);
        rest          = part % base;
    }
    return (unsigned)rest;
}

/* ---- the time of day ------------------------------------------------------------------------- */

static void write_digits(char *ret_digits, unsigned count, uint64_t value)
{
    for (unsigned i = count; i-- > 0;) {
        ret_digits[i] = (char)('0' + value % 10);
        value /= 10;
    }
}

/* Writes ISO 8601 in UTC over the digits of DATE.  The years of this calculation begin in March, so
 * that the leap day is the last day of a year ("civil_from_days": Howard Hinnant,
 * chrono-Compatible Low-Level Date Algorithms). */
static void write_date(char *ret_date, int64_t wall_ns)
{
    uint64_t ms    = wall_ns > 0 ? (uint64_t)wall_ns / 1000000 : 0;
    uint64_t days  = ms / 86400000 + 719468; /* since March 1 of the year 0 */
    uint64_t era   = days / 146097;          /* of 400 years */
    uint64_t day   = days % 146097;
    uint64_t year  = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    uint64_t left  = day - (365 * year + year / 4 - year / 100);
    uint64_t month = (5 * left + 2) / 153; /* 0: March */

    write_digits(ret_date, 4, year + 400 * era + (month >= 10));
    write_digits(ret_date + 5, 2, month < 10 ? month + 3 : month - 9);
    write_digits(ret_date + 8, 2, left - (153 * month + 2) / 5 + 1);
    write_digits(ret_date + 11, 2, ms / 3600000 % 24);
    write_digits(ret_date + 14, 2, ms / 60000 % 60);
    write_digits(ret_date + 17, 2, ms / 1000 % 60);
    write_digits(ret_date + 20, 3, ms % 1000);
}

/* ---- writing --------------------------------------------------------------------------------- */

static unsigned write_number(char *ret_text, uint64_t number)
{
    unsigned count = 1;

    for (uint64_t rest = number / 10; rest != 0; rest /= 10)
        count++;
    write_digits(ret_text, count, number);
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

static void write_pattern(char ret_token[BWL_TOKEN_MAX + 1], const bwl_token_format_info *kind,
                          const bwl_random *random, int64_t wall_ns)
{
    size_t        size = strlen(kind->pattern);
    random_number n    = number_of(random, size > USUAL_MAX ? LIMBS : LIMBS_USUAL);

    assert(size <= BWL_TOKEN_MAX);
    assert(size > 0);
    for (size_t i = 0; i < size; i++) {
        const char *alphabet = alphabet_of(kind->pattern[i]);
        bool        is_drawn = alphabet != NULL && kind->pattern[i] != 'd';
        ret_token[i] = is_drawn ? alphabet[take(&n, (unsigned)strlen(alphabet))] : kind->pattern[i];
    }
    ret_token[size] = '\0';
    if (kind->is_dated)
        write_date(ret_token, wall_ns);
}

void bwl_token_write_as(char ret_token[BWL_TOKEN_MAX + 1], bwl_token_format format,
                        const bwl_random *random, int64_t wall_ns)
{
    if (format == BWL_TOKEN_OURS)
        bwl_token_write(ret_token, random);
    else if (format == BWL_TOKEN_PID_TID)
        write_pid_tid(ret_token, random);
    else
        write_pattern(ret_token, bwl_token_format_info_of(format), random, wall_ns);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool matches(const char *pattern, const char *text, size_t size)
{
    if (size != strlen(pattern))
        return false;
    for (size_t i = 0; i < size; i++) {
        const char *alphabet = alphabet_of(pattern[i]);
        if (alphabet != NULL ? !is_among(text[i], alphabet) : text[i] != pattern[i])
            return false;
    }
    return true;
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

    return size > UUID_SIZE && matches(UUID("4"), text, UUID_SIZE) && text[UUID_SIZE] == ':' &&
           bwl_number_parse(&thread, text + UUID_SIZE + 1, size - UUID_SIZE - 1, INT64_MAX) &&
           thread > 0;
}

bool bwl_token_is_of(bwl_token_format format, const char *text, size_t size)
{
    if (format == BWL_TOKEN_PID_TID)
        return is_pid_tid(text, size);
    if (format == BWL_TOKEN_UUID_THREAD)
        return is_uuid_thread(text, size);
    return matches(bwl_token_format_info_of(format)->pattern, text, size);
}
