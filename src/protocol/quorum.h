/*
 * quorum.h -- the Redlock protocol, and its private state.  Besides the protocol, only the lab
 * reads the state, because its fingerprints do not depend on the order of the servers.
 */
#pragma once

#include "core/core.h"

extern const bwl_protocol bwl_redlock; /* `token` on a majority of independent servers */

/* The vote of a server in a round is its answer; 0: none yet.  UNKNOWN: it may have carried the
 * command out, or may still do so.  (It is in the place of an answer that these commands never
 * have.) */
enum { BWL_VOTE_UNKNOWN = BWL_FOREIGN_VALUE };

/* The tag of a delete that is sent again, because its connection was lost. */
enum { BWL_REDLOCK_REPEATED = 0 };

typedef struct bwl_redlock_state {
    bwl_ms   started_at; /* start of this round */
    bwl_ms   until; /* end of a majority's grant: counted from the first command of the round */
    uint32_t round; /* the tag of its commands; 0: no round yet */
    uint8_t  nodes;
    uint8_t  verb;       /* a bwl_verb */
    bool     is_decided; /* the outcome of the round is reported */
    bool     is_patient; /* an alarm is set that ends the wait for a split vote */
    bool     is_again;   /* this token was sent before, and got no reply */
    uint8_t  votes[BWL_NODES_MAX];
    bool     deleted[BWL_NODES_MAX]; /* a release of this token has deleted the key there */
} bwl_redlock_state;
