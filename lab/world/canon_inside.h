/*
 * canon_inside.h -- shared by canon.c and canon_waiting.c: the state of a fingerprint.
 */
#pragma once

#include "lab/world/world.h"

enum { BWL_PRINT_TOKENS_MAX = 64, BWL_PRINT_OVER_MAX = 64, BWL_RANKS_MAX = 64 };

/* Numbers that are only compared: only their order matters. */
typedef struct bwl_ranks {
    unsigned count;
    uint64_t list[BWL_RANKS_MAX];
} bwl_ranks;

/* Tickets and fences of a queue come from one counter. */
typedef struct bwl_drawn {
    bwl_ranks tickets;
    bwl_ranks fences;
} bwl_drawn;

/* A hash, and the names of the tokens so far. */
typedef struct bwl_print {
    uint64_t         hash;
    bwl_ms           now;     /* by the clock of the current client */
    int64_t          wall_ns; /* the true wall time */
    bool             plain;
    bool             is_token; /* the protocol is `token`, or a mutant of it */
    bool             is_queue; /* ... `queue` */
    bool             is_file;  /* the protocol is a lock file */
    bool             uses_wall;
    bool             over_alike; /* no clock is behind the true one, and stamps are ends */
    unsigned         tokens_count;
    uint16_t         tokens[BWL_PRINT_TOKENS_MAX];
    unsigned         over_count;
    int64_t          over[BWL_PRINT_OVER_MAX];
    const bwl_drawn *drawn;  /* queue only */
    const uint16_t  *latest; /* several servers only: the current token of each client */
} bwl_print;

static inline uint64_t bwl_rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

/* The mixing steps of MurmurHash3 (Austin Appleby, public domain). */
static inline void bwl_put(bwl_print *p, uint64_t x)
{
    x *= UINT64_C(0x87c37b91114253d5);
    x = bwl_rotate(x, 31);
    x *= UINT64_C(0x4cf5ad432745937f);
    p->hash = bwl_rotate(p->hash ^ x, 27) * 5 + UINT64_C(0x52dce729);
}

static inline void bwl_put_time(bwl_print *p, bwl_ms at)
{
    if (at == BWL_NEVER)
        bwl_put(p, UINT64_MAX);
    else if (at <= p->now)
        bwl_put(p, 0);
    else
        bwl_put(p, (uint64_t)(at - p->now));
}

/* The name of a token is the position of its first use.  With several servers it is the number of
 * newer tokens of the same client. */
static inline void bwl_put_token(bwl_print *p, uint16_t token)
{
    unsigned name = 0;

    if (token == 0) {
        bwl_put(p, 0);
        return;
    }
    if (p->latest != NULL) {
        bwl_put(p, (uint64_t)p->latest[bwl_token_client(token)] - token + 1u);
        return;
    }
    while (name < p->tokens_count && p->tokens[name] != token)
        name++;
    if (name == p->tokens_count) {
        assert(p->tokens_count < BWL_PRINT_TOKENS_MAX);
        p->tokens[p->tokens_count++] = token;
    }
    bwl_put(p, name + 1u);
}

void bwl_draw_ranks(bwl_drawn *ret_drawn, const bwl_world *w);

/* Add to the hash: the private state of `queue`; a message; the engine's state; the server's
 * state. */
void bwl_put_queue_state(bwl_print *p, const bwl_world *w, const bwl_lab_client *c);
void bwl_put_waiting_message(bwl_print *p, const bwl_world *w, const bwl_lab_client *c,
                             const bwl_message *message);
void bwl_put_waiter(bwl_print *p, const bwl_world *w, unsigned client);
void bwl_put_queue_order(bwl_print *p, const bwl_world *w, const bwl_model_data *data,
                         const uint8_t *order);
/* For a lock that is a sorted set, whose queue is another key; and the fence of a gate. */
void bwl_put_members(bwl_print *p, const bwl_model_data *data, int64_t server_now);
void bwl_put_fences(bwl_print *p, const bwl_world *w);
