/*
 * elections.h -- leaders and observers in a world: a program announces that its hold leads, and
 * observes who leads.
 *
 * The fences that a program sees of a name never go back.  The text that it sees is of that fence,
 * and while servers keep what they acknowledged, no leader is seen whose release was OK before the
 * observation began.
 */
#pragma once

#include "sim/load/program.h"

void load_elections_begin(void);

/* Draws whether this hold announces something now; and whether the program observes. */
bool load_draws_announcement(load_program *program, check_share share);
bool load_draws_observation(load_program *program);

/* As bowline_announce_start, with a text of the fence.  Adds the statuses that it may have. */
int load_announce(load_program *program, bowline_operation **ret_op, bowline_hold *hold,
                  bowline_error *reterr);

/* A release was OK, of a hold with this fence; 0: it was not. */
void load_leads_no_more(unsigned name, uint64_t fence);

/* As bowline_observe_start and _finish, from what the program has seen of the name before. */
int load_observe(load_program *program, bowline_operation **ret_op, load_call *call,
                 bowline_error *reterr);
int load_observed(load_program *program, bowline_operation *op, const load_call *call,
                  bowline_error *reterr);
