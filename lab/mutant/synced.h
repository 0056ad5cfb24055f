/*
 * synced.h -- mutants of a replicated lock, with one mistake each.
 */
#pragma once

#include "core/core.h"

extern const bwl_protocol bwl_synced_deaf;  /* accepts any number of replicas */
extern const bwl_protocol bwl_synced_alone; /* checks replicas for acquires, not for extensions */
extern const bwl_protocol bwl_synced_early; /* checks replicas before its own command */
