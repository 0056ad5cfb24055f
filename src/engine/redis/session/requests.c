/*
 * requests.c -- questions out, answers in.  See session.h.
 *
 * A server answers in the order in which it was asked: the answer that comes belongs to the oldest
 * question that was written.  When the connection breaks, a question none of whose bytes were
 * handed to the kernel was surely not carried out (UNSENT); of every other one nobody knows (DOWN).
 *
 * The clock is looked at by whoever enters this, for a call or a dispatch; what follows from it
 * happens at client->latest.
 */
#include "engine/redis/note.h"
#include "engine/redis/session/session.h"
#include "engine/redis/wire/section.h"
#include "runtime/loop.h"
#include "base/fault.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/slots.h"
#include "engine/redis/session/replication_barrier.h"
#include "runtime/background_release.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum {
    LAST_ROOM   = 64,   /* for CLIENT REPLY OFF                                              */
    IDLE_MS     = 2,    /* without a word from the server before we look whether it has gone  */
    BATCH       = 8192, /* less than a server reads at once                                  */
    HAS_TIME_MS = 100,  /* left of what is held: a millisecond does not matter then            */
};

static void work(bwl_redis_store *store);

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

    if (q->asks_breaker)
        bwl_redis_read_breaker(q, bytes, size);
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

void bwl_redis_says_why(bwl_redis_store *store, const bwl_redis_open_question *q, bwl_answer answer,
                        const char *bytes, size_t size)
{
    char      text[160];
    char      code[BOWLINE_SERVER_CODE_MAX];
    bwl_fault fault;

    if (q->verifies || q->section != NULL || bytes == NULL || answer == 0)
        return; /* 0: it is asked again by its text */
    if (bwl_redis_is_wait(q) && answer == BWL_NO) {
        bwl_redis_wait_says_why(store, q, bytes, size);
        return;
    }
    if (answer != BWL_LATER && answer != BWL_REFUSED) {
        if (store->client->nodes == 1) /* of several, another one may have said why it does not */
            bwl_lock_says_nothing(q->lock);
        return;
    }
    bwl_redis_error_words(store, text, sizeof text, bytes, size);
    bwl_redis_error_code(code, text);
    bwl_redis_name_cluster(store, text, sizeof text, bytes, size);
    if (bwl_redis_lacks_a_right(text)) { /* an ERR, where a script may not run a command */
        bwl_redis_name_rights(store, text, sizeof text);
        (void)snprintf(code, sizeof code, "NOPERM");
    } else if (bwl_redis_error_is(bytes, size, "NOPERM"))
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), ": man 7 bowline, RIGHTS");
    (void)bwl_fail(&fault, BWL_STATUS_REFUSED, "%s: %s", store->where, text);
    memcpy(fault.server_code, code, sizeof code);
    bwl_lock_says_fault(q->lock, &fault);
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

/* Where it would come now its undoing is before it: the other servers have decided against it. */
static bool is_taken_back(const bwl_redis_store *store, const bwl_redis_open_question *q)
{
    for (size_t i = 0; i < store->questions_count; i++) {
        const bwl_redis_open_question *later = bwl_redis_nth(store, i);
        if (later->lock == q->lock && later->word == REDIS_DELETE_IF_MINE)
            return true;
    }
    return false;
}

/* To delete what is ours is harmless at any time, and what a lock on several servers asks for when
 * it has moved on already. */
static void ask_again(bwl_redis_store *store, bwl_redis_open_question q)
{
    bool wanted = q.looker != NULL || q.verifies || q.tag == q.lock->latest_tag ||
                  (q.word == REDIS_DELETE_IF_MINE && store->is_of_many);

    if (store->is_of_many && q.word != REDIS_DELETE_IF_MINE && is_taken_back(store, &q))
        wanted = false;

    q.written    = false;
    q.read_late  = false;
    q.together   = 0;
    q.asks_again = false;
    if (!wanted || !bwl_redis_append(store, &q))
        bwl_redis_settle(&q, &(bwl_event){ .kind = BWL_REPLY, .answer = BWL_UNSENT });
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
            bwl_redis_settle(&q, &(bwl_event){ .kind = BWL_REPLY, .answer = q.known });
        if (bwl_redis_is_wait(&q))
            bwl_redis_wait_over(store, &q);
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
        bwl_redis_says_why(store, bwl_redis_nth(store, i), bwl_redis_nth(store, i)->known, bytes,
                           size);
    bool demoted = bwl_redis_was_demoted(store, bytes, size);
    settle_batch(store);
    if (demoted && bwl_stream_is_open(&store->conn.stream))
        is_demoted(store);
}

/* The frame belongs to the oldest question. */
static void answered(bwl_redis_store *store, const char *bytes, size_t size)
{
    bwl_redis_open_question *first = bwl_redis_nth(store, 0);
    bwl_place                place;
    bwl_event                ev = { .kind = BWL_REPLY };

    if (first->awaits_ok) {
        first->awaits_ok = false;
        return; /* an error of ASKING is one of the question as well; one of another, no matter */
    }
    if (first->prepares) {
        bwl_redis_slot_answered(store, bytes, size);
        return;
    }
    if (bwl_redis_is_sent_on(store, first, bytes, size)) {
        bwl_redis_sent_on(store, bytes, size);
        return;
    }
    if (bwl_redis_slot_broke(store, bytes, size)) {
        bwl_redis_slot_ended(store);
        return;
    }
    if (first->together > 0) {
        batch_answered(store, bytes, size);
        return;
    }
    bwl_redis_verdict verdict = read_frame(store, first, bytes, size, &place, &ev);
    if (verdict == BWL_REDIS_STRANGE) {
        answered_strangely(store);
        return;
    }
    bwl_redis_says_why(store, first, ev.answer, first->failed == 0 ? bytes : NULL, size);
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
    if (ev.answer == BWL_YES || (ev.place != NULL && ev.place->how == BWL_HOW_QUEUED))
        bwl_redis_is_at(store, q.lock);
    if (ev.place != NULL)
        bwl_redis_placed(store, &q, ev.place);
    bwl_redis_batch_learns(&q, ev.answer);
    if (q.word == REDIS_WATCH_READ && (ev.answer == BWL_LATER || ev.answer == BWL_REFUSED))
        bwl_redis_watch_failed(store, &q);
    bool demoted = bwl_redis_was_demoted(store, bytes, size);
    bwl_redis_settle(&q, &ev);
    if (bwl_redis_is_wait(&q))
        bwl_redis_wait_over(store, &q);
    if (demoted && bwl_stream_is_open(&store->conn.stream))
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
    if (!bwl_resp_stream_reserve(&store->conn, LAST_ROOM, &writer))
        return false;
    bwl_resp_write_array(&writer, 3);
    bwl_resp_write_text(&writer, "CLIENT");
    bwl_resp_write_text(&writer, "REPLY");
    bwl_resp_write_text(&writer, "OFF");
    bwl_resp_stream_commit(&store->conn, &writer);
    store->reply_is_off = true;
    return true;
}

/* Is it an extension of what is held for a while yet, which nobody waits for: that of a claim which
 * whoever waited has just been told of? */
static bool has_time(const bwl_redis_open_question *q, bwl_ms now)
{
    return q->word == REDIS_QUEUE_EXTEND && !q->verifies && q->lock->operation == NULL &&
           bwl_hold_left(&q->lock->hold, now) >= HAS_TIME_MS;
}

/* All that is to be written has time: it goes out with what is asked next, a release perhaps, or by
 * the keeper; and whoever was told goes on meanwhile. */
static bool keeps_back(bwl_redis_store *store)
{
    bwl_client *client = store->client;
    size_t      first  = store->questions_count;

    while (first > 0 && !bwl_redis_nth(store, first - 1)->written)
        if (!has_time(bwl_redis_nth(store, --first), client->latest))
            return false;
    if (first == store->questions_count || !bwl_can_keep(client))
        return false;
    if (client->kept_since == 0)
        client->kept_since = client->latest;
    return true;
}

static int write_questions(bwl_redis_store *store, bwl_fault *fault)
{
    bool   closing = store->client->closing;
    size_t first   = store->questions_count; /* that is not written: none before it is        */

    if (store->client->gathers && ++store->kept_back < BWL_BATCH_MAX)
        return BWL_OK; /* more is about to come that may go out with it */
    if (closing && store->questions_count > 0 && !write_reply_off(store))
        return bwl_fail(fault, BWL_STATUS_NOMEM, "too much is waiting to be sent to %s",
                        store->where);
    while (first > 0 && !bwl_redis_nth(store, first - 1)->written)
        first--;
    bool waits = first > 0 && bwl_redis_slot_holds_up(store, bwl_redis_nth(store, first - 1));
    first -= first > 0 && !bwl_redis_nth(store, first - 1)->written;
    for (size_t size, i = first; !waits && i < store->questions_count; i += size) {
        size       = bwl_redis_batch_size(store, i);
        bool wrote = size > 1 ? bwl_redis_write_batch(store, i, size)
                              : bwl_redis_write_question(store, bwl_redis_nth(store, i));
        if (!wrote)
            return bwl_fail(fault, BWL_STATUS_NOMEM, "too much is waiting to be sent to %s",
                            store->where);
        if (bwl_redis_nth(store, i)->prepares)
            break; /* and what is behind it waits until it is written itself */
    }
    store->kept_back = 0;
    if ((closing || store->client->gathers) && store->conn.stream.out_size < BATCH)
        return BWL_OK; /* bwl_redis_close sends it, or who rings the alarms */
    if (!closing && store->client->called > 0)
        return BWL_OK; /* others are about to come, who may have more for the same packet */
    return bwl_stream_flush(&store->conn.stream, fault);
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
    bool refused = bwl_redis_suspect(store, false, fault);

    bwl_redis_map_broke(store);
    bwl_redis_name_place(store, fault);
    if (refused && store->tls == NULL && bwl_redis_seek_on(store, fault))
        return; /* another sentinel may name another server */
    bwl_redis_break_off(store, fault, refused);
}

/* Takes what has arrived, writes what is due.  A step may end in a fault, never in two. */
static void work(bwl_redis_store *store)
{
    const char *bytes;
    size_t      size;
    bwl_fault   fault  = { 0 };
    int         status = 1;

    while (bwl_stream_is_open(&store->conn.stream) && status > 0) {
        store->conn.frames.passes_long = awaits_value(store);
        status                         = bwl_resp_stream_frame(&store->conn, &bytes, &size, &fault);
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
                bwl_log_add(store->client->settings.log, BWL_LOG_INFO, "connected: %s",
                            store->where);
                atomic_store(&store->client->stands, true);
            }
        } else if (store->questions_count > 0 && bwl_redis_nth(store, 0)->written) {
            answered(store, bytes, size);
        } else {
            status = bwl_fail(&fault, BWL_STATUS_REFUSED, "speaks without having been asked");
        }
    }
    if (status == 0 && store->phase == BWL_REDIS_READY && !keeps_back(store))
        status = write_questions(store, &fault);
    if (status < 0)
        broke(store, &fault);
}

void bwl_redis_heard(bwl_redis_store *store, int status, bwl_fault *fault)
{
    uint64_t opened = store->opened;

    work(store); /* also when it has just broken: what came before that counts */
    if (status < 0 && opened == store->opened && bwl_stream_is_open(&store->conn.stream))
        broke(store, fault);
}

void bwl_redis_ready(bwl_source *source, uint32_t events)
{
    bwl_redis_store *store          = (bwl_redis_store *)(void *)source;
    bool             was_connecting = store->conn.stream.connecting;
    bwl_fault        fault          = { 0 };

    if (!bwl_stream_is_open(&store->conn.stream))
        return; /* an event of a connection that was closed meanwhile */
    store->heard_at = store->client->latest;
    int status      = bwl_stream_step(&store->conn.stream, events, &fault);
    if (was_connecting && status < 0) {
        bwl_redis_not_connected(store, &fault);
    } else {
        if (was_connecting && !store->conn.stream.connecting)
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
        now >= bwl_later(store->heard_at, IDLE_MS) && bwl_stream_has_unread(&store->conn.stream))
        bwl_redis_ready(&store->conn.stream.source, EPOLLIN);
    if (!bwl_redis_watch_admits(store, question) || !bwl_redis_wait_admits(store, question))
        return true;
    if (!bwl_redis_append(store, question)) {
        bwl_redis_watch_failed(store, question);
        if (bwl_redis_is_wait(question))
            bwl_redis_wait_over(store, question);
        return false;
    }
    bwl_redis_watch_went(store, question);
    if (store->phase == BWL_REDIS_DOWN) {
        bwl_redis_connect(store);
    } else if (store->phase == BWL_REDIS_READY && !keeps_back(store) &&
               write_questions(store, &fault) < 0) {
        bwl_redis_name_place(store, &fault);
        bwl_redis_break_off(store, &fault, false);
    }
    bwl_redis_set_timer(store);
    return true;
}

static void flush(bwl_redis_store *store)
{
    size_t    count = store->questions_count;
    bwl_fault fault = { 0 };

    if (store->phase != BWL_REDIS_READY || (store->client->closing && store->cluster == NULL))
        return; /* what closes is written already, but for what a slot holds up */
    bool kept   = count > 0 && (!bwl_redis_nth(store, count - 1)->written ||
                              bwl_redis_nth(store, count - 1)->prepares);
    int  status = kept ? write_questions(store, &fault) : BWL_OK;
    if (status == BWL_OK && store->conn.stream.out_size > 0)
        status = bwl_stream_flush(&store->conn.stream, &fault);
    if (status < 0) {
        bwl_redis_name_place(store, &fault);
        bwl_redis_break_off(store, &fault, false);
    }
    if (kept)
        bwl_redis_set_timer(store);
}

void bwl_redis_flush(bwl_client *client)
{
    for (bwl_redis_store *store = client->store; store != NULL; store = store->next)
        flush(store);
}
