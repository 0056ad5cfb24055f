/*
 * main.c -- bowline-sim: the library in simulated worlds, from seeds.
 *
 *      bowline-sim --seeds 1..1000         runs the worlds of these seeds, in --jobs processes
 *      bowline-sim --seed 27 --show        runs one, and shows what happens
 *      bowline-sim --seed 27 --shrink      looks for the smallest part of it that fails, and draws
 *                                          its end; --svg FILE draws it for a browser
 *      bowline-sim --seeds 1..300 --first  ends at the first world that fails
 */
#include "sim/kernel/say.h"
#include "sim/search/crash.h"
#include "sim/search/picture.h"
#include "sim/search/shrink.h"

#include "lab/base/memory.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 60, SHRINK_RUNS = 400, TWICE_IN = 16, JOBS_MAX = 64 };

typedef struct options {
    uint64_t     first;
    uint64_t     last;
    unsigned     jobs;
    bool         shows;
    bool         shrinks;
    bool         prints;     /* each result */
    bool         only_first; /* ends at the first failure, and names each seed before it runs */
    sim_rest     rest;
    sim_topology only; /* 0: any */
    const char  *svg;  /* NULL: none */
} options;

typedef struct totals {
    uint64_t worlds;
    uint64_t failed;
    uint64_t operations;
    uint64_t acquires;
    uint64_t steps;
    double   hours;
} totals;

static void print_result(uint64_t seed, const sim_result *r)
{
    (void)printf("seed %" PRIu64 ": %s; %.3f virtual s, %" PRIu64 " events, %" PRIu64
                 " acquires, %" PRIu64 " grants, trace %016" PRIx64 "\n",
                 seed, r->failed ? r->failure : "ok", (double)r->virtual_ns / 1e9, r->steps,
                 r->counts.acquires, r->grants, r->trace);
}

static void print_rest(uint64_t seed, sim_topology only, const sim_rest *rest)
{
    (void)printf("replay with: bowline-sim --seed %" PRIu64, seed);
    if (only != 0)
        (void)printf(" --topology %s", sim_topology_name(only));
    (void)printf(" --faults 0x%" PRIx64 " --clients 0x%x --length %" PRId64 " --activities ",
                 rest->faults, rest->clients, rest->length_ms);
    for (unsigned i = 0; i < PLAN_CLIENTS_MAX; i++)
        (void)printf("%s%u", i > 0 ? "," : "",
                     rest->activities[i] > LOAD_ACTIVITIES_MAX ? LOAD_ACTIVITIES_MAX
                                                               : rest->activities[i]);
    (void)printf("%s --show\n", rest->is_plain ? " --plain" : "");
}

/* Runs the rest once more. */
static void draw(const options *o, uint64_t seed, const sim_rest *rest)
{
    sim_plan   plan;
    sim_result result;

    sim_plan_draw(&plan, seed, o->only);
    sim_plan_leave(&plan, rest);
    sim_picture_begin();
    sim_run(&plan, &result);
    if (o->svg == NULL)
        sim_picture_draw(stdout, ROWS, result.failure);
    else if (!sim_picture_svg(o->svg, ROWS, result.failure))
        exit(EXIT_FAILURE);
    sim_picture_end();
}

static void run_one(const options *o, uint64_t seed, totals *all)
{
    sim_plan   plan;
    sim_result result;
    sim_result again;

    sim_plan_draw(&plan, seed, o->only);
    sim_plan_leave(&plan, &o->rest);
    sim_crash_in(seed);
    if (o->only_first) {
        (void)printf("world %" PRIu64 "\n", seed);
        (void)fflush(stdout);
    }
    if (o->shows)
        sim_plan_print(&plan, stdout);
    sim_run(&plan, &result);
    if (!o->shows && seed % TWICE_IN == 0) {
        sim_run(&plan, &again);
        if (again.trace != result.trace) {
            result.failed = true;
            (void)snprintf(result.failure, sizeof result.failure,
                           "determinism: the second run has the trace %016" PRIx64, again.trace);
        }
    }
    all->worlds++;
    all->failed += result.failed;
    all->operations += load_operations(&result.counts);
    all->acquires += result.counts.acquires;
    all->steps += result.steps;
    all->hours += (double)result.virtual_ns / 3.6e12;
    if (result.failed || o->prints)
        print_result(seed, &result);
    sim_rest rest = o->rest;
    if (result.failed && o->shrinks) {
        rest = sim_shrink(seed, o->only, &result, SHRINK_RUNS);
        print_result(seed, &result);
        print_rest(seed, o->only, &rest);
    }
    if ((result.failed && o->shrinks) || o->svg != NULL)
        draw(o, seed, &rest);
}

static bool read_activities(sim_rest *rest, const char *text)
{
    for (unsigned i = 0; i < PLAN_CLIENTS_MAX; i++) {
        char *end;
        rest->activities[i] = (unsigned)strtoul(text, &end, 10);
        if (end == text || (*end != ',' && *end != '\0'))
            return false;
        text = *end == ',' ? end + 1 : end;
    }
    return true;
}

static bool read_topology(options *o, const char *text)
{
    for (sim_topology t = SIM_SINGLE; t < SIM_TOPOLOGIES_END; t++) {
        if (strcmp(text, sim_topology_name(t)) == 0)
            o->only = t;
    }
    return o->only != 0;
}

static bool read_seeds(options *o, const char *text)
{
    char *end;

    o->first = strtoull(text, &end, 10);
    o->last  = o->first;
    if (strncmp(end, "..", 2) == 0)
        o->last = strtoull(end + 2, &end, 10);
    return *end == '\0' && o->last >= o->first;
}

static int usage(void)
{
    (void)fputs(
        "usage: bowline-sim [--seeds FIRST..LAST] [--seed N] [--jobs N] [--show] [--shrink]\n"
        "           [--faults MASK] [--clients MASK] [--length MS] [--activities N,N...]\n"
        "           [--plain] [--print] [--topology NAME] [--first] [--svg FILE]\n",
        stderr);
    return 2;
}

static const struct option table[] = {
    { "seeds", required_argument, NULL, 's' },
    { "seed", required_argument, NULL, 's' },
    { "show", no_argument, NULL, 'v' },
    { "shrink", no_argument, NULL, 'k' },
    { "print", no_argument, NULL, 'p' },
    { "faults", required_argument, NULL, 'f' },
    { "jobs", required_argument, NULL, 'j' },
    { "clients", required_argument, NULL, 'c' },
    { "length", required_argument, NULL, 'l' },
    { "plain", no_argument, NULL, 'n' },
    { "activities", required_argument, NULL, 'a' },
    { "topology", required_argument, NULL, 't' },
    { "first", no_argument, NULL, 'o' },
    { "svg", required_argument, NULL, 'g' },
    { NULL, 0, NULL, 0 },
};

static bool read_options(options *o, int argc, char **argv)
{
    int  letter;
    bool is_good = true;

    while (is_good && (letter = getopt_long(argc, argv, "", table, NULL)) != -1) {
        switch (letter) {
        case 's': is_good = read_seeds(o, optarg); break;
        case 'v': o->shows = true; break;
        case 'k': o->shrinks = true; break;
        case 'p': o->prints = true; break;
        case 'f': o->rest.faults = strtoull(optarg, NULL, 0); break;
        case 'c': o->rest.clients = (unsigned)strtoul(optarg, NULL, 0); break;
        case 'l': o->rest.length_ms = strtoll(optarg, NULL, 10); break;
        case 'j': o->jobs = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'n': o->rest.is_plain = true; break;
        case 'a': is_good = read_activities(&o->rest, optarg); break;
        case 't': is_good = read_topology(o, optarg); break;
        case 'o': o->only_first = true; break;
        case 'g': o->svg = optarg; break;
        default: is_good = false;
        }
    }
    return is_good && optind == argc && o->jobs >= 1 && o->jobs <= JOBS_MAX &&
           (!o->only_first || o->jobs == 1) && (o->svg == NULL || o->first == o->last);
}

/* next: the seed that no job has taken yet. */
static totals run_seeds(const options *o, _Atomic uint64_t *next)
{
    totals   all = { 0 };
    uint64_t seed;

    while ((seed = atomic_fetch_add(next, 1)) <= o->last) {
        run_one(o, seed, &all);
        if (o->only_first && all.failed > 0)
            break;
    }
    return all;
}

static void add(totals *to, const totals *more)
{
    to->worlds += more->worlds;
    to->failed += more->failed;
    to->operations += more->operations;
    to->acquires += more->acquires;
    to->steps += more->steps;
    to->hours += more->hours;
}

/* Each job writes its totals into its pipe.  A job that dies counts as a failed world. */
static totals run_jobs(const options *o, _Atomic uint64_t *next)
{
    totals all = { 0 };
    int    ends[JOBS_MAX][2];
    pid_t  pids[JOBS_MAX];

    for (unsigned i = 0; i < o->jobs; i++) {
        (void)fflush(NULL);
        pids[i] = pipe(ends[i]) == 0 ? fork() : -1;
        if (pids[i] == 0) {
            totals mine = run_seeds(o, next);
            bool   done = write(ends[i][1], &mine, sizeof mine) == (ssize_t)sizeof mine;
            (void)fflush(NULL);
            _exit(done ? EXIT_SUCCESS : EXIT_FAILURE);
        }
        (void)close(ends[i][1]);
    }
    for (unsigned i = 0; i < o->jobs; i++) {
        totals mine = { 0 };
        if (pids[i] < 0 || read(ends[i][0], &mine, sizeof mine) != (ssize_t)sizeof mine) {
            (void)printf("job %u died\n", i);
            mine.worlds = mine.failed = 1;
        }
        add(&all, &mine);
        (void)close(ends[i][0]);
        if (pids[i] > 0)
            (void)waitpid(pids[i], NULL, 0);
    }
    return all;
}

static totals run(const options *o)
{
    size_t            size = sizeof(_Atomic uint64_t);
    _Atomic uint64_t *next = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                  -1, 0); /* shared by the jobs */

    if (next == MAP_FAILED) {
        perror("bowline-sim: mmap");
        exit(EXIT_FAILURE);
    }
    atomic_init(next, o->first);
    totals all = o->jobs > 1 ? run_jobs(o, next) : run_seeds(o, next);
    (void)munmap(next, size);
    return all;
}

static double cpu_seconds(int of)
{
    struct rusage used = { 0 };

    (void)getrusage(of, &used); /* the arguments are valid */
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    options o     = { .first = 1, .last = 100, .jobs = 1, .rest = sim_rest_all() };
    double  began = bwl_seconds();

    if (!read_options(&o, argc, argv))
        return usage();
    o.prints = o.prints || o.first == o.last;
    sim_say_begin(o.shows);
    sim_crash_watch();
    totals all     = run(&o);
    double seconds = bwl_seconds() - began;
    double cpu     = cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN);
    (void)printf("%" PRIu64 " worlds, %.1f virtual hours, %" PRIu64 " operations (%" PRIu64
                 " acquires), %" PRIu64 " events in %.1f s;\n"
                 "in a second of a CPU %.2f hours and %.0f operations\n",
                 all.worlds, all.hours, all.operations, all.acquires, all.steps, seconds,
                 all.hours / cpu, (double)all.operations / cpu);
    (void)printf("%" PRIu64 " passed, %" PRIu64 " failed\n", all.worlds - all.failed, all.failed);
    return all.failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
