/*
 * token.h -- mutants of `token`, with one mistake each.  They wrap the real machine and change its
 * effects.
 */
#pragma once

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
extern const bwl_protocol bwl_mutant_any_answer;    /* accepts any answer */
extern const bwl_protocol bwl_mutant_silent;        /* ignores a broken connection */
extern const bwl_protocol bwl_mutant_sleeps;        /* busy: waits for a push that never comes */
extern const bwl_protocol bwl_mutant_asks_on;       /* in doubt, it asks for ever */
extern const bwl_protocol bwl_mutant_hammers;       /* busy: asks again, without a pause */
extern const bwl_protocol bwl_mutant_gone_is_done;  /* release answered "no": released */

/* Not a mutant: `token` with the fence of the grant. */
extern const bwl_protocol bwl_fenced;
