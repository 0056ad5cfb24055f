/*
 * setnx_timestamp.c -- two locks whose key has a value that says when it expires.  After that,
 * setnx-stamp-del deletes it and sets it again; with setnx-getset, GETSET decides which client
 * acquires it.
 *
 *      acquire   SETNX key timestamp           1: held
 *                GET key                       not expired: busy
 *                PTTL key                      has an expiry: not a lock of this kind
 *                setnx-stamp-del:
 *                DEL key                       0: busy
 *                SETNX key timestamp           1: held; 0: busy
 *                setnx-getset:
 *                GETSET key timestamp          the old value decides
 *      release   DEL key                       0: "release failed"
 *                                              setnx-getset: or after a GET: see bwl_release_rule
 *
 * setnx-stamp-del is the third way of "Redis的分布式锁", setnx-getset the fourth (seconds);
 * "Redis实现分布式锁" (milliseconds, with buffers); "利用redis实现分布式锁" (milliseconds, jedis-lock).
 * The rules have the differences: the unit and the format of the value, how often the clock is
 * read, `<` or `<=`, what a missing key means, whether GETSET must return the same value as GET or
 * an expired one, and the condition of a release.  In the first article a key that GET does not
 * find counts as expired, because `false > time()` is false in PHP.
 *
 * bowline adds the PTTL.  The programs of this kind set no expiry, so a key with one is a foreign
 * lock, even if the number in it is old.
 *
 * What they do not promise, with the client's clock: one holder.  The clocks of different machines
 * are compared, so a client with a fast clock acquires a lock that is held.  Two clients of
 * setnx-stamp-del that find an expired timestamp both send DEL: the second one deletes the key that
 * the first client has just set, and both hold the lock.  A client that loses at GETSET has changed
 * the winner's timestamp.  A release may delete another holder's key: a DEL without a comparison
 * after the lease, and after a GET, because a timestamp that is far enough ahead may be the next
 * holder's, and the key may change between GET and DEL.
 *
 * BWL_CLOCK_OF_SERVER is a variant of bowline of setnx-getset.  If all clients use it, none of this
 * happens: one script reads, decides and writes by the server's TIME, another one compares and
 * deletes, and the key has an expiry.  The programs of the articles see an expired key as a free
 * lock.
 *
 *      IDLE --acquire--> SETTING --no--> READING --expired--> CHECKING --no expiry--> taken over
 *                                               `--gone--> taken over
 *      taken over: SWAPPING --> IDLE, or TAKING_OVER --yes--> SETTING_AGAIN --> IDLE
 *      IDLE --release--> [COMPARING -->] DELETING --> IDLE
 */
#include "protocol/format/timestamps.h"
#include "protocol/articles.h"

enum { NOTHING_SEEN = 0 };

typedef enum stamp_phase {
    TAKING = 1, /* by the server's clock */
    SETTING,
    READING,
    CHECKING,
    SWAPPING,
    COMPARING, /* GET before the DEL */
    DELETING,
    TAKING_OVER, /* DEL before the second SETNX */
    SETTING_AGAIN,
} stamp_phase;

typedef struct stamp_state {
    bwl_one_request in_flight;
    stamp_phase     phase;
    bool     is_ours;   /* DELETING: the last GET returned the hold's value, or there was no GET */
    bool     deletes;   /* setnx-stamp-del */
    int64_t  timestamp; /* setnx-getset: of the hold's value, written or in flight */
    uint64_t seen;      /* setnx-getset: hash of the value that GET returned, or NOTHING_SEEN */
    int64_t  tried_ns;  /* setnx-getset: time of day at the start of this attempt */
    bwl_ms   until;     /* end of the lease with the timestamp that was written last */
} stamp_state;

static void init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(stamp_state *)state = (stamp_state){ 0 };
}

static void send_command(stamp_state *s, stamp_phase phase, bwl_redis_command command,
                         int64_t timestamp, bwl_effects *fx)
{
    s->phase = phase;
    bwl_article_send(&s->in_flight, command, timestamp, fx);
}

static bool is_of_server(const bwl_lock_request *request)
{
    return request->options->rules->clock == BWL_CLOCK_OF_SERVER;
}

/* ---- acquire --------------------------------------------------------------------------------- */

/* The timestamp of a lock that begins now; the lease counts from now too. */
static int64_t begin_lease(stamp_state *s, const bwl_lock_request *request, bwl_ms now,
                           int64_t wall_ns)
{
    const bwl_compat_rules *rules     = request->options->rules;
    bwl_ms                  lease_ms  = request->lease_ms;
    int64_t                 timestamp = bwl_timestamp_at(rules, wall_ns, lease_ms);

    s->until =
        now + bwl_timestamp_left_ms(rules, timestamp, wall_ns, lease_ms) - bwl_drift_ms(lease_ms);
    return timestamp;
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

static void try(stamp_state *s, const bwl_lock_request *request, const bwl_command *cmd,
                bwl_effects *fx)
{
    s->seen     = NOTHING_SEEN;
    s->tried_ns = cmd->wall_ns;
    if (is_of_server(request)) {
        s->until = cmd->now + server_lease_ms(request);
        send_command(s, TAKING, REDIS_TAKE_TIMESTAMP, 0, fx);
        return;
    }
    s->timestamp = begin_lease(s, request, cmd->now, cmd->wall_ns);
    send_command(s, SETTING, REDIS_SETNX, s->timestamp, fx);
}

/* By the time of day with which the article's program compares. */
static bool has_expired(const stamp_state *s, const bwl_lock_request *request, const bwl_event *ev)
{
    const bwl_compat_rules *rules = request->options->rules;
    int64_t                 at_ns = rules->reads == BWL_READS_ONCE ? s->tried_ns : ev->wall_ns;

    return bwl_timestamp_has_expired(rules, (int64_t)ev->number, at_ns, request->lease_ms);
}

static void take_over(stamp_state *s, const bwl_lock_request *request, const bwl_event *ev,
                      bwl_effects *fx)
{
    if (s->deletes) {
        send_command(s, TAKING_OVER, REDIS_DELETE, 0, fx);
        return;
    }
    if (request->options->rules->reads == BWL_READS_ALWAYS)
        s->timestamp = begin_lease(s, request, ev->now, ev->wall_ns);
    send_command(s, SWAPPING, REDIS_SWAP, s->timestamp, fx);
}

static void read(stamp_state *s, const bwl_lock_request *request, const bwl_event *ev,
                 bwl_effects *fx)
{
    const bwl_redis_value *value = ev->details;

    if (!s->deletes)
        s->seen = ev->answer == BWL_YES ? value->hash : NOTHING_SEEN;
    if (ev->answer == BWL_NO && request->options->rules->gone != BWL_GONE_START_OVER)
        take_over(s, request, ev, fx);
    else if (ev->answer == BWL_YES && has_expired(s, request, ev))
        send_command(s, CHECKING, REDIS_FIND_NO_EXPIRY, 0, fx);
    else
        bwl_complete(fx, BWL_BUSY);
}

/* A key that is gone since GET: BUSY, and the next attempt begins with SETNX. */
static void checked(stamp_state *s, const bwl_lock_request *request, const bwl_event *ev,
                    bwl_effects *fx)
{
    bool has_no_expiry = ev->answer == BWL_YES;

    if (has_no_expiry)
        take_over(s, request, ev, fx);
    else
        bwl_complete(fx, BWL_BUSY);
}

static bool has_won(const stamp_state *s, const bwl_lock_request *request, const bwl_event *ev)
{
    const bwl_compat_rules *rules = request->options->rules;
    const bwl_redis_value  *value = ev->details;

    switch (rules->wins) {
    case BWL_WINS_IF_EXPIRED:
        return ev->answer == BWL_NO ? rules->missing_wins
                                    : ev->answer == BWL_YES && has_expired(s, request, ev);
    case BWL_WINS_IF_SAME:
        if (ev->answer == BWL_NO)
            return rules->missing_wins && s->seen == NOTHING_SEEN;
        return ev->answer == BWL_YES && s->seen != NOTHING_SEEN && value->hash == s->seen;
    }
    bwl_unreachable("these rules do not say which old value wins");
}

/* ---- release --------------------------------------------------------------------------------- */

static void release(stamp_state *s, const bwl_lock_request *request, bwl_effects *fx)
{
    s->is_ours = true;
    if (is_of_server(request))
        send_command(s, DELETING, REDIS_DROP_TIMESTAMP, s->timestamp, fx);
    else if (request->options->rules->release == BWL_RELEASE_BLIND)
        send_command(s, DELETING, REDIS_DELETE, 0, fx);
    else
        send_command(s, COMPARING, REDIS_READ, s->timestamp, fx);
}

/* IF_AHEAD deletes nothing if the timestamp is about to expire: the DEL could come after that.  It
 * deletes another holder's key if its timestamp is ahead: the rule compares only the time. */
static void compared(stamp_state *s, const bwl_lock_request *request, const bwl_event *ev,
                     bwl_effects *fx)
{
    const bwl_compat_rules *rules        = request->options->rules;
    const bwl_redis_value  *value        = ev->details;
    bool                    is_timestamp = ev->answer == BWL_YES;
    bool                    may_delete   = is_timestamp && value->is_mine;

    s->is_ours = may_delete;
    if (rules->release == BWL_RELEASE_IF_AHEAD)
        may_delete = is_timestamp && bwl_timestamp_is_ahead(rules, (int64_t)ev->number, ev->wall_ns,
                                                            request->lease_ms);
    if (may_delete)
        send_command(s, DELETING, REDIS_DELETE, 0, fx);
    else
        bwl_complete(fx, s->is_ours ? BWL_RELEASED : BWL_LOST);
}

/* ---- the machine ----------------------------------------------------------------------------- */

static void stamp_del_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                              bwl_effects *fx)
{
    stamp_state *s = state;

    bwl_article_begins(&s->in_flight, cmd);
    s->deletes = true;
    s->is_ours = true; /* the reply to the DEL is all that it learns */
    if (cmd->verb == BWL_ACQUIRE)
        send_command(s, SETTING, REDIS_SETNX, begin_lease(s, request, cmd->now, cmd->wall_ns), fx);
    else
        send_command(s, DELETING, REDIS_DELETE, 0, fx);
}

static void getset_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                           bwl_effects *fx)
{
    stamp_state *s = state;

    bwl_article_begins(&s->in_flight, cmd);
    if (cmd->verb == BWL_ACQUIRE)
        try(s, request, cmd, fx);
    else
        release(s, request, fx);
}

static void event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                  bwl_effects *fx)
{
    stamp_state *s   = state;
    bool         yes = ev->answer == BWL_YES;

    if (!bwl_ends_request(&s->in_flight, ev) || !bwl_was_answered(ev, fx))
        return;
    switch (s->phase) {
    case TAKING:
        if (yes)
            s->timestamp = (int64_t)ev->number;
        bwl_article_acquired(yes, s->until, fx);
        break;
    case SETTING:
    case SETTING_AGAIN:
        if (s->phase == SETTING && !yes)
            send_command(s, READING, REDIS_READ, s->timestamp, fx);
        else
            bwl_article_acquired(yes, s->until, fx);
        break;
    case READING: read(s, request, ev, fx); break;
    case CHECKING: checked(s, request, ev, fx); break;
    case SWAPPING: bwl_article_acquired(has_won(s, request, ev), s->until, fx); break;
    case TAKING_OVER:
        if (yes)
            send_command(s, SETTING_AGAIN, REDIS_SETNX,
                         begin_lease(s, request, ev->now, ev->wall_ns), fx);
        else
            bwl_complete(fx, BWL_BUSY);
        break;
    case COMPARING: compared(s, request, ev, fx); break;
    case DELETING: bwl_complete(fx, yes && s->is_ours ? BWL_RELEASED : BWL_LOST); break;
    }
}

const bwl_protocol bwl_setnx_stamp_del = {
    .name       = "setnx-stamp-del",
    .fault      = "two clients that find it expired both delete and set it, and both hold the lock",
    .state_size = sizeof(stamp_state),
    .request_first = true,
    .uses_token    = true, /* not in the value: it identifies the attempt */
    .uses_wall     = true,
    .init          = init,
    .command       = stamp_del_command,
    .event         = event,
};

const bwl_protocol bwl_setnx_getset = {
    .name       = "setnx-getset",
    .fault      = "it compares the clocks of different machines, and a client that loses moves the "
                  "winner's timestamp",
    .state_size = sizeof(stamp_state),
    .request_first = true,
    .uses_token    = true, /* in the value only if its format has one */
    .uses_wall     = true,
    .init          = init,
    .command       = getset_command,
    .event         = event,
};
