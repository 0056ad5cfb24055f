/*
 * redirect.c -- of a cluster: a question that this node does not answer, and where it goes
 * then.  See cluster.h.
 */
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/slots.h"
#include "runtime/local_groups.h"

#include <string.h>

static bwl_redis_part *part_of(const bwl_lock *lock)
{
    return lock->part;
}

/* ---- being sent on --------------------------------------------------------------------------- */

bool bwl_redis_is_sent_on(const bwl_redis_store *store, const bwl_redis_open_question *question,
                          const char *bytes, size_t size)
{
    bwl_redirect redirect;

    return store->cluster != NULL && bytes != NULL &&
           (bwl_cluster_read_redirect(&redirect, bytes, size) ||
            (bwl_redis_may_wait(store, question) && bwl_redis_error_is(bytes, size, "TRYAGAIN")));
}

bool bwl_redis_is_wanted(const bwl_redis_open_question *q)
{
    return q->looker != NULL || q->verifies || q->tag == q->lock->latest_tag;
}

static bool may_hop(const bwl_redis_store *store, bwl_redis_open_question *q)
{
    bwl_ms now = store->client->latest;

    if (q->hops_until == 0)
        q->hops_until = bwl_later(now, store->client->settings.answer_ms);
    if (q->hops == BWL_CLUSTER_HOPS_MAX || now >= q->hops_until || !bwl_redis_is_wanted(q) ||
        store->client->closing)
        return false;
    q->hops++;
    return true;
}

/* In a cluster each question goes out alone, and one frame answers it: nothing of an answer is
 * known yet. */
bool bwl_redis_put_anew(bwl_redis_store *store, const bwl_redis_open_question *question)
{
    bwl_redis_open_question q = *question;

    assert(q.heard == 0);
    assert(q.known == 0);
    assert(q.together == 0);
    q.written   = false;
    q.prepares  = false;
    q.read_late = false;
    q.awaits_ok = false;
    q.failed    = 0;
    return bwl_redis_put(store, &q);
}

static bool put_at(bwl_cluster *cluster, unsigned place, const bwl_redis_open_question *q)
{
    bwl_redis_store *store = place != BWL_NOBODY ? bwl_redis_store_at(cluster, place) : NULL;

    return store != NULL && bwl_redis_put_anew(store, q);
}

/* It moves, and some of its keys are here and some are there. */
static bool wait_till_moved(bwl_redis_store *store, const bwl_redis_open_question *q)
{
    if (bwl_redis_may_wait(store, q) && bwl_redis_put_aside(store, q))
        return true;
    bwl_lock_says(q->lock, "%s: the lock's slot is being moved to another node (TRYAGAIN)",
                  store->where);
    return false;
}

/* The caller waits no longer, and the last attempt to reach that node has failed: there is no time
 * to try once more whether it comes back. */
static bool is_too_late(bwl_cluster *cluster, unsigned place, const bwl_lock *lock)
{
    return bwl_hold_is_sought(&lock->hold) && lock->hold.give_up_at <= lock->client->latest &&
           bwl_redis_is_suspect(bwl_redis_known_at(cluster, place));
}

static void say_where(bwl_redis_store *store, bwl_lock *lock, unsigned place,
                      const bwl_primary *there)
{
    const bwl_redis_store *other = bwl_redis_known_at(store->cluster, place);

    if (bwl_redis_is_suspect(other))
        bwl_lock_says(lock,
                      "%s sends to %.60s:%u (cluster-announce-ip, cluster-announce-hostname), "
                      "which cannot be reached from here: %.120s",
                      store->where, there->host, (unsigned)there->port, other->broke.text);
    else
        bwl_lock_says(lock, "%s sends to %.60s:%u, and that one on: they are at odds", store->where,
                      there->host, (unsigned)there->port);
}

static bool follow(bwl_redis_store *store, const bwl_redis_open_question *question,
                   const char *bytes, size_t size)
{
    bwl_cluster            *cluster = store->cluster;
    bwl_redis_open_question q       = *question;
    bwl_redirect            redirect;

    if (!bwl_cluster_read_redirect(&redirect, bytes, size) ||
        (redirect.kind == BWL_REDIRECT_ASK && bwl_queue_is(q.word) && q.word != REDIS_QUEUE_EXTEND))
        return wait_till_moved(store, &q);
    unsigned place = bwl_redis_place_said(store, &redirect.to);
    if (redirect.kind == BWL_REDIRECT_MOVED)
        bwl_redis_slot_forget(store, redirect.slot);
    if (redirect.kind == BWL_REDIRECT_MOVED && place != BWL_NOBODY)
        cluster->owners[redirect.slot] = (uint16_t)place;
    if (place == BWL_NOBODY || is_too_late(cluster, place, q.lock) || !may_hop(store, &q)) {
        say_where(store, q.lock, place, &redirect.to);
        return false;
    }
    q.goes_asking = redirect.kind == BWL_REDIRECT_ASK;
    if (redirect.kind == BWL_REDIRECT_MOVED) {
        bwl_log_add(store->client->settings.log, BWL_LOG_INFO,
                    "redirected: %s sends %s to %.60s:%u", store->where, q.lock->name,
                    redirect.to.host, (unsigned)redirect.to.port);
        part_of(q.lock)->home = bwl_redis_store_at(cluster, place);
        if (q.verifies) /* the last renewal may be what the other one lacks */
            q.lease_ms = q.lock->hold.claim.lease_ms;
    }
    return put_at(cluster, place, &q);
}

void bwl_redis_sent_on(bwl_redis_store *store, const char *bytes, size_t size)
{
    bwl_redis_open_question q = bwl_redis_take_first(store);

    store->has_answered = true;
    store->failures     = 0;
    if (follow(store, &q, bytes, size))
        bwl_lock_unpin(q.lock); /* putting has pinned it once more */
    else
        bwl_redis_settle(&q, &(bwl_event){ .kind = BWL_REPLY, .answer = BWL_LATER });
}

bool bwl_redis_ask_another(bwl_redis_store *store, const bwl_redis_open_question *question)
{
    bwl_redis_open_question q = *question;

    if (store->cluster == NULL || !may_hop(store, &q))
        return false;
    q.goes_asking  = false;
    unsigned place = bwl_redis_adviser(store->cluster, store->place);
    return place != BWL_NOBODY && put_at(store->cluster, place, &q);
}

void bwl_redis_seek_held(bwl_redis_store *store)
{
    bwl_lock *next;

    if (store->cluster == NULL || !bwl_redis_is_suspect(store))
        return;
    for (bwl_lock *lock = store->client->locks; lock != NULL; lock = next) {
        bwl_redis_open_question question = { .lock     = lock,
                                             .verifies = true,
                                             .word     = bwl_redis_extension(store),
                                             .lease_ms = lock->hold.claim.lease_ms };
        bwl_lock_pin(lock);
        if (!bwl_lock_is_seat(lock) && bwl_redis_is_home(store, lock) &&
            lock->hold.state == BWL_HOLD_HELD && !part_of(lock)->is_sought) {
            memcpy(question.token, lock->hold.claim.token, sizeof question.token);
            part_of(lock)->is_sought = true; /* which may be over when this has been asked */
            if (!bwl_redis_ask_another(store, &question))
                part_of(lock)->is_sought = false; /* at the next attempt */
        }
        next = lock->next;
        bwl_lock_unpin(lock);
    }
}
