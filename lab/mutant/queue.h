/*
 * queue.h -- faulty protocols: `queue` with one mistake each.  (Mistakes of its server and
 * its engine are in model/twist.h.)
 */
#ifndef BWL_LAB_MUTANT_QUEUE_H
#define BWL_LAB_MUTANT_QUEUE_H

#include "lock/machine.h"

/* The private state of `queue`, as far as the lab must tell one from another. */
typedef struct bwl_queue_view {
    uint32_t phase;
    bool     may_wait;
    bool     was_held;
    uint32_t asked;
    uint32_t last_tag;
    uint32_t unconfirmed;
    bwl_ms   sent_at;
    bwl_ms   lease_ms;
    bwl_ms   claim_ms;
    uint64_t fence;
    uint64_t ticket;
    bwl_ms   seen_at;
    int64_t  seen_us;
    bool     owes;
    uint32_t next;
    uint32_t next_word;
} bwl_queue_view;

/* Of its phases, the first; and that in which what was seen is looked at. */
enum { BWL_QUEUE_VIEW_IDLE = 1, BWL_QUEUE_VIEW_QUEUED = 4 };

/* The token of this hold that is to be released before all else; 0: none. */
uint16_t bwl_queue_view_owes(const bwl_hold *h);

/* False if `queue` keeps these elsewhere by now. */
bool bwl_queue_view_is_right(void);

typedef struct bwl_queue_mutant_state {
    bwl_queue_view inner;
    bwl_ms         until; /* that was told                                                        */
} bwl_queue_mutant_state;

extern const bwl_protocol bwl_queue_from_push;  /* counts a claim from when the push came         */
extern const bwl_protocol bwl_queue_joins_anew; /* stands in line again instead of a beat         */
extern const bwl_protocol bwl_queue_joins_again; /* no answer: stands in line again               */
extern const bwl_protocol bwl_queue_draws_anew; /* joins anew by a new ticket                     */
extern const bwl_protocol bwl_queue_just_loses; /* does not give back what it has lost            */
extern const bwl_protocol
    bwl_queue_just_yields; /* ... by which it held when it yielded           */

#endif
