/*
 * redis_ask.c -- questions out, answers in.  See redis_store.h.
 *
 * A server answers in the order in which it was asked: the answer that comes belongs to the oldest
 * question that was written.  When the connection breaks, a question none of whose bytes were
 * handed to the kernel was surely not carried out (UNSENT); of every other one nobody knows (DOWN).
 *
 * The clock is looked at by whoever enters this, for a call or a dispatch; what follows from it
 * happens at client->latest.
 */
#include "engine/redis_store.h"
#include "engine/fault.h"
#include "engine/unawaited.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum {
    LAST_ROOM = 64,   /* for CLIENT REPLY OFF                                              */
    IDLE_MS   = 2,    /* without a word from the server before we look whether it has gone  */
    BATCH     = 8192, /* less than a server reads at once                                  */
};

static void work(bwl_redis_store *store);

/* ---- what becomes of a question -------------------------------------------------------------- */

/* The question is not in the ring any more. */
static void settle(const bwl_redis_open_question *q, const bwl_event *ev)
{
    if (q->verifies) {
        bwl_redis_verified(q, ev);
    } else if (bwl_redis_breaks(q)) {
        bwl_redis_break_ended(q->lock->client->store, q, ev);
    } else if (q->looker != NULL) {
        q->looker->answer = ev->kind == BWL_DOWN ? BWL_UNSENT : ev->answer;
        bwl_lock_looked(q->lock);
    } else if (q->section != NULL) {
        bwl_redis_section_ended(q->lock->client->store, q, ev);
    } else {
        bwl_event copy = *ev;
        copy.tag       = q->tag;
        bwl_lock_event(q->lock, copy);
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
    uint64_t        handed_over = store->conn.handed_over;
    bool            listened    = store->phase == BWL_REDIS_READY && bwl_redis_listens(store);
    bool            in_doubt    = listened; /* what is said to its inbox would be lost         */
    bool            is_put_off  = store->phase == BWL_REDIS_GREETING && store->is_put_off;
    bwl_answer      not_asked   = refused ? BWL_REFUSED : is_put_off ? BWL_LATER : BWL_UNSENT;

    if (!atomic_exchange(&store->client->stands, false))
        atomic_store(&store->client->lame_until,
                     bwl_later(bwl_client_now(store->client), BWL_LAME_MS));
    bwl_conn_close(&store->conn);
    bwl_lock *kept = bwl_redis_watch_broken(store);
    if (!store->has_answered)
        bwl_redis_rest(store);
    store->has_answered    = false;
    store->phase           = BWL_REDIS_DOWN;
    store->questions       = NULL;
    store->questions_count = 0;
    store->questions_room  = 0;
    store->questions_first = 0;
    for (size_t i = 0; i < aside.questions_count; i++) {
        bwl_redis_open_question *q           = bwl_redis_nth(&aside, i);
        bool                     is_answered = q->known != 0 || q->asks_again;
        q->written = q->written && !is_answered && q->starts_at < handed_over;
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
        if (!q.verifies && q.known == 0)
            bwl_lock_says(q.lock, "%s", fault->text);
        settle(&q, q.known != 0 ? &known : q.written ? &down : &unsent);
    }
    free(aside.questions);
    bwl_redis_watch_settle(store, kept, not_asked);
    /* A hold must not find out at its next renewal only that the server has forgotten it. */
    if (store->phase == BWL_REDIS_DOWN && bwl_redis_holds_something(store))
        bwl_redis_connect(store);
    bwl_redis_set_timer(store);
}

/* What the frame says to the oldest question.  A value that no frame can hold has no bytes here. */
static bwl_redis_verdict read_frame(bwl_redis_store *store, bwl_redis_open_question *q,
                                    const char *bytes, size_t size, bwl_place *ret_place,
                                    bwl_event *ret_ev)
{
    bwl_redis_question question = {
        .word = q->word, .token = q->token, .stamp = q->stamp, .rules = q->lock->hold.claim.rules
    };
    bwl_redis_reply   reply   = { .answer = BWL_ALIEN };
    bwl_redis_verdict verdict = BWL_REDIS_ANSWER;

    if (q->introduces)
        return BWL_REDIS_ANSWER; /* whatever it is: nobody waits for it */
    if (q->looker != NULL && !bwl_redis_breaks(q))
        return bwl_redis_read_look(bytes, size, &ret_ev->answer, &q->looker->look);
    if (q->section != NULL)
        return bwl_redis_section_heard(store, q, bytes, size, &ret_ev->answer);
    if (bytes != NULL)
        verdict = bwl_redis_read(&question, q->heard, bytes, size, &reply);
    ret_ev->answer  = reply.answer;
    ret_ev->number  = reply.number;
    ret_ev->print   = reply.print;
    ret_ev->is_mine = reply.is_mine;
    *ret_place      = reply.place;
    if (reply.place.how != 0)
        ret_ev->place = ret_place;
    return verdict;
}

/* Of the frames that answer one question, one that is not the last has come: an error there is
 * the answer, but what comes behind it has to be heard. */
static void heard_part(bwl_redis_open_question *q, bwl_answer answer)
{
    q->heard++;
    if (q->failed == 0 && answer != BWL_YES)
        q->failed = answer;
}

/* How many frames answer it. */
static unsigned frames_of(const bwl_redis_open_question *q)
{
    if (q->section != NULL)
        return bwl_section_frames(q->section->question.word);
    return q->looker != NULL ? 1 : bwl_redis_frames(q->word);
}

static void says_why(bwl_redis_store *store, const bwl_redis_open_question *q, bwl_answer answer,
                     const char *bytes, size_t size)
{
    char text[160];

    if (q->verifies || q->section != NULL || bytes == NULL || answer == 0)
        return; /* 0: it is asked again by its text */
    if (answer != BWL_LATER && answer != BWL_REFUSED) {
        bwl_lock_says_nothing(q->lock);
        return;
    }
    bwl_redis_error_words(store, text, sizeof text, bytes, size);
    if (bwl_redis_lacks_a_right(text))
        bwl_redis_name_rights(store, text, sizeof text);
    bwl_lock_says(q->lock, "%s: %s", store->where, text);
}

static void answered_strangely(bwl_redis_store *store)
{
    bwl_fault fault;

    (void)bwl_fail(&fault, BWL_STATUS_REFUSED, "%s answers what was not asked", store->where);
    bwl_redis_break_off(store, &fault, false);
}

static void is_demoted(bwl_redis_store *store)
{
    bwl_fault fault;

    (void)bwl_fail(&fault, BWL_STATUS_UNREACHABLE, "%s is not the primary any more", store->where);
    bwl_redis_break_off(store, &fault, false);
}

static void ask_again(bwl_redis_store *store, bwl_redis_open_question q)
{
    bool wanted = q.looker != NULL || q.verifies || q.tag == q.lock->latest_tag;

    q.written    = false;
    q.read_late  = false;
    q.together   = 0;
    q.asks_again = false;
    if (!wanted || !bwl_redis_append(store, &q))
        settle(&q, &(bwl_event){ .kind = BWL_REPLY, .answer = BWL_UNSENT });
    else
        bwl_lock_unpin(q.lock); /* appending has pinned it once more */
}

/* Each is told its part before what comes next is read.  It may ask again then, or break off: so
 * what is told and what is not stands in the ring. */
static void settle_batch(bwl_redis_store *store)
{
    while (store->questions_count > 0 &&
           (bwl_redis_nth(store, 0)->known != 0 || bwl_redis_nth(store, 0)->asks_again)) {
        bwl_redis_open_question q = bwl_redis_take_first(store);
        if (q.asks_again)
            ask_again(store, q);
        else
            settle(&q, &(bwl_event){ .kind = BWL_REPLY, .answer = q.known });
    }
}

/* The frame belongs to the oldest question, and to others that went out with it. */
static void batch_answered(bwl_redis_store *store, const char *bytes, size_t size)
{
    if (bwl_redis_batch_heard(store, bytes, size) == BWL_REDIS_STRANGE) {
        answered_strangely(store);
        return;
    }
    store->has_answered = true;
    store->failures     = 0;
    for (size_t i = 0; i < bwl_redis_nth(store, 0)->together; i++)
        says_why(store, bwl_redis_nth(store, i), bwl_redis_nth(store, i)->known, bytes, size);
    bool demoted = bwl_redis_was_demoted(store, bytes, size);
    settle_batch(store);
    if (demoted && bwl_conn_is_open(&store->conn))
        is_demoted(store);
}

/* The frame belongs to the oldest question. */
static void answered(bwl_redis_store *store, const char *bytes, size_t size)
{
    bwl_redis_open_question *first = bwl_redis_nth(store, 0);
    bwl_place                place;
    bwl_event                ev = { .kind = BWL_REPLY };

    if (first->together > 0) {
        batch_answered(store, bytes, size);
        return;
    }
    bwl_redis_verdict verdict = read_frame(store, first, bytes, size, &place, &ev);
    if (verdict == BWL_REDIS_STRANGE) {
        answered_strangely(store);
        return;
    }
    says_why(store, first, ev.answer, first->failed == 0 ? bytes : NULL, size);
    if (first->heard + 1u < frames_of(first)) {
        heard_part(first, ev.answer);
        return;
    }
    bwl_redis_open_question q = bwl_redis_take_first(store);
    store->has_answered       = true;
    store->failures           = 0;
    if (q.failed != 0)
        ev.answer = q.failed;
    if (verdict == BWL_REDIS_NOSCRIPT && !q.by_text) {
        q.by_text = true;
        ask_again(store, q); /* it was not carried out; unless the machine has moved on */
        return;
    }
    if (verdict == BWL_REDIS_NOSCRIPT)
        ev.answer = BWL_REFUSED; /* it had the text, and does not know it still */
    if (ev.place != NULL)
        bwl_redis_placed(store, &q, ev.place);
    bwl_redis_batch_learns(&q, ev.answer);
    if (q.word == REDIS_WATCH_READ && (ev.answer == BWL_LATER || ev.answer == BWL_REFUSED))
        bwl_redis_watch_failed(store, &q);
    bool demoted = bwl_redis_was_demoted(store, bytes, size);
    settle(&q, &ev);
    if (demoted && bwl_conn_is_open(&store->conn))
        is_demoted(store);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Nobody will read answers.  A server that sends them to a closed socket stops there, and what
 * it has not read yet is never carried out. */
static bool write_reply_off(bwl_redis_store *store)
{
    bwl_resp_writer writer;

    if (store->reply_is_off)
        return true;
    store->lingers =
        bwl_redis_nth(store, 0)->written; /* those to what was asked before are on their way */
    if (!bwl_conn_reserve(&store->conn, LAST_ROOM, &writer))
        return false;
    bwl_resp_write_array(&writer, 3);
    bwl_resp_write_text(&writer, "CLIENT");
    bwl_resp_write_text(&writer, "REPLY");
    bwl_resp_write_text(&writer, "OFF");
    bwl_conn_commit(&store->conn, &writer);
    store->reply_is_off = true;
    return true;
}

static int write_questions(bwl_redis_store *store, bwl_fault *fault)
{
    bool   closing = store->client->closing;
    size_t first   = store->questions_count; /* that is not written: none before it is        */

    if (store->client->gathers && ++store->kept_back < BWL_BATCH_MAX)
        return BWL_OK; /* more is about to come that may go out with it */
    if (closing && !write_reply_off(store))
        return bwl_fail(fault, BWL_STATUS_NOMEM, "too much is waiting to be sent to %s",
                        store->where);
    while (first > 0 && !bwl_redis_nth(store, first - 1)->written)
        first--;
    for (size_t size, i = first; i < store->questions_count; i += size) {
        size       = bwl_redis_batch_size(store, i);
        bool wrote = size > 1 ? bwl_redis_write_batch(store, i, size)
                              : bwl_redis_write_question(store, bwl_redis_nth(store, i));
        if (!wrote)
            return bwl_fail(fault, BWL_STATUS_NOMEM, "too much is waiting to be sent to %s",
                            store->where);
    }
    store->kept_back = 0;
    if ((closing || store->client->gathers) && store->conn.out_size < BATCH)
        return BWL_OK; /* bwl_redis_close sends it, or who rings the alarms */
    if (!closing && store->client->called > 0)
        return BWL_OK; /* others are about to come, who may have more for the same packet */
    return bwl_conn_flush(&store->conn, fault);
}

/* ---- the way of a connection ----------------------------------------------------------------- */

/* May what comes next be somebody's value, as long as they like? */
static bool awaits_value(bwl_redis_store *store)
{
    if (store->phase != BWL_REDIS_READY || store->questions_count == 0)
        return false;
    const bwl_redis_open_question *first = bwl_redis_nth(store, 0);
    if (first->section != NULL)
        return first->written &&
               bwl_section_shows_value(first->section->question.word, first->heard);
    return first->written && first->looker == NULL && bwl_redis_shows_value(first->word) &&
           first->heard + 1u == bwl_redis_frames(first->word);
}

static void broke(bwl_redis_store *store, bwl_fault *fault)
{
    bool refused = bwl_redis_suspect(store, fault);

    bwl_redis_name_place(store, fault);
    bwl_redis_break_off(store, fault, refused);
}

/* Takes what has arrived, writes what is due.  A step may end in a fault, never in two. */
static void work(bwl_redis_store *store)
{
    const char *bytes;
    size_t      size;
    bwl_fault   fault  = { 0 };
    int         status = 1;

    while (bwl_conn_is_open(&store->conn) && status > 0) {
        store->conn.passes_long = awaits_value(store);
        status                  = bwl_conn_frame(&store->conn, &bytes, &size, &fault);
        if (status <= 0)
            break;
        if (bytes != NULL && bytes[0] == '>') {
            bwl_redis_pushed(store, bytes, size);
            continue;
        }
        if (store->phase == BWL_REDIS_GREETING) {
            int greeted = bwl_redis_greeted(store, bytes, size, &fault);
            if (greeted < 0) {
                if (store->is_put_off && store->is_another)
                    bwl_redis_vouch(store); /* it has said who it is, and may load for long */
                bwl_redis_break_off(store, &fault, greeted == BWL_STATUS_REFUSED);
                return;
            }
            if (store->greeting == BWL_GREET_DONE) {
                bwl_redis_vouch(store);
                bwl_redis_serves(store);
                store->phase = BWL_REDIS_READY;
                atomic_store(&store->client->stands, true);
            }
        } else if (store->questions_count > 0 && bwl_redis_nth(store, 0)->written) {
            answered(store, bytes, size);
        } else {
            status = bwl_fail(&fault, BWL_STATUS_REFUSED, "speaks without having been asked");
        }
    }
    if (status == 0 && store->phase == BWL_REDIS_READY)
        status = write_questions(store, &fault);
    if (status < 0)
        broke(store, &fault);
}

void bwl_redis_heard(bwl_redis_store *store, int status, bwl_fault *fault)
{
    uint64_t opened = store->opened;

    work(store); /* also when it has just broken: what came before that counts */
    if (status < 0 && opened == store->opened && bwl_conn_is_open(&store->conn))
        broke(store, fault);
}

void bwl_redis_ready(bwl_source *source, uint32_t events)
{
    bwl_redis_store *store          = (bwl_redis_store *)(void *)source;
    bool             was_connecting = store->conn.connecting;
    bwl_fault        fault          = { 0 };

    if (!bwl_conn_is_open(&store->conn))
        return; /* an event of a connection that was closed meanwhile */
    store->heard_at = store->client->latest;
    int status      = bwl_conn_step(&store->conn, events, &fault);
    if (was_connecting && status < 0) {
        bwl_redis_not_connected(store, &fault);
    } else {
        if (was_connecting && !store->conn.connecting)
            status = bwl_redis_greet(store, &fault);
        bwl_redis_heard(store, status, &fault);
    }
    bwl_redis_set_timer(store);
}

bool bwl_redis_put(bwl_redis_store *store, const bwl_redis_open_question *question)
{
    bwl_fault fault = { 0 };
    bwl_ms    now   = store->client->latest;

    /* What came while nothing was asked must not be taken for the answer to this; and servers
     * close what is idle for long, which leaves nothing in doubt when it is seen before anything
     * is asked. */
    if (store->phase == BWL_REDIS_READY && store->questions_count == 0 &&
        now >= bwl_later(store->heard_at, IDLE_MS) && bwl_conn_has_unread(&store->conn))
        bwl_redis_ready(&store->conn.source, EPOLLIN);
    if (!bwl_redis_watch_admits(store, question))
        return true;
    if (!bwl_redis_append(store, question)) {
        bwl_redis_watch_failed(store, question);
        return false;
    }
    bwl_redis_watch_went(store, question);
    if (store->phase == BWL_REDIS_DOWN) {
        bwl_redis_connect(store);
    } else if (store->phase == BWL_REDIS_READY && write_questions(store, &fault) < 0) {
        bwl_redis_name_place(store, &fault);
        bwl_redis_break_off(store, &fault, false);
    }
    bwl_redis_set_timer(store);
    return true;
}

void bwl_redis_flush(bwl_client *client)
{
    bwl_redis_store *store = client->store;
    size_t           count = store->questions_count;
    bwl_fault        fault = { 0 };

    if (store->phase != BWL_REDIS_READY)
        return;
    bool kept   = count > 0 && !bwl_redis_nth(store, count - 1)->written;
    int  status = kept ? write_questions(store, &fault) : BWL_OK;
    if (status == BWL_OK && store->conn.out_size > 0)
        status = bwl_conn_flush(&store->conn, &fault);
    if (status < 0) {
        bwl_redis_name_place(store, &fault);
        bwl_redis_break_off(store, &fault, false);
    }
    if (kept)
        bwl_redis_set_timer(store);
}
