/*
 * redis.c -- locks between machines, on one Redis server: the engine's table.  See session.h
 * for how its parts hang together, src/protocol for what is promised.
 */
#include "base/clock.h"
#include "runtime/engines.h"
#include "base/fault.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/quorum.h"
#include "engine/redis/topology/slots.h"
#include "engine/redis/session/session.h"
#include "runtime/background_release.h"
#include "core/stamps.h"
#include "engine/redis/wire/stamp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NS_IN_MS = 1000000 };

/* Only a template can make a key that is not a lock's. */
static int check_key(const bwl_redis_store *store, const char *key, size_t size, bwl_fault *fault)
{
    if (store->key_template == NULL)
        return BWL_OK;
    const char *wrong = bwl_key_fault(key, size);
    if (wrong == NULL && bwl_redis_listens(store))
        wrong = bwl_key_queue_fault(store->key_template, key, size);
    return wrong == NULL ? BWL_OK : bwl_fail(fault, BWL_STATUS_USAGE, "%s", wrong);
}

static int redis_prepare(bwl_lock *lock, bwl_fault *fault)
{
    const bwl_redis_store *store = lock->client->store;
    bwl_redis_part        *part  = lock->part;
    char                   key[BWL_KEY_MAX];
    size_t size   = bwl_key_write(key, store->key_template, lock->name, lock->name_size);
    int    status = check_key(store, key, size, fault);

    if (status < 0)
        return status;
    *part = (bwl_redis_part){ .looker = NULL };
    if (store->cluster != NULL)
        part->cluster_slot = bwl_cluster_slot(key, size);
    return BWL_OK;
}

static void redis_forget(bwl_lock *lock)
{
    bwl_redis_forget_waiter(lock->client->store, lock);
    free(((bwl_redis_part *)lock->part)->looker);
}

bwl_redis_open_question bwl_redis_question_of(bwl_lock *lock, const bwl_ask *ask)
{
    bwl_redis_open_question question = {
        .lock       = lock,
        .tag        = ask->tag,
        .word       = (bwl_redis_word)ask->word,
        .stamp      = ask->stamp,
        .lease_ms   = ask->word == REDIS_REPLICATED ? ask->claim_ms : lock->hold.claim.lease_ms,
        .generation = ((bwl_redis_part *)lock->part)->generation,
    };

    if (ask->is_former)
        memcpy(question.token, lock->hold.claim.former, sizeof lock->hold.claim.former);
    else
        memcpy(question.token, lock->hold.claim.token, sizeof question.token);
    return question;
}

/* False: this machine's clock is wrong by decades.  Others would take over at once what we wrote,
 * or never. */
static bool can_be_written(const bwl_lock *lock, const bwl_ask *ask)
{
    char             value[BWL_VALUE_MAX];
    const bwl_rules *rules = lock->hold.claim.rules;

    return rules == NULL || rules->unit_ns == 0 || ask->stamp == 0 ||
           (bwl_stamp_is_plausible(rules, ask->stamp) &&
            bwl_value_write(value, rules, lock->hold.claim.token, ask->stamp) != 0);
}

/* Nobody waits for it (or, of several servers, for the slower ones), and what is asked next must
 * find it carried out: so it goes with the text when the server may not know the script.  (Of a
 * protocol with a queue it knows them all.) */
static bool is_release_by_text(bwl_redis_store *store, const bwl_lock *lock, unsigned word)
{
    bool must_be_first = lock->unawaited || (store->is_of_many && word == REDIS_DELETE_IF_MINE);

    if (!must_be_first || bwl_redis_listens(store) || store->knows_release == store->opened)
        return false;
    if (store->phase == BWL_REDIS_READY)
        store->knows_release = store->opened;
    return true;
}

/* The release that was just asked for is the server's business now, and nobody waits for it. */
static void may_be_read_late(bwl_redis_store *store, const bwl_lock *lock)
{
    size_t count = store->questions_count;

    if (!lock->unawaited || store->phase != BWL_REDIS_READY || count == 0 ||
        store->conn.stream.handed_over != store->conn.stream.written)
        return;
    size_t                   last = (store->questions_first + count - 1) % store->questions_room;
    bwl_redis_open_question *q    = &store->questions[last];
    if (q->lock != lock || !q->written || q->prepares || q->read_late)
        return; /* it is kept behind a section */
    q->read_late = true;
    bwl_unawaited_sent(store->client);
}

static bool redis_ask(bwl_lock *lock, const bwl_ask *ask, bwl_event *ret_reply)
{
    bwl_redis_store *store = bwl_redis_store_for(lock, ask->node);

    ret_reply->answer = BWL_UNSENT;
    bool stands       = ask->word == REDIS_QUEUE_JOIN || ask->word == REDIS_QUEUE_REQUEUE;

    if (store == NULL || (stands && !bwl_redis_name_waiter(store, lock, ask))) {
        bwl_lock_says(lock, "out of memory");
        return true;
    }
    if (store->slots != NULL && bwl_redis_is_to_introduce(store))
        bwl_redis_slots_again(store);
    else if (bwl_redis_listens(store) && bwl_redis_is_to_introduce(store))
        (void)bwl_redis_append(
            store, /* without memory for it, nobody knows us */
            &(bwl_redis_open_question){ .lock = lock, .verifies = true, .introduces = true });
    bwl_redis_open_question question = bwl_redis_question_of(lock, ask);
    if (!can_be_written(lock, ask)) {
        bwl_lock_says(lock, "the time of day on this machine is before 2001 or after 2099");
        return true;
    }
    question.by_text = is_release_by_text(store, lock, ask->word);
    if (bwl_redis_put(store, &question)) {
        may_be_read_late(store, lock);
        return false;
    }
    bwl_lock_says(lock, "out of memory");
    return true;
}

/* Does it look like a token of ours?  Others may have chosen the same form. */
static bool looks_like_ours(const char *value)
{
    size_t size = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");

    return size == 22 && value[size] == '\0';
}

/* Could this protocol, or the program whose profile is used, have written it? */
static bool looks_right(const bwl_lock *lock, const bwl_redis_look *look, int64_t *ret_stamp)
{
    const bwl_rules   *rules   = lock->hold.claim.rules;
    const bwl_profile *profile = ((const bwl_redis_store *)lock->client->store)->profile;

    if (lock->hold.protocol->listens)
        return bwl_queue_is_value(look->value);
    if (profile != NULL)
        return bwl_profile_reads(profile, rules, look->value, look->value_size, ret_stamp);
    if (rules == NULL)
        return looks_like_ours(look->value) && look->value_size == strlen(look->value);
    return bwl_value_read_plausible(ret_stamp, rules, look->value, look->value_size);
}

/* A stamp says when the lock ends, whatever becomes of the key. */
static void fill_in_stamp(bwl_holder *ret_holder, const bwl_rules *rules, int64_t stamp)
{
    bool    is_fine = rules->unit_ns < NS_IN_MS;
    int64_t ends_ms =
        is_fine ? stamp / (NS_IN_MS / rules->unit_ns) : stamp * (rules->unit_ns / NS_IN_MS);
    int64_t now_ms  = bwl_clock_wall_ns() / NS_IN_MS;
    bool    is_over = ends_ms <= now_ms;
    bwl_ms  left_ms = ret_holder->left_ms;

    if (left_ms == BWL_NEVER)
        ret_holder->left_ms = is_over ? 0 : ends_ms - now_ms;
    if (is_over && left_ms == BWL_NEVER)
        (void)snprintf(ret_holder->note, sizeof ret_holder->note,
                       "its time is over: who asks next may take it");
    else if (is_over)
        (void)snprintf(ret_holder->note, sizeof ret_holder->note,
                       "its time is over, but the key expires in %llds",
                       (long long)((left_ms + 999) / 1000));
}

/* A value in the form of the protocol whose stamp is not plausible: a small number, or a time in
 * another unit.  True: the note says so. */
static bool note_implausible(bwl_holder *ret_holder, const bwl_redis_look *look,
                             const bwl_rules *rules)
{
    int64_t stamp;

    if (rules == NULL || rules->unit_ns == 0 ||
        !bwl_value_read(&stamp, rules, look->value, look->value_size) ||
        bwl_stamp_is_plausible(rules, stamp))
        return false;
    bool    is_text = rules->value != BWL_VALUE_LITTLE_ENDIAN;
    int64_t one_ns  = rules->whole_ns != 0 ? rules->whole_ns : rules->unit_ns;
    (void)snprintf(ret_holder->note, sizeof ret_holder->note, "%.24s is not a plausible time in %s",
                   is_text ? look->value : "the value",
                   one_ns >= INT64_C(1000) * NS_IN_MS ? "s"
                   : one_ns >= NS_IN_MS               ? "ms"
                   : one_ns >= 1000                   ? "us"
                                                      : "ns");
    return true;
}

/* Somebody who speaks another protocol, or another version of ours, is no riddle. */
static void note_form(bwl_holder *ret_holder, const bwl_redis_look *look, const bwl_rules *rules)
{
    unsigned version = bwl_queue_version(look->value);

    if (version == BWL_QUEUE_VERSION)
        (void)snprintf(ret_holder->note, sizeof ret_holder->note, "taken by protocol queue");
    else if (version != 0)
        (void)snprintf(ret_holder->note, sizeof ret_holder->note,
                       "taken by another version of bowline (b%u)", version);
    else
        (void)snprintf(ret_holder->note, sizeof ret_holder->note,
                       "the value is not in the form of %s",
                       rules == NULL ? "bowline" : "the protocol");
}

/* Neither our own locks nor those that the URL names are of this kind. */
static void note_kind(bwl_holder *ret_holder, const bwl_redis_look *look,
                      const bwl_protocol *protocol)
{
    char *note = ret_holder->note;
    enum { SIZE = sizeof ret_holder->note };

    if (strcmp(look->kind, "hash") == 0)
        (void)snprintf(note, SIZE, "the key is a hash, as locks of Redisson are: profile=redisson");
    else if (strcmp(look->kind, "zset") == 0)
        (void)snprintf(note, SIZE, "a sorted set, as locks of Symfony are: profile=symfony");
    else if (strcmp(look->kind, "string") == 0 && protocol == &bwl_symfony)
        (void)snprintf(note, SIZE, "the key is a string, as locks of Symfony before 5.2 are");
    else if (strcmp(look->kind, "string") == 0)
        (void)snprintf(note, SIZE, "the key is a string, and a lock of Redisson is a hash");
    else
        (void)snprintf(note, SIZE, "the key is a %s, which no lock is", look->kind);
}

static void fill_in(bwl_holder *ret_holder, const bwl_redis_look *look, const bwl_lock *lock)
{
    const bwl_hold  *hold      = &lock->hold;
    const bwl_rules *rules     = hold->claim.rules;
    bool             is_string = strcmp(look->kind, "string") == 0;
    bool             is_kind   = strcmp(look->kind, bwl_protocol_words(hold->protocol)->kind) == 0;
    int64_t          stamp     = 0;

    *ret_holder = (bwl_holder){ .held = look->left_ms != -2 };
    if (!ret_holder->held)
        return;
    ret_holder->left_ms = look->left_ms == -1 ? BWL_NEVER : look->left_ms;
    ret_holder->foreign = !is_kind || !looks_right(lock, look, &stamp);
    if (!ret_holder->foreign)
        ret_holder->id = bwl_redis_id_of_seen(hold, look);
    if (hold->protocol->listens && !ret_holder->foreign)
        bwl_redis_fill_in_who(ret_holder, look);
    if (is_string && stamp != 0 && !rules->stamp_is_start)
        fill_in_stamp(ret_holder, rules, stamp);
    else if (is_string && note_implausible(ret_holder, look, rules))
        return;
    else if (!is_kind)
        note_kind(ret_holder, look, hold->protocol);
    else if (hold->protocol == &bwl_symfony && look->value_size == 0)
        (void)snprintf(ret_holder->note, sizeof ret_holder->note,
                       "readers have it: its members are there without __write__");
    else if (look->left_ms == -1)
        (void)snprintf(ret_holder->note, sizeof ret_holder->note,
                       "the key has no expiry: nothing ends it by itself");
    else if (ret_holder->foreign)
        note_form(ret_holder, look, rules);
}

/* The lookers are the lock's: whoever waits for them may leave before the answers come. */
static bool redis_look(bwl_lock *lock)
{
    bwl_redis_part *part = lock->part;
    unsigned        open = 0;

    assert(part->looker == NULL);
    part->looker = calloc(lock->client->nodes, sizeof *part->looker);
    for (unsigned i = 0; part->looker != NULL && i < lock->client->nodes; i++) {
        bwl_redis_store        *store    = bwl_redis_store_for(lock, i);
        bwl_redis_open_question question = { .lock = lock, .looker = &part->looker[i] };
        if (store != NULL && bwl_redis_put(store, &question))
            open++;
        else
            part->looker[i].answer = BWL_UNSENT;
    }
    if (open > 0) /* if only the last could not be asked, no reply to come would complete it */
        return lock->operation != NULL && bwl_redis_has_seen(lock);
    free(part->looker);
    part->looker = NULL;
    return true;
}

static int redis_who(bwl_lock *lock, bwl_holder *ret_holder, bwl_fault *fault)
{
    if (((bwl_redis_part *)lock->part)->looker == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    bwl_redis_looker looker = bwl_redis_seen(lock);
    switch (looker.answer) {
    case BWL_YES:
        fill_in(ret_holder, &looker.look, lock);
        if (lock->client->engine->break_seen == NULL)
            ret_holder->id = 0;
        return BWL_OK;
    case BWL_LATER:
    case BWL_NO:
    case BWL_REFUSED:
        return bwl_fail_because(fault, BWL_STATUS_REFUSED, &lock->why, "%s", lock->why.text);
    case BWL_UNSENT:
        return bwl_fail_because(fault, BWL_STATUS_UNREACHABLE, &lock->why, "%s", lock->why.text);
    case BWL_ALIEN: break;
    }
    bwl_unreachable("an answer outside of its enum");
}

#define REDIS_ENGINE(scheme_, protocol_, choose_, step_)                                           \
    {                                                                                              \
        .scheme = (scheme_), .kind = BWL_ENGINE_REDIS, .protocol = (protocol_), .has_lease = true, \
        .choose = (choose_), .open = bwl_redis_open, .share = bwl_redis_share,                     \
        .close = bwl_redis_close, .prepare = redis_prepare, .ask = redis_ask,                      \
        .forget = redis_forget, .withdraw = bwl_redis_withdraw, .woken = bwl_redis_woken,          \
        .flush = bwl_redis_flush, .await = bwl_redis_await, .look = redis_look, .who = redis_who,  \
        .step = step_, .lock_size = sizeof(bwl_redis_part), .break_seen = bwl_redis_break_seen,    \
        .broken = bwl_redis_broken,                                                                \
    }
#define SERVER_ENGINE(scheme_)  REDIS_ENGINE(scheme_, &bwl_queue, bwl_redis_choose, bwl_redis_step)
#define CLUSTER_ENGINE(scheme_) REDIS_ENGINE(scheme_, &bwl_queue, bwl_redis_choose_cluster, NULL)

const bwl_engine bwl_redis_engine = SERVER_ENGINE("redis");
const bwl_engine bwl_tls_engine   = SERVER_ENGINE("rediss");
const bwl_engine bwl_unix_engine  = SERVER_ENGINE("unix");

const bwl_engine bwl_sentinel_engine     = SERVER_ENGINE("redis+sentinel");
const bwl_engine bwl_sentinel_tls_engine = SERVER_ENGINE("rediss+sentinel");

const bwl_engine bwl_cluster_engine     = CLUSTER_ENGINE("redis+cluster");
const bwl_engine bwl_cluster_tls_engine = CLUSTER_ENGINE("rediss+cluster");

#define REDLOCK_ENGINE(scheme_)                                                                   \
    {                                                                                             \
        .scheme = (scheme_), .kind = BWL_ENGINE_REDLOCK, .protocol = &bwl_redlock,                \
        .has_lease = true, .choose = bwl_redis_many_choose, .open = bwl_redis_many_open,          \
        .share = bwl_redis_share, .close = bwl_redis_close, .prepare = redis_prepare,             \
        .ask = redis_ask, .forget = redis_forget, .withdraw = bwl_redis_withdraw,                 \
        .woken = bwl_redis_woken, .flush = bwl_redis_flush, .look = redis_look, .who = redis_who, \
        .lock_size = sizeof(bwl_redis_part),                                                      \
    }

const bwl_engine bwl_redlock_engine     = REDLOCK_ENGINE("redlock");
const bwl_engine bwl_redlock_tls_engine = REDLOCK_ENGINE("redlocks");
