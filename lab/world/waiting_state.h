/*
 * waiting_state.h -- what there is in a world only with a lock that keeps those who wait in line.
 */
#ifndef BWL_LAB_WORLD_WAITING_STATE_H
#define BWL_LAB_WORLD_WAITING_STATE_H

#include "lab/world/scenario.h"

enum { BWL_PLACES_MAX = 16 };

/* What a message says beside yes and no: protocol/store/queue.h. */
typedef struct bwl_lab_place {
    uint8_t  how;
    bool     is_ours;
    bool     ends;
    uint8_t  rank;
    int32_t  left_ms;
    uint64_t ticket;
    int64_t  server_us;
} bwl_lab_place;

/* What the engine knows of a client's place in line. */
typedef struct bwl_lab_seat {
    uint8_t  inbox;         /* of the present connection, from 1 */
    bool     is_greeted;    /* ... which the server knows */
    bool     may_kill;      /* ... and it knows the one before */
    bool     was_cut;       /* in this round, a connection has ended, or its place was lost */
    uint8_t  orphans;       /* how often the lock may come to be where nobody wants it */
    uint8_t  maybe_orphans; /* ... until the server knows that the connection has ended */
    uint8_t  stood_by[2];   /* of this token: the last that the server is known to have, and the
                              last one that was written; 0: none */
    uint16_t named_token;
    uint16_t named_claim_ms;
    uint32_t latest_tag;
    uint64_t ticket; /* by which it was told to stand in line, in this round; 0: none */
} bwl_lab_seat;

/* What there is only with a lock that keeps those who wait in line. */
typedef struct bwl_lab_waiting {
    bwl_lab_place places[BWL_PLACES_MAX];
    bwl_lab_seat  seats[BWL_CLIENTS_MAX];
    int64_t       fence;      /* the highest that the server has said */
    uint64_t      held_fence; /* the highest that a caller was told */
    uint16_t      owner;      /* who has the lock */
    bool          is_orphan;  /* ... and nobody wants it */
    bool          may_be_orphan;
} bwl_lab_waiting;

#endif
