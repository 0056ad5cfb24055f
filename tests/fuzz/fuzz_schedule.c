/*
 * A fuzz target for the schedules that `bowline lab replay` reads: they may come from anybody.
 *
 * For any bytes at all it claims:
 *   - reading is a function: the same bytes give the same schedule, or the same complaint;
 *   - a complaint has words, and they are fit for a terminal;
 *   - what is accepted has an invariant that breaks and clients that there are;
 *   - what is accepted can be drawn, and when it is written down again and that is read, it is the
 *     same schedule.
 *
 * The bytes are judged in a copy of exactly their size, so that the address sanitizer sees a look
 * beyond it.  The seeds are in corpus/schedule.
 */
#include "lab/base/output.h"
#include "lab/report/record.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE_MAX_HERE = 16 * 1024, WRITTEN_MAX = 1024 * 1024 };

int    LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static bool read_it(bwl_record *ret_record, const char *bytes, size_t size, bwl_text reterr[3])
{
    char *copy = malloc(size > 0 ? size : 1);

    require(copy != NULL);
    if (size > 0)
        memcpy(copy, bytes, size);
    memset(reterr, 0, 3 * sizeof reterr[0]);
    bool is_good = bwl_record_read(ret_record, copy, size, NULL, reterr);
    free(copy);
    return is_good;
}

static void require_words(const bwl_text reterr[3])
{
    require(reterr[0].of[0] != '\0' && reterr[1].of[0] != '\0');
    for (unsigned i = 0; i < 3; i++)
        for (const char *c = reterr[i].of; *c != '\0'; c++)
            require((unsigned char)*c >= 0x20 && *c != 0x7f);
}

static void require_same(const bwl_record *one, const bwl_record *two)
{
    require(strcmp(one->subject, two->subject) == 0);
    require(one->broken == two->broken);
    require(one->path_count == two->path_count);
    for (unsigned i = 0; i < one->path_count; i++)
        require(memcmp(&one->path[i], &two->path[i], sizeof one->path[i]) == 0);
    require(memcmp(one->world.budget, two->world.budget, sizeof one->world.budget) == 0);
    require(one->world.clients == two->world.clients && one->world.rounds == two->world.rounds);
    require(one->world.terms.lease_ms == two->world.terms.lease_ms);
    require(one->world.terms.answer_ms == two->world.terms.answer_ms);
    require(one->world.terms.max_hold_ms == two->world.terms.max_hold_ms);
    require(one->world.wait_ms == two->world.wait_ms);
}

/* As try --json writes it. */
static size_t write_again(char **ret_text, const bwl_record *record)
{
    size_t      size = 0;
    FILE       *out  = open_memstream(ret_text, &size);
    bwl_picture picture =
        bwl_picture_of(&record->world, record->path, record->path_count, record->broken);

    require(out != NULL);
    bwl_record_write(out, record->subject, &picture, record->path);
    bwl_picture_free(&picture);
    require(fclose(out) == 0);
    require(size > 0 && size < WRITTEN_MAX);
    return size;
}

/* ---- numbers, for every other try ------------------------------------------------------------ */

/* Where the n-th number of a text begins, counted around; size if it has none. */
static size_t number_at(const uint8_t *text, size_t size, unsigned nth)
{
    size_t found = size;

    for (unsigned left = nth % 64 + 1; left > 0;) {
        unsigned before = left;
        for (size_t i = 1; i < size && left > 0; i++)
            if (text[i] >= '0' && text[i] <= '9' && (text[i - 1] == ' ' || text[i - 1] == ':')) {
                found = i;
                left--;
            }
        if (left == before)
            return size;
    }
    return found;
}

/* What changes bytes seldom makes another good number of one. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char *const numbers[] = { "0",   "1",    "2",   "3",       "4",       "15",
                                           "30",  "45",   "100", "255",     "256",     "1000",
                                           "-30", "null", "999", "1000000", "1000001", "-1000000" };
    const char              *number    = numbers[seed / 2 % (sizeof numbers / sizeof numbers[0])];
    size_t                   length    = strlen(number);
    size_t                   from      = number_at(data, size, seed / 64);
    size_t                   to        = from;

    if (seed % 2 == 0 || from == size)
        return LLVMFuzzerMutate(data, size, max);
    while (to < size && data[to] >= '0' && data[to] <= '9')
        to++;
    if (size - (to - from) + length > max)
        return LLVMFuzzerMutate(data, size, max);
    memmove(data + from + length, data + to, size - to);
    memcpy(data + from, number, length);
    return size - (to - from) + length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bwl_record one = { 0 }, two = { 0 }, back = { 0 };
    bwl_text   first[3], second[3];
    char      *text = NULL;

    if (size > SIZE_MAX_HERE)
        return 0;
    bool is_good = read_it(&one, (const char *)data, size, first);
    require(is_good == read_it(&two, (const char *)data, size, second));
    if (!is_good) {
        require_words(first);
        for (unsigned i = 0; i < 3; i++)
            require(strcmp(first[i].of, second[i].of) == 0);
        return 0;
    }
    require(one.world.clients >= 2 && one.world.clients <= BWL_CLIENTS_MAX);
    require(one.broken != 0 && (one.broken & (one.broken - 1)) == 0);
    require_same(&one, &two);
    size_t again = write_again(&text, &one);
    require(read_it(&back, text, again, first));
    require_same(&one, &back);
    free(text);
    bwl_record_free(&one);
    bwl_record_free(&two);
    bwl_record_free(&back);
    return 0;
}
