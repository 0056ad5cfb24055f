/*
 * threads.h -- a program of several threads that block, on one client with a renewal thread: each
 * acquires, works, extends or yields, and releases.
 */
#pragma once

#include "sim/load/program.h"

/* Until all threads have ended. */
void load_threads(load_program *program);
