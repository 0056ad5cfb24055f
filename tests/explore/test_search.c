/*
 * test_search.c -- how a search stores the states that it has seen: all of them, within its memory
 * limit, and with an honest report if the limit was too low.
 */
#include "tests/explore/scenarios.h"

#include "lab/base/dice.h"
#include "lab/search/explore.h"
#include "lab/search/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, STATES_MAX = 3000000 };

/* ---- memory ---------------------------------------------------------------------------------- */

TEST(memory_is_counted_and_refused_beyond_the_limit)
{
    bwl_memory memory = { .max = 3 * 4096 };
    char      *four   = bwl_memory_take(&memory, 4 * 4096);
    char      *two    = bwl_memory_take(&memory, 2 * 4096);
    char      *one    = bwl_memory_take(&memory, 1);

    assert_null(four);
    assert_non_null(two);
    assert_non_null(one);
    assert_int_equal(two[2 * 4096 - 1], 0);
    assert_null(bwl_memory_take(&memory, 1));
    assert_int_equal(memory.used, 3 * 4096);
    bwl_memory_give_back(&memory, two, 2 * 4096);
    assert_int_equal(memory.used, 4096);
    assert_int_equal(memory.most, 3 * 4096);
    assert_null(bwl_memory_take(&memory, SIZE_MAX - 8192)); /* must not wrap */
    bwl_memory_give_back(&memory, one, 1);
    bwl_memory_give_back(&memory, NULL, 4096);
    assert_int_equal(memory.used, 0);
}

/* ---- seen states ----------------------------------------------------------------------------- */

static bwl_visit see(bwl_seen *seen, uint64_t fingerprint, uint32_t *ret_number)
{
    return bwl_seen_add(seen, &(bwl_seen_world){ .fingerprint = fingerprint }, ret_number);
}

/* Fingerprints that differ in the lower half only, or in the upper half only. */
TEST(seen_compares_both_halves_of_a_fingerprint)
{
    static const uint64_t prints[] = { UINT64_C(0x0000000100000001), UINT64_C(0x0000000200000001),
                                       UINT64_C(0x0000000100000002), UINT64_C(0x0000000100002001) };
    bwl_memory            memory   = { 0 };
    bwl_seen              seen;
    uint32_t              number;

    bwl_seen_start(&seen, &memory);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(see(&seen, prints[i], &number), BWL_VISIT_NEW);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(see(&seen, prints[i], &number), BWL_VISIT_BEFORE);
        assert_int_equal(number, i);
    }
    bwl_seen_free(&seen);
}

TEST(seen_grows_and_keeps_all_states)
{
    enum { COUNT = 300000 };
    bwl_memory memory = { 0 };
    bwl_seen   seen;
    uint32_t   number;
    uint64_t   seed = 5;

    bwl_seen_start(&seen, &memory);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(see(&seen, bwl_dice_draw(&seed), &number), BWL_VISIT_NEW);
    seed = 5;
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(see(&seen, bwl_dice_draw(&seed), &number), BWL_VISIT_BEFORE);
        assert_int_equal(number, i);
    }
    bwl_seen_free(&seen);
    assert_int_equal(memory.used, 0);
}

TEST(seen_that_is_full_keeps_its_states)
{
    bwl_memory memory = { .max = 20 * MIB };
    bwl_seen   seen;
    uint32_t   number;
    uint64_t   seed  = 7;
    bool       is_in = true;

    bwl_seen_start(&seen, &memory);
    while (is_in)
        is_in = see(&seen, bwl_dice_draw(&seed), &number) == BWL_VISIT_NEW;
    assert_true(seen.count > 20 * MIB / 32);
    assert_true(memory.most <= memory.max);
    seed = 7;
    for (uint32_t i = 0; i < seen.count; i++) {
        assert_int_equal(see(&seen, bwl_dice_draw(&seed), &number), BWL_VISIT_BEFORE);
        assert_int_equal(number, i);
    }
    bwl_seen_free(&seen);
}

/* ---- waiting states -------------------------------------------------------------------------- */

/* Walks at random and adds every world; then removes all of them. */
TEST(frontier_returns_the_added_worlds)
{
    enum { COUNT = 20000 };
    bwl_scenario        s      = scenario_called("everything");
    bwl_memory          memory = { 0 };
    bwl_world          *given  = calloc(COUNT, sizeof given[0]);
    uint64_t            seed   = 3;
    bwl_world           w;
    bwl_transitions     transitions = { 0 };
    static bwl_frontier f;

    assert_non_null(given);
    bwl_frontier_start(&f, &memory, &s);
    for (unsigned i = 0; i < COUNT; i++) {
        if (transitions.count == 0) {
            bwl_world_start(&w, &s);
            bwl_world_transitions(&w, &transitions);
        }
        bwl_world_perform(&w, transitions.list[bwl_dice_draw(&seed) % transitions.count]);
        bwl_world_transitions(&w, &transitions);
        memcpy(&given[i], &w, sizeof w);
        assert_true(bwl_frontier_put(&f, &w));
    }
    assert_int_equal(f.count, COUNT);
    assert_true(memory.used < COUNT * sizeof(bwl_world) / 4);
    for (unsigned i = 0; i < COUNT; i++) {
        bwl_frontier_take(&f, &w);
        for (unsigned part = 0; part < f.layout.count; part++)
            assert_memory_equal((uint8_t *)&given[i] + f.layout.parts[part].offset,
                                (uint8_t *)&w + f.layout.parts[part].offset,
                                f.layout.parts[part].size);
    }
    assert_int_equal(f.count, 0);
    bwl_frontier_free(&f);
    assert_int_equal(memory.used, 0);
    free(given);
}

/* ---- backward search ------------------------------------------------------------------------- */

static bwl_fate fate_of(bwl_live *live, uint32_t *ret_number)
{
    return bwl_live_find_dead(live, BWL_GOOD_LOCK, ret_number);
}

/* 0 -> 1 -> 2 gets the lock and returns to 0; 1 -> 3 -> 4 -> 3 never does. */
TEST(liveness_finds_the_state_without_a_way_back)
{
    bwl_memory memory = { 0 };
    bwl_live   live;
    uint32_t   dead;

    bwl_live_start(&live, &memory);
    assert_true(bwl_live_step(&live, 1, 0) && bwl_live_end(&live, 0));
    assert_true(bwl_live_step(&live, 2, 0) && bwl_live_step(&live, 3, 0) && bwl_live_end(&live, 0));
    assert_true(bwl_live_step(&live, 0, BWL_GOOD_LOCK) && bwl_live_end(&live, 0));
    assert_int_equal(fate_of(&live, &dead), BWL_FATE_GOOD);
    assert_true(bwl_live_step(&live, 4, 0) && bwl_live_end(&live, 0));
    assert_true(bwl_live_step(&live, 3, BWL_GOOD_QUIET) && bwl_live_end(&live, 0));
    assert_int_equal(fate_of(&live, &dead), BWL_FATE_DEAD);
    assert_int_equal(dead, 3);
    assert_int_equal(bwl_live_find_dead(&live, BWL_GOOD_QUIET, &dead), BWL_FATE_GOOD);
    bwl_live_free(&live);
    assert_int_equal(memory.used, 0);
}

/* A ring of a hundred thousand states, against the direction of the search. */
TEST(liveness_covers_a_long_ring)
{
    enum { COUNT = 100000 };
    bwl_memory memory = { 0 };
    bwl_live   live;
    uint32_t   dead;

    bwl_live_start(&live, &memory);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(bwl_live_step(&live, (i + 1) % COUNT, i == 50 ? BWL_GOOD_LOCK : 0));
        assert_true(bwl_live_end(&live, 0));
    }
    assert_int_equal(fate_of(&live, &dead), BWL_FATE_GOOD);
    assert_true(bwl_live_end(&live, 0)); /* one more state, without a successor */
    assert_int_equal(fate_of(&live, &dead), BWL_FATE_DEAD);
    assert_int_equal(dead, COUNT);
    assert_true(bwl_live_end(&live, BWL_GOOD_LOCK));
    bwl_live_free(&live);
}

/* ---- a search with a memory limit ------------------------------------------------------------ */

TEST(memory_limit_is_kept_and_reported)
{
    bwl_scenario s = scenario_called("loss");

    for (size_t mib = 1; mib <= 4; mib *= 2) {
        bwl_search  search = { .states_max = STATES_MAX, .memory_max = mib * MIB };
        bwl_finding found  = bwl_explore(&s, &search);

        assert_int_equal(found.verdict, BWL_BUDGET_REACHED);
        assert_int_equal(found.cut_short, BWL_CUT_MEMORY);
        assert_true(found.memory <= mib * MIB);
        bwl_finding_free(&found);
    }
}

/* In a child with this limit of the kernel: it does not even try to get more. */
TEST(memory_limit_of_the_kernel_is_kept_and_reported)
{
    enum { BOUND = 8 * MIB, BESIDE = 2 * MIB }; /* outside: the explorer's own two worlds, stacks */
    pid_t child = fork();
    int   status;

    assert_true(child >= 0);
    if (child == 0) {
        bwl_scenario  s      = scenario_called("for-ever-crash");
        bwl_search    search = { .states_max = STATES_MAX, .memory_max = BOUND };
        unsigned long pages  = 0;
        FILE         *statm  = fopen("/proc/self/statm", "r");
        struct rlimit limit;
        bwl_finding   found;

        if (statm == NULL || fscanf(statm, "%lu", &pages) != 1)
            _exit(2);
        (void)fclose(statm);
        limit.rlim_cur = limit.rlim_max = pages * 4096 + BOUND + BESIDE;
        if (setrlimit(RLIMIT_AS, &limit) != 0)
            _exit(3);
        search.memory_max = 0; /* without a limit of ours, that of the kernel ends it as well */
        found             = bwl_explore(&s, &search);
        if (found.cut_short != BWL_CUT_MEMORY || found.memory < BOUND / 2)
            _exit(4);
        search.memory_max = BOUND;
        found             = bwl_explore(&s, &search);
        _exit(found.cut_short == BWL_CUT_MEMORY && found.memory <= BOUND && found.memory > BOUND / 2
                  ? 0
                  : 5);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(memory_limit_that_is_not_reached_makes_no_difference)
{
    bwl_scenario s    = scenario_called("three-loss");
    bwl_search   free = { .states_max = STATES_MAX };
    bwl_finding  all  = bwl_explore(&s, &free);
    bwl_search   just = { .states_max = STATES_MAX, .memory_max = all.memory };
    bwl_finding  same = bwl_explore(&s, &just);

    assert_int_equal(all.verdict, BWL_EVERY_STATE);
    assert_int_equal(all.cut_short, 0);
    assert_int_equal(all.frontier, 0);
    assert_int_equal(same.verdict, BWL_EVERY_STATE);
    assert_int_equal(same.states, all.states);
    assert_int_equal(same.memory, all.memory);
}

TEST(limit_of_states_is_kept_and_reported)
{
    bwl_scenario s     = scenario_called("loss");
    bwl_search   small = { .states_max = 1000 };
    bwl_finding  found = bwl_explore(&s, &small);

    assert_int_equal(found.verdict, BWL_BUDGET_REACHED);
    assert_int_equal(found.cut_short, BWL_CUT_STATES);
    assert_in_range(found.states, 1000, 1100);
    assert_true(found.frontier > 0);
}

/* It grows from 1 to its largest size and down again: the estimate on the way up is right. */
TEST(estimate_has_the_right_size)
{
    static const char *const names[] = { "slow-twice", "cancel", "crash-and-loss",
                                         "to-the-millisecond" };

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        bwl_scenario s    = scenario_called(names[i]);
        bwl_finding  all  = bwl_explore(&s, &(bwl_search){ .states_max = STATES_MAX });
        bwl_search   part = { .states_max = (uint32_t)(all.states / 4) };
        bwl_finding  cut  = bwl_explore(&s, &part);

        assert_int_equal(cut.cut_short, BWL_CUT_STATES);
        assert_int_equal(all.memory_estimate, 0);
        assert_true(cut.memory_estimate > all.memory / 3);
        assert_true(cut.memory_estimate < all.memory * 3);
    }
}

/* The rows of Pascal's triangle grow and shrink alike: at the largest, half of it is known. */
TEST(estimate_includes_the_waiting_states)
{
    enum { ROW = 40, KNOWN = 20 };
    uint64_t row[ROW + 1] = { 1 };
    uint64_t states       = 0;
    size_t   estimate;

    for (unsigned k = 1; k <= ROW; k++)
        row[k] = row[k - 1] * (ROW - k + 1) / k;
    for (unsigned k = 0; k < KNOWN; k++)
        states += row[k];
    estimate = bwl_estimate_memory(row, KNOWN, states, 1000000);
    assert_in_range(estimate, 1500000, 3500000);
}

TEST(no_estimate_at_the_very_beginning)
{
    static const uint64_t ever_faster[16] = { 1,   2,    4,    9,     20,    50,  120, 300,
                                              900, 2800, 9000, 30000, 99999, 1e6, 1e7, 1e8 };

    assert_int_equal(bwl_estimate_memory(ever_faster, 5, 36, 4096), 0);
    assert_int_equal(bwl_estimate_memory(ever_faster, 15, 11000000, 4096), 0);
}

/* ---- progress -------------------------------------------------------------------------------- */

typedef struct reports {
    unsigned     times;
    bwl_progress last;
} reports;

static void count_report(const bwl_progress *progress, void *arg)
{
    reports *t = arg;

    assert_true(progress->states >= t->last.states);
    assert_true(progress->steps >= t->last.steps);
    assert_true(progress->depth >= t->last.depth);
    assert_true(progress->frontier > 0);
    assert_true(progress->memory > 0);
    assert_int_equal(progress->memory_max, 64 * MIB);
    t->last = *progress;
    t->times++;
}

TEST(progress_is_reported_during_a_search)
{
    bwl_scenario s      = scenario_called("loss");
    reports      t      = { 0 };
    bwl_search   search = { .states_max   = STATES_MAX,
                            .memory_max   = 64 * MIB,
                            .on_progress  = count_report,
                            .progress_arg = &t };
    bwl_finding  found  = bwl_explore(&s, &search);

    assert_true(t.times > 10);
    assert_true(t.last.states <= found.states);
    search.progress_every_s = 1e6;
    t                       = (reports){ 0 };
    found                   = bwl_explore(&s, &search);
    assert_int_equal(t.times, 0);
}
