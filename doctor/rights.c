/*
 * rights.c -- the table of permissions, and the key patterns of a URL.  See rights.h.
 *
 * A key pattern is the template of the URL with `*` for the name; special characters are escaped.
 */
#include "doctor/rights.h"
#include "doctor/target.h"
#include "base/fault.h"
#include "protocol/lock_file/program.h"
#include "protocol/protocol.h"
#include "engine/redis/wire/queue.h"
#include "engine/redis/wire/sentinel.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SCRIPTS "+eval +evalsha"
#define QUEUE                                                                                 \
    " +get +set +del +exists +type +incr +time +persist +pexpire +pttl +zadd +zrem +zpopmin " \
    "+zscore +zrank +zcard +hget +hset +hdel"
#define NOTICED "bowline detects a restart of the server, and can kill a late command"
#define INFO    "+info +client|kill"

/* The lock of each protocol. */
#define LOCK_QUEUE                                                                            \
    {                                                                                         \
        .name = "queue", .words = "a lock by protocol queue, the default",                    \
        .commands          = SCRIPTS " +ssubscribe +spublish" QUEUE,                          \
        .commands_before_7 = SCRIPTS " +subscribe +publish" QUEUE, .useful = INFO " +script", \
        .useful_words = NOTICED "; scripts are sent by hash", .keys = RIGHTS_KEYS_QUEUE,      \
        .uses_push = true, .renews_together = true, .locks = true                             \
    }
#define KEY_LOCK .useful = INFO, .useful_words = NOTICED, .keys = RIGHTS_KEYS_LOCK, .locks = true
#define LOCK_TOKEN                                                                              \
    {                                                                                           \
        .name = "token", .words = "a lock by protocol token",                                   \
        .commands = SCRIPTS " +get +set +del +pttl +pexpire", .renews_together = true, KEY_LOCK \
    }
/* Key tracking is useful for it. */
#define TRACKED(name_, words_, commands_)                                                    \
    {                                                                                        \
        .name = (name_), .words = words_ ", protocol " name_, .commands = SCRIPTS commands_, \
        .useful       = INFO " +client|tracking",                                            \
        .useful_words = NOTICED "; a waiter is woken as soon as the key changes",            \
        .keys = RIGHTS_KEYS_LOCK, .locks = true                                              \
    }
#define LOCK_REDISSON                                       \
    TRACKED("redisson", "RLock or RFencedLock of Redisson", \
            " +exists +hexists +hset +del +pttl +pexpire +publish")
#define LOCK_SYMFONY                                          \
    TRACKED("symfony", "a lock of Symfony in its RedisStore", \
            " +time +exists +pexpireat +zadd +zrem +zcard +zscore +zrevrange +zremrangebyscore")
#define ARTICLE(name_, commands_)                                            \
    {                                                                        \
        .name = (name_), .words = "the lock of an article, protocol " name_, \
        .commands = (commands_), KEY_LOCK                                    \
    }
#define LOCK_SETNX_DEL        ARTICLE("setnx-del", "+setnx +del")
#define LOCK_SETNX_DEL_EXPIRE ARTICLE("setnx-del-expire", "+setnx +del +expire")
#define LOCK_SETNX_STAMP_DEL  ARTICLE("setnx-stamp-del", "+setnx +get +pttl +del")
#define LOCK_SETNX_GETSET     ARTICLE("setnx-getset", "+setnx +get +pttl +getset +del")
#define LOCK_SET_NX_EX        ARTICLE("set-nx-ex", "+set +del")
#define LOCK_SETNX_EXPIRE_WATCH \
    ARTICLE("setnx-expire-watch", "+setnx +get +del +expire +ttl +watch +unwatch +multi +exec")
#define LOCK(NAME, name) LOCK_##NAME,

/* The locks come first, in the order of their protocol numbers. */
static const rights_feature table[] = {
    BWL_PROTOCOL_MAP(LOCK){
        .name     = "stamp",
        .words    = "a timestamp lock by the clock of the server: profiles such as redis-mutex",
        .commands = SCRIPTS " +get +pttl +set +del +time",
        KEY_LOCK },
    { .name     = "sharing",
      .words    = "shared holds and permits, in addition to the lock",
      .commands = SCRIPTS " +zrange +zremrangebyscore +pexpireat",
      .keys     = RIGHTS_KEYS_QUEUE },
    { .name     = "status",
      .words    = "query the holder of a lock and list the held names, in addition to the lock",
      .commands = SCRIPTS " +type +getrange +pttl +scan +dbsize", /* and more: see fill_in */
      .keys     = RIGHTS_KEYS_LOCK },
    { .name     = "doctor",
      .words    = "bowline doctor, in addition to the lock",
      .commands = "+ping +time +info +multi +discard +config|get +script|exists",
      .keys     = RIGHTS_KEYS_LOCK },
    { .name     = "update",
      .words    = "bowline_update of the keys in --key",
      .commands = "+watch +get +multi +set +del +exec +discard",
      .keys     = RIGHTS_KEYS_GIVEN },
};
enum { FEATURES = sizeof table / sizeof table[0] };

const rights_feature *rights_feature_at(unsigned i)
{
    return i < FEATURES ? &table[i] : NULL;
}

static const rights_feature *feature_named(const char *name, size_t size)
{
    for (unsigned i = 0; i < FEATURES; i++)
        if (strlen(table[i].name) == size && memcmp(table[i].name, name, size) == 0)
            return &table[i];
    return NULL;
}

/* ---- the list -------------------------------------------------------------------------------- */

static unsigned rank_of(const char *item)
{
    return item[0] == '~' ? 1 : item[0] == '&' ? 2 : 3;
}

static void add(rights *r, const char *item, size_t size)
{
    char     text[RIGHTS_ITEM_MAX];
    unsigned at = r->count;

    assert(size < sizeof text);
    memcpy(text, item, size);
    text[size] = '\0';
    for (unsigned i = 0; i < r->count; i++)
        if (strcmp(r->items[i], text) == 0)
            return;
    assert(r->count < RIGHTS_MAX);
    while (at > 0 && rank_of(r->items[at - 1]) > rank_of(text)) {
        memcpy(r->items[at], r->items[at - 1], RIGHTS_ITEM_MAX);
        at--;
    }
    memcpy(r->items[at], text, size + 1);
    r->count++;
}

static void add_words(rights *r, const char *words)
{
    while (*words != '\0') {
        size_t size = strcspn(words, " ");
        add(r, words, size);
        words += size;
        words += strspn(words, " ");
    }
}

/* A template as a pattern, between `before` and `after`. */
static void add_pattern(rights *r, const char *before, const char *template, const char *after)
{
    char   text[RIGHTS_ITEM_MAX];
    size_t size = (size_t)snprintf(text, sizeof text, "%s", before);

    for (const char *at = template; *at != '\0'; at++) {
        if (at[0] == '%' && at[1] == 's') {
            text[size++] = '*';
            at++;
            continue;
        }
        if (at[0] == '%' && at[1] == '%')
            at++;
        if (strchr("*?[]\\^", *at) != NULL)
            text[size++] = '\\';
        text[size++] = *at;
    }
    size += (size_t)snprintf(text + size, sizeof text - size, "%s", after);
    add(r, text, size);
}

/* ---- the keys -------------------------------------------------------------------------------- */

static void add_cluster(rights *r, const rights_feature *f)
{
    if (f->locks) {
        add_words(r, "+asking");
        r->more       = "+cluster|slots";
        r->more_words = "bowline learns the node of a slot at once, without a redirect";
    }
    if (strcmp(f->name, "doctor") == 0)
        add_words(r, "+cluster|slots +cluster|info");
}

static void add_keys(rights *r, const bwl_redis_config *config, rights_keys keys)
{
    const char *template = config->key_template;

    if (template == NULL) {
        add_words(r, "~bowline:*"); /* and the keys that belong to them */
        return;
    }
    add_pattern(r, "~", template, "");
    if (keys != RIGHTS_KEYS_QUEUE)
        return;
    /* wire.md, Keys: the further keys have a hash tag if the key has none.  A name may contain
     * one. */
    size_t size     = strlen(template);
    bool   ends_all = size >= 2 && strcmp(template + size - 2, "%s") == 0;
    if (!ends_all)
        add_pattern(r, "~", template, ":bwl.?");
    add_pattern(r, "~{", template, "}:bwl.?");
    add_words(r, config->topology == BWL_TOPOLOGY_CLUSTER ? "~" BWL_QUEUE_FENCES_KEY ":*"
                                                          : "~" BWL_QUEUE_FENCES_KEY);
    add_words(r, "~" BWL_QUEUE_WHO "*");
}

/* The list or channel that a release of the profile signals. */
static void add_signal(rights *r, const bwl_redis_config *config)
{
    const bwl_profile *profile = config->profile;
    bwl_signal_names   names;
    char template[BWL_SIGNAL_MAX + 2];

    if (profile == NULL)
        return;
    bwl_signal signal =
        bwl_profile_signal(&names, profile, config->key_template, (bwl_bytes){ "%s", 2 });
    for (unsigned i = 0; i < 2 && signal.names[i].size != 0; i++) {
        (void)snprintf(template, sizeof template, "%.*s", (int)signal.names[i].size,
                       signal.names[i].at);
        add_pattern(r, signal.kind == BWL_SIGNAL_CHANNEL ? "&" : "~", template, "");
    }
    switch (signal.kind) {
    case BWL_SIGNAL_NONE: break;
    case BWL_SIGNAL_LIST: add_words(r, "+del +lpush +pexpire"); break;
    case BWL_SIGNAL_EVENT: add_words(r, "+lpush +ltrim"); break;
    case BWL_SIGNAL_CHANNEL: add_words(r, "+publish"); break;
    }
}

/* The channel of a release, and the counter of fences. */
static void add_redisson(rights *r, const doctor_target *target, bool before_7)
{
    const bwl_compat_rules *rules = target->client->host.settings.options.rules;

    add_words(r, "&" BWL_HASH_LOCK_CHANNEL "*");
    if (target->is_cluster && !before_7)
        add_words(r, "+spublish");
    if (rules != NULL && rules->counts_fences)
        add_words(r, "~" BWL_HASH_LOCK_COUNTER "* +incr +get");
}

/* ---- the requested features ------------------------------------------------------------------ */

/* A script may have anything as a name: no command is longer, and no lock calls so many. */
static void add_command(rights *r, const char *name, size_t size)
{
    enum { NAME_MAX_HERE = 20, NAMES_MAX = RIGHTS_MAX / 2 };
    char item[NAME_MAX_HERE + 1] = "+";

    if (size == 0 || size >= NAME_MAX_HERE || r->count >= NAMES_MAX)
        return;
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)name[i]) && strchr("._-", name[i]) == NULL)
            return;
    for (size_t i = 0; i < size; i++)
        item[i + 1] = (char)tolower((unsigned char)name[i]);
    add(r, item, size + 1);
}

/* redis.call('NAME', and redis.pcall("NAME". */
static void add_commands_of_script(rights *r, const char *script)
{
    for (const char *at = script; (at = strstr(at, "call(")) != NULL;) {
        at += strlen("call(");
        at += strspn(at, " ");
        if (*at == '\'' || *at == '"')
            add_command(r, at + 1, strcspn(at + 1, "'\""));
    }
}

static const rights_feature *lock_of_file(rights *r, const bwl_lock_program *program)
{
    r->file = (rights_feature){ .name         = "lock-file",
                                .words        = "the lock of a lock file",
                                .commands     = "", /* they are in the list already */
                                .useful       = INFO,
                                .useful_words = NOTICED,
                                .keys         = RIGHTS_KEYS_LOCK,
                                .locks        = true };
    for (unsigned i = 0; i < program->calls_count; i++) {
        const bwl_call *call = &program->calls[i];
        const char     *name = bwl_call_word_name((bwl_call_word)call->word);
        add_command(r, name, strlen(name));
        if (call->word == BWL_CALL_PUBLISH)
            add_words(r, "&*"); /* a channel may have any name */
        if (call->word == BWL_CALL_EVAL)
            add_commands_of_script(r, program->texts[call->args[0].number].bytes);
    }
    for (unsigned i = 0; i < program->ops_count; i++)
        if (program->ops[i].is_transaction) {
            add_command(r, "multi", strlen("multi"));
            add_command(r, "exec", strlen("exec"));
            break;
        }
    return &r->file;
}

static const rights_feature *lock_of(rights *r, const doctor_target *target)
{
    const bwl_protocol_options *options = &target->client->host.settings.options;
    const bwl_compat_rules     *rules   = options->rules;
    bwl_protocol_id             id      = bwl_protocol_id_of(target->protocol);

    if (options->program != NULL)
        return lock_of_file(r, options->program);
    if (id == BWL_PROTOCOL_SETNX_GETSET && rules != NULL && rules->clock == BWL_CLOCK_OF_SERVER)
        return feature_named("stamp", 5);
    if (target->is_quorum)
        id = BWL_PROTOCOL_TOKEN; /* on each server */
    assert(id != BWL_PROTOCOL_NONE);
    assert(table[id - 1].locks);
    return &table[id - 1];
}

/* The lock comes first.  A holder query connects like a lock. */
static void take_lock(rights *r, const doctor_target *target, const char *names)
{
    bool wants_lock = names == NULL;

    for (size_t size; names != NULL && *names != '\0'; names += size + (names[size] == ',')) {
        size                     = strcspn(names, ",");
        const rights_feature *is = feature_named(names, size);
        if (is != NULL && is->locks) {
            r->features[r->features_count++] = is;
            return;
        }
        wants_lock = wants_lock || (is != NULL && is->keys == RIGHTS_KEYS_LOCK);
    }
    if (wants_lock)
        r->features[r->features_count++] = lock_of(r, target);
}

static int take_features(rights *r, const doctor_target *target, const char *names,
                         bwl_fault *fault)
{
    if (names != NULL && names[0] == '\0')
        return bwl_fail(fault, BWL_STATUS_USAGE, "there is no feature \"\"");
    take_lock(r, target, names);
    while (names != NULL && *names != '\0') {
        size_t                size    = strcspn(names, ",");
        const rights_feature *feature = feature_named(names, size);
        if (feature == NULL)
            return bwl_fail(fault, BWL_STATUS_USAGE, "there is no feature \"%.*s\"",
                            size < 40 ? (int)size : 40, names);
        if (feature->locks && feature != r->features[0])
            return bwl_fail(fault, BWL_STATUS_USAGE,
                            "only one lock per rule, so %.40s is one too many; a user may have "
                            "several rules",
                            feature->name);
        if (feature->keys == RIGHTS_KEYS_GIVEN && target->client->host.engine->step == NULL)
            return bwl_fail(fault, BWL_STATUS_UNSUPPORTED,
                            "%s: cannot update keys, so it needs no permission for that",
                            target->client->host.engine->scheme);
        if (!feature->locks && r->features_count < sizeof r->features / sizeof r->features[0])
            r->features[r->features_count++] = feature;
        names += size + (names[size] == ',');
    }
    return BWL_OK;
}

static int fill_in(rights *r, const doctor_target *target, const rights_wanted *wanted,
                   bwl_fault *fault)
{
    const bwl_redis_config *config = doctor_redis(target)->router.config;
    int                     status = take_features(r, target, wanted->features, fault);

    if (status < 0)
        return status;
    if (config->user != NULL && strlen(config->user) >= sizeof r->user)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "the user name of the URL is too long; use "
                        "--user");
    if (config->user != NULL)
        (void)snprintf(r->user, sizeof r->user, "%s", config->user);
    if (config->topology == BWL_TOPOLOGY_SENTINEL)
        r->at_sentinels = BWL_SENTINEL_RIGHTS;
    for (unsigned i = 0; i < r->features_count; i++) {
        const rights_feature *f = r->features[i];
        if (f->keys == RIGHTS_KEYS_LOCK || f->keys == RIGHTS_KEYS_QUEUE)
            add_keys(r, config, f->keys);
        if (f->keys == RIGHTS_KEYS_GIVEN && (wanted->key == NULL || wanted->key[0] == '\0'))
            return bwl_fail(fault, BWL_STATUS_USAGE,
                            "%s needs the keys to change, as in --key 'seats:*'", f->name);
        if (f->keys == RIGHTS_KEYS_GIVEN) {
            char pattern[RIGHTS_ITEM_MAX];
            if (strlen(wanted->key) >= sizeof pattern - 1)
                return bwl_fail(fault, BWL_STATUS_USAGE, "the pattern of --key is too long");
            (void)snprintf(pattern, sizeof pattern, "~%s", wanted->key);
            add(r, pattern, strlen(pattern));
        }
        if (f->locks)
            add_signal(r, config);
        if (f->locks && target->replicas > 0)
            add_words(r, "+wait");
        if (f->uses_push)
            add_words(r, "&" BWL_QUEUE_CHANNEL "*");
        if (f->uses_push && target->client->host.settings.keep_ms > 0)
            add_words(r, "+client|tracking +client|caching"); /* and +zcard, of every queue */
        if (strcmp(f->name, "redisson") == 0)
            add_redisson(r, target, wanted->before_7);
        if (config->database != 0)
            add_words(r, "+select");
        if (target->is_cluster) {
            add_cluster(r, f);
        } else if (f->renews_together) {
            r->more       = "+mget";
            r->more_words = "several renewals go in one command";
        }
        if (strcmp(f->name, "status") == 0 && r->features[0]->uses_push)
            add_words(r, "+hmget +zcard +time +zrange");
        if (strcmp(f->name, "status") == 0 && strcmp(r->features[0]->name, "redisson") == 0)
            add_words(r, "+hlen +hkeys");
        if (strcmp(f->name, "status") == 0 && strcmp(r->features[0]->name, "symfony") == 0)
            add_words(r, "+zrangebyscore");
        bool is_old = wanted->before_7 && !target->is_cluster; /* a cluster needs 7.0 for a queue */
        add_words(r, is_old && f->commands_before_7 != NULL ? f->commands_before_7 : f->commands);
    }
    return BWL_OK;
}

int rights_find(rights *ret_rights, const rights_wanted *wanted, char ret_why[RIGHTS_TEXT_MAX])
{
    doctor_target target;
    bwl_fault     fault  = { 0 };
    int           status = doctor_target_open(&target, wanted->url, 0, &fault);

    if (status == BWL_OK) {
        *ret_rights = (rights){ .count = 0 };
        if (target.is_redis || target.is_quorum)
            status = fill_in(ret_rights, &target, wanted, &fault);
        else
            status = bwl_fail(&fault, BWL_STATUS_USAGE,
                              "%s has no server with users: give a URL of redis://", target.place);
        bwl_shard_close(target.client);
    }
    if (status < 0)
        (void)snprintf(ret_why, RIGHTS_TEXT_MAX, "%s", fault.text);
    return status;
}
