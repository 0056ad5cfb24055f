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
    OPTION_BEGIN = 256, /* beyond all letters */
#define X(name, ...) OPTION_##name,
    BENCH_OPTION_MAP(X)
#undef X
} option_number;

static int complain(bench_failure *reterr, bench_text what, bench_text why)
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
        return complain(reterr, bench_text_of("%s: \"%.80s\" is not a number", option, optarg),
                        bench_text_of("it is from %u to %u", bounds[0], bounds[1]));
    *ret_number = (unsigned)number;
    return 0;
}

/* Every name in the list must be one of ours: a slip would measure less than was meant. */
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
            return complain(reterr, bench_text_of("--only: there is no measure \"%.60s\"", name),
                            bench_text_of("bowline-bench --list says which there are"));
        if (at[size] == '\0')
            break;
        at += size + 1;
    }
    *ret_only = optarg;
    return 0;
}

/* One option; 1 if it is none of ours. */
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

/* The command that was built together with this program; else the one in $PATH. */
static char *usual_bowline(void)
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

static int complain_of_option(const char *typed, int number, bench_failure *reterr)
{
    if (number == ':')
        return complain(reterr, bench_text_of("%.80s needs a value", typed),
                        bench_text_of("none follows it on the command line"));
    return complain(reterr, bench_text_of("there is no option %.80s", typed),
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
            status = complain_of_option(argv[before], number, reterr);
    }
    if (status == 0 && optind < argc)
        status = complain(reterr, bench_text_of("\"%.80s\" is not an option", argv[optind]),
                          bench_text_of("measures are chosen by --only NAME,..."));
    if (status == 0 && s.peers == NULL && wants_peers(&s))
        status = complain(reterr, bench_text_of("--only: peers are asked for, and no --peers"),
                          bench_text_of("make bench-peers makes the list of those that are here"));
    if (status == 0 && s.bowline == NULL)
        s.bowline = usual_bowline();
    if (status == 0 && s.bowline == NULL)
        status = complain(reterr, bench_text_of("out of memory"), bench_text_of("at the start"));
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
    (void)fputs("bowline-bench                           all but what is long (two minutes)\n"
                "bowline-bench --only pair,file-pair     or some of it\n"
                "bowline-bench --rounds 3 --json\n"
                "\n"
                "usage: bowline-bench [OPTION...]\n",
                out);
#define X(name, long_name, argument, words) write_option(out, long_name, argument, words);
    BENCH_OPTION_MAP(X)
#undef X
    (void)fputs(
        "\n"
        "Ours against the least that would do without the library, in turns, in one run;\n"
        "only the ratio counts.  It starts a redis-server of its own and stops it again.\n"
        "Exit: 0; 1 a goal was not met (--strict); 2 wrong usage; 3 it could not measure.\n",
        out);
}
