/*
 * test_redlock.c -- a lock on a majority of several servers, in every state within a budget: no
 * violation if no server loses data; and each assumption, and each planted fault, is broken in the
 * shortest schedule.
 */
#include "tests/lib/suite.h"

#include "lib/slow_build.h"
#include "lab/report/picture.h"
#include "lab/scenario/table.h"
#include "lab/world/world.h"
#include "protocol/quorum.h"

#include <stdio.h>
#include <stdlib.h>

static const bwl_search search = { .states_max = 1500000 };

static void try_scenario(const bwl_scenario *s)
{
    bwl_finding found = bwl_explore(s, &search);

    (void)printf("# %s: %lu states, %u deep, %u steps, %.1f s\n", s->name,
                 (unsigned long)found.states, found.depth, found.path_count, found.seconds);
    if (found.broken != s->breaks && found.verdict == BWL_BROKEN)
        bwl_draw(stdout, "# ", s, &found);
    assert_int_equal(found.verdict, s->breaks == 0 ? BWL_EVERY_STATE : BWL_BROKEN);
    assert_int_equal(found.broken, s->breaks);
    if (s->breaks == 0)
        assert_true(found.locks > 0);
    if (s->steps != 0)
        assert_int_equal(found.path_count, s->steps);
    bwl_finding_free(&found);
}

static void try_all(bool broken)
{
    for (size_t i = 0; i < bwl_redlock_scenarios_count(); i++) {
        bwl_scenario s      = bwl_redlock_scenario_at(i);
        bool         is_big = s.clients > 2 || s.servers > 3 || s.budget[BWL_STOP] > 0 ||
                      s.budget[BWL_DENIAL] > 1 || s.budget[BWL_SLOW] > 1;
        if (s.is_vast)
            (void)printf("# %s: left to `make explore`\n", s.name);
        else if ((s.breaks != 0) == broken && !(is_big && is_slow_build()))
            try_scenario(&s);
    }
}

TEST(invariants_hold_without_lost_data)
{
    try_all(false);
}

TEST(broken_assumptions_and_planted_faults_are_detected)
{
    try_all(true);
}

/* ---- symmetry -------------------------------------------------------------------------------- */

/* A world with other names for the clients and the servers. */
static bwl_world renamed(const bwl_world *w)
{
    bwl_world other = *w;

    for (unsigned k = 0; k < 3; k++)
        other.servers[(k + 1) % 3] = w->servers[k];
    for (unsigned i = 0; i < 2; i++) {
        bwl_redlock_state *to = (bwl_redlock_state *)(void *)other.clients[i].hold.memory;
        bwl_redlock_state  from;
        memcpy(&from, w->clients[i].hold.memory, sizeof from);
        for (unsigned k = 0; k < 3; k++) {
            to->votes[(k + 1) % 3]   = from.votes[k];
            to->deleted[(k + 1) % 3] = from.deleted[k];
        }
    }
    return other;
}

/* Servers are interchangeable: worlds that differ only by their names count as one. */
TEST(fingerprint_does_not_depend_on_server_names)
{
    enum { STEPS = 12 };
    bwl_scenario    s        = bwl_redlock_scenario_at(0);
    unsigned        differed = 0;
    bwl_transitions transitions;
    bwl_world       w;
    bwl_world       other;

    bwl_world_start(&w, &s);
    for (unsigned i = 0; i < STEPS; i++) {
        bwl_world_transitions(&w, &transitions);
        bwl_world_perform(&w, transitions.list[i % transitions.count]);
        other = renamed(&w);
        assert_int_equal(bwl_world_fingerprint(&w, false), bwl_world_fingerprint(&other, false));
        differed += bwl_world_fingerprint(&w, true) != bwl_world_fingerprint(&other, true);
    }
    assert_true(differed > 0);
}

/* ---- the page -------------------------------------------------------------------------------- */

/* Freed by the caller. */
static char *drawing_of(const bwl_scenario *s)
{
    bwl_finding found = bwl_explore(s, &search);
    char       *text  = NULL;
    size_t      size  = 0;
    FILE       *out   = open_memstream(&text, &size);

    assert_non_null(out);
    bwl_draw(out, "", s, &found);
    assert_int_equal(fclose(out), 0);
    bwl_finding_free(&found);
    return text;
}

/* The drawing of docs/explanation/redlock.md is found here: at its end two clients hold it. */
TEST(docs_page_has_the_schedules_that_are_found)
{
    static char page[32768];
    const char *source = getenv("BOWLINE_SOURCE");
    char        path[400];

    (void)snprintf(path, sizeof path, "%s/docs/explanation/redlock.md",
                   source != NULL ? source : ".");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    for (size_t i = 0; i < bwl_redlock_scenarios_count(); i++) {
        bwl_scenario s = bwl_redlock_scenario_at(i);
        if (s.breaks == 0 || s.protocol != &bwl_redlock)
            continue;
        char *drawn = drawing_of(&s);
        assert_non_null(strstr(drawn, "B HOLDS"));
        if (strstr(page, drawn) == NULL)
            fail_msg("docs/explanation/redlock.md does not have the schedule of %s:\n%s", s.name,
                     drawn);
        free(drawn);
    }
}
