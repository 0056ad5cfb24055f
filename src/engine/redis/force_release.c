/*
 * force_release.c -- releases the hold that a query showed, and no other: with the command that its
 * holder would use, and with exactly the value that was shown.
 *
 *      shown --> RELEASE or DELETE_IF_MINE of that value
 *                  1: released; the next waiter in the queue has it
 *                  0: it had ended before
 *                  2: released; DISPATCH_NEXT until no dead waiters are in the queue
 *
 * One share of a lock that clients share ends by LEAVE of its value, in the same way.
 *
 * The server compares and deletes in one step, so a newer hold stays.  Two kinds of values are
 * never deleted: one that this protocol cannot have written, and one that is the same for every
 * holder, because it does not identify a hold.
 *
 * With a queued protocol, a note names the client that released a hold by force.  The previous
 * holder reads it when its renewal or release finds the lock gone: see lock_tracker.c.  A rest,
 * which no client holds, is released in the same way, without a note: the next client may begin
 * sooner.
 *
 *      breaker:  note, withdrawal, RELEASE   holder:  EXTEND or RELEASE --> NO, then reads the note
 *
 * The withdrawal is of what the holder announces (announce.c), of a lock that is not shared: those
 * who observe it are told.
 */
#include "base/fault.h"
#include "engine/redis/holder_query.h"
#include "engine/redis/topology/slots.h"
#include "engine/redis/wire/election.h"
#include "engine/redis/wire/value.h"
#include "protocol/protocol.h"

#include <string.h>

static bool is_rest(const bwl_holder_reply *look)
{
    bwl_queue_rest rest;

    return strlen(look->value) == look->value_size && bwl_queue_read_rest(&rest, look->value);
}

uint64_t bwl_redis_id_of_hold(const bwl_hold *hold, const bwl_holder_reply *look)
{
    const bwl_compat_rules *rules  = hold->request.options->rules;
    bool                    is_odd = hold->protocol->uses_push && !is_rest(look) &&
                  !bwl_queue_is_whole_value(look->value, look->value_size);
    bool is_dull = rules != NULL && rules->value == BWL_VALUE_LITERAL;

    return is_odd || is_dull ? 0 : bwl_value_hash(look->value, look->value_size);
}

/* DISPATCH_NEXT ends no hold, and a rest has no holder. */
static bool has_holder(const bwl_request *request, const bwl_holder_reply *look)
{
    return request->command != REDIS_QUEUE_DISPATCH_NEXT && !is_rest(look);
}

/* Writes a note for the holder, before its hold is released by force.  False: no room. */
static bool write_note(bwl_session *session, const bwl_request *request)
{
    const bwl_redis_query *query = request->subject;
    const char            *id    = query->look.value + 3;
    char                   who[2 * BWL_HOLDER_TEXT_MAX];
    char                   tag[BWL_QUEUE_TAG_MAX + 1];
    bwl_resp_writer        writer;

    assert(bwl_queue_is_whole_value(query->look.value, query->look.value_size));
    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_QUEUE_BROKEN_SIZE_MAX, &writer))
        return false;
    bwl_slots_tag(session, request->lock, tag);
    bwl_redis_name_user(who);
    bwl_queue_write_broken(&writer, tag, id, id + BWL_QUEUE_SESSION_SIZE, who);
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

/* False: no room. */
static bool write_withdrawal(bwl_session *session, const bwl_request *request)
{
    const bwl_holder_reply *look = &((const bwl_redis_query *)request->subject)->look;
    char                    key[BWL_KEY_MAX];
    size_t                  size = bwl_redis_key(key, session->config, request->lock);
    bwl_resp_writer         writer;
    bwl_announce_args       args = { .key                 = { key, size },
                                     .value               = look->value,
                                     .uses_sharded_pubsub = !session->push.without_shards,
                                     .use_eval            = true };

    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_ELECTION_SIZE_MAX, &writer))
        return false;
    bwl_announce_write(&writer, &args);
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

/* What precedes the release; their replies are skipped.  False: no room. */
static bool write_ahead(bwl_session *session, bwl_request *request)
{
    const bwl_holder_reply *look    = &((const bwl_redis_query *)request->subject)->look;
    bool                    is_held = bwl_queue_is(request->command) && has_holder(request, look);

    request->flight.replies_to_skip = 1;
    if (request->route.asking)
        return bwl_redis_write_asking(session);
    request->flight.replies_to_skip = is_held ? (look->sharers == 0 ? 2 : 1) : 0;
    return !is_held || (write_note(session, request) &&
                        (look->sharers != 0 || write_withdrawal(session, request)));
}

static bool write_release(bwl_session *session, bwl_request *request)
{
    const bwl_holder_reply *look = &((const bwl_redis_query *)request->subject)->look;
    bwl_redis_command_args  args = { .token          = request->token,
                                     .previous_token = request->lock->hold.other_token,
                                     .value          = look->value,
                                     .value_size     = look->value_size };
    bwl_queue_self          self;

    if (!write_ahead(session, request))
        return false;
    if (bwl_queue_is(request->command)) {
        assert(bwl_redis_id_of_hold(&request->lock->hold, look) != 0);
        self       = bwl_redis_self(session, request);
        args.self  = &self;
        args.share = (bwl_share){ .weight = look->permits };
        memset(self.push_channels, 0, sizeof self.push_channels); /* it has no entry in the queue */
    }
    return bwl_redis_write_command(session, request, &args);
}

static const bwl_request_kind forced_release;

static bool submit(bwl_session *session, bwl_engine_lock *lock, bwl_redis_query *query,
                   bwl_redis_command command)
{
    return bwl_session_submit(
        session, &(bwl_request){
                     .kind = &forced_release, .lock = lock, .subject = query, .command = command });
}

/* The hold has ended, so errors do not matter: without DISPATCH_NEXT, waiters find the lock free
 * themselves. */
static bool must_dispatch_next(bwl_session *session, const bwl_request *request,
                               const bwl_event *result)
{
    const bwl_queue_status *status = bwl_queue_is(request->command) ? result->details : NULL;
    bool is_more = result->kind == BWL_REPLY && result->answer == BWL_YES && status != NULL &&
                   status->kind == BWL_QUEUE_STATUS_MORE;

    return is_more && submit(session, request->lock, request->subject, REDIS_QUEUE_DISPATCH_NEXT);
}

static void complete_release(bwl_session *session, const bwl_request *request,
                             const bwl_event *result)
{
    bwl_redis_query *query = request->subject;

    if (request->command != REDIS_QUEUE_DISPATCH_NEXT) {
        query->is_unknown = result->kind == BWL_DOWN;
        query->answer     = result->answer;
    }
    if (!must_dispatch_next(session, request, result))
        bwl_host_query_done(request->lock);
}

static const bwl_request_kind forced_release = {
    .reports_errors = true,
    .reports_text   = true,
    .write          = write_release,
    .read           = bwl_redis_read_command,
    .complete       = complete_release,
};

/* The command that its holder would use. */
static bwl_redis_command release_of(const bwl_engine_lock *lock, const bwl_session *session)
{
    if (bwl_session_uses_push(session))
        return bwl_redis_lock_of(lock)->queries->look.sharers != 0 ? REDIS_SHARE_LEAVE
                                                                   : REDIS_QUEUE_RELEASE;
    return bwl_protocol_commands(lock->hold.protocol)->release;
}

bool bwl_redis_force_release(bwl_engine_lock *lock, uint64_t id)
{
    bwl_session            *session = bwl_redis_route(lock, 0);
    bwl_redis_query        *query   = bwl_redis_lock_of(lock)->queries;
    const bwl_holder_reply *share   = bwl_redis_holder_with(lock, id);

    assert(query != NULL);
    assert(query->answer == BWL_YES);
    if (share != NULL)
        query->look = *share;
    assert(bwl_redis_id_of_hold(&lock->hold, &query->look) == id);
    if (session != NULL && submit(session, lock, query, release_of(lock, session)))
        return false;
    bwl_host_set_error(lock, "out of memory");
    query->answer = BWL_NOT_SENT;
    return true;
}

int bwl_redis_force_released(bwl_engine_lock *lock, bwl_fault *fault)
{
    const bwl_redis_query *query = bwl_redis_lock_of(lock)->queries;

    if (query->is_unknown)
        return bwl_fail_because(fault, BWL_STATUS_UNKNOWN, &lock->why,
                                "%s: it is unknown whether the lock was broken: %s", lock->name,
                                lock->why.text);
    if (query->answer == BWL_NO)
        return bwl_fail(fault, BWL_STATUS_BUSY, "the hold that was shown has ended");
    return bwl_redis_query_status(lock, query->answer, fault);
}
