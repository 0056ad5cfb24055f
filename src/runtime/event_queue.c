/*
 * event_queue.c -- see event_queue.h.
 */
#include "runtime/event_queue.h"
#include "runtime/shard.h"
#include "base/fault.h"

#include <stddef.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* ---- the list -------------------------------------------------------------------------------- */

static void post(bwl_event_queue *list, bwl_queued_event *notice, bwl_queued_event_kind kind)
{
    bool is_new = notice->kind == 0;

    notice->kind = kind;
    if (!is_new)
        return;
    notice->next     = NULL;
    notice->previous = list->last;
    if (list->last != NULL)
        list->last->next = notice;
    else
        list->first = notice;
    list->last = notice;
}

static void drop(bwl_event_queue *list, bwl_queued_event *notice)
{
    if (notice->kind == 0)
        return;
    if (notice->next != NULL)
        notice->next->previous = notice->previous;
    else
        list->last = notice->previous;
    if (notice->previous != NULL)
        notice->previous->next = notice->next;
    else
        list->first = notice->next;
    *notice = (bwl_queued_event){ 0 };
}

bwl_queued_event_kind bwl_event_queue_take(bwl_shard *shard, bwl_lock **ret_lock,
                                           bwl_operation **ret_operation)
{
    bwl_queued_event *first = shard->events.first;

    *ret_lock      = NULL;
    *ret_operation = NULL;
    if (first == NULL)
        return 0;
    bwl_queued_event_kind kind = first->kind;
    if (kind == BWL_EVENT_ENDED)
        *ret_operation = (bwl_operation *)((char *)first - offsetof(bwl_operation, notice));
    else
        *ret_lock = (bwl_lock *)((char *)first - offsetof(bwl_lock, face.notice));
    drop(&shard->events, first);
    return kind;
}

void bwl_event_queue_subscribe(bwl_shard *shard)
{
    shard->events.is_subscribed = true;
}

/* ---- of operations --------------------------------------------------------------------------- */

void bwl_operation_watch(bwl_operation *operation)
{
    bwl_shard *shard = operation->lock->shard;

    operation->watched = true;
    if (operation->ended == BWL_PENDING)
        return;
    post(&shard->events, &operation->notice, BWL_EVENT_ENDED);
    if (shard->events.is_subscribed) /* who does not take them looks after each start */
        bwl_shard_notify_caller(shard);
}

void bwl_operation_show_end(bwl_operation *operation)
{
    bwl_shard *shard = operation->lock->shard;

    assert(operation->ended != BWL_PENDING);
    post(&shard->events, &operation->notice, BWL_EVENT_ENDED);
    bwl_shard_notify_caller(shard);
}

void bwl_operation_forget(bwl_operation *operation)
{
    operation->watched = false;
    drop(&operation->lock->shard->events, &operation->notice);
}

/* ---- of holds -------------------------------------------------------------------------------- */

/* Readable from `at` on.  Our clock counts whole milliseconds that have begun. */
static void set_loss(bwl_lock *lock, bwl_ms at)
{
    struct itimerspec when = { .it_value = { .tv_nsec = 1 } }; /* long ago: at once */

    if (lock->face.loss_at == at)
        return;
    lock->face.loss_at = at;
    if (at == BWL_NEVER)
        when.it_value.tv_nsec = 0; /* not set */
    else if (at > 1)
        when.it_value = (struct timespec){ .tv_sec  = (time_t)((at - 1) / 1000),
                                           .tv_nsec = (long)((at - 1) % 1000) * 1000000 };
    int status = timerfd_settime(lock->face.loss_fd, TFD_TIMER_ABSTIME, &when, NULL);
    assert(status == 0); /* the descriptor and the time are in order: nothing else can fail */
    (void)status;
}

void bwl_lock_hide(bwl_lock *lock)
{
    lock->face.is_attached       = false;
    lock->face.loss_was_reported = false;
    lock->face.was_in_trouble    = false;
    lock->face.loss_fd           = -1;
    lock->face.loss_at           = BWL_NEVER;
    lock->face.notice            = (bwl_queued_event){ 0 };
    lock->user                   = NULL;
}

void bwl_lock_attach(bwl_lock *lock)
{
    lock->face.is_attached = true;
    bwl_lock_show(lock); /* it may have been lost between its being won and its being taken */
}

void bwl_lock_detach(bwl_lock *lock)
{
    drop(&lock->shard->events, &lock->face.notice);
    if (lock->face.loss_fd >= 0)
        (void)close(lock->face.loss_fd); /* nothing was written to it */
    lock->face.loss_fd     = -1;
    lock->face.is_attached = false;
}

void bwl_lock_show(bwl_lock *lock)
{
    bwl_event_queue *list     = &lock->shard->events;
    bool             is_held  = bwl_hold_is_held(&lock->base.hold);
    bool             troubled = is_held && lock->base.hold.trouble != BWL_PENDING;
    bool             is_new   = false;

    assert(lock->face.is_attached);
    if (bwl_hold_is_sought(&lock->base.hold)) { /* it was yielded, and nothing is lost by that */
        drop(list, &lock->face.notice);
        lock->face.was_in_trouble = false;
        if (lock->face.loss_fd >= 0)
            set_loss(lock, BWL_NEVER);
        return;
    }
    if (lock->face.loss_fd >= 0)
        set_loss(lock, is_held ? lock->base.hold.until : 0);
    if (!is_held && !lock->face.loss_was_reported) {
        lock->face.loss_was_reported = true;
        post(list, &lock->face.notice, BWL_EVENT_LOST);
        is_new = true;
    } else if (troubled && !lock->face.was_in_trouble) {
        post(list, &lock->face.notice, BWL_EVENT_TROUBLE);
        is_new = true;
    } else if (!troubled && lock->face.notice.kind == BWL_EVENT_TROUBLE) {
        drop(list, &lock->face.notice); /* it is over before anybody has looked */
    }
    lock->face.was_in_trouble = troubled;
    if (is_new && list->is_subscribed)
        bwl_shard_notify_caller(lock->shard);
}

int bwl_lock_loss_fd(bwl_lock *lock, bwl_fault *fault)
{
    assert(lock->face.is_attached);
    if (lock->face.loss_fd < 0) {
        lock->face.loss_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
        if (lock->face.loss_fd < 0)
            return bwl_fail_errno(fault, "cannot make a descriptor for the loss of a hold");
        bwl_lock_show(lock);
    }
    return lock->face.loss_fd;
}
