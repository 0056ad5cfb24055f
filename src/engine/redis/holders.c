/*
 * holders.c -- finds all holders of a lock: of a lock that clients share, each share.
 *
 *      look at all --a page--> its holds, where the next page begins --at the end--> complete
 *
 * A page is one script call: scripts/queue_holders.lua.  The holds come in the order of their ends,
 * so one that is renewed meanwhile may come twice, and the later row counts; none that is held
 * during the whole query is missing.
 *
 * Without protocol queue no lock has more than one holder, and the holder query says all.
 */
#include "base/fault.h"
#include "engine/redis/holder_query.h"
#include "engine/redis/topology/slots.h"
#include "engine/redis/wire/scripts.h"
#include "engine/redis/wire/value.h"

#include <stdlib.h>
#include <string.h>

enum { HOLDERS_MAX = 16384, ROOM = 512 };

struct bwl_redis_holders {
    bwl_answer        answer; /* 0: none yet */
    bool              no_memory;
    bwl_holders_page  page; /* the latest */
    bwl_holder_reply *all;
    size_t            count;
    size_t            room;
};

void bwl_redis_forget_holders(bwl_redis_lock *part)
{
    if (part->holders != NULL)
        free(part->holders->all);
    free(part->holders);
    part->holders = NULL;
}

static bool write_page(bwl_session *session, bwl_request *request)
{
    const bwl_redis_holders *h      = request->subject;
    const bwl_script        *script = &bwl_scripts[BWL_SCRIPT_QUEUE_HOLDERS];
    char                     key[BWL_KEY_MAX];
    char                     tag[BWL_QUEUE_TAG_MAX + 1];
    size_t                   size = bwl_redis_key(key, session->config, request->lock);
    bwl_resp_writer          writer;

    if (request->route.asking && !bwl_redis_write_asking(session))
        return false;
    request->flight.replies_to_skip = request->route.asking;
    if (!bwl_resp_stream_reserve(&session->link.conn, ROOM + script->size + 2 * size, &writer))
        return false;
    bwl_slots_tag(session, request->lock, tag);
    bwl_redis_write_holders(&writer, (bwl_bytes){ key, size }, tag, &h->page, request->use_eval);
    request->flight.offset = session->link.conn.stream.written;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

/* The place for a hold: its earlier row, or a new one.  NULL: no memory, or too many. */
static bwl_holder_reply *place_for(bwl_redis_holders *h, const bwl_holder_reply *hold,
                                   size_t before)
{
    for (size_t i = 0; i < before; i++)
        if (strcmp(h->all[i].value, hold->value) == 0)
            return &h->all[i];
    if (h->count == h->room) {
        size_t            room = h->room + BWL_HOLDERS_PAGE_MAX;
        bwl_holder_reply *all  = realloc(h->all, room * sizeof *all);
        h->no_memory           = all == NULL;
        if (all == NULL)
            return NULL;
        h->all  = all;
        h->room = room;
    }
    return &h->all[h->count++];
}

static bwl_redis_verdict read_page(bwl_session *session, bwl_request *request, const char *bytes,
                                   size_t size, bwl_request_reply *ret_reply)
{
    bwl_redis_holders *h      = request->subject;
    size_t             before = h->count;
    bwl_holders_page   page;
    bwl_holder_reply   hold;
    bwl_redis_verdict  verdict =
        bwl_redis_read_holders(bytes, size, &ret_reply->event.answer, &page);

    (void)session;
    if (verdict != BWL_REDIS_ANSWER || ret_reply->event.answer != BWL_YES)
        return verdict;
    for (size_t i = 0; i < page.count; i++) {
        if (!bwl_redis_next_holder(&page, &hold))
            return BWL_REDIS_STRANGE;
        bwl_holder_reply *place = place_for(h, &hold, before);
        if (place == NULL)
            break;
        *place = hold;
    }
    bool is_same = page.score == h->page.score && page.skipped == h->page.skipped;
    h->page      = page;
    if (is_same || h->no_memory || h->count >= HOLDERS_MAX)
        h->page.score = 0; /* the end */
    return BWL_REDIS_ANSWER;
}

static bool submit(bwl_session *session, bwl_engine_lock *lock);

static void complete_page(bwl_session *session, const bwl_request *request, const bwl_event *result)
{
    bwl_redis_holders *h = request->subject;

    h->answer = result->kind == BWL_DOWN ? BWL_NOT_SENT : result->answer;
    if (h->answer == BWL_YES && h->page.score != 0 && bwl_host_is_awaited(request->lock) &&
        submit(session, request->lock))
        return;
    bwl_host_query_done(request->lock);
}

static const bwl_request_kind page_query = {
    .reports_errors = true,
    .reports_text   = true,
    .write          = write_page,
    .read           = read_page,
    .complete       = complete_page,
};

static bool submit(bwl_session *session, bwl_engine_lock *lock)
{
    bwl_redis_holders *h       = bwl_redis_lock_of(lock)->holders;
    bwl_request        request = { .kind = &page_query, .lock = lock, .subject = h };

    if (session != NULL && bwl_session_submit(session, &request))
        return true;
    h->no_memory = true;
    return false;
}

/* The lock owns the result: its caller may return before the replies. */
bool bwl_redis_look_at_all(bwl_engine_lock *lock)
{
    bwl_redis_lock *part = bwl_redis_lock_of(lock);

    assert(part->holders == NULL);
    if (!lock->hold.protocol->uses_push)
        return bwl_redis_holder_query(lock);
    part->holders = calloc(1, sizeof *part->holders);
    return part->holders == NULL || !submit(bwl_redis_route(lock, 0), lock);
}

int bwl_redis_who_nth(bwl_engine_lock *lock, size_t nth, bwl_holder *ret_holder, bwl_fault *fault)
{
    const bwl_redis_holders *h = bwl_redis_lock_of(lock)->holders;

    if (h == NULL) {
        int status = bwl_redis_who(lock, ret_holder, fault);
        return status < 0 ? status : ret_holder->held;
    }
    if (h->no_memory)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    if (h->answer != BWL_YES)
        return bwl_redis_query_status(lock, h->answer, fault);
    const bwl_holder_reply *hold = nth < h->count ? &h->all[nth] : &h->page.lock;
    bwl_redis_fill_in(ret_holder, hold, lock);
    if (ret_holder->id != 0)
        bwl_redis_remember_hold(bwl_redis_of(lock->host), hold);
    return h->count > 0 ? (int)h->count : ret_holder->held;
}

const bwl_holder_reply *bwl_redis_holder_with(const bwl_engine_lock *lock, uint64_t id)
{
    const bwl_redis_holders *h = bwl_redis_lock_of(lock)->holders;

    for (size_t i = 0; h != NULL && i < h->count; i++)
        if (bwl_redis_id_of_hold(&lock->hold, &h->all[i]) == id)
            return &h->all[i];
    return NULL;
}
