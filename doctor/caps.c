/*
 * caps.c -- the table of what each lock gives.  docs/guarantees.md says it at length; a test holds
 * its table "At a glance" to this one, and the locks to both.
 *
 * Some rows are there twice.  A directory on a file system that others have a part in is "remote".
 * A lock of stamps that goes by the server's clock ("server") is taken and released in one step.
 * RFencedLock of Redisson ("fenced") counts its holders.
 */
#include "doctor/caps.h"
#include "doctor/target.h"
#include "engine/file/seat.h"
#include "engine/redis/session/session.h"
#include "protocol/protocol.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define POLLED         "who waits asks again from time to time"
#define SAME_KEY       "every client of this server that asks for the same key"
#define SAME_KEY_THERE "every client of this cluster that asks for the same key"
#define NO_NOTICE      "nobody tells; it ends when its time is over by the holder's own clock"
#define COUNTED        "grows with every holder, as long as the server keeps the counter of the key"
#define TRACKED                                                                                    \
    "by an invalidation push of the server (CLIENT TRACKING) as soon as the key changes; without " \
    "it, it asks again: 10ms, doubling to 500ms, half of it random"
#define WITH_LEASE "the lock stays taken until its lease is over"
#define FOR_EVER   "the lock stays taken for ever: somebody has to delete the key"

/* What the locks of articles have in common. */
#define ARTICLE(name)                                                                           \
    .engine = "redis", .protocol = (name), .wake = "poll", .loss = "clock",                     \
    .excludes_words = "the programs that take this lock in the same way", .wake_words = POLLED, \
    .loss_words = NO_NOTICE

static const caps_row thread_row = {
    .engine         = "thread",
    .wake           = "handed",
    .loss           = "none",
    .crash          = "process",
    .excludes_words = "the threads of this process, and nobody else",
    .order_words    = "first come, first served",
    .fence_words    = "grows with every holder, as long as the process lives",
    .wake_words     = "by the release itself",
    .loss_words     = "cannot happen: nothing but a release or max-hold ends it",
    .crash_words = "nothing outlives the process; a thread that ends without releasing leaves it "
                   "taken"
};

static const caps_row file_row = {
    .engine         = "file",
    .wake           = "kernel",
    .loss           = "none",
    .crash          = "freed",
    .excludes_words = "the processes of this machine that use this directory (without one: of "
                      "this user alone), and flock(2) on its files",
    .order_words    = "first come, first served, among bowline's own; flock(1) has no place",
    .fence_words    = "grows with every holder, also across a restart",
    .wake_words     = "by the kernel (inotify), when the file is closed",
    .loss_words     = "cannot happen while the holder lives; a stopped holder holds",
    .crash_words    = "the kernel frees it at once, when the last process that has it is gone"
};

static const caps_row remote_row = {
    .engine         = "file",
    .variant        = "remote",
    .wake           = "poll",
    .loss           = "none",
    .crash          = "freed",
    .excludes_words = "those whose locks this network file system keeps apart",
    .order_words    = "first come, first served, as far as its locks of bytes are good",
    .fence_words    = "grows with every holder, also across a restart",
    .wake_words     = "nobody tells across machines: who waits looks again from time to time",
    .loss_words     = "is not noticed: the locks are as good as the file system's",
    .crash_words    = "freed when the file system notices that the holder is gone"
};

static const caps_row redis_queue = {
    .engine         = "redis",
    .protocol       = "queue",
    .renews         = true,
    .wake           = "push",
    .loss           = "told",
    .crash          = "lease",
    .excludes_words = SAME_KEY,
    .order_words    = "first come, first served, among clients of this protocol",
    .fence_words    = "grows with every holder, also if the server comes back empty or with older "
                      "data",
    .wake_words     = "by a push, from the step that releases: nothing is polled",
    .loss_words     = "told at the next renewal, or as soon as a connection has broken",
    .crash_words    = WITH_LEASE
};

static const caps_row redis_token = {
    .engine         = "redis",
    .protocol       = "token",
    .renews         = true,
    .wake           = "poll",
    .loss           = "told",
    .crash          = "lease",
    .excludes_words = SAME_KEY,
    .wake_words     = POLLED ": 10ms, doubling to 500ms, half of it random",
    .loss_words     = "told at the next renewal, or as soon as a connection has broken",
    .crash_words    = WITH_LEASE
};

static const caps_row cluster_queue = {
    .engine         = "cluster",
    .protocol       = "queue",
    .renews         = true,
    .wake           = "push",
    .loss           = "told",
    .crash          = "lease",
    .excludes_words = SAME_KEY_THERE,
    .order_words = "first come, first served, among clients of this protocol, also while the slot "
                   "moves",
    .fence_words = "grows with every holder, also when another node takes over, as far as the "
                   "clocks of the nodes are together",
    .wake_words  = "by a push, from the step that releases: nothing is polled",
    .loss_words  = "told at the next renewal, or as soon as a connection has broken; a node that "
                   "takes over without our key loses it",
    .crash_words = WITH_LEASE
};

static const caps_row cluster_token = {
    .engine         = "cluster",
    .protocol       = "token",
    .renews         = true,
    .wake           = "poll",
    .loss           = "told",
    .crash          = "lease",
    .excludes_words = SAME_KEY_THERE,
    .wake_words     = POLLED ": 10ms, doubling to 500ms, half of it random",
    .loss_words  = "told at the next renewal, or as soon as a connection has broken; a node that "
                   "takes over without our key loses it",
    .crash_words = WITH_LEASE
};

/* A lock of other programs that is held by a lease, and waited for by CLIENT TRACKING. */
#define LEASED(PROTOCOL)                                                                      \
    .protocol = (PROTOCOL), .renews = true, .wake = "push", .loss = "told", .crash = "lease", \
    .wake_words = TRACKED, .crash_words = WITH_LEASE
#define LEASED_HERE(PROTOCOL)                                                        \
    .engine = "redis", .excludes_words = SAME_KEY,                                   \
    .loss_words = "told at the next renewal, or as soon as a connection has broken", \
    LEASED(PROTOCOL)
#define LEASED_THERE(PROTOCOL)                                                                    \
    .engine = "cluster", .excludes_words = SAME_KEY_THERE,                                        \
    .loss_words = "told at the next renewal, or as soon as a connection has broken; a node that " \
                  "takes over without our key loses it",                                          \
    LEASED(PROTOCOL)

static const caps_row redis_redisson   = { LEASED_HERE("redisson") };
static const caps_row cluster_redisson = { LEASED_THERE("redisson") };
static const caps_row redis_symfony    = { LEASED_HERE("symfony") };
static const caps_row cluster_symfony  = { LEASED_THERE("symfony") };

static const caps_row redis_fenced   = { LEASED_HERE("redisson"), .variant = "fenced",
                                         .fence_words = COUNTED };
static const caps_row cluster_fenced = { LEASED_THERE("redisson"), .variant = "fenced",
                                         .fence_words = COUNTED };

static const caps_row redlock_row = {
    .engine         = "redlock",
    .renews         = true,
    .wake           = "poll",
    .loss           = "told",
    .crash          = "lease",
    .excludes_words = "every client of these servers that asks most of them for the same key",
    .wake_words     = POLLED ": 10ms, doubling to 500ms, half of it random",
    .loss_words     = "told at the next renewal",
    .crash_words    = WITH_LEASE
};

static const caps_row redis_setnx_del = { ARTICLE("setnx-del"), .crash = "never",
                                          .crash_words = FOR_EVER };

static const caps_row redis_setnx_del_expire = { ARTICLE("setnx-del-expire"), .crash = "never",
                                                 .crash_words = FOR_EVER };

static const caps_row redis_setnx_stamp_del = {
    ARTICLE("setnx-stamp-del"), .crash = "lease",
    .crash_words = "the lock stays taken until the time in it is over"
};

static const caps_row redis_setnx_getset = {
    ARTICLE("setnx-getset"), .crash = "lease",
    .crash_words = "the lock stays taken until the time in it is over"
};

static const caps_row server_clock_row = {
    ARTICLE("setnx-getset"), .variant = "server", .crash = "lease",
    .crash_words = "the lock stays taken until the time in it is over, by the server's clock"
};

static const caps_row redis_set_nx_ex = { ARTICLE("set-nx-ex"), .crash = "lease",
                                          .crash_words = WITH_LEASE };

static const caps_row redis_setnx_expire_watch = {
    ARTICLE("setnx-expire-watch"), .crash = "lease",
    .crash_words = "the lock stays taken until its lease is over; without one, until somebody "
                   "waits for it"
};

/* The directory of `file:` may not be there yet: then the one above it says where it will be. */
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

/* The row of a server by each protocol; a protocol without a row does not compile. */
static const caps_row *row_of_server(bwl_protocol_id id, const bwl_rules *rules)
{
    if (id == BWL_PROTOCOL_SETNX_GETSET && rules != NULL && rules->clock == BWL_CLOCK_OF_SERVER)
        return &server_clock_row;
    if (id == BWL_PROTOCOL_REDISSON && rules != NULL && rules->counts_fences)
        return &redis_fenced;
    switch (id) {
#define ROW(NAME, name) \
    case BWL_PROTOCOL_##NAME: return &redis_##name;
        BWL_PROTOCOL_MAP(ROW)
#undef ROW
    case BWL_PROTOCOL_NONE: break;
    }
    bwl_unreachable("a server locks by a protocol of the list");
}

/* The engine refuses all but these four. */
static const caps_row *row_of_cluster(bwl_protocol_id id, const bwl_rules *rules)
{
    if (id == BWL_PROTOCOL_REDISSON)
        return rules != NULL && rules->counts_fences ? &cluster_fenced : &cluster_redisson;
    if (id == BWL_PROTOCOL_SYMFONY)
        return &cluster_symfony;
    assert(id == BWL_PROTOCOL_QUEUE || id == BWL_PROTOCOL_TOKEN);
    return id == BWL_PROTOCOL_QUEUE ? &cluster_queue : &cluster_token;
}

static const caps_row *find_row(const doctor_target *target)
{
    const bwl_shard *client = target->client;
    bwl_protocol_id   id     = bwl_protocol_id_of(target->protocol);

    switch (client->host.engine->kind) {
    case BWL_ENGINE_THREAD: return &thread_row;
    case BWL_ENGINE_FILE: return is_remote(client->host.store) ? &remote_row : &file_row;
    case BWL_ENGINE_REDIS:
        return target->is_cluster ? row_of_cluster(id, client->host.settings.rules)
                                  : row_of_server(id, client->host.settings.rules);
    case BWL_ENGINE_REDLOCK: return &redlock_row;
    }
    bwl_unreachable("an engine outside of its enum");
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
    const bwl_shard *client = target.client;
    const bwl_rules  *rules  = client->host.settings.rules;
    const caps_row   *row    = find_row(&target);
    *ret_caps                = (caps){
                       .row        = row,
                       .is_default = target.is_default,
                       .renews     = row->renews && client->host.settings.renews,
                       .lease_ms   = client->host.engine->has_lease ? client->host.settings.lease_ms : 0,
                       .wait_ms    = client->host.settings.wait_ms,
                       .tries_max  = rules != NULL ? rules->tries_max : 0,
                       .replicas   = target.replicas,
    };
    (void)snprintf(ret_caps->place, sizeof ret_caps->place, "%s", target.place);
    (void)snprintf(ret_caps->risk, sizeof ret_caps->risk, "%s", client->host.settings.risk);
    if (target.profile != NULL)
        (void)snprintf(ret_caps->profile, sizeof ret_caps->profile, "%s", target.profile);
    doctor_target_close(&target);
    return 0;
}
