/*
 * pass_on.c -- a lock that is passed on to another client, or to another lock of this one:
 * lock/pass_on.h.
 *
 * The value of `queue` has the session of its client and the token of its attempt, that of `token`
 * the token alone.  The client that adopts the lock writes its own value in place of this one.
 */
#include "base/fault.h"
#include "engine/redis/redis.h"
#include "engine/redis/wire/queue.h"
#include "protocol/protocol.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *protocol_name(const bwl_engine_lock *lock)
{
    return lock->hold.protocol->name;
}

/* Other programs write their own values, and a fixed token= is the same in each hold. */
static const char *why_not(const bwl_protocol *protocol, const bwl_compat_rules *rules)
{
    bwl_protocol_id id = bwl_protocol_id_of(protocol);

    if (id == BWL_PROTOCOL_TOKEN && !protocol->can_verify_owner)
        return "with token= its value does not identify the hold";
    if ((id != BWL_PROTOCOL_QUEUE && id != BWL_PROTOCOL_TOKEN) || rules != NULL)
        return "other programs lock with this profile or protocol, and do not know tickets";
    return NULL;
}

/* FNV-1a. */
static uint64_t mix(uint64_t hash, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3U;
    return hash;
}

static uint64_t place_of(const bwl_engine_lock *lock)
{
    const bwl_redis_config *config = bwl_redis_of(lock->host)->router.config;
    char                    key[BWL_KEY_MAX];
    size_t                  size = bwl_redis_key(key, config, lock);
    char                    database[32];
    int wrote = snprintf(database, sizeof database, " %lld", (long long)config->database);

    return mix(mix(0xcbf29ce484222325U, key, size), database, (size_t)wrote);
}

static void pass(const bwl_engine_lock *lock, bwl_passed_hold *ret_passed)
{
    *ret_passed = (bwl_passed_hold){ .place = place_of(lock), .fence = lock->hold.fence };
    (void)snprintf(ret_passed->protocol, sizeof ret_passed->protocol, "%s", protocol_name(lock));
    const char *token = lock->hold.request.token;
    assert(strlen(token) == BWL_OTHER_TOKEN_MAX);
    if (lock->hold.protocol->uses_push)
        bwl_queue_value_write(ret_passed->value, bwl_redis_of(lock->host)->id, token);
    else
        memcpy(ret_passed->value, token, BWL_OTHER_TOKEN_MAX + 1);
}

/* Whether it is a value of this protocol: other bytes would be sent to the server. */
static bool is_value(const bwl_engine_lock *lock, const char *value)
{
    const char *characters =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"; /* base64url */
    size_t size = strlen(value);

    if (lock->hold.protocol->uses_push)
        return bwl_queue_is_whole_value(value, size);
    return size == BWL_OTHER_TOKEN_MAX && strspn(value, characters) == size;
}

/* The part of the value that identifies the hold. */
static const char *token_in(const bwl_engine_lock *lock, const char *value)
{
    return lock->hold.protocol->uses_push ? value + strlen(value) - BWL_QUEUE_TOKEN_SIZE : value;
}

static int adopt(bwl_engine_lock *lock, const bwl_passed_hold *passed, const char **ret_token,
                 bwl_fault *fault)
{
    bwl_redis_lock *part = bwl_redis_lock_of(lock);

    if (strcmp(passed->protocol, protocol_name(lock)) != 0)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "the ticket is of protocol %s, and this URL has protocol %s",
                        passed->protocol, protocol_name(lock));
    if (passed->place != place_of(lock))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "the ticket is of another place: the name, key= or db= differs");
    if (!is_value(lock, passed->value))
        return bwl_fail(fault, BWL_STATUS_USAGE, "the ticket is damaged");
    part->passed = malloc(sizeof *part->passed);
    if (part->passed == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    *part->passed = *passed;
    *ret_token    = token_in(lock, passed->value);
    return BWL_OK;
}

/* Not whether it is watched: nobody else of this client is about to use the hold. */
static void hand_over(bwl_engine_lock *from, bwl_engine_lock *to)
{
    bwl_redis_lock *former = from->part;
    bwl_redis_lock *part   = to->part;

    part->route              = former->route;
    part->is_alone           = former->is_alone;
    part->shown              = former->shown;
    former->shown.token[0]   = '\0'; /* it is not hidden when `from` ends */
    former->is_watched       = false;
    part->waiting.has_waited = former->waiting.has_waited;
}

const bwl_passing bwl_redis_passing = {
    .why_not = why_not, .pass = pass, .adopt = adopt, .hand_over = hand_over
};
