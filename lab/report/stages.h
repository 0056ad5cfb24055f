/*
 * stages.h -- the world after each step of a schedule, as JSON for the script of a page.
 *
 * An array: the world before the first step, then the world after each step.  Each has
 *
 *      title    the number of the step, and the time
 *      says     what happens; is_bad: it is a fault
 *      rows     the rows of the diagram that show it: the first and the last
 *      is_half  the server executes the command of that row in the next step
 *      clients  the state of each: `is`, a word for the style, and `says`
 *      server   what it has
 *      way      the messages under way
 *      moral    what is broken; only the last one has it
 *
 * The texts are for people; the script adds none.
 */
#pragma once

#include "lab/report/picture.h"

/* `picture` is that of the same schedule. */
void bwl_stages_put(FILE *out, const bwl_scenario *s, const bwl_transition *path, unsigned count,
                    const bwl_picture *picture);
