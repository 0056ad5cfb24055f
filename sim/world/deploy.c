#include "sim/world/deploy.h"

#include "lab/base/dice.h"
#include "lab/base/memory.h"
#include "sim/kernel/names.h"
#include "sim/world/cluster.h"
#include "sim/world/sentinels.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT = 6379, SENTINEL_PORT = 26379, NAME_MAX = 16, SILENCE_S = 10 };

struct sim_deploy {
    sim_deploy_plan  plan;
    unsigned         count;
    sim_node        *nodes[SIM_SERVERS_MAX];
    sim_replication *replication;                      /* NULL: none */
    sim_sentinels   *sentinels;                        /* NULL: none */
    sim_cluster     *cluster;                          /* NULL: none */
    unsigned         leader;                           /* sync: to which the name redis-1 leads */
    char             names[SIM_SERVERS_MAX][NAME_MAX]; /* the name service borrows them */
};

const char *sim_topology_name(sim_topology topology)
{
    switch (topology) {
    case SIM_SINGLE: return "single";
    case SIM_REDLOCK: return "redlock";
    case SIM_SYNC: return "sync";
    case SIM_SENTINEL: return "sentinel";
    case SIM_CLUSTER: return "cluster";
    case SIM_TOPOLOGIES_END: break;
    }
    return "";
}

static unsigned data_servers(const sim_deploy_plan *plan)
{
    return plan->primaries * (1 + plan->replicas);
}

unsigned sim_deploy_count(const sim_deploy_plan *plan)
{
    return data_servers(plan) + plan->sentinels;
}

static const char *scheme_of(sim_topology topology)
{
    switch (topology) {
    case SIM_REDLOCK: return "redlock";
    case SIM_SENTINEL: return "redis+sentinel";
    case SIM_CLUSTER: return "redis+cluster";
    case SIM_SINGLE:
    case SIM_SYNC:
    case SIM_TOPOLOGIES_END: break;
    }
    return "redis";
}

void sim_deploy_url(const sim_deploy_plan *plan, char *ret_url, size_t size)
{
    int      used  = snprintf(ret_url, size, "%s://", scheme_of(plan->topology));
    bool     asks  = plan->sentinels > 0;
    unsigned count = asks ? plan->sentinels : plan->primaries;

    if (plan->password != NULL)
        used += snprintf(ret_url + used, size - (size_t)used, ":%s@", plan->password);
    for (unsigned i = 0; i < count; i++) {
        assert(used > 0 && (size_t)used < size);
        used += snprintf(ret_url + used, size - (size_t)used,
                         asks ? "%ssentinel-%u:26379" : "%sredis-%u", i > 0 ? "," : "", i + 1);
    }
    if (asks)
        used += snprintf(ret_url + used, size - (size_t)used, "/" SIM_SERVICE_NAME);
    assert((size_t)used < size);
}

/* ---- the servers ----------------------------------------------------------------------------- */

static void wrote(void *arg, unsigned server)
{
    const sim_deploy *deploy = arg;

    if (deploy->replication != NULL) /* at the start */
        sim_replication_wrote(deploy->replication, server);
}

static void publish(void *arg, unsigned server, bool is_sharded, const char *channel,
                    size_t channel_size, const char *message, size_t message_size)
{
    const sim_deploy *deploy = arg;

    sim_cluster_publish(deploy->cluster, server, is_sharded, channel, channel_size, message,
                        message_size);
}

static void complain(void *arg, const char *text)
{
    const sim_deploy *deploy = arg;

    if (deploy->plan.complain != NULL)
        deploy->plan.complain(text);
}

/* What its file of settings says. */
static void configure(sim_deploy *deploy, unsigned server)
{
    char command[64];

    if (deploy->plan.forbids_info)
        sim_node_command(deploy->nodes[server], "ACL SETUSER default -info");
    if (deploy->plan.replicas_min == 0 || server >= data_servers(&deploy->plan))
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
              .arg     = deploy,

              .complain = complain,
    };

    if (server < data_servers(plan))
        options.password = plan->password;
    if (server >= data_servers(plan)) {
        options.port        = SENTINEL_PORT;
        options.is_sentinel = true;
    } else if (plan->replicas > 0) {
        options.wrote = wrote;
    }
    if (plan->topology == SIM_CLUSTER) {
        options.is_cluster = true;
        options.publish    = publish;
    }

    if (differs > 0)
        options.wall_ns += (int64_t)(bwl_dice_draw(seed) % (uint64_t)(2 * differs)) - differs;
    if (options.is_sentinel)
        (void)snprintf(deploy->names[server], NAME_MAX, "sentinel-%u",
                       server - data_servers(plan) + 1);
    else
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
                     answers ? SIM_MS : 500 * SIM_MS);
}

/* Server n of the replicas follows primary n modulo their number. */
static void begin_replication(sim_deploy *deploy, uint64_t seed)
{
    const sim_deploy_plan   *plan     = &deploy->plan;
    sim_replication_settings settings = { seed, plan->lag_ns, SILENCE_S * SIM_S };

    deploy->replication = sim_replication_new(deploy->nodes, data_servers(plan), &settings);
    for (unsigned i = plan->primaries; i < data_servers(plan); i++)
        sim_replication_follow(deploy->replication, i, (int)(i % plan->primaries));
}

/* Who decides about the roles of the servers. */
static void begin_roles(sim_deploy *deploy, uint64_t seed)
{
    const sim_deploy_plan *plan    = &deploy->plan;
    unsigned               servers = data_servers(plan);

    if (plan->topology == SIM_SENTINEL) {
        sim_sentinels_settings settings = { seed, plan->down_after_ns, servers, plan->sentinels };
        deploy->sentinels = sim_sentinels_new(deploy->nodes, deploy->replication, &settings);
    }
    if (plan->topology == SIM_CLUSTER) {
        sim_cluster_settings settings = { seed, plan->down_after_ns, plan->primaries, servers };
        deploy->cluster = sim_cluster_new(deploy->nodes, deploy->replication, &settings);
    }
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
    begin_roles(deploy, bwl_dice_draw(&seed));
    sim_deploy_names(deploy, true);
    return deploy;
}

void sim_deploy_free(sim_deploy *deploy)
{
    if (deploy == NULL)
        return;
    sim_cluster_free(deploy->cluster);
    sim_sentinels_free(deploy->sentinels);
    sim_replication_free(deploy->replication);
    for (unsigned i = 0; i < deploy->count; i++)
        sim_node_free(deploy->nodes[i]);
    free(deploy);
}

/* ---- sentinels ------------------------------------------------------------------------------- */

uint64_t sim_deploy_epoch_of(const sim_deploy *deploy, unsigned server)
{
    return server < data_servers(&deploy->plan) ? sim_sentinels_epoch_of(deploy->sentinels, server)
                                                : 0;
}

int64_t sim_deploy_epoch_since(const sim_deploy *deploy, uint64_t epoch)
{
    return sim_sentinels_know_since(deploy->sentinels, epoch);
}

void sim_deploy_each_user(const sim_deploy *deploy, unsigned server, sim_visit_user *visit,
                          void *arg)
{
    sim_node_each_user(deploy->nodes[server], visit, arg);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static bool has_replication(const sim_deploy *deploy, unsigned server)
{
    return deploy->replication != NULL && server < data_servers(&deploy->plan);
}

void sim_deploy_start(sim_deploy *deploy, unsigned server)
{
    if (sim_node_server(deploy->nodes[server]) != NULL)
        return;
    sim_node_start(deploy->nodes[server]);
    configure(deploy, server);
    if (has_replication(deploy, server))
        sim_replication_started(deploy->replication, server);
    if (deploy->sentinels != NULL)
        sim_sentinels_started(deploy->sentinels, server);
    if (deploy->cluster != NULL)
        sim_cluster_started(deploy->cluster, server);
}

void sim_deploy_kill(sim_deploy *deploy, unsigned server, bool silent)
{
    if (has_replication(deploy, server))
        sim_replication_stopped(deploy->replication, server);
    sim_node_kill(deploy->nodes[server], silent);
}

static void replace(sim_deploy *deploy, bool silent)
{
    unsigned old  = deploy->leader;
    int      best = sim_replication_best(deploy->replication, old, NULL, NULL);

    if (best == SIM_NO_PRIMARY)
        return;
    sim_deploy_kill(deploy, old, silent);
    sim_replication_follow(deploy->replication, (unsigned)best, SIM_NO_PRIMARY);
    for (unsigned i = 0; i < data_servers(&deploy->plan); i++) {
        if (i != (unsigned)best)
            sim_replication_follow(deploy->replication, i, best);
    }
    deploy->leader = (unsigned)best;
    sim_deploy_names(deploy, true);
}

bool sim_deploy_answers(const sim_deploy *deploy, unsigned server)
{
    return sim_node_answers(deploy->nodes[server]);
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

void sim_deploy_failover(sim_deploy *deploy, unsigned server, bool silent)
{
    if (deploy->sentinels != NULL)
        sim_sentinels_failover(deploy->sentinels);
    else if (deploy->cluster != NULL)
        sim_cluster_failover(deploy->cluster, server);
    else if (deploy->replication != NULL)
        replace(deploy, silent);
}

void sim_deploy_move_slot(sim_deploy *deploy, const char *key, unsigned server)
{
    if (deploy->cluster != NULL)
        sim_cluster_move_slot(deploy->cluster, key, server);
}

/* ---- keys ------------------------------------------------------------------------------------ */

typedef struct visitor {
    void (*visit)(void *arg, unsigned server, const char *key, int64_t left_ms);
    void (*visit_value)(void *arg, unsigned server, const char *key, uint64_t value);
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

static bool is_replica(const sim_deploy *deploy, unsigned server)
{
    return deploy->replication != NULL &&
           sim_replication_primary_of(deploy->replication, server) != SIM_NO_PRIMARY;
}

void sim_deploy_each_key(sim_deploy *deploy,
                         void (*visit)(void *arg, unsigned server, const char *key,
                                       int64_t left_ms),
                         void *arg)
{
    for (unsigned i = 0; i < data_servers(&deploy->plan); i++) {
        model_server *server = sim_node_server(deploy->nodes[i]);
        int64_t       now_us = sim_node_wall_us(deploy->nodes[i]);
        visitor       v      = { .visit = visit, .arg = arg, .server = i, .now_ms = now_us / 1000 };

        if (is_replica(deploy, i))
            continue;
        assert(server != NULL);
        model_server_tick(server, now_us);
        model_dataset_each(model_server_dataset(server), visit_key, &v);
    }
}

static void visit_value(void *arg, const model_key_info *info)
{
    const visitor *v = arg;

    if (info->value != NULL && (info->expires_ms < 0 || info->expires_ms > v->now_ms))
        v->visit_value(v->arg, v->server, info->key, model_hash(info->value, info->value_size));
}

void sim_deploy_each_value(sim_deploy *deploy,
                           void (*visit)(void *arg, unsigned server, const char *key,
                                         uint64_t value),
                           void *arg)
{
    for (unsigned i = 0; i < data_servers(&deploy->plan); i++) {
        visitor v = { .visit_value = visit,
                      .arg         = arg,
                      .server      = i,
                      .now_ms      = sim_node_wall_us(deploy->nodes[i]) / 1000 };
        if (sim_node_server(deploy->nodes[i]) != NULL && !is_replica(deploy, i))
            model_dataset_each(model_server_dataset(sim_node_server(deploy->nodes[i])), visit_value,
                               &v);
    }
}

const model_dataset *sim_deploy_data(const sim_deploy *deploy, unsigned server, bool *ret_replica,
                                     int64_t *ret_now_ms)
{
    const sim_node *node = deploy->nodes[server];

    if (server >= data_servers(&deploy->plan) || sim_node_server(node) == NULL)
        return NULL;
    *ret_replica = is_replica(deploy, server);
    *ret_now_ms  = sim_node_wall_us(node) / 1000;
    return model_server_dataset(sim_node_server(node));
}

typedef struct key_search {
    const char *key;
    int64_t     now_ms;
    int64_t     left_ns;
} key_search;

static void compare_key(void *arg, const model_key_info *info)
{
    key_search *search = arg;

    if (strcmp(info->key, search->key) != 0)
        return;
    search->left_ns =
        info->expires_ms < 0 ? SIM_NEVER : (info->expires_ms - search->now_ms) * SIM_MS;
}

static int64_t key_left_ns(const sim_deploy *deploy, unsigned server, const char *key)
{
    const sim_node *node   = deploy->nodes[server];
    key_search      search = { .key = key, .left_ns = 0 };

    if (sim_node_server(node) == NULL)
        return SIM_NEVER;
    search.now_ms = sim_node_wall_us(node) / 1000;
    model_dataset_each(model_server_dataset(sim_node_server(node)), compare_key, &search);
    return search.left_ns;
}

int64_t sim_deploy_key_left_ns(sim_deploy *deploy, const char *key, unsigned least)
{
    unsigned count  = data_servers(&deploy->plan);
    int64_t  result = 0;
    int64_t  left_ns[SIM_SERVERS_MAX];

    for (unsigned i = 0; i < count; i++)
        left_ns[i] = key_left_ns(deploy, i, key);
    for (unsigned i = 0; i < count; i++) {
        unsigned longer = 0;
        for (unsigned k = 0; k < count; k++)
            longer += left_ns[k] >= left_ns[i];
        if (longer >= least && left_ns[i] > result)
            result = left_ns[i];
    }
    return result;
}
