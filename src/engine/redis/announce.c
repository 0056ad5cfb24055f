/*
 * announce.c -- what the holder of a lock announces.
 *
 *      announce --> ANNOUNCE --YES--> each renewal: ANNOUNCE again --> withdrawn --> RELEASE
 *
 * The machine of the lock knows nothing of it.  A lock that announces nothing sends no command for
 * it.  ANNOUNCE says all of it, so it may be repeated: after each renewal, because the announcement
 * ends with the lock as it was then; after a reconnect, because another server may lack it; and
 * after an upgrade, because the hold has another token.
 *
 * A withdrawal precedes the command that ends the hold.  It is sent as the script's text: nothing
 * may wait for its reply, and that it is not known to the server would be found too late.
 */
#include "base/fault.h"
#include "engine/redis/election.h"
#include "engine/redis/wire/election.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)BWL_ANNOUNCEMENT_MAX == (int)BWL_LEADER_TEXT_MAX, "the same text");

enum { ANNOUNCES = 0, WITHDRAWS = 1 }; /* the number of a request */

struct bwl_redis_announced {
    bool       is_on;                    /* there is a text */
    uint32_t   calls;                    /* of the caller so far */
    bwl_answer answer;                   /* to the latest */
    bool       is_unknown;               /* it had no reply */
    char       token[BWL_TOKEN_MAX + 1]; /* of the hold that announced last */
    char       text[BWL_ANNOUNCEMENT_MAX + 1];
};

static bool is_on(const bwl_redis_announced *announced)
{
    return announced != NULL && announced->is_on;
}

static bool write_announcement(bwl_session *session, bwl_request *request)
{
    const bwl_redis_announced *announced = bwl_redis_lock_of(request->lock)->announced;
    char                       key[BWL_KEY_MAX];
    char                       value[BWL_QUEUE_VALUE_SIZE + 1];
    size_t                     size = bwl_redis_key(key, session->config, request->lock);
    bwl_resp_writer            writer;
    bwl_announce_args          args = {
                 .key                 = { key, size },
                 .value               = value,
                 .uses_sharded_pubsub = !session->push.without_shards,
                 .use_eval            = request->use_eval,
                 .fence               = request->lock->hold.fence,
                 .text = request->number == WITHDRAWS || !announced->is_on ? NULL : announced->text,
    };

    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_ELECTION_SIZE_MAX, &writer))
        return false;
    bwl_queue_value_write(value, session->push.id, request->token);
    request->flight.replies_to_skip = request->route.asking;
    request->flight.offset          = session->link.conn.stream.written;
    if (request->route.asking)
        bwl_resp_write(&writer, "ASKING");
    bwl_announce_write(&writer, &args);
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

static bwl_redis_verdict read_announcement(bwl_session *session, bwl_request *request,
                                           const char *bytes, size_t size,
                                           bwl_request_reply *ret_reply)
{
    bowline_loss      loss    = BOWLINE_LOSS_UNKNOWN;
    bwl_redis_verdict verdict = BWL_REDIS_STRANGE;

    (void)session;
    (void)request;
    if (bytes != NULL)
        verdict = bwl_announce_read(bytes, size, &ret_reply->event.answer, &loss);
    ret_reply->event.number = (uint64_t)loss;
    return verdict;
}

/* An announcement that was withdrawn is not repeated: the lock may be released already. */
static bool is_wanted(const bwl_request *request)
{
    return request->number == WITHDRAWS || is_on(bwl_redis_lock_of(request->lock)->announced);
}

/* A NO is the loss of the lock, unless the token of the hold is being changed. */
static void complete_call(bwl_session *session, const bwl_request *request, const bwl_event *result)
{
    bwl_engine_lock     *lock      = request->lock;
    bwl_redis_announced *announced = bwl_redis_lock_of(lock)->announced;

    if (request->tag != announced->calls || !bwl_host_is_awaited(lock))
        return; /* a later call has replaced it, or it was cancelled */
    announced->answer     = result->kind == BWL_DOWN ? BWL_NOT_SENT : result->answer;
    announced->is_unknown = result->kind == BWL_DOWN;
    if (lock->hold.change.kind == 0)
        bwl_redis_revalidated(session, request, result); /* a lost lock ends the operation */
    bwl_host_query_done(lock);
}

/* No caller waits for it, and the next renewal repeats it. */
static const bwl_request_kind announcement = { .is_wanted = is_wanted,
                                               .write     = write_announcement,
                                               .read      = read_announcement };

static const bwl_request_kind announcement_of_call = {
    .reports_errors = true,
    .reports_text   = true,
    .is_wanted      = is_wanted,
    .write          = write_announcement,
    .read           = read_announcement,
    .complete       = complete_call,
};

/* A withdrawal is of what was announced last, whatever token the hold has now. */
static bwl_request request_of(bwl_engine_lock *lock, const bwl_request_kind *kind, int64_t number)
{
    bwl_redis_announced *announced = bwl_redis_lock_of(lock)->announced;
    bwl_request          request   = {
                   .kind = kind, .lock = lock, .number = number, .use_eval = number == WITHDRAWS
    };

    if (number == ANNOUNCES)
        memcpy(announced->token, lock->hold.request.token, sizeof announced->token);
    memcpy(request.token, announced->token, sizeof request.token);
    return request;
}

bool bwl_redis_announce(bwl_engine_lock *lock, const char *text)
{
    bwl_redis_lock *part    = bwl_redis_lock_of(lock);
    bwl_session    *session = bwl_redis_route(lock, 0);

    if (part->announced == NULL)
        part->announced = calloc(1, sizeof *part->announced);
    if (part->announced == NULL)
        return true;
    bool was_announced          = part->announced->token[0] != '\0';
    part->announced->is_on      = text != NULL;
    part->announced->answer     = BWL_NOT_SENT;
    part->announced->is_unknown = false;
    if (text == NULL && !was_announced) {
        part->announced->answer = BWL_YES;
        return true;
    }
    if (text != NULL)
        (void)snprintf(part->announced->text, sizeof part->announced->text, "%s", text);
    bwl_request request =
        request_of(lock, &announcement_of_call, text != NULL ? ANNOUNCES : WITHDRAWS);
    request.tag = ++part->announced->calls;
    return session == NULL || !bwl_session_submit(session, &request);
}

/* A NO that ends no hold comes of an upgrade or a downgrade under way: its reply repeats it. */
int bwl_redis_announced_status(const bwl_engine_lock *lock, bwl_fault *fault)
{
    const bwl_redis_announced *announced = bwl_redis_lock_of(lock)->announced;
    bwl_status                 status    = BWL_STATUS_REFUSED;

    if (announced == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    if (announced->answer == BWL_YES)
        return BWL_OK;
    if (announced->is_unknown || announced->answer == BWL_NO)
        status = BWL_STATUS_UNKNOWN;
    else if (announced->answer == BWL_NOT_SENT)
        status = BWL_STATUS_UNREACHABLE;
    return bwl_fail_because(fault, status, &lock->why, "%s: %s", lock->name,
                            announced->answer == BWL_NO ? "its mode is being changed"
                                                        : lock->why.text);
}

/* A hold that others share leads nobody. */
void bwl_redis_announce_again(bwl_session *session, bwl_engine_lock *lock)
{
    if (!is_on(bwl_redis_lock_of(lock)->announced) || session->phase != BWL_SESSION_READY ||
        session->host->closing || !bwl_hold_is_held(&lock->hold) ||
        lock->hold.request.share.weight > 0)
        return;
    bwl_request request = request_of(lock, &announcement, ANNOUNCES);
    (void)bwl_session_submit(session, &request); /* out of memory: at the next renewal */
}

/* Out of memory: what was announced ends with the lock. */
static void submit_withdrawal(bwl_session *session, bwl_engine_lock *lock)
{
    bwl_request request = request_of(lock, &announcement, WITHDRAWS);

    (void)bwl_session_submit(session, &request);
}

void bwl_redis_withdraw_before(bwl_session *session, bwl_engine_lock *lock,
                               bwl_redis_command command)
{
    bwl_redis_announced *announced = bwl_redis_lock_of(lock)->announced;
    bool                 ends      = bwl_queue_exclusive(command) == REDIS_QUEUE_RELEASE ||
                command == REDIS_QUEUE_REQUEUE || command == REDIS_QUEUE_REST;

    if (!is_on(announced) || (!ends && command != REDIS_SHARE_DOWNGRADE))
        return;
    announced->is_on = !ends; /* an upgrade may follow */
    submit_withdrawal(session, lock);
}

void bwl_redis_withdraw(bwl_engine_lock *lock)
{
    bwl_redis_announced *announced = bwl_redis_lock_of(lock)->announced;
    bwl_session         *session   = bwl_redis_route(lock, 0);

    if (!is_on(announced) || session == NULL)
        return;
    announced->is_on = false;
    submit_withdrawal(session, lock);
}
