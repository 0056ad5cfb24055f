/*
 * topology_sentinel.c -- a primary, two replicas and three sentinels: the primary is killed, with
 * or without its latest at the replicas, or stopped, or its links are stalled, and another takes
 * over; it comes back, and follows.  See topology.h.
 *
 * Whoever talks with a server does so through its gate (gate.h), so all know it by that port.
 *
 *      STRUCK --two sentinels name another one--> CHANGED --every lock was held there--> RETURNS
 *      --the old one is back, and told to follow by us or by the sentinels--> FOLLOWS --it does-->
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
    SHORT_MS    = 600,  /* less than after which a sentinel calls a server down               */
    LATEST_MS   = 500,  /* what does not arrive                                               */
    BACK_MS     = 1000, /* until it comes back, or is told                                    */
    AGAIN_MS    = 8000, /* a switch that was asked for is asked for again                     */
    NOTICED_US  = 5000000,
    ASK_MS      = 50,
};

enum { STRUCK, CHANGED, RETURNS, FOLLOWS };

static struct {
    server  *sentinels[SENTINELS];
    gate    *gates[NODES];
    unsigned primary; /* whom we know                                                          */
    unsigned old;
    int64_t  ask_ms; /* when they are asked again                                              */
    int64_t  again_ms;
    int64_t  changed_us; /* another had taken over                                            */
} there;

/* ---- starting ------------------------------------------------------------------------------- */

static void await_sentinel(server *s)
{
    int64_t end_ms = clock_ms() + PATIENCE_MS;

    while (strstr(server_ask(s, "INFO sentinel"), "slaves=2,sentinels=3") == NULL) {
        if (clock_ms() > end_ms)
            fail_msg("the sentinels do not come to know of each other");
        sleep_ms(20);
    }
}

static void start(soak_run *run)
{
    run->nodes_count = NODES;
    for (unsigned i = 0; i < NODES; i++) {
        char options[160];
        there.gates[i] = gate_new();
        (void)snprintf(options, sizeof options,
                       "--repl-diskless-sync-delay 0 --replica-announce-ip 127.0.0.1 "
                       "--replica-announce-port %d",
                       gate_port(there.gates[i]));
        run->nodes[i] = server_start(options);
        gate_lead_to(there.gates[i], run->nodes[i]->port);
        if (i > 0)
            (void)server_ask(run->nodes[i], "REPLICAOF 127.0.0.1 %d", gate_port(there.gates[0]));
    }
    for (unsigned i = 1; i < NODES; i++)
        assert_true(server_comes_to(run->nodes[i], "master_link_status:up", "INFO replication"));
    for (unsigned i = 0; i < SENTINELS; i++) {
        there.sentinels[i] = server_start_sentinel(gate_port(there.gates[0]), 2);
        (void)server_ask(there.sentinels[i], "SENTINEL SET m failover-timeout 3000");
    }
    for (unsigned i = 0; i < SENTINELS; i++)
        await_sentinel(there.sentinels[i]);
}

static void stop(soak_run *run)
{
    for (unsigned i = 0; i < SENTINELS; i++)
        server_stop(there.sentinels[i]);
    for (unsigned i = 0; i < NODES; i++) {
        gate_free(there.gates[i]);
        server_stop(run->nodes[i]);
    }
}

static void reach(soak_run *run, unsigned member)
{
    soak_member *m = &run->journal->cast[member];

    (void)snprintf(m->url, sizeof m->url,
                   "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/m?protocol=%s",
                   there.sentinels[0]->port, there.sentinels[1]->port, there.sentinels[2]->port,
                   run->topology->locks[m->lock].protocol);
}

/* ---- who is the primary --------------------------------------------------------------------- */

static bool says_master(server *node)
{
    const char *role = server_may_say(node, "ROLE");

    return role != NULL && strncmp(role, "master", 6) == 0;
}

/* Whom so many sentinels name, and who says so himself; NODES: nobody.  A node that is stopped is
 * not asked. */
static unsigned find_primary(soak_run *run, unsigned quorum, unsigned but)
{
    unsigned votes[NODES] = { 0 };

    for (unsigned i = 0; i < SENTINELS; i++) {
        const char *named =
            there.sentinels[i]->pid == 0
                ? NULL
                : server_may_say(there.sentinels[i], "SENTINEL GET-MASTER-ADDR-BY-NAME m");
        const char *port = named != NULL ? strchr(named, ' ') : NULL;
        for (unsigned n = 0; port != NULL && n < NODES; n++)
            votes[n] += atoi(port) == gate_port(there.gates[n]);
    }
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
        if (i != there.primary && !follows(run->nodes[i], there.gates[there.primary]))
            return false;
    return true;
}

/* ---- the faults ----------------------------------------------------------------------------- */

/* What it gave ends within a lease. */
static void kill_primary(soak_run *run, const soak_trouble *t)
{
    server_kill(run->nodes[there.primary]);
    run->deeds[t->deed - 1].gone_us = soak_now_us();
}

/* What it says from now on reaches no replica: they read nothing, and then their line is gone. */
static void kill_with_latest(soak_run *run, const soak_trouble *t)
{
    for (unsigned i = 0; i < NODES; i++)
        if (i != there.primary)
            server_signal(run->nodes[i], SIGSTOP);
    (void)server_ask(run->nodes[there.primary], "CLIENT KILL TYPE replica");
    sleep_ms(soak_share(&t->fault, LATEST_MS));
    kill_primary(run, t);
    for (unsigned i = 0; i < NODES; i++)
        if (i != there.primary)
            server_signal(run->nodes[i], SIGCONT);
}

static void strike(soak_run *run, soak_trouble *t)
{
    server  *primary = run->nodes[there.primary];
    unsigned other   = (there.primary + 1 + t->fault.victim % (NODES - 1)) % NODES;

    there.old = there.primary;
    switch ((unsigned)t->fault.kind) {
    case SOAK_CLIENT_KILL: server_hang_up(primary); return;
    case SOAK_SCRIPT_FLUSH: (void)server_ask(primary, "SCRIPT FLUSH SYNC"); return;
    case SOAK_PRIMARY_SHORT:
        t->until_ms = clock_ms() + soak_share(&t->fault, SHORT_MS);
        server_signal(primary, SIGSTOP);
        return;
    case SOAK_PRIMARY_CUT: gate_cut(there.gates[there.primary]); return;
    case SOAK_PRIMARY_STALLED:
        t->until_ms = clock_ms() + soak_share(&t->fault, SHORT_MS);
        gate_shut(there.gates[there.primary], true);
        return;
    case SOAK_PRIMARY_AWAY: gate_shut(there.gates[there.primary], true); return;
    case SOAK_REPLICA_KILLED:
        there.old   = other;
        t->until_ms = clock_ms() + soak_share(&t->fault, BACK_MS);
        server_kill(run->nodes[other]);
        return;
    case SOAK_SENTINEL_KILLED:
        t->until_ms = clock_ms() + soak_share(&t->fault, BACK_MS);
        server_kill(there.sentinels[t->fault.victim % SENTINELS]);
        return;
    case SOAK_PRIMARY_KILLED: kill_primary(run, t); return;
    case SOAK_PRIMARY_LOST: kill_with_latest(run, t); return;
    case SOAK_PRIMARY_STOPPED: server_signal(primary, SIGSTOP); return;
    default: there.again_ms = 0; return;
    }
}

static bool changes_primary(soak_kind kind)
{
    return soak_fault_harm(kind) != SOAK_KEEPS;
}

static void look_for_another(soak_run *run, soak_trouble *t)
{
    if (t->fault.kind == SOAK_SWITCH && clock_ms() >= there.again_ms) {
        (void)server_may_say(there.sentinels[0], "SENTINEL FAILOVER m");
        there.again_ms = clock_ms() + AGAIN_MS;
    }
    unsigned found = find_primary(run, 2, there.old);
    if (found == NODES)
        return;
    there.primary    = found;
    there.changed_us = soak_now_us();
    t->stage         = CHANGED;
}

/* One of four is told by the sentinels, which let one that says it is a primary say so for eight
 * seconds; the others by us, after a while. */
static bool is_told_by_us(const soak_trouble *t)
{
    return t->fault.victim % 4 != 0;
}

static void bring_back(soak_run *run, soak_trouble *t)
{
    server *old = run->nodes[there.old];

    if (old->pid == 0)
        server_start_again(old);
    else if (t->fault.kind == SOAK_PRIMARY_STOPPED)
        server_signal(old, SIGCONT);
    gate_shut(there.gates[there.old], false);
    t->until_ms = clock_ms() + soak_share(&t->fault, BACK_MS);
    t->stage    = RETURNS;
}

static void make_follow(soak_run *run, soak_trouble *t)
{
    if (is_told_by_us(t) || t->fault.kind == SOAK_REPLICA_KILLED)
        (void)server_may_say(run->nodes[there.old], "REPLICAOF 127.0.0.1 %d",
                             gate_port(there.gates[there.primary]));
    t->stage = FOLLOWS;
}

/* They may think better of it, where this machine stood still. */
static bool is_another(soak_run *run)
{
    unsigned found = find_primary(run, 2, NODES);

    if (found == NODES || found == there.primary)
        return false;
    there.old = there.primary;
    soak_trouble_came(run, SOAK_SWITCHED, NOTICED_US);
    return true;
}

static bool mend_change(soak_run *run, soak_trouble *t)
{
    if (t->stage >= RETURNS && is_another(run))
        return false;
    switch (t->stage) {
    case STRUCK: look_for_another(run, t); return false;
    case CHANGED:
        /* While a sentinel names the old one still, that one would be believed. */
        if (soak_held_since(run, there.changed_us) &&
            find_primary(run, SENTINELS, there.old) != NODES)
            bring_back(run, t);
        return false;
    case RETURNS:
        if (clock_ms() >= t->until_ms)
            make_follow(run, t);
        return false;
    default: return all_follow(run);
    }
}

static bool mend_replica(soak_run *run, soak_trouble *t)
{
    if (run->nodes[there.old]->pid == 0) {
        server_start_again(run->nodes[there.old]);
        make_follow(run, t);
    }
    return all_follow(run);
}

static bool mend(soak_run *run, soak_trouble *t)
{
    unsigned which = t->fault.victim % SENTINELS;

    if (!changes_primary(t->fault.kind) && clock_ms() < t->until_ms)
        return false;
    if (t->until_ms != 0 && t->fault.kind == SOAK_PRIMARY_SHORT)
        server_signal(run->nodes[there.primary], SIGCONT);
    if (t->fault.kind == SOAK_PRIMARY_STALLED)
        gate_shut(there.gates[there.primary], false);
    if (t->fault.kind == SOAK_SENTINEL_KILLED)
        server_start_again(there.sentinels[which]);
    if (clock_ms() < there.ask_ms)
        return !changes_primary(t->fault.kind) && t->fault.kind != SOAK_REPLICA_KILLED;
    there.ask_ms = clock_ms() + ASK_MS;
    if (t->fault.kind == SOAK_REPLICA_KILLED)
        return mend_replica(run, t);
    return !changes_primary(t->fault.kind) || mend_change(run, t);
}

/* Somebody else may have become it, as this machine stood still. */
static server *keeper(soak_run *run, unsigned lock)
{
    (void)lock;
    if (run->trouble.phase == SOAK_STRUCK)
        return NULL;
    if (!says_master(run->nodes[there.primary])) {
        there.old = there.primary;
        soak_trouble_came(run, SOAK_SWITCHED, NOTICED_US);
        return NULL;
    }
    return run->nodes[there.primary];
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
    .reach    = reach,
    .strike   = strike,
    .mend     = mend,
    .keeper   = keeper,
};
