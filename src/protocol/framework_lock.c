/*
 * framework_lock.c -- the locks of Redisson and Symfony on one Redis server, in their own format.
 *
 * redisson: RLock of Redisson 4.7.0, RedissonLock.java, LockTask.java: a hash with one field for
 * its holder.
 *
 *      acquire   if the key does not exist: HSET key token 1; PEXPIRE key lease
 *      extend    if the hash has the field: PEXPIRE key lease
 *      release   if the hash has the field: DEL key; PUBLISH channel 0
 *
 * In Redisson the field is UUID:THREAD, and its value counts how often that thread has acquired the
 * lock.  Here each attempt has a field of its own and a count of 1: bowline never acquires a lock
 * that it holds, and never changes a field of another holder.  With counts_fences an acquire also
 * increments a counter, whose value is the fence (RedissonFencedLock.java).
 *
 * symfony: RedisStore of Symfony Lock 5.2 to 7.2, src/Symfony/Component/Lock/Store/RedisStore.php,
 * its save, putOffExpiration and delete: a sorted set.  Its members are holders, and their scores
 * are the ends of their leases.
 *
 *      acquire   remove expired members; if none is left: ZADD key end token end __write__
 *      extend    if the set has the token and __write__: ZADD key end token end __write__
 *      release   if the set has the token: ZREM key token __write__
 *
 * An exclusive holder has __write__ beside its token; readers do not.  bowline is always exclusive,
 * has a new token for each attempt, and never changes a member of another holder that has not
 * expired.  An end is in milliseconds of the server's clock, as in Symfony.  (On a server whose
 * scripts may not write after TIME, Symfony uses the clock of each PHP host.  Such a server refuses
 * the scripts of bowline, so bowline never holds the lock there.)  Symfony publishes nothing, and
 * polls every 100 ms.
 *
 * The lease counts as in token.c: from before the command is sent.  An acquire without a reply is
 * sent again with the same token: if the first one was carried out, the reply is YES and nothing
 * changes.
 *
 * Between two attempts the server may push that the key has changed (`retries_on_push`); then the
 * next attempt starts at once.
 *
 * What it does not promise: this is a lease.  A server that forgets the key can let a second holder
 * in; so can, with symfony, a clock that is set forward.  A server that forgets the counter of
 * redisson gives the same fences again.  symfony has no fence.
 *
 *      IDLE --command--> ASKED --reply, down--> IDLE      (a release may interrupt ASKED)
 */
#include "protocol/framework_lock.h"
#include "protocol/state.h"
#include "protocol/store/redis.h"

enum { NO_REQUEST = 0, NO_FENCE = 0 };

typedef struct framework_state {
    bwl_token_state key;   /* first: the lab reads it */
    uint64_t        fence; /* of the acquire: the reply to an extension does not have it */
} framework_state;

static void init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(framework_state *)state = (framework_state){ 0 };
}

static void send_command(bwl_token_state *key, const bwl_lock_request *request,
                         const bwl_command *cmd, bwl_redis_command command, bwl_effects *fx)
{
    assert(key->in_flight.tag == NO_REQUEST || cmd->verb == BWL_RELEASE);
    assert(!cmd->again || key->verb == BWL_ACQUIRE);
    key->verb = cmd->verb;
    if (!cmd->again)
        key->until = cmd->now + request->lease_ms - bwl_drift_ms(request->lease_ms);
    bwl_send_one(&key->in_flight, command, fx);
}

static void redisson_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                             bwl_effects *fx)
{
    static const bwl_redis_command commands[] = { [BWL_ACQUIRE] = REDIS_HASH_TAKE,
                                                  [BWL_EXTEND]  = REDIS_HASH_EXTEND,
                                                  [BWL_RELEASE] = REDIS_HASH_RELEASE };

    send_command(&((framework_state *)state)->key, request, cmd, commands[cmd->verb], fx);
}

static void symfony_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                            bwl_effects *fx)
{
    static const bwl_redis_command commands[] = { [BWL_ACQUIRE] = REDIS_ZSET_TAKE,
                                                  [BWL_EXTEND]  = REDIS_ZSET_EXTEND,
                                                  [BWL_RELEASE] = REDIS_ZSET_RELEASE };

    send_command(&((framework_state *)state)->key, request, cmd, commands[cmd->verb], fx);
}

static void event(framework_state *f, const bwl_event *ev, uint64_t fence, bwl_effects *fx)
{
    if (!bwl_ends_request(&f->key.in_flight, ev) || !bwl_was_answered(ev, fx))
        return;
    assert(ev->answer != BWL_FOREIGN_VALUE); /* the server compares the token itself */
    if (f->key.verb == BWL_ACQUIRE)
        f->fence = fence;
    if (ev->answer == BWL_NO)
        bwl_complete(fx, f->key.verb == BWL_ACQUIRE ? BWL_BUSY : BWL_LOST);
    else if (f->key.verb == BWL_RELEASE)
        bwl_complete(fx, BWL_RELEASED);
    else
        bwl_complete_held(fx, f->key.until, f->fence);
}

static void redisson_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                           bwl_effects *fx)
{
    (void)request; /* its lease is in `until` */
    event(state, ev, ev->number, fx);
}

static void symfony_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                          bwl_effects *fx)
{
    (void)request;
    event(state, ev, NO_FENCE, fx);
}

#define FRAMEWORK_LOCK(NAME)                         \
    const bwl_protocol bwl_##NAME = {                \
        .name             = #NAME,                   \
        .state_size       = sizeof(framework_state), \
        .uses_token       = true,                    \
        .extends          = true,                    \
        .can_verify_owner = true,                    \
        .retries_on_push  = true,                    \
        .init             = init,                    \
        .command          = NAME##_command,          \
        .event            = NAME##_event,            \
    }

FRAMEWORK_LOCK(redisson);
FRAMEWORK_LOCK(symfony);
