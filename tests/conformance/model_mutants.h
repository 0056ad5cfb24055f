/*
 * model_mutants.h -- faults in the model server: each runs after every command, with the model as
 * it was before the command.  test_model_redis.c has to detect each.
 */
#ifndef TEST_MODEL_MUTANTS_H
#define TEST_MODEL_MUTANTS_H

#include "lab/model/redis.h"
#include "tests/conformance/model_run.h"
#include "tests/lib/model_play.h"

#include <string.h>

#define MUTANT(name)                                                                         \
    static model_mutation name;                                                              \
    TEST(notices_that_##name)                                                                \
    {                                                                                        \
        play_with(name);                                                                     \
        must_be_detected(#name);                                                             \
        play_with(NULL);                                                                     \
    }                                                                                        \
    static void name(bwl_model_redis *r, const bwl_model_redis *before, unsigned connection, \
                     const bwl_model_command *cmd, bwl_model_frame *reply)

MUTANT(setnx_overwrites)
{
    if (cmd->op == BWL_OP_SETNX && reply->parts[0].kind == BWL_PART_INTEGER &&
        reply->parts[0].number == 0 && r->data.keys[cmd->key].kind == BWL_KIND_STRING)
        r->data.keys[cmd->key].value = cmd->value;
}

MUTANT(getset_keeps_the_end)
{
    if (cmd->op == BWL_OP_GETSET && reply->parts[0].kind == BWL_PART_VALUE) {
        r->data.keys[cmd->key].lasts   = before->data.keys[cmd->key].lasts;
        r->data.keys[cmd->key].ends_at = before->data.keys[cmd->key].ends_at;
    }
}

MUTANT(set_keeps_the_end)
{
    bwl_model_command kept = *cmd;

    if (cmd->op == BWL_OP_SET && reply->parts[0].kind == BWL_PART_OK && cmd->flags == 0) {
        *r = *before;
        kept.flags |= BWL_SET_KEEPTTL;
        bwl_model_redis_do(r, connection, &kept, reply);
    }
}

MUTANT(incr_takes_the_end_away)
{
    if (cmd->op == BWL_OP_INCR && reply->parts[0].kind == BWL_PART_INTEGER)
        r->data.keys[cmd->key].lasts = true;
}

MUTANT(expire_now_waits)
{
    if ((cmd->op == BWL_OP_EXPIRE || cmd->op == BWL_OP_PEXPIRE) && cmd->time <= 0 &&
        reply->parts[0].kind == BWL_PART_INTEGER)
        r->data = before->data;
}

MUTANT(keys_end_a_millisecond_early)
{
    r->grace = 0;
}

MUTANT(keys_end_a_millisecond_late)
{
    r->grace = 2 * BWL_MODEL_PER_MS;
}

MUTANT(deleting_is_not_noticed)
{
    if (cmd->op == BWL_OP_DEL)
        memcpy(r->connections, before->connections, sizeof r->connections);
    if (cmd->op == BWL_OP_DEL && reply->parts[0].kind == BWL_PART_QUEUED)
        *r = *before;
}

MUTANT(expiring_is_not_noticed)
{
    if (cmd->op == BWL_OP_PEXPIRE && reply->parts[0].kind == BWL_PART_INTEGER)
        memcpy(r->connections, before->connections, sizeof r->connections);
}

MUTANT(exec_ends_no_watch)
{
    if (cmd->op == BWL_OP_EXEC && before->connections[connection].in_multi) {
        r->connections[connection].watched  = before->connections[connection].watched;
        r->connections[connection].is_dirty = before->connections[connection].is_dirty;
    }
}

MUTANT(own_writes_are_not_noticed)
{
    if (cmd->op == BWL_OP_SET)
        r->connections[connection].is_dirty = before->connections[connection].is_dirty;
}

MUTANT(nonsense_does_not_abort)
{
    r->connections[connection].is_aborted = false;
}

MUTANT(last_first)
{
    if (cmd->op == BWL_OP_ZRANK && reply->parts[0].kind == BWL_PART_INTEGER &&
        reply->parts[0].number == 0)
        reply->parts[0].number = 1;
}

MUTANT(hset_of_the_same_is_not_noticed)
{
    if (cmd->op == BWL_OP_HSET && reply->parts[0].kind == BWL_PART_INTEGER &&
        memcmp(&r->data, &before->data, sizeof r->data) == 0)
        memcpy(r->connections, before->connections, sizeof r->connections);
}

MUTANT(published_to_one_more)
{
    if (cmd->op == BWL_OP_PUBLISH && reply->parts[0].kind == BWL_PART_INTEGER)
        reply->parts[0].number++;
}

MUTANT(ttl_is_cut_short)
{
    bwl_model_command pttl = { .op = BWL_OP_PTTL, .key = cmd->key };

    if (cmd->op == BWL_OP_TTL && reply->parts[0].kind == BWL_PART_INTEGER &&
        reply->parts[0].number > 0) {
        bwl_model_redis_do(r, connection, &pttl, reply);
        reply->parts[0].number /= 1000;
    }
}

#endif
