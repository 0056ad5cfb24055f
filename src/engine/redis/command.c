/*
 * command.c -- the commands of a lock's machine, and of its revalidation, as requests.
 *
 * A release after waiting in the queue usually wakes another waiter, and the push should reach that
 * waiter before our own reply is written.  Redis writes pending replies last in, first out, in the
 * order in which clients first had output.  So a command without effect (EXISTS) precedes such a
 * release if no other command does.  On servers with another order, it is only one command more.
 *
 * With a protocol that uses key tracking, the server pushes that a key has changed, and a waiter
 * for that key tries again at once.
 *
 *      CLIENT TRACKING ON     before the second attempt of a lock, once for each connection
 *      HASH_TAKE, ZSET_TAKE   reads the key, so the server remembers it for this connection
 *      invalidate [key]       a push: the key was written, deleted, or has expired.  Once for each
 *                             attempt that has read it
 *
 * The push wakes one waiter of the client for the key: the one with the most attempts.  It is only
 * a hint.  Without it (RESP2, a user without +client|tracking, a lost connection, an old server),
 * the lock tries again after its own pause.
 */
#include "engine/redis/redis.h"
#include "engine/redis/election.h"
#include "engine/redis/queue_watch.h"
#include "engine/redis/shown_hold.h"
#include "protocol/protocol.h"
#include "protocol/quorum.h"

#include <stdio.h>
#include <string.h>

enum { LEAD_ROOM = 64 }; /* for a command ahead of it, without its key */

static bwl_signal signal_of(const bwl_redis_config *config, const bwl_request *request,
                            bwl_signal_names *ret_names)
{
    const bwl_engine_lock *lock = request->lock;

    if (config->profile == NULL || request->command != REDIS_DELETE_IF_MINE)
        return (bwl_signal){ .kind = BWL_SIGNAL_NONE };
    return bwl_profile_signal(ret_names, config->profile, config->key_template,
                              (bwl_bytes){ lock->name, lock->name_size });
}

/* Whether to send the script's text: the server may not know its SHA-1, or no reply would report
 * that.  If several requests were told that it does not, the text goes with the first of them: the
 * server has it before it reads the others again. */
static bool sends_text(bwl_session *session, bwl_request *request)
{
    bwl_script_cache *scripts = &session->scripts;
    uint64_t         *text_at = &scripts->text_at[request->command];
    uint64_t          bit     = UINT64_C(1) << request->command;
    bool              is_last = session->host->closing && (scripts->sent_at_end & bit) == 0;
    bool              is_new  = (scripts->unknown & bit) != 0;

    request->use_eval |= request->was_unknown && *text_at <= request->flight.offset;
    bool sends = request->use_eval || is_last || is_new;
    scripts->sent_at_end |= is_last ? bit : 0;
    scripts->unknown &= ~bit;
    *text_at = sends ? session->link.conn.stream.written : *text_at;
    return sends;
}

bool bwl_redis_write_command(bwl_session *session, bwl_request *request,
                             bwl_redis_command_args *args)
{
    char             key[BWL_KEY_MAX];
    bwl_signal_names names;
    bwl_resp_writer  writer;

    args->command       = request->command;
    args->key           = key;
    args->key_size      = bwl_redis_key(key, session->config, request->lock);
    args->is_of_cluster = session->config->topology == BWL_TOPOLOGY_CLUSTER;
    args->lease_ms      = request->lease_ms;
    args->number        = request->number;
    args->moving        = request->route.moving;
    args->rules         = request->lock->hold.request.options->rules;
    args->signal        = signal_of(session->config, request, &names);
    if (args->share.weight == 0)
        args->share = request->lock->hold.request.share;
    if (!bwl_resp_stream_reserve(&session->link.conn,
                                 bwl_redis_size_max(request->command, args->key_size) +
                                     args->signal.names[0].size + args->signal.names[1].size,
                                 &writer))
        return false;
    args->use_eval = sends_text(session, request);
    bwl_redis_write(&writer, args);
    request->flight.offset = session->link.conn.stream.written;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

bool bwl_redis_write_asking(bwl_session *session)
{
    return bwl_resp_stream_write(&session->link.conn, LEAD_ROOM, "ASKING");
}

static bool wants_lead(const bwl_session *session, const bwl_request *request)
{
    return bwl_queue_exclusive(request->command) == REDIS_QUEUE_RELEASE &&
           bwl_redis_lock_of(request->lock)->waiting.has_waited &&
           session->link.conn.stream.out_size == 0 && !session->host->closing;
}

static bool write_lead(bwl_session *session, const bwl_request *request)
{
    char   key[BWL_KEY_MAX];
    size_t size = bwl_redis_key(key, session->config, request->lock);

    return bwl_resp_stream_write(&session->link.conn, LEAD_ROOM + size, "EXISTS %.*s", (int)size,
                                 key);
}

/* An attempt that finds the lock free does not need it. */
static bool wants_tracking(const bwl_session *session, const bwl_request *request)
{
    const bwl_hold *hold  = &request->lock->hold;
    bool            takes = request->command == bwl_protocol_commands(hold->protocol)->take;

    return hold->protocol->retries_on_push && takes && hold->request.attempt > 1 &&
           !session->server.tracks_keys && !session->server.is_resp2 && !session->host->closing;
}

static bool write_tracking(bwl_session *session)
{
    session->server.tracks_keys =
        bwl_resp_stream_write(&session->link.conn, LEAD_ROOM, "CLIENT TRACKING ON");
    return session->server.tracks_keys;
}

/* At most one command precedes it, and its reply is skipped.  (An error of ASKING is also an error
 * of the command.) */
static bool write_ahead(bwl_session *session, bwl_request *request)
{
    bool wrote;

    if (request->route.asking)
        wrote = bwl_redis_write_asking(session);
    else if (wants_lead(session, request))
        wrote = write_lead(session, request);
    else if (wants_tracking(session, request))
        wrote = write_tracking(session);
    else
        return true;
    request->flight.replies_to_skip = wrote ? 1 : 0;
    return wrote;
}

/* The value of `queue` has the session of the client. */
static void take_own_value(const bwl_session *session, const bwl_request *request,
                           char ret_own[BWL_QUEUE_VALUE_SIZE + 1], bwl_redis_command_args *args)
{
    if (!request->lock->hold.protocol->uses_push)
        return;
    bwl_queue_value_write(ret_own, session->push.id, request->token);
    args->value      = ret_own;
    args->value_size = BWL_QUEUE_VALUE_SIZE;
}

/* Who did it, as bowline_who shows it during the rest. */
static const char *name_user(char ret_who[BWL_REST_WHO_MAX + 1])
{
    char who[2 * BWL_HOLDER_TEXT_MAX];

    bwl_redis_name_user(who);
    (void)snprintf(ret_who, BWL_REST_WHO_MAX + 1, "%.*s", BWL_REST_WHO_MAX, who);
    return ret_who;
}

static bool write_command(bwl_session *session, bwl_request *request)
{
    bwl_queue_self         self;
    char                   own[BWL_QUEUE_VALUE_SIZE + 1];
    char                   who[BWL_REST_WHO_MAX + 1];
    bwl_redis_command_args args = { .token          = request->token,
                                    .previous_token = request->lock->hold.other_token,
                                    .self           = &self };

    if (!write_ahead(session, request))
        return false;
    if (bwl_queue_is(request->command))
        self = bwl_redis_self(session, request);
    if (request->command == REDIS_ADOPT) {
        args.previous_value = bwl_redis_lock_of(request->lock)->passed->value;
        take_own_value(session, request, own, &args);
    }
    if (request->command == REDIS_QUEUE_REST)
        args.who = name_user(who);
    return bwl_redis_write_command(session, request, &args);
}

static unsigned frames_of(const bwl_request *request)
{
    return bwl_redis_frames(request->command);
}

static bool is_value(const bwl_request *request)
{
    return bwl_redis_shows_value(request->command) &&
           request->flight.frames + 1u == bwl_redis_frames(request->command);
}

/* A value that is longer than a frame is foreign. */
bwl_redis_verdict bwl_redis_read_command(bwl_session *session, bwl_request *request,
                                         const char *bytes, size_t size,
                                         bwl_request_reply *ret_reply)
{
    bwl_redis_command_args args    = { .command = request->command,
                                       .token   = request->token,
                                       .number  = request->number,
                                       .rules   = request->lock->hold.request.options->rules };
    bwl_redis_verdict      verdict = BWL_REDIS_ANSWER;
    bwl_redis_reply       *reply   = &ret_reply->reply;

    (void)session;
    *reply = (bwl_redis_reply){ .answer = BWL_FOREIGN_VALUE };
    if (bytes != NULL)
        verdict = bwl_redis_read(&args, request->flight.frames, bytes, size, reply);
    ret_reply->event.answer = reply->answer;
    ret_reply->event.number = reply->answer == BWL_NO ? (uint64_t)reply->loss : reply->number;
    if (request->command == REDIS_ADOPT && reply->answer == BWL_YES)
        ret_reply->event.number = bwl_redis_lock_of(request->lock)->passed->fence;
    if (!bwl_queue_is(request->command))
        ret_reply->event.details = &reply->value;
    else if (reply->queue_status.kind != 0)
        ret_reply->event.details = &reply->queue_status;
    return verdict;
}

static void learn(bwl_session *session, const bwl_request *request, const bwl_event *result)
{
    const bwl_queue_status *status = bwl_queue_is(request->command) ? result->details : NULL;

    if (result->kind != BWL_REPLY)
        return;
    if (result->answer == BWL_YES || (status != NULL && status->kind == BWL_QUEUE_STATUS_QUEUED))
        bwl_redis_is_at(session, request->lock);
    if (status != NULL)
        bwl_redis_queued(session, request, status);
}

/* Whether it is a NO to the owner of the lock that says what the server has instead.  One of
 * several servers does not decide; after a release without a reply the NO may be its effect. */
static bool tells_loss(const bwl_request *request, const bwl_event *result)
{
    const bwl_hold *hold = &request->lock->hold;

    return request->lock->host->nodes == 1 && result->kind == BWL_REPLY &&
           result->answer == BWL_NO && result->number != 0 &&
           (bwl_hold_is_held(hold) || (hold->state == BWL_HOLD_RELEASING && !hold->is_unknown)) &&
           strcmp(hold->request.token, request->token) == 0;
}

/* Whether it is not known that the server executed the request, but the server may be there. */
static bool is_lost(const bwl_session *session, const bwl_event *result)
{
    return result->kind == BWL_DOWN ||
           (result->kind == BWL_REPLY && result->answer == BWL_NOT_SENT &&
            !bwl_session_may_be_dead(session));
}

/* A majority releases a lock, and nothing waits for the delete on another server.  If it is lost,
 * it is sent once more; otherwise the key would stay there until its lease ends.  Its tag is that
 * of no round. */
static void repeat_delete(bwl_session *session, const bwl_request *request, const bwl_event *result)
{
    bwl_request again = *request;

    if (session->config->topology != BWL_TOPOLOGY_QUORUM ||
        request->command != REDIS_DELETE_IF_MINE || !is_lost(session, result) ||
        request->tag == BWL_REDLOCK_REPEATED || session->host->closing)
        return;
    again.tag      = BWL_REDLOCK_REPEATED;
    again.use_eval = true; /* the server may have been restarted */
    again.flight   = (bwl_request_flight){ .written = false };
    (void)bwl_session_submit(session, &again); /* without memory, the lease ends it */
}

/* After a YES to the owner of a held lock. */
static void held_on(bwl_session *session, bwl_engine_lock *lock)
{
    bwl_redis_show_hold(session, lock);
    bwl_redis_announce_again(session, lock);
}

/* A hold that the server no longer has may have been released by force.  A renewal reports the loss
 * at once, and the client that did it later.  A release has one result, so it waits for both. */
static void complete_command(bwl_session *session, const bwl_request *request,
                             const bwl_event *result)
{
    bwl_engine_lock *lock    = request->lock;
    bool             extends = bwl_queue_exclusive(request->command) == REDIS_QUEUE_EXTEND ||
                   bwl_queue_changes(request->command);
    bool      was_held = extends && bwl_hold_is_held(&lock->hold);
    bwl_event ev       = *result;

    learn(session, request, result);
    repeat_delete(session, request, result);
    if (request->tag == BWL_REDLOCK_REPEATED &&
        strcmp(request->token, lock->hold.request.token) != 0)
        return; /* the lock has a new token since */
    if (ev.answer == BWL_YES && !bwl_hold_is_held(&lock->hold))
        bwl_redis_lock_of(lock)->shown.granted_at = lock->host->latest;
    ev.tag  = request->tag;
    ev.node = request->node;
    if (tells_loss(request, result)) {
        bwl_redis_note_loss(lock, (bowline_loss)result->number);
        if (lock->hold.state == BWL_HOLD_RELEASING && bwl_redis_ask_breaker(request, &ev))
            return;
    }
    bwl_host_event(lock, ev);
    if (was_held && ev.kind == BWL_REPLY && ev.answer == BWL_NO && !bwl_hold_is_held(&lock->hold))
        (void)bwl_redis_ask_breaker(request, NULL); /* (void): then the client is not named */
    else if (was_held && ev.kind == BWL_REPLY && ev.answer == BWL_YES)
        held_on(session, lock);
}

static void complete_revalidation(bwl_session *session, const bwl_request *request,
                                  const bwl_event *result)
{
    learn(session, request, result);
    bwl_redis_revalidated(session, request, result);
    if (result->kind == BWL_REPLY && result->answer == BWL_YES)
        held_on(session, request->lock);
}

static bool *is_alone(const bwl_request *request)
{
    return &bwl_redis_lock_of(request->lock)->is_alone;
}

static bwl_watch_role watch_role(const bwl_request *request)
{
    if (request->command == REDIS_UNWATCH || request->command == REDIS_DELETE_WATCHED)
        return BWL_WATCH_ENDS;
    return request->command == REDIS_WATCH_READ ? BWL_WATCH_BEGINS : BWL_WATCH_NONE;
}

const bwl_request_kind bwl_redis_lock_request = {
    .is_machines    = true,
    .reports_errors = true,
    .reports_text   = true,
    .frames         = frames_of,
    .is_value       = is_value,
    .write          = write_command,
    .read           = bwl_redis_read_command,
    .complete       = complete_command,
    .watch_role     = watch_role,
    .is_alone       = is_alone,
    .self           = bwl_redis_self,
};

const bwl_request_kind bwl_redis_revalidate = {
    .revalidates = true,
    .frames      = frames_of,
    .is_value    = is_value,
    .write       = write_command,
    .read        = bwl_redis_read_command,
    .complete    = complete_revalidation,
    .is_alone    = is_alone,
};

/* ---- pushes about changed keys --------------------------------------------------------------- */

/* `key` NULL: any key. */
static bool waits_for(const bwl_session *session, const bwl_engine_lock *lock, const bwl_bytes *key)
{
    char   bytes[BWL_KEY_MAX];
    size_t size;

    if (lock->hold.state != BWL_HOLD_WAITING || !lock->hold.protocol->retries_on_push)
        return false;
    size = bwl_redis_key(bytes, session->config, lock);
    return key == NULL || (key->size == size && memcmp(key->at, bytes, size) == 0);
}

static void wake_one(bwl_session *session, const bwl_bytes *key)
{
    bwl_engine_lock *longest = NULL;

    for (bwl_redis_lock *at = bwl_redis_of(session->host)->locks; at != NULL; at = at->next)
        if (waits_for(session, at->lock, key) &&
            (longest == NULL || at->lock->hold.request.attempt > longest->hold.request.attempt))
            longest = at->lock;
    if (longest != NULL)
        bwl_host_event(longest, (bwl_event){ .kind = BWL_PUSH });
}

static void wake(bwl_session *session, bwl_engine_lock *lock, const void *arg)
{
    (void)arg;
    if (waits_for(session, lock, NULL))
        bwl_host_event(lock, (bwl_event){ .kind = BWL_PUSH });
}

static void on_changed(bwl_session *session, const bwl_bytes *key)
{
    if (bwl_session_uses_push(session))
        bwl_redis_on_queue_changed(session, key);
    else if (key != NULL)
        wake_one(session, key);
    else
        bwl_redis_for_each_lock(session, NULL, wake);
}

void bwl_redis_on_key_changed(bwl_session *session, const char *bytes, size_t size)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    if (!bwl_resp_next_bare(&cursor, &value) || value.type != '>' || value.count != 2 ||
        !bwl_resp_next_bare(&cursor, &value) || !bwl_resp_text_is(&value, "invalidate") ||
        !bwl_resp_next_bare(&cursor, &value))
        return; /* another push */
    if (value.type == '_' || (value.type == '*' && size > BWL_PUSH_MAX))
        on_changed(session, NULL); /* '_': all keys were deleted */
    else if (value.type == '*')
        for (uint32_t count = value.count; count > 0; count--) {
            if (!bwl_resp_next_bare(&cursor, &value) || value.type != '$')
                return;
            on_changed(session, &(bwl_bytes){ value.text, value.size });
        }
}
