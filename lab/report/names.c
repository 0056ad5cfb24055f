#include "lab/report/names.h"
#include "lab/base/lang.h"
#include "lab/report/steps.h"
#include "lab/model/words.h"
#include <inttypes.h>
#include <string.h>

enum { MS_PER_SECOND = 1000 };

bwl_text bwl_token_name(uint16_t token)
{
    if (token == BWL_TOKEN_FOREIGN)
        return bwl_say("of a foreign lock");
    return bwl_say("%c%u", bwl_client_name(bwl_token_client(token)), bwl_token_serial(token));
}

bwl_text bwl_invariant_words(unsigned invariant)
{
    const char *label   = bwl_invariant_label(invariant);
    const char *meaning = bwl_tr(label);

    return meaning == label ? bwl_say("%s", label) : bwl_say("%s（%s）", label, meaning);
}

bwl_text bwl_invariant_column(unsigned invariant, int width)
{
    enum { CHINESE_WIDTH = 32 };

    return bwl_padded(bwl_invariant_words(invariant).of,
                      bwl_lang_now() == BWL_LANG_ZH ? -CHINESE_WIDTH : -width);
}

/* The commands of articles as they are sent, without the value; those of bowline by a name. */
static const char *word_name(unsigned command)
{
    switch ((bwl_redis_command)command) {
    case REDIS_SET_IF_ABSENT: return "SET";
    case REDIS_SET_IF_ABSENT_OR_MINE: return "SET-OR-MINE";
    case REDIS_EXTEND_IF_MINE: return "EXTEND";
    case REDIS_DELETE_IF_MINE: return "DELETE";
    case REDIS_ADOPT: return "ADOPT";
    case REDIS_SETNX: return "SETNX key";
    case REDIS_READ: return "GET key";
    case REDIS_SWAP: return "GETSET key";
    case REDIS_DELETE: return "DEL key";
    case REDIS_EXPIRE: return "EXPIRE key";
    case REDIS_EXPIRE_NOW: return "EXPIRE key 0";
    case REDIS_READ_EXPIRY: return "TTL key";
    case REDIS_FIND_NO_EXPIRY: return "PTTL key";
    case REDIS_WATCH_READ: return "WATCH key, GET key";
    case REDIS_UNWATCH: return "UNWATCH";
    case REDIS_DELETE_WATCHED: return "MULTI, DEL key, EXEC";
    case REDIS_TAKE_TIMESTAMP: return "TAKE-STAMP";
    case REDIS_DROP_TIMESTAMP: return "DROP-STAMP";
    case REDIS_HASH_TAKE: return "HASH-TAKE";
    case REDIS_HASH_EXTEND: return "HASH-EXTEND";
    case REDIS_HASH_RELEASE: return "HASH-RELEASE";
    case REDIS_ZSET_TAKE: return "ZSET-TAKE";
    case REDIS_ZSET_EXTEND: return "ZSET-EXTEND";
    case REDIS_ZSET_RELEASE: return "ZSET-RELEASE";
    case REDIS_QUEUE_TAKE: return "TAKE";
    case REDIS_QUEUE_JOIN: return "JOIN";
    case REDIS_QUEUE_HEARTBEAT: return "HEARTBEAT";
    case REDIS_QUEUE_EXTEND: return "EXTEND";
    case REDIS_QUEUE_RELEASE: return "RELEASE";
    case REDIS_QUEUE_REST: return "REST";
    case REDIS_QUEUE_CANCEL: return "CANCEL";
    case REDIS_QUEUE_DISPATCH_NEXT: return "DISPATCH_NEXT";
    case REDIS_QUEUE_REQUEUE: return "REQUEUE";
    case REDIS_SHARE_TAKE: return "SHARE-TAKE";
    case REDIS_SHARE_JOIN: return "SHARE-JOIN";
    case REDIS_SHARE_HEARTBEAT: return "SHARE-HEARTBEAT";
    case REDIS_SHARE_EXTEND: return "SHARE-EXTEND";
    case REDIS_SHARE_LEAVE: return "SHARE-LEAVE";
    case REDIS_SHARE_DOWNGRADE: return "SHARE-DOWNGRADE";
    case REDIS_SHARE_UPGRADE: return "SHARE-UPGRADE";
    case REDIS_REPLICATED: return "REPLICATED";
    case REDIS_STEP: return "STEP";
    }
    return "?";
}

static const char *answer_name(unsigned answer)
{
    if (answer == BWL_WHICH_NOSCRIPT)
        return "no such script";
    switch ((bwl_answer)answer) {
    case BWL_YES: return "yes";
    case BWL_NO: return "no";
    case BWL_RETRYABLE: return "later";
    case BWL_REFUSED: return "refused";
    case BWL_NOT_SENT: return "unsent";
    case BWL_FOREIGN_VALUE: return "foreign";
    }
    return "?";
}

const char *bwl_answer_name(unsigned answer)
{
    return bwl_tr(answer_name(answer));
}

static const char *hold_state_name(bwl_hold_state state)
{
    switch (state) {
    case BWL_HOLD_IDLE: return "is idle";
    case BWL_HOLD_ACQUIRING: return "asks";
    case BWL_HOLD_ABANDONING: return "waits for an answer, cancelled";
    case BWL_HOLD_RESOLVING: return "does not know, will ask again";
    case BWL_HOLD_DISCARDING: return "gives back what came too late";
    case BWL_HOLD_WAITING: return "waits";
    case BWL_HOLD_QUEUED: return "is queued";
    case BWL_HOLD_HELD: return "has it";
    case BWL_HOLD_RENEWING: return "renews";
    case BWL_HOLD_YIELDING: return "releases, and will ask again";
    case BWL_HOLD_REVOKED: return "has lost it, and has not given it back";
    case BWL_HOLD_RELEASING: return "releases";
    case BWL_HOLD_LEAVING: return "leaves";
    case BWL_HOLD_OVER: return "is done";
    }
    return "?";
}

const char *bwl_hold_state_name(bwl_hold_state state)
{
    return bwl_tr(hold_state_name(state));
}

/* The value that SETNX or GETSET writes.  A value that is the same for all is shown by its writer,
 * as in bwl_key_name. */
static bwl_text written_value(const bwl_world *w, const bwl_message *message)
{
    const bwl_compat_rules *rules = w->scenario->options.rules;

    if (rules == NULL || rules->unit_ns == 0)
        return bwl_token_name(message->token);
    return bwl_value_words(w, bwl_model_value(rules, message->token, message->timestamp));
}

static bool is_sent_as_it_is(unsigned command)
{
    return command >= REDIS_SETNX && command <= REDIS_DELETE_WATCHED;
}

bwl_text bwl_message_name(const bwl_world *w, const bwl_message *message)
{
    if (message->command == REDIS_STEP)
        return bwl_step_words(w, message);
    if (message->command == REDIS_SETNX || message->command == REDIS_SWAP)
        return bwl_say("%s %s", word_name(message->command), written_value(w, message).of);
    if (message->command == REDIS_EXPIRE)
        return bwl_say("%s %" PRId32, word_name(message->command),
                       (message->lease_ms + MS_PER_SECOND - 1) / MS_PER_SECOND);
    if (is_sent_as_it_is(message->command))
        return bwl_say("%s", word_name(message->command));
    return bwl_say("%s %s", word_name(message->command), bwl_token_name(message->token).of);
}

/* The reply to a command that is sent as it is; "" where the answer says it. */
static bwl_text reply_sent(const bwl_world *w, const bwl_message *message)
{
    bool is_yes = message->answer == BWL_YES;

    switch (message->command) {
    case REDIS_READ:
    case REDIS_SWAP:
    case REDIS_WATCH_READ: return is_yes ? bwl_value_words(w, message->timestamp) : bwl_say("nil");
    case REDIS_SETNX:
    case REDIS_DELETE:
    case REDIS_EXPIRE:
    case REDIS_EXPIRE_NOW: return bwl_say(is_yes ? "1" : "0");
    case REDIS_READ_EXPIRY:
    case REDIS_FIND_NO_EXPIRY:
        if (is_yes && message->command == REDIS_READ_EXPIRY &&
            (uint64_t)message->timestamp != REDIS_NO_EXPIRY)
            return bwl_say("%" PRId64, message->timestamp);
        return bwl_say(is_yes ? "-1" : "-2");
    case REDIS_UNWATCH: return bwl_say("OK");
    case REDIS_DELETE_WATCHED: return bwl_say(is_yes ? "1" : "nil"); /* touched since WATCH */
    }
    return bwl_say("%s", "");
}

bwl_text bwl_reply_name(const bwl_world *w, const bwl_message *message)
{
    bwl_text said = bwl_say("%s", "");

    if (message->command == REDIS_STEP)
        return bwl_step_reply_words(w, message);
    if (message->answer == BWL_YES || message->answer == BWL_NO)
        said = reply_sent(w, message);
    return said.of[0] != '\0' ? said : bwl_say("%s", bwl_answer_name(message->answer));
}

/* "A1 A1 -": the owner of the key on each server. */
static bwl_text keys_of_several(const bwl_world *w)
{
    bwl_text said = bwl_say("keys");

    for (unsigned k = 0; k < w->scenario->servers; k++) {
        uint16_t owner = bwl_model_owner(&w->servers[k].redis);
        said           = bwl_say("%s %s", said.of, owner == 0 ? "-" : bwl_token_name(owner).of);
    }
    return said;
}

/* A time is shown with the client that wrote it. */
static bwl_text value_of_key(const bwl_world *w, uint16_t owner)
{
    const bwl_model_key    *key   = bwl_model_lock(&w->servers[BWL_ONLY].redis);
    const bwl_compat_rules *rules = w->scenario->options.rules;
    bool is_time = key->kind == BWL_KIND_STRING && bwl_value_is_time(w, key->value);

    if (is_time && owner != BWL_TOKEN_FOREIGN)
        return bwl_say("%s by %c", bwl_value_words(w, key->value).of,
                       bwl_client_name(bwl_token_client(owner)));
    if (key->kind != BWL_KIND_STRING ||
        (w->scenario->options.program == NULL && (rules == NULL || rules->unit_ns == 0)))
        return bwl_token_name(owner);
    return bwl_value_words(w, key->value);
}

bwl_text bwl_key_name(const bwl_world *w)
{
    const bwl_model_redis *redis = &w->servers[BWL_ONLY].redis;
    uint16_t               owner = bwl_model_owner(redis);

    if (w->scenario->servers > 1)
        return keys_of_several(w);
    if (owner == 0)
        return bwl_say("no key");
    bwl_text value = value_of_key(w, owner);
    if (bwl_model_lock(redis)->lasts)
        return bwl_say("key %s, for ever", value.of);
    return bwl_say("key %s for %" PRId64 " ms", value.of, bwl_model_left(redis) / BWL_MODEL_PER_MS);
}

bwl_text bwl_budget_words(const uint8_t budget[BWL_BUDGETS_COUNT])
{
    bwl_text said = bwl_say("%s", "");

    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++) {
        const char *label = bwl_budget_label((bwl_budget)i);
        bwl_text    words =
            budget[i] == BWL_ANY ? bwl_say("any %s", label) : bwl_say("%u %s", budget[i], label);
        if (budget[i] != 0)
            said = said.of[0] != '\0' ? bwl_say("%s, %s", said.of, words.of) : words;
    }
    return said.of[0] != '\0' ? said : bwl_say("no fault");
}

bwl_text bwl_count_words(uint64_t count)
{
    if (count < 1000)
        return bwl_say("%" PRIu64, count);
    return bwl_say("%s,%03" PRIu64, bwl_count_words(count / 1000).of, count % 1000);
}

bwl_text bwl_memory_words(size_t bytes)
{
    static const char *const units[] = { "KB", "MB", "GB", "TB" };
    double                   amount  = (double)bytes / 1024;
    unsigned                 unit    = 0;

    for (; amount >= 1000 && unit < 3; unit++)
        amount /= 1024;
    return bwl_say(amount < 10 ? "%.1f %s" : "%.0f %s", amount, units[unit]);
}

static bwl_text delivered_words(const bwl_world *w, const bwl_message *message)
{
    if (message->kind == BWL_MESSAGE_PUSH)
        return bwl_say("receives the push");
    if (message->kind == BWL_MESSAGE_CUT_OFF && message->tag == 0)
        return bwl_say("connects again");
    if (message->kind == BWL_MESSAGE_CUT_OFF)
        return bwl_say("%s: no answer", bwl_message_name(w, message).of);
    if (message->answer == BWL_NOT_SENT)
        return bwl_say("%s: not sent", bwl_message_name(w, message).of);
    return bwl_say("gets %s", bwl_reply_name(w, message).of);
}

/* The keys of a lock with a queue; other locks have only the first. */
static const char *const evicts[BWL_MODEL_KEYS] = { "EVICTS the key", "EVICTS the queue",
                                                    "EVICTS the heartbeats", "EVICTS the count",
                                                    "EVICTS who shares it" };

bwl_text bwl_transition_words(const bwl_world *w, bwl_transition transition)
{
    const bwl_link *link  = &w->servers[transition.server].links[transition.client];
    const char     *words = bwl_transition_sentence(transition.kind);

    if (words != NULL)
        return bwl_say("%s", bwl_tr(words));
    if (transition.kind == BWL_TRANSITION_SERVE)
        return bwl_message_name(w, &link->messages[link->answered]);
    if (transition.kind == BWL_TRANSITION_SERVE_LATE)
        return bwl_say("LATE %s", bwl_message_name(w, &link->late[transition.which]).of);
    if (transition.kind == BWL_TRANSITION_DELIVER)
        return delivered_words(w, &link->messages[0]);
    if (transition.kind == BWL_TRANSITION_PASS)
        return bwl_say("%" PRId64 " ms pass",
                       bwl_world_next_instant(w) - transition.which - w->now);
    if (transition.kind == BWL_TRANSITION_EVICT)
        return bwl_say("%s", bwl_tr(evicts[transition.which]));
    if (transition.kind == BWL_TRANSITION_CLOSE)
        return bwl_say("sees that %c has closed a connection", bwl_client_name(transition.client));
    assert(transition.kind == BWL_TRANSITION_RATE);
    return bwl_say("its CLOCK RUNS at %u %%", w->scenario->clocks.rate_pace);
}
