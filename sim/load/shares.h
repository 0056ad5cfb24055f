/*
 * shares.h -- locks that the programs of a world share: how each acquire wants its lock.
 *
 * Some names have exclusive and shared holds, some have permits of one limit, and some have all of
 * them.  check.h compares what the programs then rely on.
 */
#pragma once

#include "sim/load/program.h"

/* A crowd: all want permits of one lock, and wait for as long as it takes. */
bool load_is_crowd(const load_program *program);

/* Draws how an acquire of the name shares the lock: with nobody in a world without shares, and for
 * a name with a period. */
check_share load_draw_share(load_program *program, unsigned name, bowline_acquire_options *options);

/* False with replicas: a hold keeps its mode. */
bool load_changes_modes(const load_program *program);

enum { LOAD_HOLDERS_MAX = 64 };

/* Draws whether a query is one for all holders: never in a world without shares. */
bool load_asks_for_all(load_program *program);

/* That query has returned `count` holders, or failed.  All on which programs relied during it are
 * there, as holders that may hold the lock together. */
void load_check_holders(const load_program *program, const load_call *call,
                        const bowline_holder all[LOAD_HOLDERS_MAX], int count);
