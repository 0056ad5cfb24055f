/*
 * The RESP codec against the reader of hiredis, on random frames of RESP2.
 *
 * Two readers that were written apart seldom share a mistake.  A generator writes frames, some of
 * them beyond our limits, and a mutator harms every second one; both readers get the same bytes.
 * They must agree on the verdict, on the length, and on every value.  Where they differ by design
 * the test does not look away: it knows the rules, and checks that one of them is what happened.
 *
 *   1. hiredis does not look at the two bytes behind the payload of a bulk, and lets CR and LF
 *      stand in a line of text.  So the test mends such a byte and reads again: we must get further
 *      now, and hiredis must say of the mended frame what it said of the harmed one.
 *   2. hiredis waits for the end of a line before it looks at a number.  What we refuse earlier, it
 *      must refuse once the line is ended, and it never accepts it.
 *   3. hiredis has no limit but depth.  What we call TOO_BIG must be: the test measures it.
 *   4. hiredis refuses the type byte of any array below eight open ones.  We read on, since it may
 *      be a null ("*-1").
 *
 * Numbers are no difference: "+5", "05" and "-0" are refused by both.
 *
 * The alphabet leaves out the type bytes that RESP3 added, because this hiredis (0.14) knows only
 * RESP2 and would refuse them wherever a harmed length puts them.
 */
#include "engine/redis/wire/resp.h"
#include "tests/lib/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/read.h>

enum {
    ROUNDS         = 60000,
    SEED           = 20240229,
    FRAME_SIZE_MAX = 1024 * 1024,
};

/* ---- chance: xorshift64*, which is the same on every machine ---- */

static uint64_t random_state = SEED;

static uint32_t random_below(uint32_t limit)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * UINT64_C(2685821657736338717)) >> 33) % limit;
}

static bool one_in(uint32_t odds)
{
    return random_below(odds) == 0;
}

/* ---- the generator ---- */

/* A frame, and what its author knows about it. */
static struct {
    char     bytes[FRAME_SIZE_MAX];
    size_t   size;
    uint32_t elements;      /* in all arrays */
    uint32_t depth;         /* of the deepest array that is no null */
    bool     has_deep_null; /* a null array that hiredis takes for too deep */
    bool     has_long_item; /* a line or payload over our limit */
} now;

static void add(const char *bytes, size_t size)
{
    assert_true(size <= sizeof now.bytes - now.size);
    memcpy(now.bytes + now.size, bytes, size);
    now.size += size;
}

static void add_header(char type, int64_t number)
{
    char      header[32];
    const int size = snprintf(header, sizeof header, "%c%" PRId64 "\r\n", type, number);

    add(header, (size_t)size);
}

static char random_byte(void)
{
    static const char alphabet[] = "+-:$*0123456789\r\n\0\x7f\x80\xff abcxyzABCXYZ?.;";

    return alphabet[random_below(sizeof alphabet - 1)];
}

/* Mostly short; now and then next to a limit, unless the frame is large as it is. */
static uint32_t random_size(uint32_t limit)
{
    if (one_in(200) && now.size < BWL_RESP_FRAME_MAX)
        return limit - 1 + random_below(3);
    return random_below(one_in(20) ? 200 : 12);
}

static void add_text(char type, uint32_t limit)
{
    const uint32_t size = random_size(limit);

    if (type == '$')
        add_header(type, size);
    else
        add(&type, 1);
    for (uint32_t i = 0; i < size; i++) {
        const char byte      = random_byte();
        const bool ends_line = byte == '\r' || byte == '\n';

        add(ends_line && type != '$' ? "/" : &byte, 1);
    }
    add("\r\n", 2);
    now.has_long_item |= size > limit;
}

static void add_integer(void)
{
    int64_t integer = (int64_t)random_below(2000) - 1000;

    if (one_in(8))
        integer = one_in(2) ? INT64_MAX : INT64_MIN;
    else if (one_in(4))
        integer = (int64_t)random_below(INT32_MAX) * (int64_t)random_below(INT32_MAX);
    add_header(':', integer);
}

static void add_scalar(uint32_t depth)
{
    switch (random_below(6)) {
    case 0: add_text('+', BWL_RESP_LINE_MAX); break;
    case 1: add_text('-', BWL_RESP_LINE_MAX); break;
    case 2: add_text('$', BWL_RESP_BULK_MAX); break;
    case 3: add_integer(); break;
    case 4: add_header('$', -1); break;
    default:
        add_header('*', -1);
        now.has_deep_null |= depth >= BWL_RESP_DEPTH_MAX;
        break;
    }
}

/* One value below `depth` open arrays, with at most `levels` more inside: that bounds the
   recursion.  Where many levels are left, arrays are likely but short. */
static void add_value(uint32_t depth, uint32_t levels)
{
    const bool is_array = levels > 4 ? !one_in(8) : levels > 0 && one_in(3);
    uint32_t   count    = levels > 4 ? 1 + random_below(2) : random_below(6);

    if (!is_array) {
        add_scalar(depth);
        return;
    }
    if (one_in(200)) {
        count  = BWL_RESP_ELEMENTS_MAX - 1 + random_below(3);
        levels = 1;
    }
    add_header('*', count);
    now.elements += count;
    now.depth = depth + 1 > now.depth ? depth + 1 : now.depth;
    for (uint32_t i = 0; i < count; i++)
        add_value(depth + 1, levels - 1);
}

static void generate(void)
{
    now.size          = 0;
    now.elements      = 0;
    now.depth         = 0;
    now.has_deep_null = false;
    now.has_long_item = false;
    add_value(0, one_in(4) ? 10 : 3);
}

static void harm(void)
{
    const uint32_t wounds = 1 + random_below(3);

    for (uint32_t i = 0; i < wounds && now.size > 1; i++) {
        const size_t at   = random_below((uint32_t)now.size);
        char *const  here = now.bytes + at;

        switch (random_below(4)) {
        case 0: *here = random_byte(); break;
        case 1:
            memmove(here, here + 1, now.size - at - 1);
            now.size--;
            break;
        case 2:
            memmove(here + 1, here, now.size - at);
            *here = random_byte();
            now.size++;
            break;
        default: now.size = one_in(4) ? at : now.size; break;
        }
    }
}

/* ---- the two readers ---- */

typedef struct reading {
    bwl_resp_status status; /* hiredis has no TOO_BIG: its refusals are MALFORMED */
    size_t          size;   /* of the frame, if OK */
} reading;

/* While hiredis reads, each value it builds is compared with the next one of this walk. */
static struct {
    bool            comparing;
    bool            differs;
    bwl_resp_cursor cursor;
    bwl_resp_value  value;
} walk;

static void *compare(char type, int64_t number, const char *text, size_t size)
{
    if (walk.comparing && !walk.differs) {
        bwl_resp_value *value = &walk.value;

        walk.differs = !bwl_resp_next(&walk.cursor, value) || value->type != type ||
                       value->integer + value->count != number || value->size != size ||
                       (text != NULL) != (value->text != NULL) ||
                       (text != NULL && memcmp(value->text, text, size) != 0);
    }
    return &walk; /* stands for the object, which nobody needs */
}

static void *on_text(const redisReadTask *task, char *text, size_t size)
{
    const char text_type = task->type == REDIS_REPLY_STATUS ? '+' : '-';

    return compare(task->type == REDIS_REPLY_STRING ? '$' : text_type, 0, text, size);
}

static void *on_array(const redisReadTask *task, int count)
{
    (void)task;
    return compare('*', count, NULL, 0);
}

static void *on_integer(const redisReadTask *task, long long integer)
{
    (void)task;
    return compare(':', integer, NULL, 0);
}

static void *on_null(const redisReadTask *task)
{
    (void)task;
    return compare('_', 0, NULL, 0);
}

static reading read_theirs(const char *bytes, size_t size)
{
    static redisReplyObjectFunctions functions = {
        .createString  = on_text,
        .createArray   = on_array,
        .createInteger = on_integer,
        .createNil     = on_null,
    };
    redisReader *reader = redisReaderCreateWithFunctions(&functions);
    void        *reply  = NULL;

    assert_non_null(reader);
    assert_int_equal(redisReaderFeed(reader, bytes, size), REDIS_OK);
    const bool   refused = redisReaderGetReply(reader, &reply) != REDIS_OK;
    const size_t left    = reader->len - reader->pos;
    redisReaderFree(reader);
    if (refused)
        return (reading){ .status = BWL_RESP_MALFORMED };
    if (reply == NULL)
        return (reading){ .status = BWL_RESP_MORE };
    return (reading){ .status = BWL_RESP_OK, .size = size - left };
}

static bwl_resp_scan read_ours(const char *bytes, size_t size)
{
    bwl_resp_scan scan = { 0 };

    (void)bwl_resp_scan_bytes(&scan, bytes, size);
    return scan;
}

/* ---- the rules ---- */

/* How often each way of agreeing happened: a rule that never applies would be no test. */
static struct {
    uint32_t accepted, unfinished, refused, mended, early, too_big, deep_null;
} seen;

/* Rule 1.  False if the refusal has another cause. */
static bool mend(char *bytes, const bwl_resp_scan *refusal)
{
    char *const guilty  = bytes + refusal->size - 1;
    const bool  in_text = refusal->type == '+' || refusal->type == '-';

    if (refusal->state == BWL_RESP_AT_BULK)
        *guilty = '\r';
    else if (refusal->state == BWL_RESP_AT_BULK_LF)
        *guilty = '\n';
    else if (refusal->state == BWL_RESP_AT_TEXT)
        *guilty = '/'; /* was a lone LF */
    else if (refusal->state == BWL_RESP_AT_LINE_END && in_text)
        guilty[-1] = '/'; /* was a lone CR */
    else
        return false;
    return true;
}

/* Rule 2. */
static void assert_refused_in_the_end(const char *bytes, const bwl_resp_scan *refusal)
{
    static char ended[FRAME_SIZE_MAX + 2];

    memcpy(ended, bytes, refusal->size);
    memcpy(ended + refusal->size, "\r\n", 2);
    assert_int_equal(read_theirs(ended, refusal->size + 2).status, BWL_RESP_MALFORMED);
}

/* Rule 3. */
static void assert_too_big(const char *bytes, const bwl_resp_scan *refusal)
{
    const char *const end    = bytes + refusal->size;
    const char       *header = end - 1;

    if (refusal->size == BWL_RESP_FRAME_MAX)
        return;
    if (refusal->type == '+' || refusal->type == '-') {
        const char *const line = end - (BWL_RESP_LINE_MAX + 1);

        assert_true(refusal->size > BWL_RESP_LINE_MAX + 1);
        assert_int_equal(line[-1], refusal->type);
        assert_null(memchr(line, '\r', BWL_RESP_LINE_MAX + 1));
        return;
    }
    while (header > bytes && *header != '$' && *header != '*')
        header--;
    const uint64_t claim = strtoull(header + 1, NULL, 10);
    if (refusal->type == '$')
        assert_true(claim > BWL_RESP_BULK_MAX || refusal->size + claim + 4 > BWL_RESP_FRAME_MAX);
    else
        assert_true(claim + refusal->elements > BWL_RESP_ELEMENTS_MAX ||
                    refusal->depth == BWL_RESP_DEPTH_MAX);
}

/* Rule 4. */
static bool has_array_below_eight(const char *bytes, size_t size)
{
    bwl_resp_scan scan = { 0 };

    for (size_t i = 0; i < size; i++) {
        const bool at_type = scan.state == BWL_RESP_AT_TYPE;

        if (at_type && scan.depth == BWL_RESP_DEPTH_MAX && bytes[i] == '*')
            return true;
        if (bwl_resp_scan_bytes(&scan, bytes, i + 1) != BWL_RESP_MORE)
            return false;
    }
    return false;
}

static void assert_same_reading(const char *bytes, size_t size, const bwl_resp_scan *ours)
{
    walk.comparing       = ours->status == BWL_RESP_OK;
    walk.differs         = false;
    walk.cursor          = bwl_resp_begin(bytes, walk.comparing ? ours->size : 0);
    const reading theirs = read_theirs(bytes, size);
    walk.comparing       = false;

    assert_false(walk.differs);
    if (theirs.status != ours->status) {
        assert_int_equal(theirs.status, BWL_RESP_MALFORMED);
        assert_true(has_array_below_eight(bytes, size));
        seen.deep_null++;
    } else if (theirs.status == BWL_RESP_OK) {
        assert_int_equal(theirs.size, ours->size);
        assert_int_equal(walk.cursor.at, ours->size); /* they, too, saw the last value */
        seen.accepted++;
    } else {
        seen.unfinished++;
    }
}

static void assert_agreement(char *bytes, size_t size)
{
    const reading theirs = read_theirs(bytes, size);
    bwl_resp_scan ours   = read_ours(bytes, size);

    while (ours.status == BWL_RESP_MALFORMED && mend(bytes, &ours)) {
        const bwl_resp_scan mended = read_ours(bytes, size);
        const reading       again  = read_theirs(bytes, size);

        assert_true(mended.size >= ours.size || mended.status == BWL_RESP_TOO_BIG);
        assert_int_equal(again.status, theirs.status);
        assert_int_equal(again.size, theirs.size);
        ours = mended;
        seen.mended++;
    }

    if (ours.status == BWL_RESP_TOO_BIG) {
        assert_too_big(bytes, &ours);
        seen.too_big++;
    } else if (ours.status == BWL_RESP_MALFORMED) {
        assert_int_not_equal(theirs.status, BWL_RESP_OK);
        assert_refused_in_the_end(bytes, &ours);
        seen.refused += theirs.status == BWL_RESP_MALFORMED;
        seen.early += theirs.status == BWL_RESP_MORE;
    } else {
        assert_same_reading(bytes, size, &ours);
    }
}

/* ---- the tests ---- */

TEST(resp_agrees_with_hiredis_on_well_formed_frames)
{
    for (uint32_t i = 0; i < ROUNDS / 2; i++) {
        generate();
        const bool fits = now.elements <= BWL_RESP_ELEMENTS_MAX && !now.has_long_item &&
                          now.depth <= BWL_RESP_DEPTH_MAX && now.size <= BWL_RESP_FRAME_MAX;
        const bool          fits_them = now.depth <= BWL_RESP_DEPTH_MAX && !now.has_deep_null;
        const bwl_resp_scan ours      = read_ours(now.bytes, now.size);
        const reading       theirs    = read_theirs(now.bytes, now.size);

        assert_int_equal(ours.status, fits ? BWL_RESP_OK : BWL_RESP_TOO_BIG);
        assert_int_equal(theirs.status, fits_them ? BWL_RESP_OK : BWL_RESP_MALFORMED);
        assert_agreement(now.bytes, now.size);
    }
}

TEST(resp_agrees_with_hiredis_on_harmed_frames)
{
    for (uint32_t i = 0; i < ROUNDS / 2; i++) {
        generate();
        harm();
        assert_agreement(now.bytes, now.size);
    }
}

TEST(resp_oracle_has_seen_each_rule_at_work)
{
    print_message(
        "# seed %d, %d frames: %u accepted, %u unfinished, %u refused by both, %u mended, "
        "%u refused early, %u too big, %u with a deep null\n",
        SEED, ROUNDS, seen.accepted, seen.unfinished, seen.refused, seen.mended, seen.early,
        seen.too_big, seen.deep_null);
    assert_true(seen.accepted > ROUNDS / 3);
    assert_true(seen.unfinished > ROUNDS / 100);
    assert_true(seen.refused > ROUNDS / 100);
    assert_true(seen.mended > ROUNDS / 100);
    assert_true(seen.early > ROUNDS / 1000);
    assert_true(seen.too_big > ROUNDS / 100);
    assert_true(seen.deep_null > ROUNDS / 1000);
}
