/*
 * synced.h -- mutants of a replicated lock, with one mistake each.
 */
#pragma once

#include "core/core.h"

extern const bwl_protocol bwl_synced_deaf;  /* accepts any number of replicas */
extern const bwl_protocol bwl_synced_alone; /* asks replicas for the lock, not for extensions */
extern const bwl_protocol bwl_synced_early; /* asks replicas before its own command */
