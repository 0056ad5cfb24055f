/*
 * picture.h -- a schedule as a diagram.
 *
 * It is built by replaying the schedule.  No step is left out.
 */
#pragma once

#include "lab/draw/diagram.h"
#include "lab/search/explore.h"

/* `broken`: invariants; 0: none. */
bwl_picture bwl_picture_of(const bwl_scenario *s, const bwl_transition *path, unsigned count,
                           unsigned broken);

/* The diagram of what was found, as text. */
void bwl_draw(FILE *out, const char *prefix, const bwl_scenario *s, const bwl_finding *found);
