/*
 * loop.h -- a program on an event loop, with several activities at the same time: each acquires,
 * extends, changes its mode, yields, queries and releases at random.
 *
 *      IDLE -> ACQUIRING -> HOLDING -> RELEASING -> IDLE
 *                  |         |   ^
 *                  |     EXTENDING, CHANGING, YIELDING
 *                  `-> cancelled, BUSY, TIMEOUT ... -> IDLE
 *
 * It checks that every operation ends once and in time, with a status that it may have.
 */
#pragma once

#include "sim/load/program.h"

/* Until the program has ended. */
void load_loop(load_program *program);
