#include "sim/world/cluster.h"

#include "lab/base/dice.h"
#include "lab/base/memory.h"
#include "sim/kernel/say.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOOK_MS   = 500,
    RETRY_MS  = 300,
    LATE_MS   = 1000, /* a change is learned so late at most; now and then five times as late */
    REJOIN_MS = 2000, /* a primary that was down serves so late: CLUSTER_WRITABLE_DELAY */
    MOVE_MS   = 150,  /* between two keys of a slot, at most */
    TRIES_MAX = 250,  /* of a manual failover */
    TRY_MS    = 20,
    NO_SHARD  = -1,
};

typedef struct message message;

typedef struct member {
    sim_cluster        *owner;
    unsigned            number;
    model_cluster_view *view;
    uint64_t            version; /* of the truth that it knows */
    int64_t             majority_at;
    int64_t             looked_at;
    int64_t             failing_since; /* SIM_NEVER: a majority reaches it */
    sim_event          *learns;
} member;

typedef struct slot_move {
    unsigned slot;
    int      to; /* a shard; NO_SHARD: no slot moves */
    bool     has_begun;
} slot_move;

struct sim_cluster {
    sim_node *const     *nodes;
    sim_replication     *replication;
    sim_cluster_settings settings;
    uint64_t             seed;
    member              *members;
    model_cluster_view   truth;
    uint64_t             version;
    slot_move            move;
    sim_event           *moves;
    sim_event           *look;
    sim_event           *fails_over; /* by hand */
    unsigned             failing;    /* of this shard */
    unsigned             tries;
    message             *messages; /* under way */
};

static uint64_t draw(sim_cluster *c, uint64_t below)
{
    return bwl_dice_draw(&c->seed) % below;
}

static bool is_primary(const sim_cluster *c, unsigned node)
{
    return c->truth.nodes[node].primary == MODEL_NO_NODE;
}

static unsigned primary_of(const sim_cluster *c, unsigned shard)
{
    for (unsigned i = shard; i < c->settings.count; i += c->settings.primaries) {
        if (is_primary(c, i))
            return i;
    }
    return shard;
}

static unsigned shard_of(const sim_cluster *c, unsigned node)
{
    return node % c->settings.primaries;
}

static bool reaches(const sim_cluster *c, unsigned one, unsigned other)
{
    return one == other ? sim_node_answers(c->nodes[one]) : sim_nodes_reach(c->nodes, one, other);
}

static bool reaches_majority(const sim_cluster *c, unsigned node)
{
    unsigned count = 0;

    for (unsigned i = 0; i < c->settings.primaries; i++)
        count += reaches(c, node, primary_of(c, i));
    return count > c->settings.primaries / 2;
}

/* ---- views ----------------------------------------------------------------------------------- */

static void show(const member *m)
{
    sim_node_set_view(m->owner->nodes[m->number], m->view);
}

static void mark_move(const member *m)
{
    const sim_cluster *c    = m->owner;
    unsigned           slot = c->move.slot;

    if (c->move.to == NO_SHARD || !c->move.has_begun)
        return;
    int from = c->truth.owner[slot];
    int to   = (int)primary_of(c, (unsigned)c->move.to);
    if ((int)m->number == from)
        m->view->migrating_to[slot] = (int8_t)to;
    if ((int)m->number == to)
        m->view->importing_from[slot] = (int8_t)from;
}

/* It knows the truth from now on. */
static void learn(member *m)
{
    sim_cluster *c       = m->owner;
    int          primary = c->truth.nodes[m->number].primary;

    sim_cancel(&m->learns);
    *m->view      = c->truth;
    m->view->self = m->number;
    m->version    = c->version;
    mark_move(m);
    show(m);
    if (c->replication != NULL)
        sim_replication_follow(c->replication, m->number,
                               primary == MODEL_NO_NODE ? SIM_NO_PRIMARY : primary);
}

static bool can_learn(const member *m)
{
    const sim_cluster *c = m->owner;

    for (unsigned i = 0; i < c->settings.count; i++) {
        if (c->members[i].version == c->version && reaches(c, m->number, i) &&
            reaches_majority(c, m->number))
            return true;
    }
    return false;
}

static void learn_late(void *arg)
{
    member *m = arg;

    m->learns = NULL;
    if (can_learn(m))
        learn(m);
    else
        m->learns = sim_at(sim_now() + RETRY_MS * SIM_MS, learn_late, m);
}

static void plan_learning(member *m, int64_t after_ms)
{
    if (m->learns == NULL)
        m->learns = sim_at(sim_now() + after_ms * SIM_MS, learn_late, m);
}

/* These nodes know of a change at once, the others later. */
static void change(sim_cluster *c, unsigned one, unsigned other)
{
    c->version++;
    c->truth.epoch++;
    learn(&c->members[one]);
    learn(&c->members[other]);
    for (unsigned i = 0; i < c->settings.count; i++) {
        int64_t late_ms = (int64_t)draw(c, LATE_MS) * (draw(c, 8) == 0 ? 5 : 1);
        if (c->members[i].version != c->version)
            plan_learning(&c->members[i], late_ms);
    }
}

/* ---- failovers ------------------------------------------------------------------------------- */

static void promote(sim_cluster *c, unsigned node, bool is_by_hand)
{
    unsigned            old   = primary_of(c, shard_of(c, node));
    model_cluster_view *truth = &c->truth;

    sim_say("cluster: node %u takes over from %u", node, old);
    for (unsigned slot = 0; slot < MODEL_VIEW_SLOTS; slot++) {
        if (truth->owner[slot] == (int)old)
            truth->owner[slot] = (int8_t)node;
    }
    for (unsigned i = 0; i < c->settings.count; i++) {
        if (truth->nodes[i].primary == (int)old)
            truth->nodes[i].primary = (int8_t)node;
    }
    truth->nodes[node].primary = MODEL_NO_NODE;
    truth->nodes[old].primary  = (int8_t)node;
    change(c, node, is_by_hand ? old : node);
}

static bool may_be_promoted(void *arg, unsigned node)
{
    return reaches_majority(arg, node);
}

static void replace_failed(sim_cluster *c, unsigned primary)
{
    member *m         = &c->members[primary];
    bool    is_missed = true;

    for (unsigned i = 0; i < c->settings.primaries; i++) {
        unsigned other = primary_of(c, i);
        is_missed      = is_missed && (other == primary || !reaches(c, other, primary));
    }
    if (!is_missed) {
        m->failing_since = SIM_NEVER;
        return;
    }
    if (m->failing_since == SIM_NEVER)
        m->failing_since = sim_now() + (int64_t)draw(c, LATE_MS) * SIM_MS;
    if (sim_now() - m->failing_since <= c->settings.timeout_ns || c->replication == NULL)
        return;
    int best = sim_replication_best(c->replication, primary, may_be_promoted, c);
    if (best != SIM_NO_PRIMARY) {
        m->failing_since = SIM_NEVER;
        promote(c, (unsigned)best, false);
    }
}

static bool has_everything(const sim_cluster *c, unsigned replica, unsigned primary)
{
    return sim_nodes_reach(c->nodes, replica, primary) &&
           sim_replication_is_connected(c->replication, replica) &&
           sim_replication_primary_of(c->replication, replica) == (int)primary &&
           model_server_offset(sim_node_server(c->nodes[replica])) ==
               model_server_offset(sim_node_server(c->nodes[primary])) &&
           c->members[primary].version == c->version;
}

static void fail_over(void *arg)
{
    sim_cluster *c       = arg;
    unsigned     primary = primary_of(c, c->failing);
    int          best    = sim_replication_best(c->replication, primary, may_be_promoted, c);

    c->fails_over = NULL;
    if (best != SIM_NO_PRIMARY && has_everything(c, (unsigned)best, primary))
        promote(c, (unsigned)best, true);
    else if (c->tries-- > 0)
        c->fails_over = sim_at(sim_now() + TRY_MS * SIM_MS, fail_over, c);
}

void sim_cluster_failover(sim_cluster *c, unsigned node)
{
    if (c->replication == NULL || c->fails_over != NULL)
        return;
    c->failing = shard_of(c, node);
    c->tries   = TRIES_MAX;
    fail_over(c);
}

/* ---- a slot moves ---------------------------------------------------------------------------- */

static void move_keys(void *arg);

static void go_on(sim_cluster *c, uint64_t most_ms)
{
    c->moves = sim_at(sim_now() + (int64_t)(1 + draw(c, most_ms)) * SIM_MS, move_keys, c);
}

static void move_keys(void *arg)
{
    sim_cluster *c    = arg;
    unsigned     slot = c->move.slot;
    unsigned     from = (unsigned)c->truth.owner[slot];
    unsigned     to   = primary_of(c, (unsigned)c->move.to);

    c->moves = NULL;
    if (!reaches(c, from, to) || c->members[from].version != c->version ||
        c->members[to].version != c->version || c->members[from].view->is_down ||
        c->members[to].view->is_down) {
        go_on(c, RETRY_MS);
        return;
    }
    if (!c->move.has_begun || c->members[from].view->migrating_to[slot] != (int)to ||
        c->members[to].view->importing_from[slot] != (int)from) {
        sim_say("cluster: slot %u begins to move from %u to %u", slot, from, to);
        c->move.has_begun = true;
        learn(&c->members[to]);
        learn(&c->members[from]);
    } else if (!sim_node_move_key(c->nodes[from], c->nodes[to], slot)) {
        sim_say("cluster: slot %u has moved to %u", slot, to);
        c->truth.owner[slot] = (int8_t)to;
        c->move.to           = NO_SHARD;
        change(c, to, from);
        return;
    }
    go_on(c, MOVE_MS);
}

void sim_cluster_move_slot(sim_cluster *c, const char *key, unsigned node)
{
    unsigned slot = model_key_slot(key, strlen(key));

    if (c->move.to != NO_SHARD || shard_of(c, (unsigned)c->truth.owner[slot]) == shard_of(c, node))
        return;
    c->move = (slot_move){ .slot = slot, .to = (int)shard_of(c, node) };
    go_on(c, MOVE_MS);
}

/* ---- messages -------------------------------------------------------------------------------- */

struct message {
    message     *next;
    sim_cluster *owner;
    sim_event   *arrival;
    unsigned     from;
    bool         is_sharded;
    char        *channel;
    size_t       channel_size;
    size_t       size;
};

static void forget(message *m)
{
    message **link = &m->owner->messages;

    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    sim_cancel(&m->arrival);
    free(m->channel);
    free(m);
}

/* The bus does not repeat what a cut has lost. */
static void deliver(void *arg)
{
    message     *m = arg;
    sim_cluster *c = m->owner;

    m->arrival = NULL;
    for (unsigned i = 0; i < c->settings.count; i++) {
        if (i == m->from || !sim_node_answers(c->nodes[i]) || !sim_way_is_open(m->from, i) ||
            (m->is_sharded && shard_of(c, i) != shard_of(c, m->from)))
            continue;
        sim_node_deliver(c->nodes[i], m->is_sharded, m->channel, m->channel_size,
                         m->channel + m->channel_size, m->size);
    }
    forget(m);
}

void sim_cluster_publish(sim_cluster *c, unsigned node, bool is_sharded, const char *channel,
                         size_t channel_size, const char *text, size_t size)
{
    message *m = bwl_room_for(1, sizeof *m);

    *m = (message){ .next         = c->messages,
                    .owner        = c,
                    .from         = node,
                    .is_sharded   = is_sharded,
                    .channel      = bwl_room_for(channel_size + size + 1, 1),
                    .channel_size = channel_size,
                    .size         = size };
    memcpy(m->channel, channel, channel_size);
    memcpy(m->channel + channel_size, text, size);
    c->messages = m;
    m->arrival  = sim_at(sim_now() + (int64_t)(1 + draw(c, 5 * (uint64_t)SIM_MS)), deliver, m);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void look_at(member *m)
{
    sim_cluster *c      = m->owner;
    bool         paused = sim_now() - m->looked_at > 2 * LOOK_MS * SIM_MS;

    if (!sim_node_answers(c->nodes[m->number]))
        return;
    m->looked_at = sim_now();
    if (paused || reaches_majority(c, m->number))
        m->majority_at = sim_now();
    if (sim_now() - m->majority_at > c->settings.timeout_ns && !m->view->is_down) {
        m->view->is_down = true;
        show(m);
    }
    if (m->view->is_down && m->majority_at == sim_now())
        plan_learning(m, REJOIN_MS);
}

static void look(void *arg)
{
    sim_cluster *c = arg;

    c->look = sim_at(sim_now() + LOOK_MS * SIM_MS, look, c);
    for (unsigned i = 0; i < c->settings.count; i++)
        look_at(&c->members[i]);
    for (unsigned i = 0; i < c->settings.primaries; i++)
        replace_failed(c, primary_of(c, i));
}

void sim_cluster_started(sim_cluster *c, unsigned node)
{
    member *m = &c->members[node];

    m->view->is_down = true;
    m->looked_at     = sim_now();
    m->majority_at   = sim_now();
    show(m);
    sim_cancel(&m->learns);
    plan_learning(m, REJOIN_MS);
}

static void begin_truth(sim_cluster *c)
{
    model_cluster_view *truth = &c->truth;

    truth->nodes_count = c->settings.count;
    truth->epoch       = 1;
    for (unsigned i = 0; i < c->settings.count; i++) {
        model_node    *node  = &truth->nodes[i];
        unsigned       shard = shard_of(c, i);
        struct in_addr ip    = { sim_host_address(i) };
        (void)inet_ntop(AF_INET, &ip, node->host, sizeof node->host);
        (void)snprintf(node->id, sizeof node->id, "%040u", i + 1);
        node->port    = sim_node_port(c->nodes[i]);
        node->primary = (int8_t)(shard == i ? MODEL_NO_NODE : (int)shard);
    }
    for (unsigned slot = 0; slot < MODEL_VIEW_SLOTS; slot++) {
        truth->owner[slot]        = (int8_t)(slot * c->settings.primaries / MODEL_VIEW_SLOTS);
        truth->migrating_to[slot] = truth->importing_from[slot] = MODEL_NO_NODE;
    }
}

sim_cluster *sim_cluster_new(sim_node *const *nodes, sim_replication *replication,
                             const sim_cluster_settings *settings)
{
    sim_cluster *c = bwl_room_for(1, sizeof *c);

    c->nodes       = nodes;
    c->replication = replication;
    c->settings    = *settings;
    c->seed        = settings->seed;
    c->version     = 1;
    c->move.to     = NO_SHARD;
    c->members     = bwl_room_for(settings->count, sizeof(member));
    begin_truth(c);
    for (unsigned i = 0; i < settings->count; i++) {
        c->members[i] = (member){ .owner         = c,
                                  .number        = i,
                                  .view          = bwl_room_for(1, sizeof(model_cluster_view)),
                                  .failing_since = SIM_NEVER };
        learn(&c->members[i]);
    }
    look(c);
    return c;
}

void sim_cluster_free(sim_cluster *c)
{
    if (c == NULL)
        return;
    while (c->messages != NULL)
        forget(c->messages);
    for (unsigned i = 0; i < c->settings.count; i++) {
        sim_cancel(&c->members[i].learns);
        free(c->members[i].view);
    }
    sim_cancel(&c->moves);
    sim_cancel(&c->look);
    sim_cancel(&c->fails_over);
    free(c->members);
    free(c);
}
