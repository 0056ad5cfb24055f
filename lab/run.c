/*
 * run.c -- `bowline-lab run`, `walk`, `servers`: compares each scenario with its expected result.
 *
 * The expected result is that nothing breaks, or that a named invariant breaks in a known number of
 * steps. Exit 0 only if each result is as expected: a planted fault that is not found is a failure.
 * With `servers`, a fault or a number of clients on the command line changes the scenario: then
 * nothing is expected, and a broken invariant is drawn.
 */
#include "core/nearest.h"
#include "lab/base/lang.h"
#include "lab/base/memory.h"
#include "lab/base/say.h"
#include "lab/report/names.h"
#include "lab/report/picture.h"
#include "lab/scenario/lock_file.h"
#include "lab/scenario/table.h"
#include "lab/options.h"
#include "protocol/lock_file/program.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    const bwl_lab_options *given;
    size_t (*count)(void); /* the number of scenarios */
    bwl_scenario (*at)(size_t i);
    bool at_random;
    bool is_asked; /* the command line has changed the scenarios */
} settings;

/* A random walk need not be shortest and need not find a fault. */
static bool is_as_expected(const bwl_scenario *s, const settings *set, const bwl_finding *found)
{
    if (s->breaks == 0 || set->is_asked || found->verdict != BWL_BROKEN)
        return found->verdict != BWL_BROKEN && (s->breaks == 0 || set->at_random || set->is_asked);
    return (found->broken & s->breaks) != 0 &&
           (set->at_random || s->steps == 0 || found->path_count == s->steps);
}

static void print_verdict(const bwl_scenario *s, const settings *set, const bwl_finding *found)
{
    switch (found->verdict) {
    case BWL_EVERY_STATE: bwl_put(stdout, "every state visited, no invariant broken"); break;
    case BWL_BUDGET_REACHED:
        bwl_put(stdout, set->at_random
                            ? "no invariant broken on these walks"
                            : "no invariant broken, BUDGET REACHED: not every state visited");
        break;
    case BWL_BROKEN:
        bwl_put(stdout, "BROKEN in %u steps: %s", found->path_count,
                bwl_invariant_label(found->broken));
        break;
    }
    if (set->is_asked)
        return;
    if (is_as_expected(s, set, found) && s->breaks != 0)
        bwl_put(stdout, ", as expected");
    else if (is_as_expected(s, set, found))
        return;
    else if (s->breaks != 0)
        bwl_put(stdout, " -- EXPECTED in %u steps: %s", s->steps, bwl_invariant_label(s->breaks));
    else
        bwl_put(stdout, " -- EXPECTED not to break");
}

/* The faults with which it breaks too, one less than the file says; "": it does not. */
static bwl_text fewer_faults(const bwl_scenario *s, const bwl_search *search)
{
    for (unsigned k = 1; k < BWL_BUDGETS_COUNT; k++) {
        bwl_scenario less = *s;
        if (s->budget[k] == 0)
            continue;
        less.budget[k]--;
        bwl_finding found   = bwl_explore(&less, search);
        bool        is_less = found.verdict == BWL_BROKEN;
        bwl_finding_free(&found);
        if (is_less)
            return bwl_budget_words(less.budget);
    }
    return (bwl_text){ "" };
}

/* A lock file that no client can get holds every invariant. */
static bool is_vacuous(const bwl_scenario *s, const bwl_finding *found)
{
    return s->options.program != NULL && found->verdict == BWL_EVERY_STATE && found->locks == 0;
}

static bool run_scenario(bwl_scenario s, const settings *of_all, unsigned *number)
{
    settings               set    = *of_all;
    const bwl_lab_options *given  = set.given;
    bwl_search             search = given->search;
    const char            *prefix = given->tap ? "# " : "";
    bwl_finding            found;
    bool                   is_good;

    bwl_options_change(given, &s);
    for (unsigned k = 1; k < BWL_BUDGETS_COUNT; k++)
        if (given->budget[k] != 0)
            s.budget[k] = given->budget[k];
    set.at_random = set.at_random || (s.is_vast && s.servers == 1);
    if (s.breaks != 0 && !set.is_asked)
        search.states_max = INT32_MAX; /* it ends with its finding */
    found          = set.at_random ? bwl_random_walk(&s, &search) : bwl_explore(&s, &search);
    is_good        = is_as_expected(&s, &set, &found);
    bwl_text fewer = is_good && s.breaks != 0 && s.options.program != NULL
                         ? fewer_faults(&s, &search)
                         : (bwl_text){ "" };
    is_good        = is_good && fewer.of[0] == '\0' && !is_vacuous(&s, &found);
    if (given->tap)
        bwl_put(stdout, "%sok %u - %s\n# ", is_good ? "" : "not ", ++*number, s.name);
    bwl_put(stdout,
            set.at_random ? "%-28s %9" PRIu64 " walks  %10" PRIu64 " steps %7.2f s  "
                          : "%-28s %9" PRIu64 " states %10" PRIu64 " steps %7.2f s  ",
            s.name, found.states, found.steps, found.seconds);
    print_verdict(&s, &set, &found);
    if (fewer.of[0] != '\0')
        bwl_put(stdout, " -- BUT it breaks with %s too", fewer.of);
    if (is_vacuous(&s, &found))
        bwl_put(stdout, " -- BUT no client gets the lock, which proves nothing");
    bwl_put(stdout, "\n");
    if (found.verdict == BWL_BROKEN && (given->draws || !is_good)) {
        bwl_put(stdout, "%s%s\n", prefix, bwl_tr(s.story));
        bwl_draw(stdout, prefix, &s, &found);
    }
    (void)fflush(stdout);
    bwl_finding_free(&found);
    return is_good;
}

static bool run_one(size_t i, const settings *set, unsigned *number)
{
    return run_scenario(set->at(i), set, number);
}

/* ---- lock files ------------------------------------------------------------------------------ */

/* The twin in the world of a lock: the same clients, faults and clocks, and the same invariant. */
static bool find_twin(const char *path, const char *name, const bwl_scenario *world,
                      bwl_scenario *ret_twin)
{
    const char *slash = strrchr(path, '/');
    bwl_text file = bwl_say("%.*s%s.lock", (int)(slash != NULL ? slash + 1 - path : 0), path, name);
    bwl_text fault[3];
    bwl_scenario twin;

    if (!bwl_subject_find(file.of, &twin, fault)) {
        (void)bwl_complain(bwl_say("%s: its twin %s is of no use", bwl_shown(path).of, name),
                           bwl_say("%s: %s", fault[0].of, fault[1].of).of, fault[2].of);
        return false;
    }
    *ret_twin                            = *world;
    ret_twin->name                       = twin.name;
    ret_twin->story                      = twin.story;
    ret_twin->protocol                   = twin.protocol;
    ret_twin->options                    = twin.options;
    ret_twin->terms.renews               = twin.terms.renews;
    ret_twin->never_renews               = twin.never_renews;
    ret_twin->breaks                     = 0;
    twin.options.program->rules.pause_ms = world->options.program->rules.pause_ms;
    return true;
}

/* A world of the file, and that of the twin that it names.  False: they cannot be loaded. */
static bool find_worlds(const char *path, unsigned which, bwl_scenario *ret_world,
                        bool *ret_has_twin, bwl_scenario *ret_twin)
{
    bwl_text    fault[3];
    const char *name;
    const char *holds;

    if (!bwl_lock_world_find(path, which, ret_world, fault)) {
        (void)bwl_complain(fault[0], fault[1].of, fault[2].of);
        return false;
    }
    name  = bwl_lock_file_says(ret_world, "twin");
    holds = bwl_lock_file_says(ret_world, "holds");
    if (holds != NULL || ret_world->breaks != 0)
        bwl_scenario_check(ret_world,
                           holds != NULL ? bwl_invariant_named(holds) : ret_world->breaks);
    *ret_has_twin = name != NULL;
    return name == NULL || find_twin(path, name, ret_world, ret_twin);
}

/* A world of a file, with that of its twin. */
typedef struct pair {
    bwl_scenario world;
    bwl_scenario twin;
    bool         has_twin;
} pair;

/* Those of an operand; none if it is no file. */
typedef struct pairs {
    unsigned count;
    pair    *list;
} pairs;

/* False: the file is wrong, which is reported. */
static bool load_file(const char *path, pairs *ret_pairs)
{
    pair first;

    if (!find_worlds(path, 0, &first.world, &first.has_twin, &first.twin))
        return false;
    ret_pairs->count   = bwl_lock_file_worlds(&first.world);
    ret_pairs->list    = bwl_room_for(ret_pairs->count, sizeof first);
    ret_pairs->list[0] = first;
    for (unsigned i = 1; i < ret_pairs->count; i++) {
        pair *p = &ret_pairs->list[i];
        if (!find_worlds(path, i, &p->world, &p->has_twin, &p->twin))
            return false;
    }
    return true;
}

/* Returns the number of failures. */
static unsigned run_pairs(const pairs *all, const settings *set, unsigned *number)
{
    unsigned failures = 0;

    for (unsigned i = 0; i < all->count; i++) {
        failures += !run_scenario(all->list[i].world, set, number);
        failures += all->list[i].has_twin && !run_scenario(all->list[i].twin, set, number);
    }
    return failures;
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool find(const settings *set, const char *name, size_t *ret_i)
{
    for (size_t i = 0; i < set->count(); i++)
        if (strcmp(set->at(i).name, name) == 0) {
            *ret_i = i;
            return true;
        }
    return false;
}

static int complain_about(const settings *set, const char *name)
{
    enum { SCENARIOS_MOST = 512 };
    const char *names[SCENARIOS_MOST];
    const char *meant;

    assert(set->count() <= SCENARIOS_MOST);
    for (size_t i = 0; i < set->count(); i++)
        names[i] = set->at(i).name;
    meant = bwl_nearest(name, names, set->count());
    return bwl_complain(bwl_say("no scenario is called %s", bwl_shown(name).of), "",
                        meant != NULL ? bwl_say("did you mean %s?", meant).of
                                      : "type: bowline lab list");
}

static unsigned run_named(const settings *set, const pairs *files, unsigned *number)
{
    unsigned failures = 0;

    for (unsigned n = 0; n < set->given->operands_count; n++) {
        size_t i = 0;
        (void)find(set, set->given->operands[n], &i); /* it exists: checked in run() */
        failures +=
            files[n].list != NULL ? run_pairs(&files[n], set, number) : !run_one(i, set, number);
    }
    return failures;
}

static unsigned run_all(const settings *set, unsigned *number)
{
    unsigned failures = 0;

    for (size_t i = 0; i < set->count(); i++) {
        bwl_scenario s = set->at(i);
        if (s.is_vast && s.servers > 1)
            bwl_put(stdout,
                    "%-28s left out, as it has millions of states: name it, with --budget\n",
                    s.name);
        else
            failures += !run_one(i, set, number);
    }
    return failures;
}

static int run(const settings *set)
{
    const bwl_lab_options *given  = set->given;
    unsigned               number = 0; /* of the results so far */
    unsigned               failures;
    size_t                 i;
    pairs                 *files = bwl_room_for(given->operands_count + 1u, sizeof *files);

    for (unsigned n = 0; n < given->operands_count; n++)
        if (bwl_names_lock_file(given->operands[n]) && !load_file(given->operands[n], &files[n]))
            return BWL_EXIT_USAGE;
    for (unsigned n = 0; n < given->operands_count; n++)
        if (!bwl_names_lock_file(given->operands[n]) && !find(set, given->operands[n], &i))
            return complain_about(set, given->operands[n]);
    failures = given->operands_count > 0 ? run_named(set, files, &number) : run_all(set, &number);
    for (unsigned n = 0; n < given->operands_count; n++)
        free(files[n].list);
    free(files);
    if (given->tap)
        bwl_put(stdout, "1..%u\n", number);
    return bwl_output_done() && failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int bwl_verb_run(const bwl_lab_options *given)
{
    return run(&(settings){ .given     = given,
                            .count     = bwl_scenarios_count,
                            .at        = bwl_scenario_at,
                            .at_random = given->command == BWL_COMMAND_WALK });
}

static int check_faults(const bwl_lab_options *given)
{
    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++) {
        const char *label = bwl_budget_label((bwl_budget)i);
        if (given->budget[i] != 0 && bwl_budget_wants_one_server((bwl_budget)i))
            return bwl_complain(
                bwl_say("--%s does not happen where there are several servers", label), "",
                "type: bowline lab servers calm --loss 1, or another of slow, loss, crash, "
                "denial, restart, jump, stop, cancel");
        if (given->budget[i] == BWL_ANY)
            return bwl_complain(bwl_say("--%s any has no end here", label), "", "type a number");
    }
    return 0;
}

int bwl_verb_servers(const bwl_lab_options *given)
{
    int status = check_faults(given);

    if (status != 0)
        return status;
    return run(&(settings){ .given    = given,
                            .count    = bwl_redlock_scenarios_count,
                            .at       = bwl_redlock_scenario_at,
                            .is_asked = given->has_budget || given->clients != 0 });
}
