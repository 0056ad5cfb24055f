/*
 * nested.h -- detects a `bowline run` or `bowline hold` inside another one that holds the same
 * lock: its wait would never end.
 *
 * BOWLINE_HELD lists the locks that are held around a command, the innermost last, each as
 *
 *      LOCK-PID-STARTED        d1c63a0f2b9e4457-4121-8812345
 *
 * LOCK is a hash of the URL, without user and password, and of the name.  PID and STARTED identify
 * the bowline that holds it: an entry is ignored if that process has ended or is on another
 * machine.  The same lock by another URL is not detected.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define NESTED_VARIABLE "BOWLINE_HELD"

enum { NESTED_VALUE_MAX = 4096 }; /* bytes of the variable: about a hundred locks */

/* Hashes the place and the name.  A name that is a relative path means another lock in another
 * directory; file: means other locks for another user. */
uint64_t nested_lock(const char *url, const char *name);

/* Returns the pid of a bowline that holds the lock around this process, or 0. */
pid_t nested_holder(uint64_t lock);

/* The value of the variable with this lock added, held by this process.  False: without /proc the
 * start time of this process is not known. */
bool nested_value(char ret_value[NESTED_VALUE_MAX], uint64_t lock);

/* Sets the variable to that value, if it is known.  False: out of memory. */
bool nested_export(uint64_t lock);
