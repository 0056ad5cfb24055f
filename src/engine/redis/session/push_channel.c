/*
 * push_channel.c -- a connection's subscription, through which the server pushes grants to waiters.
 * See session.h, and docs/reference/wire.md for the bytes.
 *
 * Only for protocols that use pushes.  Each connection has its own channel, with an unguessable
 * name.  With one channel for the whole client, a late message to the previous connection would
 * be taken for a present one.
 *
 *      SSUBSCRIBE channel    a push: SUBSCRIBED
 *      SPUBLISH channel H    1, and a push: messages do arrive
 *      SCRIPT EXISTS ...     missing scripts are loaded in a second packet
 *      EVAL fence minimum    fences exceed the server's time from now on; publishes client info
 *
 * Before 7.0 there is no SSUBSCRIBE: SUBSCRIBE and PUBLISH are used.  The reply to HELLO has the
 * version; if the guess was wrong, all of it is written again.
 *
 * In a cluster, channels and fences belong to slots: slots.c does that part for each slot.
 */
#include "base/fault.h"
#include "core/text.h"
#include "engine/redis/session/inside.h"

#include <string.h>

#define SCRIPT_RIGHTS "+eval +evalsha +script ~bowline:*"

bool bwl_redis_draw(bwl_session *session, char *ret_text, size_t size)
{
    bwl_random bits;
    char       token[BWL_TOKEN_MAX + 1];

    if (!bwl_entropy_draw(&session->host->entropy, &bits))
        return false;
    bwl_token_write(token, &bits);
    assert(strlen(token) == BWL_QUEUE_BITS_SIZE);
    assert(size <= BWL_QUEUE_BITS_SIZE);
    memcpy(ret_text, token, size);
    ret_text[size] = '\0';
    return true;
}

static void write_all(bwl_session *session, bwl_resp_writer *writer)
{
    bwl_push_channel *push = &session->push;

    push->was_heard       = false;
    push->is_wrong        = false;
    push->scripts_missing = 0;
    if (!push->is_per_slot)
        bwl_queue_write_channel(writer, !push->without_shards, push->channel);
    bwl_queue_write_scripts(writer);
    if (!push->is_per_slot)
        session->owner->write_client_info(session, writer, "");
}

int bwl_push_channel_write(bwl_session *session, bwl_resp_writer *writer, bwl_fault *fault)
{
    size_t prefix = sizeof BWL_QUEUE_CHANNEL - 1;

    memcpy(session->push.channel, BWL_QUEUE_CHANNEL, prefix);
    if (!bwl_redis_draw(session, session->push.channel + prefix, BWL_QUEUE_BITS_SIZE) ||
        !session->owner->name_client(session))
        return bwl_fail_errno(fault, "the system gives no random bits");
    write_all(session, writer);
    return BWL_OK;
}

void bwl_push_channel_on_version(bwl_session *session, bool has_shards)
{
    session->push.is_wrong       = has_shards == session->push.without_shards;
    session->push.without_shards = !has_shards;
}

int bwl_push_channel_send(bwl_session *session, bool is_again, bwl_fault *fault)
{
    bwl_resp_writer writer;
    int             status = BWL_OK;

    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_QUEUE_HANDSHAKE_SIZE_MAX, &writer))
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    if (is_again)
        write_all(session, &writer);
    else
        status = bwl_push_channel_write(session, &writer, fault);
    if (status < 0)
        return status;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return bwl_stream_flush(&session->link.conn.stream, fault);
}

static int write_loads(bwl_session *session, bwl_fault *fault)
{
    bwl_resp_writer writer;

    for (unsigned i = 0; i < BWL_QUEUE_SCRIPTS; i++) {
        if ((session->push.scripts_missing & 1u << i) == 0)
            continue;
        if (!bwl_resp_stream_reserve(&session->link.conn, bwl_queue_load_size_max(i), &writer))
            return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
        bwl_queue_write_load(&writer, i);
        bwl_resp_stream_commit(&session->link.conn, &writer);
    }
    session->handshake.step = BWL_HANDSHAKE_LOAD;
    return bwl_stream_flush(&session->link.conn.stream, fault);
}

/* The server refuses a part of the handshake. */
static int refused(bwl_session *session, const char *bytes, size_t size, const char *what,
                   const char *rights, bwl_fault *fault)
{
    const char *user = session->config->user != NULL ? session->config->user : "default";

    session->handshake.is_put_off = bwl_redis_is_not_now(bytes, size);
    if (!bwl_redis_error_is(bytes, size, "NOPERM"))
        return bwl_handshake_turned_away(session, bytes, size, fault);
    (void)bwl_fail(fault, BWL_STATUS_REFUSED,
                   "%s: protocol queue %s, and may not (NOPERM): ACL SETUSER %s %s, or use "
                   "protocol=token",
                   session->endpoint.text, what, user, rights);
    memcpy(fault->server_code, "NOPERM", sizeof "NOPERM");
    return fault->status;
}

/* A server rejects an ACL rule with a command that it does not have. */
static const char *channel_rights(const bwl_session *session)
{
    return session->push.without_shards ? "+subscribe +publish &bowline:i:*"
                                        : "+ssubscribe +spublish &bowline:i:*";
}

static int no_messages(const bwl_session *session, bwl_fault *fault)
{
    return bwl_fail(fault, BWL_STATUS_REFUSED,
                    "%s does not deliver the messages that wake waiters of protocol queue: use "
                    "protocol=token",
                    session->endpoint.text);
}

static bool read_integer(const char *bytes, size_t size, int64_t *ret_number)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    if (!bwl_resp_next_bare(&cursor, &value) || value.type != ':')
        return false;
    *ret_number = value.integer;
    return true;
}

/* Only an error is a reply; success is a push. */
static int on_subscribe(bwl_session *session, const char *bytes, size_t size, bwl_fault *fault)
{
    if (!bwl_redis_is_error(bytes, size))
        return bwl_handshake_unexpected(session, fault);
    session->handshake.step = BWL_HANDSHAKE_PUBLISH;
    if (session->push.is_wrong)
        return BWL_OK;
    return refused(session, bytes, size, "subscribes to channels", channel_rights(session), fault);
}

static int on_publish(bwl_session *session, const char *bytes, size_t size, bwl_fault *fault)
{
    int64_t receivers;

    session->handshake.step = BWL_HANDSHAKE_SCRIPTS;
    if (session->push.is_wrong)
        return BWL_OK;
    if (bwl_redis_is_error(bytes, size))
        return refused(session, bytes, size, "speaks to channels", channel_rights(session), fault);
    if (!read_integer(bytes, size, &receivers) || receivers < 1)
        return no_messages(session, fault);
    return BWL_OK;
}

/* On an error, or anything else, the scripts are sent as text. */
static int on_scripts(bwl_session *session, const char *bytes, size_t size, bwl_fault *fault)
{
    if (!bwl_queue_read_scripts(bytes, size, &session->push.scripts_missing))
        session->push.scripts_missing = 0;
    if (session->push.is_per_slot)
        return session->push.scripts_missing != 0 ? write_loads(session, fault) : BWL_OK;
    session->handshake.step = BWL_HANDSHAKE_FENCE;
    return BWL_OK;
}

static int on_fence(bwl_session *session, const char *bytes, size_t size, bwl_fault *fault)
{
    int64_t number;

    if (bwl_redis_is_error(bytes, size))
        return refused(session, bytes, size, "runs scripts on its keys", SCRIPT_RIGHTS, fault);
    if (!read_integer(bytes, size, &number) || number != 1)
        return bwl_handshake_unexpected(session, fault);
    if (session->push.is_wrong) {
        session->handshake.step = BWL_HANDSHAKE_SUBSCRIBE;
        return bwl_push_channel_send(session, true, fault);
    }
    if (!session->push.was_heard)
        return no_messages(session, fault);
    return session->push.scripts_missing != 0 ? write_loads(session, fault) : BWL_OK;
}

int bwl_push_channel_on_reply(bwl_session *session, const char *bytes, size_t size,
                              bwl_fault *fault)
{
    bwl_handshake_step step = session->handshake.step;

    if (step == BWL_HANDSHAKE_SUBSCRIBE)
        return on_subscribe(session, bytes, size, fault);
    if (step == BWL_HANDSHAKE_PUBLISH)
        return on_publish(session, bytes, size, fault);
    if (step == BWL_HANDSHAKE_SCRIPTS)
        return on_scripts(session, bytes, size, fault);
    if (step == BWL_HANDSHAKE_FENCE)
        return on_fence(session, bytes, size, fault);
    assert(step == BWL_HANDSHAKE_LOAD);
    session->push.scripts_missing &= session->push.scripts_missing - 1;
    return BWL_OK;
}

/* What follows from a push may read more from the connection, into the bytes of this one. */
void bwl_push_channel_on_push(bwl_session *session, const char *bytes, size_t size)
{
    bwl_queue_push push = { .kind = BWL_PUSH_OTHER };

    if (bwl_session_uses_push(session)) /* else there is no subscription */
        push = bwl_queue_read_push(session->push.channel, bytes, size);
    if (push.kind == BWL_PUSH_SUBSCRIBED && session->phase == BWL_SESSION_HANDSHAKE &&
        session->handshake.step == BWL_HANDSHAKE_SUBSCRIBE)
        session->handshake.step = BWL_HANDSHAKE_PUBLISH;
    if (push.kind == BWL_PUSH_HELLO)
        session->push.was_heard = true;
    else if (push.kind != BWL_PUSH_OTHER)
        session->owner->on_push(session, &push);
    else
        session->owner->on_other_push(session, bytes, size);
}
