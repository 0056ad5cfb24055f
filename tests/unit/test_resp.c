/*
 * The RESP codec, tested by frames.
 *
 * A server sends frames and a network cuts them at any byte, so every frame of the tables below is
 * fed in three ways: whole, byte by byte, and in two pieces cut at each position.  Each piece is in
 * a new buffer of exactly its size, so that a sanitizer notices a read of a byte that has not
 * arrived.  For a good frame the result is MORE at every truncation, and then the values follow. A
 * bad frame is written here up to the byte that makes it bad: the result must be an error at that
 * byte and not before.
 */
#include "engine/redis/wire/resp.h"
#include "tests/lib/suite.h"

#include <limits.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Frames that are larger than a line of this file are put together here. */
static struct {
    char   bytes[BWL_RESP_FRAME_MAX + 64];
    size_t size;
} big;

static void add(const char *text)
{
    const size_t size = strlen(text);

    assert_true(sizeof big.bytes - big.size >= size);
    memcpy(big.bytes + big.size, text, size);
    big.size += size;
}

static void add_times(const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++)
        add(text);
}

static void add_bulk(size_t size)
{
    char header[32];

    (void)snprintf(header, sizeof header, "$%zu\r\n", size);
    add(header);
    add_times("x", size);
    add("\r\n");
}

/* Feeds the first `size` bytes from memory that ends where they end. */
static bwl_resp_status feed(bwl_resp_scan *scan, const char *bytes, size_t size)
{
    char *copy = malloc(size > 0 ? size : 1);

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    const bwl_resp_status status = bwl_resp_scan_bytes(scan, copy, size);
    free(copy);
    return status;
}

/* Asserts that the result comes at the last byte for each cut, and that later bytes keep it. */
static void assert_verdict(const char *bytes, size_t size, bwl_resp_status status)
{
    char          more[512];
    bwl_resp_scan by_byte = { 0 };

    assert_true(size + 4 <= sizeof more);
    memcpy(more, bytes, size);
    memcpy(more + size, ":7\r\n", 4);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(feed(&by_byte, more, i), BWL_RESP_MORE);
    assert_int_equal(feed(&by_byte, more, size), status);
    assert_int_equal(by_byte.size, size);

    for (size_t cut = 0; cut <= size + 4; cut++) {
        bwl_resp_scan scan = { 0 };

        assert_int_equal(feed(&scan, more, cut), cut < size ? BWL_RESP_MORE : status);
        assert_int_equal(feed(&scan, more, size + 4), status);
        assert_int_equal(scan.size, size);
    }
}

/* The same for a large frame, for which all cuts would take minutes. */
static void assert_big(bwl_resp_status status)
{
    bwl_resp_scan whole   = { 0 };
    bwl_resp_scan by_byte = { 0 };

    assert_int_equal(feed(&whole, big.bytes, big.size + 1), status);
    assert_int_equal(whole.size, big.size);
    for (size_t i = 0; i < big.size; i++)
        assert_int_equal(bwl_resp_scan_bytes(&by_byte, big.bytes, i), BWL_RESP_MORE);
    assert_int_equal(bwl_resp_scan_bytes(&by_byte, big.bytes, big.size), status);
}

/* A frame of a head, an item repeated many times, and a tail. */
static void assert_built(const char *head, const char *item, size_t times, const char *tail,
                         bwl_resp_status status)
{
    big.size = 0;
    add(head);
    add_times(item, times);
    add(tail);
    assert_big(status);
}

/* Writes each value as its type and its content, with a space before all but the first. */
static void render(const char *bytes, size_t size, char *ret_text, size_t capacity)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;
    size_t          used = 0;

    while (bwl_resp_next(&cursor, &value)) {
        char         *out        = ret_text + used;
        const size_t  room       = capacity - used;
        const char   *blank      = used > 0 ? " " : "";
        const bool    has_number = value.text == NULL && value.type != '_';
        const int64_t number     = value.integer + value.count; /* one of them is 0 */
        const int n = has_number ? snprintf(out, room, "%s%c%" PRId64, blank, value.type, number)
                                 : snprintf(out, room, "%s%c%.*s", blank, value.type,
                                            (int)value.size, value.text);

        assert_true(n > 0 && (size_t)n < room);
        used += (size_t)n;
    }
    assert_int_equal(cursor.at, size);
}

/* The reply of redis 7.0.15 to HELLO 3. */
static const char hello_reply[] =
    "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:3\r\n"
    "$2\r\nid\r\n:3\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
    "$7\r\nmodules\r\n*0\r\n";

/* Frames, and the values that the cursor reads. */
static const char *const good[][2] = {
    { "+OK\r\n", "+OK" },
    { "+tab\tand \x80\xff\r\n", "+tab\tand \x80\xff" },
    { "-ERR no such key\r\n", "-ERR no such key" },
    { ":-9223372036854775808\r\n", ":-9223372036854775808" },
    { "*4\r\n:0\r\n:10\r\n:-1\r\n:9223372036854775807\r\n", "*4 :0 :10 :-1 :9223372036854775807" },
    { "$0\r\n\r\n", "$" },
    { "$4\r\n\r\n\r\n\r\n", "$\r\n\r\n" },
    { "_\r\n", "_" },
    { "*3\r\n#t\r\n#f\r\n+\r\n", "*3 #1 #0 +" },
    { "*2\r\n,3.25e-7\r\n(34928903284092385093\r\n", "*2 ,3.25e-7 (34928903284092385093" },
    { "!8\r\nERR \r\nno\r\n", "!ERR \r\nno" },
    { "=7\r\ntxt:abc\r\n", "=txt:abc" },
    { "~2\r\n=4\r\nmkd:\r\n!0\r\n\r\n", "~2 =mkd: !" },
    { "*0\r\n", "*0" },
    { ">0\r\n", ">0" },
    { "*2\r\n~0\r\n%0\r\n", "*2 ~0 %0" },
    { "*3\r\n:1\r\n$-1\r\n*-1\r\n", "*3 :1 _ _" },
    { "*2\r\n*2\r\n:1\r\n*0\r\n~1\r\n+a\r\n", "*2 *2 :1 *0 ~1 +a" },
    { "%2\r\n+a\r\n:1\r\n+b\r\n%1\r\n:2\r\n_\r\n", "%4 +a :1 +b %2 :2 _" },
    { ">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\nkey\r\n", ">2 $invalidate *1 $key" },
    { "|0\r\n:1\r\n", "|0 :1" },
    { "|1\r\n+ttl\r\n:9\r\n*1\r\n:2\r\n", "|2 +ttl :9 *1 :2" },
    { "*2\r\n|1\r\n+a\r\n+b\r\n:1\r\n:2\r\n", "*2 |2 +a +b :1 :2" },
    { "*1\r\n|0\r\n|1\r\n|0\r\n+a\r\n+b\r\n*1\r\n:1\r\n", "*1 |0 |2 |0 +a +b *1 :1" },
    { hello_reply,
      "%14 $server $redis $version $7.0.15 $proto :3 $id :3 $mode $standalone $role $master "
      "$modules *0" },
};

/* Each ends with the byte that makes it bad. */
static const char *const malformed[] = {
    /* no type, and the streamed types */
    "P", "\r", "\n", ".", ";", "$?", "*?", "~?", "*1\r\n.", "*1\r\n\r",
    /* line ends */
    "+OK\n", "+OK\rX", "+OK\r\r", ":1\n", ":1\r\r", "_\n", "_\r\r", "#t\n", "#t\rx", "*1\ra",
    "$1\n", "$1\ra", "$1\r\na\n", "$1\r\na\r\r", "$1\r\nab", "$0\r\na", "=4\r\ntxt:\n",
    /* numbers that redis would not write */
    ":\r", ":-\r", ":--", ":+", ": ", ":5 ", ":1-", ":0x", ":00", ":05", ":-0", ":/",
    "::", ":9223372036854775808", ":-9223372036854775809", ":10000000000000000000",
    ":92233720368547758070", "$\r", "$01", "$+", "*1x", "*\r", "%00", "*1e",
    /* nulls: only '$' and '*' have one, and it is -1 */
    "$-2", "$-0", "$-10", "$-11", "$-\r", "*-2", "*-9", "*-0", "*-10", "*-\r", "!-", "=-", "%-",
    "~-", ">-", "|-",
    /* the small types */
    "#x", "#T", "#\r", "#tt", "_x", "_0", "=3\r", "=0\r", "=7\r\ntxt.", "=7\r\n:xt;",
    /* a push inside another value, or annotated */
    "*1\r\n>", "%1\r\n+a\r\n>", ">1\r\n>", "|0\r\n>"
};

/* Lengths, each up to the digit that is too much. */
static const char *const too_big[] = { "*10000", "*1025", "~1025", ">1025", "%513", "|512", "*9999",
                                       /* earlier lengths count, too */
                                       "*2\r\n*1023", "%1\r\n*1023", "*2\r\n:1\r\n%512",
                                       "*1\r\n|511\r\n|0", "|0\r\n*1024",
                                       /* lengths */
                                       "$100000", "$65537", "!65537", "=65537", "$99999" };

TEST(resp_good_frames_are_accepted_at_every_cut)
{
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_verdict(good[i][0], strlen(good[i][0]), BWL_RESP_OK);
}

TEST(resp_bad_frames_are_refused_at_their_first_bad_byte)
{
    assert_verdict("\0", 1, BWL_RESP_MALFORMED);
    assert_verdict(":\0", 2, BWL_RESP_MALFORMED);
    for (size_t i = 0; i < COUNT_OF(malformed); i++)
        assert_verdict(malformed[i], strlen(malformed[i]), BWL_RESP_MALFORMED);
}

TEST(resp_lengths_over_a_limit_are_refused_at_their_digit)
{
    for (size_t i = 0; i < COUNT_OF(too_big); i++)
        assert_verdict(too_big[i], strlen(too_big[i]), BWL_RESP_TOO_BIG);
}

TEST(resp_cursor_gives_the_values_in_wire_order)
{
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        char values[512];

        render(good[i][0], strlen(good[i][0]), values, sizeof values);
        assert_string_equal(values, good[i][1]);
    }
}

TEST(resp_endless_line_is_refused)
{
    static const char *const types[] = { "+", "-", ",", "(" };

    for (size_t i = 0; i < COUNT_OF(types); i++) {
        assert_built(types[i], "x", BWL_RESP_LINE_MAX, "\r\n", BWL_RESP_OK);
        assert_built(types[i], "x", BWL_RESP_LINE_MAX, "x", BWL_RESP_TOO_BIG);
        assert_built(types[i], "x", BWL_RESP_LINE_MAX, "\n", BWL_RESP_MALFORMED);
    }
}

TEST(resp_depth_limit_is_exact)
{
    assert_built("", "*1\r\n", BWL_RESP_DEPTH_MAX, ":1\r\n", BWL_RESP_OK);
    assert_built("", "*1\r\n", BWL_RESP_DEPTH_MAX, "~1", BWL_RESP_TOO_BIG);
    /* A null is not a level of its own, an empty array is one. */
    assert_built("", "*1\r\n", BWL_RESP_DEPTH_MAX, "*-1\r\n", BWL_RESP_OK);
    assert_built("", "*1\r\n", BWL_RESP_DEPTH_MAX, "*0", BWL_RESP_TOO_BIG);
    /* Levels end with their array: this is wide, not deep. */
    assert_built("*20\r\n", "*1\r\n*1\r\n:1\r\n", 20, "", BWL_RESP_OK);
}

TEST(resp_element_limit_counts_the_whole_frame)
{
    assert_built("*1024\r\n", "_\r\n", 1024, "", BWL_RESP_OK);
    assert_built("%512\r\n", "_\r\n", 1024, "", BWL_RESP_OK);
    assert_built("|511\r\n", "_\r\n", 1022, "*1\r\n_\r\n", BWL_RESP_OK);
    assert_built("|511\r\n", "_\r\n", 1022, "*2", BWL_RESP_TOO_BIG);
    assert_built("*2\r\n*1022\r\n", "_\r\n", 1022, "*0\r\n", BWL_RESP_OK);
    assert_built("*2\r\n*1022\r\n", "_\r\n", 1022, "*1", BWL_RESP_TOO_BIG);
}

TEST(resp_bulk_limit_is_exact)
{
    assert_built("$65536\r\n", "x", BWL_RESP_BULK_MAX, "\r\n", BWL_RESP_OK);
    assert_built("$65536\r\n", "x", BWL_RESP_BULK_MAX, "x", BWL_RESP_MALFORMED);
    assert_built("=65536\r\ntxt:", "x", BWL_RESP_BULK_MAX - 4, "\r\n", BWL_RESP_OK);
}

TEST(resp_frame_limit_is_exact)
{
    const size_t around = strlen("$65536\r\n") + strlen("\r\n");

    big.size = 0;
    add("*4\r\n");
    for (int i = 0; i < 3; i++)
        add_bulk(BWL_RESP_BULK_MAX);
    const size_t before = big.size;
    const size_t rest   = BWL_RESP_FRAME_MAX - before - around;

    add_bulk(rest);
    assert_int_equal(big.size, BWL_RESP_FRAME_MAX);
    assert_big(BWL_RESP_OK);
    /* An item is missing at a place where the frame must not end. */
    big.bytes[1] = '5';
    assert_big(BWL_RESP_TOO_BIG);
    /* A length that is one byte too large is refused when it is read, long before the last byte. */
    big.bytes[1] = '4';
    big.size     = before;
    add_bulk(rest + 1);
    big.size = before + strlen("$65536");
    assert_big(BWL_RESP_TOO_BIG);
}

TEST(resp_skip_ends_after_the_children)
{
    static const char text[] = "*4\r\n*2\r\n:1\r\n|1\r\n+k\r\n*1\r\n+v\r\n%1\r\n:2\r\n:3\r\n"
                               "|1\r\n+k\r\n+v\r\n:4\r\n_\r\n*0\r\n";
    bwl_resp_cursor   cursor = bwl_resp_begin(text, sizeof text - 1);
    bwl_resp_value    value;

    assert_true(bwl_resp_next(&cursor, &value));
    bwl_resp_cursor all = cursor;
    bwl_resp_skip(&all, &value);
    assert_false(bwl_resp_next(&all, &value));

    assert_true(bwl_resp_next(&cursor, &value));
    assert_int_equal(value.count, 2);
    bwl_resp_skip(&cursor, &value); /* the attribute inside, and the map it annotates */
    assert_true(bwl_resp_next(&cursor, &value));
    assert_int_equal(value.type, '|');
    bwl_resp_skip(&cursor, &value); /* the pairs, not the annotated value */
    assert_true(bwl_resp_next(&cursor, &value));
    assert_int_equal(value.integer, 4);
    bwl_resp_skip(&cursor, &value); /* nothing inside */
    assert_true(bwl_resp_next(&cursor, &value));
    assert_int_equal(value.type, '_');
    assert_true(bwl_resp_next(&cursor, &value));
    bwl_resp_skip(&cursor, &value);
    assert_false(bwl_resp_next(&cursor, &value));
}

TEST(resp_text_is_compares_all_of_it)
{
    const bwl_resp_value ok    = { .type = '+', .text = "OK\r\n", .size = 2 };
    const bwl_resp_value empty = { .type = '$', .text = "", .size = 0 };
    const bwl_resp_value null  = { .type = '_' };
    const bwl_resp_value nul   = { .type = '$', .text = "a\0b", .size = 3 };

    assert_true(bwl_resp_text_is(&ok, "OK"));
    assert_false(bwl_resp_text_is(&ok, "O"));
    assert_false(bwl_resp_text_is(&ok, "OKAY"));
    assert_false(bwl_resp_text_is(&ok, "KO"));
    assert_true(bwl_resp_text_is(&empty, ""));
    assert_false(bwl_resp_text_is(&null, ""));
    assert_false(bwl_resp_text_is(&nul, "a"));
}

static const char command[] = "*5\r\n$3\r\nSET\r\n$6\r\nlock:a\r\n$0\r\n\r\n$2\r\nPX\r\n"
                              "$20\r\n-9223372036854775808\r\n";

static void write_command(bwl_resp_writer *writer)
{
    bwl_resp_write_array(writer, 5);
    bwl_resp_write_text(writer, "SET");
    bwl_resp_write_bulk(writer, "lock:abc", 6);
    bwl_resp_write_bulk(writer, NULL, 0);
    bwl_resp_write_text(writer, "PX");
    bwl_resp_write_integer(writer, INT64_MIN);
}

TEST(resp_writer_writes_whole_items_at_every_capacity)
{
    static const size_t ends[] = { 0, 4, 13, 25, 31, 39, sizeof command - 1 };

    for (size_t capacity = 0; capacity <= sizeof command; capacity++) {
        char            bytes[sizeof command + 1];
        bwl_resp_writer writer = { .bytes = bytes, .capacity = capacity };
        size_t          end    = 0;

        for (size_t i = 0; i < COUNT_OF(ends); i++)
            end = ends[i] <= capacity ? ends[i] : end;
        memset(bytes, '~', sizeof bytes);
        write_command(&writer);
        assert_int_equal(writer.size, end);
        assert_int_equal(writer.overflowed, end < sizeof command - 1);
        assert_memory_equal(bytes, command, end);
        for (size_t i = capacity; i < sizeof bytes; i++)
            assert_int_equal(bytes[i], '~');
    }
}

TEST(resp_writer_adds_nothing_after_an_overflow)
{
    char            bytes[8];
    bwl_resp_writer writer = { .bytes = bytes, .capacity = sizeof bytes };

    bwl_resp_write_text(&writer, "much too long");
    assert_true(writer.overflowed);
    assert_int_equal(writer.size, 0);
    bwl_resp_write_text(&writer, "a"); /* seven bytes, which would fit */
    bwl_resp_write_array(&writer, 1);
    assert_int_equal(writer.size, 0);
    /* A size that would wrap around is an overflow like any other. */
    bwl_resp_writer huge = { .bytes = bytes, .capacity = sizeof bytes };
    bwl_resp_write_bulk(&huge, bytes, SIZE_MAX);
    assert_true(huge.overflowed);
    assert_int_equal(huge.size, 0);
}

TEST(resp_writer_writes_a_command_of_words)
{
    static const char wanted[] = "*5\r\n$3\r\nSET\r\n$3\r\na\0b\r\n$4\r\n%s x\r\n$2\r\nPX\r\n"
                                 "$20\r\n-9223372036854775808\r\n*1\r\n$4\r\nEXEC\r\n";
    char              bytes[128];
    bwl_resp_writer   writer = { .bytes = bytes, .capacity = sizeof bytes };

    bwl_resp_write(&writer, "SET %.*s %s PX %lld", 3, "a\0b", "%s x", LLONG_MIN);
    bwl_resp_write(&writer, "EXEC");
    assert_false(writer.overflowed);
    assert_int_equal(writer.size, sizeof wanted - 1);
    assert_memory_equal(bytes, wanted, writer.size);
}
