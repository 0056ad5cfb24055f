/*
 * token_format.c -- see token_format.h.
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
 * The random bits are one number of 160 bits: 128 random bits, and above them 32 bits of a hash of
 * those.  For a pattern of more than 40 characters it has 256 bits, 128 of them from the hash.
 * Each character is the remainder of a division by the size of its alphabet.  An alphabet whose
 * size is a power of two so gets the bits unchanged.  With letters and digits (62 characters) some
 * tokens are more likely than others, by less than one in two hundred.
 */
#include "core/token_format.h"

#include <string.h>

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

bool bwl_token_format_matches(bwl_token_format format, const char *text, size_t size)
{
    const char *pattern = bwl_token_format_info_of(format)->pattern;

    if (size != strlen(pattern))
        return false;
    for (size_t i = 0; i < size; i++) {
        const char *alphabet = alphabet_of(pattern[i]);
        if (alphabet != NULL ? !is_among(text[i], alphabet) : text[i] != pattern[i])
            return false;
    }
    return true;
}

/* ---- random bits ----------------------------------------------------------------------------- */

enum { LIMBS = 8, LIMBS_USUAL = 5, LIMBS_DRAWN = 4, USUAL_MAX = 40 };

/* A number, least significant limb first. */
typedef struct number {
    uint32_t limbs[LIMBS];
} number;

/* The last steps of MurmurHash3 (Austin Appleby, public domain): every bit of the argument affects
 * every bit of the result. */
static uint32_t mixed(uint32_t x)
{
    x = (x ^ x >> 16) * UINT32_C(0x85ebca6b);
    x = (x ^ x >> 13) * UINT32_C(0xc2b2ae35);
    return x ^ x >> 16;
}

static number number_of(const bwl_random *random, unsigned limbs)
{
    number   n    = { { 0 } };
    uint32_t fold = UINT32_C(0x811c9dc5); /* FNV-1a: a hash adds no random bits */

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
static unsigned take(number *n, unsigned base)
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

void bwl_token_format_write(char ret_token[BWL_TOKEN_MAX + 1], bwl_token_format format,
                            const bwl_random *random, int64_t wall_ns)
{
    const bwl_token_format_info *kind = bwl_token_format_info_of(format);
    size_t                       size = strlen(kind->pattern);
    number                       n    = number_of(random, size > USUAL_MAX ? LIMBS : LIMBS_USUAL);

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
