/*
 * topology.h -- what depends on the topology: its locks, the faults of its servers, and how each is
 * repaired.
 *
 * One file each: topology_server.c, topology_redlock.c, ... A fault of servers is injected,
 * repaired in steps, and followed by the next one when every lock was held again (server_faults.c).
 */
#ifndef SOAK_TOPOLOGY_H
#define SOAK_TOPOLOGY_H

#include "tests/soak/soak.h"

struct soak_topology {
    const char *name;
    soak_lock   locks[SOAK_LOCKS];
    unsigned    weights[SOAK_KINDS_END]; /* how frequent each kind of fault is */
    unsigned    pause_ms;                /* the maximum between two faults */
    bool        has_foreign;             /* programs that send SET NX */

    /* Starts and stops the servers, in run->nodes. */
    void (*start)(soak_run *run);
    void (*stop)(soak_run *run);

    /* Writes the URL of this member into the journal, and starts its proxies, if it has some. */
    void (*set_url)(soak_run *run, unsigned member);

    /* Injects the fault of run->server_fault, or its first part. */
    void (*inject)(soak_run *run, soak_server_fault *t);

    /* The next step of the repair; true: it is done. */
    bool (*repair)(soak_run *run, soak_server_fault *t);

    /* The server that has this lock and its queue; NULL: not known now. */
    server *(*lock_server)(soak_run *run, unsigned lock);
};

extern const soak_topology soak_server;
extern const soak_topology soak_redlock;
extern const soak_topology soak_sentinel;
extern const soak_topology soak_cluster;

/* Shared by the topologies. */

#define SOAK_WEIGHTS_OF_MEMBERS \
    [SOAK_NOTHING] = 350, [SOAK_STOP_SHORT] = 120, [SOAK_STOP_LONG] = 60, [SOAK_KILL] = 60

#define SOAK_WEIGHTS_OF_PROXIES \
    [SOAK_CUT] = 100, [SOAK_HOLD_SHORT] = 80, [SOAK_HOLD_LONG] = 50, [SOAK_LATE] = 50

enum { SOAK_MOMENT_MS = 200 };

/* The part of `whole_ms` that the fault lasts. */
int64_t soak_share(const soak_fault *fault, int64_t whole_ms);

/* The host and port of a URL of redis://. */
const char *soak_host_of(const char *url);

#endif
