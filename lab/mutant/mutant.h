/*
 * mutant.h -- protocols with one mistake each.  They wrap the real machine and change its events
 * and its effects.  Each is a mistake that a real lock has made.  (Mutations of the server and the
 * engine are in model/mutation.h.)
 */
#pragma once

#include "core/core.h"

/* Of `token`. */
extern const bwl_protocol bwl_mutant_from_answer;    /* counts the lease from the reply */
extern const bwl_protocol bwl_mutant_no_drift;       /* no drift allowance */
extern const bwl_protocol bwl_mutant_from_resolving; /* counts it from the verifying command */
extern const bwl_protocol bwl_mutant_no_is_yes;      /* verifying: takes NO for YES */
extern const bwl_protocol bwl_mutant_down_is_no;     /* acquire without a reply: busy */
extern const bwl_protocol bwl_mutant_down_is_yes;    /* ... held */
extern const bwl_protocol bwl_mutant_down_extends;   /* extend without a reply: extended */
extern const bwl_protocol bwl_mutant_down_loses;     /* ... lost */
extern const bwl_protocol bwl_mutant_down_releases;  /* release without a reply: released */
extern const bwl_protocol bwl_mutant_deaf_to_loss;   /* extend replied NO: extended */
extern const bwl_protocol bwl_mutant_any_answer;     /* accepts any reply */
extern const bwl_protocol bwl_mutant_silent;         /* ignores a broken connection */
extern const bwl_protocol bwl_mutant_sleeps;         /* busy: waits for a push that never comes */
extern const bwl_protocol bwl_mutant_asks_on;        /* outcome unknown: sends for ever */
extern const bwl_protocol bwl_mutant_hammers;        /* busy: tries again without a pause */
extern const bwl_protocol bwl_mutant_gone_is_done;   /* release replied NO: released */

/* Not a mutant: `token` with the fence of the grant. */
extern const bwl_protocol bwl_fenced;

/* Of `queue`. */
extern const bwl_protocol bwl_mutant_from_push;    /* counts a grant's TTL from the push */
extern const bwl_protocol bwl_mutant_timer_joins;  /* joins again instead of a heartbeat */
extern const bwl_protocol bwl_mutant_only_listens; /* sends no heartbeats */
extern const bwl_protocol bwl_mutant_joins_again;  /* no reply: joins again */
extern const bwl_protocol bwl_mutant_new_ticket;   /* joins again with a new ticket */
extern const bwl_protocol bwl_mutant_just_loses;   /* does not release what it has lost */
extern const bwl_protocol bwl_mutant_still_shares; /* upgraded: renews as one that shares */
extern const bwl_protocol bwl_mutant_just_yields;  /* ... nor its hold after a yield */

/* Of a replicated lock. */
extern const bwl_protocol bwl_mutant_deaf;  /* accepts any number of replicas */
extern const bwl_protocol bwl_mutant_alone; /* checks replicas for acquires, not for extensions */
extern const bwl_protocol bwl_mutant_early; /* checks replicas before its own command */

/* Of `redlock`. */
extern const bwl_protocol bwl_mutant_no_undo;      /* a failed attempt leaves its keys */
extern const bwl_protocol bwl_mutant_of_answering; /* a majority of the servers that replied */
extern const bwl_protocol bwl_mutant_no_elapsed;   /* counts the lease from the majority reply */
extern const bwl_protocol bwl_mutant_overwrites;   /* a renewal overwrites any owner */
extern const bwl_protocol bwl_mutant_undo_and_ask; /* deletes keys of an attempt that continues */

/* Of `symfony`, on a server whose scripts may not write after TIME. */
extern const bwl_protocol bwl_mutant_symfony_clock; /* scores by the clock of each client */
