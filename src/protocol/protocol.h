/*
 * protocol.h -- the lock protocols there are.  One file each; none knows another.
 */
#ifndef BWL_PROTOCOL_H
#define BWL_PROTOCOL_H

#include "core/core.h"

extern const bwl_protocol bwl_token;  /* one key on one Redis                              */
extern const bwl_protocol bwl_ticket; /* a store of this machine that keeps the queue itself */

#endif
