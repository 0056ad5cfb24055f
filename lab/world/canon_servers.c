/*
 * canon_servers.c -- the fingerprint of a world with several servers, which are interchangeable
 * like clients. See canon.h.
 *
 * Each client, server and link has a hash of its own, in which the name of a token is the number of
 * newer tokens of its client. For an order of the clients, a server is a column: its key and its
 * links. The sorted columns and the clients give one hash; the smallest over all orders is the
 * fingerprint.
 */
#include "lab/world/canon_inside.h"
#include "protocol/quorum.h"

/* The hashes that do not depend on the order of the clients. */
typedef struct parts {
    uint64_t clients[BWL_CLIENTS_MAX];
    uint64_t servers[BWL_SERVERS_MAX];
    uint64_t links[BWL_SERVERS_MAX][BWL_CLIENTS_MAX];
} parts;

static const bwl_redlock_state *state_of(const bwl_lab_client *c)
{
    return (const bwl_redlock_state *)(const void *)c->hold.memory;
}

/* Leaves out what it stores per server, which belongs to the link. */
void bwl_put_redlock_state(bwl_print *p, const bwl_hold *h)
{
    const bwl_redlock_state *r = (const bwl_redlock_state *)(const void *)h->memory;

    bwl_put(p, (uint64_t)h->request.attempt << 8 | (uint64_t)r->verb << 2 |
                   (uint64_t)r->is_decided << 1 | r->is_patient); /* patience doubles each time */
    bwl_put_time(p, r->until);
    if (!r->is_decided)
        bwl_put(p, (uint64_t)(p->now - r->started_at) << 1 | r->is_again);
}

static void put_message(bwl_print *p, const bwl_world *w, const bwl_lab_client *c,
                        const bwl_message *message)
{
    bool is_open = message->kind == BWL_MESSAGE_REQUEST;
    bool is_current =
        c->is_running && message->round == c->round && message->tag == state_of(c)->round;

    bwl_put(p, (uint64_t)message->kind << 24 | (uint64_t)message->command << 16 |
                   (uint64_t)message->answer << 8 | (uint64_t)is_current << 2 |
                   (uint64_t)message->is_settled << 1 | message->acquires);
    if (is_open)
        bwl_put_token(p, message->token);
    if (is_open && w->scenario->budget[BWL_STOP] > 0)
        bwl_put(p, (uint64_t)(w->now - BWL_BEGINNING_MS - message->asked_ms));
}

/* A link has only tokens of its own client. */
static uint64_t print_of_link(bwl_print *p, const bwl_world *w, unsigned k, unsigned client)
{
    const bwl_link       *link = &w->servers[k].links[client];
    const bwl_lab_client *c    = &w->clients[client];

    p->hash = 0;
    bwl_put(p, (uint64_t)link->count << 8 | link->late_count);
    for (unsigned i = 0; i < link->count; i++)
        put_message(p, w, c, &link->messages[i]);
    for (unsigned i = 0; i < link->late_count; i++) {
        bwl_put(p, (uint64_t)link->late[i].connection << 8 | link->late[i].command);
        bwl_put_token(p, link->late[i].token);
    }
    if (c->is_running)
        bwl_put(p, (uint64_t)state_of(c)->votes[k] << 1 | state_of(c)->deleted[k]);
    return p->hash;
}

static uint64_t print_of_server(bwl_print *p, const bwl_server *server)
{
    p->hash = 0;
    bwl_put_token(p, bwl_model_owner(&server->redis));
    bwl_put(p, (uint64_t)bwl_model_left(&server->redis));
    bwl_put(p, (uint64_t)server->young_for << 4 | (uint64_t)server->is_stopped << 3 |
                   (uint64_t)server->was_faulty << 2 | (uint64_t)server->key_excused << 1 |
                   server->key_late);
    return p->hash;
}

static uint64_t print_of_client(bwl_print *p, const bwl_world *w, unsigned client)
{
    p->hash = 0;
    bwl_put_client(p, w, &w->clients[client]);
    return p->hash;
}

static void find_columns(bwl_print *p, const bwl_world *w, const uint8_t *order, const parts *all,
                         uint64_t columns[BWL_SERVERS_MAX])
{
    for (unsigned k = 0; k < w->scenario->servers; k++) {
        uint16_t owner = bwl_model_owner(&w->servers[k].redis);
        unsigned at    = k;

        p->hash = all->servers[k];
        for (unsigned i = 0; i < w->scenario->clients; i++) {
            bool is_owner = owner != 0 && bwl_token_client(owner) == order[i];
            bwl_put(p, all->links[k][order[i]] + is_owner);
        }
        for (; !p->plain && at > 0 && columns[at - 1] > p->hash; at--)
            columns[at] = columns[at - 1];
        columns[at] = p->hash;
    }
}

static uint64_t in_order(bwl_print *p, const bwl_world *w, uint64_t start, const uint8_t *order,
                         const parts *all)
{
    uint64_t columns[BWL_SERVERS_MAX];

    find_columns(p, w, order, all, columns);
    p->hash = start;
    for (unsigned i = 0; i < w->scenario->clients; i++)
        bwl_put(p, all->clients[order[i]]);
    for (unsigned k = 0; k < w->scenario->servers; k++)
        bwl_put(p, columns[k]);
    return bwl_print_finish(p->hash);
}

uint64_t bwl_fingerprint_of_several(bwl_print *p, const bwl_world *w)
{
    uint16_t latest[BWL_CLIENTS_MAX];
    uint64_t start = p->hash;
    uint64_t least = UINT64_MAX;
    parts    all;

    p->latest = latest;
    for (unsigned i = 0; i < w->scenario->clients; i++)
        latest[i] = bwl_token_read(w->clients[i].hold.request.token);
    for (unsigned i = 0; i < w->scenario->clients; i++)
        all.clients[i] = print_of_client(p, w, i);
    for (unsigned k = 0; k < w->scenario->servers; k++) {
        all.servers[k] = print_of_server(p, &w->servers[k]);
        for (unsigned i = 0; i < w->scenario->clients; i++)
            all.links[k][i] = print_of_link(p, w, k, i);
    }
    for (unsigned i = 0; i < bwl_orders_count(w->scenario->clients, p->plain); i++) {
        uint64_t print = in_order(p, w, start, bwl_orders[i], &all);
        least          = print < least ? print : least;
    }
    return least;
}
