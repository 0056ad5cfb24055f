/*
 * queue_time.h -- the two moments of a lock with a queue: when to ask again, and since when it is
 * ours.
 */
#ifndef BWL_QUEUE_TIME_H
#define BWL_QUEUE_TIME_H

#include "protocol/store/queue.h"

/* Who has not been heard of for three times as long is passed over. */
enum { BWL_QUEUE_HEARTBEAT_MS = 1000 };

/* So little of that that it does not matter. */
enum { BWL_QUEUE_SLACK_MS = 50 };

/* What we know of the server's clock: it showed `server_us` when ours showed `at`, or later.  0: we
 * know nothing of it, and what is asked about happened after `at`. */
typedef struct bwl_clock_sample {
    bwl_ms  at;
    int64_t server_us;
} bwl_clock_sample;

/* From the answer that says where we stand to the next question. */
bwl_ms bwl_queue_heartbeat_ms(const bwl_queue_status *queue_status, const bwl_random *fresh);

/* By how much that may slip: nothing where the lock may be had by then. */
bwl_ms bwl_queue_slack_ms(const bwl_queue_status *queue_status);

/* The event's place is the answer: sets the alarm for the next question. */
void bwl_queue_wake_to_heartbeat(const bwl_event *ev, bwl_effects *fx);

/* From a question that was not carried out to the next. */
bwl_ms bwl_queue_retry_ms(const bwl_random *fresh);

/* A moment on our clock, `now` or before, at which the server had surely not yet done what it did
 * when its clock showed `given_us`.  `slack_ms`: by how much that clock may seem to be ahead before
 * we take it for one that was set. */
bwl_ms bwl_queue_granted_after(bwl_clock_sample seen, int64_t given_us, bwl_ms now,
                               bwl_ms slack_ms);

#endif
