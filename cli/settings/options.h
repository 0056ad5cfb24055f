/*
 * options.h -- what can be said on the command line.
 *
 * There is one table.  The parser, the help, the guesses at what was meant and, for those who want
 * them, a manual page or completions are all made from it.
 */
#ifndef BOWLINE_CLI_SETTINGS_OPTIONS_H
#define BOWLINE_CLI_SETTINGS_OPTIONS_H

#include <bowline/bowline.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/text/say.h"

/* Columns: see option_table.h. */
#define RUN_OPTION_MAP(X)                                                                     \
    X(WAIT, 'w', "wait", "TIME", "wait at most this long for the lock (or: forever)")         \
    X(NO_WAIT, 'n', "no-wait", NULL, "do not wait; the same as -w 0s")                        \
    X(SKIP, 0, "skip", NULL, "if not acquired, exit 0; implies -n unless -w")                 \
    X(BUSY_CODE, 'E', "conflict-exit-code", "N", "if not acquired, exit N, not 124")          \
    X(LEASE, 't', "lease", "TIME", "how long the lock outlives a dead holder")                \
    X(MAX_HOLD, 0, "max-hold", "TIME", "stop COMMAND and release the lock after TIME")        \
    X(NO_RENEW, 0, "no-renew", NULL, "do not renew the lease")                                \
    X(ON_LOST, 0, "on-lost", "term|kill|warn", "what to do with COMMAND if the lock is lost") \
    X(KILL_AFTER, 0, "kill-after", "TIME", "time from TERM to KILL (5s)")                     \
    X(CLOSE, 0, "close", NULL, "COMMAND does not inherit the lock")                           \
    X(STATUS_FD, 0, "status-fd", "N", "write events to descriptor N, as JSON lines")          \
    X(URL, 0, "url", "URL", "where the locks are: file:  redis://HOST")                       \
    X(URL_FILE, 0, "url-file", "FILE", "read the URL, with password, from FILE")              \
    X(QUIET, 'q', "quiet", NULL, "no message while waiting or if not acquired")               \
    X(VERBOSE, 'v', "verbose", NULL, "print what happens")                                    \
    X(HELP, 'h', "help", NULL, "show this help")

typedef enum lost_policy {
    LOST_TERM = 1, /* TERM in time, KILL before it goes */
    LOST_KILL,     /* KILL before it goes               */
    LOST_WARN,     /* only say so                       */
} lost_policy;

/* What was said; 0 and NULL where nothing was, if not said otherwise. */
typedef struct run_options {
    const char *name;
    char      **command; /* ends with NULL */
    const char *url;
    const char *url_file;
    int64_t     wait_ms; /* as in bowline_acquire_options */
    int64_t     max_hold_ms;
    int64_t     kill_after_ms; /* -1 where nothing was said */
    uint32_t    lease_ms;
    lost_policy on_lost;
    int         busy_code;
    int         status_fd; /* -1: none */
    bool        skips;
    bool        no_renew;
    bool        closes;
    bool        quiet;
    bool        verbose;
} run_options;

/* Reads `run ...`; argv[0] is "run".  What it returns borrows from argv. */
int run_options_read(run_options *ret_options, int argc, char **argv, failure *reterr);

/* A duration that must be from `min_ms` to `max_ms`; `where` is what to call it. */
int options_duration(int64_t *ret_ms, const char *where, const char *text, const int64_t bounds[2],
                     failure *reterr);

/* Refuses a URL where the name of a lock is meant: it would lock by that name on this machine, and
 * a password in it would be shown, and be handed to the command. */
int options_check_name(const char *name, const char *command, failure *reterr);

/* The help on one screen, and the long one. */
void run_usage(FILE *out);
void run_help(FILE *out);

#endif
