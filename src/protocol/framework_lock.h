/*
 * framework_lock.h -- the locks of Redisson and Symfony, in their own format.
 */
#ifndef BWL_PROTOCOL_FRAMEWORK_LOCK_H
#define BWL_PROTOCOL_FRAMEWORK_LOCK_H

#include "core/core.h"

extern const bwl_protocol
    bwl_redisson; /* RLock of Redisson: a hash, and a message at each release */
extern const bwl_protocol bwl_symfony; /* RedisStore of Symfony: a sorted set */

#endif
