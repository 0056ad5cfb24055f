/*
 * replicated.c -- a lock that counts only when so many replicas of the server have it: another
 * protocol inside, and behind every yes of it the question whether they do.
 *
 *      acquire   as the inner protocol does; it is ours: REPLICATED?  yes: HELD
 *                fewer: asked again, for as long as a server may be silent; then it is told as won
 *                and of no use, so that whoever is above us gives it back, and tries again
 *      extend    as the inner protocol does; it is ours for longer: REPLICATED?  yes: HELD
 *                fewer: NOT_NOW, and what was told before stays
 *      release   as the inner protocol does, and nothing more: what a replica does not know of it
 *                only makes the next one wait
 *
 * An extension has to be asked for as well: a replica that has the lock and not its extensions lets
 * it end, and would give it to another while the holder goes by what the old server had said.
 *
 * What REPLICATED says is about all up to the last write of the connection on which it is asked
 * (so does Redis from 8 on; before, it covers more). Every yes of the inner protocol is a write of
 * its connection, also one about a lock that was ours already
 * (engine/redis/wire/scripts/extend_if_mine.lua). So it is asked in the very step in which a yes of
 * that connection has come; if the connection ends before the answer, nothing is known, and an
 * acquire is given back. And what a push says is no such yes: who waits was given the lock by
 * somebody else's question, over another connection. So the queue tells nothing of it before its
 * own EXTEND is answered.
 *
 * What it does not promise: as many replicas as are asked for have the lock; when another one takes
 * the server's place, all is as without this.
 *
 *      PASSING --inner HELD--> ASKING --yes--> PASSING, telling HELD
 *                                |  `--fewer, there is time--> ASKING
 *                                `--no answer, too few--> PASSING, telling what was said above
 */
#include "core/one_request.h"
#include "protocol/queue_lock.h"
#include "protocol/store/redis.h"
#include "protocol/token_lock.h"

#include <string.h>

enum {
    INNER_MAX    = 96,
    SERVER       = 0,
    NOTHING      = 0,
    OF_NO_USE    = 0,       /* until when                                                        */
    OUR_TAG      = 1 << 28, /* in ours, and in none of the inner one's                           */
    PARTS        = 10,      /* of the time, and so many questions at most                        */
    PART_MIN_MS  = 10,
    PART_MAX_MS  = 100, /* the server reads nothing more of the connection meanwhile             */
    TOO_EARLY_OF = 2,   /* in less than this part of the time, it has not waited                 */
};

typedef struct synced_state {
    _Alignas(8) unsigned char inner[INNER_MAX]; /* first: the lab looks into it                  */
    uint32_t asked;                             /* tag of our question that is out, or NOTHING   */
    uint32_t count;                             /* of our questions                              */
    bwl_ms   until; /* what the inner one told, and nobody has been told yet                     */
    uint64_t fence;
    bwl_ms   asked_at;
    bwl_ms   ask_until;
    bwl_verb verb;
} synced_state;

/* The server looks at the time ten times a second, so that it may be 100 ms late with its no. */
static bwl_ms part_of(bwl_ms all_ms)
{
    bwl_ms part_ms = bwl_ms_min(all_ms / PARTS, PART_MAX_MS);

    return part_ms > PART_MIN_MS ? part_ms : PART_MIN_MS;
}

static void send_command(synced_state *s, const bwl_lock_request *request, bwl_ms now,
                         bwl_effects *fx)
{
    assert(request->replicas > 0);
    s->asked    = OUR_TAG | ++s->count;
    s->asked_at = now;
    bwl_add_send(fx, (bwl_send){
                         .tag     = s->asked,
                         .node    = SERVER,
                         .command = REDIS_REPLICATED,
                         .args    = { [REDIS_ARG_REPLICAS] = request->replicas,
                                      [REDIS_ARG_LIMIT_MS] = part_of(request->replicas_ms) },
                     });
}

/* What the inner one has told is passed on, but for HELD. */
static void heard(synced_state *s, const bwl_lock_request *request, bwl_ms now, bwl_effects *fx)
{
    if (fx->outcome.kind != BWL_HELD)
        return;
    assert(fx->send_count == 0); /* it has been answered, and asks nothing more */
    s->until     = fx->outcome.until;
    s->fence     = fx->outcome.fence;
    fx->outcome  = (bwl_outcome){ .kind = BWL_PENDING };
    s->ask_until = bwl_ms_add(now, request->replicas_ms);
    send_command(s, request, now, fx);
}

static void init(const bwl_protocol *inner, void *state, unsigned nodes)
{
    synced_state *s = state;

    assert(inner->state_size <= INNER_MAX);
    memset(s, 0, sizeof *s);
    inner->init(s->inner, nodes);
}

static void command(const bwl_protocol *inner, void *state, const bwl_lock_request *request,
                    const bwl_command *cmd, bwl_effects *fx)
{
    synced_state *s = state;

    s->asked = NOTHING;
    s->verb  = cmd->verb;
    inner->command(s->inner, request, cmd, fx);
    heard(s, request, cmd->now, fx);
}

/* There is no use in asking a server again at once that has said no without waiting. */
static bool may_ask_again(const synced_state *s, const bwl_lock_request *request,
                          const bwl_event *ev)
{
    bwl_ms waited_ms = ev->now - s->asked_at;

    return ev->kind == BWL_REPLY && ev->answer == BWL_NO && ev->now < s->ask_until &&
           ev->now < s->until && waited_ms >= part_of(request->replicas_ms) / TOO_EARLY_OF;
}

/* It is to be given back.  Who may not ask for replicas has no use in trying again. */
static void of_no_use(const synced_state *s, const bwl_event *ev, bwl_effects *fx)
{
    bool is_refused = ev->kind == BWL_REPLY && ev->answer == BWL_REFUSED;

    bwl_complete_held(fx, OF_NO_USE, s->fence);
    fx->outcome.why = is_refused ? BWL_STORE_REFUSED : BWL_NOT_NOW;
}

static void replicated(synced_state *s, const bwl_lock_request *request, const bwl_event *ev,
                       bwl_effects *fx)
{
    bool is_yes = ev->kind == BWL_REPLY && ev->answer == BWL_YES;

    s->asked = NOTHING;
    if (is_yes)
        bwl_complete_held(fx, s->until, s->fence);
    else if (may_ask_again(s, request, ev))
        send_command(s, request, ev->now, fx);
    else if (s->verb == BWL_ACQUIRE)
        of_no_use(s, ev, fx);
    else if (bwl_was_answered(ev, fx))
        bwl_complete(fx, BWL_NOT_NOW);
}

static void event(const bwl_protocol *inner, void *state, const bwl_lock_request *request,
                  const bwl_event *ev, bwl_effects *fx)
{
    synced_state *s         = state;
    bool          is_answer = ev->kind == BWL_REPLY || ev->kind == BWL_DOWN;

    if (is_answer && (ev->tag & OUR_TAG) != 0) {
        if (ev->tag == s->asked)
            replicated(s, request, ev, fx);
        return; /* else it is about what was given up */
    }
    inner->event(s->inner, request, ev, fx);
    heard(s, request, ev->now, fx);
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
        .init             = INNER##_init,                                                        \
        .command          = INNER##_command,                                                     \
        .event            = INNER##_event,                                                       \
    }

SYNCED(token, false);
SYNCED(queue, true);
