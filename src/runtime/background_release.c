#include "runtime/background_release.h"

/* A thread that waits for the end of all is also signalled at the first failure. */
static void check_end(bwl_shard *shard)
{
    bwl_background *b       = &shard->background;
    bool            is_over = b->count == 0 || b->first != NULL || b->dropped > 0;

    if (is_over)
        bwl_loop_complete(&shard->loop, &b->end, BWL_RELEASED);
    else
        b->end.result = BWL_PENDING;
}

static void completed(bwl_lock *lock, bwl_outcome_kind kind);

bool bwl_lock_release_in_background(bwl_lock *lock, bwl_operation *operation)
{
    bwl_shard *shard = lock->shard;

    assert(lock->operation == NULL && !lock->base.in_background);
    lock->base.in_background = true;
    lock->completed          = completed;
    bwl_lock_release(lock, operation);
    if (operation->completion.result != BWL_PENDING) {
        lock->base.in_background = false;
        lock->completed          = NULL;
        return true;
    }
    assert(lock->operation == operation);
    lock->operation  = NULL;
    lock->has_handle = false;
    shard->background.count++;
    check_end(shard);
    return false;
}

static void report_later(bwl_background *b, bwl_lock *lock, bwl_outcome_kind kind)
{
    lock->has_handle      = true; /* until it is reported */
    lock->ended_as        = kind;
    lock->next_unreported = NULL;
    if (b->last != NULL)
        b->last->next_unreported = lock;
    else
        b->first = lock;
    b->last = lock;
    b->unreported++;
}

static void completed(bwl_lock *lock, bwl_outcome_kind kind)
{
    bwl_background *b = &lock->shard->background;

    assert(lock->base.in_background && !lock->has_handle);
    assert(b->count > 0);
    lock->base.in_background = false;
    lock->completed          = NULL;
    b->count--;
    if (kind != BWL_RELEASED && b->unreported < BWL_UNREPORTED_MAX) {
        report_later(b, lock, kind);
    } else if (kind != BWL_RELEASED) {
        b->dropped++;
        b->dropped_lost += kind == BWL_LOST ? 1 : 0;
    }
    check_end(lock->shard);
}

bwl_lock *bwl_background_take(bwl_shard *shard)
{
    bwl_background *b    = &shard->background;
    bwl_lock       *lock = b->first;

    if (lock == NULL)
        return NULL;
    b->first = lock->next_unreported;
    if (b->first == NULL)
        b->last = NULL;
    b->unreported--;
    check_end(shard);
    return lock;
}

size_t bwl_background_take_dropped(bwl_shard *shard, size_t *ret_lost)
{
    bwl_background *b       = &shard->background;
    size_t          dropped = b->dropped;

    *ret_lost       = b->dropped_lost;
    b->dropped      = 0;
    b->dropped_lost = 0;
    check_end(shard);
    return dropped;
}

void bwl_background_answered(bwl_shard *shard)
{
    assert(shard->background.read_late > 0);
    shard->background.read_late--;
    shard->background.late_since = shard->host.latest; /* a thread is reading their replies */
}

void bwl_background_sent(bwl_shard *shard)
{
    if (shard->background.read_late++ == 0)
        shard->background.late_since = shard->host.latest;
}
