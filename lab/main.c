/*
 * main.c -- bowline-lab: explores what a lock does when everything happens at the worst moment.
 *
 * Every scenario has an expected outcome: nothing breaks, or a named law breaks in a known number
 * of steps.  Exit 0 only if each came out so: a planted fault that is not found is a failure too.
 */
#include "lab/draw.h"
#include "lab/explore.h"
#include "lab/scenario.h"
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2, STATES_USUAL = 2000000, RUNS_USUAL = 100000 };

typedef struct settings {
    bwl_search search;
    bool       draws;
    bool       tap;
    bool       at_random;
} settings;

static const char usage[] =
    "usage: bowline-lab list\n"
    "       bowline-lab run [OPTIONS] [NAME...]      every state, breadth first\n"
    "       bowline-lab wander [OPTIONS] [NAME...]   random walks\n"
    "\n"
    "A NAME is a scenario of `bowline-lab list`; with none, all of them.  Where there are too\n"
    "many states to visit, run walks too.\n"
    "\n"
    "  -b, --budget N   run: stop after N states of a scenario (2000000)\n"
    "  -s, --seed N     where the randomness of walks begins (1)\n"
    "  -r, --runs N     how many walks (100000)\n"
    "  -d, --draw       draw the schedule also where a law was expected to break\n"
    "  -p, --plain      run: count states without symmetry and other savings\n"
    "  -t, --tap        report in the Test Anything Protocol\n"
    "  -h, --help\n"
    "\n"
    "Exit status: 0 if every scenario came out as its table says, 1 if one did not, 2 for a\n"
    "mistake on the command line, 3 when memory ends.\n";

static void list(void)
{
    for (size_t i = 0; i < bwl_scenarios_count(); i++) {
        bwl_scenario s = bwl_scenario_at(i);
        (void)printf("%-28s %-15s %s\n", s.name, s.breaks == 0 ? "" : bwl_law_label(s.breaks),
                     s.story);
    }
}

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

/* ---- the command line ------------------------------------------------------------------------ */

static bool read_number(const char *text, uint64_t max, uint64_t *ret_number)
{
    char *end;

    *ret_number = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && *ret_number > 0 &&
           *ret_number <= max;
}

/* 0, or an exit status. */
static int read_option(int option, settings *set)
{
    uint64_t number  = 0;
    bool     is_good = true;

    switch (option) {
    case 'b':
        is_good                = read_number(optarg, UINT32_MAX / 2, &number);
        set->search.states_max = (uint32_t)number;
        break;
    case 's': is_good = read_number(optarg, UINT64_MAX, &set->search.seed); break;
    case 'r':
        is_good          = read_number(optarg, UINT32_MAX, &number);
        set->search.runs = (uint32_t)number;
        break;
    case 'd': set->draws = true; break;
    case 'p': set->search.plain = true; break;
    case 't': set->tap = true; break;
    default: return EXIT_USAGE; /* getopt has said why */
    }
    if (!is_good)
        (void)fprintf(stderr, "bowline-lab: %s is not a number that can be used here\n", optarg);
    return is_good ? 0 : EXIT_USAGE;
}

static int run_named(const settings *set, char **names, unsigned count)
{
    unsigned failures = 0;

    for (unsigned n = 0; n < count; n++) {
        size_t i;
        if (!bwl_scenario_find(names[n], &i)) {
            (void)fprintf(stderr, "bowline-lab: no scenario is called %s; see bowline-lab list\n",
                          names[n]);
            return EXIT_USAGE;
        }
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

static int run(int argc, char **argv, bool at_random)
{
    static const struct option options[] = {
        { "budget", required_argument, NULL, 'b' }, { "seed", required_argument, NULL, 's' },
        { "runs", required_argument, NULL, 'r' },   { "draw", no_argument, NULL, 'd' },
        { "plain", no_argument, NULL, 'p' },        { "tap", no_argument, NULL, 't' },
        { "help", no_argument, NULL, 'h' },         { NULL, 0, NULL, 0 },
    };
    settings    set = { .at_random = at_random,
                        .search = { .states_max = STATES_USUAL, .seed = 1, .runs = RUNS_USUAL } };
    int         option;
    static char name[] = "bowline-lab"; /* getopt complains in the name of argv[0] */

    argv[0] = name;
    while ((option = getopt_long(argc, argv, "b:s:r:dpth", options, NULL)) != -1) {
        int status;
        if (option == 'h') {
            (void)fputs(usage, stdout);
            return EXIT_SUCCESS;
        }
        status = read_option(option, &set);
        if (status != 0)
            return status;
    }
    if (optind < argc)
        return run_named(&set, argv + optind, (unsigned)(argc - optind));
    return run_all(&set);
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "--help";

    if (strcmp(verb, "run") == 0 || strcmp(verb, "wander") == 0)
        return run(argc - 1, argv + 1, strcmp(verb, "wander") == 0);
    if (strcmp(verb, "list") == 0 && argc == 2) {
        list();
        return EXIT_SUCCESS;
    }
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0 || strcmp(verb, "help") == 0) {
        (void)fputs(usage, stdout);
        return EXIT_SUCCESS;
    }
    (void)fputs(usage, stderr);
    return EXIT_USAGE;
}
