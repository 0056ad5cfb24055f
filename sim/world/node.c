#include "sim/world/node.h"

#include "lab/base/dice.h"
#include "lab/base/memory.h"
#include "sim/kernel/listeners.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TICK_MS     = 100,  /* `hz 10`: expired keys are searched for so often */
    REST_MS     = 2000, /* ... and so often while nobody sends anything */
    PPM         = 1000000,
    ADDRESS_MAX = 32,
};

typedef struct link {
    struct link    *next;
    sim_node       *node;
    sim_connection *connection;
    model_link     *model;
    sim_host        from;
    int64_t         opened_at;
    bool            closes;
} link;

struct sim_node {
    sim_node_options options;
    model_server    *server; /* NULL: it does not run */
    model_server    *disk;   /* SECOND: what was written, as a server that applies the effects */
    model_dataset   *kept;   /* what the next start finds; NULL: nothing */
    uint64_t         kept_offset;
    link            *links;
    unsigned         ports; /* of clients, for their addresses */
    bool             is_paused;
    int64_t          written_at; /* to the disk, by the world's clock */
    uint64_t         told;       /* the offset when `wrote` was called */
    bool             was_busy;   /* since the last tick */
    sim_event       *tick;
    int64_t          tick_at;
    int64_t          read_at; /* world's time at which its clock showed wall_ns */
    int64_t          wall_ns;
    int32_t          rate_ppm;
    uint64_t         seed;
};

int64_t sim_node_wall_us(const sim_node *node)
{
    int64_t passed = sim_now() - node->read_at;

    return (node->wall_ns + passed + (int64_t)((sim_wide)passed * node->rate_ppm / PPM)) / 1000;
}

void sim_node_clock(sim_node *node, int32_t rate_ppm, int64_t step_ns)
{
    node->wall_ns  = sim_node_wall_us(node) * 1000 + step_ns;
    node->read_at  = sim_now();
    node->rate_ppm = rate_ppm;
}

model_server *sim_node_server(const sim_node *node)
{
    return node->server;
}

unsigned sim_node_links(const sim_node *node)
{
    unsigned count = 0;

    for (const link *l = node->links; l != NULL; l = l->next)
        count++;
    return count;
}

void sim_node_each_user(const sim_node *node, sim_visit_user *visit, void *arg)
{
    for (const link *l = node->links; l != NULL; l = l->next) {
        if (model_link_has_run_script(l->model))
            visit(arg, l->from, l->opened_at);
    }
}

/* ---- what the server calls ------------------------------------------------------------------- */

static void send_reply(void *arg, void *link_data, const char *bytes, size_t size)
{
    link *l = link_data;

    (void)arg;
    if (l->connection != NULL)
        sim_connection_send(l->connection, bytes, size);
}

static void close_soon(void *arg, void *link_data)
{
    (void)arg;
    ((link *)link_data)->closes = true;
}

static uint64_t give_random(void *arg)
{
    return bwl_dice_draw(&((sim_node *)arg)->seed);
}

static void publish(void *arg, bool is_sharded, const char *channel, size_t channel_size,
                    const char *message, size_t message_size)
{
    sim_node *node = arg;

    node->options.publish(node->options.arg, node->options.host, is_sharded, channel, channel_size,
                          message, message_size);
}

static void complain(void *arg, const char *text)
{
    sim_node *node = arg;

    node->options.complain(node->options.arg, text);
}

/* ---- links ----------------------------------------------------------------------------------- */

static void forget(link *l)
{
    link **at = &l->node->links;

    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    free(l);
}

static void close_links(sim_node *node)
{
    for (link *l = node->links, *next; l != NULL; l = next) {
        next = l->next;
        if (!l->closes)
            continue;
        model_link_closed(l->model);
        sim_connection_close(l->connection);
        forget(l);
    }
}

static void plan_tick(sim_node *node);

/* After everything that the server has done. */
static void settle(sim_node *node)
{
    close_links(node);
    plan_tick(node);
    if (node->options.wrote == NULL || node->told == model_server_offset(node->server))
        return;
    node->told = model_server_offset(node->server);
    node->options.wrote(node->options.arg, node->options.host);
}

static void *accepted(void *service, sim_connection *connection, sim_host from)
{
    sim_node      *node = service;
    link          *l    = bwl_room_for(1, sizeof *l);
    struct in_addr ip   = { sim_host_address(from) };
    char           address[ADDRESS_MAX];

    (void)snprintf(address, sizeof address, "%s:%u", inet_ntoa(ip), 20000 + node->ports++ % 40000);
    *l          = (link){ .next       = node->links,
                          .node       = node,
                          .connection = connection,
                          .from       = from,
                          .opened_at  = sim_now() };
    l->model    = model_link_open(node->server, l, address, sim_node_wall_us(node));
    node->links = l;
    return l;
}

static void received(void *arg, const char *bytes, size_t size)
{
    link     *l    = arg;
    sim_node *node = l->node;

    node->was_busy = true;
    model_link_feed(l->model, bytes, size, sim_node_wall_us(node));
    settle(node);
}

static void ended(void *arg)
{
    link *l = arg;

    model_link_closed(l->model);
    forget(l);
}

static const sim_service service = { accepted, received, ended };

/* ---- time ------------------------------------------------------------------------------------ */

/* Once a second, writes what has happened since. */
static void write_disk(sim_node *node)
{
    const char *bytes;
    size_t      size;

    if (node->disk == NULL || sim_now() - node->written_at < SIM_S)
        return;
    node->written_at = sim_now();
    bool found = model_server_effects(node->server, model_server_offset(node->disk), &bytes, &size);
    assert(found);
    model_server_apply(node->disk, bytes, size, sim_node_wall_us(node));
}

static void tick(void *arg)
{
    sim_node *node = arg;

    node->tick = NULL;
    if (node->is_paused)
        return;
    write_disk(node);
    uint64_t end  = model_server_offset(node->server);
    uint64_t kept = end > node->options.backlog ? end - node->options.backlog : 0;
    if (node->disk != NULL) {
        model_server_trim(node->disk, model_server_offset(node->disk));
        if (model_server_offset(node->disk) < kept)
            kept = model_server_offset(node->disk);
    }
    model_server_trim(node->server, kept);
    model_server_tick(node->server, sim_node_wall_us(node));
    settle(node);
    node->was_busy = false;
}

static void plan_tick(sim_node *node)
{
    int64_t at       = sim_now() + (node->was_busy ? TICK_MS : REST_MS) * SIM_MS;
    int64_t deadline = model_server_deadline(node->server);

    if (deadline != INT64_MAX) {
        int64_t left_ns = (deadline - sim_node_wall_us(node)) * 1000;
        int64_t due     = sim_now() + (left_ns < 0 ? 0 : left_ns);
        at              = due < at ? due : at;
    }
    if (node->tick != NULL && node->tick_at <= at)
        return;
    sim_cancel(&node->tick);
    node->tick    = sim_at(at, tick, node);
    node->tick_at = at;
}

static void feed_line(const link *from, const char *before, const char *words, int64_t now_us)
{
    char line[256];
    int  size = snprintf(line, sizeof line, "%s%s\r\n", before, words);

    assert(size > 0 && (size_t)size < sizeof line);
    model_link_feed(from->model, line, (size_t)size, now_us);
}

/* On a link without a connection. */
void sim_node_command(sim_node *node, const char *words)
{
    link    administrator = { .node = node };
    int64_t now_us        = sim_node_wall_us(node);

    if (node->server == NULL)
        return;
    administrator.model = model_link_open(node->server, &administrator, "127.0.0.1:1", now_us);
    if (node->options.password != NULL)
        feed_line(&administrator, "AUTH ", node->options.password, now_us);
    feed_line(&administrator, "", words, now_us);
    model_link_closed(administrator.model);
    settle(node);
}

/* ---- replication ----------------------------------------------------------------------------- */

void sim_node_follow(sim_node *node, const char *host, uint16_t port)
{
    if (node->server == NULL)
        return;
    model_server_follow(node->server, host, port, sim_node_wall_us(node));
    settle(node);
}

void sim_node_primary_link(sim_node *node, bool is_up)
{
    if (node->server != NULL)
        model_server_primary_link(node->server, is_up, sim_node_wall_us(node));
}

void sim_node_apply(sim_node *node, const char *bytes, size_t size)
{
    if (node->server == NULL)
        return;
    node->was_busy = true;
    model_server_apply(node->server, bytes, size, sim_node_wall_us(node));
    settle(node);
}

void sim_node_load(sim_node *node, const model_dataset *dataset, uint64_t offset)
{
    if (node->server == NULL)
        return;
    model_server_load(node->server, dataset, offset, sim_node_wall_us(node));
    if (node->disk != NULL)
        model_server_load(node->disk, dataset, offset, sim_node_wall_us(node));
    settle(node);
}

void sim_node_acked(sim_node *node, unsigned replica, uint64_t offset)
{
    if (node->server == NULL)
        return;
    model_server_acked(node->server, replica, offset, sim_node_wall_us(node));
    settle(node);
}

void sim_node_lost_replica(sim_node *node, unsigned replica)
{
    if (node->server != NULL)
        model_server_lost_replica(node->server, replica, sim_node_wall_us(node));
}

void sim_node_set_services(sim_node *node, const model_sentinel_view *view)
{
    if (node->server == NULL)
        return;
    model_server_set_services(node->server, view, sim_node_wall_us(node));
    settle(node);
}

void sim_node_set_view(sim_node *node, const model_cluster_view *view)
{
    if (node->server == NULL)
        return;
    model_server_set_view(node->server, view, sim_node_wall_us(node));
    settle(node);
}

void sim_node_deliver(sim_node *node, bool is_sharded, const char *channel, size_t channel_size,
                      const char *message, size_t message_size)
{
    if (node->server == NULL)
        return;
    model_server_deliver(node->server, is_sharded, channel, channel_size, message, message_size);
    settle(node);
}

bool sim_node_move_key(sim_node *from, sim_node *to, unsigned slot)
{
    bool has_moved = model_server_move_key(from->server, to->server, slot, sim_node_wall_us(from),
                                           sim_node_wall_us(to));

    settle(to);
    settle(from);
    return has_moved;
}

bool sim_node_answers(const sim_node *node)
{
    return node->server != NULL && !node->is_paused;
}

uint16_t sim_node_port(const sim_node *node)
{
    return node->options.port;
}

/* ---- start and stop -------------------------------------------------------------------------- */

static model_server *new_server(sim_node *node)
{
    struct in_addr ip = { sim_host_address(node->options.host) };
    char           host[ADDRESS_MAX];

    (void)snprintf(host, sizeof host, "%s", inet_ntoa(ip));
    model_server_options options = {
        .version  = node->options.version,
        .host     = host,
        .port     = node->options.port,
        .password = node->options.password,
        .dataset  = node->kept,
        .offset   = node->kept_offset,
        .now_us   = sim_node_wall_us(node),

        .is_cluster  = node->options.is_cluster,
        .is_sentinel = node->options.is_sentinel,
    };
    model_owner owner = {
        .send = send_reply, .close = close_soon, .random = give_random, .arg = node
    };
    if (node->options.publish != NULL)
        owner.cluster_publish = publish;
    if (node->options.complain != NULL)
        owner.complain = complain;
    return model_server_new(&options, owner);
}

sim_node *sim_node_new(const sim_node_options *options)
{
    sim_node *node = bwl_room_for(1, sizeof *node);

    node->options  = *options;
    node->seed     = options->seed;
    node->wall_ns  = options->wall_ns;
    node->rate_ppm = options->rate_ppm;
    node->read_at  = sim_now();
    return node;
}

void sim_node_start(sim_node *node)
{
    if (node->server != NULL)
        return;
    node->server = new_server(node);
    node->told   = model_server_offset(node->server);
    if (node->options.disk == SIM_DISK_SECOND)
        node->disk = new_server(node);
    sim_host_start(node->options.host);
    sim_listen(node->options.host, node->options.port, &service, node);
    plan_tick(node);
}

/* What the disk has at the moment of a crash. */
static void keep(sim_node *node)
{
    const model_server *from = node->options.disk == SIM_DISK_ALWAYS ? node->server : node->disk;

    model_dataset_free(node->kept);
    node->kept        = NULL;
    node->kept_offset = 0;
    if (from != NULL) {
        node->kept        = model_dataset_copy(model_server_dataset(from));
        node->kept_offset = model_server_offset(from);
    }
}

void sim_node_kill(sim_node *node, bool silent)
{
    if (node->server == NULL)
        return;
    keep(node);
    sim_host_kill(node->options.host, silent);
    while (node->links != NULL)
        forget(node->links);
    model_server_free(node->server);
    model_server_free(node->disk);
    node->server    = NULL;
    node->disk      = NULL;
    node->is_paused = false;
    sim_cancel(&node->tick);
}

void sim_node_pause(sim_node *node, bool pauses)
{
    if (node->server == NULL || node->is_paused == pauses)
        return;
    node->is_paused = pauses;
    sim_host_pause(node->options.host, pauses);
    if (!pauses)
        plan_tick(node);
}

void sim_node_free(sim_node *node)
{
    if (node == NULL)
        return;
    model_server_free(node->server);
    model_server_free(node->disk);
    model_dataset_free(node->kept);
    while (node->links != NULL)
        forget(node->links);
    sim_cancel(&node->tick);
    free(node);
}
