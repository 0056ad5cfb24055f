/*
 * sentinel_poll.h -- what each sentinel of a service says, and the primary that follows from it.
 *
 * Pure: an answer and the time in, a primary out.  See sentinel_poll.c for the rules.
 */
#pragma once

#include "base/url.h"
#include "core/time.h"
#include "engine/redis/wire/sentinel.h"

enum { BWL_SENTINEL_LOWER_MS = 10000 }; /* see sentinel_poll.c */

typedef struct bwl_sentinel_voice {
    bool                is_due;     /* it was asked, and has neither answered nor failed */
    bool                has_answer; /* the latest one, on a connection that lives */
    bool                was_tried;  /* the server that it named, in this attempt to connect */
    bwl_sentinel_answer answer;
} bwl_sentinel_voice;

typedef struct bwl_sentinel_poll {
    unsigned           count;       /* of the sentinels in the URL */
    bwl_ms             lower_since; /* a majority has said only lower epochs; 0: it has not */
    bwl_sentinel_voice voices[BWL_URL_HOSTS_MAX];
} bwl_sentinel_poll;

/* All sentinels are asked, for a new attempt to connect. */
void bwl_sentinel_poll_begin(bwl_sentinel_poll *poll);

/* Sentinel number i has answered; its connection has failed or ended. */
void bwl_sentinel_poll_answer(bwl_sentinel_poll *poll, unsigned i,
                              const bwl_sentinel_answer *answer);
void bwl_sentinel_poll_fail(bwl_sentinel_poll *poll, unsigned i);

/* The sentinels that were asked and have answered; those that may still answer. */
unsigned bwl_sentinel_poll_answered(const bwl_sentinel_poll *poll);
unsigned bwl_sentinel_poll_due(const bwl_sentinel_poll *poll);

/* Whether a majority of the sentinels in the URL has answered. */
bool bwl_sentinel_poll_is_majority(const bwl_sentinel_poll *poll);

/* The epoch to be accepted from now on, after an answer: `known`, a higher one, or a lower one. */
uint64_t bwl_sentinel_poll_epoch(bwl_sentinel_poll *poll, uint64_t known, bwl_ms now);

/* The answer with this epoch to be used: of a server that was not tried yet.  `current`, which may
 * be NULL, is preferred.  NULL: there is none. */
const bwl_sentinel_answer *bwl_sentinel_poll_choose(const bwl_sentinel_poll *poll, uint64_t epoch,
                                                    const bwl_primary *current);

/* The server was tried, and cannot be used. */
void bwl_sentinel_poll_tried(bwl_sentinel_poll *poll, const bwl_primary *server);

/* Whether the latest answer of any sentinel names this server, with this epoch. */
bool bwl_sentinel_poll_names(const bwl_sentinel_poll *poll, uint64_t epoch,
                             const bwl_primary *server);
