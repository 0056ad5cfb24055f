/*
 * canon.c -- see canon.h.
 */
#include "lab/canon.h"
#include "lab/mutant.h"
#include "lab/token_number.h"
#include "protocol/protocol.h"
#include <string.h>

/* The private state of `token`, as far as the lab must tell one from another. */
typedef struct token_view {
    uint32_t verb;
    uint32_t asked;
    uint32_t last_tag;
    bwl_ms   until;
} token_view;

enum { PAUSES_ALIKE = 8, TOKENS_MAX = 64, ORDERS_MAX = 6 };

/* A fingerprint in the making: a hash, and the names given to tokens so far. */
typedef struct print {
    uint64_t hash;
    bwl_ms   now;
    bool     plain;
    unsigned tokens_count;
    uint16_t tokens[TOKENS_MAX];
} print;

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

/* The mixing steps of MurmurHash3 (Austin Appleby, public domain). */
static void put(print *p, uint64_t x)
{
    x *= UINT64_C(0x87c37b91114253d5);
    x = rotate(x, 31);
    x *= UINT64_C(0x4cf5ad432745937f);
    p->hash = rotate(p->hash ^ x, 27) * 5 + UINT64_C(0x52dce729);
}

static uint64_t finish(uint64_t x)
{
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    x ^= x >> 33;
    return x == 0 ? 1 : x;
}

static void put_time(print *p, bwl_ms at)
{
    if (at == BWL_NEVER)
        put(p, UINT64_MAX);
    else if (at <= p->now)
        put(p, 0);
    else
        put(p, (uint64_t)(at - p->now));
}

/* A token is named after the place where it is first met. */
static void put_token(print *p, uint16_t token)
{
    unsigned name = 0;

    if (token == 0) {
        put(p, 0);
        return;
    }
    while (name < p->tokens_count && p->tokens[name] != token)
        name++;
    if (name == p->tokens_count) {
        assert(p->tokens_count < TOKENS_MAX);
        p->tokens[p->tokens_count++] = token;
    }
    put(p, name + 1u);
}

/* ---- the machines ---------------------------------------------------------------------------- */

static token_view view_of(const bwl_hold *h)
{
    token_view view;

    assert(h->protocol->state_size >= sizeof view);
    memcpy(&view, h->memory, sizeof view);
    return view;
}

static void put_protocol(print *p, const bwl_hold *h)
{
    token_view view = view_of(h);

    put(p, (uint64_t)view.verb << 1 | (view.asked != 0));
    put_time(p, view.until);
    if (h->protocol->command != bwl_token.command) {
        bwl_mutant_state mutant;
        memcpy(&mutant, h->memory, sizeof mutant);
        put_time(p, mutant.asked_at);
        put(p, (uint64_t)mutant.verb << 1 | mutant.again);
        put(p, mutant.asked == view.last_tag);
    }
}

static void put_flags(print *p, const bool *flags, unsigned count)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < count; i++)
        bits = bits << 1 | flags[i];
    put(p, bits);
}

/* The deadlines of seeking are over once it is held; those of holding are not set before. */
static void put_hold(print *p, const bwl_hold *h)
{
    const bool flags[] = { h->would_wait, h->last_try, h->doubted, h->caller_extends,
                           h->extend_again };
    bool       sought  = bwl_hold_is_sought(h);
    bool       held    = bwl_hold_is_held(h);

    put(p, (uint64_t)h->state << 8 | h->trouble);
    put_flags(p, flags, sizeof flags / sizeof flags[0]);
    put(p, h->pauses < PAUSES_ALIKE ? h->pauses : PAUSES_ALIKE);
    put(p, (uint64_t)h->claim.lease_ms);
    put_token(p, bwl_token_read(h->claim.token));
    put_time(p, h->look_at);
    put_time(p, h->protocol_wakes_at);
    if (sought || p->plain) {
        put_time(p, h->give_up_at);
        put_time(p, h->attempt_ends_at);
    }
    if (held || p->plain) {
        put_time(p, h->until);
        put_time(p, h->ends_at);
    }
    if (!held || p->plain)
        put_time(p, h->answer_by);
    put_protocol(p, h);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static bool is_current(const bwl_lab_client *c, const bwl_letter *letter)
{
    return c->is_running && letter->round == c->round && letter->tag == view_of(&c->hold).asked;
}

static void put_question(print *p, const bwl_letter *letter)
{
    put(p, (uint64_t)letter->word << 32 | (uint32_t)letter->lease_ms);
    put_token(p, letter->token);
}

static void put_letter(print *p, const bwl_lab_client *c, const bwl_letter *letter)
{
    bool     current  = is_current(c, letter);
    bool     of_round = c->is_running && letter->round == c->round;
    uint64_t order    = of_round ? view_of(&c->hold).last_tag - letter->tag : 0;

    put(p, (uint64_t)letter->kind << 8 | (uint64_t)letter->is_settled << 2 |
               (uint64_t)of_round << 1 | current);
    put(p, p->plain ? order : 0);
    if (letter->kind == BWL_LETTER_ANSWER)
        put(p, letter->answer);
    if (letter->kind == BWL_LETTER_QUESTION || letter->word == REDIS_DELETE_IF_MINE)
        put_question(p, letter); /* which release failed is of interest to a law */
}

static void put_client(print *p, const bwl_lab_client *c)
{
    const bool flags[] = { c->is_running, c->is_working, c->was_slow, c->is_told_end,
                           c->extends,    c->releases,   c->cancels,  c->is_removed };

    put(p, (uint64_t)c->rounds_left << 24 | (uint64_t)c->letters_count << 16 |
               (uint64_t)c->answered << 8 | c->late_count);
    if (c->is_running) {
        put_flags(p, flags, sizeof flags / sizeof flags[0]);
        put_time(p, c->wake_at);
        put_time(p, c->was_kept ? BWL_NEVER : c->due_by);
        put(p, (uint64_t)c->asked_now << 1 | c->was_kept);
        if (c->extends)
            put(p, (uint64_t)(p->now - c->extended_at));
        if (c->is_working && c->hold.terms.max_hold_ms != BWL_NEVER)
            put(p, (uint64_t)(p->now - c->held_since));
        put_hold(p, &c->hold);
    } else {
        put(p, UINT64_MAX);
    }
    for (unsigned i = 0; i < c->letters_count; i++)
        put_letter(p, c, &c->letters[i]);
    for (unsigned i = 0; i < c->late_count; i++) {
        put(p, c->late[i].connection);
        put_question(p, &c->late[i]);
    }
}

static uint64_t in_order(const bwl_world *w, const uint8_t *order, bool plain)
{
    print    p    = { .hash = 0x62776c, .now = w->now, .plain = plain };
    uint64_t left = 0;

    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++) {
        left = left << 8 | w->left[i];
        if (i % 8 == 0)
            put(&p, left);
    }
    put(&p, left);
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        if ((w->scenario->twists & BWL_TWIST_ONE_TOKEN) != 0)
            put_token(&p, bwl_token_number(order[i], 1)); /* it will be used again */
        put_client(&p, &w->clients[order[i]]);
    }
    put_token(&p, w->redis.owner);
    if (w->redis.owner != 0) {
        put(&p, (uint64_t)w->redis.left);
        put(&p, (uint64_t)w->redis.lasts << 2 | (uint64_t)w->key_late << 1 | w->key_excused);
    }
    return finish(p.hash);
}

uint64_t bwl_world_fingerprint(const bwl_world *w, bool plain)
{
    static const uint8_t orders[ORDERS_MAX][BWL_CLIENTS_MAX] = {
        { 0, 1, 2 }, { 1, 0, 2 }, { 0, 2, 1 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
    };
    unsigned orders_count = w->scenario->clients == 2 ? 2 : ORDERS_MAX;
    uint64_t smallest     = UINT64_MAX;

    for (unsigned i = 0; i < (plain ? 1 : orders_count); i++) {
        uint64_t hash = in_order(w, orders[i], plain);
        smallest      = hash < smallest ? hash : smallest;
    }
    return smallest;
}

bool bwl_canon_knows_token(void)
{
    const bwl_terms terms  = { .lease_ms = 500, .max_hold_ms = BWL_NEVER, .answer_ms = 100 };
    const bwl_ms    now    = 7000;
    bwl_random      random = bwl_token_random(bwl_token_number(0, 1), 0);
    bwl_effects     fx     = { 0 };
    bwl_hold        hold;
    token_view      view;

    if (bwl_token.state_size != sizeof view)
        return false;
    bwl_hold_init(&hold, &bwl_token, 1, &terms);
    bwl_hold_acquire(&hold, &random, (bwl_moment){ .now = now }, now, &fx);
    view = view_of(&hold);
    return fx.asks_count == 1 && view.verb == BWL_ACQUIRE && view.asked == fx.asks[0].tag &&
           view.last_tag == fx.asks[0].tag &&
           view.until == now + terms.lease_ms - bwl_drift_ms(terms.lease_ms);
}
