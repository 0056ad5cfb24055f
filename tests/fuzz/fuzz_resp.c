/*
 * A fuzz target for the RESP codec: the bytes of a peer may be anything.
 *
 * It checks for any bytes:
 * - the result, and the byte at which it is known, do not depend on how the bytes were cut;
 * - before that byte the result is MORE, and after it nothing changes;
 * - an accepted frame is within the limits, and the cursor reads it from its first byte to its
 *   last, with every text inside it and as many values as its headers say;
 * - skipping an aggregate ends at the same byte as reading its children one by one.
 *
 * Prefixes are checked in copies of exactly their size, so that the address sanitizer detects a
 * read of a byte that has not arrived.  The seeds are in corpus/resp.
 */
#include "fuzz.h"

#include "engine/redis/wire/resp.h"

enum { COPIED_MAX = 512 }; /* copying every prefix takes quadratic time */

static bwl_resp_status feed(bwl_resp_scan *scan, const char *bytes, size_t size)
{
    if (size > COPIED_MAX)
        return bwl_resp_scan_bytes(scan, bytes, size);

    char                 *copy   = copy_of(bytes, size);
    const bwl_resp_status status = bwl_resp_scan_bytes(scan, copy, size);
    free(copy);
    return status;
}

/* Feeds the bytes in pieces of every size, and requires the result. */
static void check_steps(const char *bytes, size_t size, const bwl_resp_scan *whole)
{
    for (size_t step = 1; step <= 16; step += step < 4 ? 1 : 4) {
        bwl_resp_scan scan       = { 0 };
        const bool    is_decided = whole->status != BWL_RESP_MORE;

        for (size_t at = 0; at < size; at += step) {
            const bool has_verdict = is_decided && at >= whole->size;

            require(feed(&scan, bytes, at) == (has_verdict ? whole->status : BWL_RESP_MORE));
        }
        require(feed(&scan, bytes, size) == whole->status);
        require(scan.size == whole->size);
    }
}

/* Reads the children of a value.  Deep frames were refused, so it may recurse. */
static void walk(bwl_resp_cursor *cursor, const bwl_resp_value *parent, uint32_t depth)
{
    bwl_resp_value child;

    require(depth <= BWL_RESP_DEPTH_MAX);
    for (uint32_t i = 0; i < parent->count; i++) {
        do {
            require(bwl_resp_next(cursor, &child));
            walk(cursor, &child, depth + 1);
        } while (child.type == '|');
    }
}

static void check_value(const bwl_resp_cursor *cursor, const bwl_resp_value *value)
{
    bwl_resp_cursor skipped = *cursor;
    bwl_resp_cursor walked  = *cursor;

    bwl_resp_skip(&skipped, value);
    walk(&walked, value, 0);
    require(skipped.at == walked.at);
    require(skipped.at <= cursor->size);
    if (value->text == NULL)
        return;
    require(value->count == 0);
    require(value->text > cursor->bytes);
    require(value->text + value->size + 2 == cursor->bytes + cursor->at);
}

/* Returns how many values are outside of all attributes: those before whose end no pairs extend. */
static uint32_t count_bare(const char *bytes, size_t size)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;
    size_t          pairs_end = 0;
    uint32_t        count     = 0;

    while (bwl_resp_next(&cursor, &value)) {
        if (cursor.at <= pairs_end)
            continue;
        if (value.type != '|') {
            count++;
            continue;
        }
        bwl_resp_cursor behind = cursor;
        bwl_resp_skip(&behind, &value);
        pairs_end = behind.at;
    }
    return count;
}

static void check_frame(const char *bytes, const bwl_resp_scan *scan)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, scan->size);
    bwl_resp_cursor bare   = cursor;
    bwl_resp_value  value;
    uint32_t        claimed = 1; /* the outermost value, which no header counts */
    uint32_t        found   = 0;

    require(scan->size <= BWL_RESP_FRAME_MAX);
    require(scan->elements <= BWL_RESP_ELEMENTS_MAX);
    while (bwl_resp_next(&cursor, &value)) {
        check_value(&cursor, &value);
        found++;
        claimed += value.count + (value.type == '|' ? 1 : 0);
    }
    require(cursor.at == scan->size);
    require(found == claimed);
    require(found == scan->elements + 1);

    for (found = 0; bwl_resp_next_bare(&bare, &value); found++)
        require(value.type != '|');
    require(bare.at == scan->size);
    require(found == count_bare(bytes, scan->size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char   *bytes = (const char *)data;
    bwl_resp_scan whole = { 0 };

    const bwl_resp_status status = feed(&whole, bytes, size);
    require(status == whole.status);
    check_steps(bytes, size, &whole);
    if (status == BWL_RESP_OK)
        check_frame(bytes, &whole);
    return 0;
}
