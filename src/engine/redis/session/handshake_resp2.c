/*
 * handshake_resp2.c -- the greeting of a server that does not know HELLO: an old proxy before it,
 * or an operator who has renamed the command.  See handshake.c.
 *
 *      HELLO 3                 -ERR unknown command, -NOPROTO, -NOPERM
 *      INFO server, SELECT     said with it, and answered: as nobody, perhaps.  Passed over
 *      AUTH [user] password    if there is one
 *      INFO server             here it must say which version it is: nothing else does
 *      SELECT n
 *      CLIENT ID               to kill this connection by, if it breaks; it may not be known
 *
 * What is asked and answered afterwards is the same in both versions of the language, up to how
 * nothing is written, and the cursor reads either.
 *
 * A protocol that listens is refused: in version 2 a connection that listens cannot ask, so asking
 * and listening would be two connections.  docs/design/queue.md says what is wrong with that.
 * Whoever is one of several is refused as well: a replica would be taken for a primary.
 */
#include "base/fault.h"
#include "engine/redis/session/session.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 256, VERSION_ROOM = 24 };

bool bwl_redis_knows_no_hello(const char *bytes, size_t size)
{
    return bwl_redis_error_is(bytes, size, "ERR unknown command") ||
           bwl_redis_error_is(bytes, size, "NOPROTO") || bwl_redis_error_is(bytes, size, "NOPERM");
}

static void write_auth(const bwl_redis_store *store, bwl_resp_writer *writer)
{
    bwl_resp_write_array(writer, store->user != NULL ? 3 : 2);
    bwl_resp_write_text(writer, "AUTH");
    if (store->user != NULL)
        bwl_resp_write_text(writer, store->user);
    bwl_resp_write_text(writer, store->password);
}

int bwl_redis_greet_resp2(bwl_redis_store *store, bwl_fault *fault)
{
    bwl_resp_writer writer;
    size_t          user     = store->user != NULL ? strlen(store->user) : 0;
    size_t          password = store->password != NULL ? strlen(store->password) : 0;

    if (bwl_redis_listens(store))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "%s does not know HELLO 3, and so cannot say whose turn it is: protocol "
                        "queue needs RESP3 (Redis 6.2 or newer, no old proxy before it); or use "
                        "protocol=token",
                        store->where);
    if (store->cluster != NULL || store->sentinel != NULL || store->is_of_many)
        return bwl_fail(
            fault, BWL_STATUS_REFUSED,
            "%s does not know HELLO 3, by which one of several servers says what it is, "
            "primary or replica: bowline needs Redis 6.2 or newer",
            store->where);
    if (!bwl_resp_stream_reserve(&store->conn, ROOM + user + password, &writer))
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    store->is_resp2      = true;
    store->void_answers  = store->database != 0 ? 2 : 1;
    store->connection_id = 0;
    if (store->password != NULL)
        write_auth(store, &writer);
    bwl_redis_write_rest(store, &writer);
    bwl_resp_write_array(&writer, 2);
    bwl_resp_write_text(&writer, "CLIENT");
    bwl_resp_write_text(&writer, "ID");
    bwl_resp_stream_commit(&store->conn, &writer);
    return bwl_stream_flush(&store->conn.stream, fault);
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

/* What is behind "redis_version:" of what INFO says; "" if it does not, or says anything odd. */
static void read_version(char ret_version[VERSION_ROOM], const char *bytes, size_t size)
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
    if (length >= VERSION_ROOM)
        return;
    memcpy(ret_version, at, length);
    ret_version[length] = '\0';
}

int bwl_redis_check_version(const bwl_redis_store *store, const char *bytes, size_t size,
                            bwl_fault *fault)
{
    char version[VERSION_ROOM];

    read_version(version, bytes, size);
    if (version[0] == '\0')
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "%s knows neither HELLO 3 nor says which version it is (INFO server): "
                        "bowline needs Redis 6.2 or newer",
                        store->where);
    return bwl_redis_check_age(store, version, fault);
}
