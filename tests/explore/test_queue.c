/*
 * test_queue.c -- the parts of the lab for a lock with a queue: the server's part, pushes, the
 * connections that carry them; and that each planted fault is the one that is detected.
 *
 * tests/conformance/test_model_queue.c compares the commands with a real server; `bowline-lab run`
 * runs the scenarios.
 */
#include "tests/explore/scenarios.h"

#include "lib/slow_build.h"
#include "lab/world/world.h"
#include "lab/search/explore.h"
#include "lab/model/queue.h"
#include "lab/mutant/mutant.h"
#include "lab/base/token_number.h"
#include "protocol/queue_lock.h"

#include <stdio.h>
#include <string.h>

enum { A = 0, B = 1, LEASE_MS = 30, STATES_MAX = 2000000 };

/* ---- the server ------------------------------------------------------------------------------ */

static bwl_queue_reply ask(bwl_model_redis *r, unsigned client, bwl_redis_command command)
{
    uint16_t             token = bwl_token_number(client, 1);
    bwl_model_queue_args q     = {
            .command   = command,
            .token     = token,
            .lease_ms  = LEASE_MS,
            .member    = { .token = token, .provisional_ttl_ms = LEASE_MS / 2, .push_channel = 1 },
            .dead_ms   = 3000,
            .serve_max = BWL_MODEL_SERVE_MAX,
    };

    return bwl_model_queue_reply(r, &q, 0);
}

static bwl_model_redis server_of_two(void)
{
    bwl_model_redis r;

    bwl_model_redis_start(&r, BWL_BEGINNING_WALL_MS);
    bwl_model_queue_subscribe(&r, A, 1);
    bwl_model_queue_subscribe(&r, B, 1);
    return r;
}

TEST(waiter_without_a_connection_is_skipped_unless_half_open)
{
    bwl_model_redis closed    = server_of_two();
    bwl_model_redis half_open = server_of_two();

    (void)ask(&closed, A, REDIS_QUEUE_JOIN);
    (void)ask(&closed, B, REDIS_QUEUE_JOIN);
    half_open = closed;
    bwl_model_redis_drop(&closed, B);
    bwl_model_redis_break(&half_open, B);
    assert_int_equal(ask(&closed, A, REDIS_QUEUE_RELEASE).grants.count, 0);
    assert_int_equal(bwl_model_owner(&closed), 0);
    assert_true(ask(&half_open, A, REDIS_QUEUE_RELEASE).grants.list[0].connection >=
                BWL_MODEL_CLIENTS);
    assert_int_equal(bwl_model_owner(&half_open), bwl_token_number(B, 1));
}

/* ---- the world ------------------------------------------------------------------------------- */

static void perform(bwl_world *w, bwl_transition_kind kind, unsigned client)
{
    bwl_world_perform(w, (bwl_transition){ .kind = (uint8_t)kind, .client = (uint8_t)client });
}

/* A has the lock, and B waits for it. */
static bwl_world world_of_two(const bwl_scenario *s)
{
    bwl_world w;

    bwl_world_start(&w, s);
    for (unsigned client = A; client <= B; client++) {
        perform(&w, BWL_TRANSITION_START, client);
        perform(&w, BWL_TRANSITION_SERVE, client);
        perform(&w, BWL_TRANSITION_DELIVER, client);
    }
    assert_true(bwl_hold_is_held(&w.clients[A].hold));
    assert_int_equal(w.clients[B].hold.state, BWL_HOLD_QUEUED);
    return w;
}

TEST(pushes_arrive_in_the_order_of_their_connection)
{
    bwl_scenario s = scenario_called("queue-loss");
    bwl_world    w = world_of_two(&s);

    perform(&w, BWL_TRANSITION_RELEASE, A);
    perform(&w, BWL_TRANSITION_SERVE, A);
    assert_int_equal(w.servers[BWL_ONLY].links[B].count, 1);
    assert_int_equal(w.servers[BWL_ONLY].links[B].messages[0].kind, BWL_MESSAGE_PUSH);
    perform(&w, BWL_TRANSITION_CANCEL, B);
    perform(&w, BWL_TRANSITION_SERVE, B);
    assert_int_equal(w.servers[BWL_ONLY].links[B].messages[0].kind, BWL_MESSAGE_PUSH);
    assert_int_equal(w.servers[BWL_ONLY].links[B].messages[1].kind, BWL_MESSAGE_ANSWER);
    assert_int_equal(bwl_model_owner(&w.servers[BWL_ONLY].redis), 0);
    perform(&w, BWL_TRANSITION_DELIVER, B); /* it is no longer its entry */
    assert_false(bwl_hold_is_held(&w.clients[B].hold));
}

TEST(push_is_lost_with_its_connection)
{
    bwl_scenario s = scenario_called("queue-loss");
    bwl_world    w = world_of_two(&s);

    perform(&w, BWL_TRANSITION_RELEASE, A);
    perform(&w, BWL_TRANSITION_SERVE, A);
    perform(&w, BWL_TRANSITION_BREAK, B);
    assert_int_equal(w.servers[BWL_ONLY].links[B].count, 1); /* the push about it */
    assert_int_equal(w.servers[BWL_ONLY].links[B].messages[0].kind, BWL_MESSAGE_CUT_OFF);
    perform(&w, BWL_TRANSITION_DELIVER, B);
    assert_int_equal(w.servers[BWL_ONLY].links[B].messages[0].command, REDIS_QUEUE_HEARTBEAT);
    assert_int_not_equal(w.servers[BWL_ONLY].redis.connections[B + BWL_MODEL_CLIENTS].push_channel,
                         0);
    perform(&w, BWL_TRANSITION_SERVE, B); /* a new connection first ends the old one */
    assert_int_equal(w.servers[BWL_ONLY].redis.connections[B + BWL_MODEL_CLIENTS].push_channel, 0);
    assert_int_equal(w.servers[BWL_ONLY].redis.connections[B].push_channel, 2);
    perform(&w, BWL_TRANSITION_DELIVER, B);
    assert_false(bwl_hold_is_held(&w.clients[B].hold)); /* there is no result before the EXTEND */
    perform(&w, BWL_TRANSITION_SERVE, B);
    perform(&w, BWL_TRANSITION_DELIVER, B);
    assert_true(bwl_hold_is_held(&w.clients[B].hold));
}

/* ---- distinguishing worlds ------------------------------------------------------------------- */

TEST(counts_matter_by_their_order_only)
{
    bwl_scenario s    = scenario_called("queue-calm");
    bwl_world    w    = world_of_two(&s);
    uint64_t     same = bwl_world_fingerprint(&w, false);

    w.servers[BWL_ONLY].redis.data.keys[BWL_MODEL_COUNT].value += 1000;
    assert_int_equal(bwl_world_fingerprint(&w, false), same);
    w.servers[BWL_ONLY].redis.data.keys[BWL_MODEL_COUNT].value = 1;
    assert_int_not_equal(bwl_world_fingerprint(&w, false), same);
}

TEST(queue_distinguishes_worlds)
{
    bwl_scenario s = scenario_called("queue-calm");
    bwl_world    w = world_of_two(&s);
    bwl_world    v = w;

    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++)
        if (v.servers[BWL_ONLY].redis.data.items[i].is_there &&
            v.servers[BWL_ONLY].redis.data.items[i].key == BWL_MODEL_QUEUE)
            v.servers[BWL_ONLY].redis.data.items[i].member ^= UINT32_C(1)
                                                              << 16; /* over another connection */
    assert_int_not_equal(bwl_world_fingerprint(&w, false), bwl_world_fingerprint(&v, false));
    v                            = w;
    v.waiting.waiters[B].was_cut = true;
    assert_int_not_equal(bwl_world_fingerprint(&w, false), bwl_world_fingerprint(&v, false));
}

/* ---- the planted fault is detected ----------------------------------------------------------- */

TEST(invariants_hold_without_the_fault)
{
    uint32_t states_max = is_slow_build() ? 20000 : STATES_MAX;
    unsigned planted    = 0;

    for (size_t i = 0; i < bwl_scenarios_count(); i++) {
        bwl_scenario s = bwl_scenario_at(i);
        bwl_finding  found;

        if (strncmp(s.name, "queue-planted", 13) != 0 && strncmp(s.name, "queue-mutant", 12) != 0)
            continue;
        planted++;
        s.mutations = 0;
        s.protocol  = &bwl_queue;
        found       = bwl_explore(&s, &(bwl_search){ .states_max = states_max });
        if (found.verdict != BWL_EVERY_STATE)
            (void)printf("# %s\n", s.name);
        if (found.verdict != BWL_BUDGET_REACHED || !is_slow_build())
            assert_int_equal(found.verdict, BWL_EVERY_STATE);
        bwl_finding_free(&found);
    }
    assert_true(planted >= 12);
}

/* ---- walks ----------------------------------------------------------------------------------- */

/* Random walks find these in the worlds with all faults. */
typedef struct planted {
    const char         *world;
    const bwl_protocol *protocol; /* NULL: unchanged */
    unsigned            mutations;
    unsigned            invariant;
} planted;

static const planted all_planted[] = {
    { "queue-everything", &bwl_mutant_from_push, 0, BWL_INVARIANT_HONEST },
    { "queue-everything", &bwl_mutant_timer_joins, 0, BWL_INVARIANT_TAKEN_BACK },
    { "queue-everything", &bwl_mutant_joins_again, 0, BWL_INVARIANT_TAKEN_BACK },
    { "queue-everything", &bwl_mutant_new_ticket, 0, BWL_INVARIANT_FIRST_COME },
    { "queue-everything", &bwl_mutant_just_loses, 0, BWL_INVARIANT_TAKEN_BACK },
    { "queue-everything", &bwl_mutant_just_yields, 0, BWL_INVARIANT_TAKEN_BACK },
    { "queue-everything", NULL, BWL_MUTATION_BARGES, BWL_INVARIANT_FIRST_COME },
    { "queue-everything", NULL, BWL_MUTATION_MARKS, BWL_INVARIANT_FOREIGN },
    { "queue-everything", NULL, BWL_MUTATION_TELLS_FIRST, BWL_INVARIANT_HONEST },
    { "queue-everything", NULL, BWL_MUTATION_RESENDS, BWL_INVARIANT_TAKEN_BACK },
    { "queue-everything-long", &bwl_mutant_from_push, 0, BWL_INVARIANT_ONE_HOLDER },
    { "queue-everything-late", NULL, BWL_MUTATION_ONE_CHANNEL, BWL_INVARIANT_TAKEN_BACK },
    { "queue-everything-forgets", NULL, BWL_MUTATION_FENCE_BARE, BWL_INVARIANT_FENCE },
    { "queue-everything-forgets", NULL, BWL_MUTATION_SAME_SERVER, BWL_INVARIANT_HEEDS_NO },
    { "queue-everything-back", &bwl_mutant_just_yields, 0, BWL_INVARIANT_TAKEN_BACK },
    { "queue-everything-on", &bwl_mutant_just_yields, 0, BWL_INVARIANT_TAKEN_BACK },
    { "queue-everything-restarts", NULL, BWL_MUTATION_GIVES_UP_AT_ONCE, BWL_INVARIANT_HONEST },
};

TEST(random_walks_find_planted_faults)
{
    enum { WALKS_MAX = 5000 };

    for (size_t i = 0; i < sizeof all_planted / sizeof all_planted[0]; i++) {
        const planted *p = &all_planted[i];
        bwl_scenario   s = scenario_called(p->world);
        bwl_finding    found;

        s.protocol   = p->protocol != NULL ? p->protocol : s.protocol;
        s.mutations  = p->mutations;
        s.invariants = p->invariant;
        found        = bwl_random_walk(&s, &(bwl_search){ .seed = 1, .runs = WALKS_MAX });
        (void)printf("# %s, %zu: seed %lu\n", p->world, i, (unsigned long)found.seed);
        assert_int_equal(found.verdict, BWL_BROKEN);
        assert_int_equal(found.broken, p->invariant);
        bwl_finding_free(&found);
    }
}
