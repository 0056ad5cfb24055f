/*
 * queue_inside.h -- what queue.c and queue_share.c have in common: a script on the model server.
 */
#pragma once

#include "lab/model/queue.h"

typedef struct bwl_model_queue_script {
    bwl_model_redis            *r;
    const bwl_model_queue_args *q;
    unsigned                    mutations;
    bool                        names_sharers; /* the key H is one of its keys */
    bwl_ms                      last_ends_ms;  /* of the last who entered H */
    bwl_queue_reply             reply;
} bwl_model_queue_script;

typedef enum bwl_served {
    BWL_SERVED = 1, /* a waiter got the grant, or the head waits, or there is no waiter */
    BWL_SERVED_MINE,
    BWL_SERVED_MORE,
} bwl_served;

/* The lock as `serve` finds it.  gate 0: it is free, or its holder gives it up. */
typedef struct bwl_serving {
    uint16_t me;    /* the waiter that gets a reply and no push; 0: none */
    int64_t  fence; /* 0: drawn when it is needed */
    int64_t  gate;  /* its fence */
    unsigned used;  /* permits in use under the gate */
} bwl_serving;

/* ---- queue.c --------------------------------------------------------------------------------- */

int64_t               bwl_queue_count(bwl_model_queue_script *s); /* the next fence or ticket */
bool                  bwl_queue_counts_on(const bwl_model_redis *r);
void                  bwl_queue_touch(bwl_model_queue_script *s, unsigned key);
void                  bwl_queue_enter(bwl_model_queue_script *s, int64_t ticket);
const bwl_model_item *bwl_queue_item(bwl_model_queue_script *s);
bool                  bwl_queue_is_of(const bwl_model_queue_script *s, uint16_t token);
bool                  bwl_queue_is_mine(const bwl_model_queue_script *s);
void                  bwl_queue_set_lock(bwl_model_queue_script *s, uint16_t token, bwl_ms time);
bwl_served            bwl_queue_serve(bwl_model_queue_script *s, bwl_serving how);
bwl_served            bwl_queue_pass_on(bwl_model_queue_script *s);
bool                  bwl_queue_remove_entries(bwl_model_queue_script *s);

void bwl_queue_say(bwl_model_queue_script *s, bwl_answer answer, bwl_queue_status_kind how);
void bwl_queue_say_served(bwl_model_queue_script *s, bwl_served as);
void bwl_queue_say_mine(bwl_model_queue_script *s);
void bwl_queue_say_gone(bwl_model_queue_script *s);
void bwl_queue_say_busy(bwl_model_queue_script *s);
bool bwl_queue_says_full(bwl_model_queue_script *s);

/* The entry is in Q: stores its heartbeat, serves the queue if `serves`, and writes the reply. */
void bwl_queue_wait(bwl_model_queue_script *s, uint64_t ticket, bwl_serving how, bool serves,
                    bool renews);

/* ---- queue_share.c --------------------------------------------------------------------------- */

/* The commands SHARE_... */
void bwl_share_reply(bwl_model_queue_script *s);

/* How the waiter shares the lock, as this script sees it; weight 0: not at all. */
bwl_share bwl_share_of(const bwl_model_queue_script *s, uint16_t token);
bool      bwl_share_fits(bwl_share share, unsigned used);

/* The fence of the gate, if the script knows gates; 0: none. */
int64_t bwl_share_gate_of(const bwl_model_queue_script *s);

/* The gate that the script sees: its fence, and the permits in use; members that have ended are
 * removed. */
bwl_serving bwl_share_look(bwl_model_queue_script *s);

/* The members of H for a token, without and with a new gate of this fence. */
void bwl_share_enter(bwl_model_queue_script *s, uint16_t token, bwl_ms for_ms);
void bwl_share_open(bwl_model_queue_script *s, int64_t fence);
bool bwl_share_remove(bwl_model_queue_script *s, uint16_t token);

/* L and H expire with the last member. */
void bwl_share_keep_gate(bwl_model_queue_script *s);
