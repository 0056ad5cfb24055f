/*
 * test_sentinel_wire.c -- every reply to the query of a sentinel, its message about a new primary,
 * and frames that are nearly one of them.
 */
#include "engine/redis/wire/sentinel.h"
#include "tests/lib/suite.h"

#define HOST "$9\r\n127.0.0.1\r\n"

static bwl_primary primary;

static bwl_sentinel_says read(const char *frame)
{
    primary = (bwl_primary){ .port = 1 };
    return bwl_sentinel_read(&primary, frame, strlen(frame));
}

TEST(sentinel_reply_names_the_primary)
{
    assert_int_equal(read("*2\r\n" HOST "$4\r\n6379\r\n"), BWL_SENTINEL_FOUND);
    assert_string_equal(primary.host, "127.0.0.1");
    assert_int_equal(primary.port, 6379);
}

TEST(sentinel_reply_that_is_no_address)
{
    static const struct {
        const char       *frame;
        bwl_sentinel_says says;
    } rows[] = {
        { "*-1\r\n", BWL_SENTINEL_UNKNOWN },
        { "_\r\n", BWL_SENTINEL_UNKNOWN },
        { "-NOAUTH Authentication required.\r\n", BWL_SENTINEL_ERROR },
        { "+OK\r\n", BWL_SENTINEL_STRANGE },
        { "*1\r\n" HOST, BWL_SENTINEL_STRANGE },
        { "*3\r\n" HOST "$4\r\n6379\r\n$1\r\nx\r\n", BWL_SENTINEL_STRANGE },
        { "*2\r\n_\r\n$4\r\n6379\r\n", BWL_SENTINEL_STRANGE },
        { "*2\r\n" HOST ":6379\r\n", BWL_SENTINEL_STRANGE },
        { "*2\r\n$0\r\n\r\n$4\r\n6379\r\n", BWL_SENTINEL_STRANGE },
        { "*2\r\n" HOST "$1\r\n0\r\n", BWL_SENTINEL_STRANGE },
        { "*2\r\n" HOST "$5\r\n65536\r\n", BWL_SENTINEL_STRANGE },
        { "*2\r\n" HOST "$2\r\n6x\r\n", BWL_SENTINEL_STRANGE },
        { "*2\r\n$3\r\na b\r\n$4\r\n6379\r\n", BWL_SENTINEL_STRANGE },
        { "*2\r\n$2\r\na\x7f\r\n$4\r\n6379\r\n", BWL_SENTINEL_STRANGE },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (read(rows[i].frame) != rows[i].says)
            fail_msg("%s is read as %d", rows[i].frame, (int)read(rows[i].frame));
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

#define MESSAGE ">3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n"

static bool is_switch(const char *frame)
{
    primary = (bwl_primary){ .port = 1 };
    return bwl_sentinel_read_switch(&primary, "m", frame, strlen(frame));
}

TEST(sentinel_message_names_the_new_primary)
{
    assert_true(is_switch(MESSAGE "$17\r\nm 1.2.3.4 5 b 678\r\n"));
    assert_string_equal(primary.host, "b");
    assert_int_equal(primary.port, 678);
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
