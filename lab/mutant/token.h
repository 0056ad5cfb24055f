/*
 * token.h -- faulty protocols: `token` with one mistake each.
 *
 * They wrap the real machine and falsify what it says, so that the explorer can be seen to find
 * what a slip of the pen in a protocol would do.
 */
#ifndef BWL_LAB_MUTANT_TOKEN_H
#define BWL_LAB_MUTANT_TOKEN_H

#include "core/core.h"

extern const bwl_protocol bwl_mutant_from_answer;   /* counts the lease from the answer */
extern const bwl_protocol bwl_mutant_no_drift;      /* no drift allowance */
extern const bwl_protocol bwl_mutant_from_settling; /* counts it from the settling question */
extern const bwl_protocol bwl_mutant_no_is_yes;     /* settling: "no" taken for "it was us" */
extern const bwl_protocol bwl_mutant_down_is_no;    /* acquire without an answer: busy */
extern const bwl_protocol bwl_mutant_down_is_yes;   /* ... held */
extern const bwl_protocol bwl_mutant_down_extends;  /* extend without an answer: extended */
extern const bwl_protocol bwl_mutant_down_loses;    /* ... lost */
extern const bwl_protocol bwl_mutant_down_releases; /* release without an answer: released */
extern const bwl_protocol bwl_mutant_deaf_to_loss;  /* extend answered "no": extended */
extern const bwl_protocol bwl_mutant_any_answer;    /* takes any answer for its own */
extern const bwl_protocol bwl_mutant_silent;        /* does not hear that a link broke */
extern const bwl_protocol bwl_mutant_sleeps;        /* busy: waits to be told, by nobody */
extern const bwl_protocol bwl_mutant_asks_on;       /* once in doubt, asks for ever */
extern const bwl_protocol bwl_mutant_hammers;       /* busy: asks again, without a pause */
extern const bwl_protocol bwl_mutant_gone_is_done;  /* release answered "no": released */

/* No mutant: `token` that shows the fence which came with the lock. */
extern const bwl_protocol bwl_fenced;

#endif
