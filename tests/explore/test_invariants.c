/*
 * test_invariants.c -- each invariant detects a fault that no other invariant detects, and `token`
 * keeps all of them with three clients.
 *
 * Not here: NEVER NEARER, IN TIME and CLEAN END check faults of hold.c only (see
 * tests/mutants.txt); ONE HOLDER and ONE WORKER cannot be broken with one server unless it grants
 * less time than a client believes, which HONEST detects earlier; KEEPS, NOT STUCK: a protocol that
 * breaks them leaves a key, or a call that never ends.
 */
#include "tests/explore/scenarios.h"

#include "lib/slow_build.h"
#include "lab/world/world.h"
#include "lab/search/explore.h"

#include <stdio.h>

enum {
    STATES_MAX = 8000000,
    /* A server that loses data, or whose keys others overwrite, allows no hold. */
    OF_SERVER = BWL_INVARIANT_ONE_HOLDER | BWL_INVARIANT_ONE_WORKER | BWL_INVARIANT_HONEST |
                BWL_INVARIANT_KEEPS,
};

typedef struct finder {
    unsigned    invariant;
    const char *scenario; /* with the fault that only this invariant detects */
    unsigned    unkept;   /* invariants that do not hold in that world, with or without the fault */
} finder;

static const finder finders[] = {
    { BWL_INVARIANT_NO_OVERLAP, "limit-pause", 0 },
    { BWL_INVARIANT_OWN_KEY, "planted-extend-blind", 0 },
    { BWL_INVARIANT_CREATES, "planted-extend-creates", 0 },
    { BWL_INVARIANT_HAS_END, "planted-set-lasts", 0 },
    { BWL_INVARIANT_HONEST, "mutant-from-answer-honest", 0 },
    { BWL_INVARIANT_REPORTED, "mutant-gone-is-done", 0 },
    { BWL_INVARIANT_HEEDS_NO, "mutant-deaf-to-loss", OF_SERVER },
    { BWL_INVARIANT_TELLS_LOSS, "planted-old-time", 0 },
    { BWL_INVARIANT_WAKES, "planted-late-timer", BWL_INVARIANT_ONE_WORKER },
    { BWL_INVARIANT_MAX_HOLD, "planted-no-max-hold", 0 },
    { BWL_INVARIANT_TAKEN_BACK, "mutant-down-is-no", 0 },
    { BWL_INVARIANT_PAUSES, "mutant-hammers", 0 },
    { BWL_INVARIANT_LIVE, "limit-foreign", OF_SERVER },
    { BWL_INVARIANT_ENDS, "mutant-asks-on", 0 },
    { BWL_INVARIANT_LOST_WAKE_UP, "mutant-sleeps", 0 },
    { BWL_INVARIANT_FIRST_COME, "limit-first-come", 0 },
    { BWL_INVARIANT_FENCE, "planted-fence-forgets", OF_SERVER },
    { BWL_INVARIANT_FOREIGN, "planted-delete-of-foreign", OF_SERVER | BWL_INVARIANT_REPORTED },
};

TEST(each_invariant_detects_a_fault_of_its_own)
{
    const bwl_search search = { .states_max = STATES_MAX };

    for (size_t i = 0; i < sizeof finders / sizeof finders[0]; i++) {
        const finder *f      = &finders[i];
        bwl_scenario  s      = scenario_called(f->scenario);
        unsigned      usual  = s.rounds == BWL_ANY
                                   ? BWL_INVARIANTS_USUAL
                                   : BWL_INVARIANTS_USUAL & ~(unsigned)BWL_INVARIANTS_BACKWARDS;
        unsigned      others = usual & ~f->invariant & ~f->unkept;
        bwl_finding   found;

        s.invariants = f->invariant;
        found        = bwl_explore(&s, &search);
        assert_int_equal(found.verdict, BWL_BROKEN);
        assert_int_equal(found.broken, f->invariant);
        bwl_finding_free(&found);
        s.invariants = others;
        found        = bwl_explore(&s, &search);
        if (found.verdict != BWL_EVERY_STATE)
            (void)printf("# %s: %s as well\n", f->scenario,
                         found.broken != 0 ? bwl_invariant_label(found.broken)
                                           : "not all was visited");
        assert_int_equal(found.verdict, BWL_EVERY_STATE);
        bwl_finding_free(&found);
    }
}

/* The same world without the planted fault keeps the invariant: so the fault is detected. */
TEST(invariants_hold_without_the_fault)
{
    static const unsigned not_planted =
        BWL_INVARIANT_NO_OVERLAP | BWL_INVARIANT_LIVE | BWL_INVARIANT_FIRST_COME;

    for (size_t i = 0; i < sizeof finders / sizeof finders[0]; i++) {
        bwl_scenario s = scenario_called(finders[i].scenario);
        bwl_finding  found;

        if ((finders[i].invariant & not_planted) != 0)
            continue; /* no fault is planted there: the budget breaks it */
        s.invariants = finders[i].invariant;
        s.mutations  = 0;
        if (!s.server.fences)
            s.protocol = scenario_called("calm").protocol;
        found = bwl_explore(&s, &(bwl_search){ .states_max = STATES_MAX });
        assert_int_equal(found.verdict, BWL_EVERY_STATE);
        bwl_finding_free(&found);
    }
}

/* State that only one invariant reads distinguishes worlds with that invariant, and no others. */
TEST(state_of_an_invariant_distinguishes_worlds)
{
    bwl_scenario   s   = scenario_called("limit-first-come");
    bwl_scenario   t   = scenario_called("fenced");
    bwl_transition ask = { .kind = BWL_TRANSITION_START };
    bwl_world      one;
    bwl_world      two;

    bwl_world_start(&one, &s);
    bwl_world_perform(&one, ask);
    ask.client = 1;
    bwl_world_perform(&one, ask);
    bwl_world_perform(&one, (bwl_transition){ .kind = BWL_TRANSITION_SERVE });
    one.clients[0].book.came = 1;
    one.clients[1].book.came = 2;
    two                      = one;
    two.clients[0].book.came = 4;
    two.clients[1].book.came = 3;
    assert_true(bwl_world_fingerprint(&one, false) != bwl_world_fingerprint(&two, false));
    s.invariants = BWL_INVARIANTS_USUAL; /* of both worlds: they point to the same scenario */
    assert_true(bwl_world_fingerprint(&one, false) == bwl_world_fingerprint(&two, false));

    bwl_world_start(&one, &t);
    one.resource = (bwl_resource){ .fence = 3, .grant_number = 2 };
    one.fences   = 3;
    two          = one;
    two.fences   = 1; /* so the next fence is lower than the last one that was used */
    assert_true(bwl_world_fingerprint(&one, false) != bwl_world_fingerprint(&two, false));
    one.left[BWL_WRITE] = two.left[BWL_WRITE] = 0;
    assert_true(bwl_world_fingerprint(&one, false) == bwl_world_fingerprint(&two, false));
}

/* Completely, all invariants that a lease can keep.  `make explore` does it with every fault. */
TEST(token_with_three_clients)
{
    static const char *const names[] = { "three-loss", "three" };

    for (unsigned i = 0; i < (is_slow_build() ? 1 : sizeof names / sizeof names[0]); i++) {
        bwl_scenario s     = scenario_called(names[i]);
        bwl_finding  found = bwl_explore(
             &s, &(bwl_search){ .states_max = STATES_MAX, .memory_max = (size_t)256 << 20 });

        assert_int_equal(s.clients, 3);
        assert_int_equal(s.invariants, BWL_INVARIANTS_USUAL & ~(unsigned)BWL_INVARIANTS_BACKWARDS);
        assert_int_equal(found.verdict, BWL_EVERY_STATE);
        bwl_finding_free(&found);
    }
}
