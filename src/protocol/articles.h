/*
 * articles.h -- the locks of published articles, with the faults that they have there.
 */
#pragma once

#include "core/one_request.h"
#include "protocol/store/redis.h"

extern const bwl_protocol bwl_setnx_del;
extern const bwl_protocol bwl_setnx_del_expire;
extern const bwl_protocol bwl_setnx_stamp_del;
extern const bwl_protocol bwl_setnx_getset;
extern const bwl_protocol bwl_set_nx_ex;
extern const bwl_protocol bwl_setnx_expire_watch;

/* What must be true of a command.  None of these locks is extended. */
static inline void bwl_article_begins(const bwl_one_request *in_flight, const bwl_command *cmd)
{
    assert(in_flight->tag == 0);
    assert(!cmd->again);
    assert(cmd->verb != BWL_EXTEND);
}

/* Sends a command as the one request in flight.  timestamp: 0 for a command that has none. */
static inline void bwl_article_send(bwl_one_request *in_flight, bwl_redis_command command,
                                    int64_t timestamp, bwl_effects *fx)
{
    bwl_send_one(in_flight, command, fx);
    fx->sends[fx->send_count - 1].args[REDIS_ARG_TIMESTAMP] = timestamp;
}

/* The end of an acquire. */
static inline void bwl_article_acquired(bool is_held, bwl_ms until, bwl_effects *fx)
{
    if (is_held)
        bwl_complete_held(fx, until, 0); /* none of them has a fence */
    else
        bwl_complete(fx, BWL_BUSY);
}
