/*
 * batch.c -- many commands as one call of a script: see commands.h.
 *
 *  extensions   EVALSHA script n key ... value ... lease      :n        [1, 0, -1, ...]
 *  heartbeats   EVALSHA script 3n L Q B ... value entry ...   [rank, left, kind, ..., time]
 *  TAKE         EVALSHA script 2n+1 F L Q ... value ... lease  [n, [left, kind], -1, ...]
 *
 * A number: YES for each.  An array: for each key 1 (YES), 0 (NO), or -1 (send this one alone).  Of
 * heartbeats, for each the fields of a QUEUED reply (NO), or a rank of -1 (send this one alone).
 * Of TAKE, for each what makes its fence (YES), the fields of BUSY (NO), or -1 (send this one
 * alone).
 *
 * An error is the reply to the whole call.  If the server cannot serve now, it would be the same
 * for each.  Any other error may be about one key only: an ACL forbids it, or another node of a
 * cluster has it.  So each is then sent alone.
 */
#include "engine/redis/wire/commands.h"
#include "engine/redis/wire/queue.h"
#include "engine/redis/wire/scripts.h"

enum {
    HEARTBEAT_FIELDS = 3,
    ROOM             = 256, /* for what all have together, without the text of the script */
    BULK_ROOM        = 32,  /* around a key; with what is added to it */
};

/* What each lock has in the command, and all have together. */
typedef struct form {
    bwl_script_id script;
    unsigned      min; /* locks */
    unsigned      keys;
    unsigned      arguments;
    unsigned      common_keys; /* before the others */
    unsigned      common_arguments;
} form;

static form form_of(bwl_redis_command command)
{
    if (command == REDIS_QUEUE_HEARTBEAT)
        return (
            form){ .script = BWL_SCRIPT_QUEUE_HEARTBEAT_EACH, .min = 4, .keys = 3, .arguments = 2 };
    if (command == REDIS_QUEUE_TAKE)
        return (form){ .script           = BWL_SCRIPT_QUEUE_TAKE_EACH,
                       .min              = 2,
                       .keys             = 2,
                       .arguments        = 1,
                       .common_keys      = 1,
                       .common_arguments = 1 };
    return (form){ .script           = BWL_SCRIPT_EXTEND_EACH_IF_MINE,
                   .min              = 4,
                   .keys             = 1,
                   .arguments        = 1,
                   .common_arguments = 1 };
}

_Static_assert(HEARTBEAT_FIELDS *(int)BWL_BATCH_MAX < (int)BWL_RESP_ELEMENTS_MAX,
               "a frame has room for each reply");

bool bwl_batch_takes(bwl_redis_command command, int64_t number)
{
    return command == REDIS_EXTEND_IF_MINE || command == REDIS_QUEUE_EXTEND ||
           command == REDIS_QUEUE_TAKE || (command == REDIS_QUEUE_HEARTBEAT && number != 0);
}

size_t bwl_batch_min(bwl_redis_command command)
{
    return form_of(command).min;
}

size_t bwl_batch_size_max(bwl_redis_command command, unsigned count, size_t keys_size)
{
    form has = form_of(command);

    return ROOM + bwl_scripts[has.script].size + has.keys * keys_size +
           count * (has.keys * (size_t)BULK_ROOM + BULK_ROOM + BWL_VALUE_MAX +
                    (size_t)BWL_QUEUE_MEMBER_MAX);
}

void bwl_batch_write(bwl_resp_writer *writer, const bwl_redis_command_args *args, unsigned count)
{
    form     has       = form_of(args->command);
    unsigned keys      = has.common_keys + has.keys * count;
    unsigned arguments = has.common_arguments + has.arguments * count;

    assert(count >= 1);
    assert(count <= BWL_BATCH_MAX);
    bwl_redis_write_script(writer, &bwl_scripts[has.script], args->use_eval, keys,
                           keys + arguments);
    if (args->command == REDIS_QUEUE_TAKE)
        bwl_resp_write_text(writer, bwl_queue_fences_key(args->self->tag).text);
}

void bwl_batch_write_keys(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    char queue[BWL_KEY_BESIDE_MAX];

    if (args->command == REDIS_QUEUE_HEARTBEAT) {
        bwl_queue_write_keys_of_lock(writer, args);
        return;
    }
    bwl_resp_write_bulk(writer, args->key, args->key_size);
    if (args->command == REDIS_QUEUE_TAKE)
        bwl_resp_write_bulk(writer, queue, bwl_queue_waiters_key(queue, args->key, args->key_size));
}

void bwl_batch_write_arguments(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    bwl_redis_write_value(writer, args);
    if (args->command == REDIS_QUEUE_HEARTBEAT)
        bwl_queue_write_member(writer, args);
}

/* TRYAGAIN: the keys of this call are on two nodes. */
static bwl_batch_verdict read_batch_error(const char *bytes, size_t size)
{
    if (bwl_redis_error_is(bytes, size, "NOSCRIPT"))
        return BWL_BATCH_NOSCRIPT;
    if (bwl_redis_error_is(bytes, size, "TRYAGAIN") || bwl_redis_error_is(bytes, size, "MOVED") ||
        bwl_redis_error_is(bytes, size, "ASK"))
        return BWL_BATCH_ELSEWHERE;
    return bwl_redis_is_not_now(bytes, size) ? BWL_BATCH_RETRYABLE : BWL_BATCH_ALONE;
}

static bool next_number(bwl_resp_cursor *cursor, int64_t min, int64_t max, int64_t *ret_number)
{
    bwl_resp_value value;

    if (!bwl_resp_next_bare(cursor, &value) || value.type != ':' || value.integer < min ||
        value.integer > max)
        return false;
    *ret_number = value.integer;
    return true;
}

static bwl_batch_verdict read_extensions(unsigned count, bwl_resp_cursor *cursor,
                                         const bwl_resp_value *value, bwl_batch_reply *ret_reply)
{
    bool    all_are_ours = value->type == ':' && value->integer == count;
    int64_t is_ours      = 1;

    if (!all_are_ours && (value->type != '*' || value->count != count))
        return BWL_BATCH_STRANGE;
    for (unsigned i = 0; i < count; i++) {
        if (!all_are_ours && !next_number(cursor, -1, 1, &is_ours))
            return BWL_BATCH_STRANGE;
        ret_reply->answers[i] = is_ours == 1 ? BWL_YES : is_ours == 0 ? BWL_NO : 0;
    }
    return BWL_BATCH_EACH;
}

/* PTTL of the lock, and what it is: see queue_kind.lua. */
static bool next_lock(bwl_resp_cursor *cursor, bwl_queue_status_kind kind,
                      bwl_queue_status *ret_status)
{
    int64_t left_ms, is;

    if (!next_number(cursor, -2, INT64_MAX, &left_ms) || !next_number(cursor, 0, 2, &is))
        return false;
    *ret_status = (bwl_queue_status){ .kind    = kind,
                                      .is_ours = is != 0,
                                      .rests   = is == 2,
                                      .ends    = left_ms != -1,
                                      .left_ms = left_ms > 0 ? left_ms : 0 };
    return true;
}

static bwl_batch_verdict read_heartbeats(unsigned count, bwl_resp_cursor *cursor,
                                         const bwl_resp_value *value, bwl_batch_reply *ret_reply)
{
    int64_t rank, server_us;

    if (value->type != '*' || value->count != HEARTBEAT_FIELDS * count + 1)
        return BWL_BATCH_STRANGE;
    for (unsigned i = 0; i < count; i++) {
        if (!next_number(cursor, -1, BWL_QUEUE_COUNT_MAX, &rank) ||
            !next_lock(cursor, BWL_QUEUE_STATUS_QUEUED, &ret_reply->statuses[i]))
            return BWL_BATCH_STRANGE;
        ret_reply->answers[i]       = rank >= 0 ? BWL_NO : 0;
        ret_reply->statuses[i].rank = rank >= 0 ? (uint64_t)rank : 0;
    }
    if (!next_number(cursor, 1, BWL_QUEUE_COUNT_MAX, &server_us))
        return BWL_BATCH_STRANGE;
    for (unsigned i = 0; i < count; i++)
        ret_reply->statuses[i].server_us = server_us;
    return BWL_BATCH_EACH;
}

static bool next_take(bwl_resp_cursor *cursor, unsigned i, bwl_batch_reply *ret_reply)
{
    bwl_resp_value value;

    if (!bwl_resp_next_bare(cursor, &value))
        return false;
    if (value.type == '*' && value.count == 2) {
        ret_reply->answers[i] = BWL_NO;
        return next_lock(cursor, BWL_QUEUE_STATUS_BUSY, &ret_reply->statuses[i]);
    }
    if (value.type != ':' || value.integer < -1 || value.integer == 0 ||
        value.integer >= BWL_QUEUE_COUNT_MAX)
        return false;
    if (value.integer > 0) {
        ret_reply->answers[i]       = BWL_YES;
        ret_reply->fences[i]        = (uint64_t)value.integer * BWL_QUEUE_HANDOFFS;
        ret_reply->statuses[i].kind = BWL_QUEUE_STATUS_HELD;
    }
    return true;
}

static bwl_batch_verdict read_takes(unsigned count, bwl_resp_cursor *cursor,
                                    const bwl_resp_value *value, bwl_batch_reply *ret_reply)
{
    if (value->type != '*' || value->count != count)
        return BWL_BATCH_STRANGE;
    for (unsigned i = 0; i < count; i++)
        if (!next_take(cursor, i, ret_reply))
            return BWL_BATCH_STRANGE;
    return BWL_BATCH_EACH;
}

bwl_batch_verdict bwl_batch_read(bwl_redis_command command, unsigned count, const char *bytes,
                                 size_t size, bwl_batch_reply *ret_reply)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    assert(count >= 1);
    assert(count <= BWL_BATCH_MAX);
    if (bwl_redis_is_error(bytes, size))
        return read_batch_error(bytes, size);
    if (!bwl_resp_next_bare(&cursor, &value))
        return BWL_BATCH_STRANGE;
    *ret_reply = (bwl_batch_reply){ .answers = { 0 } };
    if (command == REDIS_QUEUE_TAKE)
        return read_takes(count, &cursor, &value, ret_reply);
    return command == REDIS_QUEUE_HEARTBEAT ? read_heartbeats(count, &cursor, &value, ret_reply)
                                            : read_extensions(count, &cursor, &value, ret_reply);
}
