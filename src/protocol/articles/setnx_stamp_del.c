/*
 * setnx_stamp_del.c -- a key that says itself when it is over.
 *
 *      acquire   SETNX key stamp               1: ours
 *                GET key                       not expired: held
 *                PTTL key                      has an expiry: not a lock of this kind
 *                DEL key                       0: give up
 *                SETNX key stamp               1: ours; 0: give up
 *      release   DEL key                       0: "release failed"
 *
 * "Redis的分布式锁", the third way.  A key that is gone for GET counts as expired, as `false >
 * time()` is false in PHP; with BWL_GONE_START_OVER it counts as held.
 *
 * PTTL is ours.  The programs of this kind set no expiry, so a key that has one is somebody else's
 * lock, however old the number in it looks.
 *
 * What it does not promise: one holder.  Two who find the stamp expired both DEL: the second DEL
 * removes the key that the first has just set, and both hold it.  A release is a blind DEL, so who
 * overran deletes the next one's key.  And the clocks of different machines are compared.
 *
 *      IDLE --acquire--> SETTING --no--> READING --expired--> CHECKING --no expiry--> DELETING
 *                                               `--gone--> DELETING --yes--> SETTING_AGAIN
 *      IDLE --release--> RELEASING --> IDLE
 */
#include "core/timestamps.h"
#include "protocol/articles.h"

enum { NO_FENCE = 0 };

typedef enum stamp_del_phase {
    SETTING = 1,
    READING,
    CHECKING,
    DELETING,
    SETTING_AGAIN,
    RELEASING,
} stamp_del_phase;

typedef struct stamp_del_state {
    bwl_one_request asking;
    stamp_del_phase phase;
    bwl_ms          until; /* what a yes to SETNX is worth                                       */
} stamp_del_state;

static void stamp_del_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(stamp_del_state *)state = (stamp_del_state){ 0 };
}

static void send_command(stamp_del_state *s, stamp_del_phase phase, bwl_redis_command command,
                         bwl_effects *fx)
{
    s->phase = phase;
    bwl_article_send(&s->asking, command, 0, fx);
}

/* The stamp is of the time of day of this question, and so is what it is worth. */
static void set(stamp_del_state *s, stamp_del_phase phase, const bwl_lock_request *request,
                bwl_moment at, bwl_effects *fx)
{
    int64_t timestamp = bwl_timestamp_at(request->rules, at.wall_ns, request->lease_ms);

    s->phase = phase;
    s->until = at.now +
               bwl_timestamp_left_ms(request->rules, timestamp, at.wall_ns, request->lease_ms) -
               bwl_drift_ms(request->lease_ms);
    bwl_article_send(&s->asking, REDIS_SETNX, timestamp, fx);
}

static void stamp_del_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                              bwl_effects *fx)
{
    stamp_del_state *s = state;

    assert(s->asking.asked == 0);
    assert(!cmd->again);
    switch (cmd->verb) {
    case BWL_ACQUIRE:
        set(s, SETTING, request, (bwl_moment){ .now = cmd->now, .wall_ns = cmd->wall_ns }, fx);
        break;
    case BWL_RELEASE: send_command(s, RELEASING, REDIS_DELETE, fx); break;
    case BWL_EXTEND: bwl_unreachable("this lock is never extended");
    }
}

static void read(stamp_del_state *s, const bwl_lock_request *request, const bwl_event *ev,
                 bwl_effects *fx)
{
    const bwl_compat_rules *rules = request->rules;

    if (ev->answer == BWL_NO && rules->gone != BWL_GONE_START_OVER)
        send_command(s, DELETING, REDIS_DELETE, fx);
    else if (ev->answer == BWL_YES &&
             bwl_timestamp_has_expired(rules, (int64_t)ev->number, ev->wall_ns, request->lease_ms))
        send_command(s, CHECKING, REDIS_FIND_NO_EXPIRY, fx);
    else
        bwl_complete(fx, BWL_BUSY);
}

static void stamp_del_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                            bwl_effects *fx)
{
    stamp_del_state *s   = state;
    bool             yes = ev->answer == BWL_YES;

    if (!bwl_ends_request(&s->asking, ev) || !bwl_was_answered(ev, fx))
        return;
    switch (s->phase) {
    case SETTING:
    case SETTING_AGAIN:
        if (yes)
            bwl_complete_held(fx, s->until, NO_FENCE);
        else if (s->phase == SETTING)
            send_command(s, READING, REDIS_READ, fx);
        else
            bwl_complete(fx, BWL_BUSY);
        break;
    case READING: read(s, request, ev, fx); break;
    case CHECKING: /* gone since GET: the next try begins with SETNX */
        if (yes)
            send_command(s, DELETING, REDIS_DELETE, fx);
        else
            bwl_complete(fx, BWL_BUSY);
        break;
    case DELETING:
        if (yes)
            set(s, SETTING_AGAIN, request, (bwl_moment){ .now = ev->now, .wall_ns = ev->wall_ns },
                fx);
        else
            bwl_complete(fx, BWL_BUSY);
        break;
    case RELEASING: bwl_complete(fx, yes ? BWL_RELEASED : BWL_LOST); break;
    }
}

const bwl_protocol bwl_setnx_stamp_del = {
    .name       = "setnx-stamp-del",
    .fault      = "two clients that find it expired both delete and set it, and both hold the lock",
    .state_size = sizeof(stamp_del_state),
    .uses_token = true, /* not in the value: it tells one attempt from another */
    .uses_wall  = true,
    .init       = stamp_del_init,
    .command    = stamp_del_command,
    .event      = stamp_del_event,
};
