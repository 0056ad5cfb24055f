/*
 * test_cluster.c -- the slot of a key, the commands to a node of a cluster, and the parsing of its
 * replies: valid frames, and frames that are not a reply to the command.
 *
 * The slots are those that a server gives (CLUSTER KEYSLOT), and the examples of the specification.
 */
#include "engine/redis/wire/cluster.h"
#include "engine/redis/wire/key.h"
#include "tests/lib/suite.h"

#include <stdio.h>

/* ---- slots ----------------------------------------------------------------------------------- */

static uint16_t slot_of(const char *key)
{
    return bwl_cluster_slot(key, strlen(key));
}

TEST(cluster_slot_is_that_of_the_server)
{
    assert_int_equal(slot_of("123456789"), 0x31c3 & 16383); /* the check of the CRC */
    assert_int_equal(slot_of("foo"), 12182);
    assert_int_equal(slot_of("bar"), 5061);
    assert_int_equal(slot_of("hello"), 866);
    assert_int_equal(slot_of("bowline:{a}"), 15495);
    assert_int_equal(bwl_cluster_slot("\0", 1), 0);
}

TEST(cluster_slot_is_that_of_the_hash_tag)
{
    assert_int_equal(slot_of("{user1000}.following"), slot_of("{user1000}.followers"));
    assert_int_equal(slot_of("{user1000}.following"), slot_of("user1000"));
    assert_int_not_equal(slot_of("foo{bar}"), slot_of("foo"));
}

TEST(cluster_keys_of_one_name_have_one_slot)
{
    static const char *const names[] = { "a", "orders/17", "{x}", "}", "a{}b", "%", "\xc3\xa9" };
    char                     key[BWL_KEY_MAX + 16];

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t   size = bwl_key_write(key, NULL, names[i], strlen(names[i]));
        uint16_t slot = bwl_cluster_slot(key, size);
        memcpy(key + size, ":bwl.q", 6);
        assert_int_equal(bwl_cluster_slot(key, size + 6), slot);
    }
}

/* ---- CLUSTER SLOTS --------------------------------------------------------------------------- */

static bwl_cluster_walk  walk;
static bwl_cluster_range range;

static bool begins(const char *frame)
{
    return bwl_cluster_begin(&walk, frame, strlen(frame));
}

static void assert_next(unsigned first, unsigned last, const char *host, unsigned port)
{
    assert_int_equal(bwl_cluster_next(&walk, &range), 1);
    assert_int_equal(range.first, first);
    assert_int_equal(range.last, last);
    assert_string_equal(range.primary.host, host);
    assert_int_equal(range.primary.port, port);
}

#define NODE(host, port)  "*3\r\n" host ":" port "\r\n+id\r\n"
#define NODE7(host, port) "*4\r\n" host ":" port "\r\n+id\r\n*2\r\n+hostname\r\n+h\r\n"

TEST(cluster_slots_are_read)
{
    assert_true(
        begins("*3\r\n"
               "*4\r\n:0\r\n:5460\r\n" NODE("$9\r\n127.0.0.1\r\n", "7000")
                   NODE("$9\r\n127.0.0.1\r\n", "7003") "*3\r\n:5461\r\n:16383\r\n" NODE7(
                       "+db.example\r\n", "65535") "*5\r\n:7\r\n:7\r\n" NODE7("$3\r\n::1\r\n", "1")
                       NODE7("+a\r\n", "2") "*2\r\n+b\r\n:3\r\n"));
    assert_next(0, 5460, "127.0.0.1", 7000);
    assert_next(5461, 16383, "db.example", 65535);
    assert_next(7, 7, "::1", 1);
    assert_int_equal(bwl_cluster_next(&walk, &range), 0);
}

TEST(cluster_slots_without_a_host_belong_to_the_replying_node)
{
    assert_true(begins(
        "*2\r\n*3\r\n:1\r\n:2\r\n*2\r\n_\r\n:5\r\n*3\r\n:3\r\n:4\r\n*2\r\n$0\r\n\r\n:6\r\n"));
    assert_next(1, 2, "", 5);
    assert_next(3, 4, "", 6);
    assert_int_equal(bwl_cluster_next(&walk, &range), 0);
}

TEST(cluster_slots_without_an_owner_are_skipped)
{
    assert_true(begins("*4\r\n*3\r\n:1\r\n:2\r\n*2\r\n+?\r\n:5\r\n"
                       "*3\r\n:1\r\n:2\r\n*2\r\n+a b\r\n:5\r\n"
                       "*3\r\n:1\r\n:2\r\n*2\r\n+a\r\n:0\r\n"
                       "*3\r\n:3\r\n:4\r\n*2\r\n+b\r\n:6\r\n"));
    assert_next(3, 4, "b", 6);
    assert_int_equal(bwl_cluster_next(&walk, &range), 0);
    assert_true(begins("*0\r\n"));
    assert_int_equal(bwl_cluster_next(&walk, &range), 0);
}

TEST(cluster_reply_that_is_no_map_is_refused)
{
    static const char *const strange[] = {
        "*1\r\n:1\r\n",
        "*1\r\n*2\r\n:1\r\n:2\r\n",
        "*1\r\n*3\r\n:-1\r\n:2\r\n*2\r\n+a\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n+a\r\n:1\r\n",
        "*1\r\n*3\r\n:3\r\n:2\r\n*2\r\n+a\r\n:1\r\n",
        "*1\r\n*3\r\n+1\r\n:2\r\n*2\r\n+a\r\n:1\r\n",
        "*1\r\n*3\r\n:1\r\n:2\r\n*1\r\n+a\r\n",
        "*1\r\n*3\r\n:1\r\n:2\r\n*2\r\n:1\r\n:1\r\n",
        "*1\r\n*3\r\n:1\r\n:2\r\n*2\r\n+a\r\n+1\r\n",
        "*1\r\n*3\r\n:1\r\n:2\r\n*2\r\n+a\r\n:-1\r\n",
        "*1\r\n*3\r\n:1\r\n:2\r\n+a\r\n",
    };

    assert_false(begins("+OK\r\n"));
    assert_false(begins("-ERR This instance has cluster support disabled\r\n"));
    assert_false(begins("%1\r\n+a\r\n*0\r\n"));
    for (size_t i = 0; i < COUNT_OF(strange); i++) {
        assert_true(begins(strange[i]));
        if (bwl_cluster_next(&walk, &range) != -1)
            fail_msg("taken for a map: %s", strange[i]);
        assert_int_equal(bwl_cluster_next(&walk, &range), 0); /* nothing remains */
    }
}

/* ---- MOVED and ASK --------------------------------------------------------------------------- */

typedef struct redirect {
    const char       *frame;
    bwl_redirect_kind kind;
    uint16_t          slot;
    const char       *host;
    uint16_t          port;
} redirect;

static const redirect redirects[] = {
    { "-MOVED 3999 127.0.0.1:6381\r\n", BWL_REDIRECT_MOVED, 3999, "127.0.0.1", 6381 },
    { "-ASK 0 db-1.example:1\r\n", BWL_REDIRECT_ASK, 0, "db-1.example", 1 },
    { "-MOVED 16383 2001:db8::1:65535\r\n", BWL_REDIRECT_MOVED, 16383, "2001:db8::1", 65535 },
    { "-MOVED 1 :6381\r\n", BWL_REDIRECT_MOVED, 1, "", 6381 },
    { "!9\r\nASK 1 h:2\r\n", BWL_REDIRECT_ASK, 1, "h", 2 },
};

TEST(cluster_redirects_are_read)
{
    bwl_redirect to;

    for (size_t i = 0; i < COUNT_OF(redirects); i++) {
        const redirect *row = &redirects[i];
        assert_true(bwl_cluster_read_redirect(&to, row->frame, strlen(row->frame)));
        assert_int_equal(to.kind, row->kind);
        assert_int_equal(to.slot, row->slot);
        assert_string_equal(to.to.host, row->host);
        assert_int_equal(to.to.port, row->port);
    }
}

TEST(cluster_other_errors_are_no_redirect)
{
    static const char *const others[] = {
        /* no error, or another one */
        "+MOVED 1 h:2\r\n", "$11\r\nMOVED 1 h:2\r\n", ":1\r\n", "-MOVEDX 1 h:1\r\n",
        "-ASKING 1 h:1\r\n", "-TRYAGAIN 1 h:1\r\n",
        "-ERR Error running script: @user_script:3: -MOVED 1 h:1\r\n",
        /* a part is missing */
        "-MOVED\r\n", "-MOVED \r\n", "-MOVED 1\r\n", "-MOVED 1 \r\n", "-MOVED 1 h\r\n",
        "-MOVED 1 h:\r\n",
        /* a port, slot or host that cannot be */
        "-MOVED 1 h:0\r\n", "-MOVED 1 h:65536\r\n", "-MOVED 1 h:-1\r\n", "-MOVED 16384 h:1\r\n",
        "-MOVED -1 h:1\r\n", "-MOVED x h:1\r\n", "-MOVED 01 h:1\r\n", "-MOVED 1 ?:1\r\n",
        "-MOVED 1 a b:1\r\n"
    };
    static char  frame[400];
    bwl_redirect to;

    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (bwl_cluster_read_redirect(&to, others[i], strlen(others[i])))
            fail_msg("taken for a redirect: %s", others[i]);
    for (unsigned size = BWL_PRIMARY_HOST_MAX; size <= BWL_PRIMARY_HOST_MAX + 1; size++) {
        char host[BWL_PRIMARY_HOST_MAX + 2] = { 0 };
        memset(host, 'h', size);
        (void)snprintf(frame, sizeof frame, "-MOVED 1 %s:1\r\n", host);
        assert_int_equal(bwl_cluster_read_redirect(&to, frame, strlen(frame)),
                         size == BWL_PRIMARY_HOST_MAX);
    }
}

/* docs/reference/wire.md has the rule, and other programs follow it too. */
TEST(cluster_tag_is_the_lowest_number_with_the_slot)
{
    static bwl_cluster_tags tags;
    char                    text[12];
    uint32_t                last = 0;

    for (uint32_t number = 0; number < 3; number++) {
        int size = snprintf(text, sizeof text, "%u", (unsigned)number);
        assert_int_equal(bwl_cluster_tag(&tags, bwl_cluster_slot(text, (size_t)size)), number);
    }
    for (uint16_t slot = 0; slot < BWL_CLUSTER_SLOTS; slot++) {
        uint32_t tag  = bwl_cluster_tag(&tags, slot);
        int      size = snprintf(text, sizeof text, "%u", (unsigned)tag);
        assert_int_equal(bwl_cluster_slot(text, (size_t)size), slot);
        last = tag > last ? tag : last;
    }
    assert_int_equal(last, 109757);
}
