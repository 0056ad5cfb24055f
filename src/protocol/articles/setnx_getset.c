/*
 * setnx_getset.c -- a key whose value says when it expires; after that, GETSET decides which client
 * acquires it.
 *
 *      acquire   SETNX key timestamp           1: held
 *                GET key                       not expired: busy
 *                PTTL key                      has an expiry: not a lock of this kind
 *                GETSET key timestamp          the old value decides
 *      release   DEL key                       or after a GET: see bwl_release_rule
 *
 * "Redis的分布式锁", the fourth way (seconds); "Redis实现分布式锁" (milliseconds, with buffers);
 * "利用redis实现分布式锁" (milliseconds, jedis-lock).  The rules have the differences: the unit and the
 * format of the value, how often the clock is read, `<` or `<=`, what a missing key means, whether
 * GETSET must return the same value as GET or an expired one, and the condition of a release.
 *
 * bowline adds the PTTL.  The programs of this kind set no expiry, so a key with one is a foreign
 * lock, even if the number in it is old.
 *
 * What it does not promise, with the client's clock: one holder.  The clocks of different machines
 * are compared, so a client with a fast clock acquires a lock that is held.  A client that loses at
 * GETSET has changed the winner's timestamp.  A release may delete another holder's key: a
 * timestamp that is far enough ahead may be the next holder's, and the key may change between GET
 * and DEL.
 *
 * BWL_CLOCK_OF_SERVER is a variant of bowline.  If all clients use it, none of this happens: one
 * script reads, decides and writes by the server's TIME, another one compares and deletes, and the
 * key has an expiry.  The programs of the articles see an expired key as a free lock.
 *
 *      IDLE --acquire--> SETTING --no--> READING --expired--> CHECKING --no expiry--> SWAPPING
 *                                               `--gone--> SWAPPING --> IDLE
 *      IDLE --release--> [COMPARING -->] DELETING --> IDLE
 */
#include "core/timestamps.h"
#include "protocol/articles.h"

enum { NO_FENCE = 0, NOTHING_SEEN = 0 };

typedef enum getset_phase {
    TAKING = 1, /* by the server's clock */
    SETTING,
    READING,
    CHECKING,
    SWAPPING,
    COMPARING, /* GET before the DEL */
    DELETING,
} getset_phase;

typedef struct getset_state {
    bwl_one_request in_flight;
    getset_phase    phase;
    bool     is_ours;   /* DELETING: the last GET returned the hold's value, or there was no GET */
    int64_t  timestamp; /* of the hold's value, written or in flight */
    uint64_t seen;      /* hash of the value that GET returned, or NOTHING_SEEN */
    int64_t  tried_ns;  /* time of day at the start of this attempt */
    bwl_ms   until;     /* end of the lease with this timestamp */
} getset_state;

static void getset_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(getset_state *)state = (getset_state){ 0 };
}

static void send_command(getset_state *g, getset_phase phase, bwl_redis_command command,
                         int64_t timestamp, bwl_effects *fx)
{
    g->phase = phase;
    bwl_article_send(&g->in_flight, command, timestamp, fx);
}

static bool is_of_server(const bwl_lock_request *request)
{
    return request->options->rules->clock == BWL_CLOCK_OF_SERVER;
}

/* ---- acquire --------------------------------------------------------------------------------- */

static void make_timestamp(getset_state *g, const bwl_lock_request *request, bwl_moment at)
{
    const bwl_compat_rules *rules    = request->options->rules;
    bwl_ms                  lease_ms = request->lease_ms;

    g->timestamp = bwl_timestamp_at(rules, at.wall_ns, lease_ms);
    g->until     = at.now + bwl_timestamp_left_ms(rules, g->timestamp, at.wall_ns, lease_ms) -
               bwl_drift_ms(lease_ms);
}

/* How long the lock is held after TAKE_TIMESTAMP.  The script sets an expiry of the whole lease,
 * and rounds the timestamp up.  A timestamp that is the start is rounded down, and other clients
 * count from there. */
static bwl_ms server_lease_ms(const bwl_lock_request *request)
{
    const bwl_compat_rules *rules   = request->options->rules;
    bwl_ms                  lost_ms = rules->timestamp_is_start ? rules->unit_ns / 1000000 + 1 : 0;

    return request->lease_ms - bwl_drift_ms(request->lease_ms) - lost_ms;
}

static void try(getset_state *g, const bwl_lock_request *request, const bwl_command *cmd,
                bwl_effects *fx)
{
    g->seen     = NOTHING_SEEN;
    g->tried_ns = cmd->wall_ns;
    if (is_of_server(request)) {
        g->until = cmd->now + server_lease_ms(request);
        send_command(g, TAKING, REDIS_TAKE_TIMESTAMP, 0, fx);
        return;
    }
    make_timestamp(g, request, (bwl_moment){ .now = cmd->now, .wall_ns = cmd->wall_ns });
    send_command(g, SETTING, REDIS_SETNX, g->timestamp, fx);
}

/* The time of day with which the article's program compares. */
static int64_t time_of_day(const getset_state *g, const bwl_lock_request *request,
                           const bwl_event *ev)
{
    return request->options->rules->reads == BWL_READS_ONCE ? g->tried_ns : ev->wall_ns;
}

static bool has_expired(const getset_state *g, const bwl_lock_request *request, const bwl_event *ev)
{
    return bwl_timestamp_has_expired(request->options->rules, (int64_t)ev->number,
                                     time_of_day(g, request, ev), request->lease_ms);
}

static void swap(getset_state *g, const bwl_lock_request *request, const bwl_event *ev,
                 bwl_effects *fx)
{
    if (request->options->rules->reads == BWL_READS_ALWAYS)
        make_timestamp(g, request, (bwl_moment){ .now = ev->now, .wall_ns = ev->wall_ns });
    send_command(g, SWAPPING, REDIS_SWAP, g->timestamp, fx);
}

static void read(getset_state *g, const bwl_lock_request *request, const bwl_event *ev,
                 bwl_effects *fx)
{
    const bwl_redis_value *value = ev->details;

    g->seen = ev->answer == BWL_YES ? value->hash : NOTHING_SEEN;
    if (ev->answer == BWL_NO && request->options->rules->gone == BWL_GONE_SWAP)
        swap(g, request, ev, fx);
    else if (ev->answer == BWL_YES && has_expired(g, request, ev))
        send_command(g, CHECKING, REDIS_FIND_NO_EXPIRY, 0, fx);
    else
        bwl_complete(fx, BWL_BUSY);
}

/* A key that is gone since GET: BUSY, and the next attempt begins with SETNX. */
static void checked(getset_state *g, const bwl_lock_request *request, const bwl_event *ev,
                    bwl_effects *fx)
{
    bool has_no_expiry = ev->answer == BWL_YES;

    if (has_no_expiry)
        swap(g, request, ev, fx);
    else
        bwl_complete(fx, BWL_BUSY);
}

static bool has_won(const getset_state *g, const bwl_lock_request *request, const bwl_event *ev)
{
    const bwl_compat_rules *rules = request->options->rules;
    const bwl_redis_value  *value = ev->details;

    switch (rules->wins) {
    case BWL_WINS_IF_EXPIRED:
        return ev->answer == BWL_NO ? rules->missing_wins
                                    : ev->answer == BWL_YES && has_expired(g, request, ev);
    case BWL_WINS_IF_SAME:
        if (ev->answer == BWL_NO)
            return rules->missing_wins && g->seen == NOTHING_SEEN;
        return ev->answer == BWL_YES && g->seen != NOTHING_SEEN && value->hash == g->seen;
    }
    bwl_unreachable("these rules do not say which old value wins");
}

static void held(const getset_state *g, bwl_effects *fx)
{
    bwl_complete_held(fx, g->until, NO_FENCE);
}

static void taken(getset_state *g, const bwl_event *ev, bwl_effects *fx)
{
    if (ev->answer != BWL_YES) {
        bwl_complete(fx, BWL_BUSY);
        return;
    }
    g->timestamp = (int64_t)ev->number;
    held(g, fx);
}

/* ---- release --------------------------------------------------------------------------------- */

static void release(getset_state *g, const bwl_lock_request *request, bwl_effects *fx)
{
    g->is_ours = true;
    if (is_of_server(request))
        send_command(g, DELETING, REDIS_DROP_TIMESTAMP, g->timestamp, fx);
    else if (request->options->rules->release == BWL_RELEASE_BLIND)
        send_command(g, DELETING, REDIS_DELETE, 0, fx);
    else
        send_command(g, COMPARING, REDIS_READ, g->timestamp, fx);
}

/* IF_AHEAD deletes nothing if the timestamp is about to expire: the DEL could come after that.  It
 * deletes another holder's key if its timestamp is ahead: the rule compares only the time. */
static void compared(getset_state *g, const bwl_lock_request *request, const bwl_event *ev,
                     bwl_effects *fx)
{
    const bwl_compat_rules *rules        = request->options->rules;
    const bwl_redis_value  *value        = ev->details;
    bool                    is_timestamp = ev->answer == BWL_YES;
    bool                    may_delete   = is_timestamp && value->is_mine;

    g->is_ours = may_delete;
    if (rules->release == BWL_RELEASE_IF_AHEAD)
        may_delete = is_timestamp && bwl_timestamp_is_ahead(rules, (int64_t)ev->number, ev->wall_ns,
                                                            request->lease_ms);
    if (may_delete)
        send_command(g, DELETING, REDIS_DELETE, 0, fx);
    else
        bwl_complete(fx, g->is_ours ? BWL_RELEASED : BWL_LOST);
}

/* ---- the machine ----------------------------------------------------------------------------- */

static void getset_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                           bwl_effects *fx)
{
    getset_state *g = state;

    assert(g->in_flight.tag == 0);
    assert(!cmd->again);
    switch (cmd->verb) {
    case BWL_ACQUIRE: try(g, request, cmd, fx); break;
    case BWL_RELEASE: release(g, request, fx); break;
    case BWL_EXTEND: bwl_unreachable("this lock is never extended");
    }
}

static void getset_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                         bwl_effects *fx)
{
    getset_state *g = state;

    if (!bwl_ends_request(&g->in_flight, ev) || !bwl_was_answered(ev, fx))
        return;
    switch (g->phase) {
    case TAKING: taken(g, ev, fx); break;
    case SETTING:
        if (ev->answer == BWL_YES)
            held(g, fx);
        else
            send_command(g, READING, REDIS_READ, g->timestamp, fx);
        break;
    case READING: read(g, request, ev, fx); break;
    case CHECKING: checked(g, request, ev, fx); break;
    case SWAPPING:
        if (has_won(g, request, ev))
            held(g, fx);
        else
            bwl_complete(fx, BWL_BUSY);
        break;
    case COMPARING: compared(g, request, ev, fx); break;
    case DELETING:
        bwl_complete(fx, ev->answer == BWL_YES && g->is_ours ? BWL_RELEASED : BWL_LOST);
        break;
    }
}

const bwl_protocol bwl_setnx_getset = {
    .name       = "setnx-getset",
    .fault      = "it compares the clocks of different machines, and a client that loses moves the "
                  "winner's timestamp",
    .state_size = sizeof(getset_state),
    .uses_token = true, /* in the value only if its format has one */
    .uses_wall  = true,
    .init       = getset_init,
    .command    = getset_command,
    .event      = getset_event,
};
