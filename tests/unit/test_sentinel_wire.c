/*
 * test_sentinel_wire.c -- frames that are nearly a reply of a sentinel, or nearly its message about
 * a new primary; tests/session plays the whole ones.
 */
#include "engine/redis/wire/sentinel.h"
#include "tests/lib/suite.h"

#include <stdio.h>

#define HOST "$9\r\n127.0.0.1\r\n"

static bwl_primary primary;

static bwl_sentinel_says read(const char *frame)
{
    primary = (bwl_primary){ .port = 1 };
    return bwl_sentinel_read(&primary, frame, strlen(frame));
}

TEST(sentinel_reply_that_is_no_address)
{
    static const struct {
        bwl_sentinel_says says;
        const char       *frames[12]; /* up to NULL */
    } rows[] = {
        { BWL_SENTINEL_UNKNOWN, { "*-1\r\n", "_\r\n" } },
        { BWL_SENTINEL_ERROR, { "-NOAUTH Authentication required.\r\n" } },
        { BWL_SENTINEL_STRANGE,
          { "+OK\r\n", "*1\r\n" HOST, "*3\r\n" HOST "$4\r\n6379\r\n$1\r\nx\r\n",
            "*2\r\n_\r\n$4\r\n6379\r\n", "*2\r\n" HOST ":6379\r\n",
            "*2\r\n$0\r\n\r\n$4\r\n6379\r\n", "*2\r\n" HOST "$1\r\n0\r\n",
            "*2\r\n" HOST "$5\r\n65536\r\n", "*2\r\n" HOST "$2\r\n6x\r\n",
            "*2\r\n$3\r\na b\r\n$4\r\n6379\r\n", "*2\r\n$2\r\na\x7f\r\n$4\r\n6379\r\n" } },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (const char *const *frame = rows[i].frames; *frame != NULL; frame++) {
            if (read(*frame) != rows[i].says)
                fail_msg("%s is read as %d", *frame, (int)read(*frame));
            assert_int_equal(primary.port, 1); /* unchanged */
        }
}

TEST(primary_has_a_port_of_16_bits_and_a_host_of_255_bytes)
{
    char long_host[BWL_PRIMARY_HOST_MAX + 1];

    memset(long_host, 'a', sizeof long_host);
    assert_true(bwl_primary_take(&primary, (bwl_bytes){ long_host, sizeof long_host - 1 }, 65535));
    assert_false(bwl_primary_take(&primary, (bwl_bytes){ long_host, sizeof long_host }, 65535));
    assert_false(bwl_primary_take(&primary, (bwl_bytes){ "a", 1 }, 65536));
    assert_true(bwl_primary_take(&primary, (bwl_bytes){ NULL, 0 }, 1));
    assert_string_equal(primary.host, "");
}

/* ---- the reply to MASTER --------------------------------------------------------------------- */

#define NAME  "$4\r\nname\r\n$1\r\nm\r\n"
#define IP    "$2\r\nip\r\n" HOST
#define PORT  "$4\r\nport\r\n$4\r\n6379\r\n"
#define EPOCH "$12\r\nconfig-epoch\r\n$2\r\n17\r\n"

static bwl_sentinel_state it;

static bwl_sentinel_says read_state(const char *frame)
{
    it = (bwl_sentinel_state){ .epoch = 1 };
    return bwl_sentinel_read_state(&it, frame, strlen(frame));
}

static bwl_sentinel_says read_flags(const char *flags)
{
    char frame[200];

    (void)snprintf(frame, sizeof frame, "%%4\r\n" IP PORT EPOCH "$5\r\nflags\r\n$%zu\r\n%s\r\n",
                   strlen(flags), flags);
    return read_state(frame);
}

TEST(sentinel_state_is_a_map_or_a_list)
{
    static const char *const frames[] = { "%4\r\n" NAME IP PORT  EPOCH,
                                          "*8\r\n" EPOCH PORT IP NAME };

    for (size_t i = 0; i < COUNT_OF(frames); i++) {
        assert_int_equal(read_state(frames[i]), BWL_SENTINEL_FOUND);
        assert_int_equal(it.epoch, 17);
        assert_string_equal(it.instance.host, "127.0.0.1");
        assert_int_equal(it.instance.port, 6379);
        assert_false(it.is_down);
    }
}

TEST(instance_is_down_for_a_quorum_only_with_the_flag_o_down)
{
    static const char *const down[] = { "o_down", "s_down,o_down,master", "master,o_down" };
    static const char *const up[]   = { "", "master", "s_down,master", "no_down,o_down_not" };

    for (size_t i = 0; i < COUNT_OF(down); i++) {
        assert_int_equal(read_flags(down[i]), BWL_SENTINEL_FOUND);
        assert_true(it.is_down);
    }
    for (size_t i = 0; i < COUNT_OF(up); i++) {
        assert_int_equal(read_flags(up[i]), BWL_SENTINEL_FOUND);
        assert_false(it.is_down);
    }
}

TEST(sentinel_reply_that_is_no_state)
{
    /* The first strange maps have no epoch, no port, no address. */
    static const struct {
        bwl_sentinel_says says;
        const char       *frames[12]; /* up to NULL */
    } rows[] = {
        { BWL_SENTINEL_UNKNOWN, { "-ERR No such master with that name\r\n" } },
        { BWL_SENTINEL_ERROR,
          { "-NOPERM this user has no permissions\r\n", "-ERR unknown command 'SENTINEL'\r\n" } },
        { BWL_SENTINEL_STRANGE,
          { "+OK\r\n", "_\r\n", "%2\r\n" IP PORT, "%2\r\n" IP EPOCH, "%2\r\n" PORT EPOCH,
            "%3\r\n" IP PORT "$12\r\nconfig-epoch\r\n$2\r\n-1\r\n",
            "%3\r\n" IP PORT "$12\r\nconfig-epoch\r\n_\r\n",
            "*5\r\n" IP PORT "$12\r\nconfig-epoch\r\n" } },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (const char *const *frame = rows[i].frames; *frame != NULL; frame++) {
            if (read_state(*frame) != rows[i].says)
                fail_msg("%s is read as %d", *frame, (int)read_state(*frame));
            assert_int_equal(it.epoch, 1); /* unchanged */
        }
}

/* ---- the message ----------------------------------------------------------------------------- */

#define MESSAGE ">3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n"

static bool is_switch(const char *frame)
{
    primary = (bwl_primary){ .port = 1 };
    return bwl_sentinel_read_switch(&primary, "m", frame, strlen(frame));
}

TEST(push_that_is_no_switch_of_this_service)
{
    static const char *const frames[] = {
        MESSAGE "$17\r\nn 1.2.3.4 5 b 678\r\n",   /* of another service */
        MESSAGE "$18\r\nmm 1.2.3.4 5 b 678\r\n",  /* whose name is longer */
        MESSAGE "$13\r\nm 1.2.3.4 5 b\r\n",       /* a field is missing */
        MESSAGE "$19\r\nm 1.2.3.4 5 b 678 9\r\n", /* one too many */
        MESSAGE "$15\r\nm 1.2.3.4 5 b x\r\n",     /* no port */
        MESSAGE "_\r\n",
        ">3\r\n$7\r\nmessage\r\n$6\r\n+sdown\r\n$17\r\nm 1.2.3.4 5 b 678\r\n",
        ">3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n",
        ">2\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n",
        "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$17\r\nm 1.2.3.4 5 b 678\r\n",
    };

    for (size_t i = 0; i < COUNT_OF(frames); i++) {
        if (is_switch(frames[i]))
            fail_msg("%s is a switch", frames[i]);
        assert_int_equal(primary.port, 1);
    }
}
