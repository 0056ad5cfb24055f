/*
 * program.h -- what all programs under test share: the plan, the client, and what a program sees.
 *
 * A program reports its claims to check.h.
 */
#pragma once

#include "sim/load/check.h"

#include <bowline/async.h>

enum {
    LOAD_SLACK_MS       = 100, /* an operation may end so late: its thread gets the CPU late */
    LOAD_ACTIVITIES_MAX = 32,
    LOAD_THREADS_MAX    = 8,
};

/* Part of the password in each URL that has one. */
#define LOAD_SECRET "sim-secret"

/* How its acquires share their locks: see shares.h. */
typedef struct load_shares {
    uint32_t limit; /* of the permits of each name; 0: all are exclusive */
    bool     is_crowd;
} load_shares;

/* What the program does. */
typedef struct load_plan {
    const char *url; /* borrowed */
    uint64_t    seed;
    unsigned    number;      /* of the client, for check.h */
    unsigned    activities;  /* at the same time, 1 .. LOAD_ACTIVITIES_MAX */
    unsigned    threads;     /* that block, on one client; 0: an event loop with activities */
    unsigned    names;       /* of locks, 1 .. CHECK_NAMES_MAX */
    int64_t     pause_ms;    /* between a release and the next acquire, at most */
    int64_t     hold_ms;     /* at most */
    int64_t     max_hold_ms; /* of every second hold; 0: none */
    int64_t     step_ms; /* the activities act together, once in this time; 0: each for itself */
    uint32_t    lease_ms;
    uint32_t    reply_ms;
    uint32_t    late_ms;   /* an operation may end so late beyond what is documented */
    uint32_t    calm_ms;   /* without faults it ends so long after its wait, at most */
    unsigned    closes_in; /* one activity of so many closes the client; 0: never */
    int64_t     fork_ms;   /* it forks a child so long after its start; 0: never */
    int64_t     ticket_ms; /* holds are passed on, and it looks for tickets so often; 0: never */
    int64_t ticket_break;  /* connections break so many ns after an import begins; 0: they do not */
    int64_t period_ms;     /* of some names: see periods.h; 0: none */
    load_shares shares;
    bool        is_beside;     /* others take these names with another protocol */
    bool        no_renewal;    /* every second hold is kept to its end */
    bool        has_breaks;    /* holds are broken */
    bool        elects;        /* holds announce that they lead, and it observes: elections.h */
    bool        takes_several; /* acquires several names at once; a program with threads */
} load_plan;

typedef struct load_counts {
    uint64_t acquires;     /* that have ended */
    uint64_t statuses[16]; /* by -status */
    uint64_t extends;
    uint64_t yields;
    uint64_t queries;
    uint64_t releases;
    uint64_t breaks;
    uint64_t exports;
    uint64_t imports;
} load_counts;

/* Of all these kinds together. */
uint64_t load_operations(const load_counts *counts);

typedef struct load_program {
    load_plan       plan;
    uint64_t        seed;
    sim_process    *process;
    bowline_client *client;
    load_counts    *counts;
    bool            stops;         /* begins nothing new */
    int64_t         last_flush_at; /* by the clock of the world: it reports what failed since */
    int64_t         unreached_at;  /* the same: it had no connection then */
    int64_t         opened_at;     /* the same: and none then */
    int64_t         fork_at;       /* the same: forks a child */
    void           *state;         /* of the kind of program; freed with it */
} load_program;

/* An operation or a call that has begun. */
typedef struct load_call {
    const char *what;
    int64_t     first_ms; /* by its boot clock */
    int64_t     began_ms; /* the same; or the end of a pause of its process: limits count from it */
    int64_t     since;    /* by the clock of the world */
    int64_t     wait_ms;  /* of an acquire or a yield; else 0 */
    unsigned    name;     /* of its lock; CHECK_NO_NAME */
    int         also;     /* a status that it may have, beside those of every call; 0: none */
} load_call;

uint64_t load_draw(load_program *program, uint64_t below); /* 0: 0 */

/* Milliseconds of its boot clock. */
int64_t load_own_ms(const load_program *program);

const char *load_lock_name(unsigned name);

/* Draws the options of an acquire. */
bowline_acquire_options load_acquire_options(load_program *program);
int64_t                 load_yield_wait_ms(load_program *program);
uint32_t                load_extend_ms(load_program *program);

load_call load_begin(const load_program *program, const char *what, unsigned name, int64_t wait_ms);

/* The call has ended: fails unless this world can produce the status now.  Not late: see
 * load_check_time. */
void load_end(load_program *program, const load_call *call, int status, const bowline_error *error);

/* Fails if the call has lasted longer than the library says: with a wait, that and one reply;
 * without, three replies.  When nothing disturbs the client, it ends much sooner. */
void load_check_time(load_program *program, const load_call *call);

/* By its boot clock: it must have ended by then.  INT64_MAX: no limit. */
int64_t load_limit_ms(const load_program *program, const load_call *call);

/* How long the program may rely on a hold: it reads the clock before it asks. */
check_left load_left(const load_program *program, bowline_hold *hold);

/* A release has ended.  `had_ended`: the hold had no time left before. */
void load_check_release(const load_program *program, int status, bool had_ended);

/* The state of a hold agrees with the time that is left. */
void load_check_hold(load_program *program, bowline_hold *hold, unsigned name);

/* The descriptor of a hold is readable exactly while bowline_hold_left_ms is 0.  Time passes
 * between two calls, so it is asked before and after. */
bool load_is_readable(int fd);
void load_check_lost_fd(const load_program *program, int fd, bool was_lost, bool has_time);

/* A holder query has ended. */
void load_check_who(const load_program *program, const load_call *call, int status,
                    const bowline_holder *holder);

/* The library reports a loss, or a renewal that failed. */
void load_check_event(load_program *program, int kind, unsigned name);

/* False: it failed, and the check knows. */
bool load_open(load_program *program, uint32_t flags);
void load_close(load_program *program);
