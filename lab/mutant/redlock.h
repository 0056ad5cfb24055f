/*
 * redlock.h -- mutants of `redlock`, with one mistake each.
 */
#pragma once

#include "core/core.h"

extern const bwl_protocol bwl_mutant_no_undo; /* a failed attempt leaves its keys */
extern const bwl_protocol
    bwl_mutant_of_answering;                     /* takes a majority of the servers that replied */
extern const bwl_protocol bwl_mutant_no_elapsed; /* counts the lease from the majority reply */
extern const bwl_protocol bwl_mutant_overwrites; /* a renewal overwrites any owner */
extern const bwl_protocol bwl_mutant_undo_and_ask; /* deletes keys of an attempt that continues */
