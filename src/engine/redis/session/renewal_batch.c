/*
 * renewal_batch.c -- many renewals as one call of a script.  See session.h,
 * engine/redis/wire/batch.h.
 *
 * Thousands of holds may be due at about the same time.  Their questions stand in the ring one
 * behind the other, each for itself; those that may share a call are written as one, and the one
 * answer is taken apart again, so that nobody above knows of it.
 *
 * One that fails must not fail the others.  What the script finds of one key is that one's answer.
 * What makes the server refuse the call as a whole may be a matter of a single key, that an ACL
 * forbids: then each is asked alone, at once, and who is refused alone stays alone until he is not
 * refused any more.  A second refusal in a row is taken to mean the script itself, and there are no
 * batches on this connection any more.
 */
#include "engine/redis/session/session.h"
#include "engine/redis/session/replication_barrier.h"

#include <string.h>

enum { REFUSALS_MAX = 2 };

static bwl_redis_part *part_of(const bwl_redis_open_question *q)
{
    return q->lock->part;
}

/* ---- who goes together ----------------------------------------------------------------------- */

/* May it be one of several at all? */
static bool may_share(const bwl_redis_open_question *q)
{
    return bwl_batch_takes(q->word) && q->looker == NULL && q->section == NULL && !q->introduces &&
           !part_of(q)->is_alone;
}

/* May these two be of one call?  Their keys must lie on the same server: there is one, and a store
 * for it.  (In a cluster they would have to lie in one slot: there each goes for itself.) */
static bool are_alike(const bwl_redis_open_question *a, const bwl_redis_open_question *b)
{
    return a->word == b->word && a->lease_ms == b->lease_ms;
}

size_t bwl_redis_batch_size(const bwl_redis_store *store, size_t nth)
{
    const bwl_redis_open_question *first = bwl_redis_nth(store, nth);
    size_t                         size  = 1;

    if (bwl_redis_is_wait(first))
        return bwl_redis_wait_size(store, nth);
    if (store->client->closing || store->cluster != NULL ||
        store->batches_refused >= REFUSALS_MAX || !may_share(first))
        return 1;
    while (size < BWL_BATCH_MAX && nth + size < store->questions_count) {
        const bwl_redis_open_question *next = bwl_redis_nth(store, nth + size);
        if (!may_share(next) || !are_alike(first, next))
            break;
        size++;
    }
    return size < BWL_BATCH_MIN ? 1 : size;
}

/* ---- the question ---------------------------------------------------------------------------- */

static void write_value(const bwl_redis_store *store, const bwl_redis_open_question *q,
                        bwl_resp_writer *writer)
{
    bwl_queue_self self; /* an extension says of us the session and nothing else                */

    memcpy(self.session, store->session, sizeof self.session);
    bwl_batch_write_value(writer, &(bwl_redis_question){
                                      .word  = q->word,
                                      .token = q->token,
                                      .stamp = q->stamp,
                                      .rules = q->lock->hold.claim.rules,
                                      .self  = &self,
                                  });
}

static size_t write_key(char ret_key[BWL_KEY_MAX], const bwl_redis_store *store,
                        const bwl_engine_lock *lock)
{
    return bwl_key_write(ret_key, store->key_template, lock->name, lock->name_size);
}

/* Is one of them to be asked by the script's text?  Then all are. */
static bool is_by_text(const bwl_redis_store *store, size_t nth, size_t size)
{
    for (size_t i = nth; i < nth + size; i++)
        if (bwl_redis_nth(store, i)->by_text)
            return true;
    return false;
}

static void write_call(bwl_redis_store *store, size_t nth, size_t size, bwl_resp_writer *writer)
{
    char key[BWL_KEY_MAX];

    bwl_batch_write_begin(writer, (unsigned)size, is_by_text(store, nth, size));
    for (size_t i = nth; i < nth + size; i++) {
        size_t key_size = write_key(key, store, bwl_redis_nth(store, i)->lock);
        bwl_batch_write_key(writer, key, key_size);
    }
    for (size_t i = nth; i < nth + size; i++)
        write_value(store, bwl_redis_nth(store, i), writer);
    bwl_batch_write_lease(writer, bwl_redis_nth(store, nth)->lease_ms);
}

bool bwl_redis_write_batch(bwl_redis_store *store, size_t nth, size_t size)
{
    char            key[BWL_KEY_MAX];
    size_t          keys_size = 0;
    bwl_resp_writer writer;

    if (bwl_redis_is_wait(bwl_redis_nth(store, nth)))
        return bwl_redis_write_wait(store, nth, size);
    assert(size >= BWL_BATCH_MIN);
    assert(size <= BWL_BATCH_MAX);
    for (size_t i = nth; i < nth + size; i++)
        keys_size += write_key(key, store, bwl_redis_nth(store, i)->lock);
    if (!bwl_resp_stream_reserve(&store->conn, bwl_batch_room((unsigned)size, keys_size), &writer))
        return false;
    write_call(store, nth, size, &writer);
    bwl_redis_go_together(store, nth, size);
    bwl_resp_stream_commit(&store->conn, &writer);
    return true;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void heard_each(bwl_redis_store *store, const bwl_batch_reply *reply)
{
    size_t size = bwl_redis_nth(store, 0)->together;

    for (size_t i = 0; i < size; i++) {
        bwl_redis_open_question *q = bwl_redis_nth(store, i);
        q->known                   = reply->answers[i];
        q->asks_again              = q->known == 0;
        part_of(q)->is_alone       = q->asks_again;
    }
}

static void all_are_told(bwl_redis_store *store, bwl_answer answer)
{
    size_t size = bwl_redis_nth(store, 0)->together;

    for (size_t i = 0; i < size; i++)
        bwl_redis_nth(store, i)->known = answer;
}

static void all_ask_again(bwl_redis_store *store, bool by_text)
{
    size_t size = bwl_redis_nth(store, 0)->together;

    store->batches_refused += by_text ? 0 : 1;
    for (size_t i = 0; i < size; i++) {
        bwl_redis_open_question *q = bwl_redis_nth(store, i);
        q->asks_again              = true;
        q->by_text                 = by_text;
        part_of(q)->is_alone       = !by_text;
    }
}

bwl_redis_verdict bwl_redis_batch_heard(bwl_redis_store *store, const char *bytes, size_t size)
{
    const bwl_redis_open_question *first = bwl_redis_nth(store, 0);
    bwl_batch_reply                reply;

    if (bwl_redis_is_wait(first))
        return bwl_redis_wait_heard(store, bytes, size);
    assert(first->together >= BWL_BATCH_MIN);
    switch (bwl_batch_read(first->together, bytes, size, &reply)) {
    case BWL_BATCH_EACH:
        store->batches_refused = 0;
        heard_each(store, &reply);
        return BWL_REDIS_ANSWER;
    case BWL_BATCH_LATER: all_are_told(store, BWL_LATER); return BWL_REDIS_ANSWER;
    case BWL_BATCH_ALONE: all_ask_again(store, false); return BWL_REDIS_ANSWER;
    case BWL_BATCH_NOSCRIPT: /* if it had the text, and does not know it still: alone */
        all_ask_again(store, !is_by_text(store, 0, first->together));
        return BWL_REDIS_ANSWER;
    case BWL_BATCH_STRANGE: return BWL_REDIS_STRANGE;
    }
    bwl_unreachable("a verdict outside of its enum");
}

void bwl_redis_batch_learns(const bwl_redis_open_question *q, bwl_answer answer)
{
    if (bwl_batch_takes(q->word) && (answer == BWL_YES || answer == BWL_REFUSED))
        part_of(q)->is_alone = answer == BWL_REFUSED;
}
