/*
 * replicated.c -- a lock that is held only when enough replicas of the server have it: a wrapper
 * that sends REPLICATED after every yes of an inner protocol.
 *
 *      acquire   as the inner protocol; after its yes: REPLICATED?  yes: HELD
 *                fewer: sent again until the time limit for a reply; then the outcome is a grant
 *                that came too late, so that the lock machine releases it and retries
 *      extend    as the inner protocol; after its yes: REPLICATED?  yes: HELD
 *                fewer: NOT_NOW, and the hold keeps its previous end
 *      release   as the inner protocol: a replica without the release only delays the next holder
 *
 * An extension needs REPLICATED too: a replica that has the lock without its extensions lets it
 * expire.  After a failover it would grant the lock while the holder relies on the old server.
 *
 * REPLICATED covers everything up to the last write of the connection on which it is sent (so does
 * Redis from 8 on; earlier versions cover more).  Every yes of the inner protocol follows a write
 * on its connection, also if the lock was held before
 * (engine/redis/wire/scripts/extend_if_mine.lua). So REPLICATED is sent in the same step in which
 * the yes arrives.  If the connection ends before the reply, an acquire is released.  A push is not
 * such a yes: another client's command on another connection has made the grant.  So the queue
 * reports nothing before its own EXTEND has a reply.
 *
 * What it does not promise: as many replicas as configured have the lock; if another replica
 * becomes the primary, the guarantees are those of the inner protocol.
 *
 *      PASSING --inner HELD--> ASKING --yes--> PASSING with HELD
 *                                |  `--fewer, there is time--> ASKING
 *                                `--no answer, too few--> PASSING with the outcomes above
 */
#include "core/one_request.h"
#include "protocol/queue_lock.h"
#include "protocol/format/compat_rules.h"
#include "protocol/state.h"
#include "protocol/store/redis.h"
#include "protocol/token_lock.h"

#include <string.h>

enum {
    SERVER       = 0,
    NO_REQUEST   = 0,
    TOO_LATE     = 0,  /* an end in the past */
    PARTS        = 10, /* one WAIT gets this part of the time limit */
    PART_MIN_MS  = 10,
    PART_MAX_MS  = 100, /* the server reads nothing from the connection during WAIT */
    TOO_EARLY_OF = 2,   /* a NO within this part of that means that the server did not wait */
};

typedef bwl_synced_state synced_state;

/* The time limit of one WAIT.  The server checks it ten times a second, so its NO may be 100 ms
 * late. */
static bwl_ms part_of(bwl_ms all_ms)
{
    bwl_ms part_ms = bwl_ms_min(all_ms / PARTS, PART_MAX_MS);

    return part_ms > PART_MIN_MS ? part_ms : PART_MIN_MS;
}

static void send_command(synced_state *s, const bwl_lock_request *request, bwl_ms now,
                         bwl_effects *fx)
{
    assert(request->options->replicas > 0);
    s->tag     = BWL_SYNCED_TAG | ++s->count;
    s->sent_at = now;
    bwl_add_send(fx, (bwl_send){
                         .tag     = s->tag,
                         .node    = SERVER,
                         .command = REDIS_REPLICATED,
                         .args    = { [REDIS_ARG_REPLICAS] = request->options->replicas,
                                      [REDIS_ARG_LIMIT_MS] = part_of(request->answer_ms) },
                     });
}

/* After a step of the inner protocol: sends REPLICATED in place of the outcome HELD. */
static void inner_stepped(synced_state *s, const bwl_lock_request *request, bwl_ms now,
                          bwl_effects *fx)
{
    if (fx->outcome.kind != BWL_HELD)
        return;
    assert(fx->send_count == 0); /* no command of the inner protocol is in flight */
    s->until       = fx->outcome.until;
    s->fence       = fx->outcome.fence;
    fx->outcome    = (bwl_outcome){ .kind = BWL_PENDING };
    s->retry_until = bwl_ms_add(now, request->answer_ms);
    send_command(s, request, now, fx);
}

static void init(const bwl_protocol *inner, void *state, unsigned nodes)
{
    synced_state *s = state;

    assert(inner->state_size <= BWL_SYNCED_INNER_MAX);
    memset(s, 0, sizeof *s);
    inner->init(s->inner, nodes);
}

static void command(const bwl_protocol *inner, void *state, const bwl_lock_request *request,
                    const bwl_command *cmd, bwl_effects *fx)
{
    synced_state *s = state;

    s->tag  = NO_REQUEST;
    s->verb = cmd->verb;
    inner->command(s->inner, request, cmd, fx);
    inner_stepped(s, request, cmd->now, fx);
}

/* False after a NO without a wait: another WAIT would return at once too. */
static bool may_send_again(const synced_state *s, const bwl_lock_request *request,
                           const bwl_event *ev)
{
    bwl_ms waited_ms = ev->now - s->sent_at;

    return ev->kind == BWL_REPLY && ev->answer == BWL_NO && ev->now < s->retry_until &&
           ev->now < s->until && waited_ms >= part_of(request->answer_ms) / TOO_EARLY_OF;
}

/* Makes the lock machine release the grant.  It retries, except after REFUSED: the user has no
 * permission for WAIT. */
static void complete_too_late(const synced_state *s, const bwl_event *ev, bwl_effects *fx)
{
    bool is_refused = ev->kind == BWL_REPLY && ev->answer == BWL_REFUSED;

    bwl_complete_held(fx, TOO_LATE, s->fence);
    fx->outcome.why = is_refused ? BWL_STORE_REFUSED : BWL_NOT_NOW;
}

static void replicated(synced_state *s, const bwl_lock_request *request, const bwl_event *ev,
                       bwl_effects *fx)
{
    bool is_yes = ev->kind == BWL_REPLY && ev->answer == BWL_YES;

    s->tag = NO_REQUEST;
    if (is_yes)
        bwl_complete_held(fx, s->until, s->fence);
    else if (may_send_again(s, request, ev))
        send_command(s, request, ev->now, fx);
    else if (s->verb == BWL_ACQUIRE)
        complete_too_late(s, ev, fx);
    else if (bwl_was_answered(ev, fx))
        bwl_complete(fx, BWL_NOT_NOW);
}

static void event(const bwl_protocol *inner, void *state, const bwl_lock_request *request,
                  const bwl_event *ev, bwl_effects *fx)
{
    synced_state *s        = state;
    bool          is_reply = ev->kind == BWL_REPLY || ev->kind == BWL_DOWN;

    if (is_reply && (ev->tag & BWL_SYNCED_TAG) != 0) {
        if (ev->tag == s->tag)
            replicated(s, request, ev, fx);
        return; /* otherwise the reply to an abandoned command */
    }
    inner->event(s->inner, request, ev, fx);
    inner_stepped(s, request, ev->now, fx);
}

#define SYNCED(INNER, IS_QUEUE)                                                                  \
    static void INNER##_init(void *state, unsigned nodes)                                        \
    {                                                                                            \
        init(&bwl_##INNER, state, nodes);                                                        \
    }                                                                                            \
    static void INNER##_command(void *state, const bwl_lock_request *request,                    \
                                const bwl_command *cmd, bwl_effects *fx)                         \
    {                                                                                            \
        command(&bwl_##INNER, state, request, cmd, fx);                                          \
    }                                                                                            \
    static void INNER##_event(void *state, const bwl_lock_request *request, const bwl_event *ev, \
                              bwl_effects *fx)                                                   \
    {                                                                                            \
        event(&bwl_##INNER, state, request, ev, fx);                                             \
    }                                                                                            \
    const bwl_protocol bwl_synced_##INNER = {                                                    \
        .name             = #INNER,                                                              \
        .state_size       = sizeof(synced_state),                                                \
        .uses_token       = true,                                                                \
        .extends          = true,                                                                \
        .can_verify_owner = true,                                                                \
        .uses_push        = (IS_QUEUE),                                                          \
        .yields           = (IS_QUEUE),                                                          \
        .rests            = (IS_QUEUE),                                                          \
        .shares           = (IS_QUEUE),                                                          \
        .init             = INNER##_init,                                                        \
        .command          = INNER##_command,                                                     \
        .event            = INNER##_event,                                                       \
    }

SYNCED(token, false);
SYNCED(queue, true);
