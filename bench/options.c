/*
 * options.c -- see options.h.
 */
#include "bench/options.h"
#include "bench/measure/measures.h"

#include <assert.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/duel/peers.h"
#include "bench/harness/bench.h"

enum { ROUNDS_USUAL = 9, DELAY_USUAL_US = 1000, SETTLE_USUAL_S = 30, SAMPLES_USUAL = 10 };

typedef enum option_number {
    OPTION_BEGIN = 256, /* above all letters */
#define X(name, ...) OPTION_##name,
    BENCH_OPTION_MAP(X)
#undef X
} option_number;

static int usage_failed(bench_failure *reterr, bench_text what, bench_text why)
{
    return bench_fail(reterr, (bench_failure){
                                  .what = what,
                                  .why  = why,
                                  .type = bench_text_of("type: bowline-bench --help"),
                              });
}

static int read_number(unsigned *ret_number, const char *option, const unsigned bounds[2],
                       bench_failure *reterr)
{
    size_t        digits = strspn(optarg, "0123456789");
    unsigned long number = digits >= 1 && digits <= 9 ? strtoul(optarg, NULL, 10) : 0;

    if (digits < 1 || digits > 9 || optarg[digits] != '\0' || number < bounds[0] ||
        number > bounds[1])
        return usage_failed(reterr, bench_text_of("%s: \"%.80s\" is not a number", option, optarg),
                            bench_text_of("the range is %u to %u", bounds[0], bounds[1]));
    *ret_number = (unsigned)number;
    return 0;
}

/* Every name in the list must exist: otherwise a typing error would skip a measure. */
static int read_only(const char **ret_only, bench_failure *reterr)
{
    for (const char *at = optarg;;) {
        size_t size  = strcspn(at, ",");
        bool   known = false;
        char   name[32];
        (void)snprintf(name, sizeof name, "%.*s", (int)size, at);
        for (size_t i = 0; i < bench_measures_count && size < sizeof name; i++)
            known = known || bench_measure_is_named(&bench_measures[i], name);
        for (size_t i = 0; i < bench_peer_measures_count && size < sizeof name; i++)
            known = known || bench_peer_measure_is_named(&bench_peer_measures[i], name);
        if (!known)
            return usage_failed(reterr,
                                bench_text_of("--only: there is no measure \"%.60s\"", name),
                                bench_text_of("see bowline-bench --list"));
        if (at[size] == '\0')
            break;
        at += size + 1;
    }
    *ret_only = optarg;
    return 0;
}

/* Stores one option; 1: unknown. */
static int take(bench_settings *s, int number, bench_failure *reterr)
{
    switch (number) {
    case OPTION_ONLY: return read_only(&s->only, reterr);
    case OPTION_ROUNDS:
        return read_number(&s->rounds, "--rounds", (unsigned[]){ 1, BENCH_ROUNDS_MAX }, reterr);
    case OPTION_JSON: s->wants_json = true; return 0;
    case OPTION_SVG: s->svg = optarg; return 0;
    case OPTION_REPORT: s->report = optarg; return 0;
    case OPTION_STRICT: s->is_strict = true; return 0;
    case OPTION_DELAY:
        return read_number(&s->delay_us, "--delay", (unsigned[]){ 1, 100000 }, reterr);
    case OPTION_SETTLE:
        return read_number(&s->settle_s, "--settle", (unsigned[]){ 0, 600 }, reterr);
    case OPTION_PEERS: s->peers = optarg; return 0;
    case OPTION_QUERY: s->query = optarg; return 0;
    case OPTION_SAMPLES:
        return read_number(&s->samples, "--samples", (unsigned[]){ 1, 1000 }, reterr);
    case OPTION_LONG: s->wants_long = true; return 0;
    case OPTION_BRIEF: s->is_brief = true; return 0;
    case OPTION_BOWLINE:
        free(s->bowline);
        s->bowline = strdup(optarg);
        return 0;
    case OPTION_LIST: s->wants_list = true; return 0;
    case OPTION_HELP: s->wants_help = true; return 0;
    default: assert(number == '?' || number == ':');
    }
    return 1;
}

/* The command beside this program; else the one in $PATH. */
static char *default_bowline(void)
{
    char    path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - sizeof "bowline");

    if (size <= 0)
        return strdup("bowline");
    path[size]  = '\0';
    char *slash = strrchr(path, '/');
    (void)strcpy(slash != NULL ? slash + 1 : path, "bowline");
    return strdup(path);
}

static int option_failed(const char *typed, int number, bench_failure *reterr)
{
    if (number == ':')
        return usage_failed(reterr, bench_text_of("%.80s needs a value", typed),
                            bench_text_of("the command line ends after it"));
    return usage_failed(reterr, bench_text_of("there is no option %.80s", typed),
                        bench_text_of("usage: bowline-bench [OPTION...]"));
}

static bool wants_peers(const bench_settings *s)
{
    bench_settings with = *s;

    with.peers = "";
    for (size_t i = 0; s->only != NULL && i < bench_peer_measures_count; i++)
        if (bench_peer_measure_is_wanted(&bench_peer_measures[i], &with))
            return true;
    return false;
}

int bench_options_read(bench_settings *ret_settings, int argc, char **argv, bench_failure *reterr)
{
    static const struct option known[] = {
#define X(name, long_name, argument, ...) \
    { long_name, (argument) != NULL ? required_argument : no_argument, NULL, OPTION_##name },
        BENCH_OPTION_MAP(X)
#undef X
            { 0 },
    };
    bench_settings s      = { .rounds   = ROUNDS_USUAL,
                              .delay_us = DELAY_USUAL_US,
                              .settle_s = SETTLE_USUAL_S,
                              .samples  = SAMPLES_USUAL };
    int            status = 0;

    opterr = 0;
    while (status == 0) {
        int before = optind;
        int number = getopt_long(argc, argv, ":", known, NULL);
        if (number == -1)
            break;
        status = take(&s, number, reterr);
        if (status > 0)
            status = option_failed(argv[before], number, reterr);
    }
    if (status == 0 && optind < argc)
        status = usage_failed(reterr, bench_text_of("\"%.80s\" is not an option", argv[optind]),
                              bench_text_of("select measures with --only NAME,..."));
    if (status == 0 && s.peers == NULL && wants_peers(&s))
        status = usage_failed(reterr, bench_text_of("--only: a measure of peers needs --peers"),
                              bench_text_of("make bench-peers writes the list of installed peers"));
    if (status == 0 && s.bowline == NULL)
        s.bowline = default_bowline();
    if (status == 0 && s.bowline == NULL)
        status = usage_failed(reterr, bench_text_of("out of memory"),
                              bench_text_of("at the "
                                            "start"));
    if (status < 0)
        free(s.bowline);
    else
        *ret_settings = s;
    return status;
}

static void write_option(FILE *out, const char *name, const char *argument, const char *help)
{
    bench_text left = bench_text_of("%s %s", name, argument != NULL ? argument : "");

    (void)fprintf(out, "  --%-17s %s\n", left.text, help);
}

void bench_options_help(FILE *out)
{
    (void)fputs("bowline-bench                           all short measures (two minutes)\n"
                "bowline-bench --only pair,file-pair     some of them\n"
                "bowline-bench --rounds 3 --json\n"
                "\n"
                "usage: bowline-bench [OPTION...]\n",
                out);
#define X(name, long_name, argument, words) write_option(out, long_name, argument, words);
    BENCH_OPTION_MAP(X)
#undef X
    (void)fputs("\n"
                "Compares the library with the least code that does the same without it, in\n"
                "alternating rounds; only the ratio counts.  It runs its own redis-server.\n"
                "Exit: 0 done; 1 a goal was not met (--strict); 2 wrong usage; 3 failed.\n",
                out);
}
