/*
 * servers.c -- `bowline-lab servers`: worlds with several servers, which `redlock` is tried in.
 *
 * As with `run`, every scenario has an expected outcome.  Who names a fault, or how many clients,
 * asks what then happens: nothing is expected, and a law that breaks is told and drawn.
 */
#include "core/nearest.h"
#include "lab/report/many_tell.h"
#include "lab/scenario/redlock.h"
#include "lab/search/many_explore.h"
#include "lab/base/output.h"
#include "lab/base/say.h"
#include "lab/verbs.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool find_scenario(const char *name, size_t *ret_i)
{
    for (size_t i = 0; i < bwl_many_scenarios_count(); i++) {
        *ret_i = i;
        if (strcmp(bwl_many_scenario_at(i).name, name) == 0)
            return true;
    }
    return false;
}

static int complain_about(const char *name)
{
    enum { NAMES_MAX = 64 };
    const char *names[NAMES_MAX];
    size_t      count = bwl_many_scenarios_count();

    assert(count <= NAMES_MAX);
    for (size_t i = 0; i < count; i++)
        names[i] = bwl_many_scenario_at(i).name;
    const char *meant = bwl_nearest(name, names, count);
    return bwl_complain(bwl_say("no scenario of several servers is called %s", bwl_shown(name).of),
                        bwl_say("%s", ""),
                        meant != NULL ? bwl_say("did you mean %s?", meant)
                                      : bwl_say("type: bowline lab list"));
}

/* ---- what is asked beside the scenario ------------------------------------------------------- */

static const char *const labels[BWL_MANY_BUDGETS_COUNT] = {
#define X(name, label, sentence) [BWL_MANY_##name] = label,
    BWL_MANY_BUDGETS(X)
#undef X
};

/* The same fault, in these worlds; 0: they have none like that. */
static unsigned of_many(bwl_budget budget)
{
    for (unsigned i = 1; i < BWL_MANY_BUDGETS_COUNT; i++)
        if (strcmp(labels[i], bwl_budget_label(budget)) == 0)
            return i;
    return BWL_MANY_NO_BUDGET;
}

static int check_faults(const bwl_lab_options *set)
{
    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++) {
        if (set->budget[i] == 0)
            continue;
        if (of_many((bwl_budget)i) == BWL_MANY_NO_BUDGET)
            return bwl_complain(
                bwl_say("--%s does not happen where there are several servers",
                        bwl_budget_label((bwl_budget)i)),
                bwl_say("%s", ""),
                bwl_say("type: bowline lab servers calm --loss 1, or another of slow, loss, crash, "
                        "denial, restart, jump, cancel"));
        if (set->budget[i] == BWL_ANY)
            return bwl_complain(
                bwl_say("--%s any has no end here", bwl_budget_label((bwl_budget)i)),
                bwl_say("%s", ""), bwl_say("type a number"));
    }
    return 0;
}

/* True: the outcome is not that of the table any more. */
static bool change(bwl_many_scenario *s, const bwl_lab_options *set)
{
    if (!set->has_budget && set->clients == 0)
        return false;
    if (set->clients != 0)
        s->clients = set->clients;
    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++)
        if (of_many((bwl_budget)i) != BWL_MANY_NO_BUDGET && set->budget[i] != 0)
            s->budget[of_many((bwl_budget)i)] = set->budget[i];
    return true;
}

/* ---- one scenario ---------------------------------------------------------------------------- */

static void print_line(const char *line, void *arg)
{
    (void)arg;
    (void)printf("%s\n", line);
}

static bool is_as_expected(const bwl_many_scenario *s, const bwl_many_finding *found, bool is_asked)
{
    if (is_asked)
        return found->broken == 0;
    return found->broken == s->breaks &&
           (s->breaks == 0 || s->steps == 0 || found->path_count == s->steps);
}

/* True if it came out as it has to. */
static bool run_one(size_t i, const bwl_lab_options *set)
{
    bwl_many_scenario s        = bwl_many_scenario_at(i);
    bool              is_asked = change(&s, set);
    bwl_many_finding  found    = bwl_many_explore(&s, set->search.states_max);
    bool              is_good  = is_as_expected(&s, &found, is_asked);

    (void)printf("%-16s %9" PRIu64 " states %7.2f s  ", s.name, found.states, found.seconds);
    if (found.broken != 0)
        (void)printf("BROKEN in %u steps: %s%s\n", found.path_count,
                     bwl_many_law_sentence(found.broken), is_good ? ", as expected" : "");
    else if (found.is_cut)
        (void)printf("no law broken, BUDGET REACHED: not every state visited\n");
    else
        (void)printf("every state visited, no law broken%s\n",
                     is_good ? "" : " -- EXPECTED to break");
    if (found.broken != 0 && (set->draws || !is_good))
        bwl_many_tell(&s, found.path, found.path_count, print_line, NULL);
    (void)fflush(stdout);
    bwl_many_finding_free(&found);
    return is_good;
}

int bwl_verb_servers(const bwl_lab_options *set)
{
    unsigned failures = 0;
    size_t   i        = 0;
    int      status   = check_faults(set);

    for (unsigned n = 0; n < set->operands_count && status == 0; n++)
        if (!find_scenario(set->operands[n], &i))
            status = complain_about(set->operands[n]);
    if (status != 0)
        return status;
    for (unsigned n = 0; n < set->operands_count; n++) {
        (void)find_scenario(set->operands[n], &i); /* it is there: see above */
        failures += !run_one(i, set);
    }
    for (i = 0; set->operands_count == 0 && i < bwl_many_scenarios_count(); i++) {
        if (bwl_many_scenario_at(i).is_vast)
            (void)printf("%-16s left out, as it has millions of states: name it, with --budget\n",
                         bwl_many_scenario_at(i).name);
        else
            failures += !run_one(i, set);
    }
    return bwl_output_done() && failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
