/*
 * token.h -- mutants of `token`, with one mistake each.  They wrap the real machine and change its
 * effects.
 */
#pragma once

#include "core/core.h"

extern const bwl_protocol bwl_mutant_from_answer;   /* counts the lease from the reply */
extern const bwl_protocol bwl_mutant_no_drift;      /* no drift allowance */
extern const bwl_protocol bwl_mutant_from_settling; /* counts it from the verifying command */
extern const bwl_protocol bwl_mutant_no_is_yes;     /* verifying: takes NO for YES */
extern const bwl_protocol bwl_mutant_down_is_no;    /* acquire without a reply: busy */
extern const bwl_protocol bwl_mutant_down_is_yes;   /* ... held */
extern const bwl_protocol bwl_mutant_down_extends;  /* extend without a reply: extended */
extern const bwl_protocol bwl_mutant_down_loses;    /* ... lost */
extern const bwl_protocol bwl_mutant_down_releases; /* release without a reply: released */
extern const bwl_protocol bwl_mutant_deaf_to_loss;  /* extend replied NO: extended */
extern const bwl_protocol bwl_mutant_any_answer;    /* accepts any reply */
extern const bwl_protocol bwl_mutant_silent;        /* ignores a broken connection */
extern const bwl_protocol bwl_mutant_sleeps;        /* busy: waits for a push that never comes */
extern const bwl_protocol bwl_mutant_asks_on;       /* in doubt, it sends for ever */
extern const bwl_protocol bwl_mutant_hammers;       /* busy: tries again without a pause */
extern const bwl_protocol bwl_mutant_gone_is_done;  /* release replied NO: released */

/* Not a mutant: `token` with the fence of the grant. */
extern const bwl_protocol bwl_fenced;
