/*
 * local_lock.h -- the locks that need no server.
 */
#ifndef BWL_PROTOCOL_LOCAL_LOCK_H
#define BWL_PROTOCOL_LOCAL_LOCK_H

#include "core/core.h"

extern const bwl_protocol bwl_ticket; /* of a store on this machine that keeps the queue itself */
extern const bwl_protocol bwl_local_waiter_protocol; /* of the threads of one client */

#endif
