/*
 * test_queue_crowd.c -- many clients of protocol queue want one lock, while connections are killed,
 * scripts forgotten and writes held back; and beside them one of protocol token, which knows
 * nothing of a queue.
 *
 * The judge of exclusion is the witness.  Nobody is held up for longer than a lease here, so nobody
 * may be met.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/suite.h"
#include "tests/lib/witness.h"

#include <stdio.h>
#include <stdlib.h>

enum { CROWD = 6, TURNS = 100 };

static server  *redis;
static witness *judge;
static char     urls[2][200];

static _Atomic(uint64_t) last_fence;

typedef struct member {
    pthread_t   thread;
    const char *url;
    bool        has_fence;
    unsigned    turns;
    unsigned    met;
    unsigned    lost;
    unsigned backward; /* fences that were not larger than the one before                       */
} member;

static void take_a_turn(member *m, bowline_client *client)
{
    bowline_hold *hold = NULL;
    witness_visit inside;

    if (acquire_within(&hold, client, "x", 60000, NULL) != BOWLINE_OK)
        return; /* killed so often that nobody knows: nothing is promised, and nothing is ours */
    uint64_t fence = bowline_hold_fence(hold);
    m->met += !witness_enter(judge, &inside, fence);
    if (m->has_fence)
        m->backward += atomic_exchange(&last_fence, fence) >= fence;
    if (m->turns % 3 == 0)
        sleep_ms(1);
    witness_leave(&inside);
    m->lost += bowline_release(hold, NULL) == BOWLINE_LOST;
    (void)__atomic_fetch_add(&m->turns, 1, __ATOMIC_RELAXED);
}

static void *come_again_and_again(void *arg)
{
    member         *m      = arg;
    bowline_client *client = NULL;

    if (bowline_open(&client, BOWLINE_OPTIONS(.url = m->url), NULL) != BOWLINE_OK)
        return NULL;
    for (int tries = 0; m->turns < TURNS && tries < 10 * TURNS; tries++)
        take_a_turn(m, client);
    bowline_close(client);
    return NULL;
}

static void disturb(unsigned n)
{
    switch (n % 4) {
    case 0: (void)server_ask(redis, "CLIENT KILL TYPE pubsub"); break;
    case 1: (void)server_ask(redis, "SCRIPT FLUSH"); break;
    case 2: (void)server_ask(redis, "CLIENT PAUSE 20 WRITE"); break;
    default: (void)server_ask(redis, "CLIENT KILL TYPE normal SKIPME yes"); break;
    }
}

static void crowd_comes(bool is_disturbed)
{
    member   crowd[CROWD] = { { .turns = 0 } };
    unsigned left         = CROWD;

    for (int i = 0; i < CROWD; i++) {
        crowd[i].has_fence = i > 0;
        crowd[i].url       = urls[i > 0];
        assert_int_equal(pthread_create(&crowd[i].thread, NULL, come_again_and_again, &crowd[i]),
                         0);
    }
    for (unsigned n = 0; left > 0; n++) {
        if (is_disturbed)
            disturb(n);
        sleep_ms(10);
        left = 0;
        for (int i = 0; i < CROWD; i++)
            left += __atomic_load_n(&crowd[i].turns, __ATOMIC_RELAXED) < TURNS;
        assert_true(n < 6000);
    }
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(pthread_join(crowd[i].thread, NULL), 0);
        assert_int_equal(crowd[i].turns, TURNS);
        assert_int_equal(crowd[i].met, 0);
        assert_true(is_disturbed || crowd[i].lost == 0); /* a claim may end meanwhile */
        assert_int_equal(crowd[i].backward, 0);
    }
    witness_verdict verdict = witness_judge(judge);
    assert_int_equal(verdict.collisions, 0);
    assert_true(queue_await_no_keys(redis));
}

TEST(crowd_that_is_disturbed_meets_nobody)
{
    crowd_comes(true);
}

static int open_server(void **state)
{
    server_needed();
    redis = server_start(NULL);
    judge = witness_new();
    (void)snprintf(urls[0], sizeof urls[0], "%s?lease=20s", redis->tcp_url);
    (void)snprintf(urls[1], sizeof urls[1], "%s?protocol=queue&lease=20s", redis->tcp_url);
    return 0;
}

static int close_server(void **state)
{
    server_stop(redis);
    witness_free(judge);
    return 0;
}

AROUND(open_server, close_server)
