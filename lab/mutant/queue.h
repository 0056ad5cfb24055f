/*
 * queue.h -- mutants of `queue`, with one mistake each.  (Mutations of its server and engine are in
 * model/mutation.h.)
 */
#pragma once

#include "core/core.h"

extern const bwl_protocol bwl_queue_from_push;   /* counts a claim from when the push came */
extern const bwl_protocol bwl_queue_joins_anew;  /* stands in line again instead of a beat */
extern const bwl_protocol bwl_queue_joins_again; /* no answer: stands in line again */
extern const bwl_protocol bwl_queue_draws_anew;  /* joins anew by a new ticket */
extern const bwl_protocol bwl_queue_just_loses;  /* does not give back what it has lost */
extern const bwl_protocol bwl_queue_just_yields; /* ... by which it held when it yielded */
