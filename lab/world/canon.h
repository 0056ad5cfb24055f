/*
 * canon.h -- when two worlds are the same for everything that can still happen in them.
 *
 * The fingerprint leaves out what cannot matter: the hour (times count from now, and all that are
 * past are alike, because machines ask of a time only whether it has come), the names of tokens and
 * tags, which of equal clients is which, and what a machine in its present state cannot read any
 * more.  If a machine looked at one of those after all, two different worlds might be taken for one
 * and the second not be explored.  `plain` leaves out the hour and the names only: it visits more
 * worlds, and must come to the same verdict.
 */
#ifndef BWL_LAB_WORLD_CANON_H
#define BWL_LAB_WORLD_CANON_H

#include "lab/world/world.h"

/* Never 0. */
uint64_t bwl_world_fingerprint(const bwl_world *w, bool plain);

/* The lab has to know where `token` keeps times and tags.  False if it does so elsewhere by now. */
bool bwl_canon_knows_token(void);

#endif
