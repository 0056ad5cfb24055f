/*
 * topology_sentinel.c -- a primary, two replicas and three sentinels: the primary is killed, with
 * or without its latest data on the replicas, or stopped, or its links are stalled, and another
 * takes over; the old primary comes back as a replica. See topology.h.
 *
 * All connections to a server go through its gate (gate.h), so all know it by that port.
 *
 * FAULTY --two sentinels name another primary--> CHANGED --each lock was held there--> RETURNS
 * --the old primary is back, and the test or the sentinels send REPLICAOF--> FOLLOWS --it is a
 * replica-->
 */
#include "tests/soak/gate.h"
#include "tests/soak/topology.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    NODES       = 3,
    SENTINELS   = 3,
    PATIENCE_MS = 30000,
    SHORT_MS    = 600,  /* less than the down-after time of a sentinel */
    LATEST_MS   = 500,  /* how long writes are not replicated */
    BACK_MS     = 1000, /* before it comes back, or gets REPLICAOF */
    AGAIN_MS    = 8000, /* a failover command is repeated */
    ASK_MS      = 50,
};

enum { FAULTY, CHANGED, RETURNS, FOLLOWS };

static struct {
    server  *sentinels[SENTINELS];
    gate    *gates[NODES];
    unsigned primary; /* as known here */
    unsigned old;
    int64_t  ask_ms; /* when the sentinels are queried again */
    int64_t  again_ms;
    int64_t  changed_us; /* when another had taken over */
    int64_t  agreed_us;  /* the latest time at which all sentinels named the primary above */
} sentinel_state;

/* ---- starting ------------------------------------------------------------------------------- */

static void await_sentinel(server *s)
{
    int64_t end_ms = clock_ms() + PATIENCE_MS;

    while (strstr(server_ask(s, "INFO sentinel"), "slaves=2,sentinels=3") == NULL) {
        if (clock_ms() > end_ms)
            fail_msg("the sentinels do not discover each other");
        sleep_ms(20);
    }
}

static void start(soak_run *run)
{
    run->nodes_count = NODES;
    for (unsigned i = 0; i < NODES; i++) {
        char options[160];
        sentinel_state.gates[i] = gate_new();
        (void)snprintf(options, sizeof options,
                       "--repl-diskless-sync-delay 0 --replica-announce-ip 127.0.0.1 "
                       "--replica-announce-port %d",
                       gate_port(sentinel_state.gates[i]));
        run->nodes[i] = server_start(options);
        gate_set_target(sentinel_state.gates[i], run->nodes[i]->port);
        atomic_store(&run->journal->ports[i], gate_port(sentinel_state.gates[i]));
        if (i > 0)
            (void)server_ask(run->nodes[i], "REPLICAOF 127.0.0.1 %d",
                             gate_port(sentinel_state.gates[0]));
    }
    for (unsigned i = 1; i < NODES; i++)
        assert_true(server_comes_to(run->nodes[i], "master_link_status:up", "INFO replication"));
    for (unsigned i = 0; i < SENTINELS; i++) {
        sentinel_state.sentinels[i] = server_start_sentinel(gate_port(sentinel_state.gates[0]), 2);
        (void)server_ask(sentinel_state.sentinels[i], "SENTINEL SET m failover-timeout 3000");
    }
    for (unsigned i = 0; i < SENTINELS; i++)
        await_sentinel(sentinel_state.sentinels[i]);
    sentinel_state.agreed_us = soak_now_us();
}

static void stop(soak_run *run)
{
    for (unsigned i = 0; i < SENTINELS; i++)
        server_stop(sentinel_state.sentinels[i]);
    for (unsigned i = 0; i < NODES; i++) {
        gate_free(sentinel_state.gates[i]);
        server_stop(run->nodes[i]);
    }
}

static void set_url(soak_run *run, unsigned member)
{
    soak_member *m = &run->journal->members[member];

    (void)snprintf(m->url, sizeof m->url,
                   "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/m?protocol=%s",
                   sentinel_state.sentinels[0]->port, sentinel_state.sentinels[1]->port,
                   sentinel_state.sentinels[2]->port, run->topology->locks[m->lock].protocol);
}

/* ---- who is the primary --------------------------------------------------------------------- */

static bool says_master(server *node)
{
    const char *role = server_may_say(node, "ROLE");

    return role != NULL && strncmp(role, "master", 6) == 0;
}

/* The node that `quorum` sentinels name and that has the role of a primary; NODES: none. Stopped
 * nodes are not queried. */
static unsigned find_primary(soak_run *run, unsigned quorum, unsigned but)
{
    unsigned votes[NODES] = { 0 };
    int64_t  now_us       = soak_now_us();

    for (unsigned i = 0; i < SENTINELS; i++) {
        const char *named =
            sentinel_state.sentinels[i]->pid == 0
                ? NULL
                : server_may_say(sentinel_state.sentinels[i], "SENTINEL GET-MASTER-ADDR-BY-NAME m");
        const char *port = named != NULL ? strchr(named, ' ') : NULL;
        for (unsigned n = 0; port != NULL && n < NODES; n++)
            votes[n] += atoi(port) == gate_port(sentinel_state.gates[n]);
    }
    if (votes[sentinel_state.primary] == SENTINELS)
        sentinel_state.agreed_us = now_us;
    for (unsigned n = 0; n < NODES; n++)
        if (n != but && votes[n] >= quorum && run->nodes[n]->pid != 0 && says_master(run->nodes[n]))
            return n;
    return NODES;
}

static bool follows(server *node, const gate *primary)
{
    char        port[32];
    const char *info = server_may_say(node, "INFO replication");

    (void)snprintf(port, sizeof port, "master_port:%d\\x0D", gate_port(primary));
    return info != NULL && strstr(info, port) != NULL &&
           strstr(info, "master_link_status:up") != NULL;
}

static bool all_follow(soak_run *run)
{
    for (unsigned i = 0; i < NODES; i++)
        if (i != sentinel_state.primary &&
            !follows(run->nodes[i], sentinel_state.gates[sentinel_state.primary]))
            return false;
    return true;
}

/* ---- the faults ----------------------------------------------------------------------------- */

/* Its grants end within a lease. */
static void kill_primary(soak_run *run, const soak_server_fault *t)
{
    server_kill(run->nodes[sentinel_state.primary]);
    run->actions[t->action - 1].gone_us = soak_now_us();
}

/* Its next writes reach no replica: the replicas are stopped, and their connections closed. */
static void kill_with_latest(soak_run *run, const soak_server_fault *t)
{
    for (unsigned i = 0; i < NODES; i++)
        if (i != sentinel_state.primary)
            server_signal(run->nodes[i], SIGSTOP);
    (void)server_ask(run->nodes[sentinel_state.primary], "CLIENT KILL TYPE replica");
    sleep_ms(soak_share(&t->fault, LATEST_MS));
    kill_primary(run, t);
    for (unsigned i = 0; i < NODES; i++)
        if (i != sentinel_state.primary)
            server_signal(run->nodes[i], SIGCONT);
}

/* Any other server may take over, perhaps one after another. */
static void record_old(soak_run *run)
{
    sentinel_state.old = sentinel_state.primary;
    soak_server_fault_replaces(run, 1u << sentinel_state.old, ~(1u << sentinel_state.old));
}

static void inject(soak_run *run, soak_server_fault *t)
{
    server  *primary = run->nodes[sentinel_state.primary];
    unsigned other   = (sentinel_state.primary + 1 + t->fault.victim % (NODES - 1)) % NODES;

    record_old(run);
    switch ((unsigned)t->fault.kind) {
    case SOAK_CLIENT_KILL: server_hang_up(primary); return;
    case SOAK_SCRIPT_FLUSH: (void)server_ask(primary, "SCRIPT FLUSH SYNC"); return;
    case SOAK_PRIMARY_SHORT:
        t->until_ms = clock_ms() + soak_share(&t->fault, SHORT_MS);
        server_signal(primary, SIGSTOP);
        return;
    case SOAK_PRIMARY_CUT: gate_cut(sentinel_state.gates[sentinel_state.primary]); return;
    case SOAK_PRIMARY_STALLED:
        t->until_ms = clock_ms() + soak_share(&t->fault, SHORT_MS);
        gate_shut(sentinel_state.gates[sentinel_state.primary], true);
        return;
    case SOAK_PRIMARY_AWAY: gate_shut(sentinel_state.gates[sentinel_state.primary], true); return;
    case SOAK_REPLICA_KILLED:
        sentinel_state.old = other;
        t->until_ms        = clock_ms() + soak_share(&t->fault, BACK_MS);
        server_kill(run->nodes[other]);
        return;
    case SOAK_SENTINEL_KILLED:
        t->until_ms = clock_ms() + soak_share(&t->fault, BACK_MS);
        server_kill(sentinel_state.sentinels[t->fault.victim % SENTINELS]);
        return;
    case SOAK_PRIMARY_KILLED: kill_primary(run, t); return;
    case SOAK_PRIMARY_LOST: kill_with_latest(run, t); return;
    case SOAK_PRIMARY_STOPPED: server_signal(primary, SIGSTOP); return;
    default: sentinel_state.again_ms = 0; return;
    }
}

static bool changes_primary(soak_kind kind)
{
    return soak_fault_harm(kind) != SOAK_KEEPS;
}

static void find_new_primary(soak_run *run, soak_server_fault *t)
{
    if (t->fault.kind == SOAK_SWITCH && clock_ms() >= sentinel_state.again_ms) {
        (void)server_may_say(sentinel_state.sentinels[0], "SENTINEL FAILOVER m");
        sentinel_state.again_ms = clock_ms() + AGAIN_MS;
    }
    unsigned found = find_primary(run, 2, sentinel_state.old);
    if (found == NODES)
        return;
    sentinel_state.primary    = found;
    sentinel_state.changed_us = soak_now_us();
    t->stage                  = CHANGED;
}

/* In one case of four the sentinels demote the old primary, after eight seconds; otherwise the test
 * does, a moment later. */
static bool is_sent_by_test(const soak_server_fault *t)
{
    return t->fault.victim % 4 != 0;
}

static void bring_back(soak_run *run, soak_server_fault *t)
{
    server *old = run->nodes[sentinel_state.old];

    if (old->pid == 0)
        server_start_again(old);
    else if (t->fault.kind == SOAK_PRIMARY_STOPPED)
        server_signal(old, SIGCONT);
    gate_shut(sentinel_state.gates[sentinel_state.old], false);
    t->until_ms = clock_ms() + soak_share(&t->fault, BACK_MS);
    t->stage    = RETURNS;
}

static void make_follow(soak_run *run, soak_server_fault *t)
{
    if (is_sent_by_test(t) || t->fault.kind == SOAK_REPLICA_KILLED)
        (void)server_may_say(run->nodes[sentinel_state.old], "REPLICAOF 127.0.0.1 %d",
                             gate_port(sentinel_state.gates[sentinel_state.primary]));
    t->stage = FOLLOWS;
}

/* The primary may change by itself when this machine was too slow. */
static bool has_changed_by_itself(soak_run *run)
{
    unsigned found = find_primary(run, 2, NODES);

    if (found == NODES || found == sentinel_state.primary)
        return false;
    soak_server_fault_found(run, SOAK_SWITCHED, sentinel_state.agreed_us);
    record_old(run);
    return true;
}

static bool repair_change(soak_run *run, soak_server_fault *t)
{
    if (t->stage >= RETURNS && has_changed_by_itself(run))
        return false;
    switch (t->stage) {
    case FAULTY: find_new_primary(run, t); return false;
    case CHANGED:
        /* While a sentinel still names the old primary, clients would use it. */
        if (soak_held_since(run, sentinel_state.changed_us) &&
            find_primary(run, SENTINELS, sentinel_state.old) != NODES)
            bring_back(run, t);
        return false;
    case RETURNS:
        if (clock_ms() >= t->until_ms)
            make_follow(run, t);
        return false;
    default: return all_follow(run);
    }
}

static bool repair_replica(soak_run *run, soak_server_fault *t)
{
    if (run->nodes[sentinel_state.old]->pid == 0) {
        server_start_again(run->nodes[sentinel_state.old]);
        make_follow(run, t);
    }
    return !has_changed_by_itself(run) && all_follow(run);
}

static bool repair(soak_run *run, soak_server_fault *t)
{
    unsigned which = t->fault.victim % SENTINELS;

    if (!changes_primary(t->fault.kind) && clock_ms() < t->until_ms)
        return false;
    if (t->until_ms != 0 && t->fault.kind == SOAK_PRIMARY_SHORT)
        server_signal(run->nodes[sentinel_state.primary], SIGCONT);
    if (t->fault.kind == SOAK_PRIMARY_STALLED)
        gate_shut(sentinel_state.gates[sentinel_state.primary], false);
    if (t->fault.kind == SOAK_SENTINEL_KILLED)
        server_start_again(sentinel_state.sentinels[which]);
    if (clock_ms() < sentinel_state.ask_ms)
        return !changes_primary(t->fault.kind) && t->fault.kind != SOAK_REPLICA_KILLED;
    sentinel_state.ask_ms = clock_ms() + ASK_MS;
    if (t->fault.kind == SOAK_REPLICA_KILLED)
        return repair_replica(run, t);
    return changes_primary(t->fault.kind) ? repair_change(run, t) : !has_changed_by_itself(run);
}

static server *lock_server(soak_run *run, unsigned lock)
{
    (void)lock;
    if (run->server_fault.phase == SOAK_FAULTY)
        return NULL;
    if (clock_ms() >= sentinel_state.ask_ms) {
        sentinel_state.ask_ms = clock_ms() + ASK_MS;
        if (has_changed_by_itself(run))
            return NULL;
    }
    server *primary = run->nodes[sentinel_state.primary];
    return says_master(primary) ? primary : NULL;
}

const soak_topology soak_sentinel = {
    .name     = "sentinel",
    .locks    = { [RED]   = { "red", "queue", 1000 },
                  [GREEN] = { "green", "queue", 1500 },
                  [BLUE]  = { "blue", "queue", 4000 },
                  [GREY]  = { "grey", "token", 3000 } },
    .weights = {
        SOAK_WEIGHTS_OF_MEMBERS,
        [SOAK_CLIENT_KILL] = 20,
        [SOAK_SCRIPT_FLUSH] = 10,
        [SOAK_REPLICA_KILLED] = 10,
        [SOAK_SENTINEL_KILLED] = 10,
        [SOAK_PRIMARY_SHORT] = 20,
        [SOAK_PRIMARY_CUT] = 10,
        [SOAK_PRIMARY_STALLED] = 10,
        [SOAK_PRIMARY_AWAY] = 30,
        [SOAK_SWITCH] = 20,
        [SOAK_PRIMARY_KILLED] = 30,
        [SOAK_PRIMARY_LOST] = 30,
        [SOAK_PRIMARY_STOPPED] = 30,
    },
    .pause_ms = 250,
    .start    = start,
    .stop     = stop,
    .set_url    = set_url,
    .inject   = inject,
    .repair     = repair,
    .lock_server   = lock_server,
};
