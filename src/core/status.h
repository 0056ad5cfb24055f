/*
 * status.h -- the result of a call.  The values and the error type are those of the public API, so
 * an error reaches the caller without a conversion.
 */
#ifndef BWL_STATUS_H
#define BWL_STATUS_H

#include "core/core.h"

#include <bowline/error.h>

typedef enum bwl_status {
    BWL_OK                 = BOWLINE_OK,
    BWL_STATUS_BUSY        = BOWLINE_BUSY,
    BWL_STATUS_TIMEOUT     = BOWLINE_TIMEOUT,
    BWL_STATUS_LOST        = BOWLINE_LOST,
    BWL_STATUS_UNKNOWN     = BOWLINE_UNKNOWN,
    BWL_STATUS_CANCELLED   = BOWLINE_CANCELLED,
    BWL_STATUS_UNREACHABLE = BOWLINE_UNREACHABLE,
    BWL_STATUS_REFUSED     = BOWLINE_REFUSED,
    BWL_STATUS_USAGE       = BOWLINE_USAGE,
    BWL_STATUS_UNSUPPORTED = BOWLINE_UNSUPPORTED,
    BWL_STATUS_NOMEM       = BOWLINE_NOMEM,
    BWL_STATUS_SYSTEM      = BOWLINE_SYSTEM,
    BWL_STATUS_FORKED      = BOWLINE_FORKED,
    BWL_STATUS_DONE        = BOWLINE_DONE,
} bwl_status;

enum { BWL_FAULT_TEXT_MAX = BOWLINE_ERROR_TEXT_MAX };

typedef bowline_error bwl_fault;

#endif
