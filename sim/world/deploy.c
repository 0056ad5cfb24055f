#include "sim/world/deploy.h"

#include "lab/base/dice.h"
#include "lab/base/memory.h"
#include "sim/kernel/names.h"
#include "sim/world/replication.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { PORT = 6379, NAME_MAX = 16, SILENCE_S = 10 };

struct sim_deploy {
    sim_deploy_plan plan;
    unsigned        count;
    sim_node       *nodes[SIM_SERVERS_MAX];
    sim_replication *replication; /* NULL: none */
    unsigned        leader; /* sync: to which the name redis-1 leads */
    char            names[SIM_SERVERS_MAX][NAME_MAX]; /* the name service borrows them */
};

const char *sim_topology_name(sim_topology topology)
{
    switch (topology) {
    case SIM_SINGLE: return "single";
    case SIM_REDLOCK: return "redlock";
    case SIM_SYNC: return "sync";
    case SIM_TOPOLOGIES_END: break;
    }
    return "";
}

unsigned sim_deploy_count(const sim_deploy_plan *plan)
{
    return plan->primaries * (1 + plan->replicas);
}

void sim_deploy_url(const sim_deploy_plan *plan, char *ret_url, size_t size)
{
    const char *scheme = plan->topology == SIM_REDLOCK ? "redlock" : "redis";
    int         used   = snprintf(ret_url, size, "%s://", scheme);

    for (unsigned i = 0; i < plan->primaries; i++) {
        assert(used > 0 && (size_t)used < size);
        used += snprintf(ret_url + used, size - (size_t)used, "%sredis-%u", i > 0 ? "," : "",
                         i + 1);
    }
    assert((size_t)used < size);
}

/* ---- the servers ----------------------------------------------------------------------------- */

static void wrote(void *arg, unsigned server)
{
    const sim_deploy *deploy = arg;

    if (deploy->replication != NULL) /* at the start */
        sim_replication_wrote(deploy->replication, server);
}

/* What its file of settings says. */
static void configure(sim_deploy *deploy, unsigned server)
{
    char command[64];

    if (deploy->plan.replicas_min == 0)
        return;
    (void)snprintf(command, sizeof command, "CONFIG SET min-replicas-to-write %u",
                   deploy->plan.replicas_min);
    sim_node_command(deploy->nodes[server], command);
}

static void new_node(sim_deploy *deploy, unsigned server, uint64_t *seed)
{
    const sim_deploy_plan *plan    = &deploy->plan;
    int64_t                differs = plan->wall_differs_ns;
    sim_node_options       options = {
              .host    = server,
              .port    = PORT,
              .version = plan->version,
              .disk    = plan->disk,
              .seed    = bwl_dice_draw(seed),
              .wall_ns = plan->wall_ns,
              .backlog = plan->backlog,
    };

    if (plan->replicas > 0) {
        options.wrote = wrote;
        options.arg   = deploy;
    }

    if (differs > 0)
        options.wall_ns += (int64_t)(bwl_dice_draw(seed) % (uint64_t)(2 * differs)) - differs;
    (void)snprintf(deploy->names[server], NAME_MAX, "redis-%u", server + 1);
    deploy->nodes[server] = sim_node_new(&options);
    sim_node_start(deploy->nodes[server]);
    configure(deploy, server);
}

void sim_deploy_names(sim_deploy *deploy, bool answers)
{
    for (unsigned i = 0; i < deploy->count; i++)
        sim_name_set(deploy->names[i],
                     !answers ? SIM_NAME_FAILS
                     : i == 0 ? deploy->leader
                              : i,
                     answers ? (int64_t)SIM_MS : 500 * (int64_t)SIM_MS);
}

/* Server n of the replicas follows primary n modulo their number. */
static void begin_replication(sim_deploy *deploy, uint64_t seed)
{
    const sim_deploy_plan   *plan     = &deploy->plan;
    sim_replication_settings settings = { seed, plan->lag_ns, SILENCE_S * SIM_S };

    deploy->replication = sim_replication_new(deploy->nodes, deploy->count, &settings);
    for (unsigned i = plan->primaries; i < deploy->count; i++)
        sim_replication_follow(deploy->replication, i, (int)(i % plan->primaries));
}

sim_deploy *sim_deploy_new(const sim_deploy_plan *plan)
{
    sim_deploy *deploy = bwl_room_for(1, sizeof *deploy);
    uint64_t    seed   = plan->seed;

    *deploy = (sim_deploy){ .plan = *plan, .count = sim_deploy_count(plan) };
    assert(deploy->count <= SIM_SERVERS_MAX);
    for (unsigned i = 0; i < deploy->count; i++)
        new_node(deploy, i, &seed);
    if (plan->replicas > 0)
        begin_replication(deploy, bwl_dice_draw(&seed));
    sim_deploy_names(deploy, true);
    return deploy;
}

void sim_deploy_free(sim_deploy *deploy)
{
    if (deploy == NULL)
        return;
    sim_replication_free(deploy->replication);
    for (unsigned i = 0; i < deploy->count; i++)
        sim_node_free(deploy->nodes[i]);
    free(deploy);
}

/* ---- faults ---------------------------------------------------------------------------------- */

void sim_deploy_start(sim_deploy *deploy, unsigned server)
{
    if (sim_node_server(deploy->nodes[server]) != NULL)
        return;
    sim_node_start(deploy->nodes[server]);
    configure(deploy, server);
    if (deploy->replication != NULL)
        sim_replication_started(deploy->replication, server);
}

void sim_deploy_kill(sim_deploy *deploy, unsigned server, bool silent)
{
    if (deploy->replication != NULL)
        sim_replication_stopped(deploy->replication, server);
    sim_node_kill(deploy->nodes[server], silent);
}

void sim_deploy_failover(sim_deploy *deploy, bool silent)
{
    unsigned old  = deploy->leader;
    int      best = sim_replication_best(deploy->replication, old, NULL, NULL);

    if (best == SIM_NO_PRIMARY)
        return;
    sim_deploy_kill(deploy, old, silent);
    sim_replication_follow(deploy->replication, (unsigned)best, SIM_NO_PRIMARY);
    for (unsigned i = 0; i < deploy->count; i++) {
        if (i != (unsigned)best)
            sim_replication_follow(deploy->replication, i, best);
    }
    deploy->leader = (unsigned)best;
    sim_deploy_names(deploy, true);
}

void sim_deploy_pause(sim_deploy *deploy, unsigned server, bool pauses)
{
    sim_node_pause(deploy->nodes[server], pauses);
}

void sim_deploy_clock(sim_deploy *deploy, unsigned server, int64_t step_ns)
{
    sim_node_clock(deploy->nodes[server], 0, step_ns);
}

void sim_deploy_command(sim_deploy *deploy, unsigned server, const char *words)
{
    sim_node_command(deploy->nodes[server], words);
}

/* ---- the end --------------------------------------------------------------------------------- */

typedef struct visitor {
    void (*visit)(void *arg, unsigned server, const char *key, int64_t left_ms);
    void    *arg;
    unsigned server;
    int64_t  now_ms;
} visitor;

static void visit_key(void *arg, const model_key_info *info)
{
    const visitor *v = arg;

    if (info->expires_ms < 0)
        v->visit(v->arg, v->server, info->key, -1);
    else if (info->expires_ms > v->now_ms)
        v->visit(v->arg, v->server, info->key, info->expires_ms - v->now_ms);
}

void sim_deploy_each_key(sim_deploy *deploy,
                         void (*visit)(void *arg, unsigned server, const char *key,
                                       int64_t left_ms),
                         void *arg)
{
    for (unsigned i = 0; i < deploy->count; i++) {
        model_server *server = sim_node_server(deploy->nodes[i]);
        int64_t       now_us = sim_node_wall_us(deploy->nodes[i]);
        visitor       v      = { visit, arg, i, now_us / 1000 };

        if (deploy->replication != NULL &&
            sim_replication_primary_of(deploy->replication, i) != SIM_NO_PRIMARY)
            continue;
        assert(server != NULL);
        model_server_tick(server, now_us);
        model_dataset_each(model_server_dataset(server), visit_key, &v);
    }
}
