/*
 * revalidate.c -- what a new connection means for the locks that are held.  See session.h.
 *
 * The same server process (its run_id says so): the keys should be there still.  Every held lock is
 * asked for at once, in a form that changes nothing, instead of at its next renewal.
 *
 * Another process: it may have come back with an older state of its data, in which our key stands
 * although somebody else has had the lock in between.  So a key that is found there proves nothing:
 * every held lock is lost, and taken out of the store where it is still ours.
 *
 * Another server, which the sentinels have made the primary of the service: a copy of the old one,
 * that lacks at most the last of what was written.  While our key stands there with our token,
 * nobody else has had the lock at either, as long as there is one primary.  So every held lock is
 * asked for, and for its whole lease: the last renewal may be among what is lacking.  So it is at
 * the server of a service, or the node, that we know already: since we were there it may have
 * followed another one, and have become the primary again, as the same process and with what that
 * one had.
 *
 * A node of a cluster is asked for those locks alone that are at home there.  One that is a replica
 * now sends us on, whichever process it is, to the node that has a copy: as with the sentinels.  At
 * a primary, another process makes lost what the one before it was the last to say YES to; what
 * another node gave has come there with its slot, and is asked for.
 *
 * A server that does not tell its run_id (INFO is forbidden to us, or it has none) is taken to be
 * the same; then the question whether the key is ours is all that is known.
 */
#include "protocol/protocol.h"
#include "engine/redis/note.h"
#include "engine/redis/session/session.h"
#include "engine/redis/topology/cluster.h"

#include <string.h>

/* Not an extension: shorter than any time that a key has left. */
enum { NO_LEASE_MS = 1 };

bool bwl_redis_holds_something(const bwl_redis_store *store)
{
    for (const bwl_engine_lock *lock = bwl_redis_first_lock(store); lock != NULL;
         lock                        = bwl_redis_next_lock(lock))
        if (bwl_hold_is_held(&lock->hold) && bwl_redis_is_home(store, lock))
            return true;
    return false;
}

void bwl_redis_give_up(bwl_redis_store *store, bwl_engine_lock *lock)
{
    if (!bwl_hold_is_held(&lock->hold))
        return; /* what was given then is over already */
    bwl_host_set_error(lock, "%s was started again (it has another run_id)", store->where);
    bwl_host_revoke(lock);
}

bwl_redis_word bwl_redis_extension(const bwl_redis_store *store)
{
    if (bwl_redis_listens(store))
        return REDIS_QUEUE_EXTEND;
    return bwl_protocol_words(store->client->settings.protocol)->extend;
}

/* If there is no memory to ask, the next renewal will. */
static void verify(bwl_redis_store *store, bwl_engine_lock *lock)
{
    bool                    is_whole = store->sentinel != NULL || store->cluster != NULL;
    bwl_redis_open_question question = {
        .lock     = lock,
        .verifies = true,
        .word     = bwl_redis_extension(store),
        .lease_ms = is_whole ? lock->hold.claim.lease_ms : NO_LEASE_MS,
    };

    if (lock->hold.state != BWL_HOLD_HELD)
        return; /* an extension is being asked for: that verifies as well */
    if (!lock->hold.protocol->extends) {
        if (bwl_redis_has_moved(store))
            bwl_redis_give_up(store, lock);
        return; /* there is no word that would change nothing and tell */
    }
    memcpy(question.token, lock->hold.claim.token, sizeof question.token);
    (void)bwl_redis_append(store, &question);
}

/* What is at home here, and this connection is to a primary. */
static bool is_lost(const bwl_redis_store *store, const bwl_engine_lock *lock)
{
    if (store->cluster != NULL)
        return bwl_redis_gave_before(store, lock);
    return store->is_another && !bwl_redis_has_moved(store);
}

void bwl_redis_vouch(bwl_redis_store *store)
{
    bool             is_sent_on = store->cluster != NULL && store->is_replica;
    bwl_engine_lock *next;

    assert(store->phase == BWL_REDIS_GREETING); /* so what is asked now is not written yet */
    if (store->is_of_many) { /* one server that forgets is outvoted: the next renewal heals it */
        store->is_another = false;
        return;
    }
    if (store->is_another && !is_sent_on)
        store->processes++;
    for (bwl_engine_lock *lock = bwl_redis_first_lock(store); lock != NULL; lock = next) {
        bwl_host_pin(lock);
        if (bwl_hold_is_held(&lock->hold) && bwl_redis_is_home(store, lock)) {
            if (!is_sent_on && is_lost(store, lock))
                bwl_redis_give_up(store, lock);
            else
                verify(store, lock);
        }
        next = bwl_redis_next_lock(lock);
        bwl_host_unpin(lock);
    }
    store->is_another = false;
}

void bwl_redis_verified(const bwl_redis_open_question *question, const bwl_event *ev)
{
    bwl_engine_lock *lock    = question->lock;
    bool             is_same = strcmp(lock->hold.claim.token, question->token) == 0;

    ((bwl_redis_part *)lock->part)->is_sought = false;
    if (ev->kind != BWL_REPLY || ev->answer != BWL_NO || !is_same)
        return; /* it is ours; or nobody knows, and it is asked again: at the latest to renew it */
    if (bwl_hold_is_held(&lock->hold)) {
        bwl_host_set_error(lock, "the server does not have it any more");
        bwl_host_revoke(lock);
        bwl_redis_ask_breaker(bwl_redis_store_for(lock, question->node), lock, question->token);
    }
}
