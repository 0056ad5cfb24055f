/*
 * queue_time.h -- when protocol queue sends its next heartbeat, and when a grant was made.
 */
#pragma once

#include "protocol/store/queue.h"

/* The server skips a waiter without a heartbeat for three times as long. */
enum { BWL_QUEUE_HEARTBEAT_MS = 1000 };

/* A heartbeat may be late by this much. */
enum { BWL_QUEUE_SLACK_MS = 50 };

/* A sample of the server's clock: it read `server_us` when the client's clock read `at` or later.
 * server_us 0: no sample; the grant happened after `at`. */
typedef struct bwl_clock_sample {
    bwl_ms  at;
    int64_t server_us;
} bwl_clock_sample;

/* Milliseconds from a reply with this status to the next heartbeat. */
bwl_ms bwl_queue_heartbeat_ms(const bwl_queue_status *queue_status, const bwl_random *fresh);

/* The slack of that heartbeat; 0 if the lock may be free by then. */
bwl_ms bwl_queue_slack_ms(const bwl_queue_status *queue_status);

/* Sets the alarm for the heartbeat after this event, whose details are a bwl_queue_status. */
void bwl_queue_wake_to_heartbeat(const bwl_event *ev, bwl_effects *fx);

/* Milliseconds to the next heartbeat after one that was not carried out. */
bwl_ms bwl_queue_retry_ms(const bwl_random *fresh);

/* A time on the client's clock, at most `now`, certainly before the grant that the server made when
 * its clock read `given_us`.  slack_ms: 0 or more; if the server's clock seems to be further ahead
 * than this, it was set in between, and the result is `seen.at`. */
bwl_ms bwl_queue_granted_after(bwl_clock_sample seen, int64_t given_us, bwl_ms now,
                               bwl_ms slack_ms);
