/*
 * one_request.h -- one question at a time to one server, for a machine that needs no more.
 *
 * The tag of the question that is out, or 0.  What comes about any other question is about one that
 * was given up, and is not heard.
 */
#ifndef BWL_ONE_REQUEST_H
#define BWL_ONE_REQUEST_H

#include "core/core.h"

typedef struct bwl_one_request {
    uint32_t asked;
    uint32_t last_tag;
} bwl_one_request;

static inline void bwl_send_one(bwl_one_request *a, unsigned command, bwl_effects *fx)
{
    a->asked = ++a->last_tag;
    bwl_add_send(fx, (bwl_send){ .tag = a->asked, .command = (uint8_t)command });
}

/* Is it the end of the question that is out?  Then that is out no more. */
static inline bool bwl_ends_request(bwl_one_request *a, const bwl_event *ev)
{
    bool is_it =
        a->asked != 0 && ev->tag == a->asked && (ev->kind == BWL_REPLY || ev->kind == BWL_DOWN);

    if (is_it)
        a->asked = 0;
    return is_it;
}

/* Did the server carry the question out and answer it?  If not, that is told. */
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
