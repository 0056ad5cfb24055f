/*
 * handshake.c -- prepares a new connection for requests.
 *
 *      HELLO 3 [AUTH user password]     the reply has version, role, and the connection's id
 *      INFO server                      the reply has the run_id of the process
 *      SELECT n                         unless it is database 0
 *      a command of the owner           for a cluster: CLUSTER SLOTS
 *      subscription, scripts, fence     if the protocol uses pushes: see push_channel.c
 *      CLIENT KILL ID n                 if the last connection broke with requests in flight, so
 *                                       that none of them is executed later
 *
 * All but the last go out in one packet.  CLIENT KILL waits for the reply to INFO: a new process
 * numbers connections from 1 again, and n may be another client's by now.
 *
 * A server without HELLO, behind an old proxy or with the command renamed, gets another handshake:
 *
 *      HELLO 3                 -ERR unknown command, -NOPROTO, -NOPERM
 *      INFO server, SELECT     were sent along, perhaps without rights: their replies are skipped
 *      AUTH [user] password    if there is a password
 *      INFO server             must have the version, which no other reply has
 *      SELECT n
 *      CLIENT ID               for CLIENT KILL if this connection breaks; may fail
 *
 * Commands and replies are the same in both versions of RESP, except for nulls; the cursor reads
 * both.  A protocol that uses pushes is refused: in RESP2 a connection with a subscription cannot
 * send commands, so it would need two connections.  docs/design/queue.md has the reasons against
 * that.  So is an owner that needs HELLO: a replica could be taken for a primary.
 *
 * No request is sent before all replies are checked: after a wrong password, Redis would continue
 * as its default user; after a failed SELECT, in database 0.  The subscription and its scripts
 * write, so they wait for those replies if there is a password or a SELECT.
 */
#include "base/fault.h"
#include "base/secret.h"
#include "engine/redis/session/inside.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    VERSION_MAJOR_MIN = 6,
    VERSION_MINOR_MIN = 2,
    VERSION_OF_SHARDS = 7, /* the first version with SSUBSCRIBE, SPUBLISH */
    HANDSHAKE_ROOM    = 512,
};

/* ---- commands -------------------------------------------------------------------------------- */

static int no_memory(bwl_fault *fault)
{
    return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
}

/* INFO, SELECT and the owner's command, which every handshake has. */
static void write_rest(bwl_session *session, bwl_resp_writer *writer)
{
    bwl_resp_write(writer, "INFO server");
    if (session->config->database != 0)
        bwl_resp_write(writer, "SELECT %lld", (long long)session->config->database);
    if (session->owner->write_query != NULL)
        (void)session->owner->write_query(session, writer);
}

static int write_kill(bwl_session *session, bwl_fault *fault)
{
    if (!bwl_resp_stream_write(&session->link.conn, HANDSHAKE_ROOM, "CLIENT KILL ID %lld",
                               (long long)session->server.to_be_killed))
        return no_memory(fault);
    return bwl_stream_flush(&session->link.conn.stream, fault);
}

static size_t room_for(const bwl_session *session)
{
    const bwl_redis_config *config   = session->config;
    size_t                  user     = config->user != NULL ? strlen(config->user) : 0;
    size_t                  password = config->password != NULL ? strlen(config->password) : 0;

    return HANDSHAKE_ROOM + user + password +
           (bwl_session_uses_push(session) ? BWL_QUEUE_HANDSHAKE_SIZE_MAX : 0);
}

/* True if no AUTH or SELECT before it can fail. */
static bool push_channel_goes_along(const bwl_session *session)
{
    return session->config->password == NULL && session->config->database == 0;
}

int bwl_handshake_begin(bwl_session *session, bwl_fault *fault)
{
    bwl_resp_writer writer;
    int             status = BWL_OK;

    session->handshake          = (bwl_handshake){ .step = BWL_HANDSHAKE_HELLO };
    session->server.is_resp2    = false;
    session->server.tracks_keys = false;
    session->phase              = BWL_SESSION_HANDSHAKE;
    session->phase_began_at     = bwl_host_now(session->host);
    session->phase_ends_at = bwl_ms_add(session->phase_began_at, session->host->settings.answer_ms);
    if (!bwl_resp_stream_reserve(&session->link.conn, room_for(session), &writer))
        return no_memory(fault);
    bwl_redis_write_hello(&writer, session->config->user, session->config->password);
    write_rest(session, &writer);
    if (bwl_session_uses_push(session) && push_channel_goes_along(session))
        status = bwl_push_channel_write(session, &writer, fault);
    if (status < 0)
        return status;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return bwl_stream_flush(&session->link.conn.stream, fault);
}

bool bwl_redis_knows_no_hello(const char *bytes, size_t size)
{
    return bwl_redis_error_is(bytes, size, "ERR unknown command") ||
           bwl_redis_error_is(bytes, size, "NOPROTO") || bwl_redis_error_is(bytes, size, "NOPERM");
}

/* Starts again without HELLO.  REFUSED: this protocol or owner needs HELLO. */
static int begin_resp2(bwl_session *session, bwl_fault *fault)
{
    const bwl_redis_config *config = session->config;
    bwl_resp_writer         writer;

    if (bwl_session_uses_push(session))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "%s does not know HELLO 3: protocol queue needs RESP3 (Redis 6.2 or newer, "
                        "without an old proxy); or use protocol=token",
                        session->endpoint.text);
    if (session->owner->traits.needs_hello)
        return bwl_fail(
            fault, BWL_STATUS_REFUSED,
            "%s does not know HELLO 3, which tells a primary from a replica: bowline needs "
            "Redis 6.2 or newer",
            session->endpoint.text);
    if (!bwl_resp_stream_reserve(&session->link.conn, room_for(session), &writer))
        return no_memory(fault);
    session->server.is_resp2           = true;
    session->handshake.replies_to_skip = config->database != 0 ? 2 : 1;
    session->server.connection_id      = 0;
    if (config->user != NULL)
        bwl_resp_write(&writer, "AUTH %s %s", config->user, config->password);
    else if (config->password != NULL)
        bwl_resp_write(&writer, "AUTH %s", config->password);
    write_rest(session, &writer);
    bwl_resp_write(&writer, "CLIENT ID");
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return bwl_stream_flush(&session->link.conn.stream, fault);
}

/* ---- HELLO ----------------------------------------------------------------------------------- */

/* Printable ASCII without spaces that fits. */
static bool take_version(char ret_version[BWL_REDIS_VERSION_ROOM], const char *text, size_t size)
{
    if (text == NULL || size == 0 || size >= BWL_REDIS_VERSION_ROOM)
        return false;
    for (size_t i = 0; i < size; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    memcpy(ret_version, text, size);
    ret_version[size] = '\0';
    return true;
}

/* Reads the five fields that matter; others may be present. */
static bool read_hello(bwl_hello *ret_hello, const char *bytes, size_t size)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  map;
    bwl_resp_value  key;
    bwl_resp_value  value;

    *ret_hello = (bwl_hello){ .protocol = 0 };
    if (!bwl_resp_next_bare(&cursor, &map) || map.type != '%')
        return false;
    while (bwl_resp_next_bare(&cursor, &key) && bwl_resp_next_bare(&cursor, &value)) {
        if (bwl_resp_text_is(&key, "version")) {
            (void)take_version(ret_hello->version, value.text, value.size); /* (void): "" then */
        } else if (bwl_resp_text_is(&key, "proto") && value.type == ':') {
            ret_hello->protocol = value.integer;
        } else if (bwl_resp_text_is(&key, "id") && value.type == ':') {
            ret_hello->id = value.integer;
        } else if (bwl_resp_text_is(&key, "role")) {
            ret_hello->role = value;
        } else if (bwl_resp_text_is(&key, "mode")) {
            ret_hello->mode = value;
        }
        bwl_resp_skip(&cursor, &value);
    }
    return ret_hello->protocol == 3 && ret_hello->version[0] != '\0';
}

long bwl_redis_major(const char *version)
{
    return strtol(version, NULL, 10);
}

/* OK; REFUSED: the server is older than bowline's minimum version. */
static int check_age(const char *where, const char *version, bwl_fault *fault)
{
    char *rest;
    long  major = strtol(version, &rest, 10);
    long  minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;

    if (major > VERSION_MAJOR_MIN || (major == VERSION_MAJOR_MIN && minor >= VERSION_MINOR_MIN))
        return BWL_OK;
    return bwl_fail(fault, BWL_STATUS_REFUSED, "%s is Redis %s: bowline needs 6.2 or newer", where,
                    version);
}

int bwl_handshake_unexpected(const bwl_session *session, bwl_fault *fault)
{
    return bwl_fail(fault, BWL_STATUS_UNREACHABLE, "%s sent an unexpected reply",
                    session->endpoint.text);
}

int bwl_handshake_turned_away(bwl_session *session, const char *bytes, size_t size,
                              bwl_fault *fault)
{
    const char *where = session->endpoint.text;
    char        text[120];

    bwl_session_error_text(session->config, text, sizeof text, bytes, size);
    /* Too many clients is an ERR without a code of its own, and is temporary. */
    if (bwl_redis_is_not_now(bytes, size) ||
        bwl_redis_error_is(bytes, size, "ERR max number of clients"))
        (void)bwl_fail(fault, BWL_STATUS_UNREACHABLE, "%s cannot serve now: %s", where, text);
    else if (bwl_redis_error_is(bytes, size, "WRONGPASS"))
        (void)bwl_fail(fault, BWL_STATUS_REFUSED,
                       "%s does not accept this user and password (WRONGPASS)", where);
    else if (bwl_redis_error_is(bytes, size, "NOAUTH"))
        (void)bwl_fail(fault, BWL_STATUS_REFUSED, "%s wants a password (NOAUTH)", where);
    else
        (void)bwl_fail(fault, BWL_STATUS_REFUSED, "%s: %s", where, text);
    bwl_redis_error_code(fault->server_code, text);
    return fault->status;
}

static int on_hello(bwl_session *session, const char *bytes, size_t size, bwl_fault *fault)
{
    const bwl_redis_config *config = session->config;
    const char             *where  = session->endpoint.text;
    bwl_hello               hello;

    if (bwl_redis_knows_no_hello(bytes, size))
        return begin_resp2(session, fault);
    if (bwl_redis_is_error(bytes, size))
        return bwl_handshake_turned_away(session, bytes, size, fault);
    if (!read_hello(&hello, bytes, size) ||
        bwl_secret_is_in(config->password, hello.version, strlen(hello.version)))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "what answers at %s is not a Redis server that we know", where);
    if (check_age(where, hello.version, fault) < 0)
        return BWL_STATUS_REFUSED;
    if (bwl_resp_text_is(&hello.mode, "sentinel"))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "%s is a sentinel, and keeps no locks: write %s+sentinel://HOST/SERVICE",
                        where, config->tls != NULL ? "rediss" : "redis");
    int status = session->owner->check_hello(session, &hello, fault);
    if (status < 0)
        return status;
    session->server.is_replica    = bwl_resp_text_is(&hello.role, "replica");
    session->server.connection_id = hello.id;
    if (bwl_session_uses_push(session))
        bwl_push_channel_on_version(session, bwl_redis_major(hello.version) >= VERSION_OF_SHARDS);
    return BWL_OK;
}

/* ---- INFO ------------------------------------------------------------------------------------ */

const char *bwl_redis_info_field(const char *info, size_t size, const char *mark, size_t *ret_size)
{
    const char *at = memmem(info, size, mark, strlen(mark));

    if (at == NULL)
        return NULL;
    at += strlen(mark);
    size_t      rest = (size_t)(info + size - at);
    const char *end  = memchr(at, '\r', rest);
    *ret_size        = end != NULL ? (size_t)(end - at) : rest;
    return at;
}

/* Forty hexadecimal digits; "" for anything else. */
static void read_run_id(char ret_run_id[BWL_REDIS_RUN_ID_SIZE + 1], const bwl_resp_value *info)
{
    size_t      size = 0;
    const char *at   = bwl_redis_info_field(info->text, info->size, "\nrun_id:", &size);

    ret_run_id[0] = '\0';
    if (at == NULL || size != BWL_REDIS_RUN_ID_SIZE)
        return;
    for (size_t i = 0; i < size; i++)
        if (!isxdigit((unsigned char)at[i]))
            return;
    memcpy(ret_run_id, at, size);
    ret_run_id[size] = '\0';
}

/* For a server without HELLO.  info NULL: an error. */
static int check_version(const char *where, const bwl_resp_value *info, bwl_fault *fault)
{
    char        version[BWL_REDIS_VERSION_ROOM];
    size_t      size = 0;
    const char *at   = NULL;

    if (info != NULL)
        at = bwl_redis_info_field(info->text, info->size, "\nredis_version:", &size);
    if (!take_version(version, at, size))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "%s knows neither HELLO 3 nor says which version it is (INFO server): "
                        "bowline needs Redis 6.2 or newer",
                        where);
    return check_age(where, version, fault);
}

/* A server in which a script runs for too long answers only HELLO.  Without this check, a busy
 * server would count as one that has no run_id. */
static int back_off_busy(bwl_session *session, const char *bytes, size_t size, bwl_fault *fault)
{
    session->handshake.is_put_off = true;
    return bwl_handshake_turned_away(session, bytes, size, fault);
}

/* The run_id has changed. */
static void on_new_process(bwl_session *session, const char *run_id)
{
    bwl_server_info *server   = &session->server;
    bool             is_known = server->run_id[0] != '\0';

    if (is_known)
        session->scripts.unknown = UINT64_MAX;
    /* The first process seen of a server with slots has lost no grant: other servers granted what
     * is held. */
    server->was_restarted = is_known || session->owner->slots == NULL;
    server->to_be_killed  = 0; /* the connection ended with its process */
    memcpy(server->run_id, run_id, sizeof server->run_id);
}

static int on_info(bwl_session *session, const char *bytes, size_t size, bwl_fault *fault)
{
    char            run_id[BWL_REDIS_RUN_ID_SIZE + 1] = "";
    bwl_resp_cursor cursor                            = bwl_resp_begin(bytes, size);
    bwl_resp_value  info;
    bool is_info = bwl_resp_next_bare(&cursor, &info) && (info.type == '=' || info.type == '$');

    if (bwl_redis_is_not_now(bytes, size))
        return back_off_busy(session, bytes, size, fault);
    if (session->server.is_resp2 &&
        check_version(session->endpoint.text, is_info ? &info : NULL, fault) < 0)
        return BWL_STATUS_REFUSED;
    if (!is_info && !bwl_redis_is_error(bytes, size))
        return bwl_handshake_unexpected(session, fault);
    if (is_info) { /* an error: this user may not run INFO */
        read_run_id(run_id, &info);
        int status = session->owner->check_info != NULL
                         ? session->owner->check_info(session, info.text, info.size, fault)
                         : BWL_OK;
        if (status < 0)
            return status;
    }
    if (strcmp(session->server.run_id, run_id) != 0)
        on_new_process(session, run_id);
    return BWL_OK;
}

/* ---- the others ------------------------------------------------------------------------------ */

/* The connection has ended already, was killed now, or this user may not kill it. */
static int on_kill(bwl_session *session, const char *bytes, size_t size, bwl_fault *fault)
{
    if (bwl_redis_is_not_now(bytes, size))
        return back_off_busy(session, bytes, size, fault);
    session->server.to_be_killed = 0;
    return BWL_OK;
}

static int on_auth(bwl_session *session, const char *bytes, size_t size, bwl_fault *fault)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    if (bwl_redis_is_error(bytes, size))
        return bwl_handshake_turned_away(session, bytes, size, fault);
    if (!bwl_resp_next_bare(&cursor, &value) || value.type != '+' ||
        !bwl_resp_text_is(&value, "OK"))
        return bwl_handshake_unexpected(session, fault);
    return BWL_OK;
}

static int on_select(bwl_session *session, const char *bytes, size_t size, bwl_fault *fault)
{
    return bwl_redis_is_error(bytes, size) ? bwl_handshake_turned_away(session, bytes, size, fault)
                                           : BWL_OK;
}

static int on_id(bwl_session *session, const char *bytes, size_t size)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  id     = { .integer = 0 };

    session->server.connection_id =
        bwl_resp_next_bare(&cursor, &id) && id.type == ':' && id.integer > 0 ? id.integer : 0;
    return BWL_OK;
}

static bwl_handshake_step next_step(bwl_session *session)
{
    const bwl_redis_config *config = session->config;
    const bwl_server_info  *server = &session->server;
    bwl_handshake_step      step   = session->handshake.step;

    if (step < BWL_HANDSHAKE_AUTH && server->is_resp2 && config->password != NULL)
        return BWL_HANDSHAKE_AUTH;
    if (step < BWL_HANDSHAKE_INFO)
        return BWL_HANDSHAKE_INFO;
    if (step < BWL_HANDSHAKE_SELECT && config->database != 0)
        return BWL_HANDSHAKE_SELECT;
    if (step < BWL_HANDSHAKE_QUERY && session->owner->write_query != NULL &&
        session->owner->write_query(session, NULL))
        return BWL_HANDSHAKE_QUERY;
    if (step < BWL_HANDSHAKE_SCRIPTS && bwl_session_uses_push(session) && session->push.is_per_slot)
        return BWL_HANDSHAKE_SCRIPTS;
    if (step < BWL_HANDSHAKE_SUBSCRIBE && bwl_session_uses_push(session))
        return BWL_HANDSHAKE_SUBSCRIBE;
    if (step < BWL_HANDSHAKE_ID && server->is_resp2)
        return BWL_HANDSHAKE_ID;
    if (step < BWL_HANDSHAKE_KILL && server->to_be_killed != 0 && server->run_id[0] != '\0')
        return BWL_HANDSHAKE_KILL; /* without a run_id, the id may be another client's */
    return BWL_HANDSHAKE_DONE;
}

/* While the push channel needs more replies, it sets the next step itself. */
static int on_push_channel(bwl_session *session, const char *bytes, size_t size, bool *ret_more,
                           bwl_fault *fault)
{
    bwl_handshake_step before = session->handshake.step;
    int                status = bwl_push_channel_on_reply(session, bytes, size, fault);

    *ret_more = session->handshake.step != before ||
                (before == BWL_HANDSHAKE_LOAD && session->push.scripts_missing != 0);
    return status;
}

static int on_reply(bwl_session *session, const char *bytes, size_t size, bool *ret_more,
                    bwl_fault *fault)
{
    switch (session->handshake.step) {
    case BWL_HANDSHAKE_AUTH: return on_auth(session, bytes, size, fault);
    case BWL_HANDSHAKE_ID: return on_id(session, bytes, size);
    case BWL_HANDSHAKE_HELLO: return on_hello(session, bytes, size, fault);
    case BWL_HANDSHAKE_INFO: return on_info(session, bytes, size, fault);
    case BWL_HANDSHAKE_SELECT: return on_select(session, bytes, size, fault);
    case BWL_HANDSHAKE_QUERY: session->owner->on_query(session, bytes, size); return BWL_OK;
    case BWL_HANDSHAKE_SUBSCRIBE:
    case BWL_HANDSHAKE_PUBLISH:
    case BWL_HANDSHAKE_SCRIPTS:
    case BWL_HANDSHAKE_FENCE:
    case BWL_HANDSHAKE_LOAD: return on_push_channel(session, bytes, size, ret_more, fault);
    case BWL_HANDSHAKE_KILL: return on_kill(session, bytes, size, fault);
    case BWL_HANDSHAKE_DONE: break;
    }
    bwl_unreachable("no reply is expected any more");
}

int bwl_handshake_on_reply(bwl_session *session, const char *bytes, size_t size, bwl_fault *fault)
{
    bwl_handshake *handshake = &session->handshake;
    bool           more      = false;

    if (handshake->replies_to_skip > 0) {
        handshake->replies_to_skip--;
        return BWL_OK;
    }
    int status = on_reply(session, bytes, size, &more, fault);
    if (more || status < 0)
        return status;
    handshake->step = next_step(session);
    if ((handshake->step == BWL_HANDSHAKE_SUBSCRIBE || handshake->step == BWL_HANDSHAKE_SCRIPTS) &&
        !push_channel_goes_along(session))
        status = bwl_push_channel_send(session, false, fault);
    if (handshake->step == BWL_HANDSHAKE_KILL)
        status = write_kill(session, fault);
    return status;
}

/* ---- the wrong port -------------------------------------------------------------------------- */

/* A peer that does not speak RESP will not become a Redis server; another server may be one.  A map
 * of slots that is too long is not requested again. */
static bool is_final(const bwl_session *session, const bwl_fault *fault)
{
    if (fault->status != BWL_STATUS_REFUSED || session->handshake.step == BWL_HANDSHAKE_QUERY)
        return false;
    return session->config->tls != NULL || session->owner->has_alternative == NULL ||
           !session->owner->has_alternative(session);
}

/* A TLS port that gets clear text closes the connection, with or without an alert; silence is no
 * hint.  A clear-text port may read a TLS handshake and wait for more. */
bool bwl_handshake_add_hint(const bwl_session *session, bool is_silent, bwl_fault *fault)
{
    const bwl_stream *stream    = &session->link.conn.stream;
    const char       *scheme    = session->owner->traits.tls_scheme;
    const char       *note      = session->owner->traits.tls_note;
    bool              is_clear  = session->config->tls == NULL && session->endpoint.host != NULL;
    bwl_fault         bare      = *fault;
    char              at[64]    = "";
    char              where[64] = "";

    if (note != NULL) {
        (void)snprintf(at, sizeof at, " At %s:// %s", scheme, note);
        (void)snprintf(where, sizeof where, ", where %s", note);
    }
    if (session->phase == BWL_SESSION_CONNECTING && stream->joined && !stream->heard) {
        (void)bwl_fail(fault, (bwl_status)bare.status, "%s: is this a port for TLS?%s", bare.text,
                       at);
    } else if (session->phase != BWL_SESSION_HANDSHAKE) {
        return false;
    } else if (is_clear && bwl_stream_sounds_like_tls(stream)) {
        (void)bwl_fail(fault, BWL_STATUS_REFUSED, "this is a port for TLS: write %s://", scheme);
        return true;
    } else if (is_clear && !stream->heard && !is_silent) {
        (void)bwl_fail(fault, (bwl_status)bare.status, "%s: if it speaks TLS, write %s://%s",
                       bare.text, scheme, where);
    } else {
        return is_final(session, fault);
    }
    return false;
}
