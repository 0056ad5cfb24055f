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

struct bwl_client;
struct bwl_lock;
struct bwl_operation;

typedef enum bwl_notice_kind {
    BWL_NOTICE_ENDED = 1, /* an operation                                                     */
    BWL_NOTICE_LOST,      /* a hold                                                           */
    BWL_NOTICE_TROUBLE,   /* a hold: it is ours still, but renewing it fails                  */
} bwl_notice_kind;

typedef struct bwl_notice {
    bwl_notice_kind    kind; /* 0: not in the list */
    struct bwl_notice *next;
    struct bwl_notice *previous;
} bwl_notice;

/* What the caller of a lock sees of it as a hold. */
typedef struct bwl_lock_face {
    bool       is_out; /* the caller has it as a hold */
    bool       loss_was_told;
    bool       was_in_trouble;
    int        loss_fd; /* -1: nobody has asked for it */
    bwl_ms     loss_at; /* when that becomes readable  */
    bwl_notice notice;
} bwl_lock_face;

/* Of one client, the oldest first. */
typedef struct bwl_notices {
    bwl_notice *first;
    bwl_notice *last;
    bool        wanted; /* somebody takes them, and is to be told when there is one            */
} bwl_notices;

/* locked: the oldest, with what it is about in one of the two, taken out.  0: there is none. */
bwl_notice_kind bwl_notices_take(struct bwl_client *client, struct bwl_lock **ret_lock,
                                 struct bwl_operation **ret_operation);

/* locked: the same of all later ones; and whoever takes them will be told of them. */
void bwl_notices_want(struct bwl_client *client);

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
void bwl_lock_hand_out(struct bwl_lock *lock);
void bwl_lock_take_back(struct bwl_lock *lock);

/* locked: the machine of a lock that is out has made a step. */
void bwl_lock_show(struct bwl_lock *lock);

/* locked: the descriptor, opened by the first call.  SYSTEM. */
int bwl_lock_loss_fd(struct bwl_lock *lock, bwl_fault *fault);

#endif
