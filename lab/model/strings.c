/*
 * strings.c -- string keys.  See redis.h.
 *
 * Setting a value removes the TTL, except SET with KEEPTTL, and INCR.
 */
#include "lab/model/inside.h"

enum { MS_PER_SECOND = 1000 };

static void say_value(const bwl_model_key *k, bwl_model_frame *reply)
{
    if (k->kind == BWL_KIND_NONE)
        bwl_model_say(reply, BWL_PART_NIL, 0);
    else
        bwl_model_say(reply, BWL_PART_VALUE, k->value);
}

/* Replaces a key of any kind; keeps its TTL if asked to. */
static void put(bwl_model_redis *r, const bwl_model_command *cmd)
{
    bwl_model_key *k    = &r->data.keys[cmd->key];
    bwl_model_key  past = *k;
    bool           kept = past.kind != BWL_KIND_NONE && (cmd->flags & BWL_SET_KEEPTTL) != 0;

    if (past.kind != BWL_KIND_NONE)
        bwl_model_remove(r, cmd->key);
    *k = (bwl_model_key){
        .kind    = BWL_KIND_STRING,
        .lasts   = kept ? past.lasts : true,
        .writer  = cmd->writer,
        .ends_at = kept ? past.ends_at : 0,
        .value   = cmd->value,
    };
    bwl_model_changed(r, cmd->key);
}

static void set(bwl_model_redis *r, const bwl_model_command *cmd, bwl_model_frame *reply)
{
    const unsigned timed   = BWL_SET_EX | BWL_SET_PX | BWL_SET_PXAT;
    bwl_model_key *k       = &r->data.keys[cmd->key];
    bwl_ms         unit_ms = (cmd->flags & BWL_SET_EX) != 0 ? MS_PER_SECOND : 1;
    bool           gets    = (cmd->flags & BWL_SET_GET) != 0;
    bool           is_bad  = (cmd->flags & timed) != 0 && cmd->time <= 0;
    bool           stays = (cmd->flags & (k->kind == BWL_KIND_NONE ? BWL_SET_XX : BWL_SET_NX)) != 0;

    if (is_bad) {
        bwl_model_say_error(reply, BWL_ERROR_INVALID_EXPIRE);
        return;
    }
    if (gets && !bwl_model_is_kind(r, cmd->key, BWL_KIND_STRING, reply))
        return;
    if (gets)
        say_value(k, reply);
    else
        bwl_model_say(reply, stays ? BWL_PART_NIL : BWL_PART_OK, 0);
    if (stays)
        return;
    put(r, cmd);
    if ((cmd->flags & timed) == 0)
        return;
    k->lasts   = false;
    k->ends_at = bwl_model_moment(cmd->time * unit_ms);
    if ((cmd->flags & BWL_SET_PXAT) == 0)
        k->ends_at += r->now;
    bwl_model_redis_pass(r, 0); /* the TTL has expired already */
}

static void incr(bwl_model_redis *r, const bwl_model_command *cmd, bwl_model_frame *reply)
{
    bwl_model_key *k = &r->data.keys[cmd->key];

    if (k->kind == BWL_KIND_NONE)
        *k = (bwl_model_key){ .kind = BWL_KIND_STRING, .lasts = true, .writer = cmd->writer };
    if (k->value >= BWL_MODEL_TEXT) {
        bwl_model_say_error(reply, BWL_ERROR_NOT_INTEGER);
        return;
    }
    bwl_model_say_integer(reply, ++k->value);
    bwl_model_changed(r, cmd->key);
}

void bwl_model_do_string(bwl_model_redis *r, const bwl_model_command *cmd, bwl_model_frame *reply)
{
    bwl_model_key *k        = &r->data.keys[cmd->key];
    bool           is_there = k->kind != BWL_KIND_NONE;

    if (cmd->op == BWL_OP_SET) {
        set(r, cmd, reply);
        return;
    }
    if (cmd->op == BWL_OP_SETNX) {
        bwl_model_say_integer(reply, !is_there);
        if (!is_there)
            put(r, cmd);
        return;
    }
    if (!bwl_model_is_kind(r, cmd->key, BWL_KIND_STRING, reply))
        return;
    if (cmd->op == BWL_OP_INCR) {
        incr(r, cmd, reply);
        return;
    }
    assert(cmd->op == BWL_OP_GET || cmd->op == BWL_OP_GETSET);
    say_value(k, reply);
    if (cmd->op == BWL_OP_GETSET)
        put(r, cmd);
}
