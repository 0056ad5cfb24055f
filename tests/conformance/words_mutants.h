/*
 * words_mutants.h -- mistakes in the model's commands: what the model answered and did is changed
 * after the fact.  test_model_words.c has to notice each.
 */
#ifndef TEST_WORDS_MUTANTS_H
#define TEST_WORDS_MUTANTS_H

#include "core/stamps.h"
#include "lab/model/words.h"
#include "tests/conformance/model_run.h"

typedef void mutation(bwl_model_redis *r, const bwl_model_redis *before,
                      const bwl_model_question *q, bwl_model_reply *reply);

static mutation *mutant;

#define MUTANT(name)                                                    \
    static mutation name;                                               \
    TEST(notices_that_##name)                                           \
    {                                                                   \
        mutant = name;                                                  \
        must_be_noticed(#name);                                         \
        mutant = NULL;                                                  \
    }                                                                   \
    static void name(bwl_model_redis *r, const bwl_model_redis *before, \
                     const bwl_model_question *q, bwl_model_reply *reply)

MUTANT(swap_keeps_the_end)
{
    if (q->word == REDIS_SWAP && reply->answer == BWL_YES) {
        r->data.keys[BWL_MODEL_LOCK].lasts   = before->data.keys[BWL_MODEL_LOCK].lasts;
        r->data.keys[BWL_MODEL_LOCK].ends_at = before->data.keys[BWL_MODEL_LOCK].ends_at;
    }
}

MUTANT(expire_to_the_millisecond)
{
    if (q->word == REDIS_EXPIRE && reply->answer == BWL_YES)
        r->data.keys[BWL_MODEL_LOCK].ends_at = r->now + q->lease_ms * BWL_MODEL_PER_MS;
}

MUTANT(watch_sees_nothing)
{
    for (unsigned i = 0; i < BWL_MODEL_CONNECTIONS; i++)
        r->connections[i].is_dirty = false;
}

MUTANT(strangers_are_ours)
{
    if (q->word == REDIS_READ && reply->answer == BWL_ALIEN)
        reply->answer = BWL_YES;
}

MUTANT(all_is_mine)
{
    if (q->word == REDIS_READ && reply->answer == BWL_YES)
        reply->is_mine = true;
}

MUTANT(extension_shortens)
{
    if (q->word == REDIS_EXTEND_IF_MINE && reply->answer == BWL_YES)
        r->data.keys[BWL_MODEL_LOCK].ends_at = r->now + q->lease_ms * BWL_MODEL_PER_MS;
}

MUTANT(stamp_one_too_small)
{
    if (q->word == REDIS_TAKE_STAMP && reply->answer == BWL_YES)
        reply->number--;
}

MUTANT(taken_when_it_is_now)
{
    int64_t now   = r->now / BWL_MODEL_PER_MS;
    int64_t stamp = before->data.keys[BWL_MODEL_LOCK].value;

    if (q->word == REDIS_TAKE_STAMP && q->rules->expired == BWL_STAMP_BEFORE_NOW && stamp == now)
        reply->answer = BWL_YES;
}

MUTANT(any_time_is_plausible)
{
    int64_t value = before->data.keys[BWL_MODEL_LOCK].value;

    if (q->word == REDIS_READ && reply->answer == BWL_ALIEN && value < BWL_MODEL_TEXT)
        *reply = (bwl_model_reply){ .answer = BWL_YES, .number = (uint64_t)value };
}

MUTANT(any_time_is_held)
{
    if (q->word == REDIS_TAKE_STAMP && before->data.keys[BWL_MODEL_LOCK].value == 1)
        reply->answer = BWL_NO;
}

MUTANT(an_expiry_is_overlooked)
{
    int64_t value = before->data.keys[BWL_MODEL_LOCK].value;

    if (q->word == REDIS_TAKE_STAMP && reply->answer == BWL_ALIEN &&
        bwl_stamp_is_plausible(q->rules, value))
        reply->answer = BWL_YES;
}

MUTANT(an_expiry_is_none)
{
    if (q->word == REDIS_FIND_NO_EXPIRY && reply->answer == BWL_ALIEN)
        reply->answer = BWL_YES;
}

MUTANT(enters_again)
{
    if (q->word == REDIS_HASH_TAKE && reply->answer == BWL_YES)
        r->data.keys[BWL_MODEL_LOCK].ends_at = r->now + q->lease_ms * BWL_MODEL_PER_MS;
}

MUTANT(fence_grows_without_a_grant)
{
    if (q->word == REDIS_HASH_TAKE && reply->answer == BWL_YES && q->rules != NULL &&
        q->rules->counts_fences && before->data.keys[BWL_MODEL_LOCK].kind != BWL_KIND_NONE)
        reply->number++;
}

MUTANT(field_of_another_is_extended)
{
    if (q->word == REDIS_HASH_EXTEND && before->data.keys[BWL_MODEL_LOCK].kind == BWL_KIND_HASH)
        reply->answer = BWL_YES;
}

MUTANT(release_keeps_the_key)
{
    if (q->word == REDIS_HASH_RELEASE && reply->answer == BWL_YES)
        *r = *before;
}

MUTANT(member_is_taken_again)
{
    if (q->word == REDIS_ZSET_TAKE && reply->answer == BWL_YES)
        r->data.keys[BWL_MODEL_LOCK].ends_at = r->now + q->lease_ms * BWL_MODEL_PER_MS;
}

MUTANT(member_of_another_is_extended)
{
    if (q->word == REDIS_ZSET_EXTEND && before->data.keys[BWL_MODEL_LOCK].kind == BWL_KIND_ZSET)
        reply->answer = BWL_YES;
}

MUTANT(member_that_is_over_is_extended)
{
    const bwl_model_item *items = before->data.items;

    for (unsigned i = 0; q->word == REDIS_ZSET_EXTEND && i < BWL_MODEL_ITEMS; i++)
        if (items[i].is_there && items[i].key == BWL_MODEL_LOCK && items[i].member == q->token &&
            before->data.keys[BWL_MODEL_LOCK].kind == BWL_KIND_ZSET)
            reply->answer = BWL_YES;
}

MUTANT(release_keeps_the_members)
{
    if (q->word == REDIS_ZSET_RELEASE && reply->answer == BWL_YES)
        *r = *before;
}

#endif
