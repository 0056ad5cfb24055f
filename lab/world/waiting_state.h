/*
 * waiting_state.h -- the state of a world that only a lock with a queue has.
 */
#pragma once

#include "lab/world/scenario.h"

enum { BWL_PLACES_MAX = 16 };

typedef struct bwl_lab_queue_status {
    uint8_t  kind;
    bool     is_ours;
    bool     ends;
    uint8_t  rank;
    int32_t  left_ms;
    uint64_t ticket;
    int64_t  server_us;
} bwl_lab_queue_status;

typedef struct bwl_lab_waiter {
    uint8_t push_channel;  /* of the current connection, from 1 */
    bool    is_connected;  /* the server knows it */
    bool    may_kill;      /* the server knows the previous one */
    bool    was_cut;       /* its connection or its entry was lost in this round */
    uint8_t orphans;       /* how many grants without a receiver are allowed */
    uint8_t maybe_orphans; /* ... until the server closes the old connection */
    uint8_t
        old_channels[2]; /* the latest channel known to the server, and the latest sent; 0: none */
    uint16_t named_token;
    uint16_t named_claim_ms;
    uint32_t latest_tag;
    uint64_t ticket; /* its ticket in this round; 0: none */
} bwl_lab_waiter;

typedef struct bwl_lab_waiting {
    bwl_lab_queue_status places[BWL_PLACES_MAX];
    bwl_lab_waiter       waiters[BWL_CLIENTS_MAX];
    int64_t              fence;      /* the highest that the server returned */
    uint64_t             held_fence; /* the highest that a caller got */
    uint16_t             owner;      /* the owner of the lock */
    bool                 is_orphan;  /* no client wants it */
    bool                 may_be_orphan;
} bwl_lab_waiting;
