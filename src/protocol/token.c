/*
 * token.c -- a lock that is one key on one Redis server: `token`, and the locks of Redisson and
 * Symfony in their own format.
 *
 *      token     acquire   SET key token NX PX lease
 *                extend    if GET key = token then PEXPIRE key lease
 *                release   if GET key = token then DEL key
 *
 * If the client dies, the key stays for at most one lease.  The client counts the lease from
 * before the command is sent, the server from when it is carried out.  So the client's lease ends
 * first; the drift allowance covers a clock that runs slow.
 *
 * An acquire without a reply is sent again with the same token, by a command whose reply is YES
 * also if the first one was carried out.  The lease counts from the first command.
 *
 * A lock that another client has given up to this one is adopted by its value: ADOPT, which can be
 * sent again with the same token.
 *
 * token_chosen: the caller chooses the value, and others may have the same.  So it does not verify
 * the owner: an acquire without a reply is UNKNOWN, and is never sent again.
 *
 * redisson: RLock of Redisson 4.7.0, RedissonLock.java, LockTask.java: a hash with one field for
 * its holder.
 *
 *      redisson  acquire   if the key does not exist: HSET key token 1; PEXPIRE key lease
 *                extend    if the hash has the field: PEXPIRE key lease
 *                release   if the hash has the field: DEL key; PUBLISH channel 0
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
 *      symfony   acquire   remove expired members; if none is left: ZADD key end token
 *                          end __write__
 *                extend    if the set has the token and __write__: the same ZADD
 *                release   if the set has the token: ZREM key token __write__
 *
 * An exclusive holder has __write__ beside its token; readers do not.  bowline is always exclusive,
 * has a new token for each attempt, and never changes a member of another holder that has not
 * expired.  An end is in milliseconds of the server's clock, as in Symfony.  (On a server whose
 * scripts may not write after TIME, Symfony uses the clock of each PHP host.  Such a server refuses
 * the scripts of bowline, so bowline never holds the lock there.)  Symfony publishes nothing, and
 * polls every 100 ms.
 *
 * Between two attempts the server may push that the key of redisson or symfony has changed
 * (`retries_on_push`); then the next attempt starts at once.
 *
 * What they do not promise: this is a lease.  A server that forgets the key (restart without
 * persistence, failover, eviction) can let a second holder in; so can, with symfony, a clock that
 * is set forward.  Only redisson may have a fence, and a server that forgets the counter gives the
 * same fences again.
 *
 *      IDLE --command--> ASKED --reply, down--> IDLE      (a release may interrupt ASKED)
 */
#include "protocol/token_lock.h"
#include "protocol/protocol.h"
#include "protocol/state.h"

enum { NO_REQUEST = 0, NO_FENCE = 0 };

static const bwl_lock_commands of_string = { .take       = REDIS_SET_IF_ABSENT,
                                             .take_again = REDIS_SET_IF_ABSENT_OR_MINE,
                                             .extend     = REDIS_EXTEND_IF_MINE,
                                             .release    = REDIS_DELETE_IF_MINE,
                                             .kind       = "string" };
static const bwl_lock_commands of_hash   = { .take       = REDIS_HASH_TAKE,
                                             .take_again = REDIS_HASH_TAKE,
                                             .extend     = REDIS_HASH_EXTEND,
                                             .release    = REDIS_HASH_RELEASE,
                                             .kind       = "hash" };
static const bwl_lock_commands of_zset   = { .take       = REDIS_ZSET_TAKE,
                                             .take_again = REDIS_ZSET_TAKE,
                                             .extend     = REDIS_ZSET_EXTEND,
                                             .release    = REDIS_ZSET_RELEASE,
                                             .kind       = "zset" };

static void init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(bwl_token_state *)state = (bwl_token_state){ 0 };
}

static bwl_redis_command acquire_by(const bwl_lock_commands *commands, const bwl_command *cmd)
{
    if (cmd->adopts)
        return REDIS_ADOPT;
    return cmd->again ? commands->take_again : commands->take;
}

static void send_command(bwl_token_state *t, const bwl_lock_commands *commands,
                         const bwl_lock_request *request, const bwl_command *cmd, bwl_effects *fx)
{
    assert(t->in_flight.tag == NO_REQUEST || cmd->verb == BWL_RELEASE);
    assert(!cmd->again || t->verb == BWL_ACQUIRE);

    t->verb = cmd->verb;
    if (!cmd->again)
        t->until = cmd->now + request->lease_ms - bwl_drift_ms(request->lease_ms);
    switch (cmd->verb) {
    case BWL_ACQUIRE: bwl_send_one(&t->in_flight, acquire_by(commands, cmd), fx); break;
    case BWL_EXTEND: bwl_send_one(&t->in_flight, commands->extend, fx); break;
    case BWL_RELEASE: bwl_send_one(&t->in_flight, commands->release, fx); break;
    }
}

static void token_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                          bwl_effects *fx)
{
    send_command(state, &of_string, request, cmd, fx);
}

static void redisson_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                             bwl_effects *fx)
{
    send_command(state, &of_hash, request, cmd, fx);
}

static void symfony_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                            bwl_effects *fx)
{
    send_command(state, &of_zset, request, cmd, fx);
}

/* fence: of an acquire; the reply to an extension does not have it. */
static void request_ended(bwl_token_state *t, const bwl_event *ev, uint64_t fence, bwl_effects *fx)
{
    if (!bwl_ends_request(&t->in_flight, ev) || !bwl_was_answered(ev, fx))
        return;
    assert(ev->answer != BWL_FOREIGN_VALUE); /* the server compares the token itself */
    if (t->verb == BWL_ACQUIRE)
        t->fence = fence;
    if (ev->answer == BWL_NO)
        bwl_complete(fx, t->verb == BWL_ACQUIRE ? BWL_BUSY : BWL_LOST); /* of ADOPT: machine.c */
    else if (t->verb == BWL_RELEASE)
        bwl_complete(fx, BWL_RELEASED);
    else
        bwl_complete_held(fx, t->until, t->fence);
}

static void token_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                        bwl_effects *fx)
{
    (void)request; /* its lease is in `until` */
    request_ended(state, ev, NO_FENCE, fx);
}

static void redisson_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                           bwl_effects *fx)
{
    (void)request;
    request_ended(state, ev, ev->number, fx);
}

#define KEY_LOCK(NAME, EVENT, RETRIES_ON_PUSH)       \
    const bwl_protocol bwl_##NAME = {                \
        .name             = #NAME,                   \
        .state_size       = sizeof(bwl_token_state), \
        .uses_token       = true,                    \
        .extends          = true,                    \
        .can_verify_owner = true,                    \
        .retries_on_push  = (RETRIES_ON_PUSH),       \
        .init             = init,                    \
        .command          = NAME##_command,          \
        .event            = (EVENT),                 \
    }

KEY_LOCK(token, token_event, false);

const bwl_protocol bwl_token_chosen = {
    .name  = "token",
    .fault = "each client with the same token= can release and extend the lock, and after a lost "
             "reply no client can tell whose it is",
    .state_size = sizeof(bwl_token_state),
    .uses_token = true, /* not in the value: it identifies the attempt */
    .extends    = true,
    .init       = init,
    .command    = token_command,
    .event      = token_event,
};

KEY_LOCK(redisson, redisson_event, true);
KEY_LOCK(symfony, token_event, true);

const bwl_lock_commands *bwl_protocol_commands(const bwl_protocol *protocol)
{
    if (protocol == &bwl_redisson)
        return &of_hash;
    return protocol == &bwl_symfony ? &of_zset : &of_string;
}
