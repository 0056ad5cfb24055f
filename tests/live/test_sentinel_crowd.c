/*
 * test_sentinel_crowd.c -- a hundred stand in line when the primary becomes another: nobody is
 * lost, nobody waits for ever, each has the lock once, and no two at a time.
 *
 * They are threads of twenty clients, each in a place of its own, on one host; the primary, its
 * replica and each sentinel are on others (net.h), where that is allowed, and else all on one.  For
 * how long nobody had the lock is printed.
 */
#include "tests/lib/judged.h"
#include "tests/lib/queue_state.h"
#include "tests/lib/sentinels.h"
#include "tests/lib/suite.h"

#include <stdio.h>

enum { CLIENTS = 20, THREADS = 5, CROWD = CLIENTS * THREADS };
enum { PRIMARY = 0, NODES = 2, HOSTS = NODES + SERVICE_SENTINELS + 1, OURS = HOSTS - 1 };
enum { LEASE_MS = 10000, LONG_MS = 120000, INSIDE_MS = 4, BEFORE = 20 };

typedef struct member {
    pthread_t       thread;
    bowline_client *client;
    unsigned        number;
    int             status; /* of its acquire */
    int             ended;  /* of its release */
    atomic_bool     begun;
} member;

static net            *hosts;
static service        *there;
static witness        *judge;
static bowline_client *clients[CLIENTS];
static member          crowd[CROWD];
static char            url[320];

/* Who was inside, one after the other; written by whoever is. */
static atomic_uint     served;
static unsigned        order[CROWD];
static _Atomic int64_t left_us;
static _Atomic int64_t longest_us; /* that nobody was inside */

static int begin(void **state)
{
    server_needed();
    hosts = net_make(HOSTS);
    there = service_start_apart(hosts, NODES, NULL);
    judge = witness_new();
    if (hosts != NULL)
        net_enter(hosts, OURS);
    (void)snprintf(url, sizeof url, "%s?lease=%dms&timeout=5s&turns=1", there->url, LEASE_MS);
    for (unsigned i = 0; i < CLIENTS; i++)
        clients[i] = must_open(url);
    atomic_store(&served, 0);
    atomic_store(&left_us, 0);
    atomic_store(&longest_us, 0);
    return 0;
}

static int end(void **state)
{
    for (unsigned i = 0; i < CLIENTS; i++)
        bowline_close(clients[i]);
    service_stop(there);
    judge_dismiss(judge);
    if (hosts != NULL)
        net_leave(hosts);
    net_free(hosts);
    return 0;
}

static void be_inside(member *m, bowline_hold *hold)
{
    witness_visit visit;
    int64_t       at = witness_now_us();

    if (witness_enter(judge, &visit, bowline_hold_fence(hold)) && atomic_load(&left_us) != 0 &&
        at - atomic_load(&left_us) > atomic_load(&longest_us))
        atomic_store(&longest_us, at - atomic_load(&left_us));
    order[atomic_fetch_add(&served, 1)] = m->number;
    for (int i = 0; i < INSIDE_MS && bowline_hold_left_ms(hold) > 0; i++) {
        witness_sure(&visit, witness_now_us());
        sleep_ms(1);
    }
    atomic_store(&left_us, witness_now_us());
    witness_leave(&visit);
    visit.record->tainted = bowline_hold_left_ms(hold) == 0;
}

static void *stand_in_line(void *arg)
{
    member       *m    = arg;
    bowline_hold *hold = NULL;

    atomic_store(&m->begun, true);
    m->status = acquire_within(&hold, m->client, "x", LONG_MS, NULL);
    if (m->status != BOWLINE_OK)
        return NULL;
    be_inside(m, hold);
    m->ended = bowline_release(hold, NULL);
    return NULL;
}

/* In this order, each behind the one before. */
static void crowd_comes(server *primary)
{
    for (unsigned i = 0; i < CROWD; i++) {
        crowd[i] = (member){ .client = clients[i % CLIENTS], .number = i, .ended = BOWLINE_OK };
        assert_int_equal(pthread_create(&crowd[i].thread, NULL, stand_in_line, &crowd[i]), 0);
        assert_true(queue_await_size(primary, "x", (long)i + 1));
    }
}

static void crowd_goes(void)
{
    for (unsigned i = 0; i < CROWD; i++) {
        assert_int_equal(pthread_join(crowd[i].thread, NULL), 0);
        assert_status(BOWLINE_OK, crowd[i].status, NULL);
    }
    assert_int_equal(atomic_load(&served), CROWD);
    assert_one_at_a_time(judge);
    print_message("# nobody was inside for %lld ms\n",
                  (long long)(atomic_load(&longest_us) / 1000));
}

FIXTURE(begin, end)

/* While somebody holds on: each comes in its turn, as if there had been no switch. */
TEST(crowd_keeps_its_order_over_a_switch)
{
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);

    crowd_comes(there->nodes[PRIMARY]);
    assert_true(queue_await_size(there->nodes[PRIMARY + 1], "x", CROWD));
    server *now = service_switch(there, there->nodes[PRIMARY]);
    assert_true(queue_await_size(now, "x", CROWD));
    assert_true(queue_await_subscribers(now, "x"));
    assert_int_equal(atomic_load(&served), 0);
    assert_int_equal(bowline_hold_fence(hold), fence);
    atomic_store(&left_us, witness_now_us());
    must_release(hold);
    crowd_goes();
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
    net_enter(hosts, OURS);
}

/* While it goes from hand to hand: what was not replicated costs a lease at most. */
static void passes_through(void (*end_of_primary)(void))
{
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");

    crowd_comes(there->nodes[PRIMARY]);
    assert_true(queue_await_size(there->nodes[PRIMARY + 1], "x", CROWD));
    must_release(hold);
    while (atomic_load(&served) < BEFORE)
        sleep_ms(1);
    end_of_primary();
    assert_true(atomic_load(&served) < CROWD);
    crowd_goes();
    bowline_close(client);
}

static void kill_primary(void)
{
    server_kill(there->nodes[PRIMARY]);
}

TEST(crowd_outlives_the_primary_in_the_middle)
{
    passes_through(kill_primary);
}

/* It lives, and nobody reaches it: nothing is closed, and nobody is told. */
TEST(crowd_outlives_a_primary_that_is_cut_off)
{
    if (hosts == NULL)
        skip();
    passes_through(cut_off_primary);
}
