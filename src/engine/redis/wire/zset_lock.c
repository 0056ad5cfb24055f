/*
 * zset_lock.c -- see zset_lock.h.
 *
 *  ZSET_TAKE      EVALSHA script 1 key member lease            :1: YES       :0: NO
 *  ZSET_EXTEND    EVALSHA script 1 key member lease            likewise
 *  ZSET_RELEASE   EVALSHA script 1 key member                  likewise
 */
#include "engine/redis/wire/zset_lock.h"
#include "engine/redis/wire/scripts.h"
#include "engine/redis/wire/value.h"

enum { ROOM = 2048 }; /* for a command without its key: the text of a script is longest */

bool bwl_zset_lock_is(bwl_redis_command command)
{
    return command == REDIS_ZSET_TAKE || command == REDIS_ZSET_EXTEND ||
           command == REDIS_ZSET_RELEASE;
}

size_t bwl_zset_lock_size_max(size_t key_size)
{
    return ROOM + key_size;
}

static bwl_script_id script_of(bwl_redis_command command)
{
    if (command == REDIS_ZSET_TAKE)
        return BWL_SCRIPT_ZSET_TAKE;
    return command == REDIS_ZSET_EXTEND ? BWL_SCRIPT_ZSET_EXTEND : BWL_SCRIPT_ZSET_RELEASE;
}

/* Writes the command up to the key, which `arguments` arguments follow. */
static void write_beginning(bwl_resp_writer *writer, bwl_script_id id, unsigned arguments,
                            bool use_eval)
{
    bwl_resp_write_array(writer, 4 + arguments);
    bwl_resp_write_text(writer, use_eval ? "EVAL" : "EVALSHA");
    bwl_resp_write_text(writer, use_eval ? bwl_scripts[id].text : bwl_scripts[id].sha1);
    bwl_resp_write_integer(writer, 1);
}

static void write_member(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    char bytes[BWL_VALUE_MAX];

    if (args->value != NULL)
        bwl_resp_write_bulk(writer, args->value, args->value_size);
    else
        bwl_resp_write_bulk(writer, bytes, bwl_value_write(bytes, args->rules, args->token, 0));
}

void bwl_zset_lock_write(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    bool has_lease = args->command != REDIS_ZSET_RELEASE;

    assert(bwl_zset_lock_is(args->command));
    write_beginning(writer, script_of(args->command), has_lease ? 2 : 1, args->use_eval);
    bwl_resp_write_bulk(writer, args->key, args->key_size);
    write_member(writer, args);
    if (has_lease)
        bwl_resp_write_integer(writer, args->lease_ms);
}

void bwl_zset_lock_write_holder_query(bwl_resp_writer *writer, const char *key, size_t key_size,
                                      bool use_eval)
{
    write_beginning(writer, BWL_SCRIPT_ZSET_HOLDER_QUERY, 0, use_eval);
    bwl_resp_write_bulk(writer, key, key_size);
}
