/*
 * test_redlock_profiles.c -- redlock:// with the keys and values of another program, on three real
 * servers: what bowline writes on each, and mutual exclusion with that program.
 *
 * SET NX and DEL on each server stand for the other program, as that is what they all send. The
 * programs themselves run in tests/interop.
 */
#include "engine/redis/profile.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <stdio.h>

enum { SERVERS = 3, MAJORITY = 2 };

static server *servers[SERVERS];

static bowline_client *open_many(const char *options)
{
    char   url[400];
    size_t size = (size_t)snprintf(url, sizeof url, "redlock://");

    for (unsigned i = 0; i < SERVERS; i++)
        size += (size_t)snprintf(url + size, sizeof url - size, "%s127.0.0.1:%d", i == 0 ? "" : ",",
                                 servers[i]->port);
    (void)snprintf(url + size, sizeof url - size, "?restart-wait=off&wait=0s&lease=60s&%s",
                   options);
    return must_open(url);
}

static bowline_client *open_profile(const bwl_profile *profile)
{
    char options[100];

    (void)snprintf(options, sizeof options, "profile=%s", profile->name);
    return open_many(options);
}

/* The key of the lock "nightly". */
static void write_key(char ret_key[BWL_KEY_MAX + 1], const bwl_profile *profile)
{
    size_t size = bwl_key_write(ret_key, profile->key, "nightly", strlen("nightly"));

    ret_key[size] = '\0';
}

/* Waits until the server replies so to EXISTS. */
static bool exists(unsigned node, const char *answer, const char *key)
{
    char question[BWL_KEY_MAX + 16];

    (void)snprintf(question, sizeof question, "EXISTS %s", key);
    return server_comes_to(servers[node], answer, question);
}

#define FOR_EACH(p)                                       \
    for (size_t at = 0; bwl_profile_at(at) != NULL; at++) \
        for (const bwl_profile *p = bwl_profile_at(at); p != NULL && p->is_of_many; p = NULL)

static int are_empty(void **state)
{
    for (unsigned i = 0; i < SERVERS; i++)
        if (!server_becomes_empty(servers[i]))
            return -1;
    return 0;
}

FIXTURE(NULL, are_empty)

TEST(redlock_profile_writes_one_value_on_each_server)
{
    unsigned count = 0;

    FOR_EACH(p)
    {
        bowline_client *client = open_profile(p);
        bowline_hold   *hold   = must_acquire(client, "nightly");
        char            key[BWL_KEY_MAX + 1];
        print_message("# %s\n", p->name);
        write_key(key, p);
        for (unsigned i = 0; i < SERVERS; i++) {
            bowline_holder  holder = { .size = sizeof holder };
            char            url[200];
            bowline_client *single;
            bowline_error   error;
            assert_true(exists(i, "1", key));
            assert_string_equal(server_ask(servers[i], "KEYS *"), key);
            assert_string_equal(server_ask(servers[i], "GET %s", key),
                                server_ask(servers[0], "GET %s", key));
            (void)snprintf(url, sizeof url, "%s?profile=%s", servers[i]->tcp_url, p->name);
            single = must_open(url);
            assert_status(BOWLINE_OK, bowline_who(single, "nightly", &holder, &error), &error);
            assert_int_equal(holder.foreign, 0);
            bowline_close(single);
        }
        must_release(hold);
        bowline_close(client);
        for (unsigned i = 0; i < SERVERS; i++)
            assert_true(exists(i, "0", key));
        count++;
    }
    assert_true(count >= 8);
}

static void set(const char *key, unsigned count)
{
    for (unsigned i = 0; i < SERVERS; i++)
        if (i < count)
            assert_string_equal(server_ask(servers[i], "SET %s theirs NX PX 60000", key), "OK");
}

TEST(redlock_profile_is_busy_when_a_majority_has_another_value)
{
    FOR_EACH(p)
    {
        bowline_client *client = open_profile(p);
        char            key[BWL_KEY_MAX + 1];
        print_message("# %s\n", p->name);
        write_key(key, p);
        set(key, MAJORITY);
        assert_int_equal(try_once(client, "nightly"), BOWLINE_BUSY);
        for (unsigned i = 0; i < MAJORITY; i++)
            assert_string_equal(server_ask(servers[i], "GET %s", key), "theirs");
        assert_true(exists(MAJORITY, "0", key));
        assert_string_equal(server_ask(servers[1], "DEL %s", key), "1");
        must_release(must_acquire(client, "nightly"));
        assert_string_equal(server_ask(servers[0], "GET %s", key), "theirs");
        (void)server_ask(servers[0], "DEL %s", key);
        bowline_close(client);
    }
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static int start_servers(void **state)
{
    server_needed();
    for (unsigned i = 0; i < SERVERS; i++)
        servers[i] = server_start(NULL);
    return 0;
}

static int stop_servers(void **state)
{
    for (unsigned i = 0; i < SERVERS; i++)
        server_stop(servers[i]);
    return 0;
}

AROUND(start_servers, stop_servers)
