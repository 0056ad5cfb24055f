/*
 * transaction.c -- one section between WATCH and EXEC at a time.  See session.h.
 *
 * WATCH is a state of the connection, and one EXEC ends what everybody has watched there.  So a
 * WATCH_READ opens a section for its lock; that of another lock is kept until the section has
 * ended; all other questions pass.  A section is over as soon as its last question stands in the
 * line to the server: what comes behind it there is carried out after it.
 *
 *      WATCH_READ --goes out--> watcher --answered--> UNWATCH or DELETE_WATCHED goes out --> next
 *                                  |--answered: shows nothing--------------------------> next
 *                                  `--the connection ends: all of it, and those kept: UNSENT
 *
 * The last question of a section that ended with its connection must not go out on the next one:
 * there nothing is watched, and MULTI, DEL, EXEC would delete whatever the key is by then.
 */
#include "engine/redis/session/session.h"

static bwl_redis_part *part_of(const bwl_engine_lock *lock)
{
    return lock->part;
}

static bool ends_section(bwl_redis_word word)
{
    return word == REDIS_UNWATCH || word == REDIS_DELETE_WATCHED;
}

static bwl_redis_open_question question_of(bwl_engine_lock *lock)
{
    return bwl_redis_question_of(
        lock, &(bwl_ask){ .tag = part_of(lock)->kept_tag, .word = REDIS_WATCH_READ });
}

/* ---- keeping --------------------------------------------------------------------------------- */

static void keep(bwl_redis_store *store, const bwl_redis_open_question *question)
{
    bwl_engine_lock *lock = question->lock;

    bwl_host_pin(lock);
    store->client->pending++;
    part_of(lock)->kept_tag  = question->tag;
    part_of(lock)->next_kept = NULL;
    if (store->kept_last != NULL)
        part_of(store->kept_last)->next_kept = lock;
    else
        store->kept_first = lock;
    store->kept_last = lock;
}

static bwl_engine_lock *take_first(bwl_redis_store *store)
{
    bwl_engine_lock *lock = store->kept_first;

    store->kept_first = part_of(lock)->next_kept;
    if (store->kept_first == NULL)
        store->kept_last = NULL;
    store->client->pending--;
    return lock;
}

static void answer_unsent(bwl_engine_lock *lock, uint32_t tag, bwl_answer answer)
{
    bwl_host_event(lock, (bwl_event){ .kind = BWL_REPLY, .tag = tag, .answer = answer });
}

/* The section is over: the next one, if there is one. */
static void open_next(bwl_redis_store *store)
{
    store->watcher = NULL;
    if (store->kept_first == NULL)
        return;
    bwl_engine_lock        *lock     = take_first(store);
    bwl_redis_open_question question = question_of(lock);
    if (!bwl_redis_put(store, &question)) {
        bwl_host_set_error(lock, "out of memory");
        answer_unsent(lock, question.tag, BWL_UNSENT);
    }
    bwl_host_unpin(lock);
}

/* ---- the way of a section -------------------------------------------------------------------- */

bool bwl_redis_watch_admits(bwl_redis_store *store, const bwl_redis_open_question *question)
{
    bool is_first = question->word == REDIS_WATCH_READ;

    if (question->section != NULL)
        return bwl_redis_section_admits(store, question);
    if (question->looker != NULL || question->verifies ||
        (!is_first && !ends_section(question->word)))
        return true;
    if (is_first && store->watcher == NULL) {
        store->watcher = question->lock;
        return true;
    }
    if (is_first) {
        keep(store, question);
        return false;
    }
    if (store->watcher == question->lock && store->phase == BWL_REDIS_READY)
        return true;
    bwl_host_pin(question->lock);
    bwl_host_set_error(question->lock, "the connection to %s broke", store->where);
    answer_unsent(question->lock, question->tag, BWL_UNSENT);
    bwl_host_unpin(question->lock);
    return false;
}

void bwl_redis_watch_went(bwl_redis_store *store, const bwl_redis_open_question *question)
{
    if (question->looker == NULL && !question->verifies && ends_section(question->word) &&
        store->watcher == question->lock)
        open_next(store);
}

void bwl_redis_watch_failed(bwl_redis_store *store, const bwl_redis_open_question *question)
{
    if (store->watcher == question->lock)
        open_next(store);
}

/* ---- when the connection ends ---------------------------------------------------------------- */

bwl_engine_lock *bwl_redis_watch_broken(bwl_redis_store *store)
{
    bwl_engine_lock *kept = store->kept_first;

    store->watcher    = NULL;
    store->kept_first = NULL;
    store->kept_last  = NULL;
    return kept;
}

void bwl_redis_watch_settle(bwl_redis_store *store, bwl_engine_lock *kept, bwl_answer answer)
{
    while (kept != NULL) {
        bwl_engine_lock *lock = kept;
        kept                  = part_of(lock)->next_kept;
        store->client->pending--;
        answer_unsent(lock, part_of(lock)->kept_tag, answer);
        bwl_host_unpin(lock);
    }
}
