/*
 * test_redlock.c -- a lock on most of several servers, in every world that can come about within a
 * budget: clean where nothing is forgotten, and each assumption, and each planted fault, found
 * broken in the shortest schedule that does it.
 */
#include "lib/slow_build.h"
#include "lab/report/many_tell.h"
#include "lab/scenario/redlock.h"
#include "lab/search/many_explore.h"
#include "protocol/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STATES_MAX = 1000000 };

static void print_line(const char *line, void *arg)
{
    (void)arg;
    (void)printf("# %s\n", line);
}

static void try_scenario(const bwl_many_scenario *s)
{
    bwl_many_finding found = bwl_many_explore(s, STATES_MAX);

    (void)printf("# %s: %lu states, %u deep, %u steps, %.1f s\n", s->name,
                 (unsigned long)found.states, found.depth, found.path_count, found.seconds);
    if (found.broken != s->breaks) {
        (void)printf("# %s: %s\n", s->name, bwl_many_law_sentence(found.broken));
        bwl_many_tell(s, found.path, found.path_count, print_line, NULL);
    }
    assert_false(found.is_cut);
    assert_int_equal(found.broken, s->breaks);
    if (s->breaks == 0)
        assert_true(found.locks > 0);
    if (s->steps != 0)
        assert_int_equal(found.path_count, s->steps);
    bwl_many_finding_free(&found);
}

static void try_all(bool broken)
{
    for (size_t i = 0; i < bwl_many_scenarios_count(); i++) {
        bwl_many_scenario s      = bwl_many_scenario_at(i);
        bool              is_big = s.clients > 2 || s.servers > 3 || s.budget[BWL_MANY_STOP] > 0 ||
                      s.budget[BWL_MANY_DENIAL] > 1;
        if (s.is_vast)
            (void)printf("# %s: left to `make explore`\n", s.name);
        else if ((s.breaks != 0) == broken && !(is_big && is_slow_build()))
            try_scenario(&s);
    }
}

static void test_clean_where_nothing_is_forgotten(void **state)
{
    (void)state;
    try_all(false);
}

static void test_every_assumption_and_every_planted_fault_is_found(void **state)
{
    (void)state;
    try_all(true);
}

static void count_holders(const char *line, void *arg)
{
    if (strstr(line, "A holds B holds") != NULL)
        ++*(unsigned *)arg;
}

/* The schedule that is told is one that the explorer found: at its end two hold it. */
static void test_a_schedule_is_told_to_its_end(void **state)
{
    unsigned told = 0;

    (void)state;
    for (size_t i = 0; i < bwl_many_scenarios_count(); i++) {
        bwl_many_scenario s = bwl_many_scenario_at(i);
        if (strcmp(s.name, "restart") != 0)
            continue;
        bwl_many_finding found = bwl_many_explore(&s, STATES_MAX);
        bwl_many_tell(&s, found.path, found.path_count, count_holders, &told);
        bwl_many_finding_free(&found);
    }
    assert_int_equal(told, 1);
}

/* ---- the page -------------------------------------------------------------------------------- */

static char   page[32768];
static size_t missing;

static void find_in_page(const char *line, void *arg)
{
    char   trimmed[400];
    size_t size = strlen(line);

    (void)arg;
    while (size > 0 && line[size - 1] == ' ')
        size--;
    (void)snprintf(trimmed, sizeof trimmed, "\n%.*s\n", (int)size, line);
    if (strstr(page, trimmed) == NULL) {
        (void)printf("# docs/redlock.md does not say: %s\n", line);
        missing++;
    }
}

/* What docs/redlock.md draws is what is found here. */
static void test_the_page_has_the_schedules_that_are_found(void **state)
{
    const char *source = getenv("BOWLINE_SOURCE");
    char        path[400];

    (void)state;
    (void)snprintf(path, sizeof path, "%s/docs/redlock.md", source != NULL ? source : ".");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    for (size_t i = 0; i < bwl_many_scenarios_count(); i++) {
        bwl_many_scenario s = bwl_many_scenario_at(i);
        if (s.breaks == 0 || s.protocol != &bwl_redlock)
            continue;
        bwl_many_finding found = bwl_many_explore(&s, STATES_MAX);
        bwl_many_tell(&s, found.path, found.path_count, find_in_page, NULL);
        bwl_many_finding_free(&found);
    }
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean_where_nothing_is_forgotten),
        cmocka_unit_test(test_every_assumption_and_every_planted_fault_is_found),
        cmocka_unit_test(test_a_schedule_is_told_to_its_end),
        cmocka_unit_test(test_the_page_has_the_schedules_that_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
