/*
 * test_queue_crowd.c -- many clients of protocol queue contend for one lock, with one client of
 * protocol token, while connections are killed, scripts flushed and writes paused.
 *
 * The witness detects two holders. No holder here is delayed for longer than a lease, so none may
 * find another inside.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/suite.h"
#include "tests/lib/witness.h"

#include <stdio.h>

enum { CROWD = 6, HOLDS = 100 };

static server  *redis;
static witness *judge;
static char     urls[2][200];

static _Atomic(uint64_t) last_fence;

typedef struct contender {
    pthread_t   thread;
    const char *url;
    bool        has_fence;
    unsigned    holds;
    unsigned    collisions_found;
    unsigned    lost;
    unsigned    backward; /* fences that were not above the previous one */
} contender;

static void acquire_and_release(contender *m, bowline_client *client)
{
    bowline_hold *hold = NULL;
    witness_visit inside;

    if (acquire_within(&hold, client, "x", 60000, NULL) != BOWLINE_OK)
        return; /* unknown after too many kills: no promise, and no hold */
    uint64_t fence = bowline_hold_fence(hold);
    m->collisions_found += !witness_enter(judge, &inside, fence);
    if (m->has_fence)
        m->backward += atomic_exchange(&last_fence, fence) >= fence;
    if (m->holds % 3 == 0)
        sleep_ms(1);
    witness_leave(&inside);
    m->lost += bowline_release(hold, NULL) == BOWLINE_LOST;
    (void)__atomic_fetch_add(&m->holds, 1, __ATOMIC_RELAXED);
}

static void *contend(void *arg)
{
    contender      *m      = arg;
    bowline_client *client = NULL;

    if (bowline_open(&client, BOWLINE_OPTIONS(.url = m->url), NULL) != BOWLINE_OK)
        return NULL;
    for (int tries = 0; m->holds < HOLDS && tries < 10 * HOLDS; tries++)
        acquire_and_release(m, client);
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

static void check_crowd(bool is_disturbed)
{
    contender crowd[CROWD] = { { .holds = 0 } };
    unsigned  left         = CROWD;

    for (int i = 0; i < CROWD; i++) {
        crowd[i].has_fence = i > 0;
        crowd[i].url       = urls[i > 0];
        assert_int_equal(pthread_create(&crowd[i].thread, NULL, contend, &crowd[i]), 0);
    }
    for (unsigned n = 0; left > 0; n++) {
        if (is_disturbed)
            disturb(n);
        sleep_ms(10);
        left = 0;
        for (int i = 0; i < CROWD; i++)
            left += __atomic_load_n(&crowd[i].holds, __ATOMIC_RELAXED) < HOLDS;
        assert_true(n < 6000);
    }
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(pthread_join(crowd[i].thread, NULL), 0);
        assert_int_equal(crowd[i].holds, HOLDS);
        assert_int_equal(crowd[i].collisions_found, 0);
        assert_true(is_disturbed || crowd[i].lost == 0); /* a provisional grant may end meanwhile */
        assert_int_equal(crowd[i].backward, 0);
    }
    witness_verdict verdict = witness_judge(judge);
    assert_int_equal(verdict.collisions, 0);
    assert_true(queue_await_no_keys(redis));
}

TEST(crowd_has_one_holder_while_connections_are_killed)
{
    check_crowd(true);
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
