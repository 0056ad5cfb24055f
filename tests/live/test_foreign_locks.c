/*
 * test_foreign_locks.c -- locks of Redisson (a hash) and Symfony (a sorted set) on a real server:
 * the exact key, missing permissions, and what a release publishes.
 *
 * conformance/test_model_words.c plays every script of theirs beside the model; the other programs
 * are in tests/interop, the scripts of Symfony in test_symfony_scripts.c.
 */
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHANNEL "redisson_lock__channel:{nightly}"
#define COUNTER "redisson_lock_token:{nightly}"

/* ---- the common cases ------------------------------------------------------------------------ */

typedef struct foreign {
    const char *profile;
    const char *type;
    const char *value; /* reads the value that bowline wrote */
    const char *form;  /* the form of that value */
    int         lease_ms;
    const char *permissions;
    const char *without[6]; /* without each of these no lock can be acquired */
} foreign;

#define BASE64 "[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]="

static const foreign foreigns[] = {
    { .profile     = "redisson",
      .type        = "hash",
      .value       = "HKEYS nightly",
      .form        = "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:1$",
      .lease_ms    = 30000,
      .permissions = "~nightly ~redisson_lock_token:* &redisson_lock__channel:* "
                     "+eval +evalsha +exists +hexists +hset +del +pttl +pexpire +publish ",
      .without     = { "-pexpire", "-hset", "-exists", "-hexists" } },
    { .profile     = "symfony",
      .type        = "zset",
      .value       = "ZRANGE nightly 0 -1",
      .form        = "^(" BASE64 " __write__|__write__ " BASE64 ")$",
      .lease_ms    = 300000,
      .permissions = "~nightly +eval +evalsha +time +exists +pexpireat +zadd +zrem +zcard +zscore "
                     "+zrevrange +zremrangebyscore ",
      .without = { "-pexpireat", "-zadd", "-zremrangebyscore", "-exists", "-time", "-zscore" } },
};

enum { ROWS = COUNT_OF(foreigns) };

static bowline_client *open_profile(const char *profile, const char *more)
{
    return must_open_url("%s?profile=%s&wait=0s%s", redis->tcp_url, profile, more);
}

static void assert_is_ours(const foreign *f, const char *text)
{
    regex_t form;

    print_message("# %s\n", text);
    assert_int_equal(regcomp(&form, f->form, REG_EXTENDED | REG_NOSUB), 0);
    assert_int_equal(regexec(&form, text, 0, NULL, 0), 0);
    regfree(&form);
}

static void assert_left(int64_t least_ms, int64_t most_ms)
{
    assert_in_range(atol(server_ask(redis, "PTTL nightly")), least_ms, most_ms);
}

static void write_and_extend(const foreign *f)
{
    bowline_client *client = open_profile(f->profile, "");
    bowline_hold   *hold   = must_acquire(client, "nightly");
    char            first[100];
    bowline_error   error;

    assert_string_equal(server_ask(redis, "KEYS *"), "nightly");
    assert_string_equal(server_ask(redis, "TYPE nightly"), f->type);
    (void)snprintf(first, sizeof first, "%s", server_ask(redis, "%s", f->value));
    assert_is_ours(f, first);
    assert_left(f->lease_ms / 2, f->lease_ms);
    assert_int_equal(bowline_hold_fence(hold), 0);
    assert_null(bowline_client_warning(client));
    for (unsigned i = 0; i < 2; i++) {
        assert_status(BOWLINE_OK, bowline_extend(hold, 2 * (uint32_t)f->lease_ms, &error), &error);
        assert_left(f->lease_ms, 2 * (int64_t)f->lease_ms);
        assert_status(BOWLINE_OK, bowline_extend(hold, 1000, &error), &error);
        assert_left(f->lease_ms, 2 * (int64_t)f->lease_ms); /* never shorter */
        (void)server_ask(redis, "PERSIST nightly");
    }
    must_release(hold);
    assert_string_equal(server_ask(redis, "KEYS *"), "");
    hold = must_acquire(client, "nightly");
    assert_string_not_equal(server_ask(redis, "%s", f->value), first);
    must_release(hold);
    bowline_close(client);
}

FIXTURE(NULL, nothing_is_left)

TEST(foreign_lock_is_written_extended_and_deleted)
{
    for (size_t i = 0; i < ROWS; i++)
        write_and_extend(&foreigns[i]);
}

/* ---- permissions ----------------------------------------------------------------------------- */

static bowline_client *open_as_app(const foreign *f, const char *without)
{
    assert_string_equal(server_ask(redis,
                                   "ACL SETUSER app on >pw resetkeys resetchannels -@all +hello "
                                   "+info %s%s",
                                   f->permissions, without),
                        "OK");
    return must_open_url("redis://app:pw@127.0.0.1:%d?profile=%s", redis->port, f->profile);
}

/* A key without an expiry would block all clients for ever. */
TEST(foreign_acquire_without_a_permission_leaves_no_key)
{
    for (const foreign *f = foreigns; f < foreigns + ROWS; f++)
        for (size_t i = 0; i < 6 && f->without[i] != NULL; i++) {
            bowline_client *client = open_as_app(f, f->without[i]);
            assert_int_equal(try_once(client, "nightly"), BOWLINE_REFUSED);
            bowline_close(client);
            assert_string_equal(server_ask(redis, "EXISTS nightly"), "0");
            (void)server_ask(redis, "ACL DELUSER app");
        }
}

TEST(redisson_acquire_is_refused_when_the_counter_is_invalid)
{
    static const char *const counters[] = { "SET " COUNTER " text", "RPUSH " COUNTER " a",
                                            "SET " COUNTER " 9007199254740991",
                                            "SET " COUNTER " -7" };
    bowline_client          *client     = open_profile("redisson-fenced", "");

    for (size_t i = 0; i < COUNT_OF(counters); i++) {
        (void)server_ask(redis, "%s", counters[i]);
        assert_int_equal(try_once(client, "nightly"), BOWLINE_REFUSED);
        assert_string_equal(server_ask(redis, "EXISTS nightly"), "0");
        (void)server_ask(redis, "DEL " COUNTER);
    }
    bowline_close(client);
}

TEST(redisson_release_publishes_once)
{
    static const struct {
        const char *options;
        const char *key;
        const char *channel;
    } rows[] = {
        { "", "nightly", CHANNEL },
        { "&key=a:%25s", "a:nightly", "redisson_lock__channel:{a:nightly}" },
        { "&key=%25s{a}", "nightly{a}", "redisson_lock__channel:nightly{a}" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bowline_client *client = open_profile("redisson", rows[i].options);
        int             fd     = server_say(redis, "SUBSCRIBE %s", rows[i].channel);
        char            expected[200];
        assert_non_null(strstr(server_heard(fd), "subscribe"));
        bowline_hold *hold = must_acquire(client, "nightly");
        assert_string_equal(server_ask(redis, "KEYS *"), rows[i].key);
        must_release(hold);
        assert_string_equal(server_ask(redis, "PUBLISH %s end", rows[i].channel), "1");
        (void)snprintf(expected, sizeof expected,
                       "*3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$1\r\n0\r\n", strlen(rows[i].channel),
                       rows[i].channel);
        const char *received = server_heard(fd);
        assert_memory_equal(received, expected, strlen(expected));
        if (received[strlen(expected)] == '\0')
            received = server_heard(fd) - strlen(expected);
        assert_non_null(strstr(received + strlen(expected), "$3\r\nend"));
        (void)close(fd);
        bowline_close(client);
    }
}

AROUND(start_server, stop_server)
