/*
 * test_cluster_queue.c -- protocol queue on a cluster: waiters keep their queue position and the
 * holder keeps its hold while the slot of the lock moves, and after its node was killed.
 *
 * Each waiter is a client of its own and records when it was granted the lock.
 */
#include "tests/lib/cluster.h"
#include "tests/lib/judged.h"
#include "tests/lib/queue_state.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <unistd.h>

enum { WAITERS = 4, LEASE_MS = 12000 };

static cluster *c;
static witness *judge;
static char     url[300];

static void begin(bool has_replicas)
{
    cluster_queue_needed();
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

/* ---- waiters --------------------------------------------------------------------------------- */

typedef struct queue_client {
    pthread_t       thread;
    bowline_client *client;
    const char     *name;
    int             number;
    int             status;
    uint64_t        fence;
} queue_client;

static int        order[WAITERS];
static atomic_int granted;

static void *wait_once(void *arg)
{
    queue_client *self = arg;
    bowline_hold *hold = NULL;
    witness_visit inside;

    self->status = acquire_within(&hold, self->client, self->name, 60000, NULL);
    if (self->status != BOWLINE_OK)
        return NULL;
    self->fence                          = bowline_hold_fence(hold);
    bool is_alone                        = witness_enter(judge, &inside, self->fence);
    order[atomic_fetch_add(&granted, 1)] = self->number;
    witness_leave(&inside);
    self->status = bowline_release(hold, NULL);
    if (!is_alone)
        self->status = 1;
    return NULL;
}

static void start_all(queue_client *waiting, const char *name, unsigned node)
{
    atomic_store(&granted, 0);
    for (int i = 0; i < WAITERS; i++) {
        waiting[i] = (queue_client){ .client = must_open(url), .name = name, .number = i };
        assert_int_equal(pthread_create(&waiting[i].thread, NULL, wait_once, &waiting[i]), 0);
        assert_true(queue_await_size(c->nodes[node], name, i + 1));
    }
}

/* They were granted the lock in queue order, with rising fences. */
static void join_all(queue_client *waiting, uint64_t fence)
{
    for (int i = 0; i < WAITERS; i++)
        assert_int_equal(pthread_join(waiting[i].thread, NULL), 0);
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(waiting[i].status, BOWLINE_OK);
        assert_int_equal(order[i], i);
        assert_true(waiting[i].fence > fence);
        fence = waiting[i].fence;
        bowline_close(waiting[i].client);
    }
    assert_int_equal(witness_judge(judge).fences_backward, 0);
    assert_one_at_a_time(judge);
}

/* ---- where a lock is ------------------------------------------------------------------------- */

FIXTURE(NULL, end)

TEST(cluster_queue_works_in_the_slot_of_each_primary)
{
    bowline_holder who = { .size = sizeof who };

    begin(false);
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++) {
        queue_client    waiting[WAITERS];
        char            name[24];
        bowline_client *client = must_open(url);
        (void)snprintf(name, sizeof name, "%s", cluster_name_at(i, 0));
        (void)cluster_slot_of(c, name);
        bowline_hold *hold  = must_acquire(client, name);
        uint64_t      fence = bowline_hold_fence(hold);
        assert_true(fence > 0);
        start_all(waiting, name, i);
        assert_status(BOWLINE_OK, bowline_who(waiting[0].client, name, &who, NULL), NULL);
        assert_true(who.held);
        assert_int_equal(who.pid, getpid());
        must_release(hold);
        join_all(waiting, fence);
        bowline_close(client);
    }
    assert_true(cluster_becomes_empty(c));
}

/* ---- a slot that moves ----------------------------------------------------------------------- */

/* The slot moves in steps, with waiters; the hold is extended after each step. */
TEST(cluster_queue_waiters_and_hold_move_with_their_slot)
{
    queue_client waiting[WAITERS];

    begin(false);
    const char     *name   = cluster_name_at(0, 0);
    int             slot   = cluster_slot_of(c, name);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, name);
    uint64_t        fence  = bowline_hold_fence(hold);
    lock_holder    *b      = holder_start(judge, hold);

    start_all(waiting, name, 0);
    cluster_begin_move(c, slot, 0, 1);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    cluster_move_keys(c, slot, 0, 1);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    cluster_end_move(c, slot, 0, 1);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    assert_int_equal(atomic_load(&granted), 0);
    (void)holder_stop(b);
    must_release(hold); /* perhaps before a waiter is known on the new node */
    join_all(waiting, fence);
    assert_true(cluster_becomes_empty(c));
    bowline_close(client);
}

static void *release_in_thread(void *hold)
{
    must_release(hold);
    return NULL;
}

/* A release in the middle of the move is retried until the slot has moved; the queue order
 * stays. */
TEST(cluster_queue_order_survives_a_release_during_the_move)
{
    queue_client waiting[WAITERS];
    pthread_t    releasing;

    begin(false);
    const char     *name   = cluster_name_at(0, 0);
    int             slot   = cluster_slot_of(c, name);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, name);
    uint64_t        fence  = bowline_hold_fence(hold);

    start_all(waiting, name, 0);
    cluster_begin_move(c, slot, 0, 1);
    assert_string_equal(server_ask(c->nodes[0], "MIGRATE 127.0.0.1 %d 'bowline:{%s}:bwl.q' 0 5000",
                                   c->nodes[1]->port, name),
                        "OK");
    assert_int_equal(pthread_create(&releasing, NULL, release_in_thread, hold), 0);
    sleep_ms(200); /* the release is sent more than once */
    assert_int_equal(atomic_load(&granted), 0);
    cluster_move_keys(c, slot, 0, 1);
    sleep_ms(100);
    cluster_end_move(c, slot, 0, 1);
    assert_int_equal(pthread_join(releasing, NULL), 0);
    join_all(waiting, fence);
    assert_true(cluster_becomes_empty(c));
    bowline_close(client);
}

/* The slot moves repeatedly under contention: no two holders at once, and every client is granted
 * the lock again. */
TEST(cluster_queue_excludes_while_its_slot_moves_repeatedly)
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

/* The slot stays between two nodes: the acquire is REFUSED when its wait is over.  A slow machine
 * may have a command in flight then: it acquires again. */
TEST(cluster_queue_acquire_is_refused_when_its_slot_never_arrives)
{
    bowline_hold *hold   = NULL;
    bowline_error error  = { 0 };
    int           status = BOWLINE_OK;

    begin(false);
    const char *name = cluster_name_at(2, 0);
    int         slot = cluster_slot_of(c, name);
    (void)snprintf(url, sizeof url, "%s?timeout=300ms", c->url);
    bowline_client *client = must_open(url);
    assert_status(BOWLINE_OK, try_once(client, name),
                  NULL); /* now the fence counter exists, and no lock */
    cluster_begin_move(c, slot, 2, 0);
    for (int rounds = 0; rounds < 20; rounds++) {
        status = acquire_within(&hold, client, name, 0, &error);
        if (!came_too_late(status, &error))
            break;
    }
    assert_status(BOWLINE_REFUSED, status, &error);
    assert_non_null(strstr(error.text, "TRYAGAIN"));
    cluster_move_keys(c, slot, 2, 0);
    cluster_end_move(c, slot, 2, 0);
    assert_status(BOWLINE_OK, try_once(client, name), NULL);
    bowline_close(client);
}

/* ---- a node that is killed ------------------------------------------------------------------- */

TEST(cluster_queue_waiters_and_hold_survive_a_failover)
{
    queue_client waiting[WAITERS];

    begin(true);
    const char     *name   = cluster_name_at(1, 0);
    int             slot   = cluster_slot_of(c, name);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, name);
    uint64_t        fence  = bowline_hold_fence(hold);
    lock_holder    *b      = holder_start(judge, hold);

    start_all(waiting, name, 1);
    assert_string_equal(server_ask(c->nodes[1], "WAIT 1 5000"), "1");
    server_kill(c->nodes[1]);
    assert_true(cluster_leaves(c, slot, 1));
    assert_true(cluster_comes_to(c, "ok"));
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    assert_true(queue_await_size(c->nodes[4], name, WAITERS));
    assert_int_equal(atomic_load(&granted), 0);
    (void)holder_stop(b);
    must_release(hold);
    join_all(waiting, fence);
    assert_true(cluster_becomes_empty(c));
    bowline_close(client);
}

/* The replica lacks the last fences: its counter is behind, and is raised before it is used. */
TEST(cluster_queue_fences_rise_after_a_failover)
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
    /* As if the replication were an hour behind. */
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

/* The primary changes and changes back, and no connection ended: the client must not trust the
 * fence minimum that it knew, because other clients may have drawn fences meanwhile. */
TEST(cluster_queue_fences_rise_when_a_node_becomes_primary_again)
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

/* A waiter disappears: the waiters behind it are granted the lock after one provisional grant. */
TEST(cluster_queue_skips_a_dead_waiter)
{
    queue_client waiting[WAITERS];

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
    atomic_store(&granted, 0);
    for (int i = 0; i < WAITERS; i++) {
        waiting[i] = (queue_client){ .client = must_open(url), .name = name, .number = i };
        assert_int_equal(pthread_create(&waiting[i].thread, NULL, wait_once, &waiting[i]), 0);
        assert_true(queue_await_size(c->nodes[0], name, i + 2));
    }
    must_release(hold);
    join_all(waiting, fence);
    bowline_close(client);
}
