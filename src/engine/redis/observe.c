/*
 * observe.c -- observes who leads: the holder of a lock that has announced something.
 *
 *      SUBSCRIBE, LOOK --differs--> done
 *        ^         `--as seen--> WAITING --push, connection lost, slot moved, pause over--.
 *        `---------------------------------------------------------------------------------'
 *
 * Each look is preceded by the subscription in the same packet, so no change falls between the two.
 * A message on the channel causes a look, and its content does not matter.  A client stays
 * subscribed to a channel until its connection ends: to subscribe again is harmless, and an error
 * that a cancelled subscription could have has no place in the order of replies.
 *
 * The pause after a look ends with the lease that it has seen, because a dead leader sends nothing;
 * and after QUIET_MS, so that a lost message, or a connection that has died in silence, costs no
 * more.  Without the subscription (the slot is just moving, or the user may not subscribe) it is
 * POLL_MS.  A look that fails is repeated for FAILING_MS, and then the caller is told.
 *
 * A leader whose fence is below one that was seen is not shown: another server has older data.
 */
#include "base/fault.h"
#include "engine/redis/election.h"
#include "engine/redis/topology/slots.h"
#include "engine/redis/wire/election.h"

#include <stdlib.h>
#include <string.h>

enum {
    QUIET_MS      = 10000,
    POLL_MS       = 1000,
    FAILING_MS    = 1000,
    AGAIN_MS      = 50, /* after a look that failed */
    END_SLACK_MS  = 1,  /* the server rounds the end of a lease */
    SUBSCRIPTIONS = 1,  /* replies before that of the look, unless it is a push */
};

struct bwl_redis_observer {
    bwl_redis_observer *next;
    bwl_engine_lock    *lock;
    const bwl_session  *session; /* of the look in flight, or the last; NULL: none yet */
    bwl_ms              until;
    bwl_ms              ends_at; /* the lease of the leader in `now`; BWL_NEVER: it has none */
    bwl_ms              due_at;  /* the next look; BWL_NEVER: one is in flight, or it is over */
    bwl_ms              failing_since; /* the first of the looks that failed; 0: the last did not */
    bool                is_subscribed; /* at the look in flight, or the last */
    bool                is_stale;      /* something has changed since that look was sent */
    bool                is_unknown;    /* the last look had no reply */
    bwl_answer          answer;        /* to the last look; YES: `reply` and `now` are valid */
    bwl_observe_reply   reply;
    bwl_leader          seen;
    bwl_leader          now;
};

static bwl_redis *redis_of(const bwl_redis_observer *o)
{
    return bwl_redis_of(o->lock->host);
}

static void link_out(bwl_redis_observer *o)
{
    bwl_redis_observer **at = &redis_of(o)->observers;

    while (*at != NULL && *at != o)
        at = &(*at)->next;
    if (*at != NULL)
        *at = o->next;
}

void bwl_redis_forget_observer(bwl_redis_lock *part)
{
    if (part->observer != NULL)
        link_out(part->observer);
    free(part->observer);
    part->observer = NULL;
}

static void end(bwl_redis_observer *o)
{
    o->due_at = BWL_NEVER;
    link_out(o);
    bwl_host_query_done(o->lock);
}

static bwl_ms left_of(const bwl_redis_observer *o)
{
    if (o->ends_at == BWL_NEVER)
        return BWL_NEVER;
    return bwl_ms_max(o->ends_at - o->lock->host->latest, 0);
}

/* ---- a look ---------------------------------------------------------------------------------- */

/* The end of the lease counts from when the look was sent: never too late. */
static void describe(bwl_redis_observer *o, bwl_ms sent_at)
{
    const bwl_observe_reply *reply = &o->reply;
    bwl_holder               client;

    o->now = (bwl_leader){ .is_known = true, .fence = o->seen.fence };
    if (!reply->leads || reply->fence < o->now.fence)
        return;
    client = (bwl_holder){ .held = true };
    bwl_redis_fill_in_client(&client, &reply->client);
    o->now.leads   = true;
    o->now.fence   = reply->fence;
    o->ends_at     = reply->client.left_ms < 0 ? BWL_NEVER : sent_at + reply->client.left_ms;
    o->now.left_ms = left_of(o);
    o->now.pid     = client.pid;
    memcpy(o->now.user, client.user, sizeof client.user);
    memcpy(o->now.host, client.host, sizeof client.host);
    memcpy(o->now.program, client.program, sizeof client.program);
    memcpy(o->now.text, reply->text, sizeof reply->text);
}

static bool differs(const bwl_redis_observer *o)
{
    const bwl_leader *seen = &o->seen;
    const bwl_leader *now  = &o->now;

    if (!seen->is_known || seen->leads != now->leads)
        return true;
    return now->leads && (seen->fence != now->fence || strcmp(seen->text, now->text) != 0);
}

static bwl_ms pause_of(const bwl_redis_observer *o)
{
    bwl_ms pause = o->is_subscribed ? QUIET_MS : POLL_MS;

    return o->now.leads ? bwl_ms_min(pause, bwl_ms_add(o->now.left_ms, END_SLACK_MS)) : pause;
}

static bool write_look(bwl_session *session, bwl_request *request)
{
    bwl_redis_observer *o = request->subject;
    char                key[BWL_KEY_MAX];
    char                tag[BWL_QUEUE_TAG_MAX + 1];
    bwl_resp_writer     writer;
    bwl_bytes           bytes = { key, bwl_redis_key(key, session->config, request->lock) };

    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_ELECTION_SIZE_MAX, &writer))
        return false;
    o->session       = session;
    o->is_subscribed = false;
    o->is_stale      = false;
    bwl_slots_tag(session, request->lock, tag);
    request->flight.offset          = session->link.conn.stream.written;
    request->flight.replies_to_skip = SUBSCRIPTIONS;
    bwl_observe_write_subscribe(&writer, bytes, !session->push.without_shards);
    if (request->route.asking) {
        request->flight.replies_to_skip++;
        bwl_resp_write(&writer, "ASKING");
    }
    bwl_observe_write(&writer, bytes, tag, request->use_eval);
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

static bwl_redis_verdict read_look(bwl_session *session, bwl_request *request, const char *bytes,
                                   size_t size, bwl_request_reply *ret_reply)
{
    bwl_redis_observer *o = request->subject;

    (void)session;
    return bytes != NULL ? bwl_observe_read(bytes, size, &ret_reply->event.answer, &o->reply)
                         : BWL_REDIS_STRANGE;
}

static void look_again_at(bwl_redis_observer *o, bwl_ms at)
{
    o->due_at = o->is_stale ? o->lock->host->latest : at;
}

/* A server that cannot be reached may have another leader by now, so the caller is told soon. */
static void look_failed(bwl_redis_observer *o)
{
    bwl_ms now = o->lock->host->latest;

    if (o->failing_since == 0)
        o->failing_since = now;
    if (o->answer == BWL_REFUSED || now >= bwl_ms_min(o->failing_since + FAILING_MS, o->until))
        end(o);
    else
        o->due_at = now + AGAIN_MS;
}

static void complete_look(bwl_session *session, const bwl_request *request, const bwl_event *result)
{
    bwl_redis_observer *o = request->subject;

    (void)session;
    if (!bwl_host_is_awaited(o->lock))
        return; /* cancelled */
    o->is_unknown = result->kind == BWL_DOWN;
    o->answer     = o->is_unknown ? BWL_NOT_SENT : result->answer;
    if (o->answer != BWL_YES) {
        look_failed(o);
        return;
    }
    o->failing_since = 0;
    describe(o, request->flight.sent_at);
    if (differs(o))
        end(o);
    else
        look_again_at(o, bwl_ms_add(o->lock->host->latest, pause_of(o)));
}

/* The lock owns the observer: its caller may return before the reply. */
static const bwl_request_kind look_kind = {
    .reports_errors = true,
    .reports_text   = true,
    .write          = write_look,
    .read           = read_look,
    .complete       = complete_look,
};

static void look(bwl_redis_observer *o)
{
    bwl_session *session = bwl_redis_route(o->lock, 0);
    bwl_request  request = { .kind = &look_kind, .lock = o->lock, .subject = o };

    o->due_at = BWL_NEVER;
    if (session != NULL && bwl_session_submit(session, &request))
        return;
    bwl_host_set_error(o->lock, "out of memory");
    o->answer = BWL_NOT_SENT;
    look_failed(o);
}

/* ---- what causes a look ---------------------------------------------------------------------- */

/* When there is something to do: a look, the end of the wait; while a look is in flight, the end of
 * the time for which they may fail. */
static bwl_ms deadline_of(const bwl_redis_observer *o)
{
    if (o->due_at != BWL_NEVER)
        return bwl_ms_min(o->due_at, o->until);
    return o->failing_since != 0 ? o->failing_since + FAILING_MS : BWL_NEVER;
}

bwl_ms bwl_redis_observe_deadline(const bwl_redis *redis)
{
    bwl_ms at = BWL_NEVER;

    for (const bwl_redis_observer *o = redis->observers; o != NULL; o = o->next)
        at = bwl_ms_min(at, deadline_of(o));
    return at;
}

static bwl_redis_observer *find_due(bwl_redis *redis, bwl_ms now)
{
    for (bwl_redis_observer *o = redis->observers; o != NULL; o = o->next)
        if (now >= deadline_of(o))
            return o;
    return NULL;
}

void bwl_redis_observe_due(bwl_redis *redis)
{
    bwl_redis_observer *o;
    bwl_ms              now = redis->router.host->latest;

    while ((o = find_due(redis, now)) != NULL) {
        if (o->due_at == BWL_NEVER || now >= o->until)
            end(o);
        else
            look(o);
    }
}

/* Now, or after the look in flight. */
static void wake(bwl_redis_observer *o)
{
    o->is_stale = true;
    if (o->due_at != BWL_NEVER)
        o->due_at = o->lock->host->latest;
}

void bwl_redis_observe_push(bwl_session *session, const char *bytes, size_t size)
{
    bwl_bytes        channel;
    bwl_observe_push push = bwl_observe_read_push(bytes, size, &channel);
    bwl_request     *head = bwl_pipeline_head(&session->pipeline);

    if (push == BWL_OBSERVE_SUBSCRIBED && head != NULL && head->kind == &look_kind &&
        head->flight.replies_to_skip > 0) {
        head->flight.replies_to_skip--; /* the push is the reply */
        ((bwl_redis_observer *)head->subject)->is_subscribed = true;
    }
    if (push != BWL_OBSERVE_CHANGED && push != BWL_OBSERVE_UNSUBSCRIBED)
        return;
    for (bwl_redis_observer *o = bwl_redis_of(session->host)->observers; o != NULL; o = o->next) {
        char      key[BWL_KEY_MAX];
        bwl_bytes name = { key, bwl_redis_key(key, session->config, o->lock) };
        if (bwl_observe_is_channel_of(channel, name))
            wake(o);
    }
}

void bwl_redis_observe_lost(const bwl_session *session)
{
    for (bwl_redis_observer *o = bwl_redis_of(session->host)->observers; o != NULL; o = o->next)
        if (o->session == session)
            wake(o);
}

/* ---- the calls of the runtime ---------------------------------------------------------------- */

static bool observe(bwl_engine_lock *lock, const bwl_leader *seen, bwl_ms until)
{
    bwl_redis_lock     *part  = bwl_redis_lock_of(lock);
    bwl_redis          *redis = bwl_redis_of(lock->host);
    bwl_redis_observer *o     = calloc(1, sizeof *o);

    assert(part->observer == NULL);
    if (o == NULL)
        return true;
    part->observer   = o;
    o->lock          = lock;
    o->until         = until;
    o->seen          = *seen;
    o->next          = redis->observers;
    redis->observers = o;
    look(o);
    return false;
}

static int observed(const bwl_engine_lock *lock, bwl_leader *ret_leader, bwl_fault *fault)
{
    const bwl_redis_observer *o = bwl_redis_lock_of(lock)->observer;

    *ret_leader = (bwl_leader){ .is_known = false };
    if (o == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    *ret_leader         = o->now;
    ret_leader->left_ms = o->now.leads ? left_of(o) : 0;
    if (o->is_unknown)
        return bwl_fail_because(fault, BWL_STATUS_UNKNOWN, &lock->why, "%s", lock->why.text);
    if (o->answer != BWL_YES)
        return bwl_redis_query_status(lock, o->answer, fault);
    if (!differs(o))
        return bwl_fail(fault, BWL_STATUS_TIMEOUT, "%s: %s as before", lock->name,
                        o->now.leads ? "the same client leads" : "nobody leads");
    return BWL_OK;
}

const bwl_election bwl_redis_election = {
    .announce  = bwl_redis_announce,
    .announced = bwl_redis_announced_status,
    .withdraw  = bwl_redis_withdraw,
    .observe   = observe,
    .observed  = observed,
};
