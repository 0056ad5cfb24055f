/*
 * event_queue.h -- a queue of events about holds and operations, and for a hold a descriptor that
 * becomes readable when the hold is lost.
 *
 * An event is embedded in its lock or operation, so that none is dropped for lack of memory.  Each
 * has at most one event, the latest: a hold that cannot be renewed and is then lost is only
 * reported as lost.
 *
 * The descriptor is a timer of the kernel, set to the time until which the hold is certainly ours.
 * It becomes readable also while no thread runs the loop or the process is stopped.
 *
 * event_queue -> loop.  Every function needs the shard's mutex.
 */
#pragma once

#include "core/status.h"

struct bwl_shard;
struct bwl_lock;
struct bwl_operation;

typedef enum bwl_queued_event_kind {
    BWL_EVENT_ENDED = 1, /* an operation has completed */
    BWL_EVENT_LOST,      /* a hold is lost */
    BWL_EVENT_ERROR,     /* a hold is still ours, but cannot be renewed */
} bwl_queued_event_kind;

typedef struct bwl_queued_event {
    bwl_queued_event_kind    kind; /* 0: not in the queue */
    struct bwl_queued_event *next;
    struct bwl_queued_event *previous;
} bwl_queued_event;

/* The caller's view of a lock as a hold. */
typedef struct bwl_lock_face {
    uint32_t         references; /* of the caller, each to be released; 0: it has no hold */
    bool             loss_was_reported;
    bool             was_not_renewed;
    int              loss_fd; /* -1: not requested */
    bwl_ms           loss_at; /* when loss_fd becomes readable */
    bwl_queued_event event;
} bwl_lock_face;

/* Of one shard: a ring, the oldest event after `ends`. */
typedef struct bwl_event_queue {
    bwl_queued_event ends;
    bool             is_subscribed; /* the caller takes events: notify its event loop */
} bwl_event_queue;

void bwl_event_queue_init(bwl_event_queue *queue);
bool bwl_event_queue_is_empty(const bwl_event_queue *queue);

/* Removes the oldest event, and writes its lock or its operation.  0: the queue is empty.  From now
 * on the caller is notified of each event. */
bwl_queued_event_kind bwl_event_queue_take(struct bwl_shard *shard, struct bwl_lock **ret_lock,
                                           struct bwl_operation **ret_operation);

/* Queues the end of this operation, now or when it ends. */
void bwl_operation_watch(struct bwl_operation *operation);

/* A watched operation has completed. */
void bwl_operation_show_end(struct bwl_operation *operation);

/* The caller finishes the operation: its event is dropped. */
void bwl_operation_forget(struct bwl_operation *operation);

/* Attach when the caller gets the lock as a hold, detach when it no longer has it.  Detach closes
 * the descriptor; it does nothing to a lock that is not attached. */
void bwl_lock_attach(struct bwl_lock *lock);
void bwl_lock_detach(struct bwl_lock *lock);

/* Call after each step of an attached lock's machine. */
void bwl_lock_show(struct bwl_lock *lock);

/* The descriptor, opened by the first call.  SYSTEM. */
int bwl_lock_loss_fd(struct bwl_lock *lock, bwl_fault *fault);
