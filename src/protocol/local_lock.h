/*
 * local_lock.h -- the locks that need no server.
 */
#pragma once

#include "core/core.h"

extern const bwl_protocol bwl_ticket;                /* the store on this machine keeps the queue */
extern const bwl_protocol bwl_sharing_ticket;        /* the same: its store reads bwl_share, too */
extern const bwl_protocol bwl_changing_ticket;       /* ... and changes it */
extern const bwl_protocol bwl_local_waiter_protocol; /* the waiters of a local group */
