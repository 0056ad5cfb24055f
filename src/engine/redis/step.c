/*
 * step.c -- the commands of a lock file as requests.
 */
#include "engine/redis/redis.h"
#include "engine/redis/wire/steps.h"

static const bwl_lock_op *op_of(const bwl_request *request)
{
    return request->subject;
}

static unsigned frames_of(const bwl_request *request)
{
    return bwl_step_frames(op_of(request));
}

static bool is_value(const bwl_request *request)
{
    return request->flight.frames + 1u == frames_of(request);
}

static bool write_step(bwl_session *session, bwl_request *request)
{
    char            key[BWL_KEY_MAX];
    size_t          key_size = bwl_redis_key(key, session->config, request->lock);
    bwl_resp_writer writer;
    bwl_step_args   args = {
          .program  = request->lock->hold.request.options->program,
          .op       = op_of(request),
          .key      = { key, key_size },
          .token    = request->token,
          .lease_ms = request->lease_ms,
          .computed = request->number,
          .end      = request->number,
    };

    if (!bwl_resp_stream_reserve(&session->link.conn,
                                 bwl_step_size_max(args.program, args.op, key_size), &writer))
        return false;
    bwl_step_write(&writer, &args);
    request->flight.offset = session->link.conn.stream.written;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

static bwl_redis_verdict read_step(bwl_session *session, bwl_request *request, const char *bytes,
                                   size_t size, bwl_request_reply *ret_reply)
{
    bwl_redis_reply *reply = &ret_reply->reply;

    (void)session;
    bwl_redis_verdict verdict =
        bwl_step_read(op_of(request), request->token, request->flight.frames, bytes, size, reply);
    ret_reply->event.answer  = reply->answer;
    ret_reply->event.number  = reply->number;
    ret_reply->event.details = &reply->value;
    return verdict;
}

static void complete_step(bwl_session *session, const bwl_request *request, const bwl_event *result)
{
    bwl_event ev = *result;

    (void)session;
    ev.tag  = request->tag;
    ev.node = request->node;
    bwl_host_event(request->lock, ev);
}

static bwl_watch_role watch_role(const bwl_request *request)
{
    const bwl_lock_op *op   = op_of(request);
    uint8_t            word = request->lock->hold.request.options->program->calls[op->call].word;

    if (op->is_transaction || word == BWL_CALL_UNWATCH)
        return BWL_WATCH_ENDS;
    return word == BWL_CALL_WATCH ? BWL_WATCH_BEGINS : BWL_WATCH_NONE;
}

const bwl_request_kind bwl_redis_step_request = {
    .is_machines    = true,
    .reports_errors = true,
    .reports_text   = true,
    .frames         = frames_of,
    .is_value       = is_value,
    .write          = write_step,
    .read           = read_step,
    .complete       = complete_step,
    .watch_role     = watch_role,
};
