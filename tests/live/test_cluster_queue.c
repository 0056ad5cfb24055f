/*
 * test_cluster_queue.c -- protocol queue on a cluster: who stands in line keeps his place, and who
 * holds his hold, while the slot of the lock moves and while its node ends.
 *
 * Those who wait are clients of their own, and each writes down when it was his turn.
 */
#include "tests/lib/cluster.h"
#include "tests/lib/judged.h"
#include "tests/lib/queue_state.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LINE = 4, LEASE_MS = 12000 };

static cluster *c;
static witness *judge;
static char     url[300];

static void begin(bool has_replicas)
{
    c     = cluster_start(has_replicas);
    judge = witness_new();
    (void)snprintf(url, sizeof url, "%s?lease=%dms", c->url, LEASE_MS);
}

static int end(void **state)
{
    cluster_stop(c);
    if (judge != NULL)
        judge_dismiss(judge);
    c     = NULL;
    judge = NULL;
    return 0;
}

/* ---- those who wait -------------------------------------------------------------------------- */

typedef struct guest {
    pthread_t       thread;
    bowline_client *client;
    const char     *name;
    int             number;
    int             status;
    uint64_t        fence;
} guest;

static int        order[LINE];
static atomic_int served;

static void *visit(void *arg)
{
    guest        *g    = arg;
    bowline_hold *hold = NULL;
    witness_visit inside;

    g->status = acquire_within(&hold, g->client, g->name, 60000, NULL);
    if (g->status != BOWLINE_OK)
        return NULL;
    g->fence                            = bowline_hold_fence(hold);
    bool alone                          = witness_enter(judge, &inside, g->fence);
    order[atomic_fetch_add(&served, 1)] = g->number;
    witness_leave(&inside);
    g->status = bowline_release(hold, NULL);
    if (!alone)
        g->status = 1;
    return NULL;
}

static void guests_come(guest *guests, const char *name, unsigned node)
{
    atomic_store(&served, 0);
    for (int i = 0; i < LINE; i++) {
        guests[i] = (guest){ .client = must_open(url), .name = name, .number = i };
        assert_int_equal(pthread_create(&guests[i].thread, NULL, visit, &guests[i]), 0);
        assert_true(queue_await_size(c->nodes[node], name, i + 1));
    }
}

/* In the order in which they came, each with a fence above that of the one before. */
static void guests_leave(guest *guests, uint64_t fence)
{
    for (int i = 0; i < LINE; i++)
        assert_int_equal(pthread_join(guests[i].thread, NULL), 0);
    for (int i = 0; i < LINE; i++) {
        assert_int_equal(guests[i].status, BOWLINE_OK);
        assert_int_equal(order[i], i);
        assert_true(guests[i].fence > fence);
        fence = guests[i].fence;
        bowline_close(guests[i].client);
    }
    assert_int_equal(witness_judge(judge).fences_backward, 0);
    assert_one_at_a_time(judge);
}

/* ---- where a lock is ------------------------------------------------------------------------- */

FIXTURE(NULL, end)

TEST(cluster_queue_is_where_the_slot_is)
{
    bowline_holder who = { .size = sizeof who };

    begin(false);
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++) {
        guest           guests[LINE];
        char            name[24];
        bowline_client *client = must_open(url);
        (void)snprintf(name, sizeof name, "%s", cluster_name_at(i, 0));
        (void)cluster_slot_of(c, name);
        bowline_hold *hold  = must_acquire(client, name);
        uint64_t      fence = bowline_hold_fence(hold);
        assert_true(fence > 0);
        guests_come(guests, name, i);
        assert_status(BOWLINE_OK, bowline_who(guests[0].client, name, &who, NULL), NULL);
        assert_true(who.held);
        assert_int_equal(who.pid, getpid());
        must_release(hold);
        guests_leave(guests, fence);
        bowline_close(client);
    }
    assert_true(cluster_becomes_empty(c));
}

/* ---- a slot that moves ----------------------------------------------------------------------- */

/* Step by step, with a line; the hold is extended at each step. */
TEST(cluster_queue_line_and_hold_move_with_their_slot)
{
    guest guests[LINE];

    begin(false);
    const char     *name   = cluster_name_at(0, 0);
    int             slot   = cluster_slot_of(c, name);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, name);
    uint64_t        fence  = bowline_hold_fence(hold);
    lock_holder    *b      = holder_start(judge, hold);

    guests_come(guests, name, 0);
    cluster_begin_move(c, slot, 0, 1);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    cluster_move_keys(c, slot, 0, 1);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    cluster_end_move(c, slot, 0, 1);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    assert_int_equal(atomic_load(&served), 0);
    (void)holder_stop(b);
    must_release(hold); /* perhaps before any of those who wait has told the new node of himself */
    guests_leave(guests, fence);
    assert_true(cluster_becomes_empty(c));
    bowline_close(client);
}

static void *let_go(void *hold)
{
    must_release(hold);
    return NULL;
}

/* Released half-way: it waits until the slot has moved, and so does the line. */
TEST(cluster_queue_release_half_way_keeps_the_order)
{
    guest     guests[LINE];
    pthread_t releases;

    begin(false);
    const char     *name   = cluster_name_at(0, 0);
    int             slot   = cluster_slot_of(c, name);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, name);
    uint64_t        fence  = bowline_hold_fence(hold);

    guests_come(guests, name, 0);
    cluster_begin_move(c, slot, 0, 1);
    assert_string_equal(server_ask(c->nodes[0], "MIGRATE 127.0.0.1 %d 'bowline:{%s}:bwl.q' 0 5000",
                                   c->nodes[1]->port, name),
                        "OK");
    assert_int_equal(pthread_create(&releases, NULL, let_go, hold), 0);
    sleep_ms(200); /* it is asked, more than once */
    assert_int_equal(atomic_load(&served), 0);
    cluster_move_keys(c, slot, 0, 1);
    sleep_ms(100);
    cluster_end_move(c, slot, 0, 1);
    assert_int_equal(pthread_join(releases, NULL), 0);
    guests_leave(guests, fence);
    assert_true(cluster_becomes_empty(c));
    bowline_close(client);
}

/* To and fro under contention: nobody is ever beside another, and everybody comes in again. */
TEST(cluster_queue_slot_moves_under_contention)
{
    enum { RIVALS = 4, MOVES = 9 };
    rival *rivals[RIVALS];

    begin(false);
    const char *name = cluster_name_at(0, 1);
    int         slot = cluster_slot_of(c, name);
    for (int i = 0; i < RIVALS; i++)
        rivals[i] = rival_start_queued(judge, url, name);
    for (unsigned i = 0; i < MOVES; i++) {
        unsigned from = i % CLUSTER_PRIMARIES;
        unsigned to   = (i + 1) % CLUSTER_PRIMARIES;
        cluster_begin_move(c, slot, from, to);
        cluster_move_keys(c, slot, from, to);
        cluster_end_move(c, slot, from, to);
        assert_true(rival_await_hold(rivals[i % RIVALS]));
    }
    for (int i = 0; i < RIVALS; i++) {
        assert_true(rival_await_hold(rivals[i]));
        rival_stop(rivals[i]);
    }
    assert_int_equal(witness_judge(judge).fences_backward, 0);
    assert_one_at_a_time(judge);
    assert_true(cluster_becomes_empty(c));
}

/* Whose slot does not come to rest: it says so, when it has waited for as long as it may. */
TEST(cluster_queue_slot_that_never_arrives)
{
    bowline_hold *hold  = NULL;
    bowline_error error = { 0 };

    begin(false);
    const char *name = cluster_name_at(2, 0);
    int         slot = cluster_slot_of(c, name);
    (void)snprintf(url, sizeof url, "%s?timeout=300ms", c->url);
    bowline_client *client = must_open(url);
    assert_status(BOWLINE_OK, try_once(client, name), NULL); /* the count is there now, no lock */
    cluster_begin_move(c, slot, 2, 0);
    assert_status(BOWLINE_REFUSED, acquire_within(&hold, client, name, 0, &error), &error);
    assert_non_null(strstr(error.text, "TRYAGAIN"));
    cluster_move_keys(c, slot, 2, 0);
    cluster_end_move(c, slot, 2, 0);
    assert_status(BOWLINE_OK, try_once(client, name), NULL);
    bowline_close(client);
}

/* ---- a node that ends ------------------------------------------------------------------------ */

TEST(cluster_queue_line_and_hold_survive_the_end_of_their_node)
{
    guest guests[LINE];

    begin(true);
    const char     *name   = cluster_name_at(1, 0);
    int             slot   = cluster_slot_of(c, name);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, name);
    uint64_t        fence  = bowline_hold_fence(hold);
    lock_holder    *b      = holder_start(judge, hold);

    guests_come(guests, name, 1);
    assert_string_equal(server_ask(c->nodes[1], "WAIT 1 5000"), "1");
    server_kill(c->nodes[1]);
    assert_true(cluster_leaves(c, slot, 1));
    assert_true(cluster_comes_to(c, "ok"));
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    assert_true(queue_await_size(c->nodes[4], name, LINE));
    assert_int_equal(atomic_load(&served), 0);
    (void)holder_stop(b);
    must_release(hold);
    guests_leave(guests, fence);
    assert_true(cluster_becomes_empty(c));
    bowline_close(client);
}

/* The last draws did not reach the replica: its count is behind, and lifted before it is used. */
TEST(cluster_queue_fences_rise_over_a_failover)
{
    bowline_hold *hold = NULL;

    begin(true);
    const char     *name   = cluster_name_at(1, 0);
    int             slot   = cluster_slot_of(c, name);
    bowline_client *client = must_open(url);
    bowline_hold   *first  = must_acquire(client, name);
    uint64_t        fence  = bowline_hold_fence(first);
    must_release(first);
    assert_string_equal(server_ask(c->nodes[1], "WAIT 1 5000"), "1");
    /* As if the replica had stayed behind by an hour. */
    const char *keys = server_ask(c->nodes[1], "KEYS bowline:f:*");
    char        count[40];
    (void)snprintf(count, sizeof count, "%s", keys);
    assert_string_equal(server_ask(c->nodes[1], "SET %s %llu", count,
                                   (unsigned long long)(fence / 1024 - 3600000000)),
                        "OK");
    assert_string_equal(server_ask(c->nodes[1], "WAIT 1 5000"), "1");
    server_kill(c->nodes[1]);
    assert_true(cluster_leaves(c, slot, 1));
    assert_status(BOWLINE_OK, acquire_within(&hold, client, name, 30000, NULL), NULL);
    assert_true(bowline_hold_fence(hold) > fence);
    must_release(hold);
    bowline_close(client);
}

/* There and back, and no connection has ended: what the first one was told of the slot counts no
 * more, as others may have drawn fences in between that it does not know of. */
TEST(cluster_queue_fences_rise_when_a_node_is_primary_again)
{
    char count[40];

    begin(true);
    const char     *name   = cluster_name_at(1, 0);
    int             slot   = cluster_slot_of(c, name);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, name);
    uint64_t        fence  = bowline_hold_fence(hold);
    must_release(hold);
    (void)snprintf(count, sizeof count, "%s", server_ask(c->nodes[1], "KEYS bowline:f:*"));
    cluster_switch(c, slot, 1, 4);
    cluster_switch(c, slot, 4, 1);
    assert_string_equal(server_ask(c->nodes[1], "SET %s %llu", count,
                                   (unsigned long long)(fence / 1024 - 3600000000)),
                        "OK");
    hold = must_acquire(client, name);
    assert_true(bowline_hold_fence(hold) > fence);
    must_release(hold);
    bowline_close(client);
}

/* Whoever waits dies without a word: the others behind him come in, after a claim. */
TEST(cluster_queue_dead_waiter_is_passed_over)
{
    guest guests[LINE];

    begin(false);
    const char     *name   = cluster_name_at(0, 0);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, name);
    uint64_t        fence  = bowline_hold_fence(hold);
    char            tag[48];

    (void)snprintf(tag, sizeof tag, "%s", server_ask(c->nodes[0], "KEYS bowline:f:*"));
    assert_string_equal(server_ask(c->nodes[0],
                                   "ZADD 'bowline:{%s}:bwl.q' 1 'b1:%044d 1.0000000000000001 "
                                   "bowline:i:1111111111111111111111:%s 2000'",
                                   name, 7, strchr(tag, '{')),
                        "1");
    atomic_store(&served, 0);
    for (int i = 0; i < LINE; i++) {
        guests[i] = (guest){ .client = must_open(url), .name = name, .number = i };
        assert_int_equal(pthread_create(&guests[i].thread, NULL, visit, &guests[i]), 0);
        assert_true(queue_await_size(c->nodes[0], name, i + 2));
    }
    must_release(hold);
    guests_leave(guests, fence);
    bowline_close(client);
}
