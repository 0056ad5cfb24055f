/*
 * test_fault_key.c -- somebody lays hands on the key of a lock that is held: deletes it, overwrites
 * it, empties the server, takes its end away or brings it nearer.
 *
 * The holder learns at its next renewal, and nothing that is there then is touched.  Where the key
 * is still our own, the renewal puts it right.
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

/* ---- taken away ------------------------------------------------------------------------------ */

typedef struct theft {
    const char *how;
    const char *leaves; /* what GET or TYPE says of it then; NULL: nothing is there              */
} theft;

static const theft thefts[] = {
    { "DEL bowline:{x}", NULL },
    { "UNLINK bowline:{x}", NULL },
    { "FLUSHALL", NULL },
    { "FLUSHDB ASYNC", NULL },
    { "SWAPDB 0 1", NULL },
    { "RENAME bowline:{x} elsewhere", NULL },
    { "PEXPIRE bowline:{x} -1", NULL },
    { "SET bowline:{x} stranger", "string" },
    { "SETRANGE bowline:{x} 0 !", "string" },
    { "APPEND bowline:{x} !", "string" },
    { "EVAL 'redis.call(\"DEL\", KEYS[1]) redis.call(\"LPUSH\", KEYS[1], 1)' 1 bowline:{x}",
      "list" },
    { "EVAL 'redis.call(\"DEL\", KEYS[1]) redis.call(\"HSET\", KEYS[1], 1, 2)' 1 bowline:{x}",
      "hash" },
};

/* Nothing is there: another gets it at once, and works on while the holder learns. */
static void another_gets_it(bowline_hold *hold, lock_holder *b, int64_t fault_us)
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

/* Something is there: it is as it was when all is over. */
static void stranger_is_not_touched(bowline_hold *hold, lock_holder *b, int64_t fault_us,
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

TEST(key_taken_away_under_the_holder)
{
    for (size_t i = 0; i < COUNT_OF(thefts); i++) {
        bowline_client *client = must_open(holder_url);
        bowline_hold   *hold   = must_acquire(client, "x");
        lock_holder    *b      = holder_start(judge, hold);
        const char     *said   = server_ask(redis, "%s", thefts[i].how);
        if (said[0] == '-')
            fail_msg("%s: %s", thefts[i].how, said);
        /* A renewal that was answered before the theft counts from before it. */
        int64_t fault_us = witness_now_us();
        if (thefts[i].leaves == NULL)
            another_gets_it(hold, b, fault_us);
        else
            stranger_is_not_touched(hold, b, fault_us, thefts[i].leaves);
        (void)server_ask(redis, "FLUSHALL");
        bowline_close(client);
    }
}

/* Nobody asks: the renewal alone finds out, well before the lease ends. */
TEST(loss_is_seen_by_the_renewal_before_the_lease_ends)
{
    for (int rounds = 1;; rounds++) {
        char url[200];
        (void)snprintf(url, sizeof url, "%s?lease=20s&renew=off", redis->tcp_url);
        bowline_client *client = must_open(url);
        bowline_hold   *hold   = must_acquire(client, "x");
        (void)server_ask(redis, "DEL bowline:{x}");
        assert_true(bowline_hold_left_ms(hold) > 0); /* nobody has told us, and nobody will */
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

/* ---- its end --------------------------------------------------------------------------------- */

TEST(persisted_key_gets_its_end_back)
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
    /* Released before any renewal: deleted all the same. */
    bowline_hold *hold = must_acquire(client, "x");
    (void)server_ask(redis, "PERSIST bowline:{x}");
    must_release(hold);
    assert_string_equal(server_ask(redis, "EXISTS bowline:{x}"), "0");
    assert_one_at_a_time(judge);
    bowline_close(client);
    bowline_close(other);
}

TEST(shortened_key_is_lengthened_by_the_renewal)
{
    bowline_client *client = must_open(holder_url);

    for (int rounds = 1;; rounds++) {
        bowline_hold *hold = must_acquire(client, "x");
        lock_holder  *b    = holder_start(judge, hold);
        rival        *r    = rival_start(judge, rival_url, "x");
        /* More than a third of the lease, so that a renewal comes in time. */
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

/* ---- the cases ------------------------------------------------------------------------------- */

static int own_server_starts(void **state)
{
    redis = server_start(NULL);
    (void)snprintf(holder_url, sizeof holder_url, "%s?lease=%dms", redis->tcp_url, LEASE_MS);
    (void)snprintf(rival_url, sizeof rival_url, "%s?lease=%dms", redis->unix_url, LEASE_MS);
    return 0;
}

AROUND(own_server_starts, stop_server)
