/*
 * forked.h -- a program forks a child, which must not use the client of its parent: every call
 * returns FORKED, and bowline_close only frees.
 */
#pragma once

#include "sim/load/program.h"

/* Objects that the child inherits; NULL: none. */
typedef struct load_inherited {
    bowline_hold      *hold;
    bowline_operation *acquire;
    bowline_operation *who;
    bowline_operation *other; /* extend, yield or release */
} load_inherited;

/* It is time to fork. */
bool load_forks(const load_program *program);

/* Forks a child that tries each call with these objects, and waits for its end. */
void load_fork(load_program *program, const load_inherited *all, unsigned count);
