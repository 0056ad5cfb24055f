/*
 * handshake_resp2.c -- the handshake with a server without HELLO: behind an old proxy, or with the
 * command renamed.  See handshake.c.
 *
 *      HELLO 3                 -ERR unknown command, -NOPROTO, -NOPERM
 *      INFO server, SELECT     were sent along, perhaps without rights: their replies are skipped
 *      AUTH [user] password    if there is a password
 *      INFO server             must have the version, which no other reply has
 *      SELECT n
 *      CLIENT ID               for CLIENT KILL if this connection breaks; may fail
 *
 * Commands and replies are the same in both versions of RESP, except for nulls; the cursor reads
 * both.
 *
 * A protocol that uses pushes is refused: in RESP2 a connection with a subscription cannot send
 * commands, so it would need two connections.  docs/design/queue.md has the reasons against that.
 * Every topology of several servers is refused too: a replica would be taken for a primary.
 */
#include "base/fault.h"
#include "engine/redis/session/session.h"

#include <string.h>

enum { ROOM = 256 };

bool bwl_redis_knows_no_hello(const char *bytes, size_t size)
{
    return bwl_redis_error_is(bytes, size, "ERR unknown command") ||
           bwl_redis_error_is(bytes, size, "NOPROTO") || bwl_redis_error_is(bytes, size, "NOPERM");
}

int bwl_handshake_begin_resp2(bwl_session *session, bwl_fault *fault)
{
    bwl_resp_writer writer;
    size_t          user = session->config->user != NULL ? strlen(session->config->user) : 0;
    size_t password = session->config->password != NULL ? strlen(session->config->password) : 0;

    if (bwl_session_uses_push(session))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "%s does not know HELLO 3: protocol queue needs RESP3 (Redis 6.2 or newer, "
                        "without an old proxy); or use protocol=token",
                        session->endpoint.text);
    if (session->config->topology != BWL_TOPOLOGY_SINGLE)
        return bwl_fail(
            fault, BWL_STATUS_REFUSED,
            "%s does not know HELLO 3, which tells a primary from a replica: bowline needs "
            "Redis 6.2 or newer",
            session->endpoint.text);
    if (!bwl_resp_stream_reserve(&session->link.conn, ROOM + user + password, &writer))
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    session->server.is_resp2           = true;
    session->handshake.replies_to_skip = session->config->database != 0 ? 2 : 1;
    session->server.connection_id      = 0;
    if (session->config->user != NULL)
        bwl_resp_write(&writer, "AUTH %s %s", session->config->user, session->config->password);
    else if (session->config->password != NULL)
        bwl_resp_write(&writer, "AUTH %s", session->config->password);
    bwl_handshake_write_rest(session, &writer);
    bwl_resp_write(&writer, "CLIENT ID");
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return bwl_stream_flush(&session->link.conn.stream, fault);
}

bool bwl_redis_is_ok(const char *bytes, size_t size)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    return bwl_resp_next_bare(&cursor, &value) && value.type == '+' &&
           bwl_resp_text_is(&value, "OK");
}

int64_t bwl_redis_id_of(const char *bytes, size_t size)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    if (!bwl_resp_next_bare(&cursor, &value) || value.type != ':' || value.integer < 0)
        return 0;
    return value.integer;
}

/* The text after "redis_version:" in the reply to INFO; "" if it is missing or malformed. */
static void read_version(char ret_version[BWL_REDIS_VERSION_ROOM], const char *bytes, size_t size)
{
    static const char mark[] = "\nredis_version:";
    bwl_resp_cursor   cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value    info;
    size_t            length = 0;

    ret_version[0] = '\0';
    if (!bwl_resp_next_bare(&cursor, &info) || (info.type != '=' && info.type != '$'))
        return;
    const char *end = info.text + info.size;
    const char *at  = memmem(info.text, info.size, mark, sizeof mark - 1);
    if (at == NULL)
        return;
    at += sizeof mark - 1;
    while (at + length < end && at[length] > ' ' && at[length] <= '~')
        length++;
    if (length >= BWL_REDIS_VERSION_ROOM)
        return;
    memcpy(ret_version, at, length);
    ret_version[length] = '\0';
}

int bwl_redis_check_version(const char *where, const char *bytes, size_t size, bwl_fault *fault)
{
    char version[BWL_REDIS_VERSION_ROOM];

    read_version(version, bytes, size);
    if (version[0] == '\0')
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "%s knows neither HELLO 3 nor says which version it is (INFO server): "
                        "bowline needs Redis 6.2 or newer",
                        where);
    return bwl_redis_check_age(where, version, fault);
}
