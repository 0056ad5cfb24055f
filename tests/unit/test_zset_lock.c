/*
 * test_zset_lock.c -- the commands of the locks that are a sorted set, and their replies.
 * tests/live/test_foreign_locks.c tests the scripts.
 */
#include "engine/redis/wire/key.h"
#include "engine/redis/wire/scripts.h"
#include "engine/redis/wire/zset_lock.h"
#include "tests/lib/suite.h"

#include <stdio.h>

#define MEMBER "qLmSyUfzEGQ2sCkhg2E0tHd6xjT3mLZy0aVxJ5rUeYw="

static const bwl_compat_rules rules = { .value = BWL_VALUE_TOKEN, .token = BWL_TOKEN_BASE64_32 };

static const bwl_redis_command words[] = { REDIS_ZSET_TAKE, REDIS_ZSET_EXTEND, REDIS_ZSET_RELEASE };
enum { WORDS = COUNT_OF(words) };

/* The arguments of a command, each followed by a bar; a script by its name, or TEXT. */
static void expect_words(const char *bytes, size_t size, const char *wanted)
{
    static char     is[500];
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;
    size_t          length = 0;

    assert_true(bwl_resp_next(&cursor, &value));
    for (uint32_t count = value.count; count > 0; count--) {
        const char *name = NULL;
        assert_true(bwl_resp_next(&cursor, &value));
        for (unsigned id = 0; id < BWL_SCRIPTS_COUNT; id++) {
            if (bwl_resp_text_is(&value, bwl_scripts[id].sha1))
                name = bwl_scripts[id].name;
            if (bwl_resp_text_is(&value, bwl_scripts[id].text))
                name = "TEXT";
        }
        length += (size_t)snprintf(is + length, sizeof is - length, "%.*s|",
                                   name != NULL ? (int)strlen(name) : (int)value.size,
                                   name != NULL ? name : value.text);
        assert_true(length < sizeof is);
    }
    assert_string_equal(is, wanted);
    assert_false(bwl_resp_next(&cursor, &value));
}

static void expect_command(const bwl_redis_command_args *args, const char *wanted)
{
    static char            bytes[8192];
    bwl_redis_command_args q = *args;

    q.key                  = "nightly";
    q.key_size             = 7;
    q.token                = MEMBER;
    q.lease_ms             = 300000;
    bwl_resp_writer writer = { .bytes    = bytes,
                               .capacity = bwl_redis_size_max(q.command, q.key_size) };
    bwl_redis_write(&writer, &q);
    assert_false(writer.overflowed);
    expect_words(bytes, writer.size, wanted);
}

/* ---- commands -------------------------------------------------------------------------------- */

TEST(zset_commands_have_the_key_the_member_and_the_lease)
{
    expect_command(&(bwl_redis_command_args){ .command = REDIS_ZSET_TAKE, .rules = &rules },
                   "EVALSHA|zset_take|1|nightly|" MEMBER "|300000|");
    expect_command(&(bwl_redis_command_args){ .command = REDIS_ZSET_TAKE },
                   "EVALSHA|zset_take|1|nightly|" MEMBER "|300000|");
    expect_command(&(bwl_redis_command_args){ .command = REDIS_ZSET_EXTEND, .rules = &rules },
                   "EVALSHA|zset_extend|1|nightly|" MEMBER "|300000|");
    expect_command(&(bwl_redis_command_args){ .command = REDIS_ZSET_RELEASE, .rules = &rules },
                   "EVALSHA|zset_release|1|nightly|" MEMBER "|");
}

TEST(zset_foreign_member_is_named_by_its_bytes)
{
    expect_command(&(bwl_redis_command_args){ .command    = REDIS_ZSET_RELEASE,
                                              .rules      = &rules,
                                              .value      = "another one",
                                              .value_size = 7 },
                   "EVALSHA|zset_release|1|nightly|another|");
}

TEST(zset_longest_key_fits_in_every_command)
{
    static char longest[BWL_KEY_MAX + 1];
    static char bytes[16384];

    memset(longest, 'k', BWL_KEY_MAX);
    for (unsigned i = 0; i < WORDS; i++) {
        bwl_redis_command_args q      = { .command  = words[i],
                                          .use_eval = true,
                                          .key      = longest,
                                          .key_size = BWL_KEY_MAX,
                                          .token    = MEMBER,
                                          .lease_ms = INT32_MAX,
                                          .rules    = &rules };
        bwl_resp_writer        writer = { .bytes    = bytes,
                                          .capacity = bwl_redis_size_max(words[i], BWL_KEY_MAX) };
        assert_true(writer.capacity <= sizeof bytes);
        bwl_redis_write(&writer, &q);
        assert_false(writer.overflowed);
    }
}

TEST(zset_holder_query_has_only_the_key)
{
    char            bytes[2048];
    bwl_resp_writer writer = { .bytes = bytes, .capacity = sizeof bytes };

    bwl_zset_lock_write_holder_query(&writer, "nightly", 7, false);
    expect_words(bytes, writer.size, "EVALSHA|zset_holder_query|1|nightly|");
    writer = (bwl_resp_writer){ .bytes = bytes, .capacity = sizeof bytes };
    bwl_zset_lock_write_holder_query(&writer, "nightly", 7, true);
    expect_words(bytes, writer.size, "EVAL|TEXT|1|nightly|");
}
