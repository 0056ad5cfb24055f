/*
 * redis.c -- locks on Redis servers: the engine's table.  Files: redis.h; guarantees: src/protocol.
 */
#include "protocol/format/timestamps.h"
#include "base/fault.h"
#include "engine/redis/election.h"
#include "engine/redis/holder_query.h"
#include "engine/redis/queue_watch.h"
#include "engine/redis/shown_hold.h"
#include "protocol/lock_file/program.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/sentinel.h"
#include "engine/redis/topology/quorum.h"
#include "engine/redis/topology/slots.h"
#include "engine/redis/wire/value.h"
#include "protocol/queue_lock.h"
#include "protocol/quorum.h"

#include <stdlib.h>
#include <string.h>

enum { GOODBYE_MS = 200 }; /* for all servers together */

/* Sets the engine's timer to the earliest deadline of the sessions. */
static void set_timer(bwl_redis *redis)
{
    const bwl_router *router  = &redis->router;
    bwl_ms            at      = BWL_NEVER;
    bool              watches = false;

    for (const bwl_session *each = router->sessions; each != NULL; each = each->next) {
        watches = watches || each->phase != BWL_SESSION_DOWN;
        at      = bwl_ms_min(at, bwl_session_deadline(each));
    }
    if (router->cluster != NULL)
        at = bwl_ms_min(at, bwl_cluster_deadline(router->cluster));
    if (router->sentinel != NULL)
        at = bwl_ms_min(at, bwl_sentinel_waits_until(router->sentinel));
    at                    = bwl_ms_min(at, bwl_redis_observe_deadline(redis));
    router->host->watches = watches;
    bwl_host_set_timer(router->host, at);
}

/* Only a key template can write a key that is not a lock's. */
int bwl_redis_check_key(const bwl_host *host, const char *key, size_t size, bwl_fault *fault)
{
    const char *template = bwl_redis_of(host)->router.config->key_template;

    if (template == NULL)
        return BWL_OK;
    const char *wrong = bwl_key_fault(key, size);
    if (wrong == NULL && !host->takes_no_locks && bwl_host_has_queue(host))
        wrong = bwl_key_queue_fault(template, key, size);
    return wrong == NULL ? BWL_OK : bwl_fail(fault, BWL_STATUS_USAGE, "%s", wrong);
}

static int prepare(bwl_engine_lock *lock, bwl_fault *fault)
{
    bwl_redis      *redis = bwl_redis_of(lock->host);
    bwl_redis_lock *part  = lock->part;
    char            key[BWL_KEY_MAX];
    size_t          size   = bwl_redis_key(key, redis->router.config, lock);
    int             status = bwl_redis_check_key(lock->host, key, size, fault);

    if (status < 0)
        return status;
    *part = (bwl_redis_lock){ .lock = lock, .next = redis->locks };
    if (redis->router.cluster != NULL)
        part->route.slot = bwl_cluster_slot(key, size);
    if (part->next != NULL)
        part->next->previous = part;
    redis->locks = part;
    return BWL_OK;
}

static void forget(bwl_engine_lock *lock)
{
    bwl_redis      *redis = bwl_redis_of(lock->host);
    bwl_redis_lock *part  = lock->part;

    bwl_waiters_remove(redis, lock);
    if (part->next != NULL)
        part->next->previous = part->previous;
    if (part->previous != NULL)
        part->previous->next = part->next;
    else
        redis->locks = part->next;
    free(part->queries);
    bwl_redis_forget_holders(part);
    bwl_redis_forget_observer(part);
    free(part->announced);
    bwl_redis_list_end(lock);
    if (part->passed != NULL)
        explicit_bzero(part->passed, sizeof *part->passed);
    free(part->passed);
}

/* False: this machine's clock is wrong by decades.  Other clients would steal the lock at once, or
 * never. */
static bool can_be_written(const bwl_engine_lock *lock, const bwl_send *send)
{
    char                    value[BWL_VALUE_MAX];
    const bwl_compat_rules *rules     = lock->hold.request.options->rules;
    int64_t                 timestamp = send->args[REDIS_ARG_TIMESTAMP];

    return rules == NULL || rules->unit_ns == 0 || timestamp == 0 || send->command == REDIS_STEP ||
           (bwl_timestamp_is_plausible(rules, timestamp) &&
            bwl_value_write(value, rules, lock->hold.request.token, timestamp) != 0);
}

/* The text of a script that the handshake does not load: a rest is rare.  And of some releases:
 * nothing waits for the reply of a background release (with several servers: of the slower ones),
 * and the next command must find it executed.  So it is sent as the script's text if the server may
 * not know the script.  (With a queued protocol, the handshake has loaded that of an exclusive
 * lock.) */
static bool is_release_by_eval(bwl_session *session, const bwl_engine_lock *lock, unsigned command)
{
    if (command == REDIS_QUEUE_REST)
        return true;
    bool must_be_first = lock->in_background || (session->config->topology == BWL_TOPOLOGY_QUORUM &&
                                                 command == REDIS_DELETE_IF_MINE);
    bool is_loaded     = bwl_session_uses_push(session) && command != REDIS_SHARE_LEAVE;

    if (!must_be_first || is_loaded || session->scripts.release == session->link.opened)
        return false;
    if (session->phase == BWL_SESSION_READY)
        session->scripts.release = session->link.opened;
    return true;
}

/* The kernel has all of a background release: its reply may be read late. */
static void mark_background(bwl_session *session, const bwl_engine_lock *lock)
{
    const bwl_stream *stream = &session->link.conn.stream;

    if (!lock->in_background || session->phase != BWL_SESSION_READY ||
        session->pipeline.count == 0 || stream->handed_over != stream->written)
        return;
    bwl_request *last = bwl_pipeline_at(&session->pipeline, session->pipeline.count - 1);
    if (last->lock != lock || !last->flight.written || last->flight.prepares ||
        last->flight.background)
        return; /* deferred behind a transaction */
    last->flight.background = true;
    bwl_host_background_sent(lock->host);
}

/* With the machine's current token. */
static bwl_request request_of(bwl_engine_lock *lock, const bwl_send *send)
{
    const bwl_lock_request *lock_request = &lock->hold.request;
    bwl_request             request      = {
                         .kind       = &bwl_redis_lock_request,
                         .lock       = lock,
                         .tag        = send->tag,
                         .node       = send->node,
                         .command    = (bwl_redis_command)send->command,
                         .number     = send->args[0],
                         .lease_ms   = bwl_redis_ttl_ms(send, lock_request),
                         .generation = bwl_redis_lock_of(lock)->waiting.generation,
                         .route      = { .since = bwl_hold_release_began(&lock->hold) },
    };

    if (send->command == REDIS_REPLICATED)
        request.lease_ms = send->args[REDIS_ARG_LIMIT_MS];
    if (send->command == REDIS_QUEUE_HEARTBEAT && bwl_waiters_renew(lock))
        request.number = 0;
    if (send->command == REDIS_STEP) {
        request.kind    = &bwl_redis_step_request;
        request.subject = &lock_request->options->program->ops[send->args[REDIS_ARG_STEP]];
        request.number  = send->args[REDIS_ARG_COMPUTED];
    }
    if (bwl_redis_uses_other_token(send))
        memcpy(request.token, lock->hold.other_token, sizeof lock->hold.other_token);
    else
        memcpy(request.token, lock_request->token, sizeof request.token);
    return request;
}

static bool ends_hold(bwl_redis_command command)
{
    return bwl_queue_exclusive(command) == REDIS_QUEUE_RELEASE || command == REDIS_QUEUE_REQUEUE;
}

static bool send_command(bwl_engine_lock *lock, const bwl_send *send, bwl_event *ret_reply)
{
    bwl_session *session = bwl_redis_route(lock, send->node);
    bool         queues  = bwl_queue_exclusive(send->command) == REDIS_QUEUE_JOIN ||
                  send->command == REDIS_QUEUE_REQUEUE;

    ret_reply->answer = BWL_NOT_SENT;
    if (session == NULL || (queues && !bwl_waiters_add(bwl_redis_of(lock->host), lock,
                                                       send->args[REDIS_ARG_TTL_MS]))) {
        bwl_host_set_error(lock, "out of memory");
        return true;
    }
    bwl_redis_refresh_client_info(session, lock);
    bwl_redis_withdraw_before(session, lock, (bwl_redis_command)send->command);
    bwl_request request = request_of(lock, send);
    if (!can_be_written(lock, send)) {
        bwl_host_set_error(lock, "the time of day on this machine is before 2001 or after 2099");
        return true;
    }
    request.use_eval = is_release_by_eval(session, lock, send->command);
    if (bwl_session_submit(session, &request)) {
        mark_background(session, lock);
        if (ends_hold((bwl_redis_command)send->command)) {
            bwl_redis_lock_of(lock)->is_watched = false;
            bwl_redis_hide_hold(session, lock);
        }
        return false;
    }
    bwl_host_set_error(lock, "out of memory");
    return true;
}

static void name_silence(const bwl_session *session, bwl_engine_lock *lock)
{
    bwl_fault why;

    bwl_session_explain_silence(session, &why);
    bwl_host_set_fault(lock, &why);
}

/* Removes all requests before it completes the first: a completion may submit a new one. */
static void withdraw(bwl_engine_lock *lock)
{
    bwl_redis   *redis = bwl_redis_of(lock->host);
    bwl_request  taken[BWL_NODES_MAX];
    bwl_session *from[BWL_NODES_MAX];
    unsigned     count = 0;

    for (bwl_session *each = redis->router.sessions; each != NULL && count < BWL_NODES_MAX;
         each              = each->next) {
        unsigned more = bwl_session_withdraw(each, lock, &taken[count], BWL_NODES_MAX - count);
        for (unsigned i = 0; i < more; i++) {
            name_silence(each, lock);
            from[count++] = each;
        }
    }
    while (redis->router.cluster != NULL && count < BWL_NODES_MAX &&
           bwl_cluster_withdraw(redis->router.cluster, lock, &taken[count], &from[count]))
        name_silence(from[count++], lock);
    for (unsigned i = 0; i < count; i++)
        bwl_request_answer(from[i], &taken[i], BWL_NOT_SENT);
    if (count > 0)
        set_timer(redis);
}

static void woken(bwl_host *host)
{
    bwl_redis  *redis  = bwl_redis_of(host);
    bwl_router *router = &redis->router;

    if (router->sentinel != NULL)
        bwl_sentinel_woken(router->sentinel);
    for (bwl_session *each = router->sessions; each != NULL; each = each->next)
        bwl_session_woken(each);
    if (router->cluster != NULL)
        bwl_cluster_woken(router->cluster);
    bwl_redis_observe_due(redis);
    set_timer(redis);
}

/* In a cluster any node, which shows the others; with several servers each of them. */
static bool start_connecting(bwl_host *host)
{
    bwl_router *router   = &bwl_redis_of(host)->router;
    bool        is_begun = false;

    if (router->cluster != NULL) {
        bwl_session *session = bwl_cluster_route(router->cluster, 0);
        return session != NULL && bwl_session_open(session);
    }
    for (bwl_session *each = router->sessions; each != NULL; each = each->next)
        is_begun = bwl_session_open(each) || is_begun;
    return is_begun;
}

/* ---- closing: the last releases go to all servers in parallel, within one time limit --------- */

static void go_on_with_goodbyes(bwl_redis *redis)
{
    for (bwl_session *each = redis->router.sessions; each != NULL; each = each->next)
        if (bwl_stream_is_open(&each->link.conn.stream) && bwl_session_finish_goodbye(each))
            bwl_stream_close(&each->link.conn.stream);
}

static void say_goodbye(bwl_redis *redis)
{
    redis->goodbye_until = bwl_ms_add(bwl_host_now(redis->router.host), GOODBYE_MS);
    for (bwl_session *each = redis->router.sessions; each != NULL; each = each->next)
        bwl_session_say_goodbye(each, GOODBYE_MS);
    go_on_with_goodbyes(redis);
}

/* Waits until a session is ready for I/O.  Returns how many connections are open, up to the
 * limit. */
static unsigned wait_for_one(bwl_session *first, bwl_ms wait_ms)
{
    bwl_stream *open[BWL_STREAM_WAIT_MAX];
    unsigned    count = 0;

    for (bwl_session *each = first; each != NULL && count < BWL_STREAM_WAIT_MAX; each = each->next)
        if (bwl_stream_is_open(&each->link.conn.stream))
            open[count++] = &each->link.conn.stream;
    if (count > 0)
        bwl_stream_wait(open, count, wait_ms);
    return count;
}

/* A hold whose release could not be sent ends with its lease. */
static bool linger(bwl_host *host, bwl_ms wait_ms)
{
    bwl_redis *redis = bwl_redis_of(host);

    go_on_with_goodbyes(redis);
    bwl_ms left_ms = redis->goodbye_until - bwl_host_now(host);
    return left_ms > 0 &&
           wait_for_one(redis->router.sessions, left_ms < wait_ms ? left_ms : wait_ms) > 0;
}

static bool flush(bwl_host *host, bwl_ms wait_ms)
{
    bwl_redis *redis = bwl_redis_of(host);

    if (redis->goodbye_until != 0)
        return linger(host, wait_ms);
    bwl_router_hand_over(&redis->router);
    for (bwl_session *each = redis->router.sessions; each != NULL; each = each->next)
        bwl_session_flush(each);
    if (host->closing)
        say_goodbye(redis);
    return host->closing;
}

/* Only if one session is the only one that can get a reply. */
static bool await(bwl_host *host, bwl_ms until)
{
    bwl_session *session = bwl_redis_of(host)->router.sessions;

    while (session != NULL && session->pipeline.count == 0)
        session = session->next;
    return session != NULL && session->pipeline.count == host->pending &&
           bwl_session_await(session, until);
}

void bwl_redis_close(bwl_host *host)
{
    bwl_redis *redis = host->store;

    if (redis == NULL)
        return;
    bwl_router_free(&redis->router);
    free(redis->waiters.waiters);
    free(redis->seen);
    free(redis);
    host->store = NULL;
}

/* ---- the callbacks of sessions --------------------------------------------------------------- */

static void on_pushes_lost(bwl_session *session)
{
    bwl_redis_on_pushes_lost(session);
    bwl_redis_observe_lost(session);
}

static void on_change(bwl_session *session)
{
    set_timer(bwl_redis_of(session->host));
}

/* What follows from it may read more from the connection: the push is copied before. */
static void on_other_push(bwl_session *session, const char *bytes, size_t size)
{
    char copy[BWL_PUSH_MAX];

    if (size <= sizeof copy)
        bytes = memcpy(copy, bytes, size);
    if (session->server.tracks_keys)
        bwl_redis_on_key_changed(session, bytes, size);
    if (size <= sizeof copy && bwl_session_uses_push(session)) /* a channel is shorter */
        bwl_redis_observe_push(session, bytes, size);
}

/* The callbacks about the client's locks, which are the same for each topology. */
#define LOCK_CALLBACKS                                                                      \
    .name_client = bwl_redis_name_client, .write_client_info = bwl_redis_write_client_info, \
    .on_ready = bwl_redis_on_ready, .on_restarted = bwl_redis_on_restarted,                 \
    .on_pushes_lost = on_pushes_lost, .on_down = bwl_redis_on_down, .on_change = on_change, \
    .is_needed = bwl_redis_is_needed, .on_push = bwl_redis_on_push,                         \
    .on_other_push = on_other_push, .write_goodbye = bwl_redis_write_goodbye

static const bwl_session_owner single = {
    LOCK_CALLBACKS,
    .traits      = { .tls_scheme = "rediss" },
    .check_hello = bwl_single_check_hello,
    .explain     = bwl_single_explain,
};

static const bwl_session_owner sentinel = {
    LOCK_CALLBACKS,
    .traits        = { .needs_hello = true,
                       .tls_scheme  = "rediss+sentinel",
                       .tls_note    = "servers and sentinels all speak it" },
    .discover      = bwl_sentinel_discover,
    .discover_next = bwl_sentinel_try_next,
    .check_hello   = bwl_sentinel_check_hello,
    .is_demoted    = bwl_sentinel_is_demoted,
    .explain       = bwl_single_explain,
};

static const bwl_session_slots slots = {
    .prepare           = bwl_slots_prepare,
    .on_prepared       = bwl_slots_on_prepared,
    .may_share         = bwl_slots_may_share,
    .skips_preparation = bwl_slots_skips,
};

static const bwl_session_owner cluster = {
    LOCK_CALLBACKS,
    .traits          = { .needs_hello = true,
                         .tls_scheme  = "rediss+cluster",
                         .tls_note    = "all nodes speak it" },
    .slots           = &slots,
    .has_alternative = bwl_cluster_has_alternative,
    .check_hello     = bwl_cluster_check_hello,
    .write_query     = bwl_cluster_write_query,
    .on_query        = bwl_cluster_on_query,
    .on_not_sent     = bwl_cluster_on_not_sent,
    .on_reply        = bwl_cluster_on_reply,
    .explain         = bwl_cluster_explain,
};

static const bwl_session_owner quorum = {
    LOCK_CALLBACKS,
    .traits      = { .sends_to_several = true,
                     .needs_hello      = true,
                     .tls_scheme       = "redlocks",
                     .tls_note         = "all servers speak it" },
    .check_hello = bwl_single_check_hello,
    .check_info  = bwl_quorum_check_info,
    .explain     = bwl_single_explain,
};

const bwl_session_owner *bwl_redis_owner(bwl_redis_topology topology)
{
    switch (topology) {
    case BWL_TOPOLOGY_SINGLE: return &single;
    case BWL_TOPOLOGY_SENTINEL: return &sentinel;
    case BWL_TOPOLOGY_CLUSTER: return &cluster;
    case BWL_TOPOLOGY_QUORUM: return &quorum;
    }
    bwl_unreachable("a topology outside of its enum");
}

/* ---- the engine's table ---------------------------------------------------------------------- */

/* The part that all schemes share. */
#define REDIS_ENGINE(scheme_)                                                                     \
    .scheme = (scheme_), .url_prefix = scheme_ "://", .has_lease = true, .open = bwl_redis_open,  \
    .share = bwl_redis_share, .close = bwl_redis_close, .prepare = prepare, .send = send_command, \
    .forget = forget, .withdraw = withdraw, .woken = woken, .flush = flush,                       \
    .connect = start_connecting, .view.look = bwl_redis_holder_query, .view.who = bwl_redis_who,  \
    .view.look_at_all = bwl_redis_look_at_all, .view.who_nth = bwl_redis_who_nth,                 \
    .view.list = bwl_redis_list, .view.command = bwl_redis_show_command,                          \
    .lock_size = sizeof(bwl_redis_lock)

#define BREAKING_ENGINE(scheme_)                                                                \
    REDIS_ENGINE(scheme_), .kind = BWL_ENGINE_REDIS, .protocol = &bwl_queue, .await = await,    \
                           .watch = bwl_redis_watch, .forced.start = bwl_redis_force_release,   \
                           .forced.result = bwl_redis_force_released,                           \
                           .passing = &bwl_redis_passing, .view.election = &bwl_redis_election, \
                           .view.ask_breaker = bwl_redis_ask_breaker_of,                        \
                           .view.breaker     = bwl_redis_breaker_of

#define SERVER_ENGINE(scheme_)                                                       \
    {                                                                                \
        BREAKING_ENGINE(scheme_), .choose = bwl_redis_choose, .step = bwl_redis_step \
    }
#define CLUSTER_ENGINE(scheme_)                                      \
    {                                                                \
        BREAKING_ENGINE(scheme_), .choose = bwl_redis_choose_cluster \
    }
#define REDLOCK_ENGINE(scheme_)                                                      \
    {                                                                                \
        REDIS_ENGINE(scheme_), .kind = BWL_ENGINE_REDLOCK, .protocol = &bwl_redlock, \
                               .choose = bwl_redis_choose_quorum                     \
    }

const bwl_engine bwl_redis_engine = SERVER_ENGINE("redis");
const bwl_engine bwl_tls_engine   = SERVER_ENGINE("rediss");
const bwl_engine bwl_unix_engine  = SERVER_ENGINE("unix");

const bwl_engine bwl_sentinel_engine     = SERVER_ENGINE("redis+sentinel");
const bwl_engine bwl_sentinel_tls_engine = SERVER_ENGINE("rediss+sentinel");

const bwl_engine bwl_cluster_engine     = CLUSTER_ENGINE("redis+cluster");
const bwl_engine bwl_cluster_tls_engine = CLUSTER_ENGINE("rediss+cluster");

const bwl_engine bwl_redlock_engine     = REDLOCK_ENGINE("redlock");
const bwl_engine bwl_redlock_tls_engine = REDLOCK_ENGINE("redlocks");
