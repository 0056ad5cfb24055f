/*
 * hash_lock.c -- see hash_lock.h.
 *
 *  HASH_TAKE      EVALSHA script 1 key field lease             :fence: YES   :-1: NO
 *                 EVALSHA script 2 key counter field lease     with counts_fences
 *  HASH_EXTEND    EVALSHA script 1 key field lease             :1: YES       :0: NO
 *  HASH_RELEASE   EVALSHA script 1 key field channel PUBLISH   likewise
 *                 EVALSHA script 1 key field channel PUBLISH SPUBLISH
 *
 * In a cluster, new clients of Redisson subscribe by SSUBSCRIBE if the servers support it, and
 * older ones by SUBSCRIBE.  So a release publishes in both ways.
 */
#include "engine/redis/wire/hash_lock.h"
#include "engine/redis/wire/key.h"
#include "engine/redis/wire/scripts.h"
#include "engine/redis/wire/value.h"

#include <string.h>

enum {
    NAME_ROOM = BWL_KEY_MAX + sizeof BWL_HASH_LOCK_CHANNEL + 2,
    ROOM      = 2048, /* for a command without its key, which it has up to three times */
};

bool bwl_hash_lock_is(bwl_redis_command command)
{
    return command == REDIS_HASH_TAKE || command == REDIS_HASH_EXTEND ||
           command == REDIS_HASH_RELEASE;
}

size_t bwl_hash_lock_size_max(size_t key_size)
{
    return ROOM + 3 * key_size;
}

static void write_beginning(bwl_resp_writer *writer, bwl_script_id id, unsigned arguments,
                            unsigned keys, bool use_eval)
{
    bwl_resp_write_array(writer, 3 + keys + arguments);
    bwl_resp_write_text(writer, use_eval ? "EVAL" : "EVALSHA");
    bwl_resp_write_text(writer, use_eval ? bwl_scripts[id].text : bwl_scripts[id].sha1);
    bwl_resp_write_integer(writer, keys);
}

/* The same as RedissonObject.prefixName. */
static void write_name(bwl_resp_writer *writer, const char *prefix, const char *key,
                       size_t key_size)
{
    char   name[NAME_ROOM];
    size_t size       = strlen(prefix);
    bool   has_braces = memchr(key, '{', key_size) != NULL;

    assert(size + key_size + 2 <= sizeof name);
    memcpy(name, prefix, size);
    if (!has_braces)
        name[size++] = '{';
    memcpy(name + size, key, key_size);
    size += key_size;
    if (!has_braces)
        name[size++] = '}';
    bwl_resp_write_bulk(writer, name, size);
}

static void write_field(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    char bytes[BWL_VALUE_MAX];

    if (args->value != NULL)
        bwl_resp_write_bulk(writer, args->value, args->value_size);
    else
        bwl_resp_write_bulk(writer, bytes, bwl_value_write(bytes, args->rules, args->token, 0));
}

static void write_take(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    bool counts = args->rules != NULL && args->rules->counts_fences;

    write_beginning(writer, BWL_SCRIPT_HASH_TAKE, 2, counts ? 2 : 1, args->use_eval);
    bwl_resp_write_bulk(writer, args->key, args->key_size);
    if (counts)
        write_name(writer, BWL_HASH_LOCK_COUNTER, args->key, args->key_size);
    write_field(writer, args);
    bwl_resp_write_integer(writer, args->lease_ms);
}

static void write_extend(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    write_beginning(writer, BWL_SCRIPT_HASH_EXTEND, 2, 1, args->use_eval);
    bwl_resp_write_bulk(writer, args->key, args->key_size);
    write_field(writer, args);
    bwl_resp_write_integer(writer, args->lease_ms);
}

static void write_release(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    write_beginning(writer, BWL_SCRIPT_HASH_RELEASE, args->is_of_cluster ? 4 : 3, 1,
                    args->use_eval);
    bwl_resp_write_bulk(writer, args->key, args->key_size);
    write_field(writer, args);
    write_name(writer, BWL_HASH_LOCK_CHANNEL, args->key, args->key_size);
    bwl_resp_write_text(writer, "PUBLISH");
    if (args->is_of_cluster)
        bwl_resp_write_text(writer, "SPUBLISH");
}

void bwl_hash_lock_write(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    if (args->command == REDIS_HASH_TAKE)
        write_take(writer, args);
    else if (args->command == REDIS_HASH_EXTEND)
        write_extend(writer, args);
    else
        write_release(writer, args);
}

void bwl_hash_lock_write_holder_query(bwl_resp_writer *writer, const char *key, size_t key_size,
                                      bool use_eval)
{
    write_beginning(writer, BWL_SCRIPT_HASH_HOLDER_QUERY, 0, 1, use_eval);
    bwl_resp_write_bulk(writer, key, key_size);
}

bwl_redis_verdict bwl_hash_lock_read(const bwl_resp_value *value, bwl_redis_reply *ret_reply)
{
    if (value->type != ':' || value->integer < -1)
        return BWL_REDIS_STRANGE;
    ret_reply->answer = value->integer < 0 ? BWL_NO : BWL_YES;
    ret_reply->number = value->integer < 0 ? 0 : (uint64_t)value->integer;
    return BWL_REDIS_ANSWER;
}
