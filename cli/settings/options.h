/*
 * options.h -- the command line: one parser and one help format for the options of every command.
 *
 * A command lists its options in an X-map (commands.h): its option_id without OPTION_; letter or 0;
 * long name; name of the argument or NULL; help.  The parser, the help, the completions and the
 * manual page are made from that list.
 */
#pragma once

#include <bowline/election.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/text/say.h"

typedef enum option_id {
    OPTION_HELP = 1,
    OPTION_VERSION,
    OPTION_WAIT,
    OPTION_NO_WAIT,
    OPTION_SKIP,
    OPTION_ONCE_PER,
    OPTION_AT_LEAST,
    OPTION_RETRY_FAILED,
    OPTION_SHARED,
    OPTION_PERMITS,
    OPTION_AND,
    OPTION_BUSY_CODE,
    OPTION_LEASE,
    OPTION_MAX_HOLD,
    OPTION_NO_RENEW,
    OPTION_ON_LOST,
    OPTION_KILL_AFTER,
    OPTION_CLOSE,
    OPTION_STATUS_FD,
    OPTION_URL,
    OPTION_URL_FILE,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_YES,
    OPTION_JSON,
    OPTION_ID,
    OPTION_FEATURE,
    OPTION_USER,
    OPTION_KEY,
    OPTION_STRICT,
    OPTION_EVERY,
    OPTION_UNTIL,
    OPTION_MAX_KEYS,
    OPTION_FOR,
    OPTION_HOLD,
    OPTION_CHECK,
    OPTION_WAIT_FOR_SERVER,
    OPTION_METRICS_FILE,
    OPTION_METRICS_NAME,
    OPTION_TICKET,
    OPTION_VALUE,
    OPTION_ONCE,
    OPTION_UNTIL_LEADER,
} option_id;

typedef struct option_row {
    option_id   id;
    char        letter;
    const char *name;
    const char *argument;
    const char *help;
} option_row;

#define OPTION_ROW(name, ...) { OPTION_##name, __VA_ARGS__ },

typedef struct option_table {
    const char       *command;
    const char       *usage;
    const option_row *rows;
    unsigned          count;
    bool              stops_at_operand; /* options after the first operand belong to a command */
    const char       *before;           /* of the help: above the usage                        */
    void (*more)(void);                 /* below the options; may be NULL                      */
    const char *after;                  /* at the end                                          */
    const char *details;                /* only for `bowline help`; may be NULL                */
} option_table;

/* `stops`: see stops_at_operand. */
#define OPTION_TABLE(name, its_rows, operands, stops)                                     \
    .command = name, .usage = "bowline " name " [OPTION...] " operands, .rows = its_rows, \
    .count = sizeof its_rows / sizeof its_rows[0], .stops_at_operand = stops

typedef enum lost_policy {
    LOST_TERM = 1, /* TERM in time, KILL before the lock is lost */
    LOST_KILL,     /* KILL before the lock is lost */
    LOST_WARN,     /* only a message */
} lost_policy;

/* Of acl and doctor; NULL if not given. */
typedef struct acl_options {
    const char *feature;
    const char *user;
    const char *key;
    bool        is_strict;
} acl_options;

/* Of run; NULL if not given. */
typedef struct metrics_options {
    const char *file;
    const char *name; /* the label */
} metrics_options;

/* Of hold, release and elect; 0 or NULL if not given. */
typedef struct hold_options {
    int         pid;    /* --for */
    const char *socket; /* --hold */
    bool        checks;
    const char *ticket; /* --ticket; also of run */
    const char *value;  /* --value of elect */
} hold_options;

/* The options of the commands that look at locks. */
typedef struct look_options {
    uint64_t    id; /* of a hold; 0: not given */
    int64_t     every_ms;
    int         max_keys;     /* -1: not given */
    const char *until;        /* a name of WATCH_EVENTS */
    bool        is_once;      /* --once of observe */
    bool        is_confirmed; /* --yes of break */
} look_options;

/* How long the lock stays taken after the command; 0: no longer than the command. */
typedef struct period {
    int64_t once_ms;
    int64_t at_least_ms;
    bool    retries_failed; /* not if the command fails */
} period;

/* As in bowline_acquire_options. */
typedef struct share {
    uint32_t mode;
    uint32_t permits;
    uint32_t limit;
} share;

enum { OTHERS_MAX = 15 }; /* --and */

typedef struct more_names {
    const char *names[OTHERS_MAX];
    size_t      count;
} more_names;

/* What the user typed; 0 or NULL if not given, unless noted. */
typedef struct run_options {
    const char     *name;    /* "" if not given */
    char          **command; /* ends with NULL  */
    const char     *url;
    const char     *url_file;
    int64_t         wait_ms; /* as in bowline_acquire_options */
    int64_t         max_hold_ms;
    int64_t         kill_after_ms; /* -1: not given */
    uint32_t        lease_ms;
    period          period;
    share           share;
    more_names      others; /* --and */
    lost_policy     on_lost;
    int             busy_code;
    int             status_fd; /* -1: none */
    bool            skips;
    bool            waits_for_server;
    bool            no_renew;
    bool            closes;
    bool            quiet;
    bool            verbose;
    bool            wants_json;
    acl_options     acl;
    hold_options    hold;
    metrics_options metrics;
    look_options    look;
} run_options;

/* Reads the options in argv[1...]; the result borrows from argv.  Returns the index of the first
 * operand, 0 for --help, or below 0 with *reterr. */
int options_parse(run_options *ret_options, const option_table *t, int argc, char **argv,
                  failure *reterr);

/* A usage error of this command. */
int options_fail(const option_table *t, failure *reterr, words what, words why);

/* Writes the help to standard output. */
void options_write(const option_table *t, bool with_details);

extern const option_table run_table;
extern const option_table elect_table;

/* Reads a time: `key` is "wait", "lease", "max-hold", "kill-after", "every" or "period".  An error
 * says nothing of what to type: the caller adds that. */
int options_time(int64_t *ret_ms, const char *key, const char *where, const char *text,
                 failure *reterr);

/* Refuses a URL in the place of the name. It would become the name of a local lock, and a password
 * in it would be shown and passed to the command. */
int options_check_name(const char *name, const char *command, failure *reterr);

/* --skip without a wait does not wait; --wait-for-server needs a wait. */
int options_take_wait(run_options *o, const option_table *t, failure *reterr);

/* Reads `run ...` or `elect ...`; argv[0] is the command. Returns 1, 0 for --help, or below 0 with
 * *reterr. */
int run_options_read(run_options *ret_options, const option_table *t, int argc, char **argv,
                     failure *reterr);
