/*
 * synced.h -- faulty protocols: a lock that counts only when replicas have it, with one mistake
 * each.
 */
#ifndef BWL_LAB_MUTANT_SYNCED_H
#define BWL_LAB_MUTANT_SYNCED_H

#include "core/core.h"

extern const bwl_protocol bwl_synced_deaf;  /* takes any number of replicas for enough */
extern const bwl_protocol bwl_synced_alone; /* asks them for the lock, and not for its extensions */
extern const bwl_protocol bwl_synced_early; /* asks them before a question of its own */

#endif
