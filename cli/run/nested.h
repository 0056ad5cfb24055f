/*
 * nested.h -- a `bowline run` under another one that holds the lock it asks for: it would wait for
 * its own end.
 *
 * BOWLINE_HELD lists the locks that are held around a command, the innermost last, each as
 *
 *      LOCK-PID-STARTED        d1c63a0f2b9e4457-4121-8812345
 *
 * LOCK is a hash of where the lock lives and of its name, without user and password.  PID and
 * STARTED are of the bowline that holds it: an entry whose bowline has ended says nothing, nor does
 * one that came from another machine.  The same lock by another URL is not recognised.
 */
#ifndef BOWLINE_CLI_RUN_NESTED_H
#define BOWLINE_CLI_RUN_NESTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What it is called in the environment. */
#define NESTED_VARIABLE "BOWLINE_HELD"

/* A hash of the place and the name.  A name that is a path relative to the working directory is
 * another lock in another directory, and so is file: of another user. */
uint64_t nested_lock(const char *url, const char *name);

/* The pid of a bowline that holds it around this process, or 0. */
pid_t nested_holder(uint64_t lock);

/* Adds it to the variable, as held by this process.  False: there is no memory. */
bool nested_export(uint64_t lock);

#endif
