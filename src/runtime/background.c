/*
 * background.c -- counts the releases that no caller waits for, and keeps those that failed until
 * they are reported: see lock.h.
 */
#include "runtime/lock.h"

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

static void report_later(bwl_background *b, bwl_lock *lock, bwl_outcome_kind kind)
{
    lock->handles++; /* until it is reported */
    lock->ended_as        = kind;
    lock->next_unreported = NULL;
    if (b->last != NULL)
        b->last->next_unreported = lock;
    else
        b->first = lock;
    b->last = lock;
    b->unreported++;
}

void bwl_background_began(bwl_shard *shard)
{
    shard->background.count++;
    check_end(shard);
}

void bwl_background_ended(bwl_lock *lock, bwl_outcome_kind kind)
{
    bwl_background *b = &lock->shard->background;

    assert(lock->base.in_background);
    assert(b->count > 0);
    lock->base.in_background = false;
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
