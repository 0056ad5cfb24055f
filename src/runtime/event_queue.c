#include "runtime/event_queue.h"
#include "runtime/lock.h"
#include "base/fault.h"

#include <stddef.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static void post(bwl_event_queue *queue, bwl_queued_event *event, bwl_queued_event_kind kind)
{
    bool is_new = event->kind == 0;

    event->kind = kind;
    if (!is_new)
        return;
    event->next           = &queue->ends;
    event->previous       = queue->ends.previous;
    event->previous->next = event;
    queue->ends.previous  = event;
}

void bwl_event_queue_init(bwl_event_queue *queue)
{
    queue->ends.next     = &queue->ends;
    queue->ends.previous = &queue->ends;
}

bool bwl_event_queue_is_empty(const bwl_event_queue *queue)
{
    return queue->ends.next == &queue->ends;
}

static void drop(bwl_queued_event *event)
{
    if (event->kind == 0)
        return;
    event->next->previous = event->previous;
    event->previous->next = event->next;
    *event                = (bwl_queued_event){ 0 };
}

bwl_queued_event_kind bwl_event_queue_take(bwl_shard *shard, bwl_lock **ret_lock,
                                           bwl_operation **ret_operation)
{
    bwl_queued_event *first = shard->events.ends.next;

    shard->events.is_subscribed = true;
    *ret_lock                   = NULL;
    *ret_operation              = NULL;
    if (bwl_event_queue_is_empty(&shard->events))
        return 0;
    bwl_queued_event_kind kind = first->kind;
    if (kind == BWL_EVENT_ENDED)
        *ret_operation = (bwl_operation *)((char *)first - offsetof(bwl_operation, event));
    else
        *ret_lock = (bwl_lock *)((char *)first - offsetof(bwl_lock, face.event));
    drop(first);
    return kind;
}

void bwl_operation_watch(bwl_operation *operation)
{
    bwl_shard *shard = operation->lock->shard;

    operation->watched = true;
    if (operation->completion.result == BWL_PENDING)
        return;
    post(&shard->events, &operation->event, BWL_EVENT_ENDED);
    if (shard->events.is_subscribed) /* else the caller checks after each start */
        bwl_loop_notify_caller(&shard->loop);
}

void bwl_operation_show_end(bwl_operation *operation)
{
    bwl_shard *shard = operation->lock->shard;

    assert(operation->completion.result != BWL_PENDING);
    post(&shard->events, &operation->event, BWL_EVENT_ENDED);
    bwl_loop_notify_caller(&shard->loop);
}

void bwl_operation_forget(bwl_operation *operation)
{
    operation->watched = false;
    drop(&operation->event);
}

/* Makes the descriptor readable when a hold until `at` has no time left, see bwl_hold_left_truly:
 * a millisecond before.  bwl_ms rounds up to whole milliseconds. */
static void set_loss(bwl_lock *lock, bwl_ms at)
{
    struct itimerspec when = { .it_value = { .tv_nsec = 1 } }; /* in the past: at once */

    if (lock->face.loss_at == at)
        return;
    lock->face.loss_at = at;
    if (at == BWL_NEVER)
        when.it_value.tv_nsec = 0; /* not set */
    else if (at > 2)
        when.it_value = (struct timespec){ .tv_sec  = (time_t)((at - 2) / 1000),
                                           .tv_nsec = (long)((at - 2) % 1000) * 1000000 };
    int status = timerfd_settime(lock->face.loss_fd, TFD_TIMER_ABSTIME, &when, NULL);
    assert(status == 0); /* the descriptor and the time are valid */
    (void)status;
}

void bwl_lock_attach(bwl_lock *lock)
{
    lock->face.references = 1;
    bwl_lock_show(lock); /* it may have been lost since it was acquired */
}

void bwl_lock_detach(bwl_lock *lock)
{
    drop(&lock->face.event); /* no hold is left that it could name */
    if (lock->face.loss_fd >= 0)
        (void)close(lock->face.loss_fd); /* nothing was written to it */
    lock->face.loss_fd    = -1;
    lock->face.references = 0;
}

void bwl_lock_show(bwl_lock *lock)
{
    bwl_event_queue *queue       = &lock->shard->events;
    bool             is_held     = bwl_hold_is_held(&lock->base.hold);
    bool             not_renewed = is_held && lock->base.hold.last_error != BWL_PENDING;
    bool             is_new      = false;

    assert(lock->face.references > 0);
    if (bwl_hold_is_acquiring(&lock->base.hold)) { /* a yield: nothing is lost */
        drop(&lock->face.event);
        lock->face.was_not_renewed = false;
        if (lock->face.loss_fd >= 0)
            set_loss(lock, BWL_NEVER);
        return;
    }
    if (lock->face.loss_fd >= 0)
        set_loss(lock, is_held ? lock->base.hold.until : 0);
    if (!is_held && !lock->face.loss_was_reported) {
        lock->face.loss_was_reported = true;
        bwl_log_add(lock->shard->host.settings.log, BWL_LOG_ERROR, "lost: %s: %s", lock->base.name,
                    lock->base.why.text[0] != '\0' ? lock->base.why.text : "its lease has ended");
        post(queue, &lock->face.event, BWL_EVENT_LOST);
        is_new = true;
    } else if (not_renewed && !lock->face.was_not_renewed) {
        bwl_log_add(lock->shard->host.settings.log, BWL_LOG_WARNING, "not renewed: %s: %s",
                    lock->base.name,
                    lock->base.why.text[0] != '\0' ? lock->base.why.text : "no answer");
        post(queue, &lock->face.event, BWL_EVENT_ERROR);
        is_new = true;
    } else if (!not_renewed && lock->face.event.kind == BWL_EVENT_ERROR) {
        drop(&lock->face.event); /* over before the caller has seen it */
    }
    lock->face.was_not_renewed = not_renewed;
    if (is_new && queue->is_subscribed)
        bwl_loop_notify_caller(&lock->shard->loop);
}

int bwl_lock_loss_fd(bwl_lock *lock, bwl_fault *fault)
{
    assert(lock->face.references > 0);
    if (lock->face.loss_fd < 0) {
        lock->face.loss_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
        if (lock->face.loss_fd < 0)
            return bwl_fail_errno(fault, "cannot make a descriptor for the loss of a hold");
        bwl_lock_show(lock);
    }
    return lock->face.loss_fd;
}
