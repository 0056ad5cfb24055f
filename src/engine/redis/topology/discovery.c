/*
 * discovery.c -- of a service with sentinels: where its primary is.  See session.h and
 * sentinel.h.
 *
 *      redis+sentinel://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]].../SERVICE[/DATABASE]
 *
 * Every attempt to connect begins with the question to a sentinel.  What it names is believed when
 * the server itself says that it is a primary.  A replica, or a server that is gone, is what a
 * stale sentinel names: then the next one is asked, in the same attempt, until all of them were or
 * its time is over; one that names the same has told nothing new.
 *
 * Whatever shows that the primary has moved (a message of the sentinel, an answer of READONLY)
 * breaks the connection off, and so what is held is looked for at the new one before anything is
 * said about it: see revalidate.c.
 */
#include "engine/redis/session/session.h"

#include "base/fault.h"
#include "base/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX "+sentinel"

bool bwl_redis_is_watched(const bwl_url *url)
{
    size_t size   = strlen(url->scheme);
    size_t suffix = strlen(SUFFIX);

    return size > suffix && strcmp(url->scheme + size - suffix, SUFFIX) == 0;
}

/* ---- what they say --------------------------------------------------------------------------- */

static bool take_host(bwl_redis_store *store, const bwl_primary *primary)
{
    char *host = strdup(primary->host);

    if (host == NULL)
        return false;
    free(store->host);
    store->host = host;
    store->port = primary->port;
    bwl_dialer_forget(&store->dialer);
    (void)snprintf(store->where, sizeof store->where, "%.40s (%.60s:%u)",
                   bwl_sentinel_service(store->sentinel), host, (unsigned)store->port);
    if (store->tls != NULL)
        bwl_stream_secure(&store->conn.stream, store->tls, store->host);
    return true;
}

static bool is_there(const bwl_redis_store *store, const bwl_primary *primary)
{
    return store->host != NULL && store->port == primary->port &&
           strcmp(store->host, primary->host) == 0;
}

static void try_it(bwl_redis_store *store, const bwl_primary *primary)
{
    bwl_fault no_mem = { .status = BWL_STATUS_NOMEM, .text = "out of memory" };

    bwl_stream_close(&store->conn.stream); /* to another one, which it has named before */
    if (is_there(store, primary) || take_host(store, primary))
        bwl_redis_found(store);
    else
        bwl_redis_not_found(store, &no_mem);
}

static void sought(bwl_redis_store *store, const bwl_primary *primary, const bwl_fault *fault)
{
    if (primary == NULL) {
        bwl_redis_not_found(store, fault);
    } else if (store->doubt.status == 0 || !is_there(store, primary)) {
        try_it(store, primary);
    } else if (!bwl_sentinel_seek_on(store->sentinel, store->attempt_by)) {
        bwl_redis_not_found(store, &store->doubt);
    }
}

static void moved(bwl_redis_store *store, const bwl_primary *primary)
{
    bwl_fault fault;

    (void)bwl_fail(&fault, BWL_STATUS_UNREACHABLE, "%s is not the primary any more, %.60s:%u is",
                   store->where, primary->host, (unsigned)primary->port);
    bwl_redis_break_off(store, &fault, false);
}

static void heard(bwl_host *client, const bwl_primary *primary, const bwl_fault *fault)
{
    bwl_redis_store *store  = client->store;
    bool             is_new = primary != NULL && !is_there(store, primary);

    switch (store->phase) {
    case BWL_REDIS_DOWN:
    case BWL_REDIS_RESTING: break; /* they will be asked */
    case BWL_REDIS_SEEKING: sought(store, primary, fault); break;
    case BWL_REDIS_RESOLVING:
    case BWL_REDIS_CONNECTING:
    case BWL_REDIS_GREETING:
        if (is_new)
            try_it(store, primary);
        break;
    case BWL_REDIS_READY:
        if (is_new)
            moved(store, primary);
        break;
    }
    bwl_redis_set_timer(store);
}

static void stirred(bwl_host *client)
{
    bwl_redis_set_timer(client->store);
}

/* ---- what the server says -------------------------------------------------------------------- */

int bwl_redis_check_role(const bwl_redis_store *store, const bwl_resp_value *role, bwl_fault *fault)
{
    if (store->sentinel == NULL || bwl_resp_text_is(role, "master"))
        return BWL_OK;
    return bwl_fail(fault, BWL_STATUS_UNREACHABLE,
                    "%s is what the sentinel names as the primary, and is a replica", store->where);
}

bool bwl_redis_was_demoted(const bwl_redis_store *store, const char *bytes, size_t size)
{
    return store->sentinel != NULL && bytes != NULL && bwl_redis_error_is(bytes, size, "READONLY");
}

bool bwl_redis_has_moved(const bwl_redis_store *store)
{
    return store->served.port != 0 && !is_there(store, &store->served);
}

void bwl_redis_serves(bwl_redis_store *store)
{
    if (store->sentinel == NULL)
        return;
    (void)snprintf(store->served.host, sizeof store->served.host, "%s", store->host);
    store->served.port = store->port;
}

/* ---- from the URL ---------------------------------------------------------------------------- */

int bwl_redis_take_service(bwl_redis_store *store, const bwl_url *url, const char **ret_rest,
                           bwl_fault *fault)
{
    const char *name = url->path[0] == '/' ? url->path + 1 : url->path;
    size_t      size = strcspn(name, "/");

    if (url->host == NULL || url->host[0] == '\0')
        return bwl_fail(
            fault, BWL_STATUS_USAGE,
            "%s: takes the sentinels and a service: %s://HOST:26379,HOST:26379/mymaster",
            url->scheme, url->scheme);
    if (size == 0)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "%s: the path names the service, as the sentinels know it: /mymaster",
                        url->scheme);
    if (size > BWL_SENTINEL_NAME_MAX)
        return bwl_fail(fault, BWL_STATUS_USAGE, "the name of a service has at most %d characters",
                        BWL_SENTINEL_NAME_MAX);
    for (unsigned i = 0; i < url->hosts_count; i++)
        if (strlen(url->hosts[i].name) > BWL_RESOLVE_HOST_MAX)
            return bwl_fail(fault, BWL_STATUS_USAGE, "the name of a host has at most %d characters",
                            BWL_RESOLVE_HOST_MAX);
    (void)snprintf(store->where, sizeof store->where, "%.*s", (int)(size < 100 ? size : 100), name);
    *ret_rest = name + size;
    return BWL_OK;
}

int bwl_redis_take_sentinels(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    const char *file = bwl_url_find(url, BWL_SENTINEL_OPTION_PASSWORD);
    const char *name = url->path[0] == '/' ? url->path + 1 : url->path;
    char        service[BWL_SENTINEL_NAME_MAX + 1];
    char       *password = NULL;
    int         status   = BWL_OK;

    if (!bwl_redis_is_watched(url))
        return BWL_OK;
    (void)snprintf(service, sizeof service, "%.*s", (int)strcspn(name, "/"), name);
    bwl_sentinel_plan plan = { .hosts       = url->hosts,
                               .hosts_count = url->hosts_count,
                               .service     = service,
                               .user        = bwl_url_find(url, BWL_SENTINEL_OPTION_USER),
                               .tls         = store->tls,
                               .heard       = heard,
                               .stirred     = stirred };
    if (plan.user != NULL && file == NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "the URL names a user of the sentinels without a password: give "
                        "sentinel-password-file=");
    if (file != NULL)
        status = bwl_secret_read(&password, file, fault);
    plan.password = password;
    if (status == BWL_OK)
        status = bwl_sentinel_new(&store->sentinel, store->client, &plan, fault);
    bwl_secret_free(password);
    return status;
}

int bwl_redis_share_sentinels(bwl_redis_store *store, const bwl_redis_store *its)
{
    (void)snprintf(store->where, sizeof store->where, "%.100s",
                   bwl_sentinel_service(its->sentinel));
    return bwl_sentinel_copy(&store->sentinel, store->client, its->sentinel);
}
