/*
 * test_cluster_queue.c -- protocol queue on a cluster: waiters keep their queue position and the
 * holder keeps its hold while the slot of the lock moves, and after its node was killed.  The
 * simulator moves slots and kills nodes at any moment.
 *
 * Each waiter is a client of its own and records when it was granted the lock.
 */
#include "tests/lib/cluster.h"
#include "tests/lib/queue_state.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <bowline/election.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WAITERS = 4, LEASE_MS = 120000 };

static cluster *c;
static char     url[300];

static void begin(bool has_replicas)
{
    cluster_queue_needed();
    c = cluster_start(has_replicas);
    (void)snprintf(url, sizeof url, "%s?lease=%dms", c->url, LEASE_MS);
}

static int end(void **state)
{
    cluster_stop(c);
    c = NULL;
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

    self->status = acquire_within(&hold, self->client, self->name, 60000, NULL);
    if (self->status != BOWLINE_OK)
        return NULL;
    self->fence                          = bowline_hold_fence(hold);
    order[atomic_fetch_add(&granted, 1)] = self->number;
    self->status                         = bowline_release(hold, NULL);
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
}

/* ---- where a lock is ------------------------------------------------------------------------- */

FIXTURE(NULL, end)

TEST(cluster_queue_works_in_the_slot_of_each_primary)
{
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
        bowline_holder who = must_who(waiting[0].client, name);
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

    start_all(waiting, name, 0);
    cluster_begin_move(c, slot, 0, 1);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    cluster_move_keys(c, slot, 0, 1);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    cluster_end_move(c, slot, 0, 1);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    assert_int_equal(atomic_load(&granted), 0);
    must_release(hold); /* perhaps before a waiter is known on the new node */
    join_all(waiting, fence);
    assert_true(cluster_becomes_empty(c));
    bowline_close(client);
}

/* The scripts of a lock that clients share name several keys, of which some do not exist: while the
 * slot moves, the server cannot tell where those are.  A query and a break say so, and nothing is
 * broken.  A renewal does without those keys. */
TEST(cluster_shares_are_listed_and_broken_when_their_slot_has_moved)
{
    enum { SHARES = 3 };
    bowline_client *clients[SHARES];
    bowline_hold   *holds[SHARES];
    bowline_holder  all[SHARES] = { { .size = sizeof all[0] } };
    bowline_error   error;

    begin(false);
    const char *name = cluster_name_at(0, 0);
    int         slot = cluster_slot_of(c, name);
    for (unsigned i = 0; i < SHARES; i++) {
        clients[i] = must_open(url);
        int status = bowline_acquire(&holds[i], clients[i], name,
                                     BOWLINE_ACQUIRE(.mode = BOWLINE_SHARED), &error);
        assert_status(BOWLINE_OK, status, &error);
    }
    assert_status(SHARES, bowline_holders(clients[2], name, all, SHARES, &error), &error);
    cluster_begin_move(c, slot, 0, 1);
    for (unsigned moved = 0; moved < 2; moved++) {
        if (moved == 1)
            cluster_move_keys(c, slot, 0, 1);
        int count = bowline_holders(clients[2], name, NULL, 0, &error);
        assert_status(BOWLINE_REFUSED, count, &error);
        assert_non_null(strstr(error.text, "TRYAGAIN"));
        int broken = bowline_break(clients[2], name, all[0].id, &error);
        assert_status(BOWLINE_REFUSED, broken, &error);
        assert_status(BOWLINE_OK, bowline_extend(holds[1], 0, &error), &error);
    }
    cluster_end_move(c, slot, 0, 1);
    assert_status(BOWLINE_OK, bowline_extend(holds[1], 0, &error), &error);
    assert_status(SHARES, bowline_holders(clients[2], name, all, SHARES, &error), &error);
    int broken = bowline_break(clients[2], name, all[0].id, &error);
    assert_status(BOWLINE_OK, broken, &error);
    assert_status(SHARES - 1, bowline_holders(clients[2], name, NULL, 0, &error), &error);
    assert_status(BOWLINE_LOST, bowline_release(holds[0], &error), NULL);
    assert_non_null(strstr(error.text, "broken by"));
    for (unsigned i = 1; i < SHARES; i++)
        must_release(holds[i]);
    assert_true(cluster_becomes_empty(c));
    for (unsigned i = 0; i < SHARES; i++)
        bowline_close(clients[i]);
}

/* The only share of a lock is a string, that of others is a set beside it. */
TEST(cluster_share_is_extended_at_every_step_of_its_slot)
{
    bowline_client *clients[2];
    bowline_hold   *holds[2];
    bowline_error   error;
    char            lock[64];

    begin(false);
    const char *name = cluster_name_at(0, 0);
    int         slot = cluster_slot_of(c, name);
    (void)snprintf(lock, sizeof lock, "bowline:{%s}", name);
    for (unsigned i = 0; i < 2; i++)
        clients[i] = must_open(url);
    for (unsigned count = 1; count <= 2; count++) {
        unsigned from = count - 1, to = count;
        for (unsigned i = 0; i < count; i++) {
            int status = bowline_acquire(&holds[i], clients[i], name,
                                         BOWLINE_ACQUIRE(.mode = BOWLINE_SHARED), &error);
            assert_status(BOWLINE_OK, status, &error);
        }
        cluster_begin_move(c, slot, from, to);
        assert_status(BOWLINE_OK, bowline_extend(holds[0], 0, &error), &error);
        cluster_move_key(c, lock, from, to);
        if (count == 1) {
            assert_status(BOWLINE_OK, bowline_extend(holds[0], 0, &error), &error);
        } else {
            /* The other key follows: until then the hold lasts, and the extension waits. */
            bowline_operation *op;
            char               sharers[80];
            (void)snprintf(sharers, sizeof sharers, "%s:bwl.h", lock);
            assert_status(BOWLINE_OK, bowline_extend_start(&op, holds[0], 0, &error), &error);
            while (strstr(server_ask(c->nodes[to], "INFO errorstats"), "TRYAGAIN") == NULL)
                assert_int_equal(bowline_operation_wait(op, 1, NULL), BOWLINE_TIMEOUT);
            cluster_move_key(c, sharers, from, to);
            assert_status(BOWLINE_OK, bowline_finish(op, &error), &error);
        }
        cluster_move_keys(c, slot, from, to);
        assert_status(BOWLINE_OK, bowline_extend(holds[0], 0, &error), &error);
        cluster_end_move(c, slot, from, to);
        assert_status(BOWLINE_OK, bowline_extend(holds[0], 0, &error), &error);
        for (unsigned i = 0; i < count; i++)
            must_release(holds[i]);
    }
    assert_true(cluster_becomes_empty(c));
    for (unsigned i = 0; i < 2; i++)
        bowline_close(clients[i]);
}

/* The key of an announcement does not exist before the first one. */
TEST(cluster_announcement_is_repeated_after_its_slot_has_moved)
{
    bowline_leader leader = BOWLINE_LEADER_INIT;
    bowline_error  error;

    begin(false);
    const char     *name   = cluster_name_at(0, 0);
    int             slot   = cluster_slot_of(c, name);
    bowline_client *client = must_open(url), *observing = must_open(url);
    bowline_hold   *hold = must_acquire(client, name);

    cluster_begin_move(c, slot, 0, 1);
    assert_status(BOWLINE_REFUSED, bowline_announce(hold, "web-1", &error), &error);
    assert_non_null(strstr(error.text, "TRYAGAIN"));
    cluster_move_keys(c, slot, 0, 1);
    cluster_end_move(c, slot, 0, 1);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, &error), &error);
    while (!leader.leads) {
        int status = bowline_observe(&leader, observing, name, BOWLINE_FOREVER, &error);
        assert_status(BOWLINE_OK, status, &error);
    }
    assert_string_equal(leader.text, "web-1");
    must_release(hold);
    assert_true(cluster_becomes_empty(c));
    bowline_close(observing);
    bowline_close(client);
}

/* ---- a node that is killed ------------------------------------------------------------------- */

static int64_t replication_offset(unsigned node, const char *field)
{
    const char *at = strstr(server_ask(c->nodes[node], "INFO replication"), field);

    return at != NULL ? strtoll(at + strlen(field), NULL, 10) : -1;
}

/* Waits until the replica has all that the primary has written so far. (WAIT would cover what its
 * own connection has written: nothing.) */
static bool replica_has_all(unsigned primary)
{
    int64_t wanted = replication_offset(primary, "master_repl_offset:");

    for (int i = 0; i < 2000; i++, sleep_ms(10))
        if (replication_offset(primary + CLUSTER_PRIMARIES, "slave_repl_offset:") >= wanted)
            return true;
    return false;
}

TEST(cluster_queue_waiters_and_hold_survive_a_failover)
{
    queue_client  waiting[WAITERS];
    bowline_error error;

    begin(true);
    const char     *name   = cluster_name_at(1, 0);
    int             slot   = cluster_slot_of(c, name);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, name);
    uint64_t        fence  = bowline_hold_fence(hold);

    start_all(waiting, name, 1);
    assert_true(replica_has_all(1));
    server_kill(c->nodes[1]);
    assert_true(cluster_leaves(c, slot, 1));
    assert_true(cluster_comes_to(c, "ok"));
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, &error), &error);
    assert_true(queue_await_size(c->nodes[4], name, WAITERS));
    assert_int_equal(atomic_load(&granted), 0);
    must_release(hold);
    join_all(waiting, fence);
    assert_true(cluster_becomes_empty(c));
    bowline_close(client);
}
