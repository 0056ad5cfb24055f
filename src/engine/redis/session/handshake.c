/*
 * handshake.c -- from a fresh connection to one that may be asked.  See session.h.
 *
 *      HELLO 3 [AUTH user password]     who we are; who you are: your version, our connection's id
 *      INFO server                      which process you are: see revalidate.c
 *      SELECT n                         if it is not database 0
 *      CLUSTER SLOTS                    if it is a node of a cluster: see cluster.h
 *      an inbox, scripts, a floor       if the protocol has a queue: see push_channel.c
 *      CLIENT KILL ID n                 if our last connection broke with questions open: what is
 *                                       still on its way of it shall not run later
 *
 * All but the last go out in one piece.  That waits for the answer to the second: numbers of
 * connections begin anew with the process, and n may be somebody else's by now.
 *
 * A server that does not know HELLO is greeted in its own language: see handshake_resp2.c.
 *
 * No question is sent before all of that is answered: after a password that was refused, Redis
 * would carry on as its default user, and so would we; after a SELECT, in the database before.  So
 * the inbox and what comes with it, which writes, waits for the answers to these, if they are said.
 */
#include "engine/redis/session/session.h"
#include "base/fault.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/quorum.h"
#include "base/secret.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VERSION_MAJOR_MIN = 6,
    VERSION_MINOR_MIN = 2,
    VERSION_OF_SHARDS = 7,
    VERSION_ROOM      = 24,
    CODE_ROOM         = 24,
    GREETING_ROOM     = 512
};

/* ---- what we say ----------------------------------------------------------------------------- */

static void write_hello(const bwl_redis_store *store, bwl_resp_writer *writer)
{
    bwl_resp_write_array(writer, store->password != NULL ? 5 : 2);
    bwl_resp_write_text(writer, "HELLO");
    bwl_resp_write_text(writer, "3");
    if (store->password != NULL) {
        bwl_resp_write_text(writer, "AUTH");
        bwl_resp_write_text(writer, store->user != NULL ? store->user : "default");
        bwl_resp_write_text(writer, store->password);
    }
}

void bwl_redis_write_rest(const bwl_redis_store *store, bwl_resp_writer *writer)
{
    bwl_resp_write_array(writer, 2);
    bwl_resp_write_text(writer, "INFO");
    bwl_resp_write_text(writer, "server");
    if (store->database != 0) {
        bwl_resp_write_array(writer, 2);
        bwl_resp_write_text(writer, "SELECT");
        bwl_resp_write_integer(writer, store->database);
    }
    bwl_redis_write_slots(store, writer);
}

static int write_kill(bwl_redis_store *store, bwl_fault *fault)
{
    bwl_resp_writer writer;

    if (!bwl_resp_stream_reserve(&store->conn, GREETING_ROOM, &writer))
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    bwl_resp_write_array(&writer, 4);
    bwl_resp_write_text(&writer, "CLIENT");
    bwl_resp_write_text(&writer, "KILL");
    bwl_resp_write_text(&writer, "ID");
    bwl_resp_write_integer(&writer, store->to_be_killed);
    bwl_resp_stream_commit(&store->conn, &writer);
    return bwl_stream_flush(&store->conn.stream, fault);
}

static int write_inbox(bwl_redis_store *store, bwl_fault *fault)
{
    bwl_resp_writer writer;

    if (!bwl_resp_stream_reserve(&store->conn, BWL_QUEUE_GREETING_ROOM, &writer))
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    int status = bwl_redis_write_inbox(store, &writer, fault);
    if (status < 0)
        return status;
    bwl_resp_stream_commit(&store->conn, &writer);
    return bwl_stream_flush(&store->conn.stream, fault);
}

static size_t room_for(const bwl_redis_store *store)
{
    size_t user     = store->user != NULL ? strlen(store->user) : 0;
    size_t password = store->password != NULL ? strlen(store->password) : 0;

    return GREETING_ROOM + user + password +
           (bwl_redis_listens(store) ? BWL_QUEUE_GREETING_ROOM : 0);
}

/* Nothing that is said before can be refused, and what comes behind it be carried out. */
static bool inbox_goes_along(const bwl_redis_store *store)
{
    return store->password == NULL && store->database == 0;
}

int bwl_redis_greet(bwl_redis_store *store, bwl_fault *fault)
{
    bwl_resp_writer writer;
    int             status = BWL_OK;

    store->phase          = BWL_REDIS_GREETING;
    store->is_resp2       = false;
    store->tracks         = false;
    store->void_answers   = 0;
    store->is_put_off     = false;
    store->phase_began_at = bwl_client_now(store->client);
    store->phase_ends_at  = bwl_later(store->phase_began_at, store->client->settings.answer_ms);
    if (!bwl_resp_stream_reserve(&store->conn, room_for(store), &writer))
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    write_hello(store, &writer);
    bwl_redis_write_rest(store, &writer);
    if (bwl_redis_listens(store) && inbox_goes_along(store))
        status = bwl_redis_write_inbox(store, &writer, fault);
    if (status < 0)
        return status;
    bwl_resp_stream_commit(&store->conn, &writer);
    store->greeting = BWL_GREET_HELLO;
    return bwl_stream_flush(&store->conn.stream, fault);
}

/* ---- what it says ---------------------------------------------------------------------------- */

typedef struct hello {
    char    version[VERSION_ROOM];
    int64_t protocol;
    int64_t id;

    bwl_resp_value role;
    bwl_resp_value mode;
} hello;

/* Nothing that would not be quoted as it is. */
static bool is_version(const bwl_resp_value *value)
{
    if (value->text == NULL || value->size >= VERSION_ROOM)
        return false;
    for (size_t i = 0; i < value->size; i++)
        if (value->text[i] <= ' ' || value->text[i] > '~')
            return false;
    return true;
}

/* The three fields that matter, of a map of many; others may come and go. */
static bool read_hello(hello *ret_hello, const char *bytes, size_t size)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  map;
    bwl_resp_value  key;
    bwl_resp_value  value;

    *ret_hello = (hello){ .protocol = 0 };
    if (!bwl_resp_next_bare(&cursor, &map) || map.type != '%')
        return false;
    while (bwl_resp_next_bare(&cursor, &key) && bwl_resp_next_bare(&cursor, &value)) {
        if (bwl_resp_text_is(&key, "version") && is_version(&value)) {
            memcpy(ret_hello->version, value.text, value.size);
            ret_hello->version[value.size] = '\0';
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

static bool is_old(const char *version)
{
    char *rest;
    long  major = strtol(version, &rest, 10);
    long  minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;

    return major < VERSION_MAJOR_MIN || (major == VERSION_MAJOR_MIN && minor < VERSION_MINOR_MIN);
}

int bwl_redis_check_age(const bwl_redis_store *store, const char *version, bwl_fault *fault)
{
    if (!is_old(version))
        return BWL_OK;
    return bwl_fail(fault, BWL_STATUS_REFUSED, "%s is Redis %s: bowline needs 6.2 or newer",
                    store->where, version);
}

void bwl_redis_error_words(const bwl_redis_store *store, char *ret_text, size_t capacity,
                           const char *bytes, size_t size)
{
    char code[CODE_ROOM];

    bwl_redis_error_text(ret_text, capacity, bytes, size);
    if (!bwl_secret_is_in(store->password, bytes, size) &&
        !bwl_secret_part_is_in(store->password, ret_text, strlen(ret_text)))
        return;
    size_t length = strspn(ret_text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (length >= sizeof code || bwl_secret_is_in(store->password, ret_text, length))
        length = 0;
    memcpy(code, ret_text, length);
    code[length] = '\0';
    if (length > 0)
        (void)snprintf(ret_text, capacity, "%s (not quoted: it repeats a part of the password)",
                       code);
    else
        (void)snprintf(ret_text, capacity,
                       "an error that is not quoted: it repeats a part of the password");
}

/* Why the server will not have us.  Its own words are quoted only where they cannot hold ours. */
static int turned_away(const bwl_redis_store *store, const char *bytes, size_t size,
                       bwl_fault *fault)
{
    char text[120];

    bwl_redis_error_words(store, text, sizeof text, bytes, size);
    /* Too many clients is an ERR without a code of its own, and passes as they go. */
    if (bwl_redis_is_not_now(bytes, size) ||
        bwl_redis_error_is(bytes, size, "ERR max number of clients"))
        (void)bwl_fail(fault, BWL_STATUS_UNREACHABLE, "%s cannot serve now: %s", store->where,
                       text);
    else if (bwl_redis_error_is(bytes, size, "WRONGPASS"))
        (void)bwl_fail(fault, BWL_STATUS_REFUSED,
                       "%s does not accept this user and password (WRONGPASS)", store->where);
    else if (bwl_redis_error_is(bytes, size, "NOAUTH"))
        (void)bwl_fail(fault, BWL_STATUS_REFUSED, "%s wants a password (NOAUTH)", store->where);
    else
        (void)bwl_fail(fault, BWL_STATUS_REFUSED, "%s: %s", store->where, text);
    bwl_redis_error_code(fault->server_code, text);
    return fault->status;
}

static int said_hello(bwl_redis_store *store, const char *bytes, size_t size, bwl_fault *fault)
{
    hello h;

    if (bwl_redis_knows_no_hello(bytes, size))
        return bwl_redis_greet_resp2(store, fault);
    if (bwl_redis_is_error(bytes, size))
        return turned_away(store, bytes, size, fault);
    if (!read_hello(&h, bytes, size) ||
        bwl_secret_is_in(store->password, h.version, strlen(h.version)))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "what answers at %s is not a Redis server that we know", store->where);
    if (bwl_redis_check_age(store, h.version, fault) < 0)
        return BWL_STATUS_REFUSED;
    if (bwl_resp_text_is(&h.mode, "sentinel"))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "%s is a sentinel, and keeps no locks: write %s+sentinel://HOST/SERVICE",
                        store->where, store->tls != NULL ? "rediss" : "redis");
    if (bwl_redis_check_mode(store, &h.mode, fault) < 0)
        return BWL_STATUS_REFUSED;
    if (bwl_redis_check_role(store, &h.role, fault) < 0)
        return BWL_STATUS_UNREACHABLE;
    if (store->cluster != NULL && bwl_redis_listens(store) &&
        strtol(h.version, NULL, 10) < VERSION_OF_SHARDS)
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "%s is Redis %s: in a cluster protocol queue needs 7.0 (SPUBLISH): use "
                        "protocol=token",
                        store->where, h.version);
    store->is_replica    = bwl_resp_text_is(&h.role, "replica");
    store->connection_id = h.id;
    if (bwl_redis_listens(store))
        bwl_redis_says_version(store, strtol(h.version, NULL, 10) >= VERSION_OF_SHARDS);
    return BWL_OK;
}

/* Forty hexadecimal digits behind "run_id:"; nothing of it if it is anything else. */
static void read_run_id(char ret_run_id[BWL_REDIS_RUN_ID_SIZE + 1], const bwl_resp_value *info)
{
    static const char mark[] = "\nrun_id:";
    const char       *end    = info->text + info->size;
    const char       *at     = memmem(info->text, info->size, mark, sizeof mark - 1);
    size_t            size   = 0;

    ret_run_id[0] = '\0';
    if (at == NULL)
        return;
    at += sizeof mark - 1;
    while (at + size < end && size <= BWL_REDIS_RUN_ID_SIZE && isxdigit((unsigned char)at[size]))
        size++;
    if (size != BWL_REDIS_RUN_ID_SIZE)
        return;
    memcpy(ret_run_id, at, size);
    ret_run_id[size] = '\0';
}

/* It will say later: while a script runs for too long, it answers HELLO and nothing else.  To go on
 * without would be to take a server that is busy for one that does not tell. */
static int put_off(bwl_redis_store *store, const char *bytes, size_t size, bwl_fault *fault)
{
    store->is_put_off = true;
    return turned_away(store, bytes, size, fault);
}

static int said_info(bwl_redis_store *store, const char *bytes, size_t size, bwl_fault *fault)
{
    char            run_id[BWL_REDIS_RUN_ID_SIZE + 1] = "";
    bwl_resp_cursor cursor                            = bwl_resp_begin(bytes, size);
    bwl_resp_value  info;

    if (bwl_redis_is_not_now(bytes, size))
        return put_off(store, bytes, size, fault);
    if (store->is_resp2 && bwl_redis_check_version(store, bytes, size, fault) < 0)
        return BWL_STATUS_REFUSED;
    if (!bwl_redis_is_error(bytes, size)) { /* else it is not for us to know */
        if (!bwl_resp_next_bare(&cursor, &info) || (info.type != '=' && info.type != '$'))
            return bwl_fail(fault, BWL_STATUS_UNREACHABLE, "%s answers what was not asked",
                            store->where);
        read_run_id(run_id, &info);
        if (store->is_of_many &&
            bwl_redis_check_independence(store, info.text, info.size, fault) < 0)
            return fault->status;
    }
    if (strcmp(store->run_id, run_id) == 0)
        return BWL_OK;
    if (store->run_id[0] != '\0')
        store->texts_due = UINT64_MAX;
    store->is_another   = store->run_id[0] != '\0' || store->cluster == NULL;
    store->to_be_killed = 0; /* it ended with its process */
    memcpy(store->run_id, run_id, sizeof run_id);
    return BWL_OK;
}

/* Gone already, killed, or not permitted: we have tried. */
static int said_kill(bwl_redis_store *store, const char *bytes, size_t size, bwl_fault *fault)
{
    if (bwl_redis_is_not_now(bytes, size))
        return put_off(store, bytes, size, fault);
    store->to_be_killed = 0;
    return BWL_OK;
}

static int said_auth(const bwl_redis_store *store, const char *bytes, size_t size, bwl_fault *fault)
{
    if (bwl_redis_is_error(bytes, size))
        return turned_away(store, bytes, size, fault);
    if (!bwl_redis_is_ok(bytes, size))
        return bwl_fail(fault, BWL_STATUS_UNREACHABLE, "%s answers what was not asked",
                        store->where);
    return BWL_OK;
}

static bwl_redis_greeting next_greeting(const bwl_redis_store *store)
{
    if (store->greeting < BWL_GREET_AUTH && store->is_resp2 && store->password != NULL)
        return BWL_GREET_AUTH;
    if (store->greeting < BWL_GREET_INFO)
        return BWL_GREET_INFO;
    if (store->greeting < BWL_GREET_SELECT && store->database != 0)
        return BWL_GREET_SELECT;
    if (store->greeting < BWL_GREET_SLOTS && bwl_redis_asks_slots(store))
        return BWL_GREET_SLOTS;
    if (store->greeting < BWL_GREET_SCRIPTS && bwl_redis_listens(store) && store->cluster != NULL)
        return BWL_GREET_SCRIPTS; /* the rest is of slots: see slots.h */
    if (store->greeting < BWL_GREET_SUBSCRIBE && bwl_redis_listens(store))
        return BWL_GREET_SUBSCRIBE;
    if (store->greeting < BWL_GREET_ID && store->is_resp2)
        return BWL_GREET_ID;
    if (store->greeting < BWL_GREET_KILL && store->to_be_killed != 0 && store->run_id[0] != '\0')
        return BWL_GREET_KILL; /* of a process that is nameless it may be somebody else's number */
    return BWL_GREET_DONE;
}

/* The inbox says itself what comes next, while more of it does. */
static int said_inbox(bwl_redis_store *store, const char *bytes, size_t size, bool *ret_more,
                      bwl_fault *fault)
{
    bwl_redis_greeting before = store->greeting;
    int                status = bwl_redis_inbox_greeted(store, bytes, size, fault);

    *ret_more =
        store->greeting != before || (before == BWL_GREET_LOAD && store->scripts_missing != 0);
    return status;
}

int bwl_redis_greeted(bwl_redis_store *store, const char *bytes, size_t size, bwl_fault *fault)
{
    int  status = BWL_OK;
    bool more   = false;

    if (store->void_answers > 0) {
        store->void_answers--;
        return BWL_OK;
    }
    switch (store->greeting) {
    case BWL_GREET_AUTH: status = said_auth(store, bytes, size, fault); break;
    case BWL_GREET_ID: store->connection_id = bwl_redis_id_of(bytes, size); break;
    case BWL_GREET_HELLO: status = said_hello(store, bytes, size, fault); break;
    case BWL_GREET_INFO: status = said_info(store, bytes, size, fault); break;
    case BWL_GREET_SELECT:
        if (bwl_redis_is_error(bytes, size))
            status = turned_away(store, bytes, size, fault);
        break;
    case BWL_GREET_SLOTS: bwl_redis_said_slots(store, bytes, size); break;
    case BWL_GREET_SUBSCRIBE:
    case BWL_GREET_PUBLISH:
    case BWL_GREET_SCRIPTS:
    case BWL_GREET_FLOOR:
    case BWL_GREET_LOAD: status = said_inbox(store, bytes, size, &more, fault); break;
    case BWL_GREET_KILL: status = said_kill(store, bytes, size, fault); break;
    case BWL_GREET_DONE: bwl_unreachable("nothing is expected any more");
    }
    if (more || status < 0)
        return status;
    store->greeting = next_greeting(store);
    if ((store->greeting == BWL_GREET_SUBSCRIBE || store->greeting == BWL_GREET_SCRIPTS) &&
        !inbox_goes_along(store))
        status = write_inbox(store, fault);
    if (store->greeting == BWL_GREET_KILL)
        status = write_kill(store, fault);
    return status;
}

/* ---- the wrong port -------------------------------------------------------------------------- */

/* A peer whose bytes are no Redis reply will not become a Redis server; another node of the cluster
 * may be one.  A slot map that is too long is not asked for again: see bwl_redis_map_broke. */
static bool is_final(const bwl_redis_store *store, const bwl_fault *fault)
{
    if (fault->status != BWL_STATUS_REFUSED || store->greeting == BWL_GREET_SLOTS)
        return false;
    return store->tls != NULL || store->cluster == NULL ||
           bwl_redis_adviser(store->cluster, store->place) == BWL_NOBODY;
}

/* A port for TLS closes the connection when it gets clear text, with or without an alert.  A server
 * that is silent is not a hint of that.  A port for clear text may read a TLS handshake and wait
 * for more. */
bool bwl_redis_suspect(const bwl_redis_store *store, bool is_silent, bwl_fault *fault)
{
    const bwl_stream *conn     = &store->conn.stream;
    bool              watched  = store->sentinel != NULL;
    bool              is_clear = store->tls == NULL && store->host != NULL;
    bwl_fault         bare     = *fault;
    const char       *suspect  = NULL;

    if (store->phase == BWL_REDIS_CONNECTING && conn->joined && !conn->heard) {
        suspect = watched ? "is this a port for TLS? At rediss+sentinel:// servers and sentinels "
                            "all speak it"
                          : "is this a port for TLS?";
    } else if (store->phase != BWL_REDIS_GREETING) {
        return false;
    } else if (is_clear && bwl_stream_sounds_like_tls(conn)) {
        (void)bwl_fail(fault, BWL_STATUS_REFUSED, "this is a port for TLS: write rediss%s://",
                       watched ? "+sentinel" : "");
        return true;
    } else if (is_clear && !conn->heard && !is_silent) {
        suspect = watched ? "if it speaks TLS, write rediss+sentinel://, where the sentinels do "
                            "as well"
                          : "if it speaks TLS, write rediss://";
    } else {
        return is_final(store, fault);
    }
    if (suspect != NULL)
        (void)bwl_fail(fault, (bwl_status)bare.status, "%s: %s", bare.text, suspect);
    return false;
}
