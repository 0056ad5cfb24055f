/*
 * quorum.c -- a lock on most of several independent Redis servers: a store for each, in one
 * client.  See quorum.h.
 *
 * The servers must not be one in disguise: the same address twice, the same process under two
 * names, or nodes of one cluster have one vote.  And an even number of them bears no more losses
 * than one less: 4 bear the loss of one, as 3 do, and split their votes more often.
 *
 * A server that was started less than a lease ago may have had a key that it has forgotten, and its
 * vote would be the second one that it gives.  So it is not asked until whatever it has forgotten
 * is over: it counts as one that cannot serve now.
 */
#include "engine/redis/topology/quorum.h"
#include "core/text.h"
#include "base/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVERS_MIN = 3, MS_PER_SECOND = 1000, PARTS = 1000000 };

bwl_redis_store *bwl_redis_store_of(const bwl_host *client, unsigned node)
{
    bwl_redis_store *store = client->store;

    for (; node > 0; node--)
        store = store->next;
    assert(store != NULL);
    return store;
}

/* ---- from a URL ------------------------------------------------------------------------------ */

int bwl_redis_many_choose(bwl_settings *settings, const bwl_url *url, bwl_fault *fault)
{
    settings->protocol = NULL; /* there is only one */
    settings->risk[0]  = '\0';
    return bwl_redis_choose_of_many(settings, url, fault);
}

static bool is_tls(const bwl_url *url)
{
    return strcmp(url->scheme, "redlocks") == 0;
}

static int check_options(const bwl_url *url, bwl_fault *fault)
{
    static const char *const known[] = { BWL_SETTINGS_OPTIONS, "key",           "profile",
                                         "accept-risk",        "password-file", "db",
                                         "restart-wait",       "drift",         NULL };
    static const char *const tls[]   = { BWL_SETTINGS_OPTIONS,
                                         "key",
                                         "profile",
                                         "accept-risk",
                                         "password-file",
                                         "db",
                                         "restart-wait",
                                         "drift",
                                         BWL_TLS_OPTION_CA,
                                         BWL_TLS_OPTION_CERT,
                                         BWL_TLS_OPTION_KEY,
                                         NULL };

    if (bwl_url_find(url, "sync") != NULL)
        return bwl_fail(
            fault, BWL_STATUS_UNSUPPORTED,
            "%s: has no sync=: a lock counts when most of its servers have it, and they "
            "have no replicas",
            url->scheme);
    return bwl_url_check_options(url, is_tls(url) ? tls : known, fault);
}

static int check_number(const bwl_url *url, bwl_fault *fault)
{
    unsigned count = url->hosts_count;

    if (count < SERVERS_MIN || count > BWL_NODES_MAX)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "%s: takes 3 to %d hosts, here are %u: %s://HOST1,HOST2:6380,HOST3",
                        url->scheme, BWL_NODES_MAX, count, url->scheme);
    if (count % 2 == 0)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "%s: %u servers bear the loss of %u, as %u do, and split their votes more "
                        "often: leave one out, or add one",
                        url->scheme, count, count / 2 - 1, count - 1);
    return BWL_OK;
}

static int check_place(const bwl_redis_store *first, const bwl_redis_store *store, bwl_fault *fault)
{
    for (; first != NULL; first = first->next)
        if (strcmp(first->where, store->where) == 0)
            return bwl_fail(fault, BWL_STATUS_USAGE,
                            "%s stands twice in the URL: one server has one vote", store->where);
    return BWL_OK;
}

static int take_restart_wait(bool *ret_trusts, const bwl_url *url, bwl_fault *fault)
{
    const char *text = bwl_url_find(url, "restart-wait");

    *ret_trusts = text != NULL && strcmp(text, "off") == 0;
    if (text == NULL || *ret_trusts || strcmp(text, "on") == 0)
        return BWL_OK;
    return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, restart-wait= is neither on nor off");
}

/* What is less than usual is the caller's to answer for, and he is told.  What is more than a third
 * of the lease would end a hold before it is renewed. */
static int take_drift(bwl_settings *settings, const bwl_url *url, bwl_fault *fault)
{
    const char *text     = bwl_url_find(url, "drift");
    bwl_ms      lease_ms = settings->lease_ms;
    bwl_ms      usual_ms = bwl_drift_ms(lease_ms);
    bwl_ms      drift_ms;

    if (text == NULL)
        return BWL_OK;
    if (!bwl_duration_parse(&drift_ms, text, strlen(text)) || drift_ms < 1 ||
        drift_ms > lease_ms / 3)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, drift= is a duration from 1ms to a third of the lease; "
                        "%lldms without it",
                        (long long)usual_ms);
    settings->drift_ppm = (uint32_t)((drift_ms * PARTS + lease_ms - 1) / lease_ms);
    if (drift_ms < usual_ms)
        (void)snprintf(
            settings->risk, sizeof settings->risk,
            "drift=%lldms is short of 1%% of the lease and 2ms, which is %lldms: when the "
            "clocks of servers run faster than it covers, two hold the lock",
            (long long)drift_ms, (long long)usual_ms);
    return BWL_OK;
}

/* The URL of one of them.  It points into the whole one, and is wiped by who has made it. */
static void url_of(bwl_url *ret_one, const bwl_url *url, unsigned i)
{
    *ret_one             = *url;
    ret_one->host        = url->hosts[i].name;
    ret_one->port        = url->hosts[i].port;
    ret_one->hosts_count = 1;
    memcpy(ret_one->scheme, is_tls(url) ? "rediss" : "redis", is_tls(url) ? 7 : 6);
}

int bwl_redis_many_open(bwl_host *client, const bwl_url *url, bwl_fault *fault)
{
    bwl_redis_store *first        = NULL;
    bool             trusts_young = false;
    int              status       = check_options(url, fault);

    if (status == BWL_OK)
        status = check_number(url, fault);
    if (status == BWL_OK)
        status = take_restart_wait(&trusts_young, url, fault);
    if (status == BWL_OK)
        status = take_drift(&client->settings, url, fault);
    for (unsigned i = 0; i < url->hosts_count && status == BWL_OK; i++) {
        bwl_redis_store *store = NULL;
        bwl_url          one;
        url_of(&one, url, i);
        status = bwl_redis_store_open(&store, client, &one, fault);
        explicit_bzero(&one, sizeof one);
        if (status < 0)
            break;
        status = check_place(first, store, fault);
        bwl_redis_join(&first, store);
        store->node         = (uint8_t)i;
        store->is_of_many   = true;
        store->trusts_young = trusts_young;
    }
    if (status < 0) {
        bwl_redis_close_all(first);
        return status;
    }
    client->store = first;
    client->nodes = url->hosts_count;
    if (!trusts_young) /* a server that was started again has a vote when it has run for so long */
        client->settings.lease_max_ms = client->settings.lease_ms;
    return BWL_OK;
}

/* ---- who has it? ----------------------------------------------------------------------------- */

static bool is_same(const bwl_redis_looker *a, const bwl_redis_looker *b)
{
    return a->answer == BWL_YES && b->answer == BWL_YES &&
           strcmp(a->look.kind, b->look.kind) == 0 && strcmp(a->look.value, b->look.value) == 0;
}

/* As long as a majority has it: it ends with the first of the longest ones that make up one. */
static int64_t left_of_most(const bwl_redis_looker *lookers, unsigned nodes,
                            const bwl_redis_looker *one)
{
    int64_t left_ms = 0;

    if (one->look.left_ms < 0)
        return one->look.left_ms; /* nobody has it, or for ever */
    for (unsigned i = 0; i < nodes; i++) {
        unsigned longer = 0;
        for (unsigned k = 0; k < nodes; k++)
            if (is_same(&lookers[k], one) && lookers[k].look.left_ms >= lookers[i].look.left_ms)
                longer++;
        bool is_enough = is_same(&lookers[i], one) && longer > nodes / 2;
        if (is_enough && lookers[i].look.left_ms > left_ms)
            left_ms = lookers[i].look.left_ms;
    }
    return left_ms;
}

/* What more than half of the servers say alike; NULL: nothing. */
static const bwl_redis_looker *most(const bwl_redis_looker *lookers, unsigned nodes)
{
    for (unsigned i = 0; i < nodes; i++) {
        unsigned alike = 0;
        for (unsigned k = 0; k < nodes; k++)
            if (is_same(&lookers[k], &lookers[i]))
                alike++;
        if (alike > nodes / 2)
            return &lookers[i];
    }
    return NULL;
}

bool bwl_redis_has_seen(const bwl_engine_lock *lock)
{
    const bwl_redis_looker *lookers = ((const bwl_redis_part *)lock->part)->looker;
    unsigned                nodes   = lock->host->nodes;
    unsigned                open    = 0;

    for (unsigned i = 0; i < nodes; i++)
        if (lookers[i].answer == 0)
            open++;
    return open == 0 || most(lookers, nodes) != NULL;
}

/* Without a majority that says the same, nobody has the lock; if a majority says anything. */
bwl_redis_looker bwl_redis_seen(const bwl_engine_lock *lock)
{
    const bwl_redis_looker *lookers = ((const bwl_redis_part *)lock->part)->looker;
    unsigned                nodes   = lock->host->nodes;
    const bwl_redis_looker *one     = most(lookers, nodes);
    bwl_redis_looker        seen    = { .answer = BWL_YES };
    unsigned                said    = 0;

    if (one != NULL) {
        seen = *one;
        if (nodes > 1)
            seen.look.left_ms = left_of_most(lookers, nodes, one);
        return seen;
    }
    for (unsigned i = 0; i < nodes; i++) {
        if (lookers[i].answer == BWL_YES)
            said++;
        else
            one = &lookers[i];
    }
    if (said <= nodes / 2)
        return *one;
    seen.look.left_ms = -2;
    return seen;
}

/* ---- what a server says of itself ------------------------------------------------------------ */

/* The text behind "\nNAME:" up to the end of the line; NULL if it is not there. */
static const char *field(const char *info, size_t size, const char *mark, size_t *ret_size)
{
    const char *at = memmem(info, size, mark, strlen(mark));

    if (at == NULL)
        return NULL;
    at += strlen(mark);
    size_t      rest = (size_t)(info + size - at);
    const char *end  = memchr(at, '\r', rest);
    *ret_size        = end != NULL ? (size_t)(end - at) : rest;
    return at;
}

static bool is_field(const char *info, size_t size, const char *mark, const char *text)
{
    size_t      length = 0;
    const char *at     = field(info, size, mark, &length);

    return at != NULL && length == strlen(text) && memcmp(at, text, length) == 0;
}

static int check_process(const bwl_redis_store *store, const char *info, size_t size,
                         bwl_fault *fault)
{
    for (const bwl_redis_store *other = store->client->store; other != NULL; other = other->next)
        if (other != store && other->run_id[0] != '\0' &&
            is_field(info, size, "\nrun_id:", other->run_id))
            return bwl_fail(fault, BWL_STATUS_REFUSED,
                            "%s is the same server as %s: it would have two votes", store->where,
                            other->where);
    return BWL_OK;
}

/* Without a word of how long it has run, nobody can know.  (The user may not say INFO: then it is
 * not asked whether it has forgotten; the documentation says which right that is.) */
static int check_youth(bwl_redis_store *store, const char *info, size_t size, bwl_fault *fault)
{
    bwl_ms      lease_ms = store->client->settings.lease_ms;
    uint32_t    drift    = store->client->settings.drift_ppm;
    size_t      length   = 0;
    const char *at       = field(info, size, "\nuptime_in_seconds:", &length);
    uint64_t    seconds;

    if (store->trusts_young || at == NULL || !bwl_number_parse(&seconds, at, length, INT32_MAX) ||
        (bwl_ms)seconds * MS_PER_SECOND >= lease_ms + bwl_drift_named_ms(lease_ms, drift))
        return BWL_OK;
    store->is_put_off = true;
    return bwl_fail(fault, BWL_STATUS_UNREACHABLE,
                    "%s was started %llu s ago and may have forgotten locks: it is asked when it "
                    "has run for a lease of %lld ms (restart-wait=off: at once)",
                    store->where, (unsigned long long)seconds, (long long)lease_ms);
}

int bwl_redis_check_independence(bwl_redis_store *store, const char *info, size_t size,
                                 bwl_fault *fault)
{
    int status = BWL_OK;

    if (is_field(info, size, "\nredis_mode:", "cluster") ||
        is_field(info, size, "\nserver_mode:", "cluster")) /* as Valkey calls it */
        status = bwl_fail(fault, BWL_STATUS_REFUSED,
                          "%s is a node of a cluster: redlock needs servers that are independent "
                          "of each other (for a lock in a cluster: %s+cluster://)",
                          store->where, store->tls != NULL ? "rediss" : "redis");
    else if (store->is_replica)
        status = bwl_fail(fault, BWL_STATUS_REFUSED,
                          "%s is a replica of another server: redlock needs servers that are "
                          "independent of each other; write one that is a primary",
                          store->where);
    if (status == BWL_OK)
        status = check_process(store, info, size, fault);
    if (status == BWL_OK)
        status = check_youth(store, info, size, fault);
    return status;
}
