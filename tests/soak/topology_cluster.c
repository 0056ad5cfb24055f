/*
 * topology_cluster.c -- three primaries with a replica each: a primary is killed, with or without
 * its latest at the replica, or stopped, and its replica takes over; a slot moves to another node
 * while its lock is wanted; primary and replica change places.  See topology.h.
 *
 *      STRUCK --all others say who has the slot now--> CHANGED --every lock was held--> FOLLOWS
 *      --the old one is back, and a replica-->
 *
 * The locks have names of which the slots are at each of the three in the beginning.
 */
#include "tests/soak/topology.h"

#include "tests/lib/cluster.h"

#include "engine/redis/wire/cluster.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SHORT_MS   = 600, /* less than after which a node is called down                           */
    LATEST_MS  = 500, /* what does not arrive                                                  */
    BACK_MS    = 1000,
    MOVE_MS    = 500, /* each step of a slot's way                                             */
    AGAIN_MS   = 8000,
    NOTICED_US = 5000000,
    ASK_MS     = 50,
};

enum { STRUCK, CHANGED, FOLLOWS };

static struct {
    cluster *nodes;
    int      slots[SOAK_LOCKS];
    unsigned owners[SOAK_LOCKS]; /* as far as we know                                          */
    unsigned lock;               /* whose node or slot it befalls                              */
    unsigned old;
    unsigned to;   /* where the slot goes                                                      */
    unsigned away; /* a bit for each that cannot be asked                                      */
    int64_t  ask_ms;
    int64_t  again_ms;
    int64_t  changed_us; /* another had taken over                                            */
} there;

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
        there.slots[lock]  = cluster_slot_of(there.nodes, name);
        there.owners[lock] = lock % CLUSTER_PRIMARIES;
        (void)snprintf(run->who[lock], sizeof run->who[lock],
                       "bowline:who:{%u}:", bwl_cluster_tag(&tags, (uint16_t)there.slots[lock]));
    }
}

static void start(soak_run *run)
{
    if (!server_is_new()) {
        (void)printf("soak: cluster: protocol queue needs Redis 7.0 in a cluster\n"
                     "0 passed, 0 failed\n");
        exit(0);
    }
    there.nodes      = cluster_start(true);
    run->nodes_count = CLUSTER_NODES_MAX;
    memcpy(run->nodes, there.nodes->nodes, sizeof there.nodes->nodes);
    name_locks(run);
}

static void stop(soak_run *run)
{
    (void)run;
    cluster_stop(there.nodes);
}

static void reach(soak_run *run, unsigned member)
{
    soak_member *m = &run->journal->cast[member];

    (void)snprintf(m->url, sizeof m->url, "%.200s?protocol=%s", there.nodes->url,
                   run->topology->locks[m->lock].protocol);
}

/* ---- who has what --------------------------------------------------------------------------- */

static unsigned partner_of(unsigned node)
{
    return (node + CLUSTER_PRIMARIES) % CLUSTER_NODES_MAX;
}

static bool can_be_asked(const soak_run *run, unsigned node)
{
    return run->nodes[node]->pid != 0 && (there.away & 1u << node) == 0;
}

static bool says(server *node, const char *part, const char *question)
{
    const char *answer = server_may_say(node, "%s", question);

    return answer != NULL && strstr(answer, part) != NULL;
}

/* Whom all that can be asked name as its primary, and it itself too; CLUSTER_NODES_MAX: nobody. */
static unsigned find_owner(const soak_run *run, unsigned lock)
{
    unsigned owner = CLUSTER_NODES_MAX;

    for (unsigned i = 0; i < CLUSTER_NODES_MAX; i++) {
        if (!can_be_asked(run, i))
            continue;
        unsigned named = cluster_owner(there.nodes, i, there.slots[lock]);
        if (named == CLUSTER_NODES_MAX || (owner != CLUSTER_NODES_MAX && named != owner) ||
            !says(run->nodes[i], "cluster_state:ok", "CLUSTER INFO"))
            return CLUSTER_NODES_MAX;
        owner = named;
    }
    if (!can_be_asked(run, owner) || !says(run->nodes[owner], "master", "ROLE"))
        return CLUSTER_NODES_MAX;
    return owner;
}

/* Every slot has one primary, and every primary a replica that follows. */
static bool is_whole(soak_run *run)
{
    unsigned owners[SOAK_LOCKS] = { 0 };

    for (unsigned lock = 0; lock < SOAK_LOCKS; lock++)
        if (is_lock(run, lock) && (owners[lock] = find_owner(run, lock)) == CLUSTER_NODES_MAX)
            return false;
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        if (!says(run->nodes[i], "master_link_status:up", "INFO replication") &&
            !says(run->nodes[partner_of(i)], "master_link_status:up", "INFO replication"))
            return false;
    memcpy(there.owners, owners, sizeof owners);
    return true;
}

/* ---- the faults ----------------------------------------------------------------------------- */

/* What it gave ends within a lease. */
static void kill_primary(soak_run *run, const soak_trouble *t)
{
    server_kill(run->nodes[there.old]);
    run->deeds[t->deed - 1].gone_us = soak_now_us();
}

/* What it says from now on does not reach its replica. */
static void kill_with_latest(soak_run *run, const soak_trouble *t)
{
    server *replica = run->nodes[partner_of(there.old)];

    server_signal(replica, SIGSTOP);
    (void)server_ask(run->nodes[there.old], "CLIENT KILL TYPE replica");
    sleep_ms(soak_share(&t->fault, LATEST_MS));
    kill_primary(run, t);
    server_signal(replica, SIGCONT);
}

static void draw_victim(const soak_run *run, const soak_fault *fault)
{
    there.lock = fault->victim % SOAK_LOCKS;
    while (!is_lock(run, there.lock))
        there.lock = (there.lock + 1) % SOAK_LOCKS;
    there.old = there.owners[there.lock];
    there.to  = there.old;
    for (unsigned lock = there.lock; there.to == there.old; lock = (lock + 1) % SOAK_LOCKS)
        if (is_lock(run, lock))
            there.to = there.owners[lock];
}

static void strike(soak_run *run, soak_trouble *t)
{
    draw_victim(run, &t->fault);
    server *node = run->nodes[there.old];

    there.again_ms = 0;
    switch ((unsigned)t->fault.kind) {
    case SOAK_CLIENT_KILL: server_hang_up(node); return;
    case SOAK_SCRIPT_FLUSH: (void)server_ask(node, "SCRIPT FLUSH SYNC"); return;
    case SOAK_PRIMARY_SHORT:
        t->until_ms = clock_ms() + soak_share(&t->fault, SHORT_MS);
        there.away  = 1u << there.old;
        server_signal(node, SIGSTOP);
        return;
    case SOAK_REPLICA_KILLED:
        there.old   = partner_of(there.old);
        t->until_ms = clock_ms() + soak_share(&t->fault, BACK_MS);
        server_kill(run->nodes[there.old]);
        return;
    case SOAK_SLOT_MOVED:
        t->until_ms = clock_ms() + soak_share(&t->fault, MOVE_MS);
        cluster_begin_move(there.nodes, there.slots[there.lock], there.old, there.to);
        return;
    case SOAK_PRIMARY_KILLED: kill_primary(run, t); return;
    case SOAK_PRIMARY_LOST: kill_with_latest(run, t); return;
    case SOAK_PRIMARY_STOPPED:
        there.away = 1u << there.old;
        server_signal(node, SIGSTOP);
        return;
    default: return; /* they are asked to change places */
    }
}

static void look_for_another(soak_run *run, soak_trouble *t)
{
    server *replica = run->nodes[partner_of(there.old)];

    if (t->fault.kind == SOAK_PLACES && clock_ms() >= there.again_ms) {
        (void)server_ask(replica, "CLUSTER FAILOVER");
        there.again_ms = clock_ms() + AGAIN_MS;
    }
    if (find_owner(run, there.lock) != partner_of(there.old))
        return;
    there.changed_us = soak_now_us();
    t->stage         = CHANGED;
}

static void bring_back(soak_run *run, soak_trouble *t)
{
    if (run->nodes[there.old]->pid == 0)
        server_start_again(run->nodes[there.old]);
    else if (there.away != 0)
        server_signal(run->nodes[there.old], SIGCONT);
    there.away = 0;
    t->stage   = FOLLOWS;
}

static bool mend_change(soak_run *run, soak_trouble *t)
{
    switch (t->stage) {
    case STRUCK: look_for_another(run, t); return false;
    case CHANGED:
        if (soak_held_since(run, there.changed_us))
            bring_back(run, t);
        return false;
    default: return is_whole(run);
    }
}

/* Its keys go, and then it is said that it has gone.  The others hear of that by and by. */
static void move_on(soak_run *run, soak_trouble *t)
{
    int slot = there.slots[there.lock];

    cluster_move_keys(there.nodes, slot, there.old, there.to);
    t->until_ms = clock_ms() + soak_share(&t->fault, MOVE_MS);
    if (t->stage++ == STRUCK)
        return; /* what comes to be in it meanwhile is there already */
    const char *id = cluster_id(there.nodes, there.to);
    (void)server_ask(run->nodes[there.to], "CLUSTER SETSLOT %d NODE %s", slot, id);
    (void)server_ask(run->nodes[there.old], "CLUSTER SETSLOT %d NODE %s", slot, id);
}

static bool mend(soak_run *run, soak_trouble *t)
{
    if (clock_ms() < t->until_ms || clock_ms() < there.ask_ms)
        return false;
    there.ask_ms = clock_ms() + ASK_MS;
    switch ((unsigned)t->fault.kind) {
    case SOAK_CLIENT_KILL:
    case SOAK_SCRIPT_FLUSH: return true;
    case SOAK_PRIMARY_SHORT:
    case SOAK_REPLICA_KILLED:
    case SOAK_SWITCHED:
        if (t->stage == STRUCK)
            bring_back(run, t);
        return is_whole(run);
    case SOAK_SLOT_MOVED:
        if (t->stage < FOLLOWS)
            move_on(run, t);
        return t->stage == FOLLOWS && is_whole(run);
    default: return mend_change(run, t);
    }
}

/* A replica may have taken over, as this machine stood still. */
static server *keeper(soak_run *run, unsigned lock)
{
    if (run->trouble.phase == SOAK_STRUCK)
        return NULL;
    if (!says(run->nodes[there.owners[lock]], "master", "ROLE")) {
        there.old = there.owners[lock];
        soak_trouble_came(run, SOAK_SWITCHED, NOTICED_US);
        return NULL;
    }
    return run->nodes[there.owners[lock]];
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
    .reach    = reach,
    .strike   = strike,
    .mend     = mend,
    .keeper   = keeper,
};
