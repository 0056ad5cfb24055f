/*
 * run.c -- `bowline-lab run` and `wander`: does each scenario come out as its table says?
 *
 * Every scenario has an expected outcome: nothing breaks, or a named law breaks in a known number
 * of steps.  Exit 0 only if each came out so: a planted fault that is not found is a failure too.
 */
#include "core/nearest.h"
#include "lab/report/draw.h"
#include "lab/scenario/table.h"
#include "lab/base/say.h"
#include "lab/verbs.h"
#include <inttypes.h>
#include <stdlib.h>

typedef struct settings {
    bwl_search search;
    bool       draws;
    bool       tap;
    bool       at_random;
} settings;

/* ---- one scenario ---------------------------------------------------------------------------- */

/* A walk that is not breadth first is not the shortest, and need not find what there is. */
static bool is_as_expected(const bwl_scenario *s, const settings *set, const bwl_finding *found)
{
    if (s->breaks == 0 || found->verdict != BWL_BROKEN)
        return found->verdict != BWL_BROKEN && (s->breaks == 0 || set->at_random);
    return (found->broken & s->breaks) != 0 && (set->at_random || found->path_count == s->steps);
}

static void print_verdict(const bwl_scenario *s, const settings *set, const bwl_finding *found)
{
    switch (found->verdict) {
    case BWL_EVERY_STATE: (void)printf("every state visited, no law broken"); break;
    case BWL_BUDGET_REACHED:
        (void)printf(set->at_random ? "no law broken on these walks"
                                    : "no law broken, BUDGET REACHED: not every state visited");
        break;
    case BWL_BROKEN:
        (void)printf("BROKEN in %u steps: %s", found->path_count, bwl_law_label(found->broken));
        break;
    }
    if (is_as_expected(s, set, found))
        (void)printf(s->breaks != 0 ? ", as expected" : "");
    else if (s->breaks != 0)
        (void)printf(" -- EXPECTED in %u steps: %s", s->steps, bwl_law_label(s->breaks));
    else
        (void)printf(" -- EXPECTED not to break");
}

static void print_line(const bwl_scenario *s, const settings *set, const bwl_finding *found)
{
    (void)printf("%-28s %9" PRIu64 " %s %10" PRIu64 " steps %7.2f s  ", s->name, found->states,
                 set->at_random ? "walks " : "states", found->steps, found->seconds);
    print_verdict(s, set, found);
    (void)printf("\n");
}

/* True if it came out as the table says. */
static bool run_one(size_t i, const settings *given, unsigned number)
{
    bwl_scenario s      = bwl_scenario_at(i);
    settings     set    = *given;
    const char  *prefix = set.tap ? "# " : "";
    bwl_finding  found;
    bool         is_good;

    set.at_random = given->at_random || s.is_vast;
    found         = set.at_random ? bwl_wander(&s, &set.search) : bwl_explore(&s, &set.search);
    is_good       = is_as_expected(&s, &set, &found);
    if (set.tap)
        (void)printf("%sok %u - %s\n# ", is_good ? "" : "not ", number, s.name);
    print_line(&s, &set, &found);
    if (found.verdict == BWL_BROKEN && (set.draws || !is_good)) {
        (void)printf("%s%s\n", prefix, s.story);
        bwl_draw(stdout, prefix, &s, &found);
    }
    (void)fflush(stdout);
    bwl_finding_free(&found);
    return is_good;
}

/* ---- which ----------------------------------------------------------------------------------- */

static const char *nearest_scenario(const char *name)
{
    enum { SCENARIOS_MOST = 512 };
    const char *names[SCENARIOS_MOST];
    size_t      count = bwl_scenarios_count();

    assert(count <= SCENARIOS_MOST);
    for (size_t i = 0; i < count; i++)
        names[i] = bwl_scenario_at(i).name;
    return bwl_nearest(name, names, count);
}

static int run_named(const settings *set, char **names, unsigned count)
{
    unsigned failures = 0;

    for (unsigned n = 0; n < count; n++) {
        const char *meant;
        size_t      i;
        if (bwl_scenario_find(names[n], &i))
            continue;
        meant = nearest_scenario(names[n]);
        return bwl_complain(
            bwl_say("no scenario is called %s", bwl_shown(names[n]).of), bwl_say("%s", ""),
            meant != NULL ? bwl_say("did you mean %s?", meant) : bwl_say("type: bowline lab list"));
    }
    if (set->tap)
        (void)printf("1..%u\n", count);
    for (unsigned n = 0; n < count; n++) {
        size_t i = 0;
        (void)bwl_scenario_find(names[n], &i); /* it is there: see above */
        failures += !run_one(i, set, n + 1);
    }
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_all(const settings *set)
{
    unsigned count    = (unsigned)bwl_scenarios_count();
    unsigned failures = 0;

    if (set->tap)
        (void)printf("1..%u\n", count);
    for (unsigned n = 0; n < count; n++) {
        failures += !run_one(n, set, n + 1);
    }
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int bwl_verb_run(const bwl_lab_options *given)
{
    settings set = {
        .search    = given->search,
        .draws     = given->draws,
        .tap       = given->tap,
        .at_random = given->command == BWL_COMMAND_WANDER,
    };

    if (given->operands_count > 0)
        return run_named(&set, given->operands, given->operands_count);
    return run_all(&set);
}
