/*
 * update.c -- WATCH, GET, MULTI ... EXEC for an update, on a connection of its own.
 *
 * WATCH and MULTI set a state of the connection.  So the commands after READ are sent on the same
 * connection, or not at all: on a new one nothing is watched, and SET would be executed at once.  A
 * transaction that failed closes its connection.
 */
#include "base/fault.h"
#include "engine/redis/redis.h"
#include "engine/redis/wire/transaction.h"

#include <stdlib.h>
#include <string.h>

static bool is_on_its_connection(const bwl_session *session, const bwl_transaction *transaction)
{
    return transaction->args.command == TRANSACTION_READ ||
           (session->phase == BWL_SESSION_READY && session->link.opened == transaction->opened);
}

static bool admits(bwl_session *session, const bwl_request *request)
{
    bwl_transaction *transaction = request->subject;

    if (is_on_its_connection(session, transaction))
        return true;
    transaction->kind   = BWL_REPLY;
    transaction->answer = BWL_NOT_SENT;
    bwl_host_set_error(request->lock, "the connection to %s broke", session->endpoint.text);
    bwl_host_query_done(request->lock);
    return false;
}

static bool write_section(bwl_session *session, bwl_request *request)
{
    const bwl_transaction *transaction = request->subject;
    bwl_resp_writer        writer;

    if (!bwl_resp_stream_reserve(&session->link.conn, bwl_transaction_size_max(&transaction->args),
                                 &writer))
        return false;
    bwl_transaction_write(&writer, &transaction->args);
    request->flight.offset = session->link.conn.stream.written;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

static unsigned frames_of(const bwl_request *request)
{
    return bwl_transaction_frames(((const bwl_transaction *)request->subject)->args.command);
}

static bool is_value(const bwl_request *request)
{
    const bwl_transaction *transaction = request->subject;

    return bwl_transaction_shows_value(transaction->args.command, request->flight.frames);
}

static bool keep_value(bwl_transaction *transaction, const bwl_transaction_reply *reply)
{
    size_t room = reply->value_size + 1;

    if (room > transaction->seen_capacity) {
        char *seen = realloc(transaction->seen, room);
        if (seen == NULL)
            return false;
        transaction->seen          = seen;
        transaction->seen_capacity = room;
    }
    transaction->is_there  = reply->value != NULL;
    transaction->seen_size = reply->value_size;
    if (transaction->is_there)
        memcpy(transaction->seen, reply->value, reply->value_size);
    transaction->seen[transaction->seen_size] = '\0';
    return true;
}

/* Keeps the first error: it causes those after it. */
static void set_error(const bwl_session *session, bwl_engine_lock *lock,
                      const bwl_transaction_reply *reply)
{
    bwl_fault fault;
    char      text[160];

    if (reply->error == NULL || lock->why.text[0] != '\0')
        return;
    bwl_session_error_text(session->config, text, sizeof text, reply->error, reply->error_size);
    (void)bwl_fail(&fault, BWL_STATUS_REFUSED, "%s: %s", session->endpoint.text, text);
    bwl_redis_error_code(fault.server_code, text);
    bwl_host_set_fault(lock, &fault);
}

static bwl_redis_verdict read_transaction(bwl_session *session, bwl_request *request,
                                          const char *bytes, size_t size,
                                          bwl_request_reply *ret_reply)
{
    bwl_transaction        *transaction = request->subject;
    bwl_transaction_command command     = transaction->args.command;
    unsigned                nth         = request->flight.frames;
    bwl_transaction_reply   reply;
    bwl_redis_verdict       verdict = bwl_transaction_read(command, nth, bytes, size, &reply);

    if (verdict != BWL_REDIS_ANSWER)
        return verdict;
    transaction->is_long = transaction->is_long || reply.is_long;
    if (reply.answer == BWL_YES && bwl_transaction_shows_value(command, nth) &&
        !keep_value(transaction, &reply)) {
        transaction->no_memory = true;
        reply.answer           = BWL_RETRYABLE;
    }
    set_error(session, request->lock, &reply);
    ret_reply->event.answer = reply.answer;
    return BWL_REDIS_ANSWER;
}

static void complete_transaction(bwl_session *session, const bwl_request *request,
                                 const bwl_event *result)
{
    bwl_transaction *transaction = request->subject;
    bool             was_error   = result->kind == BWL_REPLY &&
                     (result->answer == BWL_RETRYABLE || result->answer == BWL_REFUSED);
    bwl_fault fault;

    transaction->kind   = result->kind;
    transaction->answer = result->answer;
    transaction->opened = session->link.opened;
    if (was_error && session->phase == BWL_SESSION_READY) {
        (void)bwl_fail(&fault, BWL_STATUS_REFUSED, "%s has refused a part of it",
                       session->endpoint.text);
        bwl_session_break(session, &fault, false);
    }
    bwl_host_query_done(request->lock);
}

static const bwl_request_kind update = {
    .reports_text = true,
    .admits       = admits,
    .frames       = frames_of,
    .is_value     = is_value,
    .write        = write_section,
    .read         = read_transaction,
    .complete     = complete_transaction,
};

bool bwl_redis_step(bwl_engine_lock *lock, bwl_transaction *transaction)
{
    bwl_request request = { .kind = &update, .lock = lock, .subject = transaction };

    bwl_fault_clear(&lock->why);
    if (transaction->args.command == TRANSACTION_READ) { /* its result is used at the end */
        transaction->is_there  = false;
        transaction->is_long   = false;
        transaction->no_memory = false;
    }
    if (bwl_session_submit(bwl_redis_route(lock, 0), &request))
        return false;
    transaction->kind      = BWL_REPLY;
    transaction->answer    = BWL_NOT_SENT;
    transaction->no_memory = true;
    return true;
}
