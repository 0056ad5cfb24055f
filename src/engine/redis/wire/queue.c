/*
 * queue.c -- see queue.h.  commands.c has the commands of a lock.
 */
#include "engine/redis/wire/queue.h"
#include "core/text.h"
#include "engine/redis/wire/scripts.h"

#include <stdio.h>
#include <string.h>

enum { VERSION_MAX = 999, SHARE_ROOM = 24, LOAD_ROOM = 64 };

static const bwl_script_id scripts[BWL_QUEUE_SCRIPTS] = {
    BWL_SCRIPT_QUEUE_TAKE,     BWL_SCRIPT_QUEUE_JOIN,    BWL_SCRIPT_QUEUE_HEARTBEAT,
    BWL_SCRIPT_QUEUE_RELEASE,  BWL_SCRIPT_QUEUE_CANCEL,  BWL_SCRIPT_QUEUE_DISPATCH_NEXT,
    BWL_SCRIPT_EXTEND_IF_MINE, BWL_SCRIPT_QUEUE_REQUEUE,
};

/* ---- keys and values ------------------------------------------------------------------------- */

bwl_queue_key bwl_queue_fences_key(const char *tag)
{
    bwl_queue_key key = { BWL_QUEUE_FENCES_KEY };

    if (tag[0] != '\0') /* snprintf would take a twelfth of the CPU time of acquire and release */
        (void)snprintf(key.text, sizeof key.text, "%s:%.*s", BWL_QUEUE_FENCES_KEY,
                       BWL_QUEUE_TAG_MAX, tag);
    return key;
}

bwl_queue_key bwl_queue_who_key(const char *tag, const char *session)
{
    bwl_queue_key key;

    (void)snprintf(key.text, sizeof key.text, "%s%.*s%s%.*s", BWL_QUEUE_WHO, BWL_QUEUE_TAG_MAX, tag,
                   tag[0] != '\0' ? ":" : "", BWL_QUEUE_SESSION_SIZE, session);
    return key;
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

bool bwl_queue_read_rest(bwl_queue_rest *ret_rest, const char *text)
{
    enum { BEGINNING = 4, ID_SIZE = BWL_QUEUE_VALUE_SIZE - 3, LEFT_AT = BEGINNING + ID_SIZE + 1 };
    size_t   size = strlen(text);
    uint64_t left;

    if (size <= LEFT_AT || memcmp(text, "b1:=", BEGINNING) != 0 || text[LEFT_AT - 1] != ' ')
        return false;
    const char *number = text + LEFT_AT;
    size_t      digits = strcspn(number, " ");
    if (number[digits] == '\0' || !bwl_number_parse(&left, number, digits, INT64_MAX))
        return false;
    const char *user = number + digits + 1;
    size_t      at   = strcspn(user, "@");
    *ret_rest        = (bwl_queue_rest){ .began_with_ms = (bwl_ms)left,
                                         .user          = user,
                                         .user_size     = at,
                                         .host          = user[at] == '@' ? user + at + 1 : "" };
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

/* ---- the keys and the entries of a command --------------------------------------------------- */

static size_t write_key_beside(char ret_key[BWL_KEY_BESIDE_MAX], const char *key, size_t key_size,
                               const char *after)
{
    const char *tag;
    bool        is_tagged = bwl_key_hash_tag(&tag, key, key_size) != key_size;

    return bwl_key_beside(ret_key, key, key_size, is_tagged, "", after);
}

static void write_key_of_lock(bwl_resp_writer *writer, const bwl_redis_command_args *args,
                              const char *after)
{
    char   name[BWL_KEY_BESIDE_MAX];
    size_t size = write_key_beside(name, args->key, args->key_size, after);

    bwl_resp_write_bulk(writer, name, size);
}

size_t bwl_queue_waiters_key(char ret_key[BWL_KEY_BESIDE_MAX], const char *key, size_t key_size)
{
    return write_key_beside(ret_key, key, key_size, BWL_QUEUE_WAITERS);
}

void bwl_queue_write_keys_of_lock(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    bwl_resp_write_bulk(writer, args->key, args->key_size);
    write_key_of_lock(writer, args, BWL_QUEUE_WAITERS);
    write_key_of_lock(writer, args, BWL_QUEUE_HEARTBEATS);
}

void bwl_queue_write_keys(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    assert(args->self != NULL);
    bwl_resp_write_text(writer, "4");
    bwl_queue_write_keys_of_lock(writer, args);
    bwl_resp_write_text(writer, bwl_queue_fences_key(args->self->tag).text);
}

void bwl_queue_write_sharers_key(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    write_key_of_lock(writer, args, BWL_QUEUE_SHARERS);
}

void bwl_queue_write_sharing_keys(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    assert(args->self != NULL);
    bwl_resp_write_text(writer, "5");
    bwl_queue_write_keys_of_lock(writer, args);
    bwl_resp_write_text(writer, bwl_queue_fences_key(args->self->tag).text);
    bwl_queue_write_sharers_key(writer, args);
}

/* In lower case, the script counts no waiter as dead: see queue_serve.lua. */
void bwl_queue_write_publish(bwl_resp_writer *writer, const bwl_queue_self *self)
{
    bwl_resp_write_text(writer, self->is_patient            ? "spublish"
                                : self->uses_sharded_pubsub ? "SPUBLISH"
                                                            : "PUBLISH");
}

/* The nonce of a waiter that shares the lock ends in a plus sign, weight, slash and limit. */
static void write_member(bwl_resp_writer *writer, const bwl_redis_command_args *args,
                         const char *push_channel)
{
    char                  value[BWL_QUEUE_VALUE_SIZE + 1];
    char                  share[SHARE_ROOM] = "";
    char                  member[BWL_QUEUE_MEMBER_MAX];
    const bwl_queue_self *self = args->self;

    bwl_queue_value_write(value, self->session, args->token);
    if (args->share.weight > 0)
        (void)snprintf(share, sizeof share, "+%u/%u", (unsigned)args->share.weight,
                       (unsigned)args->share.limit);
    (void)snprintf(member, sizeof member, "%s %u.%016llx%s %s %lld", value, (unsigned)self->slot,
                   (unsigned long long)self->generation, share, push_channel,
                   (long long)self->provisional_ttl_ms);
    bwl_resp_write_text(writer, member);
}

void bwl_queue_write_member(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    write_member(writer, args, args->self->push_channels[0]);
}

unsigned bwl_queue_write_members(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    const bwl_queue_self *self  = args->self;
    unsigned              count = 0;

    for (unsigned nth = 0; nth < BWL_QUEUE_CHANNELS; nth++) {
        bool is_other = self->push_channels[nth][0] != '\0';
        for (unsigned i = 0; i < nth; i++)
            is_other = is_other && strcmp(self->push_channels[i], self->push_channels[nth]) != 0;
        count += is_other;
        if (is_other && writer != NULL)
            write_member(writer, args, self->push_channels[nth]);
    }
    return count;
}

/* ---- handshake ------------------------------------------------------------------------------- */

void bwl_queue_write_channel(bwl_resp_writer *writer, bool by_shard, const char *push_channel)
{
    bwl_resp_write(writer, "%s %s", by_shard ? "SSUBSCRIBE" : "SUBSCRIBE", push_channel);
    bwl_resp_write(writer, "%s %s H", by_shard ? "SPUBLISH" : "PUBLISH", push_channel);
}

void bwl_queue_write_scripts(bwl_resp_writer *writer)
{
    bwl_resp_write_array(writer, 2 + BWL_QUEUE_SCRIPTS);
    bwl_resp_write_text(writer, "SCRIPT");
    bwl_resp_write_text(writer, "EXISTS");
    for (unsigned i = 0; i < BWL_QUEUE_SCRIPTS; i++)
        bwl_resp_write_text(writer, bwl_scripts[scripts[i]].sha1);
}

void bwl_queue_write_load(bwl_resp_writer *writer, unsigned nth)
{
    assert(nth < BWL_QUEUE_SCRIPTS);
    bwl_resp_write(writer, "SCRIPT LOAD %s", bwl_scripts[scripts[nth]].text);
}

size_t bwl_queue_load_size_max(unsigned nth)
{
    assert(nth < BWL_QUEUE_SCRIPTS);
    return LOAD_ROOM + bwl_scripts[scripts[nth]].size;
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

void bwl_queue_write_fence_minimum(bwl_resp_writer *writer, const bwl_queue_client_info *info)
{
    assert(strlen(info->session) == BWL_QUEUE_SESSION_SIZE);
    bwl_resp_write(writer, "EVAL %s %s %s %s %lld uid %lld pid %lld host %s program %s",
                   bwl_scripts[BWL_SCRIPT_QUEUE_FENCE_MINIMUM].text,
                   info->tag[0] != '\0' ? "1" : "2", bwl_queue_fences_key(info->tag).text,
                   bwl_queue_who_key(info->tag, info->session).text, (long long)info->kept_ms,
                   (long long)info->uid, (long long)info->pid, info->host, info->program);
}

/* A field of the client info about one hold. */
static bwl_queue_key field_of(const char *what, const char *token)
{
    bwl_queue_key field;

    (void)snprintf(field.text, sizeof field.text, "%s:%.*s", what, BWL_QUEUE_TOKEN_SIZE, token);
    return field;
}

void bwl_queue_write_hold(bwl_resp_writer *writer, const bwl_queue_client_info *info,
                          const bwl_queue_shown_hold *hold, bool use_eval)
{
    char fence[24];

    (void)snprintf(fence, sizeof fence, "%llu", (unsigned long long)hold->fence);
    bwl_redis_write_script(writer, &bwl_scripts[BWL_SCRIPT_QUEUE_SHOW_HOLD], use_eval, 1,
                           hold->limit > 0 ? 16 : 14);
    bwl_resp_write_text(writer, bwl_queue_who_key(info->tag, info->session).text);
    bwl_resp_write_integer(writer, info->kept_ms);
    bwl_resp_write_text(writer, field_of("held", hold->token).text);
    bwl_resp_write_integer(writer, hold->since_ms);
    bwl_resp_write_text(writer, fence);
    bwl_resp_write_integer(writer, hold->command_pid);
    bwl_resp_write_text(writer, "uid");
    bwl_resp_write_integer(writer, info->uid);
    bwl_resp_write_text(writer, "pid");
    bwl_resp_write_integer(writer, info->pid);
    bwl_resp_write_text(writer, "host");
    bwl_resp_write_text(writer, info->host);
    bwl_resp_write_text(writer, "program");
    bwl_resp_write_text(writer, info->program);
    if (hold->limit == 0)
        return;
    bwl_resp_write_text(writer, field_of("limit", hold->token).text);
    bwl_resp_write_integer(writer, hold->limit);
}

void bwl_queue_write_hold_end(bwl_resp_writer *writer, const char *tag, const char *session,
                              const char *token, uint32_t limit)
{
    bwl_resp_write_array(writer, limit > 0 ? 4 : 3);
    bwl_resp_write_text(writer, "HDEL");
    bwl_resp_write_text(writer, bwl_queue_who_key(tag, session).text);
    bwl_resp_write_text(writer, field_of("held", token).text);
    if (limit > 0)
        bwl_resp_write_text(writer, field_of("limit", token).text);
}

void bwl_queue_write_broken(bwl_resp_writer *writer, const char *tag, const char *session,
                            const char *token, const char *who)
{
    /* HSET alone would make a key that never expires. */
    static const char script[] = "if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end\n"
                                 "return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])";

    bwl_resp_write(writer, "EVAL %s 1 %s %s %s", script, bwl_queue_who_key(tag, session).text,
                   field_of("broken", token).text, who);
}

void bwl_queue_write_ask_broken(bwl_resp_writer *writer, const char *tag, const char *session,
                                const char *token)
{
    bwl_resp_write(writer, "HGET %s %s", bwl_queue_who_key(tag, session).text,
                   field_of("broken", token).text);
}

bwl_bytes bwl_queue_read_broken(const char *bytes, size_t size)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  note;

    if (!bwl_resp_next_bare(&cursor, &note) || note.type != '$' || note.text == NULL)
        return (bwl_bytes){ .size = 0 };
    return (bwl_bytes){ note.text, strnlen(note.text, note.size) };
}

/* ---- replies --------------------------------------------------------------------------------- */

/* A reply that is an array: its first word, and a letter for each field.  CLAIMED is the
 * PROVISIONAL of protocol/store/queue.h.
 *
 *      f  the counter that makes the fence     t  the ticket     r  the rank (from 0)
 *      l  the time left, as PTTL               n  how many wait (from 1)
 *      o  1: the lock has a value of this protocol; 2: that is the rest of a holder
 *      u  the server's time in microseconds */
enum { JOIN = 1u << 0, HEARTBEAT = 1u << 1, REQUEUE = 1u << 2, TAKE = 1u << 3, CHANGE = 1u << 4 };

static const struct status {
    const char           *word;
    const char           *fields;
    bwl_queue_status_kind kind;
    unsigned              commands; /* that can have it */
} statuses[] = {
    { "QUEUED", "trlou", BWL_QUEUE_STATUS_QUEUED, JOIN | HEARTBEAT | REQUEUE },
    { "BUSY", "lo", BWL_QUEUE_STATUS_BUSY, TAKE | CHANGE },
    { "FULL", "n", BWL_QUEUE_STATUS_FULL, JOIN },
    { "GONE", "", BWL_QUEUE_STATUS_GONE, HEARTBEAT | REQUEUE },
    { "CLAIMED", "ft", BWL_QUEUE_STATUS_PROVISIONAL, JOIN | HEARTBEAT | REQUEUE },
    { "MINE", "fl", BWL_QUEUE_STATUS_MINE, HEARTBEAT },
};

static unsigned bit_of(bwl_redis_command command)
{
    switch (bwl_queue_exclusive(command)) {
    case REDIS_QUEUE_TAKE: return TAKE;
    case REDIS_QUEUE_JOIN: return JOIN;
    case REDIS_QUEUE_HEARTBEAT: return HEARTBEAT;
    case REDIS_QUEUE_REQUEUE: return REQUEUE;
    default: return bwl_queue_changes(command) ? CHANGE : 0;
    }
}

static bool next_field(bwl_resp_cursor *cursor, char letter, bwl_redis_reply *ret_reply)
{
    bwl_queue_status *status = &ret_reply->queue_status;
    int64_t           min    = letter == 'l' ? -2 : letter == 'r' || letter == 'o' ? 0 : 1;
    int64_t           max = letter == 'l' ? INT64_MAX : letter == 'o' ? 2 : BWL_QUEUE_COUNT_MAX - 1;
    bwl_resp_value    value;

    if (!bwl_resp_next_bare(cursor, &value) || value.type != ':' || value.integer < min ||
        value.integer > max)
        return false;
    switch (letter) {
    case 'f': ret_reply->number = (uint64_t)value.integer * BWL_QUEUE_HANDOFFS; break;
    case 't': status->ticket = (uint64_t)value.integer; break;
    case 'r':
    case 'n': status->rank = (uint64_t)value.integer; break;
    case 'l':
        status->ends    = value.integer != -1;
        status->left_ms = value.integer > 0 ? value.integer : 0;
        break;
    case 'o':
        status->is_ours = value.integer != 0;
        status->rests   = value.integer == 2;
        break;
    case 'u': status->server_us = value.integer; break;
    }
    return true;
}

static bwl_redis_verdict read_array(unsigned command, bwl_resp_cursor *cursor,
                                    const bwl_resp_value *array, bwl_redis_reply *ret_reply)
{
    bwl_resp_value word;

    if (array->type != '*' || !bwl_resp_next_bare(cursor, &word))
        return BWL_REDIS_STRANGE;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        const struct status *is = &statuses[i];
        if ((is->commands & command) == 0 || array->count != 1 + strlen(is->fields) ||
            !bwl_resp_text_is(&word, is->word))
            continue;
        ret_reply->answer            = is->fields[0] == 'f' ? BWL_YES : BWL_NO;
        ret_reply->queue_status.kind = is->kind;
        for (const char *field = is->fields; *field != '\0'; field++)
            if (!next_field(cursor, *field, ret_reply))
                return BWL_REDIS_STRANGE;
        return BWL_REDIS_ANSWER;
    }
    return BWL_REDIS_STRANGE;
}

/*
 *  TAKE, JOIN, REQUEUE   :n HELD, n makes the fence; REQUEUE :0 GONE; or an array
 *  HEARTBEAT             an array
 *  RELEASE, REST, CANCEL, SHARE_LEAVE
 *                        :1 YES   :2 YES MORE   :0 NO; not CANCEL: :-1 NO, it has another value
 *  DISPATCH_NEXT         :1 YES   :2 YES MORE
 *  SHARE_DOWNGRADE, SHARE_UPGRADE
 *                        :n HELD, n makes the fence   :0, :-1 as RELEASE; or an array
 */
bwl_redis_verdict bwl_queue_read(bwl_redis_command command, bwl_resp_cursor *cursor,
                                 const bwl_resp_value *value, bwl_redis_reply *ret_reply)
{
    bwl_queue_status *status    = &ret_reply->queue_status;
    unsigned          bit       = bit_of(command);
    bool              says_loss = bwl_queue_exclusive(command) == REDIS_QUEUE_RELEASE ||
                     command == REDIS_QUEUE_REST || bit == CHANGE;
    bool may_be_0 = command == REDIS_QUEUE_REQUEUE || bit == CHANGE ||
                    (bit == 0 && command != REDIS_QUEUE_DISPATCH_NEXT);

    if (value->type != ':' && bit != 0)
        return read_array(bit, cursor, value, ret_reply);
    if (says_loss && value->type == ':' && value->integer == -1) {
        ret_reply->loss   = BOWLINE_LOSS_TAKEN;
        ret_reply->answer = BWL_NO;
        return BWL_REDIS_ANSWER;
    }
    if (value->type != ':' || bit == HEARTBEAT || value->integer < (may_be_0 ? 0 : 1) ||
        value->integer >= (bit != 0 ? BWL_QUEUE_COUNT_MAX : 3))
        return BWL_REDIS_STRANGE;
    ret_reply->answer = value->integer == 0 ? BWL_NO : BWL_YES;
    if (says_loss && value->integer == 0)
        ret_reply->loss = BOWLINE_LOSS_GONE;
    if (bit != 0) {
        status->kind      = value->integer == 0 ? BWL_QUEUE_STATUS_GONE : BWL_QUEUE_STATUS_HELD;
        ret_reply->number = (uint64_t)value->integer * BWL_QUEUE_HANDOFFS;
    } else if (value->integer == 2) {
        status->kind = BWL_QUEUE_STATUS_MORE;
    }
    return BWL_REDIS_ANSWER;
}

/* ---- pushes ---------------------------------------------------------------------------------- */

/* Takes the text up to the next space, and skips the space.  Empty at the end. */
static bwl_bytes next_word(bwl_bytes *rest)
{
    const char *space = memchr(rest->at, ' ', rest->size);
    size_t      size  = space != NULL ? (size_t)(space - rest->at) : rest->size;
    bwl_bytes   field = { rest->at, size };
    size_t      taken = space != NULL ? size + 1 : size;

    *rest = (bwl_bytes){ rest->at + taken, rest->size - taken };
    return field;
}

static bool read_generation(const char *at, size_t size, uint64_t *ret_generation)
{
    uint64_t generation = 0;

    if (size != 16)
        return false;
    for (size_t i = 0; i < size; i++) {
        const char *digits = "0123456789abcdef";
        const char *digit  = memchr(digits, at[i], 16);
        if (digit == NULL)
            return false;
        generation = generation << 4 | (uint64_t)(digit - digits);
    }
    *ret_generation = generation;
    return true;
}

/* What follows a plus sign says how the waiter shares the lock; it knows that itself. */
static bool read_nonce(bwl_bytes nonce, bwl_queue_push *ret_push)
{
    const char *dot  = memchr(nonce.at, '.', nonce.size);
    const char *plus = memchr(nonce.at, '+', nonce.size);
    const char *end  = plus != NULL ? plus : nonce.at + nonce.size;
    uint64_t    slot;

    if (dot == NULL || end < dot ||
        !bwl_number_parse(&slot, nonce.at, (size_t)(dot - nonce.at), UINT32_MAX))
        return false;
    ret_push->slot = (uint32_t)slot;
    return read_generation(dot + 1, (size_t)(end - dot - 1), &ret_push->generation);
}

static bool read_count(bwl_bytes field, uint64_t *ret_count)
{
    return bwl_number_parse(ret_count, field.at, field.size, BWL_QUEUE_COUNT_MAX - 1) &&
           *ret_count > 0;
}

/* G nonce count time: the lock was granted to the waiter with this nonce, at this time of the
 * server in microseconds; the count makes the fence. */
static bool read_grant(const bwl_resp_value *text, bwl_queue_push *ret_push)
{
    bwl_bytes rest = { text->text, text->size };
    uint64_t  count;
    uint64_t  time_us;
    bwl_bytes kind = next_word(&rest);

    if (kind.size != 1 || kind.at[0] != 'G' || !read_nonce(next_word(&rest), ret_push) ||
        !read_count(next_word(&rest), &count) || !read_count(rest, &time_us))
        return false;
    ret_push->fence     = count * BWL_QUEUE_HANDOFFS;
    ret_push->server_us = (int64_t)time_us;
    return true;
}

/* True for the push channel, alone or with a colon and a tag added. */
static bool read_channel(const bwl_resp_value *channel, const char *push_channel,
                         bwl_bytes *ret_tag)
{
    size_t size = strlen(push_channel);

    if (channel->text == NULL || channel->size < size ||
        memcmp(channel->text, push_channel, size) != 0)
        return false;
    *ret_tag = (bwl_bytes){ channel->text + size, 0 };
    if (channel->size == size)
        return true;
    *ret_tag = (bwl_bytes){ channel->text + size + 1, channel->size - size - 1 };
    return channel->text[size] == ':';
}

bwl_queue_push bwl_queue_read_push(const char *push_channel, const char *bytes, size_t size)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;
    bwl_resp_value  kind;
    bwl_queue_push  push  = { .kind = BWL_PUSH_GRANT };
    bwl_queue_push  other = { .kind = BWL_PUSH_OTHER };

    if (!bwl_resp_next_bare(&cursor, &value) || value.type != '>' || value.count != 3 ||
        !bwl_resp_next_bare(&cursor, &kind) || !bwl_resp_next_bare(&cursor, &value) ||
        !read_channel(&value, push_channel, &push.tag) || !bwl_resp_next_bare(&cursor, &value))
        return other;
    if (bwl_resp_text_is(&kind, "ssubscribe") || bwl_resp_text_is(&kind, "subscribe"))
        return (bwl_queue_push){ .kind = BWL_PUSH_SUBSCRIBED, .tag = push.tag };
    if (bwl_resp_text_is(&kind, "sunsubscribe"))
        return (bwl_queue_push){ .kind = BWL_PUSH_UNSUBSCRIBED, .tag = push.tag };
    if (value.type != '$' ||
        (!bwl_resp_text_is(&kind, "smessage") && !bwl_resp_text_is(&kind, "message")))
        return other;
    if (bwl_resp_text_is(&value, "H")) /* published by this client itself: pushes do arrive */
        return (bwl_queue_push){ .kind = BWL_PUSH_HELLO };
    return read_grant(&value, &push) ? push : other;
}
