/*
 * asking.h -- one question at a time to one server, for a machine that needs no more.
 *
 * The tag of the question that is out, or 0.  What comes about any other question is about one that
 * was given up, and is not heard.
 */
#ifndef BWL_ASKING_H
#define BWL_ASKING_H

#include "core/core.h"

typedef struct bwl_asking {
    uint32_t asked;
    uint32_t last_tag;
} bwl_asking;

static inline void bwl_ask_one(bwl_asking *a, unsigned word, int64_t stamp, bwl_effects *fx)
{
    a->asked = ++a->last_tag;
    bwl_put_ask(fx, (bwl_ask){ .tag = a->asked, .word = (uint8_t)word, .stamp = stamp });
}

/* Is it the end of the question that is out?  Then that is out no more. */
static inline bool bwl_ends_question(bwl_asking *a, const bwl_event *ev)
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
        bwl_tell(fx, BWL_UNKNOWN);
        return false;
    }
    switch (ev->answer) {
    case BWL_YES:
    case BWL_NO:
    case BWL_ALIEN: return true;
    case BWL_LATER: bwl_tell(fx, BWL_NOT_NOW); return false;
    case BWL_REFUSED: bwl_tell(fx, BWL_STORE_REFUSED); return false;
    case BWL_UNSENT: bwl_tell(fx, BWL_UNREACHABLE); return false;
    }
    bwl_unreachable("an answer outside of its enum");
}

#endif
