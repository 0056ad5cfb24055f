/*
 * event_queue.h -- what a caller sees of a hold and of an operation without asking each of them: a
 * list of what has happened, and for a hold a descriptor that becomes readable when it is lost.
 *
 * A notice is embedded in what it is about, so that none is ever dropped for want of room.  A thing
 * has one at most, the latest: a hold that was in trouble, and is lost before anybody has looked,
 * is lost.
 *
 * The descriptor is a timer of the kernel's, set to the moment until which the hold is surely ours:
 * it becomes readable also while nobody drives, and while this process cannot do anything.
 */
#ifndef BWL_RUNTIME_EVENT_QUEUE_H
#define BWL_RUNTIME_EVENT_QUEUE_H

#include "core/status.h"

struct bwl_shard;
struct bwl_lock;
struct bwl_operation;

typedef enum bwl_queued_event_kind {
    BWL_EVENT_ENDED = 1, /* an operation                                                     */
    BWL_EVENT_LOST,      /* a hold                                                           */
    BWL_EVENT_TROUBLE,   /* a hold: it is ours still, but renewing it fails                  */
} bwl_queued_event_kind;

typedef struct bwl_queued_event {
    bwl_queued_event_kind    kind; /* 0: not in the list */
    struct bwl_queued_event *next;
    struct bwl_queued_event *previous;
} bwl_queued_event;

/* What the caller of a lock sees of it as a hold. */
typedef struct bwl_lock_face {
    bool             is_attached; /* the caller has it as a hold */
    bool             loss_was_reported;
    bool             was_in_trouble;
    int              loss_fd; /* -1: nobody has asked for it */
    bwl_ms           loss_at; /* when that becomes readable  */
    bwl_queued_event notice;
} bwl_lock_face;

/* Of one client, the oldest first. */
typedef struct bwl_event_queue {
    bwl_queued_event *first;
    bwl_queued_event *last;
    bool is_subscribed; /* somebody takes them, and is to be told when there is one            */
} bwl_event_queue;

/* locked: the oldest, with what it is about in one of the two, taken out.  0: there is none. */
bwl_queued_event_kind bwl_event_queue_take(struct bwl_shard *shard, struct bwl_lock **ret_lock,
                                           struct bwl_operation **ret_operation);

/* locked: the same of all later ones; and whoever takes them will be told of them. */
void bwl_event_queue_subscribe(struct bwl_shard *shard);

/* locked: the end of this operation is to be told; it may have come already. */
void bwl_operation_watch(struct bwl_operation *operation);

/* locked: it has come. */
void bwl_operation_show_end(struct bwl_operation *operation);

/* locked: the operation is being finished, and nothing more is said of it. */
void bwl_operation_forget(struct bwl_operation *operation);

/* A lock that is made: nobody sees it. */
void bwl_lock_hide(struct bwl_lock *lock);

/* locked: from now on the caller has it as a hold, and until take_back.  Take_back closes the
 * descriptor, and does nothing to what is not out. */
void bwl_lock_attach(struct bwl_lock *lock);
void bwl_lock_detach(struct bwl_lock *lock);

/* locked: the machine of a lock that is out has made a step. */
void bwl_lock_show(struct bwl_lock *lock);

/* locked: the descriptor, opened by the first call.  SYSTEM. */
int bwl_lock_loss_fd(struct bwl_lock *lock, bwl_fault *fault);

#endif
