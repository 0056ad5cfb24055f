/*
 * test_sentinel_crowd.c -- a hundred waiters are in the queue when another node becomes the
 * primary: each acquires the lock once, at most one at a time, and none waits for ever.
 *
 * They are threads of twenty clients, each with its own queue entry, on one host; the primary, its
 * replica and each sentinel have hosts of their own (net.h), if that is allowed, else all are on
 * one. The longest time without a holder is printed.
 */
#include "tests/lib/judged.h"
#include "tests/lib/queue_state.h"
#include "tests/lib/sentinels.h"
#include "tests/lib/suite.h"

#include <stdio.h>

enum { CLIENTS = 20, THREADS = 5, CROWD = CLIENTS * THREADS };
enum { PRIMARY = 0, NODES = 2, HOSTS = NODES + SERVICE_SENTINELS + 1, CLIENT_HOST = HOSTS - 1 };
enum { LEASE_MS = 10000, LONG_MS = 120000, INSIDE_MS = 4, BEFORE = 20 };

typedef struct queued_thread {
    pthread_t       thread;
    bowline_client *client;
    unsigned        number;
    int             status; /* of its acquire */
    int             ended;  /* of its release */
    atomic_bool     begun;
} queued_thread;

static net            *hosts;
static service        *sentinel_service;
static witness        *judge;
static bowline_client *clients[CLIENTS];
static queued_thread   crowd[CROWD];
static char            url[320];

/* The holders in their order; only the holder writes. */
static atomic_uint     holds;
static unsigned        order[CROWD];
static _Atomic int64_t left_us;
static _Atomic int64_t longest_us; /* without a holder */

static int begin(void **state)
{
    server_needed();
    hosts            = net_make(HOSTS);
    sentinel_service = service_start_apart(hosts, NODES, NULL);
    judge            = witness_new();
    if (hosts != NULL)
        net_enter(hosts, CLIENT_HOST);
    (void)snprintf(url, sizeof url, "%s?lease=%dms&timeout=5s&turns=1", sentinel_service->url,
                   LEASE_MS);
    for (unsigned i = 0; i < CLIENTS; i++)
        clients[i] = must_open(url);
    atomic_store(&holds, 0);
    atomic_store(&left_us, 0);
    atomic_store(&longest_us, 0);
    return 0;
}

static int end(void **state)
{
    for (unsigned i = 0; i < CLIENTS; i++)
        bowline_close(clients[i]);
    service_stop(sentinel_service);
    judge_dismiss(judge);
    if (hosts != NULL)
        net_leave(hosts);
    net_free(hosts);
    return 0;
}

static void visit_lock(queued_thread *m, bowline_hold *hold)
{
    witness_visit visit;
    int64_t       at = witness_now_us();

    if (witness_enter(judge, &visit, bowline_hold_fence(hold)) && atomic_load(&left_us) != 0 &&
        at - atomic_load(&left_us) > atomic_load(&longest_us))
        atomic_store(&longest_us, at - atomic_load(&left_us));
    order[atomic_fetch_add(&holds, 1)] = m->number;
    for (int i = 0; i < INSIDE_MS && bowline_hold_left_ms(hold) > 0; i++) {
        witness_sure(&visit, witness_now_us());
        sleep_ms(1);
    }
    atomic_store(&left_us, witness_now_us());
    witness_leave(&visit);
    visit.record->tainted = bowline_hold_left_ms(hold) == 0;
}

static void *acquire_once(void *arg)
{
    queued_thread *m    = arg;
    bowline_hold  *hold = NULL;

    atomic_store(&m->begun, true);
    m->status = acquire_within(&hold, m->client, "x", LONG_MS, NULL);
    if (m->status != BOWLINE_OK)
        return NULL;
    visit_lock(m, hold);
    m->ended = bowline_release(hold, NULL);
    return NULL;
}

/* Starts the waiters in order, each behind the one before. */
static void start_crowd(server *primary)
{
    for (unsigned i = 0; i < CROWD; i++) {
        crowd[i] =
            (queued_thread){ .client = clients[i % CLIENTS], .number = i, .ended = BOWLINE_OK };
        assert_int_equal(pthread_create(&crowd[i].thread, NULL, acquire_once, &crowd[i]), 0);
        assert_true(queue_await_size(primary, "x", (long)i + 1));
    }
}

static void join_crowd(void)
{
    for (unsigned i = 0; i < CROWD; i++) {
        assert_int_equal(pthread_join(crowd[i].thread, NULL), 0);
        assert_status(BOWLINE_OK, crowd[i].status, NULL);
    }
    assert_int_equal(atomic_load(&holds), CROWD);
    assert_one_at_a_time(judge);
    print_message("# %lld ms without a holder\n", (long long)(atomic_load(&longest_us) / 1000));
}

FIXTURE(begin, end)

/* The lock is held during the switch: the waiters keep their order. */
TEST(waiters_keep_their_order_when_the_primary_changes)
{
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);

    start_crowd(sentinel_service->nodes[PRIMARY]);
    assert_true(queue_await_size(sentinel_service->nodes[PRIMARY + 1], "x", CROWD));
    server *now = service_switch(sentinel_service, sentinel_service->nodes[PRIMARY]);
    assert_true(queue_await_size(now, "x", CROWD));
    assert_true(queue_await_subscribers(now, "x"));
    assert_int_equal(atomic_load(&holds), 0);
    assert_int_equal(bowline_hold_fence(hold), fence);
    atomic_store(&left_us, witness_now_us());
    must_release(hold);
    join_crowd();
    for (unsigned i = 0; i < CROWD; i++) {
        assert_int_equal(order[i], i);
        assert_status(BOWLINE_OK, crowd[i].ended, NULL);
    }
    assert_int_equal(witness_judge(judge).fences_backward, 0);
    bowline_close(client);
}

static void cut_off_primary(void)
{
    for (unsigned host = PRIMARY + 1; host < HOSTS; host++)
        net_cut(hosts, PRIMARY, host);
    net_enter(hosts, CLIENT_HOST);
}

/* The primary changes during the handoffs: what was not replicated costs at most one lease. */
static void check_handoffs_through(void (*end_of_primary)(void))
{
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");

    start_crowd(sentinel_service->nodes[PRIMARY]);
    assert_true(queue_await_size(sentinel_service->nodes[PRIMARY + 1], "x", CROWD));
    must_release(hold);
    while (atomic_load(&holds) < BEFORE)
        sleep_ms(1);
    end_of_primary();
    assert_true(atomic_load(&holds) < CROWD);
    join_crowd();
    bowline_close(client);
}

static void kill_primary(void)
{
    server_kill(sentinel_service->nodes[PRIMARY]);
}

TEST(waiters_survive_when_the_primary_is_killed_during_handoffs)
{
    check_handoffs_through(kill_primary);
}

/* The primary runs but is unreachable: no connection is closed, and there is no notice. */
TEST(waiters_survive_when_the_primary_is_cut_off_during_handoffs)
{
    if (hosts == NULL)
        skip();
    check_handoffs_through(cut_off_primary);
}
