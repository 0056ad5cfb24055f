/*
 * test_clocks.c -- clients with their own clocks and leases, and servers that report a restart:
 * which of these distinguish states, and how they affect a hold.
 */
#include "tests/explore/scenarios.h"

#include "lab/world/world.h"
#include "lab/base/dice.h"
#include "lab/search/explore.h"

/* The cut-off part is not lost: a thousand short spans are one long one. */
TEST(clock_loses_no_fraction)
{
    uint64_t seed = 3;

    for (uint16_t pace = 1; pace < 250; pace++) {
        bwl_lab_clock c     = { .now = BWL_BEGINNING_MS, .pace = pace };
        bwl_ms        truly = 0;
        for (unsigned i = 0; i < 1000; i++) {
            bwl_ms by = (bwl_ms)(bwl_dice_draw(&seed) % 40);
            bwl_client_clock_passes(&c, by);
            truly += by;
        }
        assert_int_equal(c.now, BWL_BEGINNING_MS + truly * pace / 100);
    }
}

/* Neither a millisecond too early nor one too late. */
TEST(clock_reaches_a_time_at_the_predicted_step)
{
    uint64_t seed = 4;

    for (unsigned i = 0; i < 100000; i++) {
        bwl_lab_clock c      = { .now    = BWL_BEGINNING_MS,
                                 .pace   = (uint16_t)(1 + bwl_dice_draw(&seed) % 300),
                                 .beyond = (uint8_t)(bwl_dice_draw(&seed) % 100) };
        bwl_ms        at     = c.now + 1 + (bwl_ms)(bwl_dice_draw(&seed) % 100);
        bwl_ms        in     = bwl_client_clock_reads_in(&c, at);
        bwl_lab_clock before = c;

        assert_true(in > 0);
        bwl_client_clock_passes(&before, in - 1);
        assert_true(before.now < at);
        bwl_client_clock_passes(&c, in);
        assert_true(c.now >= at);
    }
}

TEST(clocks_and_leases_distinguish_worlds)
{
    bwl_scenario s = scenario_called("calm");
    bwl_scenario t = s;
    bwl_world    one;
    bwl_world    two;

    bwl_world_start(&one, &s);
    two = one;
    assert_true(bwl_world_fingerprint(&one, false) == bwl_world_fingerprint(&two, false));
    two.clients[0].clock.pace = 94;
    assert_true(bwl_world_fingerprint(&one, false) != bwl_world_fingerprint(&two, false));
    one.clients[1].clock.pace = 94; /* the owner of the clock does not matter */
    assert_true(bwl_world_fingerprint(&one, false) == bwl_world_fingerprint(&two, false));
    two.clients[0].clock.beyond = 6;
    assert_true(bwl_world_fingerprint(&one, false) != bwl_world_fingerprint(&two, false));
    t.lease_of_ms[1] = 60;
    bwl_world_start(&one, &s);
    bwl_world_start(&two, &t);
    assert_true(bwl_world_fingerprint(&one, false) != bwl_world_fingerprint(&two, false));
}

TEST(unreported_restarts_distinguish_worlds)
{
    bwl_scenario s = scenario_called("restart-reported");
    bwl_world    one;
    bwl_world    two;

    bwl_world_start(&one, &s);
    bwl_world_perform(&one, (bwl_transition){ .kind = BWL_TRANSITION_START });
    two                           = one;
    two.clients[0].book.is_of_old = true;
    assert_true(bwl_world_fingerprint(&one, false) != bwl_world_fingerprint(&two, false));
    two                       = one;
    two.clients[0].is_unaware = true;
    assert_true(bwl_world_fingerprint(&one, false) != bwl_world_fingerprint(&two, false));
}

/* No request goes to the new server before the client knows that it is new.  Then the hold is LOST;
 * the caller closes it, and a key that may exist is deleted. */
TEST(hold_is_LOST_when_the_restart_is_known)
{
    bwl_scenario    s       = scenario_called("restart-reported");
    bwl_transition  first[] = { { .kind = BWL_TRANSITION_START },
                                { .kind = BWL_TRANSITION_SERVE },
                                { .kind = BWL_TRANSITION_DELIVER },
                                { .kind = BWL_TRANSITION_RESTART } };
    bwl_transitions transitions;
    bwl_world       w;
    unsigned        learns = 0;

    bwl_world_start(&w, &s);
    for (unsigned i = 0; i < sizeof first / sizeof first[0]; i++)
        bwl_world_perform(&w, first[i]);
    assert_true(bwl_world_believes(&w, 0) > 0);
    bwl_world_transitions(&w, &transitions);
    for (unsigned i = 0; i < transitions.count; i++) {
        assert_true(transitions.list[i].client != 0 ||
                    transitions.list[i].kind != BWL_TRANSITION_SERVE);
        learns += transitions.list[i].kind == BWL_TRANSITION_LEARN;
    }
    assert_int_equal(learns, 1);
    bwl_world_perform(&w, (bwl_transition){ .kind = BWL_TRANSITION_LEARN });
    assert_int_equal(w.broken, 0);
    assert_int_equal(bwl_world_believes(&w, 0), 0);
    assert_true(w.clients[0].caller.has_final_result);
    assert_int_equal(w.servers[BWL_ONLY].links[0].count, 0);
    bwl_world_perform(&w, (bwl_transition){ .kind = BWL_TRANSITION_RELEASE });
    assert_int_equal(w.broken, 0);
    assert_int_equal(w.servers[BWL_ONLY].links[0].count, 1);
    assert_int_equal(w.servers[BWL_ONLY].links[0].messages[0].command, REDIS_DELETE_IF_MINE);
}
