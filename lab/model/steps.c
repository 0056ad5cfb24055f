#include "lab/model/steps.h"
#include "lab/model/script.h"
#include "core/text.h"
#include "lab/base/memory.h"

#include <string.h>

enum { TEXT_BITS = 16, MS_PER_SECOND = 1000 };

#define FAR_MS INT64_C(1000000000000) /* thirty years */

/* ---- values ---------------------------------------------------------------------------------- */

int64_t bwl_model_text_value(const bwl_lock_program *program, unsigned i)
{
    const bwl_lock_text *text  = &program->texts[i];
    unsigned             first = 0;
    uint64_t             number;

    if (bwl_number_parse(&number, text->bytes, text->size, BWL_MODEL_TEXT - 1))
        return (int64_t)number;
    while (program->texts[first].hash != text->hash)
        first++;
    return BWL_MODEL_TEXT + ((int64_t)(first + 1) << TEXT_BITS);
}

/* The texts that scripts have made, in the order in which they were made first.  They are kept for
 * the life of the process. */
enum { MADE_MAX = 16, MADE_FROM = 1024 };

static bwl_lock_text made[MADE_MAX];
static unsigned      made_count;

int64_t bwl_model_value_of_text(const bwl_lock_program *program, const char *bytes, size_t size)
{
    unsigned i = 0;
    uint64_t number;

    if (bwl_number_parse(&number, bytes, size, BWL_MODEL_TEXT - 1))
        return (int64_t)number;
    for (unsigned k = 0; k < program->texts_count; k++)
        if (program->texts[k].size == size && memcmp(program->texts[k].bytes, bytes, size) == 0)
            return bwl_model_text_value(program, k);
    while (i < made_count && !(made[i].size == size && memcmp(made[i].bytes, bytes, size) == 0))
        i++;
    if (i == MADE_MAX)
        return -1;
    if (i == made_count) {
        char *kept = bwl_room_for(size + 1, 1);
        memcpy(kept, bytes, size);
        made[made_count++] =
            (bwl_lock_text){ .bytes = kept, .size = size, .hash = bwl_hash(bytes, size) };
    }
    return BWL_MODEL_TEXT + ((int64_t)(MADE_FROM + i) << TEXT_BITS);
}

const bwl_lock_text *bwl_model_text_of(const bwl_lock_program *program, int64_t value,
                                       uint16_t *ret_token)
{
    int64_t upper = (value - BWL_MODEL_TEXT) >> TEXT_BITS;

    *ret_token = 0;
    if (value < BWL_MODEL_TEXT || value >= BWL_MODEL_FOREIGN_VALUE)
        return NULL;
    if (upper == 0) {
        *ret_token = (uint16_t)value;
        return NULL;
    }
    if (upper >= MADE_FROM)
        return &made[upper - MADE_FROM];
    assert(upper <= program->texts_count);
    return &program->texts[upper - 1];
}

uint64_t bwl_model_hash_of(const bwl_lock_program *program, int64_t value)
{
    uint16_t             token;
    const bwl_lock_text *text = bwl_model_text_of(program, value, &token);

    return text != NULL ? text->hash : (uint64_t)value;
}

static int64_t value_of(const bwl_model_command_args *q, const bwl_call_arg *arg)
{
    switch ((bwl_call_arg_kind)arg->kind) {
    case BWL_ARG_TOKEN: return BWL_MODEL_TEXT + q->token;
    case BWL_ARG_LEASE_S: return (q->lease_ms + MS_PER_SECOND - 1) / MS_PER_SECOND + arg->number;
    case BWL_ARG_LEASE_MS: return q->lease_ms + arg->number;
    case BWL_ARG_NUMBER: return arg->number;
    case BWL_ARG_TEXT: return bwl_model_text_value(q->program, (unsigned)arg->number);
    case BWL_ARG_COMPUTED:
    case BWL_ARG_END: return q->timestamp;
    case BWL_ARG_KEY:
    case BWL_ARG_KEYWORD: break;
    }
    bwl_unreachable("this argument has no value");
}

/* ---- replies --------------------------------------------------------------------------------- */

static bwl_model_reply of_kind(bwl_reply_kind kind)
{
    return (bwl_model_reply){ .answer = BWL_YES, .kind = kind };
}

static bwl_model_reply refused(void)
{
    return (bwl_model_reply){ .answer = BWL_REFUSED };
}

static bwl_model_reply value(int64_t number)
{
    return (
        bwl_model_reply){ .answer = BWL_YES, .kind = BWL_REPLY_VALUE, .number = (uint64_t)number };
}

static bwl_model_reply show(const bwl_model_redis *r)
{
    const bwl_model_key *k = bwl_model_lock(r);

    return k->kind == BWL_KIND_NONE ? of_kind(BWL_REPLY_NIL) : value(k->value);
}

/* ---- commands -------------------------------------------------------------------------------- */

static void set(bwl_model_redis *r, const bwl_model_command_args *q, const bwl_call *call)
{
    bwl_model_set(r, BWL_MODEL_LOCK, value_of(q, &call->args[1]), q->token);
}

/* When a key ends, in the unit of the server's clock.  Far ends are the same. */
static int64_t end_of(const bwl_model_redis *r, bwl_set_word timed, int64_t time)
{
    bool    is_moment = timed == BWL_SET_EXAT || timed == BWL_SET_PXAT;
    int64_t ms        = time * bwl_set_word_unit_ms(timed);
    int64_t now_ms    = r->now / BWL_MODEL_PER_MS;

    if (is_moment)
        return bwl_ms_min(ms, now_ms + FAR_MS) * BWL_MODEL_PER_MS;
    return r->now + bwl_ms_min(ms, FAR_MS) * BWL_MODEL_PER_MS;
}

static bwl_model_reply set_with_options(bwl_model_redis *r, const bwl_model_command_args *q,
                                        const bwl_call *call)
{
    bwl_model_key   was    = *bwl_model_lock(r);
    bool            exists = was.kind != BWL_KIND_NONE;
    bwl_model_reply shown  = show(r);
    unsigned        set_of = 0;
    bwl_set_word    timed  = 0; /* the option that has a time */
    int64_t         time   = 0;

    for (unsigned i = 2; i < call->args_count; i++) {
        bwl_set_word word = (bwl_set_word)call->args[i].number;
        if (call->args[i].kind != BWL_ARG_KEYWORD) {
            time = value_of(q, &call->args[i]);
            continue;
        }
        set_of |= 1u << word;
        timed = bwl_set_word_unit_ms(word) != 0 ? word : timed;
    }
    bool gets = (set_of >> BWL_SET_GET & 1) != 0;
    if (timed != 0 && (time <= 0 || time > INT64_MAX / bwl_set_word_unit_ms(timed)))
        return refused();
    if ((exists && (set_of >> BWL_SET_NX & 1) != 0) || (!exists && (set_of >> BWL_SET_XX & 1) != 0))
        return gets ? shown : of_kind(BWL_REPLY_NIL);
    set(r, q, call);
    if (timed != 0)
        (void)bwl_model_expire_at(r, BWL_MODEL_LOCK, end_of(r, timed, time));
    else if ((set_of >> BWL_SET_KEEPTTL & 1) != 0 && exists && !was.lasts)
        (void)bwl_model_expire_at(r, BWL_MODEL_LOCK, was.ends_at);
    return gets ? shown : of_kind(BWL_REPLY_OK);
}

static bwl_model_reply add(bwl_model_redis *r, const bwl_model_command_args *q, int by)
{
    const bwl_model_key *k = bwl_model_lock(r);

    if (k->kind != BWL_KIND_NONE && (k->kind != BWL_KIND_STRING || k->value >= BWL_MODEL_TEXT))
        return refused(); /* no number */
    if (k->kind == BWL_KIND_NONE)
        bwl_model_set(r, BWL_MODEL_LOCK, 0, q->token);
    r->data.keys[BWL_MODEL_LOCK].value += by;
    bwl_model_changed(r, BWL_MODEL_LOCK);
    return value(k->value);
}

static bwl_model_reply expire(bwl_model_redis *r, int64_t after_ms)
{
    return value(bwl_model_expire(r, BWL_MODEL_LOCK, after_ms));
}

static bwl_model_reply persist(bwl_model_redis *r)
{
    bool had_end = bwl_model_left_ms(r, BWL_MODEL_LOCK) >= 0;

    if (had_end) {
        r->data.keys[BWL_MODEL_LOCK].lasts   = true;
        r->data.keys[BWL_MODEL_LOCK].ends_at = 0;
        bwl_model_changed(r, BWL_MODEL_LOCK);
    }
    return value(had_end);
}

static int64_t left_in(const bwl_model_redis *r, int64_t unit_ms)
{
    int64_t left = bwl_model_left_ms(r, BWL_MODEL_LOCK);

    return left < 0 ? left : (left + unit_ms / 2) / unit_ms;
}

static void watch(bwl_model_redis *r, const bwl_model_command_args *q, bool is_watching)
{
    bwl_model_connection *c = &r->connections[q->client];

    c->is_watching = is_watching;
    if (!is_watching)
        c->is_dirty = false;
}

static bwl_model_reply call_one(bwl_model_redis *r, const bwl_model_command_args *q,
                                const bwl_call *call);

static bwl_model_reply eval(bwl_model_redis *r, const bwl_model_command_args *q,
                            const bwl_call *call)
{
    int64_t values[BWL_CALL_ARGS_MAX] = { 0 };

    for (unsigned i = 3; i < call->args_count; i++)
        values[i] = value_of(q, &call->args[i]);
    return bwl_model_script(r, q, call, values, call_one);
}

static bwl_model_reply call_one(bwl_model_redis *r, const bwl_model_command_args *q,
                                const bwl_call *call)
{
    bool            exists = bwl_model_exists(r, BWL_MODEL_LOCK);
    bwl_model_reply shown  = show(r);

    switch ((bwl_call_word)call->word) {
    case BWL_CALL_GET: return shown;
    case BWL_CALL_SET: return set_with_options(r, q, call);
    case BWL_CALL_SETNX:
        if (!exists)
            set(r, q, call);
        return value(!exists);
    case BWL_CALL_GETSET: set(r, q, call); return shown;
    case BWL_CALL_DEL: return value(bwl_model_remove(r, BWL_MODEL_LOCK));
    case BWL_CALL_EXISTS: return value(exists);
    case BWL_CALL_EXPIRE: return expire(r, value_of(q, &call->args[1]) * MS_PER_SECOND);
    case BWL_CALL_PEXPIRE: return expire(r, value_of(q, &call->args[1]));
    case BWL_CALL_PERSIST: return persist(r);
    case BWL_CALL_TTL: return value(left_in(r, MS_PER_SECOND));
    case BWL_CALL_PTTL: return value(left_in(r, 1));
    case BWL_CALL_INCR: return add(r, q, 1);
    case BWL_CALL_DECR: return add(r, q, -1);
    case BWL_CALL_WATCH: watch(r, q, true); return of_kind(BWL_REPLY_OK);
    case BWL_CALL_UNWATCH: watch(r, q, false); return of_kind(BWL_REPLY_OK);
    case BWL_CALL_PUBLISH: return value(0); /* no client subscribes */
    case BWL_CALL_EVAL: return eval(r, q, call);
    case BWL_CALL_NONE:
    case BWL_CALL_WORDS_END: break;
    }
    bwl_unreachable("no such command");
}

/* What a client compares. */
static bwl_model_reply compared(const bwl_model_command_args *q, bwl_model_reply reply)
{
    int64_t shown = (int64_t)reply.number;

    if (reply.answer != BWL_YES || reply.kind != BWL_REPLY_VALUE)
        return reply;
    reply.is_mine    = shown == BWL_MODEL_TEXT + q->token;
    reply.is_number  = shown < BWL_MODEL_TEXT;
    reply.value_hash = bwl_model_hash_of(q->program, shown);
    return reply;
}

bwl_model_reply bwl_model_step(bwl_model_redis *r, const bwl_model_command_args *q)
{
    const bwl_lock_op *op    = &q->program->ops[q->step];
    bwl_model_reply    reply = of_kind(BWL_REPLY_NIL);

    if (op->is_transaction && r->connections[q->client].is_dirty) {
        watch(r, q, false);
        return reply;
    }
    for (unsigned i = 0; i < op->calls_count; i++)
        reply = compared(q, call_one(r, q, &q->program->calls[op->call + i]));
    if (op->is_transaction)
        watch(r, q, false);
    return reply;
}

bool bwl_model_step_ends_watch(const bwl_lock_program *program, unsigned step)
{
    const bwl_lock_op *op = &program->ops[step];

    return op->is_transaction || program->calls[op->call].word == BWL_CALL_UNWATCH;
}
