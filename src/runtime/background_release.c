/*
 * background_release.c -- see background_release.h.
 */
#include "runtime/background_release.h"
#include "runtime/loop.h"

/* Whoever waits for the end of all is woken by the first that went wrong, too. */
static void look_for_end(bwl_shard *shard)
{
    bwl_background *u       = &shard->background;
    bool            is_over = u->count == 0 || u->first != NULL || u->dropped > 0;

    u->end.ended = is_over ? BWL_RELEASED : BWL_PENDING;
    if (!is_over)
        return;
    for (bwl_waiting_thread *s = u->end.waiting; s != NULL; s = s->beside)
        bwl_signal(shard, s);
}

bool bwl_lock_release_in_background(bwl_lock *lock, bwl_operation *operation)
{
    bwl_shard *shard = lock->shard;

    assert(lock->operation == NULL && !lock->base.in_background);
    lock->base.in_background = true;
    bwl_lock_release(lock, operation);
    if (operation->ended != BWL_PENDING) {
        lock->base.in_background = false;
        return true;
    }
    assert(lock->operation == operation);
    lock->operation  = NULL;
    lock->has_handle = false;
    shard->background.count++;
    look_for_end(shard);
    return false;
}

static void keep(bwl_background *u, bwl_lock *lock, bwl_outcome_kind kind)
{
    lock->has_handle      = true; /* until it is told */
    lock->ended_as        = kind;
    lock->next_unreported = NULL;
    if (u->last != NULL)
        u->last->next_unreported = lock;
    else
        u->first = lock;
    u->last = lock;
    u->unreported++;
}

void bwl_background_ended(bwl_lock *lock, bwl_outcome_kind kind)
{
    bwl_background *u = &lock->shard->background;

    assert(lock->base.in_background && !lock->has_handle);
    assert(u->count > 0);
    lock->base.in_background = false;
    u->count--;
    if (kind != BWL_RELEASED && u->unreported < BWL_UNREPORTED_MAX) {
        keep(u, lock, kind);
    } else if (kind != BWL_RELEASED) {
        u->dropped++;
        u->dropped_lost += kind == BWL_LOST ? 1 : 0;
    }
    look_for_end(lock->shard);
}

bwl_lock *bwl_background_take(bwl_shard *shard)
{
    bwl_background *u    = &shard->background;
    bwl_lock       *lock = u->first;

    if (lock == NULL)
        return NULL;
    u->first = lock->next_unreported;
    if (u->first == NULL)
        u->last = NULL;
    u->unreported--;
    look_for_end(shard);
    return lock;
}

size_t bwl_background_take_dropped(bwl_shard *shard, size_t *ret_lost)
{
    bwl_background *u       = &shard->background;
    size_t          dropped = u->dropped;

    *ret_lost       = u->dropped_lost;
    u->dropped      = 0;
    u->dropped_lost = 0;
    look_for_end(shard);
    return dropped;
}

void bwl_background_answered(bwl_shard *shard)
{
    assert(shard->background.read_late > 0);
    shard->background.read_late--;
    shard->background.late_since = shard->host.latest; /* somebody is reading them */
}

void bwl_background_sent(bwl_shard *shard)
{
    if (shard->background.read_late++ == 0)
        shard->background.late_since = shard->host.latest;
}
