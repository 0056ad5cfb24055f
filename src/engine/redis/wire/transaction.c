/*
 * transaction.c -- see transaction.h.
 *
 *  READ     WATCH key, GET key, MULTI     +OK, bulk or null, +OK: YES
 *  SET      SET key value KEEPTTL, EXEC   +QUEUED, [+OK]: YES      null: NO
 *           SET key value, EXEC           (no expiry)
 *           SET key value PX ms, EXEC
 *  DELETE   DEL key, EXEC                 +QUEUED, [:0] or [:1]: YES      null: NO
 *  LEAVE    DISCARD                       +OK: YES
 *
 * An error in any frame is the reply: the server then carries out nothing of the transaction
 * (EXECABORT).  +OK as the reply to SET means that the server did not queue the SET, but carried it
 * out at once.  That is STRANGE.
 */
#include "engine/redis/wire/transaction.h"

enum { ROOM = 128 }; /* for three commands without key and value */

static void write_set(bwl_resp_writer *writer, const bwl_transaction_args *args)
{
    int  key   = (int)args->key_size;
    int  value = (int)args->value_size;
    bool keeps = args->lasts_ms == 0;

    if (keeps)
        bwl_resp_write(writer, "SET %.*s %.*s KEEPTTL", key, args->key, value, args->value);
    else if (args->lasts_ms == BWL_NEVER)
        bwl_resp_write(writer, "SET %.*s %.*s", key, args->key, value, args->value);
    else
        bwl_resp_write(writer, "SET %.*s %.*s PX %lld", key, args->key, value, args->value,
                       (long long)args->lasts_ms);
}

size_t bwl_transaction_size_max(const bwl_transaction_args *args)
{
    bool is_set = args->command == TRANSACTION_SET;

    return ROOM + 2 * (args->key_size + 16) + (is_set ? args->value_size : 0);
}

void bwl_transaction_write(bwl_resp_writer *writer, const bwl_transaction_args *args)
{
    int key = (int)args->key_size;

    switch (args->command) {
    case TRANSACTION_READ:
        bwl_resp_write(writer, "WATCH %.*s", key, args->key);
        bwl_resp_write(writer, "GET %.*s", key, args->key);
        bwl_resp_write(writer, "MULTI");
        return;
    case TRANSACTION_SET: write_set(writer, args); break;
    case TRANSACTION_DELETE: bwl_resp_write(writer, "DEL %.*s", key, args->key); break;
    case TRANSACTION_LEAVE: bwl_resp_write(writer, "DISCARD"); return;
    }
    bwl_resp_write(writer, "EXEC");
}

unsigned bwl_transaction_frames(bwl_transaction_command command)
{
    return command == TRANSACTION_READ ? 3 : command == TRANSACTION_LEAVE ? 1 : 2;
}

bool bwl_transaction_shows_value(bwl_transaction_command command, unsigned nth)
{
    return command == TRANSACTION_READ && nth == 1;
}

/* ---- replies --------------------------------------------------------------------------------- */

static bwl_redis_verdict answer(bwl_transaction_reply *ret_reply, bwl_answer answer_)
{
    ret_reply->answer = answer_;
    return BWL_REDIS_ANSWER;
}

static bwl_redis_verdict read_error(const char *bytes, size_t size, bool shows_value,
                                    bwl_transaction_reply *ret_reply)
{
    ret_reply->error      = bytes;
    ret_reply->error_size = size;
    if (shows_value && bwl_redis_error_is(bytes, size, "WRONGTYPE"))
        return answer(ret_reply, BWL_FOREIGN_VALUE);
    return answer(ret_reply, bwl_redis_is_not_now(bytes, size) ? BWL_RETRYABLE : BWL_REFUSED);
}

static bwl_redis_verdict read_text(const bwl_resp_value *value, const char *text,
                                   bwl_transaction_reply *ret_reply)
{
    if (value->type != '+' || !bwl_resp_text_is(value, text))
        return BWL_REDIS_STRANGE;
    return answer(ret_reply, BWL_YES);
}

static bwl_redis_verdict read_value(const bwl_resp_value *value, bwl_transaction_reply *ret_reply)
{
    if (value->type != '$' && value->type != '_')
        return BWL_REDIS_STRANGE;
    if (value->type == '$') {
        ret_reply->value      = value->text;
        ret_reply->value_size = value->size;
    }
    return answer(ret_reply, BWL_YES);
}

/* The reply to EXEC: an array with the one reply; null: not carried out. */
static bwl_redis_verdict read_exec(bwl_transaction_command command, bwl_resp_cursor *cursor,
                                   const bwl_resp_value *value, bwl_transaction_reply *ret_reply)
{
    bwl_resp_value done;
    size_t         at = cursor->at;

    if (value->type == '_')
        return answer(ret_reply, BWL_NO);
    if (value->type != '*' || value->count != 1 || !bwl_resp_next_bare(cursor, &done))
        return BWL_REDIS_STRANGE;
    if (done.type == '-' || done.type == '!')
        return read_error(cursor->bytes + at, cursor->at - at, false, ret_reply);
    if (command == TRANSACTION_SET)
        return read_text(&done, "OK", ret_reply);
    if (done.type != ':' || (done.integer != 0 && done.integer != 1))
        return BWL_REDIS_STRANGE;
    return answer(ret_reply, BWL_YES);
}

bwl_redis_verdict bwl_transaction_read(bwl_transaction_command command, unsigned nth,
                                       const char *bytes, size_t size,
                                       bwl_transaction_reply *ret_reply)
{
    bool           shows_value = bwl_transaction_shows_value(command, nth);
    bwl_resp_value value;

    assert(nth < bwl_transaction_frames(command));
    *ret_reply = (bwl_transaction_reply){ .is_long = bytes == NULL };
    if (bytes == NULL)
        return shows_value ? answer(ret_reply, BWL_FOREIGN_VALUE) : BWL_REDIS_STRANGE;
    if (bwl_redis_is_error(bytes, size))
        return read_error(bytes, size, shows_value, ret_reply);
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    if (!bwl_resp_next_bare(&cursor, &value))
        return BWL_REDIS_STRANGE;
    switch (command) {
    case TRANSACTION_READ:
        return shows_value ? read_value(&value, ret_reply) : read_text(&value, "OK", ret_reply);
    case TRANSACTION_SET:
    case TRANSACTION_DELETE:
        if (nth == 0)
            return read_text(&value, "QUEUED", ret_reply);
        return read_exec(command, &cursor, &value, ret_reply);
    case TRANSACTION_LEAVE: return read_text(&value, "OK", ret_reply);
    }
    bwl_unreachable("a command outside of its enum");
}
