/*
 * redlock.h -- faulty protocols: `redlock` with one mistake each.
 */
#ifndef BWL_LAB_MUTANT_REDLOCK_H
#define BWL_LAB_MUTANT_REDLOCK_H

#include "core/core.h"

extern const bwl_protocol bwl_mutant_no_undo;      /* what a failed attempt got stays */
extern const bwl_protocol bwl_mutant_of_answering; /* a majority of those that answered */
extern const bwl_protocol bwl_mutant_no_elapsed;   /* a majority is worth a lease from now */
extern const bwl_protocol bwl_mutant_overwrites;   /* heals whoever has it there */
extern const bwl_protocol bwl_mutant_undo_and_ask; /* deletes what may be asked for once more */

#endif
