/*
 * caps.c -- the table of what each lock guarantees. docs/explanation/guarantees.md explains it; a
 * test compares its table "At a glance" with this one, and the locks with both.
 *
 * Some engines and protocols have two rows. "remote": a directory on a network file system.
 * "server": a timestamp lock by the clock of the server, acquired and released in one step.
 * "fenced": RFencedLock of Redisson, which counts its holders.
 */
#include "doctor/caps.h"
#include "doctor/target.h"
#include "engine/election.h"
#include "engine/file/store.h"
#include "protocol/protocol.h"

#include <stdio.h>
#include <unistd.h>

#define POLLED        "a waiter polls"
#define POLLED_RANDOM POLLED ": after 10ms, doubling to 500ms, half of it random"
#define SAME_KEY      "every client of this server that uses the same key"
#define COUNTED       "grows with every holder, while the server keeps the counter of the key"
#define TRACKED \
    "by an invalidation push (CLIENT TRACKING) when the key changes; without it, " POLLED_RANDOM
#define NOTICED    "noticed at the next renewal, or as soon as a connection breaks"
#define WITH_LEASE "the lock stays held until its lease ends"
#define WITH_TIME  "the lock stays held until the time in its value has passed"
#define FOR_EVER   "the lock stays held for ever: an administrator must delete the key"

/* The common part of a lock with a lease. */
#define LEASED(PROTOCOL)                                                                         \
    .engine = "redis", .protocol = (PROTOCOL), .renews = true, .loss = "told", .crash = "lease", \
    .excludes_words = SAME_KEY, .loss_words = NOTICED, .crash_words = WITH_LEASE

/* A lock of another program with a lease, whose waiters use CLIENT TRACKING. */
#define SHARED .wake = "push", .wake_words = TRACKED

/* A lock of an article. */
#define ARTICLE(NAME, CRASH, WORDS)                                                            \
    .engine = "redis", .protocol = (NAME), .wake = "poll", .loss = "clock", .crash = (CRASH),  \
    .excludes_words = "the programs that use this lock in the same way", .wake_words = POLLED, \
    .loss_words = "not noticed; the lock ends by the clock of the holder", .crash_words = (WORDS)

static const caps_row thread_row = {
    .engine         = "thread",
    .wake           = "handed",
    .loss           = "none",
    .crash          = "process",
    .excludes_words = "only the threads of this process",
    .order_words    = "first come, first served",
    .fence_words    = "grows with every holder, as long as the process lives",
    .wake_words     = "by the release itself",
    .loss_words     = "cannot happen: only a release or max-hold ends the lock",
    .crash_words    = "ends with the process; a thread that ends without a release leaves it held"
};

static const caps_row file_row = {
    .engine         = "file",
    .wake           = "kernel",
    .loss           = "none",
    .crash          = "freed",
    .excludes_words = "the processes of this machine that use this directory (without one: those "
                      "of this user), and flock(2) on its files",
    .order_words    = "first come, first served, among bowline's own; flock(1) does not queue",
    .fence_words    = "grows with every holder, also across a restart",
    .wake_words     = "by the kernel (inotify), when the file is closed",
    .loss_words     = "cannot happen while the holder lives: a stopped holder keeps the lock, and "
                      "bowline break is refused",
    .crash_words    = "the kernel releases it at once, when the last process that has it ends"
};

static const caps_row remote_row = {
    .engine         = "file",
    .variant        = "remote",
    .wake           = "poll",
    .loss           = "none",
    .crash          = "freed",
    .excludes_words = "the processes that this network file system excludes from each other",
    .order_words    = "first come, first served, as far as its byte-range locks work",
    .fence_words    = "grows with every holder, also across a restart",
    .wake_words     = "not across machines: " POLLED,
    .loss_words     = "not noticed: the locks are only as good as the file system",
    .crash_words    = "released when the file system notices that the holder is gone"
};

static const caps_row redis_queue = {
    LEASED("queue"), .wake = "push",
    .order_words = "first come, first served, among clients of this protocol",
    .fence_words = "grows with every holder, also if the server restarts empty or with older data",
    .wake_words  = "by a push from the release itself: no polling"
};

static const caps_row redis_token    = { LEASED("token"), .wake = "poll",
                                         .wake_words = POLLED_RANDOM };
static const caps_row redis_redisson = { LEASED("redisson"), SHARED };
static const caps_row redis_symfony  = { LEASED("symfony"), SHARED };

static const caps_row redlock_row = {
    .engine         = "redlock",
    .renews         = true,
    .wake           = "poll",
    .loss           = "told",
    .crash          = "lease",
    .excludes_words = "every client that asks a majority of these servers for the same key",
    .wake_words     = POLLED_RANDOM,
    .loss_words     = "noticed at the next renewal",
    .crash_words    = WITH_LEASE
};

static const caps_row redis_setnx_del          = { ARTICLE("setnx-del", "never", FOR_EVER) };
static const caps_row redis_setnx_del_expire   = { ARTICLE("setnx-del-expire", "never", FOR_EVER) };
static const caps_row redis_setnx_stamp_del    = { ARTICLE("setnx-stamp-del", "lease", WITH_TIME) };
static const caps_row redis_setnx_getset       = { ARTICLE("setnx-getset", "lease", WITH_TIME) };
static const caps_row redis_set_nx_ex          = { ARTICLE("set-nx-ex", "lease", WITH_LEASE) };
static const caps_row redis_setnx_expire_watch = { ARTICLE(
    "setnx-expire-watch", "lease",
    WITH_LEASE "; without a lease, until another client waits for it") };

static const caps_row redis_lock_file = {
    .engine   = "redis",
    .protocol = "lock-file",
    .wake     = "poll",
    .loss     = "clock",
    .crash    = "file",
    .excludes_words =
        "the programs that use this lock in the same way, as far as the file is right",
    .wake_words  = POLLED,
    .loss_words  = "not noticed, except by a renewal of the file; the lock ends by the clock of "
                   "the holder",
    .crash_words = "as the file says: a key without an expiry stays for ever"
};

/* The directory of `file:` may not exist yet: then its parent shows where it will be. */
static bool is_remote(const bwl_file_store *store)
{
    bool remote = store->directory.is_remote;
    int  above  = -1;

    if (store->directory.fd < 0 && store->parent != NULL)
        above = bwl_file_open_directory(-1, store->parent);
    if (above >= 0) {
        remote = bwl_file_is_remote(above);
        (void)close(above);
    }
    return remote;
}

/* The row of each protocol on a single server; a protocol without a row does not compile. */
static const caps_row *row_of(bwl_protocol_id id)
{
    switch (id) {
#define ROW(NAME, name) \
    case BWL_PROTOCOL_##NAME: return &redis_##name;
        BWL_PROTOCOL_MAP(ROW)
#undef ROW
    case BWL_PROTOCOL_NONE: break;
    }
    bwl_unreachable("a server locks by a protocol of the list");
}

/* That row, with what the rules of the URL and a cluster change. */
static caps_row row_of_redis(const doctor_target *target)
{
    const bwl_compat_rules *rules   = target->client->host.settings.options.rules;
    bwl_protocol_id         id      = bwl_protocol_id_of(target->protocol);
    bool                    is_file = target->client->host.settings.options.program != NULL;
    caps_row                row     = is_file ? redis_lock_file : *row_of(id);

    row.renews = row.renews || (is_file && target->protocol->extends);
    if (id == BWL_PROTOCOL_SETNX_GETSET && rules != NULL && rules->clock == BWL_CLOCK_OF_SERVER) {
        row.variant     = "server";
        row.crash_words = WITH_TIME ", by the clock of the server";
    }
    if (id == BWL_PROTOCOL_REDISSON && rules != NULL && rules->counts_fences) {
        row.variant     = "fenced";
        row.fence_words = COUNTED;
    }
    if (!target->is_cluster)
        return row;
    assert(row.renews); /* a cluster supports only those */
    row.engine         = "cluster";
    row.excludes_words = "every client of this cluster that uses the same key";
    row.loss_words     = NOTICED "; a node that takes over without the key loses the lock";
    if (id == BWL_PROTOCOL_QUEUE) {
        row.order_words = "first come, first served, among clients of this protocol, also while "
                          "the slot moves";
        row.fence_words = "grows with every holder, also after a failover, if the clocks of the "
                          "nodes agree";
    }
    return row;
}

static caps_row find_row(const doctor_target *target)
{
    const bwl_shard *client = target->client;

    switch (client->host.engine->kind) {
    case BWL_ENGINE_THREAD: return thread_row;
    case BWL_ENGINE_FILE: return is_remote(client->host.store) ? remote_row : file_row;
    case BWL_ENGINE_REDIS: return row_of_redis(target);
    case BWL_ENGINE_REDLOCK: return redlock_row;
    }
    bwl_unreachable("an engine outside of its enum");
}

/* ---- what a lock does not have, and why ------------------------------------------------------ */

/* bowline_acquire refuses each of them: src/api/acquire_options.c, mode.c. */
static const char *why_no_period(const bwl_engine *engine, const bwl_protocol *protocol)
{
    if (protocol->rests)
        return NULL;
    switch (engine->kind) {
    case BWL_ENGINE_THREAD: return "a lock of thread: ends with its process";
    case BWL_ENGINE_FILE: return "a lock of file: ends with its process";
    case BWL_ENGINE_REDLOCK: return "its servers have no place for what is left of a period";
    case BWL_ENGINE_REDIS: return "its key has no place for what is left of a period";
    }
    bwl_unreachable("an engine outside of its enum");
}

static const char *why_not_shared(const bwl_engine *engine, const bwl_protocol *protocol)
{
    if (protocol->shares)
        return NULL;
    if (engine->kind == BWL_ENGINE_REDLOCK)
        return "each of its servers would have a queue and a count of its own";
    return "its key has room for one holder";
}

static const char *why_no_change(const doctor_target *target, const bwl_protocol *protocol)
{
    if (protocol->changes)
        return NULL;
    if (!protocol->shares)
        return "it has exclusive holds only";
    if (target->replicas > 0)
        return "with sync= a hold keeps its mode";
    return "a lock of file: has one mode for as long as it is held";
}

static const char *how_several(const doctor_target *target, const bwl_protocol *protocol)
{
    if (target->client->host.engine->kind != BWL_ENGINE_REDIS || !protocol->uses_push)
        return "each";
    return target->is_cluster ? "slot" : "script";
}

int caps_find(caps *ret_caps, const char *url, uint32_t lease_ms, char ret_why[CAPS_TEXT_MAX])
{
    doctor_target target;
    bwl_fault     fault  = { 0 };
    int           status = doctor_target_open(&target, url, lease_ms, &fault);

    if (status < 0) {
        (void)snprintf(ret_why, CAPS_TEXT_MAX, "%s", fault.text);
        return status;
    }
    const bwl_shard        *client   = target.client;
    const bwl_settings     *settings = &client->host.settings;
    const bwl_compat_rules *rules    = settings->options.rules;
    caps_row                row      = find_row(&target);
    const bwl_engine       *engine   = client->host.engine;
    const bwl_protocol     *protocol = target.protocol != NULL ? target.protocol : engine->protocol;
    *ret_caps                        = (caps){
                               .row        = row,
                               .is_default = target.is_default,
                               .renews     = row.renews && settings->renews,
                               .lease_ms   = engine->has_lease ? settings->lease_ms : 0,
                               .wait_ms    = settings->wait_ms,
                               .tries_max  = rules != NULL ? rules->tries_max : 0,
                               .replicas   = target.replicas,
                               .sticky_ms  = settings->keep_ms,
    };
    ret_caps->why_no_period   = why_no_period(engine, protocol);
    ret_caps->why_not_shared  = why_not_shared(engine, protocol);
    ret_caps->why_no_change   = why_no_change(&target, protocol);
    ret_caps->several         = how_several(&target, protocol);
    ret_caps->why_no_ticket   = bwl_why_not_passed(engine, target.protocol, rules);
    ret_caps->why_no_election = bwl_why_no_election(engine, protocol);
    (void)snprintf(ret_caps->place, sizeof ret_caps->place, "%s", target.place);
    (void)snprintf(ret_caps->risk, sizeof ret_caps->risk, "%s", settings->risk);
    if (target.profile != NULL)
        (void)snprintf(ret_caps->profile, sizeof ret_caps->profile, "%s", target.profile);
    bwl_shard_close(target.client);
    return 0;
}
