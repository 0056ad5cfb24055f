/*
 * status.h -- how a call came out, for whoever is above the machines: a number that the caller
 * decides on, and a sentence for people.  The numbers are those of the public header; src/api
 * asserts that they are the same.
 */
#ifndef BWL_STATUS_H
#define BWL_STATUS_H

#include "core/core.h"

typedef enum bwl_status {
    BWL_OK                 = 0,
    BWL_STATUS_BUSY        = -1,
    BWL_STATUS_TIMEOUT     = -2,
    BWL_STATUS_LOST        = -3,
    BWL_STATUS_UNKNOWN     = -4,
    BWL_STATUS_CANCELLED   = -5,
    BWL_STATUS_UNREACHABLE = -6,
    BWL_STATUS_REFUSED     = -7,
    BWL_STATUS_USAGE       = -8,
    BWL_STATUS_UNSUPPORTED = -9,
    BWL_STATUS_NOMEM       = -10,
    BWL_STATUS_SYSTEM      = -11,
    BWL_STATUS_FORKED      = -12,
} bwl_status;

enum { BWL_FAULT_TEXT_MAX = 244 };

/* What went wrong.  Never holds a password or a token. */
typedef struct bwl_fault {
    int32_t status;
    char    text[BWL_FAULT_TEXT_MAX];
} bwl_fault;

#endif
