#include "sim/world/replication.h"

#include "lab/base/dice.h"
#include "lab/base/memory.h"
#include "sim/kernel/say.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    BEAT_MS  = 1000, /* acknowledgements, and tries to connect */
    RETRY_MS = 50,   /* what a cut keeps back is tried again */
};

/* A node, as a replica and as a primary. */
typedef struct member {
    sim_replication *owner;
    unsigned         number;
    int              primary;
    bool             is_connected;
    uint64_t         history; /* of its data */
    uint64_t         history_before;
    uint64_t         before_until; /* they share it up to this offset */
    int64_t          heard_at;
    sim_event       *arrival; /* of what is under way to it, or of its next look */
    char            *bytes;   /* under way: effects */
    size_t           size;
    model_dataset   *dataset; /* or all data, up to the offset */
    uint64_t         offset;
    uint64_t         from_history; /* of what is under way */
    sim_event       *ack;
    uint64_t         ack_offset;
    bool             acks_again;
} member;

struct sim_replication {
    sim_node *const         *nodes;
    unsigned                 count;
    sim_replication_settings settings;
    uint64_t                 seed;
    uint64_t                 histories;
    member                  *members;
    sim_event               *beat;
};

bool sim_nodes_reach(sim_node *const *nodes, unsigned one, unsigned other)
{
    return sim_node_answers(nodes[one]) && sim_node_answers(nodes[other]) &&
           sim_way_is_open(one, other) && sim_way_is_open(other, one);
}

static int64_t lag(sim_replication *r)
{
    int64_t most = r->settings.lag_ns;

    /* Most are short. */
    most = bwl_dice_draw(&r->seed) % 8 == 0 ? most : most / 8;
    return 1 + (int64_t)(bwl_dice_draw(&r->seed) % (uint64_t)(most + 1));
}

static sim_node *node_of(const member *m)
{
    return m->owner->nodes[m->number];
}

static sim_node *primary_of(const member *m)
{
    return m->owner->nodes[m->primary];
}

static uint64_t offset_of(const sim_node *node)
{
    return model_server_offset(sim_node_server(node));
}

/* ---- acknowledgements ------------------------------------------------------------------------ */

static void acknowledge(member *m);

static void ack_arrives(void *arg)
{
    member *m = arg;

    m->ack = NULL;
    if (!m->is_connected)
        return;
    if (!sim_way_is_open(m->number, (unsigned)m->primary) || !sim_node_answers(primary_of(m))) {
        m->ack = sim_at(sim_now() + RETRY_MS * SIM_MS, ack_arrives, m);
        return;
    }
    sim_node_acked(primary_of(m), m->number, m->ack_offset);
    if (m->acks_again)
        acknowledge(m);
}

static void acknowledge(member *m)
{
    if (!m->is_connected || m->dataset != NULL || !sim_node_answers(node_of(m)))
        return;
    m->acks_again = m->ack != NULL;
    if (m->acks_again)
        return;
    m->ack_offset = offset_of(node_of(m));
    m->ack        = sim_at(sim_now() + lag(m->owner), ack_arrives, m);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void drop_arrival(member *m)
{
    sim_cancel(&m->arrival);
    free(m->bytes);
    model_dataset_free(m->dataset);
    m->bytes   = NULL;
    m->dataset = NULL;
}

/* What is under way still arrives. */
static void end_link(member *m)
{
    if (!m->is_connected)
        return;
    sim_say("replica %u is disconnected from %d", m->number, m->primary);
    m->is_connected = false;
    sim_cancel(&m->ack);
    sim_node_primary_link(node_of(m), false);
    sim_node_lost_replica(primary_of(m), m->number);
}

static void look(void *arg);

static void look_soon(member *m, int64_t after_ns)
{
    if (m->arrival == NULL && m->primary != SIM_NO_PRIMARY)
        m->arrival = sim_at(sim_now() + after_ns, look, m);
}

static bool can_go_on(const member *m)
{
    const member *primary = &m->owner->members[m->primary];
    uint64_t      offset  = offset_of(node_of(m));
    const char   *bytes;
    size_t        size;

    if (m->history != primary->history &&
        (m->history != primary->history_before || offset > primary->before_until))
        return false;
    return model_server_effects(sim_node_server(primary_of(m)), offset, &bytes, &size);
}

static void begin_link(member *m)
{
    member *primary = &m->owner->members[m->primary];

    if (!sim_nodes_reach(m->owner->nodes, m->number, (unsigned)m->primary) ||
        primary->primary != SIM_NO_PRIMARY)
        return;
    m->is_connected = true;
    m->heard_at     = sim_now();
    if (can_go_on(m)) {
        sim_say("replica %u goes on with %d", m->number, m->primary);
        m->history = primary->history;
        sim_node_primary_link(node_of(m), true);
        acknowledge(m);
    } else {
        sim_say("replica %u gets the data of %d", m->number, m->primary);
        m->dataset      = model_dataset_copy(model_server_dataset(sim_node_server(primary_of(m))));
        m->offset       = offset_of(primary_of(m));
        m->from_history = primary->history;
    }
    look_soon(m, lag(m->owner));
}

/* ---- effects --------------------------------------------------------------------------------- */

/* True: something is under way. */
static bool send_effects(member *m)
{
    const char *bytes;
    size_t      size;

    if (!sim_node_answers(primary_of(m)))
        return false;
    if (!can_go_on(m)) {
        end_link(m);
        return false;
    }
    (void)model_server_effects(sim_node_server(primary_of(m)), offset_of(node_of(m)), &bytes,
                               &size);
    if (size == 0)
        return false;
    m->bytes = bwl_room_for(size, 1);
    m->size  = size;
    memcpy(m->bytes, bytes, size);
    return true;
}

static void receive(member *m)
{
    char          *bytes   = m->bytes;
    model_dataset *dataset = m->dataset;

    m->bytes   = NULL;
    m->dataset = NULL;
    if (dataset != NULL) {
        m->history = m->from_history;
        sim_node_load(node_of(m), dataset, m->offset);
        sim_node_primary_link(node_of(m), m->is_connected);
    } else {
        sim_node_apply(node_of(m), bytes, m->size);
    }
    free(bytes);
    model_dataset_free(dataset);
    acknowledge(m);
}

/* What was under way arrives, and the next piece begins its way. */
static void look(void *arg)
{
    member *m = arg;

    m->arrival = NULL;
    if (sim_node_server(node_of(m)) == NULL)
        return;
    if (m->bytes != NULL || m->dataset != NULL) {
        if (!sim_way_is_open((unsigned)m->primary, m->number) || !sim_node_answers(node_of(m))) {
            look_soon(m, RETRY_MS * SIM_MS);
            return;
        }
        receive(m);
    }
    if (m->is_connected && send_effects(m))
        look_soon(m, lag(m->owner));
}

void sim_replication_wrote(sim_replication *r, unsigned node)
{
    for (unsigned i = 0; i < r->count; i++) {
        member *m = &r->members[i];
        if (m->primary == (int)node && m->is_connected && m->arrival == NULL && send_effects(m))
            look_soon(m, lag(r));
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

static void beat_of(member *m)
{
    if (m->primary == SIM_NO_PRIMARY || sim_node_server(node_of(m)) == NULL)
        return;
    if (sim_nodes_reach(m->owner->nodes, m->number, (unsigned)m->primary))
        m->heard_at = sim_now();
    else if (sim_now() - m->heard_at > m->owner->settings.silence_ns)
        end_link(m);
    if (m->is_connected) {
        acknowledge(m);
        look_soon(m, lag(m->owner));
    } else if (m->arrival == NULL) {
        begin_link(m);
    }
}

static void beat(void *arg)
{
    sim_replication *r = arg;

    r->beat = sim_at(sim_now() + BEAT_MS * SIM_MS, beat, r);
    for (unsigned i = 0; i < r->count; i++)
        beat_of(&r->members[i]);
}

/* ---- roles ----------------------------------------------------------------------------------- */

static void tell_role(member *m)
{
    char           host[INET_ADDRSTRLEN] = "";
    struct in_addr ip;

    if (m->primary == SIM_NO_PRIMARY) {
        sim_node_follow(node_of(m), NULL, 0);
        return;
    }
    ip.s_addr = sim_host_address((sim_host)m->primary);
    (void)inet_ntop(AF_INET, &ip, host, sizeof host);
    sim_node_follow(node_of(m), host, sim_node_port(primary_of(m)));
}

void sim_replication_follow(sim_replication *r, unsigned node, int primary)
{
    member *m = &r->members[node];

    if (m->primary == primary)
        return;
    sim_say("server %u follows %d", node, primary);
    end_link(m);
    drop_arrival(m);
    m->primary = primary;
    if (sim_node_server(node_of(m)) == NULL)
        return;
    if (primary == SIM_NO_PRIMARY) {
        m->history_before = m->history;
        m->before_until   = offset_of(node_of(m));
        m->history        = ++r->histories;
    } else {
        for (unsigned i = 0; i < r->count; i++) {
            if (r->members[i].primary == (int)node)
                end_link(&r->members[i]);
        }
    }
    tell_role(m);
}

int sim_replication_primary_of(const sim_replication *r, unsigned node)
{
    return r->members[node].primary;
}

bool sim_replication_is_connected(const sim_replication *r, unsigned node)
{
    return r->members[node].is_connected;
}

void sim_replication_started(sim_replication *r, unsigned node)
{
    member *m = &r->members[node];

    m->history        = ++r->histories;
    m->history_before = 0;
    m->heard_at       = sim_now();
    if (m->primary != SIM_NO_PRIMARY)
        tell_role(m);
}

void sim_replication_stopped(sim_replication *r, unsigned node)
{
    end_link(&r->members[node]);
    drop_arrival(&r->members[node]);
    for (unsigned i = 0; i < r->count; i++) {
        if (r->members[i].primary == (int)node)
            end_link(&r->members[i]);
    }
}

int sim_replication_best(const sim_replication *r, unsigned           primary,
                         bool (*may)(void *arg, unsigned node), void *arg)
{
    int best = SIM_NO_PRIMARY;

    for (unsigned i = 0; i < r->count; i++) {
        if (r->members[i].primary != (int)primary || !sim_node_answers(r->nodes[i]) ||
            (may != NULL && !may(arg, i)))
            continue;
        if (best == SIM_NO_PRIMARY || offset_of(r->nodes[i]) > offset_of(r->nodes[best]))
            best = (int)i;
    }
    return best;
}

sim_replication *sim_replication_new(sim_node *const *nodes, unsigned count,
                                     const sim_replication_settings *settings)
{
    sim_replication *r = bwl_room_for(1, sizeof *r);

    *r = (sim_replication){
        .nodes     = nodes,
        .count     = count,
        .settings  = *settings,
        .seed      = settings->seed,
        .histories = count,
        .members   = bwl_room_for(count, sizeof(member)),
    };
    for (unsigned i = 0; i < count; i++)
        r->members[i] =
            (member){ .owner = r, .number = i, .primary = SIM_NO_PRIMARY, .history = i + 1 };
    r->beat = sim_at(sim_now() + SIM_MS, beat, r);
    return r;
}

void sim_replication_free(sim_replication *r)
{
    if (r == NULL)
        return;
    for (unsigned i = 0; i < r->count; i++) {
        drop_arrival(&r->members[i]);
        sim_cancel(&r->members[i].ack);
    }
    sim_cancel(&r->beat);
    free(r->members);
    free(r);
}
