/*
 * A fuzz target for the small texts: names, numbers, durations, tokens and percent escapes.
 *
 * It checks for any bytes:
 * - a number or a duration is in its range, and is the same after it was written and read again;
 *   a refused one leaves the result untouched;
 * - the encoding of a text has only plain characters, is longer by two for every escape, and
 *   decodes to that text, unless it has a NUL: then it does not decode;
 * - two texts have the same encoding if and only if they are equal;
 * - nothing is written beyond a capacity, and a text that does not fit is refused;
 * - two sets of random bytes have the same token if and only if they are equal.
 *
 * The first byte chooses a capacity and the position at which the rest is cut in two.  Texts are
 * checked in copies of exactly their size, so that the address sanitizer detects a read beyond it.
 * The seeds are in corpus/text.
 */
#include "fuzz.h"

#include "core/text.h"

#include <inttypes.h>
#include <stdio.h>

enum { TEXT_MAX = 256, ENCODED_MAX = 3 * TEXT_MAX + 1 };

/* ---- reading --------------------------------------------------------------------------------- */

static void check_number(const char *text, size_t size, uint64_t max)
{
    uint64_t number = 4711;
    char     again[32];

    if (!bwl_number_parse(&number, text, size, max)) {
        require(number == 4711);
        return;
    }
    require(number <= max);
    int written = snprintf(again, sizeof again, "%" PRIu64, number);
    require((size_t)written == size && memcmp(again, text, size) == 0);
}

/* Each unit once, from large to small, as bowline itself would write it. */
static void check_duration(const char *text, size_t size)
{
    bwl_ms ms = -4711;
    bwl_ms back;
    char   again[80];

    if (!bwl_duration_parse(&ms, text, size)) {
        require(ms == -4711);
        return;
    }
    require(ms >= 0 && ms <= INT64_C(1) << 53);
    require(text[size - 1] >= 'a' && text[size - 1] <= 'z');
    int written = snprintf(
        again, sizeof again, "%" PRId64 "d%" PRId64 "h%" PRId64 "m%" PRId64 "s%" PRId64 "ms",
        ms / 86400000, ms / 3600000 % 24, ms / 60000 % 60, ms / 1000 % 60, ms % 1000);
    require(bwl_duration_parse(&back, again, (size_t)written) && back == ms);
}

static void check_name(const char *name, size_t size)
{
    bool is_good = size >= 1 && size <= BWL_NAME_MAX;

    for (size_t i = 0; i < size; i++)
        if ((name[i] >= 0 && name[i] < 0x20) || name[i] == 0x7f)
            is_good = false;
    require((bwl_name_fault(name, size) == NULL) == is_good);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Encodes into a buffer of the exact size, after every smaller buffer was refused. */
static size_t encode(char ret_text[ENCODED_MAX], const char *bytes, size_t size, size_t capacity,
                     const char *also)
{
    size_t length = bwl_percent_encode(ret_text, ENCODED_MAX, bytes, size, also);
    char  *room   = malloc(capacity);

    require(room != NULL);
    require(length == strlen(ret_text));
    size_t tight = bwl_percent_encode(room, capacity, bytes, size, also);
    require(tight == (length < capacity ? length : 0));
    require(length >= capacity || memcmp(room, ret_text, length + 1) == 0);
    free(room);
    return length;
}

static void check_escapes(const char *bytes, size_t size, size_t capacity, const char *also)
{
    char   text[ENCODED_MAX];
    size_t escapes = 0;
    size_t length  = encode(text, bytes, size, capacity, also);
    char  *back    = malloc(size + 1);
    bool   has_nul = size > 0 && memchr(bytes, '\0', size) != NULL;

    require(back != NULL);
    for (size_t i = 0; i < length; i++)
        escapes += text[i] == '%';
    require(length == size + 2 * escapes);
    require(bwl_percent_decode(back, size + 1, text, length) == !has_nul);
    require(has_nul || (memcmp(back, bytes, size) == 0 && back[size] == '\0'));
    require(size == 0 || !bwl_percent_decode(back, size, text, length));
    free(back);
}

static void check_injective(const char *one, size_t one_size, const char *two, size_t two_size)
{
    char one_text[ENCODED_MAX];
    char two_text[ENCODED_MAX];
    bool is_same = one_size == two_size && memcmp(one, two, one_size) == 0;

    (void)bwl_percent_encode(one_text, sizeof one_text, one, one_size, "/");
    (void)bwl_percent_encode(two_text, sizeof two_text, two, two_size, "/");
    require((strcmp(one_text, two_text) == 0) == is_same);
}

/* Bytes as an encoding: the decoded text has at most their size. */
static void check_decode(const char *text, size_t size, size_t capacity)
{
    char *bytes = malloc(capacity);

    require(bytes != NULL);
    if (bwl_percent_decode(bytes, capacity, text, size)) {
        char   again[ENCODED_MAX];
        char   back[TEXT_MAX + 1];
        size_t length = strlen(bytes);
        require(length < capacity && length <= size);
        size_t encoded = bwl_percent_encode(again, sizeof again, bytes, length, "");
        require(bwl_percent_decode(back, sizeof back, again, encoded));
        require(strcmp(back, bytes) == 0);
    }
    free(bytes);
}

static void check_tokens(const char *bytes, size_t size)
{
    bwl_random one = { { 0 } };
    bwl_random two = { { 0 } };
    char       one_token[BWL_TOKEN_MAX + 1];
    char       two_token[BWL_TOKEN_MAX + 1];
    size_t     half = size / 2 < BWL_RANDOM_BYTES ? size / 2 : BWL_RANDOM_BYTES;

    memcpy(one.bytes, bytes, half);
    memcpy(two.bytes, bytes + size - half, half);
    bwl_token_write(one_token, &one);
    bwl_token_write(two_token, &two);
    require(strlen(one_token) == BWL_TOKEN_SIZE);
    require((strcmp(one_token, two_token) == 0) == (memcmp(&one, &two, sizeof one) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > TEXT_MAX)
        return 0;

    uint8_t choice   = data[0];
    size_t  capacity = choice + 1u;
    char   *text     = copy_of(data + 1, size - 1);
    size_t  cut      = size > 1 ? choice % size : 0;
    char   *head     = copy_of(data + 1, cut);
    char   *tail     = copy_of(data + 1 + cut, size - 1 - cut);

    size--;
    check_number(text, size, UINT64_MAX);
    check_number(text, size, choice);
    check_number(text, size, UINT64_C(1) << choice % 64);
    check_duration(text, size);
    check_name(text, size);
    check_escapes(text, size, capacity, choice % 2 == 0 ? "" : "/:");
    check_injective(head, cut, tail, size - cut);
    check_injective(text, size, tail, size - cut);
    check_decode(text, size, capacity);
    check_tokens(text, size);
    free(text);
    free(head);
    free(tail);
    return 0;
}
