/*
 * commands.c -- see commands.h.
 *
 *  SET_IF_ABSENT          SET key value NX PX lease          +OK: YES    null: NO
 *  TAKE_TIMESTAMP         EVALSHA script 1 key ...           see take_timestamp.h
 *  without a script       see plain.h
 *  HASH_...               see hash_lock.h
 *  ZSET_...               see zset_lock.h
 *  QUEUE_...              see queue.h
 *  the others             EVALSHA script 1 key value lease   :1: YES     :0: NO
 *
 * An error is RETRYABLE if its code says that the server cannot serve now, and REFUSED otherwise;
 * in both cases the command was not carried out.  Any other reply is STRANGE: for example +QUEUED,
 * the reply to SET on a connection inside MULTI, which is not a YES.
 */
#include "engine/redis/wire/commands.h"
#include "core/text.h"
#include "engine/redis/wire/hash_lock.h"
#include "engine/redis/wire/plain.h"
#include "engine/redis/wire/queue.h"
#include "engine/redis/wire/scripts.h"
#include "engine/redis/wire/value.h"
#include "engine/redis/wire/take_timestamp.h"
#include "engine/redis/wire/zset_lock.h"

#include <string.h>

enum {
    MS_IN_S   = 1000,
    ROOM      = 1536, /* for a command without its key: the text of a script is longest */
    ROOM_TAKE = 4096, /* the same for TAKE_TIMESTAMP */
};

/* ---- commands -------------------------------------------------------------------------------- */

static bwl_script_id script_of(bwl_redis_command command)
{
    switch (command) {
    case REDIS_SET_IF_ABSENT_OR_MINE: return BWL_SCRIPT_SET_IF_ABSENT_OR_MINE;
    case REDIS_EXTEND_IF_MINE: return BWL_SCRIPT_EXTEND_IF_MINE;
    case REDIS_DELETE_IF_MINE:
    case REDIS_DROP_TIMESTAMP: return BWL_SCRIPT_DELETE_IF_MINE;
    case REDIS_TAKE_TIMESTAMP: return BWL_SCRIPT_TAKE_TIMESTAMP;
    case REDIS_SET_IF_ABSENT:
    case REDIS_SETNX:
    case REDIS_READ:
    case REDIS_SWAP:
    case REDIS_DELETE:
    case REDIS_EXPIRE:
    case REDIS_EXPIRE_NOW:
    case REDIS_READ_EXPIRY:
    case REDIS_FIND_NO_EXPIRY:
    case REDIS_WATCH_READ:
    case REDIS_UNWATCH:
    case REDIS_DELETE_WATCHED:
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
    case REDIS_QUEUE_REQUEUE:
    case REDIS_REPLICATED: break;
    }
    bwl_unreachable("another file writes this command");
}

static void write_script(bwl_resp_writer *writer, bwl_script_id id, bool use_eval)
{
    bwl_resp_write_text(writer, use_eval ? "EVAL" : "EVALSHA");
    bwl_resp_write_text(writer, use_eval ? bwl_scripts[id].text : bwl_scripts[id].sha1);
    bwl_resp_write_text(writer, "1");
}

static bwl_bytes value_of(const bwl_redis_command_args *args, char ret_bytes[BWL_VALUE_MAX])
{
    if (args->value != NULL)
        return (bwl_bytes){ args->value, args->value_size };
    return (bwl_bytes){ ret_bytes,
                        bwl_value_write(ret_bytes, args->rules, args->token, args->number) };
}

static void write_value(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    char      bytes[BWL_VALUE_MAX];
    bwl_bytes value = value_of(args, bytes);

    bwl_resp_write_bulk(writer, value.at, value.size);
}

static void write_set(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    bool in_seconds = args->rules != NULL && args->rules->lease_in_seconds;

    bwl_resp_write_array(writer, 6);
    bwl_resp_write_text(writer, "SET");
    bwl_resp_write_bulk(writer, args->key, args->key_size);
    write_value(writer, args);
    bwl_resp_write_text(writer, "NX");
    bwl_resp_write_text(writer, in_seconds ? "EX" : "PX");
    bwl_resp_write_integer(writer,
                           in_seconds ? (args->lease_ms + MS_IN_S - 1) / MS_IN_S : args->lease_ms);
}

/* A script with the value, and perhaps the lease, as its arguments. */
static void write_scripted(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    bool has_lease = args->command != REDIS_DELETE_IF_MINE && args->command != REDIS_DROP_TIMESTAMP;

    bwl_resp_write_array(writer, has_lease ? 6 : 5);
    write_script(writer, script_of(args->command), args->use_eval);
    bwl_resp_write_bulk(writer, args->key, args->key_size);
    write_value(writer, args);
    if (has_lease)
        bwl_resp_write_integer(writer, args->lease_ms);
}

static void write_signalled(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    char bytes[BWL_VALUE_MAX];

    bwl_signal_write(writer, &args->signal, args->use_eval,
                     (bwl_bytes){ args->key, args->key_size }, value_of(args, bytes));
}

static void write_take(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    bwl_resp_write_array(writer, 4 + BWL_TAKE_TIMESTAMP_ARGUMENTS);
    write_script(writer, script_of(args->command), args->use_eval);
    bwl_resp_write_bulk(writer, args->key, args->key_size);
    bwl_take_timestamp_write(writer, args);
}

void bwl_redis_write(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    if (args->command == REDIS_SET_IF_ABSENT)
        write_set(writer, args);
    else if (args->command == REDIS_TAKE_TIMESTAMP)
        write_take(writer, args);
    else if (bwl_plain_is(args->command))
        bwl_plain_write(writer, args);
    else if (bwl_hash_lock_is(args->command))
        bwl_hash_lock_write(writer, args);
    else if (bwl_zset_lock_is(args->command))
        bwl_zset_lock_write(writer, args);
    else if (bwl_queue_is(args->command))
        bwl_queue_write(writer, args);
    else if (args->command == REDIS_DELETE_IF_MINE && args->signal.kind != BWL_SIGNAL_NONE)
        write_signalled(writer, args);
    else
        write_scripted(writer, args);
}

size_t bwl_redis_size_max(bwl_redis_command command, size_t key_size)
{
    if (bwl_queue_is(command))
        return bwl_queue_size_max(key_size);
    if (bwl_hash_lock_is(command))
        return bwl_hash_lock_size_max(key_size);
    if (bwl_zset_lock_is(command))
        return bwl_zset_lock_size_max(key_size);
    return (command == REDIS_TAKE_TIMESTAMP ? ROOM_TAKE : ROOM) +
           key_size * bwl_redis_frames(command);
}

unsigned bwl_redis_frames(bwl_redis_command command)
{
    if (command == REDIS_WATCH_READ)
        return 2;
    return command == REDIS_DELETE_WATCHED ? 3 : 1;
}

bool bwl_redis_shows_value(bwl_redis_command command)
{
    return command == REDIS_READ || command == REDIS_SWAP || command == REDIS_WATCH_READ;
}

void bwl_redis_write_holder_query(bwl_resp_writer *writer, const char *key, size_t key_size,
                                  bool use_eval)
{
    bwl_resp_write_array(writer, 4);
    write_script(writer, BWL_SCRIPT_HOLDER_QUERY, use_eval);
    bwl_resp_write_bulk(writer, key, key_size);
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* The codes of a server that cannot serve now. */
static const char *const not_now[] = {
    "LOADING",  "BUSY",    "MASTERDOWN",  "READONLY", "NOREPLICAS",
    "TRYAGAIN", "MISCONF", "CLUSTERDOWN", "OOM",
};

static bool first_value(const char *bytes, size_t size, bwl_resp_value *ret_value)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);

    return bwl_resp_next_bare(&cursor, ret_value);
}

static bool is_error_value(const bwl_resp_value *value)
{
    return value->type == '-' || value->type == '!';
}

bool bwl_redis_is_error(const char *bytes, size_t size)
{
    bwl_resp_value value;

    return first_value(bytes, size, &value) && is_error_value(&value);
}

static bool starts_with_code(const char *text, size_t size, const char *code)
{
    size_t length = strlen(code);

    return size >= length && memcmp(text, code, length) == 0 &&
           (size == length || text[length] == ' ');
}

/* The offset at which the server quotes the arguments of the command; size: it quotes none. */
static size_t quote_begins_at(const char *text, size_t size)
{
    static const char mark[] = "with args beginning with";
    size_t            length = sizeof mark - 1;

    for (size_t i = 0; i + length <= size; i++)
        if (memcmp(text + i, mark, length) == 0)
            return i;
    return size;
}

/* Redis before 7 wraps the error of a command in a script: "ERR Error running script (...):
 * @user_script:3: @user_script: 3: -OOM command not allowed", or "@user_script: 3: -OOM ..." if the
 * script returns it.  The offset of the code; 0: the error is not wrapped. */
static size_t wrapped_error_at(const char *text, size_t size)
{
    static const char script[] = "@user_script";

    if (!starts_with_code(text, size, "ERR") &&
        (size < sizeof script || memcmp(text, script, sizeof script - 1) != 0))
        return 0;
    for (size_t i = 1; i + 1 < size; i++) {
        size_t end = i + 1;
        while (end < size && text[end] >= 'A' && text[end] <= 'Z')
            end++;
        if (text[i] == '-' && text[i - 1] == ' ' && end > i + 2 && end < size && text[end] == ' ')
            return i + 1;
    }
    return 0;
}

static bool has_code(const bwl_resp_value *error, const char *code)
{
    size_t at = wrapped_error_at(error->text, quote_begins_at(error->text, error->size));

    return starts_with_code(error->text + at, error->size - at, code);
}

bool bwl_redis_error_is(const char *bytes, size_t size, const char *code)
{
    bwl_resp_value value;

    return first_value(bytes, size, &value) && is_error_value(&value) && has_code(&value, code);
}

bool bwl_redis_is_not_now(const char *bytes, size_t size)
{
    for (size_t i = 0; i < sizeof not_now / sizeof not_now[0]; i++)
        if (bwl_redis_error_is(bytes, size, not_now[i]))
            return true;
    return false;
}

void bwl_redis_error_text(char *ret_text, size_t capacity, const char *bytes, size_t size)
{
    bwl_resp_value value;
    size_t         length = 0;

    assert(capacity > 0);
    ret_text[0] = '\0';
    if (!first_value(bytes, size, &value) || !is_error_value(&value))
        return;
    size_t end = quote_begins_at(value.text, value.size);
    while (end > 0 && (value.text[end - 1] == ' ' || value.text[end - 1] == ','))
        end--;
    size_t begin = wrapped_error_at(value.text, end);
    for (size_t i = begin; i < end && length + 1 < capacity; i++) {
        unsigned char c    = (unsigned char)value.text[i];
        ret_text[length++] = c >= 0x20 && c < 0x7f ? (char)c : '?';
    }
    ret_text[length] = '\0';
    if (length < end - begin)
        bwl_mark_cut(ret_text);
}

/* The length of the code at the beginning of the text; 0 if it does not begin with one. */
static size_t code_length(const char *text)
{
    size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    bool   is_one = length > 1 && length < BOWLINE_SERVER_CODE_MAX;

    return is_one && (text[length] == ' ' || text[length] == '\0') ? length : 0;
}

void bwl_redis_error_code(char ret_code[BOWLINE_SERVER_CODE_MAX], const char *text)
{
    size_t length = code_length(text);

    memcpy(ret_code, text, length);
    ret_code[length] = '\0';
}

/* True for the errors of WAIT on a server that has become a replica.  That is RETRYABLE: the engine
 * looks for the primary, or waits until the server is one again. */
static bool is_of_replica(const bwl_resp_value *error)
{
    static const char text[] = "replica instances";
    size_t            length = sizeof text - 1;

    if (has_code(error, "UNBLOCKED"))
        return true;
    for (size_t i = 0; i + length <= error->size; i++)
        if (memcmp(error->text + i, text, length) == 0)
            return true;
    return false;
}

static bwl_redis_verdict read_error(const char *bytes, size_t size, bwl_answer *ret_answer)
{
    if (bwl_redis_error_is(bytes, size, "NOSCRIPT"))
        return BWL_REDIS_NOSCRIPT;
    *ret_answer = bwl_redis_is_not_now(bytes, size) ? BWL_RETRYABLE : BWL_REFUSED;
    return BWL_REDIS_ANSWER;
}

/* ---- replies --------------------------------------------------------------------------------- */

static bwl_redis_verdict answer(bwl_answer *ret_answer, bwl_answer answer_)
{
    *ret_answer = answer_;
    return BWL_REDIS_ANSWER;
}

static bwl_redis_verdict read_set(const bwl_resp_value *value, bwl_answer *ret_answer)
{
    if (value->type == '+' && bwl_resp_text_is(value, "OK"))
        return answer(ret_answer, BWL_YES);
    if (value->type == '_')
        return answer(ret_answer, BWL_NO);
    return BWL_REDIS_STRANGE;
}

bwl_redis_verdict bwl_redis_read(const bwl_redis_command_args *args, unsigned nth,
                                 const char *bytes, size_t size, bwl_redis_reply *ret_reply)
{
    bwl_resp_value value;

    assert(nth < bwl_redis_frames(args->command));
    *ret_reply = (bwl_redis_reply){ 0 };
    if (!first_value(bytes, size, &value))
        return BWL_REDIS_STRANGE;
    if (is_error_value(&value)) {
        if (bwl_redis_shows_value(args->command) && has_code(&value, "WRONGTYPE"))
            return answer(&ret_reply->answer, BWL_FOREIGN_VALUE); /* a list, a set ... */
        if (args->command == REDIS_REPLICATED && is_of_replica(&value))
            return answer(&ret_reply->answer, BWL_RETRYABLE);
        return read_error(bytes, size, &ret_reply->answer);
    }
    if (args->command == REDIS_SET_IF_ABSENT)
        return read_set(&value, &ret_reply->answer);
    if (args->command == REDIS_TAKE_TIMESTAMP)
        return bwl_take_timestamp_read(args, bytes, size, ret_reply);
    if (bwl_plain_is(args->command))
        return bwl_plain_read(args, nth, bytes, size, ret_reply);
    if (bwl_queue_is(args->command))
        return bwl_queue_read(args, bytes, size, ret_reply);
    if (args->command == REDIS_HASH_TAKE)
        return bwl_hash_lock_read(&value, ret_reply);
    if (value.type == ':' && value.integer == 1)
        return answer(&ret_reply->answer, BWL_YES);
    if (value.type == ':' && value.integer == 0)
        return answer(&ret_reply->answer, BWL_NO);
    return BWL_REDIS_STRANGE;
}

static bool copy_text(char *ret_text, size_t capacity, const bwl_resp_value *value)
{
    if ((value->type != '$' && value->type != '+') || value->size >= capacity)
        return false;
    memcpy(ret_text, value->text, value->size);
    ret_text[value->size] = '\0';
    return true;
}

/* A decimal number in a text of another client; 0: it is none. */
static int64_t number_of(const bwl_resp_value *value)
{
    uint64_t number = 0;

    if (value->text == NULL || !bwl_number_parse(&number, value->text, value->size, INT32_MAX))
        return 0;
    return (int64_t)number;
}

/* The client info of the holder.  A text that is too long counts as missing. */
static bool read_client_info(bwl_resp_cursor *cursor, bwl_holder_reply *ret_holder)
{
    bwl_resp_value values[4];

    for (unsigned i = 0; i < 4; i++)
        if (!bwl_resp_next_bare(cursor, &values[i]) || values[i].type != '$')
            return false;
    ret_holder->uid = number_of(&values[0]);
    ret_holder->pid = number_of(&values[1]);
    if (!copy_text(ret_holder->host, sizeof ret_holder->host, &values[2]))
        ret_holder->host[0] = '\0';
    if (!copy_text(ret_holder->program, sizeof ret_holder->program, &values[3]))
        ret_holder->program[0] = '\0';
    return true;
}

bwl_redis_verdict bwl_redis_read_holder_query(const char *bytes, size_t size,
                                              bwl_answer *ret_answer, bwl_holder_reply *ret_holder)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    if (bwl_redis_is_error(bytes, size))
        return read_error(bytes, size, ret_answer);
    if (!bwl_resp_next_bare(&cursor, &value) || value.type != '*' ||
        (value.count != 3 && value.count != 7))
        return BWL_REDIS_STRANGE;
    bool has_client_info = value.count == 7;
    if (!bwl_resp_next_bare(&cursor, &value) ||
        !copy_text(ret_holder->kind, sizeof ret_holder->kind, &value))
        return BWL_REDIS_STRANGE;
    if (!bwl_resp_next_bare(&cursor, &value) || value.type != ':')
        return BWL_REDIS_STRANGE;
    ret_holder->left_ms = value.integer;
    if (!bwl_resp_next_bare(&cursor, &value) ||
        !copy_text(ret_holder->value, sizeof ret_holder->value, &value))
        return BWL_REDIS_STRANGE;
    ret_holder->value_size = value.size;
    if (has_client_info && !read_client_info(&cursor, ret_holder))
        return BWL_REDIS_STRANGE;
    return answer(ret_answer, BWL_YES);
}
