/*
 * replication_barrier.c -- do the replicas have it?  One question to them at a time, for all who
 * want to know.  See session.h, protocol/replicated.c.
 *
 * WAIT is about all that the connection has written before it, and while the server waits it reads
 * nothing more from that connection.  So what others ask there may stand still for as long as one
 * of them takes, and two of them one behind the other would be twice that.  Who wants to know while
 * one is out is kept until it has been answered; then all who were kept have one between them.
 *
 *      asked --none is out--> goes out --answered--> all that were kept go out as one
 *              |--one is out--> kept
 *              `--no connection: UNSENT.  On the next one, nothing would have been written
 */
#include "engine/redis/session/replication_barrier.h"

#include <stdio.h>

enum {
    TOGETHER_MAX = 250, /* what bwl_redis_open_question can count                               */
    ROOM         = 128,
};

static bwl_redis_part *part_of(const bwl_engine_lock *lock)
{
    return lock->part;
}

bool bwl_redis_is_wait(const bwl_redis_open_question *q)
{
    return q->word == REDIS_REPLICATED;
}

/* ---- who goes out, and when ------------------------------------------------------------------ */

static void keep(bwl_redis_store *store, const bwl_redis_open_question *q)
{
    bwl_engine_lock *lock = q->lock;

    bwl_host_pin(lock);
    store->client->pending++;
    part_of(lock)->kept_tag  = q->tag;
    part_of(lock)->next_kept = NULL;
    if (store->unasked != NULL)
        part_of(store->unasked_last)->next_kept = lock;
    else
        store->unasked = lock;
    store->unasked_last = lock;
}

static void answer_unsent(const bwl_redis_store *store, bwl_engine_lock *lock, uint32_t tag)
{
    bwl_host_set_error(lock, "the connection to %s broke", store->where);
    bwl_host_event(lock, (bwl_event){ .kind = BWL_REPLY, .tag = tag, .answer = BWL_UNSENT });
}

bool bwl_redis_wait_admits(bwl_redis_store *store, const bwl_redis_open_question *q)
{
    if (!bwl_redis_is_wait(q))
        return true;
    if (store->phase != BWL_REDIS_READY) {
        bwl_host_pin(q->lock);
        answer_unsent(store, q->lock, q->tag);
        bwl_host_unpin(q->lock);
        return false;
    }
    if (store->waits_out > 0) {
        keep(store, q);
        return false;
    }
    store->waits_out = 1;
    return true;
}

/* Behind the others in the ring, to be written with them. */
static void ask_kept(bwl_redis_store *store, bwl_engine_lock *lock,
                     const bwl_redis_open_question *like)
{
    bwl_redis_open_question q = *like;

    q.lock = lock;
    q.tag  = part_of(lock)->kept_tag;
    if (bwl_redis_append(store, &q))
        store->waits_out++;
    else
        answer_unsent(store, lock, q.tag);
    bwl_host_unpin(lock);
}

void bwl_redis_wait_over(bwl_redis_store *store, const bwl_redis_open_question *over)
{
    bwl_redis_open_question like = { .word     = REDIS_REPLICATED,
                                     .stamp    = over->stamp,
                                     .lease_ms = over->lease_ms };

    if (store->waits_out == 0 || --store->waits_out > 0)
        return; /* the connection has ended with the others; or some of them are to be told yet */
    bwl_engine_lock *next, *lock = bwl_redis_wait_broken(store);
    for (; lock != NULL; lock = next) {
        next = part_of(lock)->next_kept;
        store->client->pending--;
        ask_kept(store, lock, &like);
    }
}

bwl_engine_lock *bwl_redis_wait_broken(bwl_redis_store *store)
{
    bwl_engine_lock *kept = store->unasked;

    store->waits_out    = 0;
    store->unasked      = NULL;
    store->unasked_last = NULL;
    return kept;
}

/* ---- several as one -------------------------------------------------------------------------- */

size_t bwl_redis_wait_size(const bwl_redis_store *store, size_t nth)
{
    size_t size = 1;

    while (size < TOGETHER_MAX && nth + size < store->questions_count &&
           bwl_redis_is_wait(bwl_redis_nth(store, nth + size)))
        size++;
    return size;
}

static bwl_redis_question words_of(const bwl_redis_open_question *q)
{
    return (bwl_redis_question){ .word = q->word, .stamp = q->stamp, .lease_ms = q->lease_ms };
}

bool bwl_redis_write_wait(bwl_redis_store *store, size_t nth, size_t size)
{
    bwl_redis_question question = words_of(bwl_redis_nth(store, nth));
    bwl_resp_writer    writer;

    assert(size <= TOGETHER_MAX);
    if (!bwl_resp_stream_reserve(&store->conn, ROOM, &writer))
        return false;
    bwl_redis_write(&writer, &question);
    bwl_redis_go_together(store, nth, size);
    bwl_resp_stream_commit(&store->conn, &writer);
    return true;
}

bwl_redis_verdict bwl_redis_wait_heard(bwl_redis_store *store, const char *bytes, size_t size)
{
    bwl_redis_question question = words_of(bwl_redis_nth(store, 0));
    size_t             together = bwl_redis_nth(store, 0)->together;
    bwl_redis_reply    reply;

    switch (bwl_redis_read(&question, 0, bytes, size, &reply)) {
    case BWL_REDIS_STRANGE: return BWL_REDIS_STRANGE;
    case BWL_REDIS_NOSCRIPT: reply.answer = BWL_REFUSED; break; /* it was no script             */
    case BWL_REDIS_ANSWER: break;
    }
    for (size_t i = 0; i < together; i++)
        bwl_redis_nth(store, i)->known = reply.answer;
    return BWL_REDIS_ANSWER;
}

/* ---- too few --------------------------------------------------------------------------------- */

void bwl_redis_wait_says_why(const bwl_redis_store *store, const bwl_redis_open_question *q,
                             const char *bytes, size_t size)
{
    bwl_redis_question question = words_of(q);
    bwl_redis_reply    reply;

    (void)bwl_redis_read(&question, 0, bytes, size,
                         &reply); /* it was read before: it is a number */
    bwl_host_set_error(q->lock,
                       "%s: %llu of the replicas had it in time, and sync=%lld asks for more: "
                       "INFO replication there says which it has",
                       store->where, (unsigned long long)reply.number, (long long)q->stamp);
}
