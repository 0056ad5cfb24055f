/*
 * complete.c -- what becomes of a question: it has its answer, or its connection has ended.
 * See session.h.
 */
#include "base/fault.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/quorum.h"
#include "engine/redis/note.h"
#include "engine/redis/session/replication_barrier.h"

#include <stdlib.h>
#include <string.h>

/* A hold that the server does not have any more may have been broken. */
static void tell(const bwl_redis_open_question *q, bwl_event ev)
{
    bwl_lock *lock     = q->lock;
    bool      was_held = q->word == REDIS_QUEUE_EXTEND && bwl_hold_is_held(&lock->hold);
    char      token[BWL_TOKEN_MAX + 1];

    memcpy(token, lock->hold.claim.token, sizeof token);
    bwl_lock_event(lock, ev);
    if (was_held && ev.kind == BWL_REPLY && ev.answer == BWL_NO && !bwl_hold_is_held(&lock->hold))
        bwl_redis_ask_breaker(bwl_redis_store_for(lock, q->node), lock, token);
}

/* The question is not in the ring any more. */
void bwl_redis_settle(const bwl_redis_open_question *q, const bwl_event *ev)
{
    if (q->verifies) {
        bwl_redis_verified(q, ev);
    } else if (bwl_redis_breaks(q)) {
        bwl_redis_break_ended(q->lock->client->store, q, ev);
    } else if (q->looker != NULL) {
        q->looker->answer = ev->kind == BWL_DOWN ? BWL_UNSENT : ev->answer;
        if (q->lock->client->nodes == 1 || bwl_redis_has_seen(q->lock))
            bwl_lock_looked(q->lock);
    } else if (q->section != NULL) {
        bwl_redis_section_ended(q->lock->client->store, q, ev);
    } else {
        bwl_event copy = *ev;
        copy.tag       = q->tag;
        copy.node      = q->node;
        tell(q, copy);
    }
    bwl_lock_unpin(q->lock);
}

/* What happens to a question may make its machine ask again, and that may connect, and that may
 * fail at once and bring us here again: so the ring is put aside first. */
void bwl_redis_break_off(bwl_redis_store *store, const bwl_fault *fault, bool refused)
{
    if (!refused && bwl_redis_seek_on(store, fault))
        return;
    bwl_redis_store aside       = *store;
    uint64_t        handed_over = store->conn.stream.handed_over;
    bool            listened    = store->phase == BWL_REDIS_READY && bwl_redis_listens(store);
    bool            in_doubt    = listened; /* what is said to its inbox would be lost         */
    bool            is_put_off  = store->phase == BWL_REDIS_GREETING && store->is_put_off;
    bwl_answer      not_asked   = refused ? BWL_REFUSED : is_put_off ? BWL_LATER : BWL_UNSENT;

    if (!store->client->closing)
        bwl_log_add(store->client->settings.log, BWL_LOG_WARNING, "%s: %s",
                    store->phase == BWL_REDIS_READY ? "connection lost" : "not connected",
                    fault->text);
    bwl_stream_close(&store->conn.stream);
    bwl_lock *kept    = bwl_redis_watch_broken(store);
    bwl_lock *unasked = bwl_redis_wait_broken(store);
    if (!store->has_answered)
        bwl_redis_rest(store);
    store->broke        = *fault;
    store->has_answered = false;
    store->phase        = BWL_REDIS_DOWN;
    bwl_redis_stands_no_more(store);
    store->questions       = NULL;
    store->questions_count = 0;
    store->questions_room  = 0;
    store->questions_first = 0;
    for (size_t i = 0; i < aside.questions_count; i++) {
        bwl_redis_open_question *q           = bwl_redis_nth(&aside, i);
        bool                     is_answered = q->known != 0 || q->asks_again;
        q->written = q->written && !q->prepares && !is_answered && q->starts_at < handed_over;
        in_doubt   = in_doubt || q->written;
    }
    if (in_doubt)
        store->to_be_killed = aside.connection_id;
    store->connection_id = 0;
    if (listened)
        bwl_redis_inbox_ended(store);
    while (aside.questions_count > 0) {
        bwl_redis_open_question q      = bwl_redis_take_first(&aside);
        bwl_event               unsent = { .kind = BWL_REPLY, .answer = not_asked };
        bwl_event               down   = { .kind = BWL_DOWN };
        bwl_event               known  = { .kind = BWL_REPLY, .answer = q.known };
        if (q.known == 0 && !q.written && !refused && bwl_redis_ask_another(store, &q)) {
            bwl_lock_unpin(q.lock); /* putting has pinned it once more */
            continue;
        }
        if (!q.verifies && q.known == 0)
            bwl_lock_says_fault(q.lock, fault);
        bwl_redis_settle(&q, q.known != 0 ? &known : q.written ? &down : &unsent);
    }
    free(aside.questions);
    bwl_redis_watch_settle(store, kept, not_asked);
    bwl_redis_watch_settle(store, unasked, not_asked);
    /* A hold must not find out at its next renewal only that the server has forgotten it. */
    if (store->phase == BWL_REDIS_DOWN && bwl_redis_holds_something(store))
        bwl_redis_connect(store);
    bwl_redis_seek_held(store);
    bwl_redis_set_timer(store);
}

/* ---- taken back ------------------------------------------------------------------------------ */

/* Asked by the lock's machine, for what it wants now.  A question to the replicas is none: it is
 * only put where there is a connection. */
static bool is_unsent(const bwl_redis_open_question *q, const bwl_lock *lock)
{
    return q->lock == lock && q->tag == lock->latest_tag && !q->written && !q->verifies &&
           q->looker == NULL && q->section == NULL && !bwl_redis_is_wait(q);
}

static void says_why_unsent(const bwl_redis_store *store, bwl_lock *lock)
{
    if (store->broke.status != 0 && store->failures > 0)
        bwl_lock_says_fault(lock, &store->broke);
    else
        bwl_lock_says(lock, "%s: no answer within %lld ms", store->where,
                      (long long)store->client->settings.answer_ms);
}

/* All of them are taken out before the first is settled: that may ask for something new. */
void bwl_redis_withdraw(bwl_lock *lock)
{
    bwl_redis_open_question taken[BWL_NODES_MAX];
    unsigned                count  = 0;
    bwl_client             *client = lock->client;

    for (bwl_redis_store *store = client->store; store != NULL; store = store->next)
        for (size_t i = 0; i < store->questions_count && count < BWL_NODES_MAX;) {
            if (!is_unsent(bwl_redis_nth(store, i), lock)) {
                i++;
                continue;
            }
            taken[count++] = bwl_redis_take_unsent(store, i);
            says_why_unsent(store, lock);
            bwl_redis_watch_failed(store, &taken[count - 1]);
        }
    for (unsigned i = 0; i < count; i++)
        bwl_redis_settle(&taken[i], &(bwl_event){ .kind = BWL_REPLY, .answer = BWL_UNSENT });
    if (count > 0)
        bwl_redis_set_timer(client->store);
}
