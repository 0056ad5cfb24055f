/*
 * queue.h -- mutants of `queue`, with one mistake each.  (Mutations of its server and engine are in
 * model/mutation.h.)
 */
#pragma once

#include "core/core.h"

extern const bwl_protocol bwl_queue_from_push;   /* counts a grant's TTL from the push */
extern const bwl_protocol bwl_queue_joins_anew;  /* joins again instead of a heartbeat */
extern const bwl_protocol bwl_queue_joins_again; /* no reply: joins again */
extern const bwl_protocol bwl_queue_draws_anew;  /* joins again with a new ticket */
extern const bwl_protocol bwl_queue_just_loses;  /* does not release what it has lost */
extern const bwl_protocol bwl_queue_just_yields; /* ... nor its hold after a yield */
