/*
 * quorum.h -- what `redlock` remembers.  The lab looks at it: servers that are interchangeable
 * have interchangeable bits in it.
 */
#ifndef BWL_PROTOCOL_QUORUM_H
#define BWL_PROTOCOL_QUORUM_H

#include "core/core.h"

extern const bwl_protocol bwl_redlock; /* `token` on a majority of independent servers */

/* What a server has said in a round.  0: nothing yet. */
typedef enum bwl_vote {
    BWL_VOTE_YES = 1,
    BWL_VOTE_NO,
    BWL_VOTE_RETRYABLE,
    BWL_VOTE_REFUSED,
    BWL_VOTE_NOT_SENT,
    BWL_VOTE_UNKNOWN, /* it may have carried the question out, or may do so yet               */
    BWL_VOTES_END,
} bwl_vote;

typedef struct bwl_redlock_state {
    bwl_ms   asked_at; /* this round                                                          */
    bwl_ms   until;    /* what a majority is worth: counted from the first question for this   */
    uint32_t round;    /* the tag of its questions; 0: there was none                         */
    uint8_t  nodes;
    uint8_t  verb;       /* a bwl_verb                                                         */
    bool     is_decided; /* it has been told how the round came out                           */
    bool     is_patient; /* an alarm says when a vote that is split is waited for no more      */
    bool     is_again;   /* an attempt that got no answer: this token was asked for before      */
    uint8_t  votes[BWL_NODES_MAX];
    bool     deleted[BWL_NODES_MAX]; /* a release of this token has removed the key there      */
} bwl_redlock_state;

#endif
