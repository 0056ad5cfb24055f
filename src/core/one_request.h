/*
 * one_request.h -- at most one command in flight to one server.
 *
 * `tag` is that of the command in flight, or 0.  A reply with any other tag belongs to a command
 * that was abandoned, and is ignored.
 */
#ifndef BWL_ONE_REQUEST_H
#define BWL_ONE_REQUEST_H

#include "core/core.h"

typedef struct bwl_one_request {
    uint32_t tag;
    uint32_t last_tag;
} bwl_one_request;

static inline void bwl_send_one(bwl_one_request *in_flight, unsigned command, bwl_effects *fx)
{
    in_flight->tag = ++in_flight->last_tag;
    bwl_add_send(fx, (bwl_send){ .tag = in_flight->tag, .command = (uint8_t)command });
}

/* True if the event ends the command in flight; then none is in flight. */
static inline bool bwl_ends_request(bwl_one_request *in_flight, const bwl_event *ev)
{
    bool ends = in_flight->tag != 0 && ev->tag == in_flight->tag &&
                (ev->kind == BWL_REPLY || ev->kind == BWL_DOWN);

    if (ends)
        in_flight->tag = 0;
    return ends;
}

/* True if the server carried the command out and replied.  If not, completes with the reason. */
static inline bool bwl_was_answered(const bwl_event *ev, bwl_effects *fx)
{
    if (ev->kind == BWL_DOWN) {
        bwl_complete(fx, BWL_UNKNOWN);
        return false;
    }
    switch (ev->answer) {
    case BWL_YES:
    case BWL_NO:
    case BWL_FOREIGN_VALUE: return true;
    case BWL_RETRYABLE: bwl_complete(fx, BWL_NOT_NOW); return false;
    case BWL_REFUSED: bwl_complete(fx, BWL_STORE_REFUSED); return false;
    case BWL_NOT_SENT: bwl_complete(fx, BWL_UNREACHABLE); return false;
    }
    bwl_unreachable("an answer outside of its enum");
}

#endif
