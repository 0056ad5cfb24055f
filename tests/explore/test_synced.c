/*
 * test_synced.c -- a lock that counts only when replicas have it, in the lab: what breaks without
 * that, what the model of the replicas says to whom, and that each planted mistake is what is seen.
 *
 * The scenarios themselves are run by `bowline-lab run`.
 */
#include "tests/explore/scenarios.h"

#include "lab/search/explore.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"
#include "protocol/store/redis.h"

#include <string.h>

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

/* The same faults, and nobody asks the replicas: the second holder comes as soon as he can. */
TEST(without_replicas_there_are_two_holders)
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

TEST(without_the_mistake_nothing_breaks)
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

/* A has its yes, and the question to the replicas is out. */
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

TEST(replicas_have_it_when_they_were_waited_for)
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

/* ... nor has one that is asked over a connection which was not answered since. */
TEST(replicas_know_of_the_connection_alone)
{
    bwl_scenario s = scenario_called("synced-gives-way");
    bwl_world    w = asking(&s);

    w.servers[BWL_ONLY].informed = 0;
    perform(&w, BWL_TRANSITION_SERVE, 0);
    assert_int_equal(w.servers[BWL_ONLY].links[A].messages[0].answer, BWL_YES);
    assert_false(replica_has_it(&w));
}
