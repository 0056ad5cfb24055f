/*
 * redisson.c -- RLock of Redisson: a hash on one Redis server, with one field for its holder.
 *
 *      acquire   if the key does not exist: HSET key token 1; PEXPIRE key lease
 *      extend    if the hash has the field: PEXPIRE key lease
 *      release   if the hash has the field: DEL key; PUBLISH channel 0
 *
 * Redisson 4.7.0, RedissonLock.java, LockTask.java.  The field is UUID:THREAD there, and its value
 * is how often that thread has the lock.  Here each attempt has a field of its own and a count of
 * 1: bowline never enters again, and never touches a field that is not its own.  With
 * counts_fences an acquire also increments a counter, whose value is the fence
 * (RedissonFencedLock.java).
 *
 * The lease is counted as in token.c: from before the command is sent.  An acquire without an
 * answer is asked again with the same field: if the first question was carried out, the answer is
 * yes and nothing changes.
 *
 * Between two attempts the server may say that the key has changed (`retries_on_push`); then the
 * next attempt comes at once.
 *
 * What it does not promise: this is a lease.  A server that forgets the key can let a second
 * holder in, and one that forgets the counter gives the same fences again.
 *
 *      IDLE --command--> ASKED --reply, down--> IDLE      (a release may interrupt ASKED)
 */
#include "core/one_request.h"
#include "protocol/framework_lock.h"
#include "protocol/store/redis.h"

typedef struct redisson_state {
    bwl_verb        verb; /* of the command in flight */
    bwl_one_request asking;
    bwl_ms          until; /* counted from the first command: see token.c */
    uint64_t fence; /* of the hold: an extension does not say it again                       */
} redisson_state;

static void redisson_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(redisson_state *)state = (redisson_state){ 0 };
}

static bwl_redis_command word_for(bwl_verb verb)
{
    switch (verb) {
    case BWL_ACQUIRE: return REDIS_HASH_TAKE;
    case BWL_EXTEND: return REDIS_HASH_EXTEND;
    case BWL_RELEASE: return REDIS_HASH_RELEASE;
    }
    bwl_unreachable("a verb outside of its enum");
}

static void redisson_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                             bwl_effects *fx)
{
    redisson_state *r = state;

    assert(r->asking.asked == 0 || cmd->verb == BWL_RELEASE);
    assert(!cmd->again || r->verb == BWL_ACQUIRE);
    r->verb = cmd->verb;
    if (!cmd->again)
        r->until = cmd->now + request->lease_ms - bwl_drift_ms(request->lease_ms);
    bwl_send_one(&r->asking, word_for(cmd->verb), fx);
}

static void yes(redisson_state *r, const bwl_event *ev, bwl_effects *fx)
{
    if (r->verb == BWL_ACQUIRE)
        r->fence = ev->number;
    if (r->verb == BWL_RELEASE)
        bwl_complete(fx, BWL_RELEASED);
    else
        bwl_complete_held(fx, r->until, r->fence);
}

static void redisson_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                           bwl_effects *fx)
{
    redisson_state *r = state;

    (void)request; /* its lease is in `until` already */
    if (!bwl_ends_request(&r->asking, ev) || !bwl_was_answered(ev, fx))
        return;
    assert(ev->answer != BWL_FOREIGN_VALUE); /* a field is compared, not looked at */
    if (ev->answer == BWL_YES)
        yes(r, ev, fx);
    else
        bwl_complete(fx, r->verb == BWL_ACQUIRE ? BWL_BUSY : BWL_LOST);
}

const bwl_protocol bwl_redisson = {
    .name             = "redisson",
    .state_size       = sizeof(redisson_state),
    .uses_token       = true,
    .extends          = true,
    .can_verify_owner = true,
    .retries_on_push  = true,
    .init             = redisson_init,
    .command          = redisson_command,
    .event            = redisson_event,
};
