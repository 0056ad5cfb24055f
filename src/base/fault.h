/*
 * fault.h -- writes an error: the status, one sentence, and if known the errno and the server's
 * error code.
 */
#pragma once

#include "core/status.h"

/* Clears the fault.  Cheaper than zeroing the struct: the text is long. */
static inline void bwl_fault_clear(bwl_fault *fault)
{
    fault->status         = BWL_OK;
    fault->system_errno   = 0;
    fault->server_code[0] = '\0';
    fault->loss           = BOWLINE_LOSS_UNKNOWN;
    fault->text[0]        = '\0';
}

/* Writes the error and returns the status, so that a failing function ends with `return
 * bwl_fail(fault, BWL_STATUS_USAGE, "...", ...)`.  `fault` may be NULL.  A text that is too long is
 * cut.  The password of a URL in the text is written as ***: a user may pass a URL as the name of a
 * lock. */
__attribute__((format(printf, 3, 4))) int bwl_fail(bwl_fault *fault, bwl_status status,
                                                   const char *format, ...);

/* The same after a failed system call: keeps errno, appends ": " and its text.  NOMEM for ENOMEM,
 * else SYSTEM. */
__attribute__((format(printf, 2, 3))) int bwl_fail_errno(bwl_fault *fault, const char *format, ...);

/* The same for an error that `cause` led to: keeps the errno and the server's code of the cause.
 * `cause` must not be `fault`.  LOST keeps its loss, too. */
__attribute__((format(printf, 4, 5))) int bwl_fail_because(bwl_fault *fault, bwl_status status,
                                                           const bwl_fault *cause,
                                                           const char      *format, ...);
