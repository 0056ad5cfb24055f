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

/* Name; letter, or 0; long name; argument, or NULL; what it does. */
#define RUN_OPTION_MAP(X)                                                                  \
    X(WAIT, 'w', "wait", "TIME", "wait at most so long for the lock (or: forever)")        \
    X(NO_WAIT, 'n', "no-wait", NULL, "do not wait; the same as -w 0s")                     \
    X(SKIP, 0, "skip", NULL, "not acquired: skip it, exit 0; -n unless -w")                \
    X(BUSY_CODE, 'E', "conflict-exit-code", "N", "not acquired: exit N instead of 124")    \
    X(LEASE, 't', "lease", "TIME", "how long a dead holder blocks the others")             \
    X(MAX_HOLD, 0, "max-hold", "TIME", "end the command and the lock after so long")       \
    X(NO_RENEW, 0, "no-renew", NULL, "the lease is all the time there is")                 \
    X(ON_LOST, 0, "on-lost", "term|kill|warn", "what happens to COMMAND if the lock goes") \
    X(KILL_AFTER, 0, "kill-after", "TIME", "from TERM to KILL, before the lock goes (5s)") \
    X(CLOSE, 0, "close", NULL, "COMMAND alone does not keep the lock")                     \
    X(STATUS_FD, 0, "status-fd", "N", "write what happens to descriptor N, as JSON lines") \
    X(URL, 0, "url", "URL", "where locks live: file:  redis://HOST")                       \
    X(URL_FILE, 0, "url-file", "FILE", "the same from FILE: for a URL with a password")    \
    X(QUIET, 'q', "quiet", NULL, "say nothing while waiting, nor if not acquired")         \
    X(VERBOSE, 'v', "verbose", NULL, "say what happens")                                   \
    X(HELP, 'h', "help", NULL, "this text")

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
    bool        wants_help;
} run_options;

/* Reads `run ...`; argv[0] is "run".  What it returns borrows from argv. */
int options_read(run_options *ret_options, int argc, char **argv, trouble *reterr);

/* A duration that must be from `min_ms` to `max_ms`; `where` is what to call it. */
int options_duration(int64_t *ret_ms, const char *where, const char *text, const int64_t bounds[2],
                     trouble *reterr);

/* Refuses a URL where the name of a lock is meant: it would lock by that name on this machine, and
 * a password in it would be shown, and be handed to the command. */
int options_check_name(const char *name, const char *command, trouble *reterr);

/* The help on one screen, and the long one. */
void options_help(FILE *out);
void options_manual(FILE *out);

#endif
