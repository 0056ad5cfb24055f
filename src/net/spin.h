/*
 * spin.h -- waiting for an answer without sleeping, where that is worth it.
 *
 * Who sleeps has to be woken, and on an idle CPU that takes longer than a server nearby needs for
 * an answer.  So whoever reads where his answer will come may look there again and again for a
 * while, and sleep only then.  That pays if answers come soon and the CPU has nothing better to do;
 * both are judged by what was seen before:
 *
 *   - How long an answer takes is smoothed as TCP smooths its round trip (RFC 6298).  Spinning
 *     lasts for that and four times its mean deviation, at most BWL_SPIN_MAX_NS; where answers take
 *     longer than that there is none.
 *   - The CPU is offered to others once, after the first look.  If it was away from us for half of
 *     what an answer takes, then or later, somebody else had use for it: whoever gives the answer,
 *     perhaps.
 *   - If others of this process wait for answers as well, a CPU must be left for each of them, and
 *     one for the server.
 *   - Spinning in vain is followed by a pause, and each pause is twice as long as the one before;
 *     it shrinks by an eighth when spinning pays.  So one in six may fail before they are long.
 *
 * A spin belongs to one connection and is guarded by its client's mutex, but for
 * bwl_spin_receive.  Why it is so, and what it brings: docs/design/spinning.md.
 */
#pragma once

#include "core/status.h"

#include <sys/types.h>

enum {
    BWL_SPIN_MAX_NS       = 200000, /* an answer that takes longer is slept for                 */
    BWL_SPIN_PAUSE_MAX_MS = 1024,
};

/* The system, or what a test has instead.  All that is called without the client's mutex. */
typedef struct bwl_spin_system {
    int64_t (*now_ns)(void);
    ssize_t (*look)(int fd, void *ret_bytes, size_t room);  /* recv(2), MSG_DONTWAIT            */
    ssize_t (*sleep)(int fd, void *ret_bytes, size_t room); /* recv(2)                          */
    void (*offer)(void);                                    /* sched_yield(2)                   */
    unsigned (*cpus)(void);                                 /* that this process may use        */
} bwl_spin_system;

extern const bwl_spin_system bwl_spin_real;

typedef struct bwl_spin {
    const bwl_spin_system *system; /* NULL: the real one                                        */
    bool                   is_off;
    int64_t                smoothed_ns; /* how long an answer takes; 0: not known               */
    int64_t                varies_ns;   /* its mean deviation                                   */
    bwl_ms                 rests_until;
    bwl_ms                 pause_ms; /* the next one; 0: 1                                      */
    uint64_t               looks;    /* for tests and figures: how often it has looked,         */
    uint64_t               sleeps;   /* slept,                                                  */
    uint64_t               paid;     /* spun and had the answer by that,                        */
    uint64_t               unpaid;   /* spun in vain, or been disturbed                         */
} bwl_spin;

/* One wait: how it is to be done, and then how it was. */
typedef struct bwl_spin_wait {
    const bwl_spin_system *system;
    bool                   is_measured;
    int64_t                spin_ns; /* 0: sleep at once                                         */
    int64_t                gap_ns;  /* who did not run for so long has been disturbed           */
    int64_t                took_ns;
    unsigned               looks;
    bool                   slept;
    bool                   was_disturbed;
} bwl_spin_wait;

/* A wait that is about to begin. */
bwl_spin_wait bwl_spin_plan(const bwl_spin *spin, bwl_ms now);

/* As recv(2) on a socket that blocks, with its errno.  Without the mutex. */
ssize_t bwl_spin_receive(bwl_spin_wait *wait, int fd, void *ret_bytes, size_t room);

/* How it was, for the next one.  `heard`: something came, be it the end of the connection. */
void bwl_spin_learn(bwl_spin *spin, const bwl_spin_wait *wait, bool heard, bwl_ms now);

/* May a wait spin when so many others of the process wait for an answer, on so many CPUs? */
bool bwl_spin_has_room(unsigned others, unsigned cpus);
