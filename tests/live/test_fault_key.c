/*
 * test_fault_key.c -- another program changes the key of a held lock: deletes or overwrites it,
 * empties the server, removes or shortens its expiry.
 *
 * The holder learns at its next renewal, and leaves a foreign value unchanged. If the value is
 * still its own, the renewal repairs the expiry.
 */
#include "tests/lib/judged.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>

enum { LEASE_MS = 900 };

static witness *judge;
static char     holder_url[200];
static char     rival_url[200];

/* ---- the key is replaced or deleted ---------------------------------------------------------- */

typedef struct key_change {
    const char *how;
    const char *leaves; /* the TYPE of the key afterwards; NULL: no key */
} key_change;

static const key_change key_changes[] = {
    { "DEL bowline:{x}", NULL },
    { "UNLINK bowline:{x}", NULL },
    { "FLUSHALL", NULL },
    { "FLUSHDB ASYNC", NULL },
    { "SWAPDB 0 1", NULL },
    { "RENAME bowline:{x} elsewhere", NULL },
    { "PEXPIRE bowline:{x} -1", NULL },
    { "SET bowline:{x} foreign", "string" },
    { "SETRANGE bowline:{x} 0 !", "string" },
    { "APPEND bowline:{x} !", "string" },
    { "EVAL 'redis.call(\"DEL\", KEYS[1]) redis.call(\"LPUSH\", KEYS[1], 1)' 1 bowline:{x}",
      "list" },
    { "EVAL 'redis.call(\"DEL\", KEYS[1]) redis.call(\"HSET\", KEYS[1], 1, 2)' 1 bowline:{x}",
      "hash" },
};

/* The key is gone: another client acquires the lock at once, and the holder does not disturb it. */
static void another_client_acquires_it(bowline_hold *hold, lock_holder *b, int64_t fault_us)
{
    rival *r = rival_start(judge, rival_url, "x");

    assert_true(rival_await_hold(r));
    assert_true(holder_await_loss(b));
    int64_t sure_us = holder_stop(b);
    assert_bounded(sure_us, fault_us, LEASE_MS);
    assert_status(BOWLINE_LOST, bowline_extend(hold, 0, NULL), NULL);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_true(rival_await_hold(r));
    rival_stop(r);
}

/* A foreign value is there: it stays unchanged. */
static void foreign_value_is_unchanged(bowline_hold *hold, lock_holder *b, int64_t fault_us,
                                       const char *type)
{
    char before[2000];

    (void)snprintf(before, sizeof before, "%s", server_ask(redis, "DUMP bowline:{x}"));
    (void)server_ask(redis, "PERSIST bowline:{x}");
    assert_true(holder_await_loss(b));
    int64_t sure_us = holder_stop(b);
    assert_bounded(sure_us, fault_us, LEASE_MS);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_string_equal(server_ask(redis, "DUMP bowline:{x}"), before);
    assert_string_equal(server_ask(redis, "TYPE bowline:{x}"), type);
    assert_string_equal(server_ask(redis, "PTTL bowline:{x}"), "-1");
}

static int begin(void **state)
{
    judge = witness_new();
    return 0;
}

static int end(void **state)
{
    judge_dismiss(judge);
    return server_becomes_empty(redis) ? 0 : -1;
}

FIXTURE(begin, end)

TEST(holder_learns_when_its_key_is_replaced_or_deleted)
{
    for (size_t i = 0; i < COUNT_OF(key_changes); i++) {
        bowline_client *client = must_open(holder_url);
        bowline_hold   *hold   = must_acquire(client, "x");
        lock_holder    *b      = holder_start(judge, hold);
        const char     *reply  = server_ask(redis, "%s", key_changes[i].how);
        if (reply[0] == '-')
            fail_msg("%s: %s", key_changes[i].how, reply);
        /* A renewal that was answered before the change counts from before it. */
        int64_t fault_us = witness_now_us();
        if (key_changes[i].leaves == NULL)
            another_client_acquires_it(hold, b, fault_us);
        else
            foreign_value_is_unchanged(hold, b, fault_us, key_changes[i].leaves);
        (void)server_ask(redis, "FLUSHALL");
        bowline_close(client);
    }
}

/* No caller asks: the renewal alone finds the loss, well before the lease ends. */
TEST(renewal_finds_the_loss_before_the_lease_ends)
{
    for (int rounds = 1;; rounds++) {
        char url[200];
        (void)snprintf(url, sizeof url, "%s?lease=20s&renew=off", redis->tcp_url);
        bowline_client *client = must_open(url);
        bowline_hold   *hold   = must_acquire(client, "x");
        (void)server_ask(redis, "DEL bowline:{x}");
        assert_true(bowline_hold_left_ms(hold) > 0); /* the client cannot know yet */
        assert_status(BOWLINE_LOST, bowline_extend(hold, 0, NULL), NULL);
        assert_true(bowline_hold_left_ms(hold) == 0);
        assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
        bowline_close(client);

        (void)snprintf(url, sizeof url, "%s?lease=6s", redis->tcp_url);
        client        = must_open(url);
        hold          = must_acquire(client, "x");
        int64_t began = clock_ms();
        (void)server_ask(redis, "DEL bowline:{x}");
        while (bowline_hold_left_ms(hold) > 0)
            sleep_ms(5);
        bool by_renewal = clock_ms() - began < 5000;
        assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
        bowline_close(client);
        if (by_renewal)
            break;
        print_message("# round %d: the machine was too slow\n", rounds);
        assert_true(rounds < 10);
    }
}

/* ---- the expiry ------------------------------------------------------------------------------ */

TEST(renewal_restores_the_expiry_of_a_persisted_key)
{
    bowline_client *client = must_open(holder_url);
    bowline_client *other  = must_open(rival_url);
    bowline_holder  holder = { .size = sizeof holder };

    for (int rounds = 1;; rounds++) {
        bowline_hold *hold = must_acquire(client, "x");
        lock_holder  *b    = holder_start(judge, hold);
        rival        *r    = rival_start(judge, rival_url, "x");
        assert_string_equal(server_ask(redis, "PERSIST bowline:{x}"), "1");
        assert_status(BOWLINE_OK, bowline_who(other, "x", &holder, NULL), NULL);
        bool noted = strstr(holder.note, "no expiry") != NULL;
        while (strcmp(server_ask(redis, "PTTL bowline:{x}"), "-1") == 0 &&
               bowline_hold_left_ms(hold) > 0)
            sleep_ms(5);
        assert_true(atol(server_ask(redis, "PTTL bowline:{x}")) <= LEASE_MS);
        bool kept = bowline_hold_left_ms(hold) > 0 && rival_hold_count(r) == 0;
        (void)holder_stop(b);
        int status = bowline_release(hold, NULL);
        assert_true(rival_await_hold(r));
        rival_stop(r);
        if (keeps_in_round(kept && noted, status, rounds)) /* a renewal may have been faster */
            break;
    }
    /* A release before the first renewal deletes the key too. */
    bowline_hold *hold = must_acquire(client, "x");
    (void)server_ask(redis, "PERSIST bowline:{x}");
    must_release(hold);
    assert_string_equal(server_ask(redis, "EXISTS bowline:{x}"), "0");
    assert_one_at_a_time(judge);
    bowline_close(client);
    bowline_close(other);
}

TEST(renewal_restores_a_shortened_expiry)
{
    bowline_client *client = must_open(holder_url);

    for (int rounds = 1;; rounds++) {
        bowline_hold *hold = must_acquire(client, "x");
        lock_holder  *b    = holder_start(judge, hold);
        rival        *r    = rival_start(judge, rival_url, "x");
        /* More than a third of the lease, so that a renewal is in time. */
        (void)server_ask(redis, "PEXPIRE bowline:{x} %d", LEASE_MS * 2 / 3);
        sleep_ms(2 * LEASE_MS);
        bool kept = bowline_hold_left_ms(hold) > 0 && rival_hold_count(r) == 0;
        (void)holder_stop(b);
        int status = bowline_release(hold, NULL);
        assert_true(rival_await_hold(r));
        rival_stop(r);
        if (keeps_in_round(kept, status, rounds))
            break;
    }
    bowline_close(client);
}

/* The holder is dead. The server deletes the expired key only when it is accessed. */
TEST(waiter_acquires_an_expired_lock_without_active_expiry)
{
    bowline_client *client = must_open(holder_url);
    bowline_hold   *hold   = NULL;

    assert_string_equal(server_ask(redis, "DEBUG SET-ACTIVE-EXPIRE 0"), "OK");
    assert_string_equal(server_ask(redis, "SET bowline:{x} 1234567890123456789012 PX 300"), "OK");
    assert_status(BOWLINE_OK, acquire_within(&hold, client, "x", 20000, NULL), NULL);
    must_release(hold);
    assert_string_equal(server_ask(redis, "DEBUG SET-ACTIVE-EXPIRE 1"), "OK");
    bowline_close(client);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static int own_server_starts(void **state)
{
    redis = server_start(server_is_new() ? "--enable-debug-command yes" : NULL);
    (void)snprintf(holder_url, sizeof holder_url, "%s?lease=%dms", redis->tcp_url, LEASE_MS);
    (void)snprintf(rival_url, sizeof rival_url, "%s?lease=%dms", redis->unix_url, LEASE_MS);
    return 0;
}

AROUND(own_server_starts, stop_server)
