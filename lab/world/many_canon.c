/*
 * many_canon.c -- which worlds with several servers are one: those that differ by the names of
 * clients, of servers and of tokens, by what counts as time, and by what nobody looks at any more.
 *
 * For every order of the clients: each server is a number (its key, its lines, what each machine
 * remembers of it); these are sorted, and go with the numbers of the clients into one.  The least
 * of these is the fingerprint.
 */
#include "lab/world/many.h"
#include "lab/base/token_number.h"

enum { ORDERS = 6 };

static const uint8_t orders[ORDERS][BWL_MANY_CLIENTS] = {
    { 0, 1, 2 }, { 1, 0, 2 }, { 0, 2, 1 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
};

static uint64_t finish(uint64_t x)
{
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

static void put(uint64_t *print, uint64_t x)
{
    *print = finish(*print * UINT64_C(0x9e3779b97f4a7c15) + x + 1);
}

static void put_time(uint64_t *print, const bwl_many_world *w, bwl_ms at)
{
    put(print, at == BWL_NEVER ? UINT64_MAX : at <= w->now ? 0 : (uint64_t)(at - w->now));
}

/* Of which of its client's attempts it is, counted backwards. */
static unsigned token_age(const bwl_many_world *w, uint16_t token)
{
    unsigned client = bwl_token_client(token);
    unsigned latest = bwl_token_serial(bwl_token_read(w->clients[client].hold.claim.token));

    return latest - bwl_token_serial(token);
}

static const bwl_redlock_state *memory_of(const bwl_many_client *c)
{
    return (const bwl_redlock_state *)(const void *)c->hold.memory;
}

/* Only what the machine waits for is told from the rest. */
static bool is_of_round(const bwl_many_client *c, const bwl_many_letter *letter)
{
    return c->is_running && letter->round == c->round &&
           letter->tag == (uint16_t)memory_of(c)->round;
}

static void put_letter(uint64_t *print, const bwl_many_world *w, const bwl_many_client *c,
                       const bwl_many_letter *letter)
{
    bool is_open   = letter->kind == BWL_LETTER_QUESTION;
    bool times_out = w->scenario->budget[BWL_MANY_STOP] > 0;

    put(print, (uint64_t)letter->kind << 32 | (uint64_t)letter->word << 24 |
                   (uint64_t)letter->answer << 16 | (uint64_t)is_of_round(c, letter) << 8 |
                   letter->heals);
    if (is_open)
        put(print, token_age(w, letter->token));
    if (is_open && times_out)
        put(print, (uint64_t)(w->now - BWL_BEGINNING_MS - letter->asked_ms));
}

/* A line has letters of its client alone, so nobody else's name is in it. */
static uint64_t line_print(const bwl_many_world *w, unsigned client, unsigned k)
{
    const bwl_many_line   *line  = &w->lines[client][k];
    const bwl_many_client *c     = &w->clients[client];
    uint64_t               print = 5;

    put(&print, (uint64_t)line->count << 8 | line->late_count);
    for (unsigned i = 0; i < line->count; i++)
        put_letter(&print, w, c, &line->letters[i]);
    for (unsigned i = 0; i < line->late_count; i++)
        put(&print, (uint64_t)line->late[i].word << 32 | token_age(w, line->late[i].token));
    if (c->is_running)
        put(&print, (uint64_t)memory_of(c)->votes[k] << 1 | memory_of(c)->deleted[k]);
    return print;
}

static uint64_t server_print(const bwl_many_world *w, unsigned k)
{
    const bwl_many_server *server = &w->servers[k];
    uint64_t               print  = 1;

    put(&print, server->owner == 0 ? UINT64_MAX : token_age(w, server->owner));
    put(&print,
        (uint64_t)server->ends_in << 2 | (uint64_t)server->is_stopped << 1 | server->was_faulty);
    put(&print, (uint64_t)server->young_for);
    return print;
}

/* All that does not depend on the order of the clients. */
typedef struct parts {
    uint64_t clients[BWL_MANY_CLIENTS];
    uint64_t servers[BWL_MANY_SERVERS];
    uint64_t lines[BWL_MANY_CLIENTS][BWL_MANY_SERVERS];
} parts;

static void put_machine(uint64_t *print, const bwl_many_world *w, const bwl_many_client *c)
{
    const bwl_redlock_state *r = memory_of(c);

    put(print, (uint64_t)r->verb << 2 | (uint64_t)r->is_decided << 1 | r->is_patient);
    put_time(print, w, r->until);
    if (!r->is_decided)
        put(print, (uint64_t)(w->now - r->asked_at) << 1 | r->is_again);
}

static void put_hold(uint64_t *print, const bwl_many_world *w, const bwl_many_client *c)
{
    const bwl_hold *h    = &c->hold;
    bool            held = bwl_hold_is_held(h);

    put(print, (uint64_t)h->state << 8 | h->trouble);
    put(print, (uint64_t)h->would_wait << 4 | (uint64_t)h->last_try << 3 |
                   (uint64_t)h->doubted << 2 | (uint64_t)h->caller_extends << 1 | h->extend_again);
    put(print, h->pauses);
    put(print, h->claim.attempt); /* patience doubles with it */
    put_time(print, w, h->look_at);
    put_time(print, w, h->protocol_wakes_at);
    if (bwl_hold_is_sought(h)) {
        put_time(print, w, h->give_up_at);
        put_time(print, w, h->attempt_ends_at);
    }
    if (held)
        put_time(print, w, h->until);
    else
        put_time(print, w, h->answer_by);
    put_machine(print, w, c);
}

static uint64_t client_print(const bwl_many_world *w, const bwl_many_client *c)
{
    uint64_t print = 2;

    put(&print, (uint64_t)c->rounds_left << 16 | (uint64_t)c->asked_now << 8 |
                    (uint64_t)c->is_running << 6 | (uint64_t)c->is_working << 5 |
                    (uint64_t)c->was_slow << 4 | (uint64_t)c->is_told_end << 3 |
                    (uint64_t)c->releases << 2 | (uint64_t)c->cancels << 1 | c->is_gone);
    if (c->is_running)
        put_hold(&print, w, c);
    return print;
}

static uint64_t print_in_order(const bwl_many_world *w, const uint8_t order[], const parts *p)
{
    uint64_t columns[BWL_MANY_SERVERS];
    unsigned places[BWL_MANY_CLIENTS];
    uint64_t print = 3;

    for (unsigned i = 0; i < w->scenario->clients; i++) {
        places[order[i]] = i;
        put(&print, p->clients[order[i]]);
    }
    for (unsigned k = 0; k < w->scenario->servers; k++) {
        uint16_t owner  = w->servers[k].owner;
        uint64_t column = p->servers[k];
        unsigned at     = k;
        put(&column, owner == 0 ? 0 : places[bwl_token_client(owner)] + 1);
        for (unsigned i = 0; i < w->scenario->clients; i++)
            put(&column, p->lines[order[i]][k]);
        for (; at > 0 && columns[at - 1] > column; at--)
            columns[at] = columns[at - 1];
        columns[at] = column;
    }
    for (unsigned k = 0; k < w->scenario->servers; k++)
        put(&print, columns[k]);
    return print;
}

uint64_t bwl_many_fingerprint(const bwl_many_world *w)
{
    parts    p;
    uint64_t least  = UINT64_MAX;
    uint64_t common = 4;
    unsigned count  = w->scenario->clients == 2 ? 2 : w->scenario->clients == 3 ? ORDERS : 1;

    for (unsigned k = 0; k < w->scenario->servers; k++)
        p.servers[k] = server_print(w, k);
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        p.clients[i] = client_print(w, &w->clients[i]);
        for (unsigned k = 0; k < w->scenario->servers; k++)
            p.lines[i][k] = line_print(w, i, k);
    }
    for (unsigned i = 0; i < count; i++) {
        uint64_t print = print_in_order(w, orders[i], &p);
        least          = print < least ? print : least;
    }
    put(&common, (uint64_t)w->was_lossy << 1 | w->was_kept);
    for (unsigned i = 0; i < BWL_MANY_BUDGETS_COUNT; i++)
        put(&common, w->left[i]);
    put(&common, least);
    return common == 0 ? 1 : common;
}
