/*
 * canon.h -- the normal form of a world: two worlds with the same fingerprint have the same future.
 *
 * The fingerprint leaves out what cannot matter: absolute time (times count from now; all past
 * times are equal, because a machine only checks whether a time has come), the names of tokens and
 * tags, the order of equal clients and servers, and state that a machine no longer reads.  If a
 * machine did read it, the search could take two different worlds for one and miss the second.
 * `plain` leaves out absolute time and names only: it visits more worlds and must reach the same
 * verdict.
 */
#pragma once

#include "lab/world/world.h"

/* Never 0. */
uint64_t bwl_world_fingerprint(const bwl_world *w, bool plain);
