/*
 * options.h -- the command line of bowline-lab.
 *
 * One table of commands and one of options produce the help, getopt_long and the suggestions.  The
 * options of faults come from lab/world/scenario.h.
 */
#pragma once

#include "lab/search/explore.h"
#include <stdio.h>

/* X(NAME, operands, what it does) */
#define BWL_COMMANDS(X)                                                                        \
    X(LIST, "list", "", "list protocols, invariants and scenarios")                            \
    X(EXPLAIN, "explain", "LOCK", "explain a lock, what breaks it, and what to use instead")   \
    X(TRY, "try", "PROTOCOL", "find the smallest budget of faults that breaks each invariant") \
    X(REPLAY, "replay", "FILE", "play a schedule against a redis-server that it starts")       \
    X(MATRIX, "matrix", "[PROTOCOL...]", "print a table of protocols by faults")               \
    X(RUN, "run", "[SCENARIO|FILE...]", "visit every state of the scenarios, breadth first")   \
    X(WALK, "walk", "[SCENARIO...]", "take random walks, if there are too many states")        \
    X(SERVERS, "servers", "[SCENARIO...]", "visit every state of a lock on several servers")

typedef enum bwl_lab_command {
#define X(name, word, operands, words) BWL_COMMAND_##name,
    BWL_COMMANDS(X)
#undef X
        BWL_COMMANDS_COUNT
} bwl_lab_command;

/* X(NAME, letter or 0, name, argument or NULL, commands, what it does) */
#define BWL_OPTIONS(X)                                                                             \
    X(CLIENTS, 'c', "clients", "N", TRY | MATRIX | SERVERS, "number of clients (2)")               \
    X(ROUNDS, 0, "rounds", "N", TRY | MATRIX, "acquires of each client (1)")                       \
    X(FAULTS, 'f', "faults", "N", TRY | MATRIX, "total number of faults at most (2)")              \
    X(PACE, 0, "pace", "N", TRY | MATRIX,                                                          \
      "rate of a clock with the fault --rate, in per cent (what the drift covers)")                \
    X(INVARIANT, 'i', "invariant", "NAME", TRY, "check only this invariant; list shows the names") \
    X(SET, 0, "set", "SETTINGS", TRY,                                                              \
      "numbers and times, as lab: in a lock file has them: 'lease 5s skew 3s'")                    \
    X(START, 0, "start", "VALUE", TRY,                                                             \
      "what the key has at the start: nothing, stale, a value, 'VALUE ttl 5s'")                    \
    X(SVG, 0, "svg", "FILE", TRY, "write the shortest schedule as a drawing")                      \
    X(MERMAID, 0, "mermaid", NULL, TRY, "write the schedule as a diagram for Markdown")            \
    X(JSON, 0, "json", NULL, TRY, "write the schedule for replay and programs")                    \
    X(HTML, 0, "html", "FILE", TRY | MATRIX, "write a page that steps through each schedule")      \
    X(SCALE, 0, "scale", "N", REPLAY, "real ms for each ms of the schedule (20, or 1)")            \
    X(PROTOCOL, 0, "protocol", "FILE", REPLAY, "shared object with your own protocol")             \
    X(SERVER, 0, "server", "FILE", REPLAY, "the redis-server to start")                            \
    X(MEMORY, 'm', "memory", "SIZE", TRY | MATRIX | RUN, "memory to use at most (1G)")             \
    X(QUIET, 'q', "quiet", NULL, TRY | MATRIX, "no progress on a terminal")                        \
    X(BUDGET, 'b', "budget", "N", RUN | MATRIX | SERVERS,                                          \
      "stop after N states of a scenario or cell (2000000)")                                       \
    X(SEED, 's', "seed", "N", RUN | WALK, "seed of the random numbers (1)")                        \
    X(RUNS, 'r', "runs", "N", RUN | WALK, "number of walks (100000)")                              \
    X(DRAW, 'd', "draw", NULL, RUN | WALK | SERVERS,                                               \
      "draw also if an invariant was expected to break")                                           \
    X(PLAIN, 'p', "plain", NULL, RUN, "do not reduce states by symmetry")                          \
    X(TAP, 't', "tap", NULL, RUN | WALK, "report in the Test Anything Protocol")                   \
    X(LANG, 0, "lang", "LANG", ~0u, "en or zh (as LC_ALL, LC_MESSAGES or LANG say)")               \
    X(HELP, 'h', "help", NULL, ~0u, "show this help")

typedef enum bwl_lab_help {
    BWL_HELP_NONE = 0,
    BWL_HELP_COMMANDS,
    BWL_HELP_FORMAT, /* the grammar of lock files */
} bwl_lab_help;

typedef struct bwl_lab_options {
    bwl_lab_command command;
    char          **operands;
    unsigned        operands_count;
    unsigned        clients; /* 0: default */
    unsigned        rounds;
    unsigned        pace; /* 0: default */
    unsigned        faults_max;
    bool            has_faults; /* faults_max was given */
    bool            has_budget; /* a fault was named */
    uint8_t         budget[BWL_BUDGETS_COUNT];
    unsigned        invariants; /* 0: all */
    const char     *settings;
    const char     *start; /* NULL: as the world has it */
    const char     *svg;
    const char     *html;
    const char     *server;
    const char     *protocol;
    unsigned        scale; /* 0: by schedule */
    bool            mermaid;
    bool            json;
    bool            quiet;
    bool            draws;
    bool            tap;
    bwl_lab_help    help;
    bwl_search      search;
} bwl_lab_options;

/* 0, or an exit status after a message. */
int bwl_options_read(bwl_lab_options *ret_options, int argc, char **argv);

void bwl_options_help(FILE *out);
void bwl_options_help_on_format(FILE *out); /* the grammar of lock files */

/* What the command line changes in a world, apart from its faults. */
void bwl_options_change(const bwl_lab_options *set, bwl_scenario *world);

/* --start.  0, or an exit status after a message. */
int bwl_options_start(const bwl_lab_options *set, bwl_scenario *world);

/* The commands of bowline-lab.  Each returns the exit status. */

int bwl_verb_explain(const bwl_lab_options *set);
int bwl_verb_try(const bwl_lab_options *set);
int bwl_verb_replay(const bwl_lab_options *set);
int bwl_verb_matrix(const bwl_lab_options *set);

int bwl_verb_servers(const bwl_lab_options *set);

/* run and walk */
int bwl_verb_run(const bwl_lab_options *set);
