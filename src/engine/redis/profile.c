#include "engine/redis/profile.h"
#include "protocol/format/token.h"
#include "engine/redis/wire/value.h"
#include "protocol/protocol.h"

#include <string.h>

/* Locks of other programs, one row each.
 *
 * The comment above a row names the source of its formats.  A row has no lease if the program has
 * none by default (its keys then never expire; ours do), and no wait if the program leaves it to
 * the caller.
 *
 * The rows with timestamps acquire, steal and release in one script by the server's clock, and
 * their keys expire at the timestamp: all these programs treat a missing key as a free lock.  Two
 * rows, the locks of articles, follow the articles.  The faults of the other programs make sharing
 * such a lock unsafe: see `fault`.
 *
 * `make docs` generates docs/reference/profiles.md from this table. */

#define TOKENS(format) .value = BWL_VALUE_TOKEN, .token = (format)
#define SECOND_NS      INT64_C(1000000000)
#define MILLISECOND_NS INT64_C(1000000)
#define MICROSECOND_NS INT64_C(1000)

#define RULES(...)     (&(const bwl_compat_rules){ __VA_ARGS__ })

#define BY_THE_SERVER                                                                  \
    .reads = BWL_READS_ONCE, .gone = BWL_GONE_START_OVER, .wins = BWL_WINS_IF_EXPIRED, \
    .missing_wins = true, .release = BWL_RELEASE_IF_MINE, .clock = BWL_CLOCK_OF_SERVER
#define EXPIRED_BEFORE_NOW    .expired = BWL_TIMESTAMP_BEFORE_NOW, BY_THE_SERVER
#define EXPIRED_NOT_AFTER_NOW .expired = BWL_TIMESTAMP_NOT_AFTER_NOW, BY_THE_SERVER

#define FAULT_BLIND                                                                \
    "its other users compare their own clocks and delete what is not theirs; one " \
    "that loses a takeover moves our timestamp, and our release leaves the key"
#define FAULT_MOVED                                                                  \
    "its other users compare their own clocks; one that loses a takeover moves our " \
    "timestamp, and our release leaves the key until that time has passed"

#define WANTS_LARAVEL \
    "its keys begin with REDIS_PREFIX and CACHE_PREFIX of the application; add yours, as in"

/* A row: name, program, protocol, key, and what differs from the defaults. */
#define PROFILE(NAME, PROGRAM, PROTOCOL, KEY, ...)                                              \
    {                                                                                           \
        .name = (NAME), .program = (PROGRAM), .protocol = (PROTOCOL), .key = (KEY), __VA_ARGS__ \
    }

static const bwl_profile rows[] = {
    /* redis 6.4.0 and 8.1.0 (PyPI), lock.py: SET NX PX, uuid1().hex, GET and DEL in Lua; 2.10.6
     * the same by SETNX and PEXPIRE. */
    PROFILE(
        "redis-py", "redis-py 2.10 and newer (Python), redis.lock.Lock", "token", "%s",
        .note =
            "Without timeout= its own locks never expire. The keys of django-redis have a prefix: "
            "see profile django-redis.",
        .rules = RULES(TOKENS(BWL_TOKEN_UUID1_BARE))),
    /* django-redis 7.0.0 (PyPI), client/default.py, lock: redis-py's lock on the key of the cache,
     * which is KEY_PREFIX:VERSION:NAME. */
    PROFILE(
        "django-redis", "django-redis 4 to 7 (Python), cache.lock", "token", ":1:%s",
        .note =
            "With another KEY_PREFIX or VERSION: key=KEY_PREFIX:VERSION:%s. With a KEY_FUNCTION: "
            "its result. Without timeout= its own locks never expire.",
        .rules = RULES(TOKENS(BWL_TOKEN_UUID1_BARE))),
    /* python-redis-lock 4.0.1 (PyPI), redis_lock/__init__.py: SET NX EX, b64encode(urandom(18)). */
    PROFILE("python-redis-lock", "python-redis-lock 4 (Python), redis_lock.Lock", "token",
            "lock:%s", .signal = BWL_SIGNAL_LIST, .signal_name = "%plock-signal:%s",
            .note  = "Without expire= its own locks never expire.",
            .rules = RULES(TOKENS(BWL_TOKEN_BASE64_18), .lease_in_seconds = true)),
    /* walrus 0.9.8 (PyPI), lock.py, scripts/lock_*.lua: SETNX, PEXPIRE; os.urandom(32). */
    PROFILE(
        "walrus", "walrus 0.9 (Python), Database.lock", "token", "lock:%s",
        .signal = BWL_SIGNAL_EVENT, .signal_name = "%plock.event:%s", .theirs = BWL_THEIRS_32_BYTES,
        .note  = "Its own values are 32 arbitrary bytes. Without ttl= its own locks never expire. "
                 "The list is never deleted, neither by its own releases.",
        .rules = RULES(TOKENS(BWL_TOKEN_HEX))),
    /* pottery 3.0.1 (PyPI), redlock.py: SET NX PX, str(uuid4()). */
    PROFILE("pottery", "pottery 3 (Python), Redlock", "token", "redlock:%s", .is_of_many = true,
            .rules = RULES(TOKENS(BWL_TOKEN_UUID), .lease_ms = 10000)),
    /* sherlock 0.4.1 (PyPI), lock.py, RedisLock: SETNX and EXPIRE in Lua, str(uuid4()). */
    PROFILE("sherlock", "sherlock 0.4 (Python), RedisLock", "token", "%s",
            .note  = "With a namespace: key=NAMESPACE_%s.",
            .rules = RULES(TOKENS(BWL_TOKEN_UUID), .lease_in_seconds = true)),
    /* redlock-py 1.0.8 (PyPI), redlock/__init__.py: SET NX PX. */
    PROFILE("redlock-py", "redlock-py 1 (Python)", "token", "%s", .is_of_many = true,
            .rules = RULES(TOKENS(BWL_TOKEN_ALNUM_22))),
    /* aioredlock 0.7.3 (PyPI), redis.py, algorithm.py: GET and SET PX in Lua, str(uuid.uuid4()). */
    PROFILE("aioredlock", "aioredlock 0.7 (Python), Aioredlock.lock", "token", "%s",
            .is_of_many = true, .note = "Its own extension creates a lost key again.",
            .rules = RULES(TOKENS(BWL_TOKEN_UUID), .lease_ms = 10000)),
    /* redlock 4.2.0, redlock.js, and 5.0.0-beta.2, dist/esm/index.js (npm): EXISTS and SET PX in
     * Lua, randomBytes(16).toString("hex"). */
    PROFILE("node-redlock", "node-redlock 4 and 5 (Node.js), npm redlock", "token", "%s",
            .is_of_many = true, .note = "With one resource.",
            .rules = RULES(TOKENS(BWL_TOKEN_HEX))),
    /* redis-semaphore 5.8.0 (npm), lib/RedisMutex.js, lib/RedlockMutex.js, lib/misc.js: SET PX NX,
     * randomUUID(). */
    PROFILE("redis-semaphore", "redis-semaphore 5 (Node.js), Mutex and RedlockMutex", "token",
            "mutex:%s", .is_of_many = true,
            .rules = RULES(TOKENS(BWL_TOKEN_UUID), .lease_ms = 10000, .wait_ms = 10000)),
    /* ioredis-lock 4.0.0 (npm): SET PX NX, uuid.v1(). */
    PROFILE("ioredis-lock", "ioredis-lock 4 (Node.js)", "token", "%s",
            .rules = RULES(TOKENS(BWL_TOKEN_UUID1), .lease_ms = 10000)),
    /* node-redis-warlock 1.0.2 (npm), lib/warlock.js: SET PX NX, the bytes of a UUID in base64. */
    PROFILE("warlock", "node-redis-warlock 1 (Node.js)", "token", "%s:lock",
            .rules = RULES(TOKENS(BWL_TOKEN_BASE64))),
    /* github.com/go-redsync/redsync/v4 4.18.1, mutex.go, redsync.go: SET NX, 16 bytes in base64. */
    PROFILE("redsync", "redsync 4 (Go)", "token", "%s", .is_of_many = true,
            .note  = "WithSetNXOnExtend creates a lost key again.",
            .rules = RULES(TOKENS(BWL_TOKEN_BASE64), .lease_ms = 8000)),
    /* github.com/bsm/redislock 0.9.4, redislock.go: SET NX PX in Lua, base64.RawURLEncoding. */
    PROFILE("bsm-redislock", "bsm/redislock 0.9 (Go)", "token", "%s", .theirs = BWL_THEIRS_METADATA,
            .note  = "Its own values may have metadata after the token.",
            .rules = RULES(TOKENS(BWL_TOKEN_OURS))),
    /* github.com/redis/rueidis 1.0.79, rueidislock/lock.go: SET NX PXAT in Lua, 24 random
     * bytes; the keys PREFIX:0:NAME to PREFIX:2*KeyMajority-2:NAME, of which KeyMajority make the
     * lock. */
    PROFILE("rueidislock", "rueidislock 1 (Go), with one bowline for each of its keys", "token",
            "rueidislock:0:%s",
            .wants_key =
                "a lock of rueidislock has 2 * KeyMajority - 1 keys, and a profile takes one; for "
                "KeyMajority 1",
            .theirs = BWL_THEIRS_24_BYTES,
            .fault  = "its other users set the expiry of a key by their own clocks, unless they "
                      "were made with FallbackSETPX",
            .note =
                "With its default, KeyMajority 2, a holder has the lock as long as it has two of "
                "the keys 0, 1 and 2, and a bowline with one of them does not exclude it. Take all "
                "of them, one inside the other, in this order: key=rueidislock:%s, and the names "
                "0:NAME, 1:NAME, 2:NAME. The DEL of a release wakes a waiting rueidislock.",
            .rules = RULES(TOKENS(BWL_TOKEN_BASE64_18), .lease_ms = 5000)),
    /* com.baomidou:lock4j-redis-template-spring-boot-starter 2.2.7 (Maven Central), sources:
     * RedisTemplateLockExecutor, LockUtil, Lock4jProperties. */
    PROFILE("lock4j", "Lock4j 2 (Java) with the RedisTemplate executor", "token", "lock4j:%s",
            .note  = "The name of the lock is what follows lock4j.lock-key-prefix, as in "
                     "com.example.Orders.pay#42.",
            .rules = RULES(TOKENS(BWL_TOKEN_UUID_BARE), .lease_ms = 30000, .wait_ms = 3000)),
    /* net.javacrumbs.shedlock:shedlock-support-redis 6.9.0 and 7.10.1 and
     * shedlock-provider-redis-spring 6.3.0 (Maven Central), sources: ADDED:TIME@HOST:UUID, and
     * without the UUID before 6.9. */
    PROFILE("shedlock", "ShedLock 4 to 7 (Java) with a provider for Redis", "token",
            "job-lock:default:%s",
            .fault =
                "the late release of a ShedLock deletes the lock of another holder, unless its "
                "provider was built with safeUpdate",
            .theirs = BWL_THEIRS_DATE_HOST,
            .note   = "For the environment default. A UUID takes the place of the host.",
            .rules  = RULES(TOKENS(BWL_TOKEN_DATE_UUID), .prefix = "ADDED:")),
    /* org.springframework.integration:spring-integration-redis 5.5.20, 6.3.11, 6.4.7, 6.4.8,
     * 6.4.10, 6.5.2, 6.5.3, 6.5.5, 7.0.0, 7.0.7 and 7.1.2 (Maven Central), sources:
     * RedisLockRegistry.  Since 6.4.8, 6.5.3 and 7.0 it subscribes to REGISTRY-channel:* and to
     * nothing else. */
    PROFILE("spring", "Spring Integration 7.0 and 7.1 (Java), RedisLockRegistry", "token", ":%s",
            .takes_prefix = true, .signal = BWL_SIGNAL_CHANNEL, .signal_name = "%p-channel:%p:%s",
            .note  = "key= begins with the registry key: key=REGISTRY:%s.",
            .rules = RULES(TOKENS(BWL_TOKEN_UUID), .lease_ms = 60000)),
    PROFILE("spring-6", "Spring Integration 5.5 to 6.5 (Java), RedisLockRegistry", "token", ":%s",
            .takes_prefix = true, .signal = BWL_SIGNAL_CHANNEL, .signal_name = "%p-channel",
            .second_name = "%p-channel:%p:%s",
            .note  = "key= begins with the registry key: key=REGISTRY:%s. Since 6.4.8 and 6.5.3 it "
                     "subscribes to the second channel, before to the first.",
            .rules = RULES(TOKENS(BWL_TOKEN_UUID), .lease_ms = 60000)),
    /* laravel/framework at 037539f, 039ee0d and bd71b45 (13.26.1), RedisLock.php and Lock.php of
     * src/Illuminate/Cache: SET EX NX, Str::random(), 16 characters; RedisStore.php at 0038ef2: the
     * colon up to 10.  The part before the name comes from config/database.php and
     * config/cache.php. */
    PROFILE("laravel", "Laravel 13 (PHP), Cache::lock, and applications made with a late 12",
            "token", "laravel-database-laravel-cache-%s", .wants_key = WANTS_LARAVEL,
            .note  = "REDIS_PREFIX and CACHE_PREFIX come before the name. A serializer or "
                     "compression of phpredis changes the values. Without seconds its own "
                     "locks never expire.",
            .rules = RULES(TOKENS(BWL_TOKEN_ALNUM_16), .lease_in_seconds = true)),
    PROFILE("laravel-11", "Laravel 11 and 12 (PHP), Cache::lock", "token",
            "laravel_database_laravel_cache_%s", .wants_key = WANTS_LARAVEL, .note = "As laravel.",
            .rules = RULES(TOKENS(BWL_TOKEN_ALNUM_16), .lease_in_seconds = true)),
    PROFILE("laravel-10", "Laravel 10 (PHP), Cache::lock", "token",
            "laravel_database_laravel_cache_:%s", .wants_key = WANTS_LARAVEL,
            .note  = "As laravel. Older applications have laravel_database_laravel_cache:%s.",
            .rules = RULES(TOKENS(BWL_TOKEN_ALNUM_16), .lease_in_seconds = true)),
    /* samcook/RedLock.net at 0d5cdf3, RedLock.cs: StringSet NX, Guid.ToString(); the format is in
     * RedLockConnectionProvider. */
    PROFILE("redlock-net", "RedLock.net 2 (.NET)", "token", "redlock:%s", .is_of_many = true,
            .note  = "Its own extension creates a lost key again.",
            .rules = RULES(TOKENS(BWL_TOKEN_UUID))),
    /* madelson/DistributedLock at 338025c, RedisMutexPrimitive.cs, RedLockHelper.cs: StringSet NX,
     * MACHINE_PID_GUID. */
    PROFILE("distributedlock", "DistributedLock 2 (.NET), RedisDistributedLock", "token", "%s",
            .names_host = true, .is_of_many = true, .theirs = BWL_THEIRS_HOST_PID,
            .note  = "A long host name is shortened.",
            .rules = RULES(TOKENS(BWL_TOKEN_UUID_BARE), .lease_ms = 30000)),
    /* sewenew/redis-plus-plus at 1ee399d, patterns/redlock.cpp: SET NX PX, 20
     * letters and digits. */
    PROFILE("redis-plus-plus", "redis++ 1.3 (C++), RedMutex", "token", "%s", .is_of_many = true,
            .rules = RULES(TOKENS(BWL_TOKEN_ALNUM_20))),
    /* org.redisson:redisson 4.7.0 and 3.45.1 (Maven Central), sources: RedissonLock, LockTask,
     * RedissonFencedLock, RedissonObject.prefixName. */
    PROFILE("redisson", "Redisson 3 and 4 (Java), RLock", "redisson", "%s",
            .note  = "The key is a hash, and a release is published on "
                     "redisson_lock__channel:{KEY}. RSpinLock is compatible; RFairLock is too, but "
                     "loses its order. Never use the key of an RReadWriteLock, which does not "
                     "exclude an RLock.",
            .rules = RULES(TOKENS(BWL_TOKEN_UUID_THREAD), .lease_ms = 30000)),
    PROFILE("redisson-fenced", "Redisson 3.19 and newer (Java), RFencedLock", "redisson", "%s",
            .note = "As redisson. An acquire increments redisson_lock_token:{KEY}, and that is the "
                    "fence.",
            .rules =
                RULES(TOKENS(BWL_TOKEN_UUID_THREAD), .lease_ms = 30000, .counts_fences = true)),
    /* symfony/lock at 5.2 to 7.2, Store/RedisStore.php. */
    PROFILE("symfony", "Symfony Lock 5.2 to 7.2 (PHP), RedisStore", "symfony", "%s",
            .note  = "The key is a sorted set: the value and __write__ are its members, and "
                     "their scores are the end in milliseconds. Readers (acquireRead) exclude "
                     "bowline. A prefix of the PHP client, such as Redis::OPT_PREFIX, goes "
                     "into key=.",
            .rules = RULES(TOKENS(BWL_TOKEN_BASE64_32), .lease_ms = 300000)),
    /* redis/redis-doc at 029c381, commands/setnx.md, "Design pattern: Locking with SETNX". */
    PROFILE("redis-io-setnx", "programs written after the page of SETNX on redis.io",
            "setnx-getset", "lock.%s", .fault = FAULT_BLIND,
            .rules = RULES(.value = BWL_VALUE_DECIMAL, .unit_ns = SECOND_NS, .extra_ns = SECOND_NS,
                           EXPIRED_NOT_AFTER_NOW)),
    /* abelaska/jedis-lock at 5989cdd (1.0.0), JedisLock.java. */
    PROFILE("jedis-lock-1", "jedis-lock 1.0 (Java), and the many copies of its class",
            "setnx-getset", "%s", .fault = FAULT_BLIND,
            .rules = RULES(.value = BWL_VALUE_DECIMAL, .unit_ns = MILLISECOND_NS,
                           .extra_ns = MILLISECOND_NS, EXPIRED_BEFORE_NOW, .lease_ms = 60000,
                           .wait_ms = 10000)),
    /* redis 2.6.2 and 2.7.6 (PyPI), client.py, Lock: whole seconds; connection.py, encode. */
    PROFILE("redis-py-2.7", "redis-py 2.4 to 2.7 (Python), redis.client.Lock", "setnx-getset", "%s",
            .fault = FAULT_BLIND, .note = "Without timeout= its own locks expire in 2038.",
            .rules = RULES(.value = BWL_VALUE_FLOAT_PYTHON, .unit_ns = SECOND_NS,
                           .whole_ns = SECOND_NS, EXPIRED_BEFORE_NOW)),
    /* redis 2.8.0 and 2.9.1 (PyPI), client.py, Lock: fractions of a second. */
    PROFILE("redis-py-2.9", "redis-py 2.8 and 2.9 (Python), redis.client.Lock", "setnx-getset",
            "%s", .fault = FAULT_BLIND, .note = "Without timeout= its own locks expire in 2038.",
            .rules = RULES(.value = BWL_VALUE_FLOAT_PYTHON, .unit_ns = MICROSECOND_NS,
                           .whole_ns = SECOND_NS, EXPIRED_BEFORE_NOW)),
    /* kenn/redis-mutex at 142d14e, lib/redis_mutex.rb; before 4, 10b66a2, lib/redis/mutex.rb. */
    PROFILE("redis-mutex", "redis-mutex 4 (Ruby), RedisMutex", "setnx-getset", "RedisMutex:%s",
            .fault = FAULT_MOVED,
            .rules = RULES(.value = BWL_VALUE_FLOAT_RUBY, .unit_ns = MICROSECOND_NS,
                           .whole_ns = SECOND_NS, EXPIRED_NOT_AFTER_NOW, .lease_ms = 10000,
                           .wait_ms = 1000)),
    PROFILE("redis-mutex-3", "redis-mutex 1 to 3 (Ruby), Redis::Mutex", "setnx-getset",
            "Redis::Mutex:%s", .fault = FAULT_MOVED,
            .rules = RULES(.value = BWL_VALUE_FLOAT_RUBY, .unit_ns = MICROSECOND_NS,
                           .whole_ns = SECOND_NS, EXPIRED_NOT_AFTER_NOW, .lease_ms = 10000,
                           .wait_ms = 1000)),
    /* PatrickTulskie/redis-lock at f13d834, lib/redis/lock.rb: SECONDS-PID-THREAD. */
    PROFILE("crowdtap-redis-lock", "redis-lock of PatrickTulskie (Ruby), Redis#lock",
            "setnx-getset", "lock:%s", .fault = FAULT_MOVED,
            .note  = "The two numbers are random and new for every attempt.",
            .rules = RULES(.value = BWL_VALUE_TIMESTAMP_TOKEN, .token = BWL_TOKEN_PID_TID,
                           BY_THE_SERVER, .unit_ns = SECOND_NS, .extra_ns = SECOND_NS,
                           .lease_ms = 60000, .expired = BWL_TIMESTAMP_BEFORE_NOW)),
    /* lantins/resque-lock-timeout at 3a13db9, lib/resque/plugins/lock_timeout.rb. */
    PROFILE("resque-lock-timeout", "resque-lock-timeout 0.4 (Ruby) with @lock_timeout",
            "setnx-getset", "resque:lock:%s", .fault = FAULT_BLIND,
            .note  = "The name of the lock is CLASS:IDENTIFIER.",
            .rules = RULES(.value = BWL_VALUE_DECIMAL, .unit_ns = SECOND_NS, EXPIRED_BEFORE_NOW)),
    /* ServiceStack/ServiceStack.Redis at 0dbc420, RedisLock.cs. */
    PROFILE("servicestack", "ServiceStack.Redis 3 and 4 (.NET), AcquireLock", "setnx-getset", "%s",
            .fault = "its other users compare their own clocks, and delete any lock when they "
                     "release",
            .note  = "Its timeOut is both the wait and the lease.",
            .rules = RULES(.value = BWL_VALUE_DECIMAL, .unit_ns = MILLISECOND_NS,
                           .extra_ns = MILLISECOND_NS, EXPIRED_NOT_AFTER_NOW)),
    /* The article "Redis实现分布式锁", getPidLock and releasePidLock, as its
     * text means them. */
    PROFILE("php-pidlock", "the PHP lock of the article \"Redis实现分布式锁\", getPidLock",
            "setnx-getset", "lock_%s", .rules = &bwl_compat_rules_buffers),
    /* The article "利用redis实现分布式锁", JedisLock; the release as in jedis-lock 1.0. */
    PROFILE("java-jedislock", "the Java lock of the article \"利用redis实现分布式锁\", JedisLock",
            "setnx-getset", "%s", .rules = &bwl_compat_rules_jedis),
    /* The same article, its summary: GETSET wins if what it returns has expired. */
    PROFILE("lock-foo", "programs after the summary of \"利用redis实现分布式锁\", key lock.foo",
            "setnx-getset", "lock.%s", .rules = &bwl_compat_rules_lock_foo),
};

enum { ROWS = sizeof rows / sizeof rows[0] };

const bwl_profile *bwl_profile_at(size_t i)
{
    return i < ROWS ? &rows[i] : NULL;
}

const bwl_profile *bwl_profile_named(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

const char *bwl_profile_name_at(size_t i)
{
    const bwl_profile *profile = bwl_profile_at(i);

    return profile != NULL ? profile->name : NULL;
}

/* The size of the template before the profile's own key; the whole size if it does not end with
 * that key. */
static size_t prefix_size(const bwl_profile *profile, const char *template)
{
    size_t size  = strlen(template);
    size_t whole = strlen(profile->key);

    if (size < whole || strcmp(template + size - whole, profile->key) != 0)
        return size;
    return size - whole;
}

const char *bwl_profile_template_fault(const bwl_profile *profile, const char *template)
{
    bool is_tied = profile->takes_prefix || profile->signal != BWL_SIGNAL_NONE;

    if (template == NULL)
        return profile->takes_prefix ? "its keys begin with your registry key" : profile->wants_key;
    if (!is_tied)
        return NULL;
    size_t prefix = prefix_size(profile, template);
    if (prefix == strlen(template))
        return "the name of its wake-up message comes from the end of the key";
    if (profile->takes_prefix && prefix == 0)
        return "its keys begin with your registry key";
    if (memchr(template, '%', prefix) != NULL) /* a % may occur unescaped in a name */
        return "what comes before must not contain a percent sign";
    return NULL;
}

enum { DATE_SIZE = sizeof "ADDED:2026-11-22T00:31:00.123Z@" - 1 };

static bool is_date(const char *value)
{
    static const char form[] = "ADDED:0000-00-00T00:00:00.000Z@";

    for (size_t i = 0; i < DATE_SIZE; i++)
        if (form[i] == '0' ? value[i] < '0' || value[i] > '9' : value[i] != form[i])
            return false;
    return true;
}

/* Whether it is HOST_PID_. */
static bool is_host_and_pid(const char *text, size_t size)
{
    size_t digits = 0;

    if (size == 0 || text[--size] != '_')
        return false;
    while (size > 0 && text[size - 1] >= '0' && text[size - 1] <= '9') {
        size--;
        digits++;
    }
    return digits > 0 && size > 1 && text[size - 1] == '_';
}

static bool is_theirs(const bwl_profile *profile, const char *value, size_t size)
{
    bwl_token_format format = profile->rules->token;
    size_t           token  = strlen(bwl_token_format_info_of(format)->pattern);
    size_t           before = size > token ? size - token : 0;

    switch (profile->theirs) {
    case BWL_THEIRS_AS_OURS: return false;
    case BWL_THEIRS_24_BYTES: return size == 24;
    case BWL_THEIRS_32_BYTES: return size == 32;
    case BWL_THEIRS_DATE_HOST: return size > DATE_SIZE && is_date(value);
    case BWL_THEIRS_HOST_PID:
        return is_host_and_pid(value, before) && bwl_token_is_of(format, value + before, token);
    case BWL_THEIRS_METADATA: return before > 0 && bwl_token_is_of(format, value, token);
    }
    bwl_unreachable("no such form");
}

bool bwl_profile_reads(const bwl_profile *profile, const bwl_compat_rules *rules, const char *value,
                       size_t size, int64_t *ret_timestamp)
{
    if (bwl_value_read_plausible(ret_timestamp, rules, value, size))
        return true;
    *ret_timestamp = 0;
    return is_theirs(profile, value, size);
}

/* Replaces %s by the name of the lock, %p by the part before the profile's key. */
static size_t write_form(char ret_name[BWL_SIGNAL_MAX], const char *form, bwl_bytes prefix,
                         bwl_bytes name)
{
    size_t size = 0;

    for (const char *f = form; *f != '\0'; f++) {
        bwl_bytes piece = { f, 1 };
        if (*f == '%')
            piece = *++f == 's' ? name : prefix;
        assert(size + piece.size <= BWL_SIGNAL_MAX);
        memcpy(ret_name + size, piece.at, piece.size);
        size += piece.size;
    }
    return size;
}

bwl_signal bwl_profile_signal(bwl_signal_names *ret_names, const bwl_profile *profile,
                              const char *template, bwl_bytes                 name)
{
    const char *const forms[2] = { profile->signal_name, profile->second_name };
    bwl_signal        signal   = { .kind = profile->signal };

    assert(forms[0] == NULL || bwl_profile_template_fault(profile, template) == NULL);
    for (unsigned i = 0; i < 2 && forms[i] != NULL; i++) {
        bwl_bytes prefix = { template, prefix_size(profile, template) };
        signal.names[i]  = (bwl_bytes){ ret_names->bytes[i],
                                        write_form(ret_names->bytes[i], forms[i], prefix, name) };
    }
    return signal;
}
