/*
 * try.c -- `bowline-lab try`: the smallest budget of faults that breaks each invariant, and a
 * shortest schedule that does it.
 */
#include "lab/report/picture.h"
#include "lab/base/lang.h"
#include "lab/base/memory.h"
#include "lab/report/names.h"
#include "lab/base/say.h"
#include "lab/report/matrix.h"
#include "lab/report/page.h"
#include "lab/report/record.h"
#include "lab/scenario/table.h"
#include "lab/options.h"
#include "protocol/lock_file/program.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The default faults: each alone, and any two together. */
static const uint8_t budget_usual[BWL_BUDGETS_COUNT] = {
    [BWL_SLOW]  = 2,
    [BWL_LOSS]  = 1,
    [BWL_CRASH] = 1,
};

/* A probe of this many worlds gives an estimate of their number. */
enum { PROBE_STATES = 100000, DEAD_END_STATES = 500000 };

/* A lock with times in its value is tried in other worlds too. */
typedef struct variant {
    const char *words; /* "" : the world as it is */
    bool        stale;
    unsigned    rounds; /* 0: as it is */
} variant;

enum { VARIANTS = 3, VARIANT_FAULTS = 1 };

static const variant variants[VARIANTS] = {
    { "", false, 0 },
    { ", with a stale key at the start", true, 0 },
    { ", with 2 rounds each", false, 2 },
};

typedef struct trial {
    const bwl_lab_options *set;
    uint8_t                variant_of[BWL_INVARIANTS_COUNT]; /* of each finding */
    bwl_scenario           world;
    bwl_search             search;
    bwl_meter              meter;
    unsigned               faults_max;
    bwl_smallest           smallest[BWL_INVARIANTS_COUNT];
} trial;

/* ---- searches -------------------------------------------------------------------------------- */

static unsigned sum_of(const uint8_t budget[BWL_BUDGETS_COUNT], unsigned most)
{
    unsigned sum = 0;

    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++)
        sum += budget[i];
    return sum < most ? sum : most;
}

/* That of the command line; of the file; or the usual one.  True unless it is the usual one. */
static bool set_budget(const bwl_lab_options *set, bwl_scenario *world)
{
    bool is_set = false;

    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++)
        is_set = is_set || world->budget[i] != 0;
    if (set->has_budget)
        memcpy(world->budget, set->budget, sizeof world->budget);
    else if (!is_set)
        memcpy(world->budget, budget_usual, sizeof world->budget);
    return set->has_budget || is_set;
}

static int set_up(trial *t)
{
    enum { FAULTS_MOST = 12 };
    const bwl_lab_options *set = t->set;
    bwl_text               fault[3];

    if (!bwl_subject_find(set->operands[0], &t->world, fault))
        return bwl_complain(fault[0], fault[1].of, fault[2].of);
    bool is_said = set_budget(set, &t->world);
    if (set->clients == 1)
        return bwl_complain(bwl_say("--clients 1: no other client shares the lock"), "",
                            "type: --clients 2, or --clients 3");
    bwl_options_change(set, &t->world);
    int status = bwl_options_start(set, &t->world);
    if (status != 0)
        return status;
    if (set->invariants != 0)
        t->world.invariants =
            set->invariants & ~(unsigned)BWL_INVARIANT_LIVE; /* it has a search of its own */
    t->faults_max = sum_of(t->world.budget, is_said ? FAULTS_MOST : set->faults_max);
    if (set->has_faults)
        t->faults_max = sum_of(t->world.budget, set->faults_max);
    t->meter               = bwl_meter_start(set->quiet);
    t->meter.what          = t->world.name;
    t->search              = set->search;
    t->search.states_max   = INT32_MAX;
    t->search.on_progress  = bwl_meter_show;
    t->search.progress_arg = &t->meter;
    return 0;
}

/* The memory that the largest search may need; 0 if it fits or is unknown. */
static size_t estimate(const trial *t)
{
    bwl_scenario world  = t->world;
    bwl_search   search = t->search;
    unsigned     left   = t->faults_max;
    size_t       needed;
    bwl_finding  found;

    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++) {
        world.budget[i] = (uint8_t)(world.budget[i] < left ? world.budget[i] : left);
        left -= world.budget[i];
    }
    search.states_max = PROBE_STATES;
    world.invariants  = 0; /* no invariant stops it */
    search.memory_max = 0; /* the probe is short */
    found             = bwl_explore(&world, &search);
    needed            = found.memory_estimate > found.memory ? found.memory_estimate : found.memory;
    needed            = found.verdict == BWL_BUDGET_REACHED ? needed : 0;
    bwl_finding_free(&found);
    return needed > t->search.memory_max ? needed : 0;
}

/* ---- variants -------------------------------------------------------------------------------- */

static bool has_times(const bwl_scenario *world)
{
    const bwl_lock_program *program = world->options.program;
    bool                    tests   = false;

    for (unsigned i = 0; program != NULL && i < program->ops_count; i++)
        tests = tests || (program->ops[i].kind == BWL_OP_TEST && program->ops[i].sum.now != 0);
    return world->options.rules != NULL && world->options.rules->unit_ns != 0 &&
           (program == NULL || tests);
}

static bool is_wanted(const trial *t, const variant *v)
{
    bool is_set = t->set->rounds != 0 || t->world.rounds > 1;

    return has_times(&t->world) && (v->stale ? !t->world.server.stale : v->rounds != 0 && !is_set);
}

static bwl_scenario world_of(const trial *t, const variant *v)
{
    bwl_scenario world = t->world;

    world.server.stale = world.server.stale || v->stale;
    world.rounds       = v->rounds != 0 ? v->rounds : world.rounds;
    return world;
}

/* Keeps the finding with fewer faults. */
static void merge(trial *t, unsigned variant_number, bwl_smallest more[BWL_INVARIANTS_COUNT])
{
    for (unsigned i = 0; i < BWL_INVARIANTS_COUNT; i++) {
        bwl_smallest *is     = &t->smallest[i];
        bool          is_cut = is->is_cut || more[i].is_cut;
        if (more[i].is_found && (!is->is_found || more[i].faults < is->faults)) {
            bwl_smallest was = *is;
            *is              = more[i];
            more[i]          = was;
            t->variant_of[i] = (uint8_t)variant_number;
        }
        is->is_cut = is_cut;
    }
}

/* What a variant may break with fewer faults: that two clients have the lock. */
static unsigned open_exclusion(const trial *t)
{
    unsigned open = t->world.invariants & (BWL_INVARIANT_ONE_HOLDER | BWL_INVARIANT_ONE_WORKER |
                                           BWL_INVARIANT_NO_OVERLAP);

    for (unsigned i = 0; i < BWL_INVARIANTS_COUNT; i++)
        if (t->smallest[i].is_found && t->smallest[i].faults == 0)
            open &= ~(1u << i);
    return open;
}

static void search_variants(trial *t)
{
    for (unsigned v = 1; v < VARIANTS; v++) {
        bwl_scenario world  = world_of(t, &variants[v]);
        unsigned     faults = t->faults_max < VARIANT_FAULTS ? t->faults_max : VARIANT_FAULTS;
        bwl_smallest more[BWL_INVARIANTS_COUNT];
        world.invariants = open_exclusion(t);
        if (world.invariants == 0 || !is_wanted(t, &variants[v]))
            continue;
        bwl_smallest_budgets(&world, &t->search, faults, more);
        merge(t, v, more);
        bwl_smallest_free(more);
    }
}

/* LIVE is checked without slow steps, which keeps the number of worlds finite. */
static void search_for_dead_ends(trial *t)
{
    bwl_scenario world  = t->world;
    bwl_search   search = t->search;
    bwl_smallest smallest[BWL_INVARIANTS_COUNT];
    unsigned     invariant = BWL_INVARIANT_NUMBER_LIVE;
    unsigned     faults    = t->faults_max > 0;

    if (t->set->invariants != 0 && (t->set->invariants & BWL_INVARIANT_LIVE) == 0)
        return;
    bwl_scenario_check(&world, BWL_INVARIANT_LIVE);
    world.budget[BWL_SLOW] = 0;
    search.states_max      = DEAD_END_STATES;
    bwl_smallest_budgets(&world, &search, faults, smallest);
    t->smallest[invariant] = smallest[invariant];
    smallest[invariant]    = (bwl_smallest){ 0 };
    bwl_smallest_free(smallest);
    t->world.invariants |= BWL_INVARIANT_LIVE;
}

/* ---- results --------------------------------------------------------------------------------- */

static void print_broken(const trial *t)
{
    for (unsigned i = 0; i < BWL_INVARIANTS_COUNT; i++) {
        const bwl_smallest *s = &t->smallest[i];
        if (s->is_found)
            bwl_put(stdout, "  %s BREAKS with %s, in %u steps%s%s\n",
                    bwl_invariant_column(1u << i, 16).of, bwl_budget_words(s->budget).of,
                    s->path_count, bwl_tr(variants[t->variant_of[i]].words),
                    s->is_cut ? bwl_tr(" (not every smaller budget was searched to its end)") : "");
    }
}

/* The invariants that hold; with `cut`, those that are unknown. */
static void print_rest(const trial *t, bool cut, const char *title)
{
    enum { WIDTH = 78, INDENT = 19 };
    size_t column = 0;

    for (unsigned i = 0; i < BWL_INVARIANTS_COUNT; i++) {
        const bwl_smallest *s     = &t->smallest[i];
        const char         *label = bwl_invariant_label(1u << i);
        size_t              size  = strlen(label) + 2;
        if ((t->world.invariants >> i & 1) == 0 || s->is_found || s->is_cut != cut)
            continue;
        if (column == 0) {
            bwl_put(stdout, "  %s %s", bwl_padded(bwl_tr(title), 3 - INDENT).of, label);
            column = INDENT + size - 2;
        } else if (column + size > WIDTH) {
            bwl_put(stdout, ",\n%*s%s", INDENT, "", label);
            column = INDENT + size - 2;
        } else {
            bwl_put(stdout, ", %s", label);
            column += size;
        }
    }
    if (column != 0)
        bwl_put(stdout, "\n");
}

static unsigned severity_of(unsigned invariant)
{
    if ((invariant & (BWL_INVARIANT_ONE_HOLDER | BWL_INVARIANT_ONE_WORKER)) != 0)
        return 5;
    if ((invariant & BWL_INVARIANT_LIVE) != 0)
        return 4;
    if ((invariant & (BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_CREATES | BWL_INVARIANT_FOREIGN)) != 0)
        return 3;
    return (invariant & BWL_INVARIANTS_MORE) != 0 ? 1 : 2; /* what no lease gives comes last */
}

/* The most severe one found; of equals, the one with the fewest faults. */
static const bwl_smallest *worst_of(const trial *t, unsigned *ret_invariant)
{
    const bwl_smallest *worst    = NULL;
    unsigned            severity = 0;

    for (unsigned i = 0; i < BWL_INVARIANTS_COUNT; i++) {
        const bwl_smallest *s   = &t->smallest[i];
        unsigned            its = severity_of(1u << i);
        if (s->is_found && (its > severity || (its == severity && s->faults < worst->faults))) {
            worst          = s;
            severity       = its;
            *ret_invariant = 1u << i;
        }
    }
    return worst;
}

/* The world in which a finding was made. */
static bwl_scenario world_of_finding(const trial *t, unsigned invariant_number)
{
    const bwl_smallest *s     = &t->smallest[invariant_number];
    bwl_scenario        world = world_of(t, &variants[t->variant_of[invariant_number]]);

    memcpy(world.budget, s->budget, sizeof world.budget);
    bwl_scenario_check(&world, 1u << invariant_number);
    return world;
}

static bool write_drawing(const char *file, const bwl_picture *picture)
{
    bwl_output output;

    if (!bwl_output_open(&output, file))
        return false;
    bwl_svg(output.out, picture, true);
    return bwl_output_close(&output);
}

/* Of a lock that holds: a run of one round without a fault. */
static bool write_calm_run(const trial *t)
{
    const bwl_lab_options *set     = t->set;
    bwl_scenario           world   = t->world;
    bool                   is_good = true;
    unsigned               count;

    if (set->json)
        (void)bwl_complain(bwl_say("no invariant broke, so there is no schedule to write"), "", "");
    if (!set->mermaid && set->svg == NULL)
        return true;
    memset(world.budget, 0, sizeof world.budget);
    world.rounds            = 1;
    bwl_transition *path    = bwl_calm_run(&world, &count);
    bwl_picture     picture = bwl_picture_of(&world, path, count, 0);
    if (set->svg != NULL)
        is_good = write_drawing(set->svg, &picture);
    if (set->mermaid)
        bwl_mermaid(stdout, &picture);
    bwl_picture_free(&picture);
    free(path);
    return is_good;
}

static bool write_schedule(const trial *t)
{
    const bwl_lab_options *set       = t->set;
    unsigned               invariant = 0;
    const bwl_smallest    *worst     = worst_of(t, &invariant);
    bool                   is_good   = true;
    bwl_scenario           world;
    bwl_picture            picture;

    if (worst == NULL)
        return write_calm_run(t);
    world   = world_of_finding(t, (unsigned)(worst - t->smallest));
    picture = bwl_picture_of(&world, worst->path, worst->path_count, invariant);
    if (set->svg != NULL)
        is_good = write_drawing(set->svg, &picture);
    if (set->json)
        bwl_record_write(stdout, set->operands[0],
                         &(bwl_record){ .world      = world,
                                        .broken     = invariant,
                                        .path_count = worst->path_count,
                                        .path       = worst->path });
    else if (set->mermaid)
        bwl_mermaid(stdout, &picture);
    else
        bwl_draw_picture(stdout, "", &picture);
    bwl_picture_free(&picture);
    return is_good;
}

static bwl_text faults_words(const trial *t)
{
    bwl_text budget = bwl_budget_words(t->world.budget);

    return t->faults_max == 0 ? budget : bwl_say("at most %u of %s", t->faults_max, budget.of);
}

static bwl_text start_words(const bwl_server_rules *rules)
{
    if (rules->start_ms == 0)
        return bwl_say("the key has %s at the start, without an expiry",
                       bwl_shown(rules->start).of);
    return bwl_say("the key has %s at the start, for %" PRId64 " ms", bwl_shown(rules->start).of,
                   rules->start_ms);
}

enum { NOTES_MAX = 3 };

/* What else a world has: its times, and the key at its start. */
static unsigned take_notes(const trial *t, bwl_text ret_notes[NOTES_MAX])
{
    unsigned count = 0;

    if (t->world.options.program != NULL)
        ret_notes[count++] =
            bwl_say("lease %" PRId64 " ms, wait %" PRId64 " ms, pause %" PRId64 " ms",
                    t->world.terms.lease_ms, t->world.wait_ms, t->world.options.rules->pause_ms);
    if (t->set->settings != NULL)
        ret_notes[count++] = bwl_say("set: %s", bwl_shown(t->set->settings).of);
    if (t->world.server.start != NULL)
        ret_notes[count++] = start_words(&t->world.server);
    return count;
}

static bool write_page(const trial *t)
{
    bwl_page_result results[BWL_INVARIANTS_COUNT];
    bwl_text        budget = faults_words(t);
    bwl_text        notes[NOTES_MAX];
    bwl_page_trial  page = {
         .subject     = t->set->operands[0],
         .world       = &t->world,
         .budget      = budget.of,
         .settings    = t->set->settings,
         .start       = t->set->start,
         .notes       = notes,
         .notes_count = take_notes(t, notes),
         .results     = results,
    };
    bwl_output output;

    for (unsigned i = 0; i < BWL_INVARIANTS_COUNT; i++)
        if ((t->world.invariants >> i & 1) != 0)
            results[page.results_count++] = (bwl_page_result){
                .invariant = 1u << i,
                .found     = &t->smallest[i],
                .world     = world_of_finding(t, i),
                .variant   = variants[t->variant_of[i]].words,
            };
    (void)worst_of(t, &page.worst);
    if (!bwl_output_open(&output, t->set->html))
        return false;
    bwl_page_of_trial(output.out, &page);
    return bwl_output_close(&output);
}

static int report(const trial *t, double seconds)
{
    bool     is_text = !t->set->json && !t->set->mermaid;
    uint64_t states  = 0;
    bwl_text notes[NOTES_MAX];
    unsigned notes_count = take_notes(t, notes);
    unsigned invariant;
    bool     is_good;

    for (unsigned i = 0; i < BWL_INVARIANTS_COUNT; i++)
        states = t->smallest[i].states > states ? t->smallest[i].states : states;
    if (is_text) {
        bwl_put(stdout, "%s: %s\n", t->world.name, bwl_tr(t->world.story));
        bwl_put(stdout,
                t->world.rounds == 1 ? "%u clients, %u round each; %s\n"
                                     : "%u clients, %u rounds each; %s\n",
                t->world.clients, t->world.rounds, faults_words(t).of);
        for (unsigned i = 0; i < notes_count; i++)
            bwl_put(stdout, "%s\n", notes[i].of);
        bwl_put(stdout, "\n");
        print_broken(t);
        print_rest(t, false, "hold:");
        print_rest(t, true, "cut short:");
        bwl_put(stdout, "\n%s states in %.1f s\n\n", bwl_count_words(states).of, seconds);
    }
    is_good = write_schedule(t);
    if (t->set->html != NULL)
        is_good = write_page(t) && is_good;
    is_good = bwl_output_done() && is_good;
    return is_good && worst_of(t, &invariant) == NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}

int bwl_verb_try(const bwl_lab_options *set)
{
    trial  t      = { .set = set };
    double start  = bwl_seconds();
    int    status = set_up(&t);
    size_t needed;

    if (status != 0)
        return status;
    needed = set->invariants == 0 ? estimate(&t) : 0; /* a search for one may end soon */
    if (needed != 0) {
        bwl_meter_wipe(&t.meter);
        (void)bwl_complain(
            bwl_say("this cannot be explored in %s", bwl_memory_words(set->search.memory_max).of),
            bwl_say("the states of %u of %s may take %s or more", t.faults_max,
                    bwl_budget_words(t.world.budget).of, bwl_memory_words(needed).of)
                .of,
            bwl_say("type: --faults %u, or --memory SIZE, or fewer clients",
                    t.faults_max > 1 ? t.faults_max - 1 : 1)
                .of);
        return BWL_EXIT_MEMORY;
    }
    bwl_smallest_budgets(&t.world, &t.search, t.faults_max, t.smallest);
    search_variants(&t);
    search_for_dead_ends(&t);
    bwl_meter_wipe(&t.meter);
    status = report(&t, bwl_seconds() - start);
    bwl_smallest_free(t.smallest);
    return status;
}
