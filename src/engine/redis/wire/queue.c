/*
 * queue.c -- see queue.h.  queue_answer.c reads the replies, queue_push.c the pushes.
 *
 *  TAKE           EVALSHA script 4 L Q B F value lease publish
 *  JOIN           EVALSHA script 4 L Q B F value lease publish member ticket max
 *  HEARTBEAT      EVALSHA script 4 L Q B F value publish member [member ...]
 *  RELEASE        EVALSHA script 4 L Q B F value publish
 *  CANCEL         EVALSHA script 4 L Q B F value publish member ...
 *  DISPATCH_NEXT  EVALSHA script 4 L Q B F publish
 *  REQUEUE        EVALSHA script 4 L Q B F value lease publish member previous-value
 *  EXTEND         EVALSHA script 1 L value lease
 *
 * publish: the command that sends a push.  member: the entry in Q.
 */
#include "engine/redis/wire/queue.h"
#include "core/text.h"
#include "engine/redis/wire/scripts.h"

#include <stdio.h>
#include <string.h>

enum {
    SCRIPT_ROOM    = 4096,
    ARGUMENTS_ROOM = 1024,
    KEYS           = 4,
    VERSION_MAX    = 999,
    MEMBER_ROOM    = BWL_QUEUE_VALUE_SIZE + BWL_QUEUE_NONCE_MAX + BWL_QUEUE_CHANNEL_MAX + 24,
};

static const bwl_script_id scripts[BWL_QUEUE_SCRIPTS] = {
    BWL_SCRIPT_QUEUE_TAKE,     BWL_SCRIPT_QUEUE_JOIN,    BWL_SCRIPT_QUEUE_HEARTBEAT,
    BWL_SCRIPT_QUEUE_RELEASE,  BWL_SCRIPT_QUEUE_CANCEL,  BWL_SCRIPT_QUEUE_DISPATCH_NEXT,
    BWL_SCRIPT_EXTEND_IF_MINE, BWL_SCRIPT_QUEUE_REQUEUE,
};

size_t bwl_queue_size_max(size_t key_size)
{
    return SCRIPT_ROOM + ARGUMENTS_ROOM + 3 * (key_size + 32);
}

/* ---- keys and values ------------------------------------------------------------------------- */

static void write_key_beside(bwl_resp_writer *writer, const bwl_redis_command_args *args,
                             bool is_tagged, const char *suffix)
{
    char   key[BWL_QUEUE_KEY_MAX];
    size_t size = 0;

    assert(args->key_size + 2 + strlen(suffix) <= sizeof key);
    if (!is_tagged)
        key[size++] = '{';
    memcpy(key + size, args->key, args->key_size);
    size += args->key_size;
    if (!is_tagged)
        key[size++] = '}';
    memcpy(key + size, suffix, strlen(suffix));
    bwl_resp_write_bulk(writer, key, size + strlen(suffix));
}

static void write_fences_key(bwl_resp_writer *writer, const char *tag)
{
    char key[sizeof BWL_QUEUE_FENCES_KEY + 1 + BWL_QUEUE_TAG_MAX];

    if (tag[0] == '\0') { /* snprintf would take a twelfth of the CPU time of acquire and release */
        bwl_resp_write_text(writer, BWL_QUEUE_FENCES_KEY);
        return;
    }
    (void)snprintf(key, sizeof key, "%s:%.*s", BWL_QUEUE_FENCES_KEY, BWL_QUEUE_TAG_MAX, tag);
    bwl_resp_write_text(writer, key);
}

static void write_keys(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    const char *tag;
    bool        is_tagged = bwl_key_hash_tag(&tag, args->key, args->key_size) != args->key_size;

    bwl_resp_write_integer(writer, KEYS);
    bwl_resp_write_bulk(writer, args->key, args->key_size);
    write_key_beside(writer, args, is_tagged, BWL_QUEUE_WAITERS);
    write_key_beside(writer, args, is_tagged, BWL_QUEUE_HEARTBEATS);
    write_fences_key(writer, args->self->tag);
}

void bwl_queue_value_write(char ret_value[BWL_QUEUE_VALUE_SIZE + 1], const char *session,
                           const char *token)
{
    assert(strlen(session) == BWL_QUEUE_SESSION_SIZE);
    assert(strlen(token) >= BWL_QUEUE_TOKEN_SIZE);
    memcpy(ret_value, "b1:", 3);
    memcpy(ret_value + 3, session, BWL_QUEUE_SESSION_SIZE);
    memcpy(ret_value + 3 + BWL_QUEUE_SESSION_SIZE, token, BWL_QUEUE_TOKEN_SIZE);
    ret_value[BWL_QUEUE_VALUE_SIZE] = '\0';
}

bool bwl_queue_is_value(const char *text)
{
    return strncmp(text, "b1:", 3) == 0;
}

static bool is_base64url(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
           c == '_';
}

bool bwl_queue_is_whole_value(const char *bytes, size_t size)
{
    if (size != BWL_QUEUE_VALUE_SIZE || memcmp(bytes, "b1:", 3) != 0)
        return false;
    for (size_t i = 3; i < size; i++)
        if (!is_base64url(bytes[i]))
            return false;
    return true;
}

unsigned bwl_queue_version(const char *text)
{
    const char *colon = strchr(text, ':');
    uint64_t    number;

    if (text[0] != 'b' || colon == NULL ||
        !bwl_number_parse(&number, text + 1, (size_t)(colon - text - 1), VERSION_MAX))
        return 0;
    return (unsigned)number;
}

static void write_value_of(bwl_resp_writer *writer, const bwl_redis_command_args *args,
                           const char *token)
{
    char value[BWL_QUEUE_VALUE_SIZE + 1];

    bwl_queue_value_write(value, args->self->session, token);
    bwl_resp_write_bulk(writer, value, BWL_QUEUE_VALUE_SIZE);
}

static void write_value(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    write_value_of(writer, args, args->token);
}

/* ---- commands -------------------------------------------------------------------------------- */

static void write_script(bwl_resp_writer *writer, bwl_script_id id, bool use_eval)
{
    bwl_resp_write_text(writer, use_eval ? "EVAL" : "EVALSHA");
    bwl_resp_write_text(writer, use_eval ? bwl_scripts[id].text : bwl_scripts[id].sha1);
}

static void write_begin(bwl_resp_writer *writer, const bwl_redis_command_args *args,
                        bwl_script_id id, uint32_t arguments)
{
    bwl_resp_write_array(writer, 3 + KEYS + arguments);
    write_script(writer, id, args->use_eval);
    write_keys(writer, args);
}

/* In lower case, the script counts no waiter as dead: see queue_serve.lua. */
static void write_publish(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    if (args->self->is_patient)
        bwl_resp_write_text(writer, "spublish");
    else
        bwl_resp_write_text(writer, args->self->uses_sharded_pubsub ? "SPUBLISH" : "PUBLISH");
}

static void write_member(bwl_resp_writer *writer, const bwl_redis_command_args *args,
                         const char *push_channel)
{
    char                  value[BWL_QUEUE_VALUE_SIZE + 1];
    char                  member[MEMBER_ROOM];
    const bwl_queue_self *self = args->self;

    bwl_queue_value_write(value, self->session, args->token);
    (void)snprintf(member, sizeof member, "%s %u.%016llx %s %lld", value, (unsigned)self->slot,
                   (unsigned long long)self->generation, push_channel,
                   (long long)self->provisional_ttl_ms);
    bwl_resp_write_text(writer, member);
}

/* True for a channel that none before it is equal to. */
static bool is_other_channel(const bwl_queue_self *self, unsigned nth)
{
    if (self->push_channels[nth][0] == '\0')
        return false;
    for (unsigned i = 0; i < nth; i++)
        if (strcmp(self->push_channels[i], self->push_channels[nth]) == 0)
            return false;
    return true;
}

static uint32_t members_count(const bwl_queue_self *self)
{
    uint32_t count = 0;

    for (unsigned i = 0; i < BWL_QUEUE_CHANNELS; i++)
        count += is_other_channel(self, i);
    return count;
}

static void write_members(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    for (unsigned i = 0; i < BWL_QUEUE_CHANNELS; i++)
        if (is_other_channel(args->self, i))
            write_member(writer, args, args->self->push_channels[i]);
}

static void write_acquire(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    bool joins = args->command == REDIS_QUEUE_JOIN;

    write_begin(writer, args, joins ? BWL_SCRIPT_QUEUE_JOIN : BWL_SCRIPT_QUEUE_TAKE, joins ? 6 : 3);
    write_value(writer, args);
    bwl_resp_write_integer(writer, args->lease_ms);
    write_publish(writer, args);
    if (joins) {
        write_member(writer, args, args->self->push_channels[0]);
        bwl_resp_write_integer(writer, args->number);
        bwl_resp_write_integer(writer, args->self->queue_max);
    }
}

static void write_requeue(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    write_begin(writer, args, BWL_SCRIPT_QUEUE_REQUEUE, 5);
    write_value(writer, args);
    bwl_resp_write_integer(writer, args->lease_ms);
    write_publish(writer, args);
    write_member(writer, args, args->self->push_channels[0]);
    write_value_of(writer, args, args->previous_token);
}

static void write_extend(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    bwl_resp_write_array(writer, 6);
    write_script(writer, BWL_SCRIPT_EXTEND_IF_MINE, args->use_eval);
    bwl_resp_write_text(writer, "1");
    bwl_resp_write_bulk(writer, args->key, args->key_size);
    write_value(writer, args);
    bwl_resp_write_integer(writer, args->lease_ms);
}

static void write_with_members(bwl_resp_writer *writer, const bwl_redis_command_args *args,
                               bwl_script_id id)
{
    write_begin(writer, args, id, 2 + members_count(args->self));
    write_value(writer, args);
    write_publish(writer, args);
    write_members(writer, args);
}

void bwl_queue_write(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    assert(bwl_queue_is(args->command));
    assert(args->self != NULL);
    if (args->command == REDIS_QUEUE_TAKE || args->command == REDIS_QUEUE_JOIN) {
        write_acquire(writer, args);
    } else if (args->command == REDIS_QUEUE_REQUEUE) {
        write_requeue(writer, args);
    } else if (args->command == REDIS_QUEUE_EXTEND) {
        write_extend(writer, args);
    } else if (args->command == REDIS_QUEUE_HEARTBEAT) {
        write_with_members(writer, args, BWL_SCRIPT_QUEUE_HEARTBEAT);
    } else if (args->command == REDIS_QUEUE_CANCEL) {
        write_with_members(writer, args, BWL_SCRIPT_QUEUE_CANCEL);
    } else if (args->command == REDIS_QUEUE_RELEASE) {
        write_begin(writer, args, BWL_SCRIPT_QUEUE_RELEASE, 2);
        write_value(writer, args);
        write_publish(writer, args);
    } else {
        write_begin(writer, args, BWL_SCRIPT_QUEUE_DISPATCH_NEXT, 1);
        write_publish(writer, args);
    }
}

/* ---- handshake ------------------------------------------------------------------------------- */

void bwl_queue_write_channel(bwl_resp_writer *writer, bool by_shard, const char *push_channel)
{
    bwl_resp_write_array(writer, 2);
    bwl_resp_write_text(writer, by_shard ? "SSUBSCRIBE" : "SUBSCRIBE");
    bwl_resp_write_text(writer, push_channel);
    bwl_resp_write_array(writer, 3);
    bwl_resp_write_text(writer, by_shard ? "SPUBLISH" : "PUBLISH");
    bwl_resp_write_text(writer, push_channel);
    bwl_resp_write_text(writer, "H");
}

void bwl_queue_write_scripts(bwl_resp_writer *writer)
{
    bwl_resp_write_array(writer, 2 + BWL_QUEUE_SCRIPTS);
    bwl_resp_write_text(writer, "SCRIPT");
    bwl_resp_write_text(writer, "EXISTS");
    for (unsigned i = 0; i < BWL_QUEUE_SCRIPTS; i++)
        bwl_resp_write_text(writer, bwl_scripts[scripts[i]].sha1);
}

/* The key of a session's client info.  session "": the beginning of all these keys. */
static void write_who_key(bwl_resp_writer *writer, const char *tag, const char *session)
{
    char key[sizeof BWL_QUEUE_WHO + BWL_QUEUE_TAG_MAX + 1 + BWL_QUEUE_SESSION_SIZE];

    (void)snprintf(key, sizeof key, "%s%.*s%s%.*s", BWL_QUEUE_WHO, BWL_QUEUE_TAG_MAX, tag,
                   tag[0] != '\0' ? ":" : "", BWL_QUEUE_SESSION_SIZE, session);
    bwl_resp_write_text(writer, key);
}

void bwl_queue_write_fence_minimum(bwl_resp_writer *writer, const bwl_queue_client_info *info)
{
    assert(strlen(info->session) == BWL_QUEUE_SESSION_SIZE);
    bwl_resp_write_array(writer, 14);
    write_script(writer, BWL_SCRIPT_QUEUE_FENCE_MINIMUM, true);
    bwl_resp_write_text(writer, info->tag[0] != '\0' ? "1" : "2");
    write_fences_key(writer, info->tag);
    write_who_key(writer, info->tag, info->session);
    bwl_resp_write_integer(writer, info->kept_ms);
    bwl_resp_write_text(writer, "uid");
    bwl_resp_write_integer(writer, info->uid);
    bwl_resp_write_text(writer, "pid");
    bwl_resp_write_integer(writer, info->pid);
    bwl_resp_write_text(writer, "host");
    bwl_resp_write_text(writer, info->host);
    bwl_resp_write_text(writer, "program");
    bwl_resp_write_text(writer, info->program);
}

/* The field of the note about a force release. */
static void write_broken_field(bwl_resp_writer *writer, const char *token)
{
    char field[16 + BWL_TOKEN_MAX];

    (void)snprintf(field, sizeof field, "broken:%.*s", BWL_QUEUE_TOKEN_SIZE, token);
    bwl_resp_write_text(writer, field);
}

void bwl_queue_write_broken(bwl_resp_writer *writer, const char *tag, const char *session,
                            const char *token, const char *who)
{
    /* HSET alone would make a key that never expires. */
    static const char script[] = "if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end\n"
                                 "return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])";

    bwl_resp_write_array(writer, 6);
    bwl_resp_write_text(writer, "EVAL");
    bwl_resp_write_text(writer, script);
    bwl_resp_write_text(writer, "1");
    write_who_key(writer, tag, session);
    write_broken_field(writer, token);
    bwl_resp_write_text(writer, who);
}

void bwl_queue_write_ask_broken(bwl_resp_writer *writer, const char *tag, const char *session,
                                const char *token)
{
    bwl_resp_write_array(writer, 3);
    bwl_resp_write_text(writer, "HGET");
    write_who_key(writer, tag, session);
    write_broken_field(writer, token);
}

void bwl_queue_write_leave(bwl_resp_writer *writer, const char *tag, const char *session)
{
    bwl_resp_write_array(writer, 2);
    bwl_resp_write_text(writer, "DEL");
    write_who_key(writer, tag, session);
}

void bwl_queue_write_holder_query(bwl_resp_writer *writer, const char *key, size_t key_size,
                                  const char *tag, bool use_eval)
{
    bwl_resp_write_array(writer, tag[0] != '\0' ? 5 : 4);
    write_script(writer, BWL_SCRIPT_QUEUE_HOLDER_QUERY, use_eval);
    bwl_resp_write_text(writer, "1");
    bwl_resp_write_bulk(writer, key, key_size);
    if (tag[0] != '\0')
        write_who_key(writer, tag, "");
}

bool bwl_queue_read_scripts(const char *bytes, size_t size, unsigned *ret_missing)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;
    unsigned        missing = 0;

    if (!bwl_resp_next_bare(&cursor, &value) || value.type != '*' ||
        value.count != BWL_QUEUE_SCRIPTS)
        return false;
    for (unsigned i = 0; i < BWL_QUEUE_SCRIPTS; i++) {
        if (!bwl_resp_next_bare(&cursor, &value) || value.type != ':')
            return false;
        missing |= value.integer == 0 ? 1u << i : 0;
    }
    *ret_missing = missing;
    return true;
}

void bwl_queue_write_load(bwl_resp_writer *writer, unsigned nth)
{
    assert(nth < BWL_QUEUE_SCRIPTS);
    bwl_resp_write_array(writer, 3);
    bwl_resp_write_text(writer, "SCRIPT");
    bwl_resp_write_text(writer, "LOAD");
    bwl_resp_write_text(writer, bwl_scripts[scripts[nth]].text);
}
