/*
 * program.h -- what all programs under test share: the plan, the client, and what a program sees.
 *
 * A program reports its claims to check.h.
 */
#pragma once

#include "sim/load/check.h"

#include <bowline/async.h>

enum { LOAD_SLACK_MS = 100 }; /* an operation may end so late: its thread gets the CPU late */

/* What the program does. */
typedef struct load_plan {
    const char *url; /* borrowed */
    uint64_t    seed;
    unsigned    activities;  /* at the same time, 1 .. 8 */
    unsigned    names;       /* of locks, 1 .. CHECK_NAMES_MAX */
    unsigned    operations;  /* acquires until it stops by itself; 0: no limit */
    int64_t     pause_ms;    /* between a release and the next acquire, at most */
    int64_t     hold_ms;     /* at most */
    int64_t     max_hold_ms; /* of every second hold; 0: none */
    uint32_t    lease_ms;
    uint32_t    reply_ms;
    uint32_t    late_ms;    /* an operation may end so late beyond what is documented */
    bool        is_beside;  /* others take these names with another protocol */
    unsigned    closes_in;  /* one activity of so many closes the client; 0: never */
    bool        may_fail;   /* the world has faults: UNREACHABLE, UNKNOWN, LOST may happen */
    bool        may_refuse; /* also REFUSED */
    unsigned    threads;    /* that block, on one client; 0: an event loop with activities */
} load_plan;

typedef struct load_counts {
    uint64_t acquires;     /* that have ended */
    uint64_t statuses[16]; /* by -status */
    uint64_t extends;
    uint64_t yields;
    uint64_t queries;
    uint64_t losses;
} load_counts;

typedef struct load_program {
    load_plan       plan;
    uint64_t        seed;
    sim_process    *process;
    bowline_client *client;
    load_counts    *counts;
    unsigned        begun; /* acquires */
    bool            stops; /* begins nothing new */
    void           *state; /* of the kind of program; freed with it */
} load_program;

uint64_t load_draw(load_program *program, uint64_t below); /* 0: 0 */

/* Milliseconds of its boot clock. */
int64_t load_own_ms(const load_program *program);

const char *load_lock_name(unsigned name);

bool load_may_begin(const load_program *program);

/* Fails unless this world can produce the status. */
void load_check_status(load_program *program, const char *what, int status,
                       const bowline_error *error);

/* The library says how long a call may take: with a wait, that and one reply; without, three
 * replies. */
int64_t load_limit_ms(const load_program *program, int64_t wait_ms);

/* How long the program may rely on a hold, by its boot clock in nanoseconds: it reads the clock
 * before it asks. */
int64_t load_until(const load_program *program, bowline_hold *hold);

/* The longest time of the next hold; 0: none. */
int64_t load_max_hold_ms(load_program *program);

/* False: it failed, and the check knows. */
bool load_open(load_program *program, uint32_t flags);
void load_close(load_program *program);
