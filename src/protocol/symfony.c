/*
 * symfony.c -- RedisStore of Symfony Lock: a sorted set on one Redis server, whose members are
 * holders and whose scores are when they end.
 *
 *      acquire   remove what is over; if nothing is left: ZADD key end token end __write__
 *      extend    if the set has the token and __write__: ZADD key end token end __write__
 *      release   if the set has the token: ZREM key token __write__
 *
 * Symfony 5.2 to 7.2, src/Symfony/Component/Lock/Store/RedisStore.php: save, putOffExpiration,
 * delete.  A holder who is alone has __write__ beside its token; readers have none.  bowline is
 * always alone, has a token of its own for each attempt, and never touches a member that is not its
 * own and has not ended.
 *
 * An end is in milliseconds by the clock of the server, theirs as ours.  (On a server whose scripts
 * may not write after TIME, Symfony goes by the clock of each PHP host.  There the words are
 * refused, and bowline never holds.)
 *
 * The lease is counted as in token.c: from before the command is sent.  An acquire without an
 * answer is asked again with the same token: if the first question was carried out, the answer is
 * yes and nothing changes.
 *
 * Symfony publishes nothing, and asks again every tenth of a second.  Between two attempts the
 * server may say that the key has changed (`retries_on_push`); then the next attempt comes at once.
 *
 * What it does not promise: this is a lease, with no fence.  A server that forgets the key, or
 * whose clock is set forward, can let a second holder in.
 *
 *      IDLE --command--> ASKED --reply, down--> IDLE      (a release may interrupt ASKED)
 */
#include "core/one_request.h"
#include "protocol/framework_lock.h"
#include "protocol/store/redis.h"

enum { NO_FENCE = 0 };

typedef struct symfony_state {
    bwl_verb        verb; /* of the command in flight */
    bwl_one_request asking;
    bwl_ms          until; /* counted from the first command: see token.c */
} symfony_state;

static void symfony_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(symfony_state *)state = (symfony_state){ 0 };
}

static bwl_redis_command word_for(bwl_verb verb)
{
    switch (verb) {
    case BWL_ACQUIRE: return REDIS_ZSET_TAKE;
    case BWL_EXTEND: return REDIS_ZSET_EXTEND;
    case BWL_RELEASE: return REDIS_ZSET_RELEASE;
    }
    bwl_unreachable("a verb outside of its enum");
}

static void symfony_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                            bwl_effects *fx)
{
    symfony_state *s = state;

    assert(s->asking.asked == 0 || cmd->verb == BWL_RELEASE);
    assert(!cmd->again || s->verb == BWL_ACQUIRE);
    s->verb = cmd->verb;
    if (!cmd->again)
        s->until = cmd->now + request->lease_ms - bwl_drift_ms(request->lease_ms);
    bwl_send_one(&s->asking, word_for(cmd->verb), fx);
}

static void symfony_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                          bwl_effects *fx)
{
    symfony_state *s = state;

    (void)request; /* its lease is in `until` already */
    if (!bwl_ends_request(&s->asking, ev) || !bwl_was_answered(ev, fx))
        return;
    assert(ev->answer != BWL_FOREIGN_VALUE); /* a member is compared, not looked at */
    if (ev->answer == BWL_NO)
        bwl_complete(fx, s->verb == BWL_ACQUIRE ? BWL_BUSY : BWL_LOST);
    else if (s->verb == BWL_RELEASE)
        bwl_complete(fx, BWL_RELEASED);
    else
        bwl_complete_held(fx, s->until, NO_FENCE);
}

const bwl_protocol bwl_symfony = {
    .name             = "symfony",
    .state_size       = sizeof(symfony_state),
    .uses_token       = true,
    .extends          = true,
    .can_verify_owner = true,
    .retries_on_push  = true,
    .init             = symfony_init,
    .command          = symfony_command,
    .event            = symfony_event,
};
