/*
 * event_queue.h -- what the caller sees of holds and operations without asking each: a queue of
 * events, and for a hold a descriptor that becomes readable when the hold is lost.
 *
 * An event is embedded in the lock or the operation that it is about, so that none is dropped for
 * want of memory.  Each has at most one event, the latest: a hold that is in trouble and then lost
 * is reported as lost only.
 *
 * The descriptor is a timer of the kernel, set to the moment until which the hold is surely ours.
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

/* What the caller of a lock sees of it as a hold. */
typedef struct bwl_lock_face {
    bool             is_attached; /* the caller has it as a hold */
    bool             loss_was_reported;
    bool             was_in_trouble;
    int              loss_fd; /* -1: not asked for */
    bwl_ms           loss_at; /* when that becomes readable */
    bwl_queued_event event;
} bwl_lock_face;

/* Of one shard, the oldest event first. */
typedef struct bwl_event_queue {
    bwl_queued_event *first;
    bwl_queued_event *last;
    bool              is_subscribed; /* the caller takes events: notify it of each */
} bwl_event_queue;

/* Takes the oldest event out, and writes what it is about to one of the two.  0: there is none. */
bwl_queued_event_kind bwl_event_queue_take(struct bwl_shard *shard, struct bwl_lock **ret_lock,
                                           struct bwl_operation **ret_operation);

/* From now on the caller is notified of each event. */
void bwl_event_queue_subscribe(struct bwl_shard *shard);

/* Puts the end of this operation into the queue, now or when it comes. */
void bwl_operation_watch(struct bwl_operation *operation);

/* A watched operation has completed. */
void bwl_operation_show_end(struct bwl_operation *operation);

/* The caller finishes the operation: its event is dropped. */
void bwl_operation_forget(struct bwl_operation *operation);

/* Initialises the face of a new lock. */
void bwl_lock_hide(struct bwl_lock *lock);

/* From attach to detach, the caller has the lock as a hold.  Detach closes the descriptor; it does
 * nothing to a lock that is not attached. */
void bwl_lock_attach(struct bwl_lock *lock);
void bwl_lock_detach(struct bwl_lock *lock);

/* The machine of an attached lock has made a step. */
void bwl_lock_show(struct bwl_lock *lock);

/* The descriptor, opened by the first call.  SYSTEM. */
int bwl_lock_loss_fd(struct bwl_lock *lock, bwl_fault *fault);
