/*
 * topology_cluster.c -- three primaries with a replica each: a primary is killed, with or without
 * its latest data on the replica, or stopped, and its replica takes over; a slot moves to another
 * node while clients compete for its lock; primary and replica swap roles. See topology.h.
 *
 * FAULTY --all other nodes name the new owner of the slot--> CHANGED --each lock was held-->
 * FOLLOWS --the old primary is back as a replica-->
 *
 * At the start the slots of the locks are on all three primaries.
 */
#include "tests/soak/topology.h"

#include "tests/lib/cluster.h"

#include "engine/redis/wire/cluster.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SHORT_MS   = 600, /* less than the node time-out */
    LATEST_MS  = 500, /* how long writes are not replicated */
    BACK_MS    = 1000,
    MOVE_MS    = 500, /* each step of a slot move */
    AGAIN_MS   = 8000,
    NOTICED_US = 5000000,
    ASK_MS     = 50,
};

enum { FAULTY, CHANGED, FOLLOWS };

static struct {
    cluster *nodes;
    int      slots[SOAK_LOCKS];
    unsigned owners[SOAK_LOCKS]; /* as known here */
    unsigned lock;               /* the lock whose node or slot is faulty */
    unsigned old;
    unsigned to;   /* the target of the slot */
    unsigned away; /* a bit for each that does not answer */
    int64_t  ask_ms;
    int64_t  again_ms;
    int64_t  changed_us; /* when another had taken over */
} cluster_state;

/* ---- starting ------------------------------------------------------------------------------- */

static bool is_lock(const soak_run *run, unsigned lock)
{
    return run->journal->locks[lock].name[0] != '\0';
}

static void name_locks(soak_run *run)
{
    static bwl_cluster_tags tags;

    for (unsigned lock = 0; lock < SOAK_LOCKS; lock++) {
        if (!is_lock(run, lock))
            continue;
        char *name = run->journal->locks[lock].name;
        (void)snprintf(name, sizeof run->journal->locks[lock].name, "%s",
                       cluster_name_at(lock % CLUSTER_PRIMARIES, lock));
        cluster_state.slots[lock]  = cluster_slot_of(cluster_state.nodes, name);
        cluster_state.owners[lock] = lock % CLUSTER_PRIMARIES;
        (void)snprintf(run->who[lock], sizeof run->who[lock], "bowline:who:{%u}:",
                       bwl_cluster_tag(&tags, (uint16_t)cluster_state.slots[lock]));
    }
}

static void start(soak_run *run)
{
    if (!server_is_new()) {
        (void)printf("soak: cluster: protocol queue needs Redis 7.0 in a cluster\n"
                     "0 passed, 0 failed\n");
        exit(0);
    }
    cluster_state.nodes = cluster_start(true);
    run->nodes_count    = CLUSTER_NODES_MAX;
    memcpy(run->nodes, cluster_state.nodes->nodes, sizeof cluster_state.nodes->nodes);
    for (unsigned i = 0; i < CLUSTER_NODES_MAX; i++)
        atomic_store(&run->journal->ports[i], run->nodes[i]->port);
    name_locks(run);
}

static void stop(soak_run *run)
{
    (void)run;
    cluster_stop(cluster_state.nodes);
}

static void set_url(soak_run *run, unsigned member)
{
    soak_member *m = &run->journal->members[member];

    (void)snprintf(m->url, sizeof m->url, "%.200s?protocol=%s", cluster_state.nodes->url,
                   run->topology->locks[m->lock].protocol);
}

/* ---- owners ---------------------------------------------------------------------------------- */

static unsigned partner_of(unsigned node)
{
    return (node + CLUSTER_PRIMARIES) % CLUSTER_NODES_MAX;
}

static bool can_be_asked(const soak_run *run, unsigned node)
{
    return run->nodes[node]->pid != 0 && (cluster_state.away & 1u << node) == 0;
}

static bool reply_has(server *node, const char *part, const char *question)
{
    const char *answer = server_may_say(node, "%s", question);

    return answer != NULL && strstr(answer, part) != NULL;
}

/* The owner that all reachable nodes name, itself too; CLUSTER_NODES_MAX: none. */
static unsigned find_owner(const soak_run *run, unsigned lock)
{
    unsigned owner = CLUSTER_NODES_MAX;

    for (unsigned i = 0; i < CLUSTER_NODES_MAX; i++) {
        if (!can_be_asked(run, i))
            continue;
        unsigned named = cluster_owner(cluster_state.nodes, i, cluster_state.slots[lock]);
        if (named == CLUSTER_NODES_MAX || (owner != CLUSTER_NODES_MAX && named != owner) ||
            !reply_has(run->nodes[i], "cluster_state:ok", "CLUSTER INFO"))
            return CLUSTER_NODES_MAX;
        owner = named;
    }
    if (!can_be_asked(run, owner) || !reply_has(run->nodes[owner], "master", "ROLE"))
        return CLUSTER_NODES_MAX;
    return owner;
}

/* Whether each slot has one primary, and each primary a connected replica. */
static bool is_repaired(soak_run *run)
{
    unsigned owners[SOAK_LOCKS] = { 0 };

    for (unsigned lock = 0; lock < SOAK_LOCKS; lock++)
        if (is_lock(run, lock) && (owners[lock] = find_owner(run, lock)) == CLUSTER_NODES_MAX)
            return false;
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        if (!reply_has(run->nodes[i], "master_link_status:up", "INFO replication") &&
            !reply_has(run->nodes[partner_of(i)], "master_link_status:up", "INFO replication"))
            return false;
    memcpy(cluster_state.owners, owners, sizeof owners);
    return true;
}

/* ---- the faults ----------------------------------------------------------------------------- */

/* Its grants end within a lease. */
static void kill_primary(soak_run *run, const soak_server_fault *t)
{
    server_kill(run->nodes[cluster_state.old]);
    run->actions[t->action - 1].gone_us = soak_now_us();
}

/* Its next writes do not reach its replica. */
static void kill_with_latest(soak_run *run, const soak_server_fault *t)
{
    server *replica = run->nodes[partner_of(cluster_state.old)];

    server_signal(replica, SIGSTOP);
    (void)server_ask(run->nodes[cluster_state.old], "CLIENT KILL TYPE replica");
    sleep_ms(soak_share(&t->fault, LATEST_MS));
    kill_primary(run, t);
    server_signal(replica, SIGCONT);
}

static void choose_victim(const soak_run *run, const soak_fault *fault)
{
    cluster_state.lock = fault->victim % SOAK_LOCKS;
    while (!is_lock(run, cluster_state.lock))
        cluster_state.lock = (cluster_state.lock + 1) % SOAK_LOCKS;
    cluster_state.old = cluster_state.owners[cluster_state.lock];
    cluster_state.to  = cluster_state.old;
    for (unsigned lock = cluster_state.lock; cluster_state.to == cluster_state.old;
         lock          = (lock + 1) % SOAK_LOCKS)
        if (is_lock(run, lock))
            cluster_state.to = cluster_state.owners[lock];
}

/* A change of the primary: the replica of the old one takes over. */
static void record_old(soak_run *run)
{
    soak_server_fault_replaces(run, 1u << cluster_state.old, 1u << partner_of(cluster_state.old));
}

static void inject(soak_run *run, soak_server_fault *t)
{
    choose_victim(run, &t->fault);
    record_old(run);
    server *node = run->nodes[cluster_state.old];

    cluster_state.again_ms = 0;
    switch ((unsigned)t->fault.kind) {
    case SOAK_CLIENT_KILL: server_hang_up(node); return;
    case SOAK_SCRIPT_FLUSH: (void)server_ask(node, "SCRIPT FLUSH SYNC"); return;
    case SOAK_PRIMARY_SHORT:
        t->until_ms        = clock_ms() + soak_share(&t->fault, SHORT_MS);
        cluster_state.away = 1u << cluster_state.old;
        server_signal(node, SIGSTOP);
        return;
    case SOAK_REPLICA_KILLED:
        cluster_state.old = partner_of(cluster_state.old);
        t->until_ms       = clock_ms() + soak_share(&t->fault, BACK_MS);
        server_kill(run->nodes[cluster_state.old]);
        return;
    case SOAK_SLOT_MOVED:
        t->until_ms = clock_ms() + soak_share(&t->fault, MOVE_MS);
        cluster_begin_move(cluster_state.nodes, cluster_state.slots[cluster_state.lock],
                           cluster_state.old, cluster_state.to);
        return;
    case SOAK_PRIMARY_KILLED: kill_primary(run, t); return;
    case SOAK_PRIMARY_LOST: kill_with_latest(run, t); return;
    case SOAK_PRIMARY_STOPPED:
        cluster_state.away = 1u << cluster_state.old;
        server_signal(node, SIGSTOP);
        return;
    default: return; /* SOAK_PLACES: see find_new_primary */
    }
}

static void find_new_primary(soak_run *run, soak_server_fault *t)
{
    server *replica = run->nodes[partner_of(cluster_state.old)];

    if (t->fault.kind == SOAK_PLACES && clock_ms() >= cluster_state.again_ms) {
        (void)server_ask(replica, "CLUSTER FAILOVER");
        cluster_state.again_ms = clock_ms() + AGAIN_MS;
    }
    if (find_owner(run, cluster_state.lock) != partner_of(cluster_state.old))
        return;
    cluster_state.changed_us = soak_now_us();
    t->stage                 = CHANGED;
}

static void bring_back(soak_run *run, soak_server_fault *t)
{
    if (run->nodes[cluster_state.old]->pid == 0)
        server_start_again(run->nodes[cluster_state.old]);
    else if (cluster_state.away != 0)
        server_signal(run->nodes[cluster_state.old], SIGCONT);
    cluster_state.away = 0;
    t->stage           = FOLLOWS;
}

static bool repair_change(soak_run *run, soak_server_fault *t)
{
    switch (t->stage) {
    case FAULTY: find_new_primary(run, t); return false;
    case CHANGED:
        if (soak_held_since(run, cluster_state.changed_us))
            bring_back(run, t);
        return false;
    default: return is_repaired(run);
    }
}

/* Moves the keys, then announces the new owner. The other nodes learn of it later. */
static void continue_move(soak_run *run, soak_server_fault *t)
{
    int slot = cluster_state.slots[cluster_state.lock];

    cluster_move_keys(cluster_state.nodes, slot, cluster_state.old, cluster_state.to);
    t->until_ms = clock_ms() + soak_share(&t->fault, MOVE_MS);
    if (t->stage++ == FAULTY)
        return; /* moves the keys that were created meanwhile */
    const char *id = cluster_id(cluster_state.nodes, cluster_state.to);
    (void)server_ask(run->nodes[cluster_state.to], "CLUSTER SETSLOT %d NODE %s", slot, id);
    (void)server_ask(run->nodes[cluster_state.old], "CLUSTER SETSLOT %d NODE %s", slot, id);
}

static bool repair(soak_run *run, soak_server_fault *t)
{
    if (clock_ms() < t->until_ms || clock_ms() < cluster_state.ask_ms)
        return false;
    cluster_state.ask_ms = clock_ms() + ASK_MS;
    switch ((unsigned)t->fault.kind) {
    case SOAK_CLIENT_KILL:
    case SOAK_SCRIPT_FLUSH: return true;
    case SOAK_PRIMARY_SHORT:
    case SOAK_REPLICA_KILLED:
    case SOAK_SWITCHED:
        if (t->stage == FAULTY)
            bring_back(run, t);
        return is_repaired(run);
    case SOAK_SLOT_MOVED:
        if (t->stage < FOLLOWS)
            continue_move(run, t);
        return t->stage == FOLLOWS && is_repaired(run);
    default: return repair_change(run, t);
    }
}

/* A replica may have taken over, because this machine was too slow. */
static server *lock_server(soak_run *run, unsigned lock)
{
    if (run->server_fault.phase == SOAK_FAULTY)
        return NULL;
    if (!reply_has(run->nodes[cluster_state.owners[lock]], "master", "ROLE")) {
        cluster_state.old = cluster_state.owners[lock];
        soak_server_fault_found(run, SOAK_SWITCHED, soak_now_us() - NOTICED_US);
        record_old(run);
        return NULL;
    }
    return run->nodes[cluster_state.owners[lock]];
}

const soak_topology soak_cluster = {
    .name     = "cluster",
    .locks    = { [RED]   = { "red", "queue", 1000 },
                  [GREEN] = { "green", "queue", 1500 },
                  [BLUE]  = { "blue", "queue", 4000 },
                  [GREY]  = { "grey", "token", 1500 } },
    .weights = {
        SOAK_WEIGHTS_OF_MEMBERS,
        [SOAK_CLIENT_KILL] = 10,
        [SOAK_SCRIPT_FLUSH] = 10,
        [SOAK_REPLICA_KILLED] = 10,
        [SOAK_PRIMARY_SHORT] = 20,
        [SOAK_SLOT_MOVED] = 30,
        [SOAK_PLACES] = 20,
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
