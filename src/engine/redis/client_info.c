/*
 * client_info.c -- with a protocol that uses pushes: publishes the user, host and program of this
 * client.
 *
 * A lock's value has the client's session id, and a hash at the server has the client's data under
 * that id.  The hash expires.  It is written by the handshake, and again with the next command if
 * that was a while ago.  It is deleted when the client closes, unless it has a note about a forced
 * release (force_release.c): others may want to know who did it.
 *
 * A hold has a field in that hash: when it was granted, its fence, and the pid of its command; and
 * one of permits another, their limit, which the lock itself does not need.  An
 * acquire does not write it, so as not to cost more: the first renewal does, or a call of
 * bowline_hold_set_command; and then each new connection, because another server may have lost it.
 * The command that ends the hold is followed by one that deletes the field.
 */
#include "core/text.h"
#include "engine/redis/redis.h"
#include "engine/redis/shown_hold.h"
#include "engine/redis/topology/slots.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
    AGAIN_AFTER_MS = 20000,
    KEPT_MS        = 60000, /* beside the lease: a hold may last so long without a command */
    USERS_SIZE     = 2048,
    LAST_ROOM      = 128,
    RENEWAL_PARTS  = 4, /* a renewal comes after a third of the lease, or a little earlier */
};

static void copy(char ret_text[BWL_HOLDER_TEXT_MAX], const char *text)
{
    bwl_printable_copy(ret_text, BWL_HOLDER_TEXT_MAX, text, strlen(text));
}

static void here(char ret_host[BWL_HOLDER_TEXT_MAX])
{
    struct utsname system;

    copy(ret_host, uname(&system) == 0 ? system.nodename : "");
}

/* The kernel's name of this process; "" if unknown. */
static void name_ourselves(char ret_program[BWL_HOLDER_TEXT_MAX])
{
    int     fd  = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, ret_program, BWL_HOLDER_TEXT_MAX - 1) : 0;

    ret_program[got > 0 ? got : 0]          = '\0';
    ret_program[strcspn(ret_program, "\n")] = '\0';
    if (fd >= 0)
        (void)close(fd); /* the file was only read */
}

/* A user's number has a name only on its own machine. */
static void name_user(const bwl_holder_reply *look, char ret_text[BWL_HOLDER_TEXT_MAX])
{
    char           text[USERS_SIZE];
    char           host[BWL_HOLDER_TEXT_MAX];
    struct passwd  user;
    struct passwd *found = NULL;

    here(host);
    if (strcmp(host, look->host) == 0)
        (void)getpwuid_r((uid_t)look->uid, &user, text, sizeof text, &found);
    if (found != NULL)
        copy(ret_text, user.pw_name);
    else
        (void)snprintf(ret_text, BWL_HOLDER_TEXT_MAX, "%lld", (long long)look->uid);
}

static bwl_queue_client_info describe_client(const bwl_session *session, const char *tag)
{
    bwl_queue_client_info info = { .pid     = getpid(),
                                   .uid     = geteuid(),
                                   .kept_ms = session->host->settings.lease_ms + KEPT_MS,
                                   .session = session->push.id };

    here(info.host);
    if (session->host->program[0] != '\0')
        copy(info.program, session->host->program);
    else
        name_ourselves(info.program);
    (void)snprintf(info.tag, sizeof info.tag, "%s", tag);
    return info;
}

void bwl_redis_write_client_info(bwl_session *session, bwl_resp_writer *writer, const char *tag)
{
    bwl_queue_client_info info = describe_client(session, tag);

    if (tag[0] == '\0') /* otherwise it is for one of many slots */
        session->push.info_sent_at = bwl_host_now(session->host);
    bwl_queue_write_fence_minimum(writer, &info);
}

bool bwl_redis_name_client(bwl_session *session)
{
    bwl_redis *redis = bwl_redis_of(session->host);

    if (redis->id[0] == '\0' && !bwl_redis_draw(session, redis->id, BWL_QUEUE_SESSION_SIZE))
        return false;
    memcpy(session->push.id, redis->id, sizeof session->push.id);
    if (session->node != NULL)
        bwl_slots_begin(session);
    return true;
}

static bool write_info(bwl_session *session, bwl_request *request)
{
    bwl_resp_writer writer;

    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_QUEUE_HANDSHAKE_SIZE_MAX, &writer))
        return false;
    bwl_redis_write_client_info(session, &writer, "");
    request->flight.offset = session->link.conn.stream.written;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

static const bwl_request_kind client_info = { .write = write_info };

/* Out of memory is ignored: the info expires. */
void bwl_redis_refresh_client_info(bwl_session *session, bwl_engine_lock *lock)
{
    if (!bwl_session_uses_push(session) || session->phase != BWL_SESSION_READY ||
        session->host->closing ||
        session->host->latest < bwl_ms_add(session->push.info_sent_at, AGAIN_AFTER_MS))
        return;
    bwl_session_check_for_end(session);
    if (session->phase != BWL_SESSION_READY)
        return; /* the next handshake publishes it */
    if (session->node != NULL)
        bwl_slots_expire(session);
    else
        (void)bwl_pipeline_push(&session->pipeline,
                                &(bwl_request){ .kind = &client_info, .lock = lock });
}

/* ---- holds ----------------------------------------------------------------------------------- */

static bool is_shown(const bwl_engine_lock *lock)
{
    return bwl_redis_lock_of(lock)->shown.token[0] != '\0';
}

static bool write_hold(bwl_session *session, bwl_request *request)
{
    const bwl_redis_shown *shown = &bwl_redis_lock_of(request->lock)->shown;
    bwl_ms                 now   = session->host->latest;
    char                   tag[BWL_QUEUE_TAG_MAX + 1];
    bwl_resp_writer        writer;

    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_QUEUE_HOLD_SIZE_MAX, &writer))
        return false;
    bwl_slots_tag(session, request->lock, tag);
    bwl_queue_client_info info = describe_client(session, tag);
    bwl_queue_shown_hold  hold = { .token       = request->token,
                                   .since_ms    = now - bwl_ms_min(shown->granted_at, now),
                                   .fence       = request->lock->hold.fence,
                                   .command_pid = shown->command_pid,
                                   .limit       = request->lock->hold.request.share.limit };
    bwl_queue_write_hold(&writer, &info, &hold, request->use_eval);
    request->flight.offset = session->link.conn.stream.written;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

/* An error is ignored: it is a hint for people. */
static bwl_redis_verdict read_hold(bwl_session *session, bwl_request *request, const char *bytes,
                                   size_t size, bwl_request_reply *ret_reply)
{
    (void)session;
    (void)request;
    ret_reply->event.answer = BWL_YES;
    return bytes != NULL && bwl_redis_error_is(bytes, size, "NOSCRIPT") ? BWL_REDIS_NOSCRIPT
                                                                        : BWL_REDIS_ANSWER;
}

static const bwl_request_kind hold_shown = { .write = write_hold, .read = read_hold };

/* Out of memory: it is not shown. */
static void submit_hold(bwl_session *session, bwl_engine_lock *lock)
{
    bwl_redis_shown *shown   = &bwl_redis_lock_of(lock)->shown;
    bwl_request      request = { .kind = &hold_shown, .lock = lock };

    memcpy(request.token, lock->hold.request.token, sizeof request.token);
    memcpy(shown->token, request.token, BWL_QUEUE_TOKEN_SIZE);
    shown->token[BWL_QUEUE_TOKEN_SIZE] = '\0';
    shown->at                          = session->host->latest;
    shown->session                     = session;
    shown->opened                      = session->link.opened;
    /* The reply may be read late, so it must not be that the script is missing. */
    request.use_eval =
        session->scripts.shown_hold != session->link.opened || session->phase != BWL_SESSION_READY;
    session->scripts.shown_hold = session->link.opened;
    if (session->node != NULL)
        bwl_slots_has_info(session, bwl_route_of(lock)->slot);
    (void)bwl_session_submit(session, &request);
}

/* In a cluster, no other command of a lock that is held keeps the client info of its slot. */
static bool is_due(const bwl_session *session, const bwl_engine_lock *lock)
{
    const bwl_redis_shown *shown = &bwl_redis_lock_of(lock)->shown;
    bwl_ms                 now   = session->host->latest;

    if (!is_shown(lock)) /* the first renewal; not the confirmation of a provisional grant */
        return now - shown->granted_at >= lock->hold.request.lease_ms / RENEWAL_PARTS;
    return strncmp(shown->token, lock->hold.request.token, BWL_QUEUE_TOKEN_SIZE) != 0 ||
           shown->session != session || shown->opened != session->link.opened ||
           (session->node != NULL && now >= bwl_ms_add(shown->at, AGAIN_AFTER_MS));
}

static bool write_hold_end(bwl_session *session, bwl_request *request)
{
    char            tag[BWL_QUEUE_TAG_MAX + 1];
    bwl_resp_writer writer;

    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_QUEUE_HOLD_SIZE_MAX, &writer))
        return false;
    bwl_slots_tag(session, request->lock, tag);
    bwl_queue_write_hold_end(&writer, tag, session->push.id, request->token,
                             request->lock->hold.request.share.limit);
    request->flight.offset = session->link.conn.stream.written;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

static const bwl_request_kind hold_hidden = { .write = write_hold_end };

/* While closing, the client info is deleted as a whole.  Otherwise, if it fails, the field expires
 * with the client info. */
void bwl_redis_hide_hold(bwl_session *session, bwl_engine_lock *lock)
{
    bwl_redis_shown *shown   = &bwl_redis_lock_of(lock)->shown;
    bwl_request      request = { .kind = &hold_hidden, .lock = lock };

    if (!is_shown(lock) || lock->host->closing)
        return;
    memcpy(request.token, shown->token, sizeof shown->token);
    shown->token[0]    = '\0';
    shown->command_pid = 0;
    (void)bwl_session_submit(session, &request);
}

/* An upgrade has given the hold another token. */
static void hide_former(bwl_session *session, bwl_engine_lock *lock)
{
    bwl_redis_shown *shown = &bwl_redis_lock_of(lock)->shown;
    int64_t          pid   = shown->command_pid;

    if (strncmp(shown->token, lock->hold.request.token, BWL_QUEUE_TOKEN_SIZE) == 0)
        return;
    bwl_redis_hide_hold(session, lock);
    shown->command_pid = pid;
}

void bwl_redis_show_hold(bwl_session *session, bwl_engine_lock *lock)
{
    if (bwl_session_uses_push(session) && session->phase == BWL_SESSION_READY &&
        !session->host->closing && bwl_hold_is_held(&lock->hold) && is_due(session, lock)) {
        hide_former(session, lock);
        submit_hold(session, lock);
    }
}

void bwl_redis_show_command(bwl_engine_lock *lock, int64_t pid)
{
    bwl_session *session = bwl_redis_route(lock, 0);

    if (session == NULL || !bwl_session_uses_push(session) || lock->host->closing)
        return;
    bwl_redis_lock_of(lock)->shown.command_pid = pid;
    submit_hold(session, lock);
}

void bwl_redis_write_goodbye(bwl_session *session)
{
    if (bwl_redis_of(session->host)->was_broken)
        return; /* the info expires, with the note in it */
    if (session->node != NULL)
        bwl_slots_leave(session);
    if (session->config->topology != BWL_TOPOLOGY_CLUSTER && session->push.info_sent_at != 0)
        (void)bwl_resp_stream_write(&session->link.conn, LAST_ROOM, "DEL %s",
                                    bwl_queue_who_key("", session->push.id).text);
    /* (void): the info expires */
}

void bwl_redis_name_user(char ret_who[2 * BWL_HOLDER_TEXT_MAX])
{
    bwl_holder_reply self = { .uid = geteuid() };
    char             user[BWL_HOLDER_TEXT_MAX];

    here(self.host);
    name_user(&self, user);
    (void)snprintf(ret_who, 2 * BWL_HOLDER_TEXT_MAX, "%s@%s", user, self.host);
}

void bwl_redis_fill_in_client(bwl_holder *ret_holder, const bwl_holder_reply *look)
{
    ret_holder->fence = look->fence; /* of a share it is that of the lock */
    if (look->pid == 0)
        return; /* expired or never written */
    ret_holder->pid = look->pid;
    name_user(look, ret_holder->user);
    copy(ret_holder->host, look->host);
    copy(ret_holder->program, look->program);
    ret_holder->since_ms    = look->since_ms;
    ret_holder->command_pid = look->command_pid;
}
