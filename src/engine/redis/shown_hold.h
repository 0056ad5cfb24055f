/*
 * shown_hold.h -- what the client info of this client shows people of a hold: see client_info.c.
 */
#pragma once

#include "engine/redis/redis.h"

/* Shows people the time and the fence of a held lock, after a YES to its owner, if that is due. */
void bwl_redis_show_hold(bwl_session *session, bwl_engine_lock *lock);

/* See bwl_engine_view: shows them at once, with the command. */
void bwl_redis_show_command(bwl_engine_lock *lock, int64_t pid);

/* The hold has ended, or ends with the command that was sent before: it is not shown any more. */
void bwl_redis_hide_hold(bwl_session *session, bwl_engine_lock *lock);
