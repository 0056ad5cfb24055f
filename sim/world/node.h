/*
 * node.h -- a Redis process on a host of the simulated network: a model server with a clock, a disk
 * and connections.
 *
 *      sim_node_new --> stopped --start--> runs --kill--> stopped --start--> ...
 *
 * What it finds at a start is what its disk kept.
 */
#pragma once

#include "sim/kernel/network.h"
#include "sim/redis/server.h"

/* What a restart finds. */
typedef enum sim_disk {
    SIM_DISK_ALWAYS = 1, /* everything that was acknowledged: appendfsync always */
    SIM_DISK_SECOND,     /* all but the last second at most: appendfsync everysec */
    SIM_DISK_NONE,       /* nothing */
} sim_disk;

typedef struct sim_node_options {
    sim_host      host;
    uint16_t      port;
    model_version version;
    const char   *password; /* NULL: none; borrowed */
    sim_disk      disk;
    uint64_t      seed;
    int64_t       wall_ns; /* its clock at the world's time 0 */
    int32_t       rate_ppm;
    bool          is_cluster;
    bool          is_sentinel;
    size_t        backlog; /* bytes of effects that are kept for replicas */
    /* May be NULL: its effects have grown; it published a message, see model_owner. */
    void (*wrote)(void *arg, unsigned host);
    void (*publish)(void *arg, unsigned host, bool is_sharded, const char *channel,
                    size_t channel_size, const char *message, size_t message_size);
    void (*complain)(void *arg, const char *text); /* see model_owner */
    void *arg;
} sim_node_options;

typedef struct sim_node sim_node;

sim_node *sim_node_new(const sim_node_options *options);
void      sim_node_free(sim_node *node); /* takes NULL */

void sim_node_start(sim_node *node); /* nothing happens if it runs */

/* As SIGKILL; `silent`: its host loses power. */
void sim_node_kill(sim_node *node, bool silent);

/* As SIGSTOP and SIGCONT. */
void sim_node_pause(sim_node *node, bool pauses);

/* Its clock jumps, and runs at another rate. */
void sim_node_clock(sim_node *node, int32_t rate_ppm, int64_t step_ns);

/* Carries out a command of an administrator, without quotes, if it runs. */
void sim_node_command(sim_node *node, const char *words);

/* NULL: it does not run. */
model_server *sim_node_server(const sim_node *node);
int64_t       sim_node_wall_us(const sim_node *node);

bool     sim_node_answers(const sim_node *node); /* it runs, and is not stopped */
uint16_t sim_node_port(const sim_node *node);

/* Connections that it knows. */
unsigned sim_node_links(const sim_node *node);

/* Calls visit for each connection that has run a script, with the time since when it is open. */
typedef void sim_visit_user(void *arg, sim_host client, int64_t opened_at);
void         sim_node_each_user(const sim_node *node, sim_visit_user *visit, void *arg);

/* ---- as the functions of server.h; nothing happens if it does not run ------------------------ */

void sim_node_follow(sim_node *node, const char *host, uint16_t port);
void sim_node_primary_link(sim_node *node, bool is_up);
void sim_node_apply(sim_node *node, const char *bytes, size_t size);
void sim_node_load(sim_node *node, const model_dataset *dataset, uint64_t offset);
void sim_node_acked(sim_node *node, unsigned replica, uint64_t offset);
void sim_node_lost_replica(sim_node *node, unsigned replica);
void sim_node_set_services(sim_node *node, const model_sentinel_view *view);
void sim_node_set_view(sim_node *node, const model_cluster_view *view);
void sim_node_deliver(sim_node *node, bool is_sharded, const char *channel, size_t channel_size,
                      const char *message, size_t message_size);
bool sim_node_move_key(sim_node *from, sim_node *to, unsigned slot); /* both run */
