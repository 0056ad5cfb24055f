/*
 * crash.h -- names the world in which the library, or the simulator, dies of a signal.
 */
#pragma once

#include <stdint.h>

void sim_crash_watch(void);

/* The world that runs from now on. */
void sim_crash_in(uint64_t seed);
