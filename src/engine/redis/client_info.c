/*
 * client_info.c -- with a protocol that uses pushes: publishes the user, host and program of this
 * client.
 *
 * A lock's value has the client's session id, and a hash at the server has the client's data under
 * that id.  The hash expires.  It is written by the handshake, and again with the next command if
 * that was a while ago.  It is deleted when the client closes, unless it has a note about a forced
 * release (force_release.c): others may want to know who did it.
 */
#include "engine/redis/redis.h"
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
};

/* Removes control characters: another client wrote the text, and it may be printed on a
 * terminal. */
static void copy(char ret_text[BWL_HOLDER_TEXT_MAX], const char *text)
{
    size_t size = strnlen(text, BWL_HOLDER_TEXT_MAX - 1); /* truncates */

    for (size_t i = 0; i < size; i++)
        ret_text[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    ret_text[size] = '\0';
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

void bwl_redis_write_client_info(bwl_session *session, bwl_resp_writer *writer, const char *tag)
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
    if (look->pid == 0)
        return; /* expired or never written */
    ret_holder->pid = look->pid;
    name_user(look, ret_holder->user);
    copy(ret_holder->host, look->host);
    copy(ret_holder->program, look->program);
}
