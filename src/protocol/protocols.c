/*
 * protocols.c -- the table of the protocols for Redis, and the default rules of each.
 *
 * The articles set: "Redis的分布式锁": a lease of 10 seconds.  "Lock / watch与锁 / 分布式锁": 50000
 * as wait and lease, here read as milliseconds.  "利用redis实现分布式锁": a wait of 300 ms, a lease of
 * 5 minutes, 100 ms between attempts.  "Redis实现分布式锁": one attempt; its caller sets the lease.
 */
#include "protocol/protocol.h"
#include "protocol/articles.h"
#include "protocol/queue_lock.h"
#include "protocol/token_lock.h"

#include <string.h>

#define SECOND_NS INT64_C(1000000000)
#define MS_NS     INT64_C(1000000)

/* The value is time(), and no client reads it. */
static const bwl_compat_rules del_rules = {
    .value              = BWL_VALUE_DECIMAL,
    .unit_ns            = SECOND_NS,
    .timestamp_is_start = true,
    .lease_ms           = 10000,
};

static const bwl_compat_rules stamp_del_rules = {
    .value    = BWL_VALUE_DECIMAL,
    .unit_ns  = SECOND_NS,
    .expired  = BWL_TIMESTAMP_NOT_AFTER_NOW,
    .gone     = BWL_GONE_SWAP,
    .lease_ms = 10000,
};

static const bwl_compat_rules nx_ex_rules = {
    .value            = BWL_VALUE_LITERAL,
    .literal          = "1",
    .lease_in_seconds = true,
    .lease_ms         = 10000,
};

/* The lease is Redisson's lockWatchdogTimeout. */
static const bwl_compat_rules redisson_rules = {
    .value    = BWL_VALUE_TOKEN,
    .token    = BWL_TOKEN_UUID_THREAD,
    .lease_ms = 30000,
};

/* The lease is $initialTtl of RedisStore. */
static const bwl_compat_rules symfony_rules = {
    .value    = BWL_VALUE_TOKEN,
    .token    = BWL_TOKEN_BASE64_32,
    .lease_ms = 300000,
};

static const bwl_compat_rules watch_rules = {
    .value            = BWL_VALUE_TOKEN,
    .token            = BWL_TOKEN_UUID,
    .lease_in_seconds = true,
    .pause_ms         = 200,
    .lease_ms         = 50000,
    .wait_ms          = 50000,
};

/* "if ($t1 > time()) held", "if ($t2 != $t1) lost".  `false != false` is false, so of two clients
 * that both find no key both acquire the lock: missing_wins. */
const bwl_compat_rules bwl_compat_rules_seconds = {
    .value        = BWL_VALUE_DECIMAL,
    .unit_ns      = SECOND_NS,
    .expired      = BWL_TIMESTAMP_NOT_AFTER_NOW,
    .reads        = BWL_READS_ALWAYS,
    .gone         = BWL_GONE_SWAP,
    .wins         = BWL_WINS_IF_SAME,
    .missing_wins = true,
    .release      = BWL_RELEASE_BLIND,
    .clock        = BWL_CLOCK_OF_CLIENT,
    .lease_ms     = 10000,
};

/* buffer_time is 0.001 in the timestamp and 0.003 before a release; retry_times is 0 by default. */
const bwl_compat_rules bwl_compat_rules_buffers = {
    .value        = BWL_VALUE_DECIMAL,
    .unit_ns      = MS_NS,
    .extra_ns     = MS_NS,
    .expired      = BWL_TIMESTAMP_BEFORE_NOW,
    .reads        = BWL_READS_ONCE,
    .gone         = BWL_GONE_SWAP,
    .wins         = BWL_WINS_IF_EXPIRED,
    .missing_wins = true,
    .release      = BWL_RELEASE_IF_AHEAD,
    .guard_ms     = 3,
    .clock        = BWL_CLOCK_OF_CLIENT,
};

#define JEDIS                                                                                \
    .value = BWL_VALUE_DECIMAL, .unit_ns = MS_NS, .extra_ns = MS_NS,                         \
    .expired = BWL_TIMESTAMP_BEFORE_NOW, .reads = BWL_READS_TIMESTAMP_ONCE,                  \
    .gone = BWL_GONE_START_OVER, .release = BWL_RELEASE_BLIND, .clock = BWL_CLOCK_OF_CLIENT, \
    .pause_ms = 100, .lease_ms = 300000, .wait_ms = 300

const bwl_compat_rules bwl_compat_rules_jedis    = { JEDIS, .wins = BWL_WINS_IF_SAME };
const bwl_compat_rules bwl_compat_rules_lock_foo = { JEDIS, .wins = BWL_WINS_IF_EXPIRED };

const bwl_compat_rules bwl_compat_rules_server = {
    .value    = BWL_VALUE_DECIMAL,
    .unit_ns  = SECOND_NS,
    .expired  = BWL_TIMESTAMP_NOT_AFTER_NOW,
    .clock    = BWL_CLOCK_OF_SERVER,
    .lease_ms = 10000,
};

typedef struct entry {
    const bwl_protocol     *protocol;
    const bwl_compat_rules *rules;
} entry;

/* The rules of each article. */
#define RULES_QUEUE              NULL
#define RULES_TOKEN              NULL
#define RULES_REDISSON           &redisson_rules
#define RULES_SYMFONY            &symfony_rules
#define RULES_SETNX_DEL          &del_rules
#define RULES_SETNX_DEL_EXPIRE   &del_rules
#define RULES_SETNX_STAMP_DEL    &stamp_del_rules
#define RULES_SETNX_GETSET       &bwl_compat_rules_seconds
#define RULES_SET_NX_EX          &nx_ex_rules
#define RULES_SETNX_EXPIRE_WATCH &watch_rules

#define ENTRY(NAME, name)        { &bwl_##name, RULES_##NAME },

static const entry entries[] = { BWL_PROTOCOL_MAP(ENTRY) };
enum { ENTRIES = sizeof entries / sizeof entries[0] };

bwl_protocol_id bwl_protocol_id_of(const bwl_protocol *protocol)
{
    if (protocol == &bwl_token_chosen)
        return BWL_PROTOCOL_TOKEN;
    for (unsigned i = 0; i < ENTRIES; i++)
        if (entries[i].protocol == protocol || bwl_protocol_synced(entries[i].protocol) == protocol)
            return (bwl_protocol_id)(BWL_PROTOCOL_NONE + 1 + i);
    return BWL_PROTOCOL_NONE;
}

const bwl_protocol *bwl_protocol_named(const char *name)
{
    size_t size = strlen(name);

    for (unsigned i = 0; i < ENTRIES; i++) {
        const char *its = entries[i].protocol->name;
        if (strlen(its) == size && memcmp(its, name, size) == 0)
            return entries[i].protocol;
    }
    return NULL;
}

const char *bwl_protocol_name_at(size_t i)
{
    return i < ENTRIES ? entries[i].protocol->name : NULL;
}

const bwl_protocol *bwl_protocol_synced(const bwl_protocol *protocol)
{
    if (protocol == &bwl_token)
        return &bwl_synced_token;
    return protocol == &bwl_queue ? &bwl_synced_queue : NULL;
}

const bwl_compat_rules *bwl_protocol_compat_rules(const bwl_protocol *protocol)
{
    bwl_protocol_id id = bwl_protocol_id_of(protocol);

    return id != BWL_PROTOCOL_NONE ? entries[id - 1].rules : NULL;
}

const char *bwl_protocol_fault(const bwl_protocol *protocol, const bwl_compat_rules *rules)
{
    bool is_safe =
        protocol == &bwl_setnx_getset && rules != NULL && rules->clock == BWL_CLOCK_OF_SERVER;

    return is_safe ? NULL : protocol->fault;
}
