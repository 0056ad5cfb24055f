/*
 * steps.c -- see steps.h.
 *
 * A transaction is sent in one piece: MULTI, its commands, EXEC.  Each of them has a frame.
 */
#include "engine/redis/wire/steps.h"
#include "core/text.h"
#include "engine/redis/wire/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MS_IN_S = 1000, ARG_ROOM = 96, COMMAND_ROOM = 64, TOO_LONG = 1 };

/* ---- commands -------------------------------------------------------------------------------- */

static size_t size_of_call(const bwl_lock_program *program, const bwl_call *call, size_t key_size)
{
    size_t size = COMMAND_ROOM;

    for (unsigned i = 0; i < call->args_count; i++)
        size += ARG_ROOM + (call->args[i].kind == BWL_ARG_KEY ? key_size
                            : call->args[i].kind == BWL_ARG_TEXT
                                ? program->texts[call->args[i].number].size
                                : BWL_TOKEN_MAX);
    return size;
}

size_t bwl_step_size_max(const bwl_lock_program *program, const bwl_lock_op *op, size_t key_size)
{
    size_t size = 2 * COMMAND_ROOM;

    for (unsigned i = 0; i < op->calls_count; i++)
        size += size_of_call(program, &program->calls[op->call + i], key_size);
    return size;
}

static void write_arg(bwl_resp_writer *writer, const bwl_step_args *args, const bwl_call_arg *arg)
{
    const bwl_lock_text *texts = args->program->texts;

    switch ((bwl_call_arg_kind)arg->kind) {
    case BWL_ARG_KEY: bwl_resp_write_bulk(writer, args->key.at, args->key.size); return;
    case BWL_ARG_TOKEN: bwl_resp_write_text(writer, args->token); return;
    case BWL_ARG_LEASE_S:
        bwl_resp_write_integer(writer, (args->lease_ms + MS_IN_S - 1) / MS_IN_S + arg->number);
        return;
    case BWL_ARG_LEASE_MS: bwl_resp_write_integer(writer, args->lease_ms + arg->number); return;
    case BWL_ARG_NUMBER: bwl_resp_write_integer(writer, arg->number); return;
    case BWL_ARG_TEXT:
        bwl_resp_write_bulk(writer, texts[arg->number].bytes, texts[arg->number].size);
        return;
    case BWL_ARG_COMPUTED: bwl_resp_write_integer(writer, args->computed); return;
    case BWL_ARG_END: bwl_resp_write_integer(writer, args->end); return;
    case BWL_ARG_KEYWORD:
        bwl_resp_write_text(writer, bwl_set_word_name((bwl_set_word)arg->number));
        return;
    }
    bwl_unreachable("no such argument");
}

void bwl_step_write(bwl_resp_writer *writer, const bwl_step_args *args)
{
    const bwl_lock_op *op = args->op;

    if (op->is_transaction)
        bwl_resp_write(writer, "MULTI");
    for (unsigned i = 0; i < op->calls_count; i++) {
        const bwl_call *call = &args->program->calls[op->call + i];
        bwl_resp_write_array(writer, 1 + call->args_count);
        bwl_resp_write_text(writer, bwl_call_word_name((bwl_call_word)call->word));
        for (unsigned k = 0; k < call->args_count; k++)
            write_arg(writer, args, &call->args[k]);
    }
    if (op->is_transaction)
        bwl_resp_write(writer, "EXEC");
}

/* ---- replies --------------------------------------------------------------------------------- */

unsigned bwl_step_frames(const bwl_lock_op *op)
{
    return op->is_transaction ? op->calls_count + 2u : 1u;
}

static bwl_redis_verdict is_kind(bwl_redis_reply *ret_reply, bwl_reply_kind kind)
{
    ret_reply->answer = BWL_YES;
    ret_reply->value  = (bwl_redis_value){ .kind = kind };
    return BWL_REDIS_ANSWER;
}

static bwl_redis_verdict read_bytes(const char *bytes, size_t size, const char *token,
                                    bwl_redis_reply *ret_reply)
{
    bool     is_minus = size > 1 && bytes[0] == '-';
    uint64_t number   = 0;

    ret_reply->answer = BWL_YES;
    ret_reply->value  = (bwl_redis_value){
         .is_mine   = size == strlen(token) && memcmp(bytes, token, size) == 0,
         .hash      = bwl_value_hash(bytes, size),
         .kind      = BWL_REPLY_VALUE,
         .is_number = bwl_number_parse(&number, bytes + is_minus, size - is_minus, INT64_MAX),
    };
    ret_reply->number = (uint64_t)(is_minus ? -(int64_t)number : (int64_t)number);
    return BWL_REDIS_ANSWER;
}

static bwl_redis_verdict read_integer(int64_t integer, const char *token,
                                      bwl_redis_reply *ret_reply)
{
    char digits[24];
    int  size = snprintf(digits, sizeof digits, "%" PRId64, integer);

    return read_bytes(digits, (size_t)size, token, ret_reply);
}

static bwl_redis_verdict read_error(const char *bytes, size_t size, bwl_redis_reply *ret_reply)
{
    ret_reply->answer = bwl_redis_is_not_now(bytes, size) ? BWL_RETRYABLE : BWL_REFUSED;
    return BWL_REDIS_ANSWER;
}

static bwl_redis_verdict read_value(const bwl_resp_value *value, const char *token,
                                    bwl_redis_reply *ret_reply)
{
    switch (value->type) {
    case '_': return is_kind(ret_reply, BWL_REPLY_NIL);
    case '+': return is_kind(ret_reply, BWL_REPLY_OK);
    case ':':
    case '#': return read_integer(value->integer, token, ret_reply);
    case '$':
    case '=':
    case ',':
    case '(': return read_bytes(value->text, value->size, token, ret_reply);
    }
    return BWL_REDIS_STRANGE; /* a list: no lock file asks for one */
}

/* The replies to the commands of a transaction; the last one counts. */
static bwl_redis_verdict read_exec(bwl_resp_cursor *cursor, const bwl_resp_value *list,
                                   const char *token, bwl_redis_reply *ret_reply)
{
    bwl_resp_value value = *list;

    for (uint32_t i = 0; i < list->count; i++)
        if (!bwl_resp_next_bare(cursor, &value))
            return BWL_REDIS_STRANGE;
    if (value.type == '-' || value.type == '!') {
        ret_reply->answer = BWL_REFUSED;
        return BWL_REDIS_ANSWER;
    }
    return list->count > 0 ? read_value(&value, token, ret_reply) : BWL_REDIS_STRANGE;
}

bwl_redis_verdict bwl_step_read(const bwl_lock_op *op, const char *token, unsigned nth,
                                const char *bytes, size_t size, bwl_redis_reply *ret_reply)
{
    bwl_resp_cursor cursor;
    bwl_resp_value  value;

    *ret_reply = (bwl_redis_reply){ 0 };
    if (bytes == NULL) {
        *ret_reply = (bwl_redis_reply){ .answer = BWL_YES,
                                        .value  = { .hash = TOO_LONG, .kind = BWL_REPLY_VALUE } };
        return BWL_REDIS_ANSWER;
    }
    cursor = bwl_resp_begin(bytes, size);
    if (!bwl_resp_next_bare(&cursor, &value))
        return BWL_REDIS_STRANGE;
    if (value.type == '-' || value.type == '!')
        return read_error(bytes, size, ret_reply);
    if (op->is_transaction && nth + 1 < bwl_step_frames(op)) {
        const char *expected = nth == 0 ? "OK" : "QUEUED";
        if (value.type != '+' || !bwl_resp_text_is(&value, expected))
            return BWL_REDIS_STRANGE;
        return is_kind(ret_reply, BWL_REPLY_OK);
    }
    if (op->is_transaction && value.type == '*')
        return read_exec(&cursor, &value, token, ret_reply);
    return read_value(&value, token, ret_reply);
}
