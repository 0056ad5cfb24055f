/*
 * redis.c -- locks on Redis servers: the engine's table.  Files: redis.h; guarantees: src/protocol.
 */
#include "core/timestamps.h"
#include "base/fault.h"
#include "engine/redis/redis.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/sentinel.h"
#include "engine/redis/wire/value.h"
#include "protocol/queue_lock.h"
#include "protocol/quorum.h"

#include <stdlib.h>

/* Only a key template can write a key that is not a lock's. */
static int check_key(const bwl_host *host, const char *key, size_t size, bwl_fault *fault)
{
    const char *template       = bwl_redis_of(host)->router.config->key_template;
    const bwl_protocol *chosen = host->settings.protocol;
    bool                has_queue =
        !host->takes_no_locks && (chosen != NULL ? chosen : host->engine->protocol)->uses_push;

    if (template == NULL)
        return BWL_OK;
    const char *wrong = bwl_key_fault(key, size);
    if (wrong == NULL && has_queue)
        wrong = bwl_key_queue_fault(template, key, size);
    return wrong == NULL ? BWL_OK : bwl_fail(fault, BWL_STATUS_USAGE, "%s", wrong);
}

static int prepare(bwl_engine_lock *lock, bwl_fault *fault)
{
    bwl_redis      *redis = bwl_redis_of(lock->host);
    bwl_redis_lock *part  = lock->part;
    char            key[BWL_KEY_MAX];
    size_t          size   = bwl_redis_key(key, redis->router.config, lock);
    int             status = check_key(lock->host, key, size, fault);

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
}

/* False: this machine's clock is wrong by decades.  Other clients would steal the lock at once, or
 * never. */
static bool can_be_written(const bwl_engine_lock *lock, const bwl_send *send)
{
    char                    value[BWL_VALUE_MAX];
    const bwl_compat_rules *rules     = lock->hold.request.options->rules;
    int64_t                 timestamp = send->args[REDIS_ARG_TIMESTAMP];

    return rules == NULL || rules->unit_ns == 0 || timestamp == 0 ||
           (bwl_timestamp_is_plausible(rules, timestamp) &&
            bwl_value_write(value, rules, lock->hold.request.token, timestamp) != 0);
}

/* Nothing waits for the reply of a background release (with several servers: of the slower ones),
 * and the next command must find it executed.  So it is sent as the script's text if the server may
 * not know the script.  (With a queued protocol, the handshake has loaded it.) */
static bool is_release_by_eval(bwl_session *session, const bwl_engine_lock *lock, unsigned command)
{
    bool must_be_first = lock->in_background || (session->config->topology == BWL_TOPOLOGY_QUORUM &&
                                                 command == REDIS_DELETE_IF_MINE);

    if (!must_be_first || bwl_session_uses_push(session) ||
        session->scripts.release == session->link.opened)
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

static bool send_command(bwl_engine_lock *lock, const bwl_send *send, bwl_event *ret_reply)
{
    bwl_session *session = bwl_redis_route(lock, send->node);
    bool         queues = send->command == REDIS_QUEUE_JOIN || send->command == REDIS_QUEUE_REQUEUE;

    ret_reply->answer = BWL_NOT_SENT;
    if (session == NULL || (queues && !bwl_waiters_add(bwl_redis_of(lock->host), lock,
                                                       send->args[REDIS_ARG_TTL_MS]))) {
        bwl_host_set_error(lock, "out of memory");
        return true;
    }
    bwl_redis_refresh_client_info(session, lock);
    bwl_request request = bwl_redis_command_of(lock, send);
    if (!can_be_written(lock, send)) {
        bwl_host_set_error(lock, "the time of day on this machine is before 2001 or after 2099");
        return true;
    }
    request.use_eval = is_release_by_eval(session, lock, send->command);
    if (bwl_session_submit(session, &request)) {
        mark_background(session, lock);
        return false;
    }
    bwl_host_set_error(lock, "out of memory");
    return true;
}

static void name_silence(const bwl_session *session, bwl_engine_lock *lock)
{
    const bwl_session_attempt *attempt = &session->attempt;

    if (attempt->broke.status != 0 && attempt->failures > 0)
        bwl_host_set_fault(lock, &attempt->broke);
    else
        bwl_host_set_error(lock, "%s: no answer within %lld ms", session->endpoint.text,
                           (long long)session->host->settings.answer_ms);
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
    for (unsigned i = 0; i < count; i++)
        bwl_request_answer(from[i], &taken[i], BWL_NOT_SENT);
    if (count > 0)
        bwl_redis_set_timer(redis);
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
    bwl_redis_set_timer(redis);
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

static void flush(bwl_host *host)
{
    for (bwl_session *each = bwl_redis_of(host)->router.sessions; each != NULL; each = each->next)
        bwl_session_flush(each);
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

/* The part that all schemes share. */
#define REDIS_ENGINE(scheme_)                                                                     \
    .scheme = (scheme_), .url_prefix = scheme_ "://", .has_lease = true, .open = bwl_redis_open,  \
    .share = bwl_redis_share, .close = bwl_redis_close, .prepare = prepare, .send = send_command, \
    .forget = forget, .withdraw = withdraw, .woken = woken, .flush = flush,                       \
    .connect = start_connecting, .look = bwl_redis_holder_query, .who = bwl_redis_who,            \
    .lock_size = sizeof(bwl_redis_lock)

#define BREAKING_ENGINE(scheme_)                                                             \
    REDIS_ENGINE(scheme_), .kind = BWL_ENGINE_REDIS, .protocol = &bwl_queue, .await = await, \
                           .break_seen = bwl_redis_force_release,                            \
                           .broken     = bwl_redis_force_released

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
