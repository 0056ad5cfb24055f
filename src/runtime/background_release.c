/*
 * background_release.c -- see background_release.h.
 */
#include "runtime/background_release.h"
#include "runtime/loop.h"

/* Whoever waits for the end of all is woken by the first that went wrong, too. */
static void look_for_end(bwl_client *client)
{
    bwl_unawaited *u       = &client->unawaited;
    bool           is_over = u->count == 0 || u->first != NULL || u->dropped > 0;

    u->end.ended = is_over ? BWL_RELEASED : BWL_PENDING;
    if (!is_over)
        return;
    for (bwl_sleeper *s = u->end.sleeper; s != NULL; s = s->beside)
        bwl_call(client, s);
}

bool bwl_lock_release_unawaited(bwl_lock *lock, bwl_operation *operation)
{
    bwl_client *client = lock->client;

    assert(lock->operation == NULL && !lock->base.in_background);
    lock->base.in_background = true;
    bwl_lock_release(lock, operation);
    if (operation->ended != BWL_PENDING) {
        lock->base.in_background = false;
        return true;
    }
    assert(lock->operation == operation);
    lock->operation = NULL;
    lock->wanted    = false;
    client->unawaited.count++;
    look_for_end(client);
    return false;
}

static void keep(bwl_unawaited *u, bwl_lock *lock, bwl_outcome_kind kind)
{
    lock->wanted      = true; /* until it is told */
    lock->ended_as    = kind;
    lock->next_untold = NULL;
    if (u->last != NULL)
        u->last->next_untold = lock;
    else
        u->first = lock;
    u->last = lock;
    u->untold++;
}

void bwl_unawaited_ended(bwl_lock *lock, bwl_outcome_kind kind)
{
    bwl_unawaited *u = &lock->client->unawaited;

    assert(lock->base.in_background && !lock->wanted);
    assert(u->count > 0);
    lock->base.in_background = false;
    u->count--;
    if (kind != BWL_RELEASED && u->untold < BWL_UNTOLD_MAX) {
        keep(u, lock, kind);
    } else if (kind != BWL_RELEASED) {
        u->dropped++;
        u->dropped_lost += kind == BWL_LOST ? 1 : 0;
    }
    look_for_end(lock->client);
}

bwl_lock *bwl_unawaited_take(bwl_client *client)
{
    bwl_unawaited *u    = &client->unawaited;
    bwl_lock      *lock = u->first;

    if (lock == NULL)
        return NULL;
    u->first = lock->next_untold;
    if (u->first == NULL)
        u->last = NULL;
    u->untold--;
    look_for_end(client);
    return lock;
}

size_t bwl_unawaited_take_dropped(bwl_client *client, size_t *ret_lost)
{
    bwl_unawaited *u       = &client->unawaited;
    size_t         dropped = u->dropped;

    *ret_lost       = u->dropped_lost;
    u->dropped      = 0;
    u->dropped_lost = 0;
    look_for_end(client);
    return dropped;
}

void bwl_unawaited_heard(bwl_client *client)
{
    assert(client->unawaited.read_late > 0);
    client->unawaited.read_late--;
    client->unawaited.late_since = client->host.latest; /* somebody is reading them */
}

void bwl_unawaited_sent(bwl_client *client)
{
    if (client->unawaited.read_late++ == 0)
        client->unawaited.late_since = client->host.latest;
}
