/*
 * topology.h -- what a soak knows of the servers it rains on: which locks they have, which faults
 * befall them, and how each is mended.
 *
 * One file each: topology_server.c, topology_redlock.c, ...  A fault of servers is struck, mended
 * step by step, and followed by the next when every lock has been held again (trouble.c).
 */
#ifndef SOAK_TOPOLOGY_H
#define SOAK_TOPOLOGY_H

#include "tests/soak/soak.h"

struct soak_topology {
    const char *name;
    soak_lock   locks[SOAK_LOCKS];
    unsigned    weights[SOAK_KINDS_END]; /* how frequent each kind of fault is                 */
    unsigned    pause_ms;                /* between two faults, at the most                    */
    bool        has_strangers;           /* who say SET NX                                     */

    /* The servers, in run->nodes. */
    void (*start)(soak_run *run);
    void (*stop)(soak_run *run);

    /* Says by which URL this member comes, in its place in the journal; a member that has a line
     * gets it here. */
    void (*reach)(soak_run *run, unsigned member);

    /* Carries out a fault of servers, as run->trouble says, or its first part. */
    void (*strike)(soak_run *run, soak_trouble *t);

    /* The next step towards health; true: it is mended. */
    bool (*mend)(soak_run *run, soak_trouble *t);

    /* Who has this lock and its line; NULL: that cannot be said just now. */
    server *(*keeper)(soak_run *run, unsigned lock);
};

extern const soak_topology soak_server;
extern const soak_topology soak_redlock;
extern const soak_topology soak_sentinel;
extern const soak_topology soak_cluster;

/* What several of them do alike. */

#define SOAK_WEIGHTS_OF_MEMBERS \
    [SOAK_NOTHING] = 350, [SOAK_STOP_SHORT] = 120, [SOAK_STOP_LONG] = 60, [SOAK_KILL] = 60

#define SOAK_WEIGHTS_OF_LINES \
    [SOAK_CUT] = 100, [SOAK_HOLD_SHORT] = 80, [SOAK_HOLD_LONG] = 50, [SOAK_LATE] = 50

enum { SOAK_MOMENT_MS = 200 };

/* So long: a share of it. */
int64_t soak_share(const soak_fault *fault, int64_t whole_ms);

/* The host and port of a URL of redis://. */
const char *soak_host_of(const char *url);

#endif
