/*
 * picture.h -- the end of a run as a diagram, as the lab draws its schedules.
 *
 *      sim_picture_begin -> sim_run -> sim_picture_draw, sim_picture_svg -> sim_picture_end
 *
 * A lane for each client of the plan, in their order, and one for all servers.  A client's lane
 * shows when it relies on a lock, of any name.  Bytes are shown where they arrive: their first
 * command or reply, and the server.
 */
#pragma once

#include "sim/kernel/process.h"
#include "sim/search/plan.h"

void sim_picture_begin(void);

/* The run begins; nothing is kept without sim_picture_begin.  first: the host of client 0. */
void sim_picture_run(const sim_plan *plan, unsigned first,
                     sim_process *(*process_of)(unsigned client));

/* The last `rows` of it; failure: what the check said.  svg: false: it could not be written, and
 * standard error says why. */
void sim_picture_draw(FILE *out, unsigned rows, const char *failure);
bool sim_picture_svg(const char *file, unsigned rows, const char *failure);

void sim_picture_end(void);
