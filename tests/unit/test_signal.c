/*
 * test_signal.c -- the bytes of a release that wakes others.  What a server makes of them is in
 * live/test_redis_profiles.c.
 */
#include "engine/redis/wire/scripts.h"
#include "engine/redis/wire/signal.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <string.h>

static char            bytes[4096];
static bwl_resp_writer writer;

static const char *written(bwl_signal_kind kind, const char *name, bool use_eval)
{
    bwl_signal signal = { .kind = kind, .name = name, .size = strlen(name) };

    writer = (bwl_resp_writer){ .bytes = bytes, .capacity = sizeof bytes - 1 };
    bwl_signal_write(&writer, &signal, use_eval, (bwl_bytes){ "lock:a", 6 }, (bwl_bytes){ "v", 1 });
    bytes[writer.size] = '\0';
    return bytes;
}

static const char *expected(bwl_script_id script, const char *rest)
{
    static char text[512];

    (void)snprintf(text, sizeof text, "*6\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n%s",
                   bwl_scripts[script].sha1, rest);
    return text;
}

TEST(signal_list_is_the_second_key)
{
    assert_string_equal(written(BWL_SIGNAL_LIST, "lock-signal:a", false),
                        expected(BWL_SCRIPT_DELETE_AND_PUSH,
                                 "$1\r\n2\r\n$6\r\nlock:a\r\n$13\r\nlock-signal:a\r\n$1\r\nv\r\n"));
    assert_string_equal(written(BWL_SIGNAL_EVENT, "lock.event:a", false),
                        expected(BWL_SCRIPT_DELETE_AND_KEEP_ONE,
                                 "$1\r\n2\r\n$6\r\nlock:a\r\n$12\r\nlock.event:a\r\n$1\r\nv\r\n"));
}

TEST(signal_second_channel_is_one_more_argument)
{
    bwl_signal signal = {
        .kind = BWL_SIGNAL_CHANNEL, .name = "r", .size = 1, .second = "r:lock:a", .second_size = 8
    };
    char text[512];

    writer = (bwl_resp_writer){ .bytes = bytes, .capacity = sizeof bytes - 1 };
    bwl_signal_write(&writer, &signal, false, (bwl_bytes){ "lock:a", 6 }, (bwl_bytes){ "v", 1 });
    bytes[writer.size] = '\0';
    (void)snprintf(text, sizeof text,
                   "*7\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n1\r\n$6\r\nlock:a\r\n$1\r\nv\r\n"
                   "$1\r\nr\r\n$8\r\nr:lock:a\r\n",
                   bwl_scripts[BWL_SCRIPT_DELETE_AND_PUBLISH].sha1);
    assert_string_equal(bytes, text);
}

TEST(signal_by_text_has_the_whole_script)
{
    for (bwl_signal_kind kind = BWL_SIGNAL_LIST; kind <= BWL_SIGNAL_CHANNEL; kind++) {
        const char *text = written(kind, "n", true);
        assert_memory_equal(text, "*6\r\n$4\r\nEVAL\r\n", 14);
        assert_non_null(strstr(text, "redis.call('DEL', KEYS[1])"));
    }
}
