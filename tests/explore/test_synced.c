/*
 * test_synced.c -- a lock that counts only when replicas have it, in the lab: what breaks without
 * that condition, the model of the replicas, and the planted faults.
 *
 * `bowline-lab run` runs the scenarios.
 */
#include "tests/explore/scenarios.h"

#include "lab/search/explore.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"
#include "protocol/store/redis.h"

enum { A = 0, STATES_MAX = 1000000 };

static void expect_broken(const bwl_scenario *s, unsigned invariant, unsigned steps)
{
    bwl_finding found = bwl_explore(s, &(bwl_search){ .states_max = STATES_MAX });

    assert_int_equal(found.verdict, BWL_BROKEN);
    assert_int_equal(found.broken, invariant);
    assert_int_equal(found.path_count, steps);
    bwl_finding_free(&found);
}

static void expect_kept(const bwl_scenario *s)
{
    bwl_finding found = bwl_explore(s, &(bwl_search){ .states_max = STATES_MAX });

    assert_int_not_equal(found.verdict, BWL_BROKEN);
    bwl_finding_free(&found);
}

/* The same faults without WAIT: a second holder exists as soon as possible. */
TEST(two_holders_exist_without_replicas)
{
    bwl_scenario token = scenario_called("synced-gives-way");
    bwl_scenario queue = scenario_called("synced-queue-gives-way");

    token.protocol         = &bwl_token;
    token.options.replicas = 0;
    token.invariants       = BWL_INVARIANT_ONE_HOLDER;
    expect_broken(&token, BWL_INVARIANT_ONE_HOLDER, 7);
    queue.protocol         = &bwl_queue;
    queue.options.replicas = 0;
    queue.invariants       = BWL_INVARIANT_ONE_HOLDER;
    expect_broken(&queue, BWL_INVARIANT_ONE_HOLDER, 7);
}

TEST(invariants_hold_without_the_fault)
{
    static const char *const names[] = { "synced-planted-deaf", "synced-planted-alone",
                                         "synced-planted-early" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        bwl_scenario s = scenario_called(names[i]);
        s.protocol     = s.protocol->uses_push ? &bwl_synced_queue : &bwl_synced_token;
        expect_kept(&s);
    }
}

/* ---- the replicas ---------------------------------------------------------------------------- */

static void perform(bwl_world *w, bwl_transition_kind kind, unsigned which)
{
    bwl_world_perform(
        w, (bwl_transition){ .kind = (uint8_t)kind, .client = A, .which = (uint8_t)which });
}

/* A has its YES, and its WAIT is in flight. */
static bwl_world asking(const bwl_scenario *s)
{
    bwl_world w;

    bwl_world_start(&w, s);
    perform(&w, BWL_TRANSITION_START, 0);
    perform(&w, BWL_TRANSITION_SERVE, 0);
    perform(&w, BWL_TRANSITION_DELIVER, 0);
    assert_int_equal(w.servers[BWL_ONLY].links[A].count, 1);
    assert_int_equal(w.servers[BWL_ONLY].links[A].messages[0].command, REDIS_REPLICATED);
    assert_false(w.clients[A].caller.is_working);
    return w;
}

static bool replica_has_it(const bwl_world *w)
{
    return w->previous.keys[BWL_MODEL_LOCK].kind != BWL_KIND_NONE;
}

TEST(replicas_have_the_lock_after_WAIT)
{
    bwl_scenario s = scenario_called("synced-gives-way");
    bwl_world    w = asking(&s);

    assert_false(replica_has_it(&w));
    perform(&w, BWL_TRANSITION_SERVE, 0);
    assert_true(replica_has_it(&w));
    perform(&w, BWL_TRANSITION_DELIVER, 0);
    assert_true(w.clients[A].caller.is_working);
}

TEST(too_few_replicas_have_nothing)
{
    bwl_scenario s = scenario_called("synced-gives-way");
    bwl_world    w = asking(&s);

    perform(&w, BWL_TRANSITION_SERVE, BWL_RETRYABLE);
    assert_int_equal(w.servers[BWL_ONLY].links[A].messages[0].answer, BWL_NO);
    assert_false(replica_has_it(&w));
    perform(&w, BWL_TRANSITION_DELIVER, 0);
    assert_false(w.clients[A].caller.is_working);
    assert_int_equal(w.servers[BWL_ONLY].links[A].messages[0].command, REDIS_DELETE_IF_MINE);
}

/* ... nor for a WAIT over a connection without a reply since then. */
TEST(WAIT_counts_the_writes_of_its_connection)
{
    bwl_scenario s = scenario_called("synced-gives-way");
    bwl_world    w = asking(&s);

    w.servers[BWL_ONLY].informed = 0;
    perform(&w, BWL_TRANSITION_SERVE, 0);
    assert_int_equal(w.servers[BWL_ONLY].links[A].messages[0].answer, BWL_YES);
    assert_false(replica_has_it(&w));
}
