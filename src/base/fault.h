/*
 * fault.h -- saying what went wrong in one sentence, from the rooms that do I/O.
 */
#ifndef BWL_BASE_FAULT_H
#define BWL_BASE_FAULT_H

#include "core/status.h"

/* Writes status and text, if there is somewhere to write to, and returns the status, so that a
 * failing function ends with `return bwl_fail(fault, BWL_STATUS_USAGE, "...", ...)`.  A text
 * that is too long is cut.  `fault` may be NULL.  The password of a URL in it, such as one that was
 * given as the name of a lock, is written as ***. */
__attribute__((format(printf, 3, 4))) int bwl_fail(bwl_fault *fault, bwl_status status,
                                                   const char *format, ...);

/* The same for a system call: ends with ": " and the words for errno, and is NOMEM for ENOMEM. */
__attribute__((format(printf, 2, 3))) int bwl_fail_errno(bwl_fault *fault, const char *format, ...);

#endif
