/*
 * setnx_stamp_del.c -- a key whose value says when it expires; after that, a client deletes it and
 * sets it again.
 *
 *      acquire   SETNX key timestamp           1: held
 *                GET key                       not expired: busy
 *                PTTL key                      has an expiry: not a lock of this kind
 *                DEL key                       0: busy
 *                SETNX key timestamp           1: held; 0: busy
 *      release   DEL key                       0: "release failed"
 *
 * "Redis的分布式锁", the third way.  A key that GET does not find counts as expired, because `false >
 * time()` is false in PHP; with BWL_GONE_START_OVER it counts as busy.
 *
 * bowline adds the PTTL.  The programs of this kind set no expiry, so a key with one is a foreign
 * lock, even if the number in it is old.
 *
 * What it does not promise: one holder.  Two clients that find an expired timestamp both send DEL.
 * The second DEL deletes the key that the first client has just set, and both hold the lock.  A
 * release is a DEL without a comparison: a holder that exceeds its lease deletes the key of the
 * next holder.  The clocks of different machines are compared.
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
    bwl_one_request in_flight;
    stamp_del_phase phase;
    bwl_ms          until; /* end of the lease after a YES to SETNX */
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
    bwl_article_send(&s->in_flight, command, 0, fx);
}

/* Sends SETNX.  The timestamp and the lease count from now. */
static void set(stamp_del_state *s, stamp_del_phase phase, const bwl_lock_request *request,
                bwl_moment at, bwl_effects *fx)
{
    int64_t timestamp = bwl_timestamp_at(request->options->rules, at.wall_ns, request->lease_ms);

    s->phase = phase;
    s->until =
        at.now +
        bwl_timestamp_left_ms(request->options->rules, timestamp, at.wall_ns, request->lease_ms) -
        bwl_drift_ms(request->lease_ms);
    bwl_article_send(&s->in_flight, REDIS_SETNX, timestamp, fx);
}

static void stamp_del_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                              bwl_effects *fx)
{
    stamp_del_state *s = state;

    assert(s->in_flight.tag == 0);
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
    const bwl_compat_rules *rules = request->options->rules;

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

    if (!bwl_ends_request(&s->in_flight, ev) || !bwl_was_answered(ev, fx))
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
    case CHECKING: /* gone since GET: BUSY, and the next attempt begins with SETNX */
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
    .uses_token = true, /* not in the value: it identifies the attempt */
    .uses_wall  = true,
    .init       = stamp_del_init,
    .command    = stamp_del_command,
    .event      = stamp_del_event,
};
