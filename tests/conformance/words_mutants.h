/*
 * words_mutants.h -- faults in the model's commands: the reply and the effect of the model are
 * changed afterwards.  test_model_words.c has to detect each.
 */
#ifndef TEST_WORDS_MUTANTS_H
#define TEST_WORDS_MUTANTS_H

#include "protocol/format/timestamps.h"
#include "lab/model/words.h"
#include "tests/conformance/model_run.h"

#define MUTATION_PARAMETERS                                                             \
    bwl_model_redis *r, const bwl_model_redis *before, const bwl_model_command_args *q, \
        bwl_model_reply *reply

typedef void mutation(MUTATION_PARAMETERS);

static mutation *mutant;

MUTANT(swap_keeps_the_end)
{
    if (q->command == REDIS_SWAP && reply->answer == BWL_YES) {
        r->data.keys[BWL_MODEL_LOCK].lasts   = before->data.keys[BWL_MODEL_LOCK].lasts;
        r->data.keys[BWL_MODEL_LOCK].ends_at = before->data.keys[BWL_MODEL_LOCK].ends_at;
    }
}

MUTANT(expire_to_the_millisecond)
{
    if (q->command == REDIS_EXPIRE && reply->answer == BWL_YES)
        r->data.keys[BWL_MODEL_LOCK].ends_at = r->now + q->lease_ms * BWL_MODEL_PER_MS;
}

MUTANT(watch_sees_nothing)
{
    for (unsigned i = 0; i < BWL_MODEL_CONNECTIONS; i++)
        r->connections[i].is_dirty = false;
}

MUTANT(foreign_values_are_ours)
{
    if (q->command == REDIS_READ && reply->answer == BWL_FOREIGN_VALUE)
        reply->answer = BWL_YES;
}

MUTANT(all_is_mine)
{
    if (q->command == REDIS_READ && reply->answer == BWL_YES)
        reply->is_mine = true;
}

MUTANT(extension_shortens)
{
    if (q->command == REDIS_EXTEND_IF_MINE && reply->answer == BWL_YES)
        r->data.keys[BWL_MODEL_LOCK].ends_at = r->now + q->lease_ms * BWL_MODEL_PER_MS;
}

MUTANT(timestamp_one_too_small)
{
    if (q->command == REDIS_TAKE_TIMESTAMP && reply->answer == BWL_YES)
        reply->number--;
}

MUTANT(taken_when_it_is_now)
{
    int64_t now       = r->now / BWL_MODEL_PER_MS;
    int64_t timestamp = before->data.keys[BWL_MODEL_LOCK].value;

    if (q->command == REDIS_TAKE_TIMESTAMP && q->rules->expired == BWL_TIMESTAMP_BEFORE_NOW &&
        timestamp == now)
        reply->answer = BWL_YES;
}

MUTANT(any_time_is_plausible)
{
    int64_t value = before->data.keys[BWL_MODEL_LOCK].value;

    if (q->command == REDIS_READ && reply->answer == BWL_FOREIGN_VALUE && value < BWL_MODEL_TEXT)
        *reply = (bwl_model_reply){ .answer = BWL_YES, .number = (uint64_t)value };
}

MUTANT(any_time_is_held)
{
    if (q->command == REDIS_TAKE_TIMESTAMP && before->data.keys[BWL_MODEL_LOCK].value == 1)
        reply->answer = BWL_NO;
}

MUTANT(an_expiry_is_overlooked)
{
    int64_t value = before->data.keys[BWL_MODEL_LOCK].value;

    if (q->command == REDIS_TAKE_TIMESTAMP && reply->answer == BWL_FOREIGN_VALUE &&
        bwl_timestamp_is_plausible(q->rules, value))
        reply->answer = BWL_YES;
}

MUTANT(an_expiry_is_none)
{
    if (q->command == REDIS_FIND_NO_EXPIRY && reply->answer == BWL_FOREIGN_VALUE)
        reply->answer = BWL_YES;
}

MUTANT(enters_again)
{
    if (q->command == REDIS_HASH_TAKE && reply->answer == BWL_YES)
        r->data.keys[BWL_MODEL_LOCK].ends_at = r->now + q->lease_ms * BWL_MODEL_PER_MS;
}

MUTANT(fence_grows_without_a_grant)
{
    if (q->command == REDIS_HASH_TAKE && reply->answer == BWL_YES && q->rules != NULL &&
        q->rules->counts_fences && before->data.keys[BWL_MODEL_LOCK].kind != BWL_KIND_NONE)
        reply->number++;
}

MUTANT(field_of_another_is_extended)
{
    if (q->command == REDIS_HASH_EXTEND && before->data.keys[BWL_MODEL_LOCK].kind == BWL_KIND_HASH)
        reply->answer = BWL_YES;
}

MUTANT(release_keeps_the_key)
{
    if (q->command == REDIS_HASH_RELEASE && reply->answer == BWL_YES)
        *r = *before;
}

MUTANT(member_is_taken_again)
{
    if (q->command == REDIS_ZSET_TAKE && reply->answer == BWL_YES)
        r->data.keys[BWL_MODEL_LOCK].ends_at = r->now + q->lease_ms * BWL_MODEL_PER_MS;
}

MUTANT(member_of_another_is_extended)
{
    if (q->command == REDIS_ZSET_EXTEND && before->data.keys[BWL_MODEL_LOCK].kind == BWL_KIND_ZSET)
        reply->answer = BWL_YES;
}

MUTANT(member_that_is_over_is_extended)
{
    const bwl_model_item *items = before->data.items;

    for (unsigned i = 0; q->command == REDIS_ZSET_EXTEND && i < BWL_MODEL_ITEMS; i++)
        if (items[i].is_there && items[i].key == BWL_MODEL_LOCK && items[i].member == q->token &&
            before->data.keys[BWL_MODEL_LOCK].kind == BWL_KIND_ZSET)
            reply->answer = BWL_YES;
}

MUTANT(release_keeps_the_members)
{
    if (q->command == REDIS_ZSET_RELEASE && reply->answer == BWL_YES)
        *r = *before;
}

#endif
