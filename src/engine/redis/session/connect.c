/*
 * connect.c -- from nothing to a connection; and everything that comes too late.  See
 * session.h.
 *
 * One attempt: the host is looked up, and its addresses are tried in turn, each up to the end of
 * the TLS handshake, all within one answer_ms.  Nothing is kept of it: the next attempt looks the
 * host up anew, as it may have moved.
 *
 * Of a service with sentinels, an attempt has one answer_ms for its sentinels and one for the
 * server that they name; if that is none to lock at and some of the time is left, another sentinel
 * is asked within it.
 *
 * After an attempt that failed there is a pause of 10 ms, doubling up to a second, half of it left
 * to chance.  What is asked meanwhile waits for it: told at once that there is no connection, it
 * would be wrong about a server that has just come back, and a thousand locks would each have to
 * find out by themselves.  The pause is at most half of answer_ms, so that no question waits for
 * much longer than it would for a server that is silent.
 */
#include "engine/redis/session/session.h"
#include "base/fault.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/slots.h"
#include "lock/pause.h"

#include <stdio.h>
#include <string.h>

enum { REST_MAX_MS = 1000 };

void bwl_redis_name_place(const bwl_redis_store *store, bwl_fault *fault)
{
    bwl_fault bare = *fault;

    (void)bwl_fail_because(fault, (bwl_status)bare.status, &bare, "%s: %s", store->where,
                           bare.text);
}

static void enter(bwl_redis_store *store, bwl_redis_phase phase, bwl_ms ends_at)
{
    store->phase          = phase;
    store->phase_began_at = bwl_client_now(store->client);
    store->phase_ends_at  = ends_at;
}

/* ---- the pause ------------------------------------------------------------------------------- */

void bwl_redis_rest(bwl_redis_store *store)
{
    bwl_ms     longest_ms = bwl_sooner(REST_MAX_MS, store->client->settings.answer_ms / 2);
    bwl_random bits       = { 0 };

    /* Without random bits: in step with others, which is only slower. */
    (void)bwl_entropy_draw(&store->client->entropy, &bits);
    store->rests_until =
        bwl_client_now(store->client) + bwl_pause_ms(store->failures, longest_ms, &bits);
    store->failures++;
}

/* ---- the attempt ----------------------------------------------------------------------------- */

/* Nothing more can be tried.  A refusal outweighs whatever was wrong with the other addresses: it
 * is what somebody has to mend, and "localhost" often has an address at which nobody listens. */
static void fail_attempt(bwl_redis_store *store, bwl_fault *fault)
{
    bool refused = store->refusal.status != 0;

    if (refused)
        *fault = store->refusal;
    bwl_redis_name_place(store, fault);
    bwl_redis_break_off(store, fault, refused);
}

static void wake(void *arg)
{
    bwl_client_wake(arg);
}

/* What the dialer says: the host is looked up, an address is tried, or the attempt has failed. */
static void go_on(bwl_redis_store *store, int result, bwl_fault *fault)
{
    const bwl_dialer *dialer = &store->dialer;

    if (result < 0) {
        if (result == BWL_STATUS_REFUSED)
            store->refusal = *fault;
        fail_attempt(store, fault);
        return;
    }
    if (result == BWL_DIAL_RESOLVING) {
        enter(store, BWL_REDIS_RESOLVING, dialer->ends_at);
        return;
    }
    enter(store, BWL_REDIS_CONNECTING, dialer->ends_at);
    bwl_frames_reset(&store->conn.frames);
    store->opened++;
    store->has_answered    = false;
    store->batches_refused = 0;
}

void bwl_redis_not_connected(bwl_redis_store *store, bwl_fault *fault)
{
    go_on(store, bwl_dialer_next(&store->dialer, bwl_client_now(store->client), fault), fault);
}

/* ---- from the beginning ---------------------------------------------------------------------- */

/* The address of the server is known: dials it. */
static void reach(bwl_redis_store *store)
{
    const bwl_dial to        = { .host     = store->host,
                                 .port     = store->port,
                                 .resolver = store->resolver,
                                 .wake     = wake,
                                 .wake_arg = store->client };
    bwl_ms         now       = bwl_client_now(store->client);
    bwl_ms         answer_ms = store->client->settings.answer_ms;
    bwl_ms         until     = bwl_later(now, answer_ms);
    bwl_fault      fault     = { 0 };

    if (store->sentinel != NULL)
        until = bwl_sooner(until, store->attempt_by);
    enter(store, BWL_REDIS_RESOLVING, until);
    go_on(
        store,
        bwl_dialer_start(&store->dialer, &to, now, until, answer_ms + (bwl_ms)REST_MAX_MS, &fault),
        &fault);
}

/* No more of the server that we were trying. */
static void leave(bwl_redis_store *store)
{
    bwl_stream_close(&store->conn.stream);
    store->connection_id = 0;
    enter(store, BWL_REDIS_SEEKING, BWL_NEVER); /* they have a time of their own */
}

static void begin(bwl_redis_store *store)
{
    bwl_fault fault = { 0 };
    bwl_ms    now   = bwl_client_now(store->client);

    store->refusal    = (bwl_fault){ 0 };
    store->doubt      = (bwl_fault){ 0 };
    store->attempt_by = bwl_later(now, 2 * store->client->settings.answer_ms);
    if (bwl_reactor_open(&store->client->reactor, &fault) < 0) {
        fail_attempt(store, &fault);
    } else if (store->sentinel != NULL) {
        leave(store);
        bwl_sentinel_seek(store->sentinel);
    } else {
        reach(store);
    }
}

void bwl_redis_found(bwl_redis_store *store)
{
    leave(store);
    reach(store);
}

void bwl_redis_not_found(bwl_redis_store *store, const bwl_fault *fault)
{
    bwl_fault copy = *fault;

    leave(store);
    if (store->doubt.status != 0) { /* it was found, and is none */
        copy = store->doubt;
        bwl_redis_break_off(store, &copy, copy.status == BWL_STATUS_REFUSED);
        return;
    }
    if (fault->status == BWL_STATUS_REFUSED)
        store->refusal = *fault;
    fail_attempt(store, &copy);
}

bool bwl_redis_seek_on(bwl_redis_store *store, const bwl_fault *fault)
{
    bool is_named = store->phase == BWL_REDIS_RESOLVING || store->phase == BWL_REDIS_CONNECTING ||
                    (store->phase == BWL_REDIS_GREETING && !store->is_put_off);

    if (store->sentinel == NULL || !is_named || store->client->closing)
        return false;
    store->doubt = *fault;
    leave(store);
    return bwl_sentinel_seek_on(store->sentinel, store->attempt_by);
}

void bwl_redis_connect(bwl_redis_store *store)
{
    assert(store->phase == BWL_REDIS_DOWN);
    if (store->client->closing)
        return; /* nobody will wait for it */
    if (bwl_client_now(store->client) < store->rests_until)
        enter(store, BWL_REDIS_RESTING, store->rests_until);
    else
        begin(store);
}

void bwl_redis_stands_no_more(bwl_redis_store *store)
{
    bwl_client *client = store->client;

    for (const bwl_redis_store *each = client->store; each != NULL; each = each->next)
        if (each->phase == BWL_REDIS_READY)
            return;
    if (!atomic_exchange(&client->stands, false))
        atomic_store(&client->lame_until, bwl_later(bwl_client_now(client), BWL_LAME_MS));
}

/* ---- time ------------------------------------------------------------------------------------ */

/* When somebody has to look again; NEVER if we wait for nothing. */
static bwl_ms waits_until(const bwl_redis_store *store)
{
    const bwl_redis_open_question *first;

    switch (store->phase) {
    case BWL_REDIS_DOWN: return BWL_NEVER;
    case BWL_REDIS_RESTING:
    case BWL_REDIS_SEEKING:
    case BWL_REDIS_RESOLVING:
    case BWL_REDIS_CONNECTING:
    case BWL_REDIS_GREETING: return store->phase_ends_at;
    case BWL_REDIS_READY:
        if (store->questions_count == 0)
            return BWL_NEVER;
        first = bwl_redis_nth(store, 0);
        if (!first->written)
            return BWL_NEVER; /* kept back: see bwl_redis_flush */
        return bwl_later(first->written_at, store->client->settings.answer_ms);
    }
    bwl_unreachable("a phase outside of its enum");
}

void bwl_redis_set_timer(bwl_redis_store *store)
{
    bwl_client *client = store->client;
    bwl_ms      at     = bwl_redis_aside_until(client);

    client->watches = false;
    for (const bwl_redis_store *each = client->store; each != NULL; each = each->next) {
        client->watches = client->watches || each->phase != BWL_REDIS_DOWN;
        at              = bwl_sooner(at, waits_until(each));
    }
    if (store->sentinel != NULL)
        at = bwl_sooner(at, bwl_sentinel_waits_until(store->sentinel));
    bwl_client_alarm(client, &client->store_timer, at);
}

static void is_late(bwl_redis_store *store)
{
    bwl_fault fault;
    long long ms = (long long)store->client->settings.answer_ms;

    if (store->phase == BWL_REDIS_RESOLVING || store->phase == BWL_REDIS_CONNECTING) {
        if (!bwl_dialer_is_late(&store->dialer, bwl_client_now(store->client), &fault))
            return;
        if (store->phase == BWL_REDIS_CONNECTING)
            (void)bwl_redis_suspect(store, true, &fault);
        bwl_redis_not_connected(store, &fault);
        return;
    }
    (void)bwl_fail(&fault, BWL_STATUS_UNREACHABLE, "no answer within %lld ms", ms);
    (void)bwl_redis_suspect(store, true, &fault);
    bwl_redis_name_place(store, &fault);
    bwl_redis_break_off(store, &fault, false);
}

static void store_woken(bwl_redis_store *store)
{
    if (store->sentinel != NULL)
        bwl_sentinel_woken(store->sentinel);
    if (store->phase == BWL_REDIS_RESOLVING) {
        bwl_fault fault  = { 0 };
        int       result = bwl_dialer_woken(&store->dialer, bwl_client_now(store->client), &fault);
        if (result != BWL_DIAL_RESOLVING)
            go_on(store, result, &fault);
    }
    if (bwl_client_now(store->client) >= waits_until(store)) {
        if (store->phase != BWL_REDIS_RESTING)
            is_late(store);
        else if (store->questions_count > 0 || bwl_redis_holds_something(store))
            begin(store);
        else
            enter(store, BWL_REDIS_DOWN, BWL_NEVER); /* nobody wants it any more */
    }
}

void bwl_redis_woken(bwl_client *client)
{
    for (bwl_redis_store *store = client->store; store != NULL; store = store->next)
        store_woken(store);
    bwl_redis_aside_woken(client);
    bwl_redis_set_timer(client->store);
}
