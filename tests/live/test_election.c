/*
 * test_election.c -- the holder of a lock announces that it leads, and others observe that: on one
 * server, with a replica, in a cluster.
 */
#include "tests/lib/cluster.h"
#include "tests/lib/queue_state.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <bowline/election.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A push comes at once, and the look after a lost one within ten seconds: half of that is between
 * the two, also on a busy machine. */
enum { PUSH_MS = 5000, LEASE_MS = 60000 };

typedef struct place {
    const char *name;
    bool        is_cluster, has_replica;
} place;

static const place places[] = {
    { .name = "one_server" },
    { .name = "a_server_with_a_replica", .has_replica = true },
    { .name = "a_cluster", .is_cluster = true },
};

static char            url[400];
static cluster        *nodes;
static server         *replica;
static bowline_client *leading, *observing;
static bowline_leader  seen;

static void begin(const place *p)
{
    (void)server_ask(redis, "FLUSHALL");
    (void)snprintf(url, sizeof url, "%s?lease=%dms", redis->tcp_url, LEASE_MS);
    if (p != NULL && p->is_cluster) {
        cluster_queue_needed();
        nodes = cluster_start(false);
        (void)snprintf(url, sizeof url, "%s?lease=%dms", nodes->url, LEASE_MS);
    }
    if (p != NULL && p->has_replica) {
        char options[64];
        (void)snprintf(options, sizeof options, "--replicaof 127.0.0.1 %d", redis->port);
        replica = server_start(options);
        assert_true(server_comes_to(replica, "master_link_status:up", "INFO replication"));
        (void)snprintf(url, sizeof url, "%s?lease=%dms&sync=1", redis->tcp_url, LEASE_MS);
    }
    leading   = must_open(url);
    observing = must_open(url);
    seen      = (bowline_leader)BOWLINE_LEADER_INIT;
}

static int end(void **state)
{
    bool is_empty;

    bowline_close(leading);
    bowline_close(observing);
    leading = observing = NULL;
    is_empty            = nodes != NULL || queue_await_no_keys(redis);
    if (nodes != NULL)
        is_empty = cluster_becomes_empty(nodes);
    cluster_stop(nodes);
    server_stop(replica);
    nodes   = NULL;
    replica = NULL;
    return is_empty ? 0 : -1;
}

static int no_set_up(void **state)
{
    return 0;
}

AROUND(start_server, stop_server)
FIXTURE(no_set_up, end)

/* ---- steps ----------------------------------------------------------------------------------- */

static bowline_hold *must_lead(const char *text)
{
    bowline_hold *hold;

    assert_status(BOWLINE_OK, acquire_within(&hold, leading, "x", 0, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_announce(hold, text, NULL), NULL);
    return hold;
}

static bowline_operation *start(void)
{
    bowline_operation *op;

    assert_status(BOWLINE_OK,
                  bowline_observe_start(&op, observing, "x", &seen, BOWLINE_FOREVER, NULL), NULL);
    return op;
}

/* Another change than by a push would come too late.  text NULL: nobody leads. */
static void must_see(bowline_operation *op, const char *text, uint64_t fence)
{
    assert_status(BOWLINE_OK, bowline_operation_wait(op, PUSH_MS, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_observe_finish(&seen, op, NULL), NULL);
    assert_int_equal(seen.leads, text != NULL);
    assert_string_equal(seen.text, text != NULL ? text : "");
    assert_true(seen.fence == fence);
}

/* The observer waits when its look has found what it has seen before. */
static bowline_operation *start_waiting(void)
{
    bowline_operation *op = start();

    for (int i = 0; i < 3; i++) /* the reply to a query comes after that to the look */
        assert_status(BOWLINE_OK, bowline_ping(observing, 0, NULL), NULL);
    assert_false(bowline_operation_done(op));
    return op;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void see_each_change(const place *p)
{
    begin(p);
    must_see(start(), NULL, 0);
    bowline_operation *op    = start_waiting();
    bowline_hold      *hold  = must_lead("web-1:80");
    uint64_t           fence = bowline_hold_fence(hold);
    must_see(op, "web-1:80", fence);
    assert_true(seen.left_ms > 0 && seen.left_ms <= LEASE_MS && seen.pid == getpid());
    op = start_waiting();
    assert_status(BOWLINE_OK, bowline_announce(hold, "", NULL), NULL);
    must_see(op, "", fence);
    op = start_waiting();
    assert_status(BOWLINE_OK, bowline_announce(hold, NULL, NULL), NULL);
    must_see(op, NULL, fence);
    op = start_waiting();
    assert_status(BOWLINE_OK, bowline_announce(hold, "back", NULL), NULL);
    must_see(op, "back", fence);
    op = start_waiting();
    assert_status(BOWLINE_OK, bowline_release(hold, NULL), NULL);
    must_see(op, NULL, fence);
    op   = start_waiting();
    hold = must_lead("next");
    assert_true(bowline_hold_fence(hold) > fence);
    must_see(op, "next", bowline_hold_fence(hold));
    assert_status(BOWLINE_OK, bowline_release(hold, NULL), NULL);
}

TEST(observer_is_told_of_each_change_by_a_push)
{
    for (unsigned i = 0; i < COUNT_OF(places); i++) {
        see_each_change(&places[i]);
        assert_int_equal(end(state), 0);
    }
}

/* Its client renews nothing, and another one waits. */
TEST(leader_that_dies_is_over_with_its_lease)
{
    bowline_operation *next;
    bowline_hold      *hold;
    bowline_options    o = BOWLINE_OPTIONS_INIT;

    begin(NULL);
    o.url               = redis->tcp_url;
    o.lease_ms          = 1000;
    o.flags             = BOWLINE_NO_RENEW;
    bowline_client *old = leading, *dies;
    assert_status(BOWLINE_OK, bowline_open(&dies, &o, NULL), NULL);
    leading               = dies;
    hold                  = must_lead("dies");
    leading               = old;
    const uint64_t before = bowline_hold_fence(hold);
    must_see(start(), "dies", before);
    bowline_acquire_options waits = BOWLINE_ACQUIRE_INIT;
    waits.wait_ms                 = BOWLINE_FOREVER;
    assert_status(BOWLINE_OK, bowline_acquire_start(&next, leading, "x", &waits, NULL), NULL);
    must_see(start(), NULL, before);
    assert_true(bowline_hold_left_ms(hold) == 0);
    bowline_operation *op = start();
    assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, next, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_announce(hold, "next", NULL), NULL);
    must_see(op, "next", bowline_hold_fence(hold));
    assert_true(bowline_hold_fence(hold) > before);
    assert_status(BOWLINE_OK, bowline_release(hold, NULL), NULL);
    bowline_close(dies);
}

/* What is left in the store of a hold that was exported, downgraded, or rests. */
static void break_hold(void)
{
    bowline_holder holder = { .size = sizeof holder };

    assert_status(BOWLINE_OK, bowline_who(observing, "x", &holder, NULL), NULL);
    if (holder.id != 0)
        assert_status(BOWLINE_OK, bowline_break(observing, "x", holder.id, NULL), NULL);
}

static void end_hold(bowline_hold *hold, const char *way)
{
    char ticket[BOWLINE_TICKET_MAX];
    int  status = BOWLINE_OK;

    if (strcmp(way, "yield") == 0)
        status = bowline_yield(hold, 1000, NULL);
    else if (strcmp(way, "export") == 0)
        status = bowline_hold_export(hold, ticket, NULL);
    else if (strcmp(way, "downgrade") == 0)
        status = bowline_downgrade(hold, NULL);
    else if (strcmp(way, "nowait") == 0)
        status = bowline_release_nowait(hold, NULL);
    else if (strcmp(way, "rest") == 0)
        status = bowline_release(hold, NULL);
    else
        bowline_close(leading), leading = NULL;
    assert_status(BOWLINE_OK, status, NULL);
}

TEST(hold_that_ends_or_is_shared_leads_nobody)
{
    static const char *const ways[] = { "yield", "export", "downgrade", "nowait", "rest", "close" };

    for (unsigned i = 0; i < COUNT_OF(ways); i++) {
        bowline_acquire_options o = BOWLINE_ACQUIRE_INIT;
        bowline_hold           *hold;
        begin(NULL);
        o.at_least_ms = strcmp(ways[i], "rest") == 0 ? 600000 : 0;
        assert_status(BOWLINE_OK, bowline_acquire(&hold, leading, "x", &o, NULL), NULL);
        assert_status(BOWLINE_OK, bowline_announce(hold, ways[i], NULL), NULL);
        must_see(start(), ways[i], bowline_hold_fence(hold));
        bowline_operation *op = start_waiting();
        end_hold(hold, ways[i]);
        must_see(op, NULL, seen.fence);
        if (strcmp(ways[i], "downgrade") == 0) { /* an upgrade announces it again */
            op = start_waiting();
            assert_status(BOWLINE_OK, bowline_upgrade(hold, NULL), NULL);
            must_see(op, ways[i], bowline_hold_fence(hold));
        }
        break_hold();
        assert_int_equal(end(state), 0);
    }
}

/* Its client knows nothing of that yet. */
TEST(hold_that_was_broken_leads_nobody)
{
    begin(NULL);
    bowline_hold *hold = must_lead("a");
    must_see(start(), "a", bowline_hold_fence(hold));
    bowline_operation *op = start_waiting();
    break_hold();
    must_see(op, NULL, seen.fence);
    assert_status(BOWLINE_LOST, bowline_announce(hold, "b", NULL), NULL);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_status(BOWLINE_TIMEOUT, bowline_observe(&seen, observing, "x", 0, NULL), NULL);
}

/* What is beside the lock counts only with the value that the lock has now. */
TEST(announcement_of_another_hold_shows_no_leader)
{
    static const char *const wrong[] = {
        "SET bowline:{x}:bwl.v b1:AAAAAAAAAAAAAAAAAAAAAAAAA",
        "SET bowline:{x}:bwl.v 'b1:AAAAAAAAAAAAAAAAAAAAAAAAA 99999999999999999999 x'",
        "SET bowline:{x}:bwl.v 'b1:BAAAAAAAAAAAAAAAAAAAAAAAA 7168 x'",
        "SET bowline:{x}:bwl.v ''",
        "LPUSH bowline:{x}:bwl.v 'b1:AAAAAAAAAAAAAAAAAAAAAAAAA 7168 x'",
        "SET bowline:{x} 'b1:~7 b1:AAAAAAAAAAAAAAAAAAAAAAAAA'",
        "SET bowline:{x} b1:AAAAAAAAAAAAAAAAAAAAAAAA",
        "DEL bowline:{x}",
    };

    begin(NULL);
    for (unsigned i = 0; i <= COUNT_OF(wrong); i++) {
        (void)server_ask(redis, "SET bowline:{x} b1:AAAAAAAAAAAAAAAAAAAAAAAAA");
        (void)server_ask(redis, "SET bowline:{x}:bwl.v 'b1:AAAAAAAAAAAAAAAAAAAAAAAAA 7168 x'");
        if (i < COUNT_OF(wrong) && wrong[i][0] == 'L')
            (void)server_ask(redis, "DEL bowline:{x}:bwl.v");
        if (i < COUNT_OF(wrong))
            assert_true(server_ask(redis, "%s", wrong[i])[0] != '-');
        seen = (bowline_leader)BOWLINE_LEADER_INIT;
        assert_status(BOWLINE_OK, bowline_observe(&seen, observing, "x", 0, NULL), NULL);
        assert_int_equal(seen.leads, i == COUNT_OF(wrong)); /* the twin: nothing is wrong */
    }
    (void)server_ask(redis, "DEL bowline:{x} bowline:{x}:bwl.v");
    bowline_hold *hold = must_lead("a"); /* whatever was there */
    (void)server_ask(redis, "DEL bowline:{x}:bwl.v");
    (void)server_ask(redis, "LPUSH bowline:{x}:bwl.v x");
    assert_status(BOWLINE_OK, bowline_announce(hold, "b", NULL), NULL);
    must_see(start(), "b", bowline_hold_fence(hold));
    assert_status(BOWLINE_OK, bowline_release(hold, NULL), NULL);
}

TEST(fence_below_one_that_was_seen_shows_no_leader)
{
    begin(NULL);
    bowline_hold *hold = must_lead("a");
    seen.fence         = bowline_hold_fence(hold) + 1;
    must_see(start(), NULL, bowline_hold_fence(hold) + 1);
    seen.fence = bowline_hold_fence(hold);
    must_see(start(), "a", bowline_hold_fence(hold));
    assert_status(BOWLINE_OK, bowline_release(hold, NULL), NULL);
}

/* The lease of the announcement is that of the lock, also if nothing can be written. */
TEST(announcement_is_renewed_when_memory_is_full)
{
    begin(NULL);
    bowline_client *brief = must_open_url("redis://127.0.0.1:%d?lease=500ms", redis->port);
    bowline_hold   *hold;
    assert_status(BOWLINE_OK, acquire_within(&hold, brief, "x", 0, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_announce(hold, "a", NULL), NULL);
    (void)server_ask(redis, "CONFIG SET maxmemory 1");
    assert_status(BOWLINE_REFUSED, bowline_announce(hold, "b", NULL), NULL);
    assert_status(BOWLINE_OK, bowline_announce(hold, "a", NULL), NULL);
    must_see(start(), "a", bowline_hold_fence(hold));
    /* It looks at each end of the lease that it has seen: twice at least. */
    assert_status(BOWLINE_TIMEOUT, bowline_observe(&seen, observing, "x", 1500, NULL), NULL);
    (void)server_ask(redis, "CONFIG SET maxmemory 0");
    assert_status(BOWLINE_OK, bowline_release(hold, NULL), NULL);
    bowline_close(brief);
}

TEST(replica_shows_no_leader)
{
    begin(NULL);
    bowline_hold *hold = must_lead("a");
    must_see(start(), "a", bowline_hold_fence(hold));
    (void)server_ask(redis, "REPLICAOF 127.0.0.1 1");
    assert_status(BOWLINE_REFUSED, bowline_observe(&seen, observing, "x", 1000, NULL), NULL);
    (void)server_ask(redis, "REPLICAOF NO ONE");
    assert_status(BOWLINE_TIMEOUT, bowline_observe(&seen, observing, "x", 0, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_release(hold, NULL), NULL);
}

TEST(connection_that_is_lost_with_its_pushes_is_no_obstacle)
{
    begin(NULL);
    must_see(start(), NULL, 0);
    bowline_operation *op = start_waiting();
    server_hang_up(redis);
    bowline_hold *hold = must_lead("a");
    must_see(op, "a", bowline_hold_fence(hold));
    assert_status(BOWLINE_OK, bowline_release(hold, NULL), NULL);
}

TEST(observer_follows_the_slot_to_another_node)
{
    begin(&places[2]);
    const int     slot = cluster_slot_of(nodes, "x");
    unsigned      from = cluster_owner(nodes, 0, slot), to = (from + 1) % CLUSTER_PRIMARIES;
    bowline_hold *hold = must_lead("a");
    must_see(start(), "a", bowline_hold_fence(hold));
    bowline_operation *op = start_waiting();
    cluster_begin_move(nodes, slot, from, to);
    cluster_move_keys(nodes, slot, from, to);
    cluster_end_move(nodes, slot, from, to);
    assert_true(cluster_leaves(nodes, slot, from));
    assert_status(BOWLINE_OK, bowline_announce(hold, "b", NULL), NULL);
    must_see(op, "b", bowline_hold_fence(hold));
    assert_status(BOWLINE_OK, bowline_release(hold, NULL), NULL);
}

TEST(calls_that_are_wrong_say_so)
{
    char          text[BOWLINE_ANNOUNCEMENT_MAX + 2];
    bowline_hold *hold, *shared;

    begin(NULL);
    bowline_acquire_options o = BOWLINE_ACQUIRE_INIT;
    o.mode                    = BOWLINE_SHARED;
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    hold                  = must_lead("a");
    assert_status(BOWLINE_USAGE, bowline_announce(hold, text, NULL), NULL);
    text[sizeof text - 2] = '\0';
    assert_status(BOWLINE_OK, bowline_announce(hold, text, NULL), NULL);
    must_see(start(), text, bowline_hold_fence(hold));
    assert_status(BOWLINE_USAGE, bowline_announce(hold, "two\nlines", NULL), NULL);
    assert_status(BOWLINE_USAGE, bowline_announce(NULL, "a", NULL), NULL);
    assert_status(BOWLINE_OK, bowline_acquire(&shared, leading, "y", &o, NULL), NULL);
    assert_status(BOWLINE_USAGE, bowline_announce(shared, "a", NULL), NULL);
    assert_status(BOWLINE_OK, bowline_release(shared, NULL), NULL);
    bowline_operation *first; /* it joins the hold in a group, whose members hand the lock over */
    o         = (bowline_acquire_options)BOWLINE_ACQUIRE_INIT;
    o.wait_ms = BOWLINE_FOREVER;
    assert_status(BOWLINE_OK, bowline_acquire_start(&first, leading, "x", &o, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_release(hold, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, first, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_announce(hold, "a", NULL), NULL);
    assert_status(BOWLINE_OK, bowline_release(hold, NULL), NULL);
    seen.seen = 0;
    must_see(start(), NULL, seen.fence);
    hold = must_lead("a");
    seen.size--;
    assert_status(BOWLINE_USAGE, bowline_observe(&seen, observing, "x", 0, NULL), NULL);
    seen.size++;
    assert_status(BOWLINE_USAGE, bowline_observe(&seen, observing, "", 0, NULL), NULL);
    assert_status(BOWLINE_USAGE, bowline_observe(&seen, observing, "x", -7, NULL), NULL);
    bowline_operation *op = start();
    assert_status(BOWLINE_USAGE, bowline_finish(op, NULL), NULL);
    bowline_cancel(op);
    assert_status(BOWLINE_CANCELLED, bowline_observe_finish(&seen, op, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_release(hold, NULL), NULL);
}
