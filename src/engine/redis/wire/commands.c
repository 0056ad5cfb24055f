/*
 * commands.c -- see commands.h.  errors.c reads the errors, queue.c the replies of a queue; batch.c
 * has many commands as one.
 *
 * The table has a row for each command: its words, its script, and the replies that it accepts.  A
 * word with a percent sign stands for arguments:
 *
 *      %S   EVALSHA and the SHA-1 of the script, or EVAL and its text
 *      %k   the key                  %v   the value               %n   the number
 *      %l   the lease                %s   it in whole seconds     %E   PX and %l, or EX and %s
 *      %H   how many keys, the key, and perhaps its counter of fences (Redisson)
 *      %c   its channel              %C   SPUBLISH in a cluster, where new clients of Redisson
 *                                         subscribe by SSUBSCRIBE if the servers support it, and
 *                                         older ones by SUBSCRIBE
 *      %T   the arguments of scripts/take_timestamp.lua
 *      %a   what is signalled        %b   the second channel, if there is one
 *      %Q   4, and the keys L Q B F of queue.h
 *      %f   the value of the client that has given the lock up
 *      %p   the command that sends a push              %o   the previous value
 *      %m   the entry in Q           %M   every entry that Q may have
 *      %x   the longest queue                          %w   our user and host
 *
 * A bar ends a command; the commands of a row are sent in one piece, so no other command of the
 * connection comes between MULTI and EXEC.  A number as the reply to DEL means that the server did
 * not queue the DEL, but carried it out at once, without the check of WATCH.  That is STRANGE.
 *
 * An error is RETRYABLE if its code says that the server cannot serve now, and REFUSED otherwise;
 * in both cases the command was not carried out.  Any other reply is STRANGE: for example +QUEUED,
 * the reply to SET on a connection inside MULTI, which is not a YES.
 */
#include "engine/redis/wire/commands.h"
#include "core/text.h"
#include "engine/redis/wire/queue.h"
#include "engine/redis/wire/scripts.h"
#include "engine/redis/wire/value.h"

#include <stdio.h>
#include <string.h>

enum {
    MS_IN_S    = 1000,
    ROOM       = 2048, /* for a command without its keys and the text of its script */
    BULK_ROOM  = 32,   /* around a key; with what is added to it */
    FRAMES_MAX = 3,
};

typedef enum form {
    FLAG = 1,     /* :1 YES   :0 NO */
    OWNED,        /* :1 YES   :0 NO, the key is gone   :-1 NO, it has another value */
    OK_OR_NULL,   /* +OK YES   null NO */
    OK,           /* +OK YES */
    QUEUED,       /* +QUEUED YES */
    EXEC,         /* [:1] YES   [:0], null NO */
    SHOWN,        /* bulk: the value is shown   null NO */
    EXPIRY,       /* :n YES   :-1 YES, none   :-2 NO */
    NO_EXPIRY,    /* :-1 YES   :n FOREIGN_VALUE   :-2 NO */
    REPLICAS,     /* :n YES if it is as many, NO if fewer */
    FENCE,        /* :n YES   :-1 NO */
    TIMESTAMP,    /* bulk: the value that was set   :0 NO   :-1 FOREIGN_VALUE */
    QUEUE_STATUS, /* see queue.c */
} form;

typedef struct row {
    const char   *words;
    bwl_script_id script;
    form          replies[FRAMES_MAX]; /* of each frame */
} row;

static const row rows[] = {
    [REDIS_SET_IF_ABSENT]         = { "SET %k %v NX %E", 0, { OK_OR_NULL } },
    [REDIS_SETNX]                 = { "SETNX %k %v", 0, { FLAG } },
    [REDIS_READ]                  = { "GET %k", 0, { SHOWN } },
    [REDIS_SWAP]                  = { "GETSET %k %v", 0, { SHOWN } },
    [REDIS_DELETE]                = { "DEL %k", 0, { OWNED } },
    [REDIS_EXPIRE]                = { "EXPIRE %k %s", 0, { FLAG } },
    [REDIS_EXPIRE_NOW]            = { "EXPIRE %k 0", 0, { FLAG } },
    [REDIS_READ_EXPIRY]           = { "TTL %k", 0, { EXPIRY } },
    [REDIS_FIND_NO_EXPIRY]        = { "PTTL %k", 0, { NO_EXPIRY } },
    [REDIS_WATCH_READ]            = { "WATCH %k|GET %k", 0, { OK, SHOWN } },
    [REDIS_UNWATCH]               = { "UNWATCH", 0, { OK } },
    [REDIS_DELETE_WATCHED]        = { "MULTI|DEL %k|EXEC", 0, { OK, QUEUED, EXEC } },
    [REDIS_REPLICATED]            = { "WAIT %n %l", 0, { REPLICAS } },
    [REDIS_SET_IF_ABSENT_OR_MINE] = { "%S 1 %k %v %l", BWL_SCRIPT_SET_IF_ABSENT_OR_MINE, { FLAG } },
    [REDIS_EXTEND_IF_MINE]        = { "%S 1 %k %v %l", BWL_SCRIPT_EXTEND_IF_MINE, { OWNED } },
    [REDIS_DELETE_IF_MINE]        = { "%S 1 %k %v", BWL_SCRIPT_DELETE_IF_MINE, { OWNED } },
    [REDIS_ADOPT]                 = { "%S 1 %k %v %l %f", BWL_SCRIPT_ADOPT, { OWNED } },
    [REDIS_TAKE_TIMESTAMP]        = { "%S 1 %k %T", BWL_SCRIPT_TAKE_TIMESTAMP, { TIMESTAMP } },
    [REDIS_DROP_TIMESTAMP]        = { "%S 1 %k %v", BWL_SCRIPT_DELETE_IF_MINE, { OWNED } },
    [REDIS_HASH_TAKE]             = { "%S %H %v %l", BWL_SCRIPT_HASH_TAKE, { FENCE } },
    [REDIS_HASH_EXTEND]           = { "%S 1 %k %v %l", BWL_SCRIPT_HASH_EXTEND, { FLAG } },
    [REDIS_HASH_RELEASE] = { "%S 1 %k %v %c PUBLISH %C", BWL_SCRIPT_HASH_RELEASE, { FLAG } },
    [REDIS_ZSET_TAKE]    = { "%S 1 %k %v %l", BWL_SCRIPT_ZSET_TAKE, { FLAG } },
    [REDIS_ZSET_EXTEND]  = { "%S 1 %k %v %l", BWL_SCRIPT_ZSET_EXTEND, { FLAG } },
    [REDIS_ZSET_RELEASE] = { "%S 1 %k %v", BWL_SCRIPT_ZSET_RELEASE, { FLAG } },
    [REDIS_QUEUE_TAKE]   = { "%S %Q %v %l %p", BWL_SCRIPT_QUEUE_TAKE, { QUEUE_STATUS } },
    [REDIS_QUEUE_JOIN]   = { "%S %Q %v %l %p %m %n %x", BWL_SCRIPT_QUEUE_JOIN, { QUEUE_STATUS } },
    [REDIS_QUEUE_HEARTBEAT] = { "%S %Q %v %p %n %M", BWL_SCRIPT_QUEUE_HEARTBEAT, { QUEUE_STATUS } },
    [REDIS_QUEUE_EXTEND]    = { "%S 1 %k %v %l", BWL_SCRIPT_EXTEND_IF_MINE, { OWNED } },
    [REDIS_QUEUE_RELEASE]   = { "%S %Q %v %p", BWL_SCRIPT_QUEUE_RELEASE, { QUEUE_STATUS } },
    [REDIS_QUEUE_REST]      = { "%S %Q %v %p %n %w", BWL_SCRIPT_QUEUE_REST, { QUEUE_STATUS } },
    [REDIS_QUEUE_CANCEL]    = { "%S %Q %v %p %M", BWL_SCRIPT_QUEUE_CANCEL, { QUEUE_STATUS } },
    [REDIS_QUEUE_DISPATCH_NEXT] = { "%S %Q %p", BWL_SCRIPT_QUEUE_DISPATCH_NEXT, { QUEUE_STATUS } },
    [REDIS_QUEUE_REQUEUE] = { "%S %Q %v %l %p %m %o", BWL_SCRIPT_QUEUE_REQUEUE, { QUEUE_STATUS } },
    [REDIS_SHARE_TAKE]    = { "%S %G %v %l %p - 0 0 %W", BWL_SCRIPT_SHARE_JOIN, { QUEUE_STATUS } },
    [REDIS_SHARE_JOIN] = { "%S %G %v %l %p %m %n %x %W", BWL_SCRIPT_SHARE_JOIN, { QUEUE_STATUS } },
    [REDIS_SHARE_HEARTBEAT] = { "%S %G %v %p %n %M", BWL_SCRIPT_SHARE_HEARTBEAT, { QUEUE_STATUS } },
    [REDIS_SHARE_EXTEND]    = { "%S %G %v %l %p %g %N", BWL_SCRIPT_SHARE_EXTEND, { OWNED } },
    [REDIS_SHARE_LEAVE]     = { "%S %G %v %p %g %M", BWL_SCRIPT_SHARE_LEAVE, { QUEUE_STATUS } },
    [REDIS_SHARE_DOWNGRADE] = { "%S %G %v %l %p", BWL_SCRIPT_SHARE_DOWNGRADE, { QUEUE_STATUS } },
    [REDIS_SHARE_UPGRADE]   = { "%S %G %v %l %o", BWL_SCRIPT_SHARE_UPGRADE, { QUEUE_STATUS } },
};

/* DELETE_IF_MINE with a signal.  A list is a key: KEYS[2]. */
static const row signalling[] = {
    [BWL_SIGNAL_LIST]    = { "%S 2 %k %a %v", BWL_SCRIPT_DELETE_AND_PUSH, { OWNED } },
    [BWL_SIGNAL_EVENT]   = { "%S 2 %k %a %v", BWL_SCRIPT_DELETE_AND_KEEP_ONE, { OWNED } },
    [BWL_SIGNAL_CHANNEL] = { "%S 1 %k %v %a %b", BWL_SCRIPT_DELETE_AND_PUBLISH, { OWNED } },
};

/* SHARE_EXTEND while its slot moves. */
static const row extend_moving = { "%S 1 %k %v %l %h %g",
                                   BWL_SCRIPT_SHARE_EXTEND_MOVING,
                                   { OWNED } };

/* ---- commands -------------------------------------------------------------------------------- */

static void write_name_of_script(bwl_resp_writer *writer, const bwl_script *script, bool use_eval)
{
    bwl_resp_write_text(writer, use_eval ? "EVAL" : "EVALSHA");
    bwl_resp_write_bulk(writer, use_eval ? script->text : script->sha1,
                        use_eval ? script->size : sizeof script->sha1 - 1);
}

void bwl_redis_write_script(bwl_resp_writer *writer, const bwl_script *script, bool use_eval,
                            unsigned keys, unsigned arguments)
{
    bwl_resp_write_array(writer, 3 + arguments);
    write_name_of_script(writer, script, use_eval);
    bwl_resp_write_integer(writer, keys);
}

static void write_value_of(bwl_resp_writer *writer, const bwl_redis_command_args *args,
                           const char *token)
{
    char   value[BWL_VALUE_MAX];
    size_t size = BWL_QUEUE_VALUE_SIZE;

    if (bwl_queue_is(args->command))
        bwl_queue_value_write(value, args->self->session, token);
    else
        size = bwl_value_write(value, args->rules, token, args->number);
    bwl_resp_write_bulk(writer, value, size);
}

void bwl_redis_write_value(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    if (args->value != NULL)
        bwl_resp_write_bulk(writer, args->value, args->value_size);
    else
        write_value_of(writer, args, args->token);
}

static int64_t seconds_of(bwl_ms lease_ms)
{
    return (lease_ms + MS_IN_S - 1) / MS_IN_S;
}

static void write_expiry(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    bool in_seconds = args->rules != NULL && args->rules->lease_in_seconds;

    bwl_resp_write_text(writer, in_seconds ? "EX" : "PX");
    bwl_resp_write_integer(writer, in_seconds ? seconds_of(args->lease_ms) : args->lease_ms);
}

static void write_key_beside(bwl_resp_writer *writer, const bwl_redis_command_args *args,
                             bool has_braces, const char *before, const char *after)
{
    char   name[BWL_KEY_BESIDE_MAX];
    size_t size = bwl_key_beside(name, args->key, args->key_size, has_braces, before, after);

    bwl_resp_write_bulk(writer, name, size);
}

/* The same as RedissonObject.prefixName. */
static void write_hash_name(bwl_resp_writer *writer, const bwl_redis_command_args *args,
                            const char *prefix)
{
    write_key_beside(writer, args, memchr(args->key, '{', args->key_size) != NULL, prefix, "");
}

static bool counts_fences(const bwl_redis_command_args *args)
{
    return args->rules != NULL && args->rules->counts_fences;
}

static void write_hash_keys(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    bwl_resp_write_text(writer, counts_fences(args) ? "2" : "1");
    bwl_resp_write_bulk(writer, args->key, args->key_size);
    if (counts_fences(args))
        write_hash_name(writer, args, BWL_HASH_LOCK_COUNTER);
}

/* How many items the letter stands for. */
static unsigned items_of(const bwl_redis_command_args *args, char letter)
{
    switch (letter) {
    case 'S':
    case 'W':
    case 'E': return 2;
    case 'H': return counts_fences(args) ? 3 : 2;
    case 'C': return args->is_of_cluster;
    case 'T': return BWL_TAKE_TIMESTAMP_ARGUMENTS;
    case 'b': return args->signal.names[1].size != 0;
    case 'Q': return 5;
    case 'G': return 6;
    case 'M': return bwl_queue_write_members(NULL, args);
    }
    return 1;
}

static void write_items(bwl_resp_writer *writer, const bwl_redis_command_args *args,
                        bwl_script_id script, char letter)
{
    const bwl_bytes *names = args->signal.names;

    switch (letter) {
    case 'S': write_name_of_script(writer, &bwl_scripts[script], args->use_eval); return;
    case 'k': bwl_resp_write_bulk(writer, args->key, args->key_size); return;
    case 'v': bwl_redis_write_value(writer, args); return;
    case 'n': bwl_resp_write_integer(writer, args->number); return;
    case 'l': bwl_resp_write_integer(writer, args->lease_ms); return;
    case 's': bwl_resp_write_integer(writer, seconds_of(args->lease_ms)); return;
    case 'E': write_expiry(writer, args); return;
    case 'H': write_hash_keys(writer, args); return;
    case 'c': write_hash_name(writer, args, BWL_HASH_LOCK_CHANNEL); return;
    case 'C':
        if (args->is_of_cluster)
            bwl_resp_write_text(writer, "SPUBLISH");
        return;
    case 'T': bwl_take_timestamp_write(writer, args->rules, args->token, args->lease_ms); return;
    case 'a': bwl_resp_write_bulk(writer, names[0].at, names[0].size); return;
    case 'b':
        if (names[1].size != 0)
            bwl_resp_write_bulk(writer, names[1].at, names[1].size);
        return;
    case 'Q': bwl_queue_write_keys(writer, args); return;
    case 'G': bwl_queue_write_sharing_keys(writer, args); return;
    case 'h': bwl_queue_write_sharers_key(writer, args); return;
    case 'g': bwl_resp_write_integer(writer, args->share.weight); return;
    case 'W':
        bwl_resp_write_integer(writer, args->share.weight);
        bwl_resp_write_integer(writer, args->share.limit);
        return;
    case 'N': bwl_resp_write_integer(writer, args->number / (int64_t)BWL_QUEUE_HANDOFFS); return;
    case 'p': bwl_queue_write_publish(writer, args->self); return;
    case 'm': bwl_queue_write_member(writer, args); return;
    case 'M': (void)bwl_queue_write_members(writer, args); return;
    case 'o': write_value_of(writer, args, args->previous_token); return;
    case 'f': bwl_resp_write_text(writer, args->previous_value); return;
    case 'x': bwl_resp_write_integer(writer, args->self->queue_max); return;
    case 'w': bwl_resp_write_text(writer, args->who); return;
    }
    bwl_unreachable("no such word");
}

static const row *row_of(const bwl_redis_command_args *args)
{
    bool is_signal = args->command == REDIS_DELETE_IF_MINE && args->signal.kind != BWL_SIGNAL_NONE;

    if (args->command == REDIS_SHARE_EXTEND && args->moving)
        return &extend_moving;
    return is_signal ? &signalling[args->signal.kind] : &rows[args->command];
}

static const char *end_of_word(const char *word)
{
    if (*word == '%')
        return word + 2;
    while (*word != ' ' && *word != '|' && *word != '\0')
        word++;
    return word;
}

static uint32_t count_items(const bwl_redis_command_args *args, const char *words)
{
    uint32_t count = 0;

    for (const char *end;; words = end + 1) {
        end = end_of_word(words);
        count += *words == '%' ? items_of(args, words[1]) : 1;
        if (*end != ' ')
            return count;
    }
}

/* Writes one command.  Returns the end of its words. */
static const char *write_command(bwl_resp_writer *writer, const bwl_redis_command_args *args,
                                 bwl_script_id script, const char *words)
{
    bwl_resp_write_array(writer, count_items(args, words));
    for (const char *end;; words = end + 1) {
        end = end_of_word(words);
        if (*words == '%')
            write_items(writer, args, script, words[1]);
        else
            bwl_resp_write_bulk(writer, words, (size_t)(end - words));
        if (*end != ' ')
            return end;
    }
}

/* WAIT with 0 ms would wait for ever. */
void bwl_redis_write(bwl_resp_writer *writer, const bwl_redis_command_args *args)
{
    const row  *r     = row_of(args);
    const char *words = r->words;

    assert(args->command != REDIS_REPLICATED || (args->number > 0 && args->lease_ms > 0));
    words = write_command(writer, args, r->script, words);
    while (*words == '|')
        words = write_command(writer, args, r->script, words + 1);
}

void bwl_redis_write_hello(bwl_resp_writer *writer, const char *user, const char *password)
{
    if (password == NULL)
        bwl_resp_write(writer, "HELLO 3");
    else
        bwl_resp_write(writer, "HELLO 3 AUTH %s %s", user != NULL ? user : "default", password);
}

size_t bwl_redis_size_max(bwl_redis_command command, size_t key_size)
{
    bool has_script = rows[command].words[0] == '%';

    return ROOM + (has_script ? bwl_scripts[rows[command].script].size : 0) +
           4 * (key_size + BULK_ROOM);
}

unsigned bwl_redis_frames(bwl_redis_command command)
{
    unsigned frames = 1;

    while (frames < FRAMES_MAX && rows[command].replies[frames] != 0)
        frames++;
    return frames;
}

bool bwl_redis_shows_value(bwl_redis_command command)
{
    return rows[command].replies[bwl_redis_frames(command) - 1] == SHOWN;
}

/* ---- replies --------------------------------------------------------------------------------- */

static bwl_redis_verdict answer(bwl_redis_reply *ret_reply, bwl_answer answer_)
{
    ret_reply->answer = answer_;
    return BWL_REDIS_ANSWER;
}

static bwl_redis_verdict read_text(const bwl_resp_value *value, const char *text,
                                   bwl_redis_reply *ret_reply)
{
    if (value->type == '+' && bwl_resp_text_is(value, text))
        return answer(ret_reply, BWL_YES);
    return BWL_REDIS_STRANGE;
}

static bwl_redis_verdict read_shown(const bwl_redis_command_args *args, const bwl_resp_value *value,
                                    bwl_redis_reply *ret_reply)
{
    char    mine[BWL_VALUE_MAX];
    int64_t timestamp;

    if (value->type != '$')
        return BWL_REDIS_STRANGE;
    if (!bwl_value_read_plausible(&timestamp, args->rules, value->text, value->size))
        return answer(ret_reply, BWL_FOREIGN_VALUE); /* not of these rules */
    size_t size       = bwl_value_write(mine, args->rules, args->token, args->number);
    ret_reply->number = (uint64_t)timestamp;
    ret_reply->value  = (bwl_redis_value){
         .is_mine = size == value->size && memcmp(mine, value->text, size) == 0,
         .hash    = bwl_value_hash(value->text, value->size),
    };
    return answer(ret_reply, BWL_YES);
}

static bwl_redis_verdict read_taken(const bwl_redis_command_args *args, const bwl_resp_value *value,
                                    bwl_redis_reply *ret_reply)
{
    int64_t timestamp;

    if (value->type != '$' || !bwl_value_read(&timestamp, args->rules, value->text, value->size))
        return BWL_REDIS_STRANGE;
    ret_reply->number = (uint64_t)timestamp;
    ret_reply->value =
        (bwl_redis_value){ .is_mine = true, .hash = bwl_value_hash(value->text, value->size) };
    return answer(ret_reply, BWL_YES);
}

/* OWNED: a NO has its `loss`. */
static bwl_redis_verdict read_flag(form form_, const bwl_resp_value *value,
                                   bwl_redis_reply *ret_reply)
{
    int64_t least = form_ == OWNED ? -1 : 0;

    if (value->type != ':' || value->integer < least || value->integer > 1)
        return BWL_REDIS_STRANGE;
    if (form_ == OWNED && value->integer < 1)
        ret_reply->loss = value->integer == 0 ? BOWLINE_LOSS_GONE : BOWLINE_LOSS_TAKEN;
    return answer(ret_reply, value->integer == 1 ? BWL_YES : BWL_NO);
}

static bwl_redis_verdict read_exec(bwl_resp_cursor *cursor, const bwl_resp_value *value,
                                   bwl_redis_reply *ret_reply)
{
    bwl_resp_value deleted;

    if (value->type != '*' || value->count != 1 || !bwl_resp_next_bare(cursor, &deleted))
        return BWL_REDIS_STRANGE;
    return read_flag(FLAG, &deleted, ret_reply);
}

/* A number of at least the form's minimum. */
static bwl_redis_verdict read_number(form form_, const bwl_redis_command_args *args, int64_t number,
                                     bwl_redis_reply *ret_reply)
{
    if (form_ == NO_EXPIRY)
        return answer(ret_reply, number == -2   ? BWL_NO
                                 : number == -1 ? BWL_YES
                                                : BWL_FOREIGN_VALUE);
    ret_reply->number = number >= 0 ? (uint64_t)number : 0;
    if (form_ == REPLICAS)
        return answer(ret_reply, number >= args->number ? BWL_YES : BWL_NO);
    if (form_ == FENCE)
        return answer(ret_reply, number >= 0 ? BWL_YES : BWL_NO);
    if (number == -1)
        ret_reply->number = REDIS_NO_EXPIRY;
    return answer(ret_reply, number == -2 ? BWL_NO : BWL_YES);
}

static bwl_redis_verdict read_as(form form_, const bwl_redis_command_args *args,
                                 bwl_resp_cursor *cursor, const bwl_resp_value *value,
                                 bwl_redis_reply *ret_reply)
{
    int64_t min = form_ == REPLICAS ? 0 : form_ == FENCE ? -1 : -2;

    switch (form_) {
    case FLAG:
    case OWNED: return read_flag(form_, value, ret_reply);
    case OK: return read_text(value, "OK", ret_reply);
    case QUEUED: return read_text(value, "QUEUED", ret_reply);
    case OK_OR_NULL:
    case EXEC:
    case SHOWN:
        if (value->type == '_')
            return answer(ret_reply, BWL_NO);
        if (form_ == SHOWN)
            return read_shown(args, value, ret_reply);
        return form_ == EXEC ? read_exec(cursor, value, ret_reply)
                             : read_text(value, "OK", ret_reply);
    case TIMESTAMP:
        if (value->type == ':' && (value->integer == 0 || value->integer == -1))
            return answer(ret_reply, value->integer == 0 ? BWL_NO : BWL_FOREIGN_VALUE);
        return read_taken(args, value, ret_reply);
    case QUEUE_STATUS: return bwl_queue_read(args->command, cursor, value, ret_reply);
    case EXPIRY:
    case NO_EXPIRY:
    case REPLICAS:
    case FENCE:
        if (value->type != ':' || value->integer < min)
            return BWL_REDIS_STRANGE;
        return read_number(form_, args, value->integer, ret_reply);
    }
    bwl_unreachable("a form outside of its enum");
}

/* True for the errors of WAIT on a server that has become a replica.  That is RETRYABLE: the engine
 * looks for the primary, or waits until the server is one again. */
static bool is_of_replica(const char *bytes, size_t size)
{
    return bwl_redis_error_is(bytes, size, "UNBLOCKED") ||
           memmem(bytes, size, "replica instances", strlen("replica instances")) != NULL;
}

bwl_redis_verdict bwl_redis_read_error(const char *bytes, size_t size, bwl_answer *ret_answer)
{
    if (bwl_redis_error_is(bytes, size, "NOSCRIPT"))
        return BWL_REDIS_NOSCRIPT;
    *ret_answer = bwl_redis_is_not_now(bytes, size) ? BWL_RETRYABLE : BWL_REFUSED;
    return BWL_REDIS_ANSWER;
}

bwl_redis_verdict bwl_redis_read(const bwl_redis_command_args *args, unsigned nth,
                                 const char *bytes, size_t size, bwl_redis_reply *ret_reply)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    assert(nth < bwl_redis_frames(args->command));
    *ret_reply = (bwl_redis_reply){ 0 };
    if (!bwl_resp_next_bare(&cursor, &value))
        return BWL_REDIS_STRANGE;
    if (value.type == '-' || value.type == '!') {
        if (bwl_redis_shows_value(args->command) && bwl_redis_error_is(bytes, size, "WRONGTYPE"))
            return answer(ret_reply, BWL_FOREIGN_VALUE); /* a list, a set ... */
        if (args->command == REDIS_REPLICATED && is_of_replica(bytes, size))
            return answer(ret_reply, BWL_RETRYABLE);
        return bwl_redis_read_error(bytes, size, &ret_reply->answer);
    }
    return read_as(rows[args->command].replies[nth], args, &cursor, &value, ret_reply);
}
