/*
 * holder_query.c -- finds the holder of a lock: from one server, or from a majority of several
 * servers.
 */
#include "base/clock.h"
#include "base/fault.h"
#include "core/text.h"
#include "engine/redis/holder_query.h"
#include "engine/redis/topology/slots.h"
#include "engine/redis/wire/scripts.h"
#include "engine/redis/wire/value.h"
#include "protocol/format/timestamps.h"
#include "protocol/token_lock.h"
#include "protocol/protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NS_IN_MS = 1000000, ROOM = 512 };

/* ---- the result of one server ---------------------------------------------------------------- */

/* Whether it looks like one of our tokens.  Other programs may use the same format. */
static bool looks_like_ours(const char *value)
{
    size_t size = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");

    return size == 22 && value[size] == '\0';
}

/* Whether this protocol, or the program of the profile, can have written it. */
static bool looks_right(const bwl_engine_lock *lock, const bwl_holder_reply *look,
                        int64_t *ret_timestamp)
{
    const bwl_compat_rules *rules   = lock->hold.request.options->rules;
    const bwl_profile      *profile = bwl_redis_of(lock->host)->router.config->profile;

    if (lock->hold.protocol->uses_push)
        return bwl_queue_is_value(look->value);
    if (profile != NULL)
        return bwl_profile_reads(profile, rules, look->value, look->value_size, ret_timestamp);
    if (rules == NULL)
        return looks_like_ours(look->value) && look->value_size == strlen(look->value);
    return bwl_value_read_plausible(ret_timestamp, rules, look->value, look->value_size);
}

/* A timestamp limits the hold, even if the key stays. */
static void fill_in_timestamp(bwl_holder *ret_holder, const bwl_compat_rules *rules,
                              int64_t timestamp)
{
    bool    is_fine = rules->unit_ns < NS_IN_MS;
    int64_t ends_ms =
        is_fine ? timestamp / (NS_IN_MS / rules->unit_ns) : timestamp * (rules->unit_ns / NS_IN_MS);
    int64_t now_ms  = bwl_clock_wall_ns() / NS_IN_MS;
    bool    is_over = ends_ms <= now_ms;
    bwl_ms  left_ms = ret_holder->left_ms;

    if (left_ms == BWL_NEVER)
        ret_holder->left_ms = is_over ? 0 : ends_ms - now_ms;
    if (is_over && left_ms == BWL_NEVER)
        (void)snprintf(ret_holder->note, sizeof ret_holder->note,
                       "its time has passed: the next acquire may take it");
    else if (is_over)
        (void)snprintf(ret_holder->note, sizeof ret_holder->note,
                       "its time has passed, but the key expires in %llds",
                       (long long)((left_ms + 999) / 1000));
}

/* A value in the protocol's format whose timestamp is not plausible: a small number, or another
 * unit.  True: wrote a note about it. */
static bool note_implausible(bwl_holder *ret_holder, const bwl_holder_reply *look,
                             const bwl_compat_rules *rules)
{
    int64_t timestamp;

    if (rules == NULL || rules->unit_ns == 0 ||
        !bwl_value_read(&timestamp, rules, look->value, look->value_size) ||
        bwl_timestamp_is_plausible(rules, timestamp))
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

/* The value of another protocol, or of another version of bowline. */
static void note_form(bwl_holder *ret_holder, const bwl_holder_reply *look,
                      const bwl_compat_rules *rules)
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

/* The key's type is not one that this protocol uses. */
static void note_kind(bwl_holder *ret_holder, const bwl_holder_reply *look,
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

/* The rest of a holder is no hold, whatever the protocol of this client.  True: it is one. */
static bool fill_in_rest(bwl_holder *ret_holder, const bwl_holder_reply *look,
                         const bwl_engine_lock *lock)
{
    bwl_queue_rest rest;

    if (!bwl_queue_read_rest(&rest, look->value))
        return false;
    ret_holder->held     = false;
    ret_holder->done     = true;
    ret_holder->foreign  = !lock->hold.protocol->rests;
    ret_holder->id       = ret_holder->foreign ? 0 : bwl_redis_id_of_hold(&lock->hold, look);
    ret_holder->since_ms = bwl_ms_max(rest.began_with_ms - ret_holder->left_ms, 0);
    bwl_printable_copy(ret_holder->user, sizeof ret_holder->user, rest.user, rest.user_size);
    bwl_printable_copy(ret_holder->host, sizeof ret_holder->host, rest.host, strlen(rest.host));
    return true;
}

const char *bwl_redis_kind(const bwl_engine_lock *lock)
{
    return bwl_protocol_commands(lock->hold.protocol)->kind;
}

void bwl_redis_fill_in(bwl_holder *ret_holder, const bwl_holder_reply *look,
                       const bwl_engine_lock *lock)
{
    const bwl_hold         *hold      = &lock->hold;
    const bwl_compat_rules *rules     = hold->request.options->rules;
    bool                    is_string = strcmp(look->kind, "string") == 0;
    bool                    is_kind   = strcmp(look->kind, bwl_redis_kind(lock)) == 0;
    int64_t                 timestamp = 0;

    *ret_holder = (bwl_holder){ .held = look->left_ms != -2 };
    if (!ret_holder->held)
        return;
    ret_holder->left_ms = look->left_ms == -1 ? BWL_NEVER : look->left_ms;
    ret_holder->waiting = look->waiting;
    ret_holder->sharers = look->sharers;
    ret_holder->permits = look->permits;
    ret_holder->limit   = look->limit;
    if (fill_in_rest(ret_holder, look, lock))
        return;
    ret_holder->foreign = !is_kind || !looks_right(lock, look, &timestamp);
    if (!ret_holder->foreign && lock->host->engine->forced.start != NULL)
        ret_holder->id = bwl_redis_id_of_hold(hold, look);
    if (hold->protocol->uses_push && !ret_holder->foreign)
        bwl_redis_fill_in_client(ret_holder, look);
    if (is_string && timestamp != 0 && !rules->timestamp_is_start)
        fill_in_timestamp(ret_holder, rules, timestamp);
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

/* ---- the result of a majority ---------------------------------------------------------------- */

static bool is_same(const bwl_redis_query *a, const bwl_redis_query *b)
{
    return a->answer == BWL_YES && b->answer == BWL_YES &&
           strcmp(a->look.kind, b->look.kind) == 0 && strcmp(a->look.value, b->look.value) == 0;
}

/* How long a majority keeps the lock: the shortest TTL of the majority with the longest ones. */
static int64_t left_of_most(const bwl_redis_query *queries, unsigned nodes,
                            const bwl_redis_query *one)
{
    int64_t left_ms = 0;

    if (one->look.left_ms < 0)
        return one->look.left_ms; /* free, or without an expiry */
    for (unsigned i = 0; i < nodes; i++) {
        unsigned longer = 0;
        for (unsigned k = 0; k < nodes; k++)
            if (is_same(&queries[k], one) && queries[k].look.left_ms >= queries[i].look.left_ms)
                longer++;
        bool is_enough = is_same(&queries[i], one) && longer > nodes / 2;
        if (is_enough && queries[i].look.left_ms > left_ms)
            left_ms = queries[i].look.left_ms;
    }
    return left_ms;
}

/* The result that more than half of the servers share; NULL: none. */
static const bwl_redis_query *most(const bwl_redis_query *queries, unsigned nodes)
{
    for (unsigned i = 0; i < nodes; i++) {
        unsigned alike = 0;
        for (unsigned k = 0; k < nodes; k++)
            if (is_same(&queries[k], &queries[i]))
                alike++;
        if (alike > nodes / 2)
            return &queries[i];
    }
    return NULL;
}

bool bwl_redis_is_decided(const bwl_redis_query *queries, unsigned nodes)
{
    unsigned open = 0;

    for (unsigned i = 0; i < nodes; i++)
        if (queries[i].answer == 0)
            open++;
    return open == 0 || most(queries, nodes) != NULL;
}

bwl_redis_query bwl_redis_result_of(const bwl_redis_query *queries, unsigned nodes)
{
    const bwl_redis_query *one    = most(queries, nodes);
    bwl_redis_query        result = { .answer = BWL_YES };
    unsigned               said   = 0;

    if (one != NULL) {
        result = *one;
        if (nodes > 1)
            result.look.left_ms = left_of_most(queries, nodes, one);
        return result;
    }
    for (unsigned i = 0; i < nodes; i++) {
        if (queries[i].answer == BWL_YES)
            said++;
        else
            one = &queries[i];
    }
    if (said <= nodes / 2)
        return *one;
    result.look.left_ms = -2;
    return result;
}

/* ---- the request ----------------------------------------------------------------------------- */

static const bwl_script *script_of(const bwl_session *session, const bwl_protocol *protocol)
{
    if (bwl_session_uses_push(session))
        return &bwl_scripts[BWL_SCRIPT_QUEUE_HOLDER_QUERY];
    if (protocol == &bwl_redisson)
        return &bwl_scripts[BWL_SCRIPT_HASH_HOLDER_QUERY];
    return &bwl_scripts[protocol == &bwl_symfony ? BWL_SCRIPT_ZSET_HOLDER_QUERY
                                                 : BWL_SCRIPT_HOLDER_QUERY];
}

bool bwl_redis_write_query(bwl_session *session, bwl_request *request, bwl_bytes key, uint16_t slot)
{
    const bwl_script *script                     = script_of(session, request->lock->hold.protocol);
    char              tag[BWL_QUEUE_TAG_MAX + 1] = "";
    bwl_resp_writer   writer;

    if (request->route.asking && !bwl_redis_write_asking(session))
        return false;
    request->flight.replies_to_skip = request->route.asking;
    if (!bwl_resp_stream_reserve(&session->link.conn, ROOM + script->size + 2 * key.size, &writer))
        return false;
    if (bwl_session_uses_push(session))
        bwl_slots_tag_of(session, slot, tag);
    bwl_redis_write_holder_query(&writer, script, key, tag, request->use_eval);
    request->flight.offset = session->link.conn.stream.written;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

static bool write_query(bwl_session *session, bwl_request *request)
{
    char   key[BWL_KEY_MAX];
    size_t size = bwl_redis_key(key, session->config, request->lock);

    return bwl_redis_write_query(session, request, (bwl_bytes){ key, size },
                                 bwl_route_of(request->lock)->slot);
}

bwl_redis_verdict bwl_redis_read_query(bwl_session *session, bwl_request *request,
                                       const char *bytes, size_t size, bwl_request_reply *ret_reply)
{
    bwl_redis_query *query = request->subject;

    (void)session;
    return bwl_redis_read_holder_query(bytes, size, &ret_reply->event.answer, &query->look);
}

static bool is_decided(const bwl_engine_lock *lock)
{
    return bwl_redis_is_decided(bwl_redis_lock_of(lock)->queries, lock->host->nodes);
}

static void complete_query(bwl_session *session, const bwl_request *request,
                           const bwl_event *result)
{
    bwl_redis_query *query = request->subject;

    (void)session;
    query->answer = result->kind == BWL_DOWN ? BWL_NOT_SENT : result->answer;
    if (is_decided(request->lock))
        bwl_host_query_done(request->lock);
}

static const bwl_request_kind holder_query = {
    .reports_errors = true,
    .reports_text   = true,
    .write          = write_query,
    .read           = bwl_redis_read_query,
    .complete       = complete_query,
};

/* The lock owns the queries: its caller may return before the replies. */
bool bwl_redis_holder_query(bwl_engine_lock *lock)
{
    bwl_redis_lock *part = bwl_redis_lock_of(lock);
    unsigned        open = 0;

    assert(part->queries == NULL);
    part->queries = calloc(lock->host->nodes, sizeof *part->queries);
    for (unsigned i = 0; part->queries != NULL && i < lock->host->nodes; i++) {
        bwl_session *session = bwl_redis_route(lock, i);
        bwl_request  request = {
             .kind = &holder_query, .lock = lock, .node = (uint8_t)i, .subject = &part->queries[i]
        };
        if (session != NULL && bwl_session_submit(session, &request))
            open++;
        else
            part->queries[i].answer = BWL_NOT_SENT;
    }
    if (open > 0) /* if only the last submit failed, no later reply would complete the query */
        return bwl_host_is_awaited(lock) && is_decided(lock);
    free(part->queries);
    part->queries = NULL;
    return true;
}

int bwl_redis_who(bwl_engine_lock *lock, bwl_holder *ret_holder, bwl_fault *fault)
{
    if (bwl_redis_lock_of(lock)->queries == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    bwl_redis_query result =
        bwl_redis_result_of(bwl_redis_lock_of(lock)->queries, lock->host->nodes);
    if (result.answer != BWL_YES)
        return bwl_redis_query_status(lock, result.answer, fault);
    bwl_redis_fill_in(ret_holder, &result.look, lock);
    if (ret_holder->id != 0 && lock->hold.protocol->uses_push)
        bwl_redis_remember_hold(bwl_redis_of(lock->host), &result.look);
    return BWL_OK;
}

int bwl_redis_query_status(const bwl_engine_lock *lock, bwl_answer answer, bwl_fault *fault)
{
    switch (answer) {
    case BWL_YES: return BWL_OK;
    case BWL_RETRYABLE:
    case BWL_NO:
    case BWL_REFUSED:
        return bwl_fail_because(fault, BWL_STATUS_REFUSED, &lock->why, "%s", lock->why.text);
    case BWL_NOT_SENT:
        return bwl_fail_because(fault, BWL_STATUS_UNREACHABLE, &lock->why, "%s", lock->why.text);
    case BWL_FOREIGN_VALUE: break;
    }
    bwl_unreachable("an answer outside of its enum");
}
