/*
 * plain.c -- see plain.h.
 *
 *  SETNX            SETNX key value                  :1 YES  :0 NO
 *  READ             GET key                          bulk: shown  null: NO
 *  SWAP             GETSET key value                 the same
 *  DELETE           DEL key                          :1 YES  :0 NO
 *  EXPIRE           EXPIRE key seconds               :1 YES  :0 NO
 *  EXPIRE_NOW       EXPIRE key 0                     :1 YES  :0 NO
 *  READ_EXPIRY      TTL key                          :n YES  :-1 YES, none  :-2 NO
 *  FIND_NO_EXPIRY   PTTL key                         :-1 YES  :n FOREIGN_VALUE  :-2 NO
 *  WATCH_READ       WATCH key, GET key               +OK, as READ
 *  UNWATCH          UNWATCH                          +OK: YES
 *  DELETE_WATCHED   MULTI, DEL key, EXEC             +OK, +QUEUED, [1]: YES  [0], null: NO
 *  REPLICATED       WAIT replicas ms                 :n as many: YES  fewer: NO
 *
 * The commands of one line are sent in one piece, so no other command of the connection comes
 * between MULTI and EXEC.  A number as the reply to DEL means that the server did not queue the
 * DEL, but carried it out at once, without the check of WATCH.  That is STRANGE.
 */
#include "engine/redis/wire/plain.h"
#include "engine/redis/wire/value.h"

#include <string.h>

enum { MS_IN_S = 1000 };

bool bwl_plain_is(bwl_redis_command command)
{
    return (command >= REDIS_SETNX && command <= REDIS_DELETE_WATCHED) ||
           command == REDIS_REPLICATED;
}

/* ---- commands -------------------------------------------------------------------------------- */

static void write_key(bwl_resp_writer *writer, const char *command, uint32_t more,
                      const bwl_redis_command_args *args)
{
    bwl_resp_write_array(writer, 2 + more);
    bwl_resp_write_text(writer, command);
    bwl_resp_write_bulk(writer, args->key, args->key_size);
}

static void write_alone(bwl_resp_writer *writer, const char *command)
{
    bwl_resp_write_array(writer, 1);
    bwl_resp_write_text(writer, command);
}

static void write_key_value(bwl_resp_writer *writer, const char *command,
                            const bwl_redis_command_args *args)
{
    char   value[BWL_VALUE_MAX];
    size_t size = bwl_value_write(value, args->rules, args->token, args->number);

    write_key(writer, command, 1, args);
    bwl_resp_write_bulk(writer, value, size);
}

static void write_expire(bwl_resp_writer *writer, const bwl_redis_command_args *args,
                         bwl_ms lease_ms)
{
    write_key(writer, "EXPIRE", 1, args);
    bwl_resp_write_integer(writer, (lease_ms + MS_IN_S - 1) / MS_IN_S);
}

/* WAIT with 0 ms would wait for ever. */
static void write_wait(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    assert(args->number > 0);
    assert(args->lease_ms > 0);
    bwl_resp_write_array(writer, 3);
    bwl_resp_write_text(writer, "WAIT");
    bwl_resp_write_integer(writer, args->number);
    bwl_resp_write_integer(writer, args->lease_ms);
}

void bwl_plain_write(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    switch (args->command) {
    case REDIS_SETNX: write_key_value(writer, "SETNX", args); return;
    case REDIS_READ: write_key(writer, "GET", 0, args); return;
    case REDIS_SWAP: write_key_value(writer, "GETSET", args); return;
    case REDIS_DELETE: write_key(writer, "DEL", 0, args); return;
    case REDIS_EXPIRE: write_expire(writer, args, args->lease_ms); return;
    case REDIS_EXPIRE_NOW: write_expire(writer, args, 0); return;
    case REDIS_READ_EXPIRY: write_key(writer, "TTL", 0, args); return;
    case REDIS_FIND_NO_EXPIRY: write_key(writer, "PTTL", 0, args); return;
    case REDIS_WATCH_READ:
        write_key(writer, "WATCH", 0, args);
        write_key(writer, "GET", 0, args);
        return;
    case REDIS_UNWATCH: write_alone(writer, "UNWATCH"); return;
    case REDIS_DELETE_WATCHED:
        write_alone(writer, "MULTI");
        write_key(writer, "DEL", 0, args);
        write_alone(writer, "EXEC");
        return;
    case REDIS_REPLICATED: write_wait(writer, args); return;
    case REDIS_SET_IF_ABSENT:
    case REDIS_SET_IF_ABSENT_OR_MINE:
    case REDIS_EXTEND_IF_MINE:
    case REDIS_DELETE_IF_MINE:
    case REDIS_TAKE_TIMESTAMP:
    case REDIS_DROP_TIMESTAMP:
    case REDIS_HASH_TAKE:
    case REDIS_HASH_EXTEND:
    case REDIS_HASH_RELEASE:
    case REDIS_ZSET_TAKE:
    case REDIS_ZSET_EXTEND:
    case REDIS_ZSET_RELEASE:
    case REDIS_QUEUE_TAKE:
    case REDIS_QUEUE_JOIN:
    case REDIS_QUEUE_HEARTBEAT:
    case REDIS_QUEUE_EXTEND:
    case REDIS_QUEUE_RELEASE:
    case REDIS_QUEUE_CANCEL:
    case REDIS_QUEUE_DISPATCH_NEXT:
    case REDIS_QUEUE_REQUEUE: break;
    }
    bwl_unreachable("not a command of this file");
}

/* ---- replies --------------------------------------------------------------------------------- */

static bwl_redis_verdict answer(bwl_redis_reply *ret_reply, bwl_answer answer_)
{
    *ret_reply = (bwl_redis_reply){ .answer = answer_ };
    return BWL_REDIS_ANSWER;
}

static bwl_redis_verdict read_flag(const bwl_resp_value *value, bwl_redis_reply *ret_reply)
{
    if (value->type != ':' || (value->integer != 0 && value->integer != 1))
        return BWL_REDIS_STRANGE;
    return answer(ret_reply, value->integer == 1 ? BWL_YES : BWL_NO);
}

static bwl_redis_verdict read_text(const bwl_resp_value *value, const char *text,
                                   bwl_redis_reply *ret_reply)
{
    if (value->type != '+' || !bwl_resp_text_is(value, text))
        return BWL_REDIS_STRANGE;
    return answer(ret_reply, BWL_YES);
}

static bwl_redis_verdict read_shown(const bwl_redis_command_args *args, const bwl_resp_value *value,
                                    bwl_redis_reply *ret_reply)
{
    char    mine[BWL_VALUE_MAX];
    int64_t timestamp;

    if (value->type == '_')
        return answer(ret_reply, BWL_NO);
    if (value->type != '$')
        return BWL_REDIS_STRANGE;
    if (!bwl_value_read_plausible(&timestamp, args->rules, value->text, value->size))
        return answer(ret_reply, BWL_FOREIGN_VALUE);
    size_t size = bwl_value_write(mine, args->rules, args->token, args->number);
    *ret_reply  = (bwl_redis_reply){
         .answer = BWL_YES,
         .number = (uint64_t)timestamp,
         .value  = { .is_mine = size == value->size && memcmp(mine, value->text, size) == 0,
                     .hash    = bwl_value_hash(value->text, value->size) },
    };
    return BWL_REDIS_ANSWER;
}

static bwl_redis_verdict read_expiry(const bwl_resp_value *value, bwl_redis_reply *ret_reply)
{
    if (value->type != ':' || value->integer < -2)
        return BWL_REDIS_STRANGE;
    (void)answer(ret_reply, value->integer == -2 ? BWL_NO : BWL_YES);
    if (value->integer != -2)
        ret_reply->number = value->integer == -1 ? REDIS_NO_EXPIRY : (uint64_t)value->integer;
    return BWL_REDIS_ANSWER;
}

static bwl_redis_verdict read_no_expiry(const bwl_resp_value *value, bwl_redis_reply *ret_reply)
{
    if (value->type != ':' || value->integer < -2)
        return BWL_REDIS_STRANGE;
    if (value->integer == -2)
        return answer(ret_reply, BWL_NO);
    return answer(ret_reply, value->integer == -1 ? BWL_YES : BWL_FOREIGN_VALUE);
}

static bwl_redis_verdict read_replicas(const bwl_redis_command_args *args,
                                       const bwl_resp_value *value, bwl_redis_reply *ret_reply)
{
    if (value->type != ':' || value->integer < 0)
        return BWL_REDIS_STRANGE;
    (void)answer(ret_reply, value->integer >= args->number ? BWL_YES : BWL_NO);
    ret_reply->number = (uint64_t)value->integer;
    return BWL_REDIS_ANSWER;
}

static bwl_redis_verdict read_exec(bwl_resp_cursor *cursor, const bwl_resp_value *value,
                                   bwl_redis_reply *ret_reply)
{
    bwl_resp_value deleted;

    if (value->type == '_')
        return answer(ret_reply, BWL_NO);
    if (value->type != '*' || value->count != 1 || !bwl_resp_next_bare(cursor, &deleted))
        return BWL_REDIS_STRANGE;
    return read_flag(&deleted, ret_reply);
}

bwl_redis_verdict bwl_plain_read(const bwl_redis_command_args *args, unsigned nth,
                                 const char *bytes, size_t size, bwl_redis_reply *ret_reply)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    if (!bwl_resp_next_bare(&cursor, &value))
        return BWL_REDIS_STRANGE;
    switch (args->command) {
    case REDIS_SETNX:
    case REDIS_DELETE:
    case REDIS_EXPIRE:
    case REDIS_EXPIRE_NOW: return read_flag(&value, ret_reply);
    case REDIS_READ:
    case REDIS_SWAP: return read_shown(args, &value, ret_reply);
    case REDIS_READ_EXPIRY: return read_expiry(&value, ret_reply);
    case REDIS_FIND_NO_EXPIRY: return read_no_expiry(&value, ret_reply);
    case REDIS_WATCH_READ:
        return nth == 0 ? read_text(&value, "OK", ret_reply) : read_shown(args, &value, ret_reply);
    case REDIS_UNWATCH: return read_text(&value, "OK", ret_reply);
    case REDIS_DELETE_WATCHED:
        if (nth < 2)
            return read_text(&value, nth == 0 ? "OK" : "QUEUED", ret_reply);
        return read_exec(&cursor, &value, ret_reply);
    case REDIS_REPLICATED: return read_replicas(args, &value, ret_reply);
    case REDIS_SET_IF_ABSENT:
    case REDIS_SET_IF_ABSENT_OR_MINE:
    case REDIS_EXTEND_IF_MINE:
    case REDIS_DELETE_IF_MINE:
    case REDIS_TAKE_TIMESTAMP:
    case REDIS_DROP_TIMESTAMP:
    case REDIS_HASH_TAKE:
    case REDIS_HASH_EXTEND:
    case REDIS_HASH_RELEASE:
    case REDIS_ZSET_TAKE:
    case REDIS_ZSET_EXTEND:
    case REDIS_ZSET_RELEASE:
    case REDIS_QUEUE_TAKE:
    case REDIS_QUEUE_JOIN:
    case REDIS_QUEUE_HEARTBEAT:
    case REDIS_QUEUE_EXTEND:
    case REDIS_QUEUE_RELEASE:
    case REDIS_QUEUE_CANCEL:
    case REDIS_QUEUE_DISPATCH_NEXT:
    case REDIS_QUEUE_REQUEUE: break;
    }
    bwl_unreachable("not a command of this file");
}
