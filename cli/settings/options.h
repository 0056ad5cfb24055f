/*
 * options.h -- the command line of `bowline run`.
 */
#pragma once

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
    LOST_TERM = 1, /* TERM in time, KILL before the lock is lost */
    LOST_KILL,     /* KILL before the lock is lost */
    LOST_WARN,     /* only a message */
} lost_policy;

/* What the user typed; 0 or NULL if not given, unless noted. */
typedef struct run_options {
    const char *name;
    char      **command; /* ends with NULL */
    const char *url;
    const char *url_file;
    int64_t     wait_ms; /* as in bowline_acquire_options */
    int64_t     max_hold_ms;
    int64_t     kill_after_ms; /* -1: not given */
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

/* Reads `run ...`; argv[0] is "run". Returns 1, 0 for --help, or below 0 with *reterr. The result
 * borrows from argv. */
int run_options_read(run_options *ret_options, int argc, char **argv, failure *reterr);

int options_duration(int64_t *ret_ms, const char *where, const char *text, const int64_t bounds[2],
                     failure *reterr);

/* Refuses a URL in the place of the name. It would become the name of a local lock, and a password
 * in it would be shown and passed to the command. */
int options_check_name(const char *name, const char *command, failure *reterr);

void run_usage(FILE *out);
void run_help(FILE *out);
