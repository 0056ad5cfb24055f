/*
 * fork.h -- a simulated process that forks a child.
 *
 * The child is a real one of the simulator, so that it has memory of its own and its parent's world
 * goes on as if nothing had happened.  It has one thread, and the time stands still in it.  The
 * pages of MADV_WIPEONFORK are cleared.  It may close its copies of the descriptors, which has no
 * effect on the parent; what else it does with one would reach the parent's connections and its
 * epoll descriptor, so it is an error here, and so is a wait.
 */
#pragma once

#include "sim/kernel/process.h"

/* The running thread forks; child(arg) runs in the child.  Returns what went wrong there, until the
 * next call; NULL: nothing. */
const char *sim_fork(void (*child)(void *arg), void *arg);

/* This is the child of a fork. */
bool sim_is_child(void);

/* The child says what it does next, for the text of an error. */
void sim_child_does(const char *what);

/* The child ends with an error. */
_Noreturn void sim_child_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
