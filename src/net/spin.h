/*
 * spin.h -- busy-polls for a reply before sleeping, if that is worth it.
 *
 * A sleeping thread must be woken, and on an idle CPU that takes longer than a nearby server needs
 * for a reply.  So a thread that reads from the socket may poll it repeatedly for a while, and
 * sleep only then.  That pays if replies come soon and the CPU has nothing else to do; both are
 * estimated from earlier waits:
 *
 *   - The time of a reply is smoothed as TCP smooths its round trip (RFC 6298).  Spinning lasts
 *     for that and four times its mean deviation, at most BWL_SPIN_MAX_NS; if replies take longer
 *     than that, there is no spinning.
 *   - The thread yields the CPU once, after the first poll.  If it lost the CPU for half of the
 *     time of a reply, then or later, another thread needed it: perhaps the server.
 *   - If other threads of this process wait for replies, a CPU must be left for each of them, and
 *     one for the server.
 *   - Unsuccessful spinning, and a mean above the maximum, is followed by a pause, each twice as
 *     long as the one before; the pause shrinks by an eighth when spinning pays.  So one in six may
 *     fail before pauses grow.  Waits in a pause are measured too: the mean after a single late
 *     reply is that of the other replies again when the pause ends.
 *
 * A spin belongs to one connection and is guarded by its client's mutex, except in
 * bwl_spin_receive.  Reasons and figures: docs/design/spinning.md.
 */
#pragma once

#include "core/status.h"

#include <sys/types.h>

enum {
    BWL_SPIN_MAX_NS       = 200000, /* for a reply that takes longer, sleep */
    BWL_SPIN_PAUSE_MAX_MS = 1024,
};

/* The system calls, which a test replaces.  All are called without the client's mutex. */
typedef struct bwl_spin_system {
    int64_t (*now_ns)(void);
    ssize_t (*look)(int fd, void *ret_bytes, size_t room);  /* recv(2), MSG_DONTWAIT  */
    ssize_t (*sleep)(int fd, void *ret_bytes, size_t room); /* recv(2)                */
    void (*offer)(void);                                    /* sched_yield(2)         */
    unsigned (*cpus)(void);                                 /* usable by this process */
} bwl_spin_system;

extern const bwl_spin_system bwl_spin_real;

typedef struct bwl_spin {
    const bwl_spin_system *system; /* NULL: the real one                                        */
    bool                   is_off;
    int64_t                smoothed_ns; /* time of a reply; 0: unknown */
    int64_t                varies_ns;   /* its mean deviation          */
    bwl_ms                 rests_until;
    bwl_ms                 pause_ms; /* length of the next pause; 0: 1 */
} bwl_spin;

/* One wait: its plan, and then its result. */
typedef struct bwl_spin_wait {
    const bwl_spin_system *system;
    bool                   is_measured;
    int64_t                spin_ns; /* 0: sleep at once                       */
    int64_t                gap_ns;  /* without the CPU for so long: disturbed */
    int64_t                took_ns;
    unsigned               looks;
    bool                   slept;
    bool                   was_disturbed;
} bwl_spin_wait;

/* Plans the next wait. */
bwl_spin_wait bwl_spin_plan(const bwl_spin *spin, bwl_ms now);

/* As recv(2) on a blocking socket, with its errno.  Without the mutex. */
ssize_t bwl_spin_receive(bwl_spin_wait *wait, int fd, void *ret_bytes, size_t room);

/* Updates the estimates after a wait.  `heard`: something came, even the end of the connection. */
void bwl_spin_learn(bwl_spin *spin, const bwl_spin_wait *wait, bool heard, bwl_ms now);

/* Whether a wait may spin while `others` threads of the process wait, on this number of CPUs. */
bool bwl_spin_has_room(unsigned others, unsigned cpus);
