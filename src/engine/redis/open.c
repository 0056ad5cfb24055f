/*
 * open.c -- from a URL to a store.  See session.h.
 */
#include "engine/redis/session/session.h"
#include "core/text.h"
#include "base/copy.h"
#include "base/fault.h"
#include "engine/redis/topology/cluster.h"
#include "base/secret.h"
#include "lock/local_group.h"

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

enum {
    PORT_DEFAULT       = 6379,
    DATABASE_MAX       = 65535,
    LAST_WORDS_MS      = 100,
    QUEUE_DEFAULT_MAX  = 10000,
    QUEUE_MAX          = 1000000000,
    SYNC_ANSWER_MIN_MS = 250,
};

/* ---- where it is ----------------------------------------------------------------------------- */

static int add_socket_file(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    struct sockaddr_un *to   = (struct sockaddr_un *)&store->dialer.addresses[0].socket;
    size_t              size = strlen(url->path);

    if (size == 0 || (url->host != NULL && url->host[0] != '\0'))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "unix: takes the path of a socket: unix:///run/redis/redis.sock");
    if (size >= sizeof to->sun_path)
        return bwl_fail(fault, BWL_STATUS_USAGE, "the path of a socket has at most %zu bytes",
                        sizeof to->sun_path - 1);
    to->sun_family = AF_UNIX;
    memcpy(to->sun_path, url->path, size + 1);
    store->dialer.addresses[0].size =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + 1);
    store->dialer.addresses_count = 1;
    (void)snprintf(store->where, sizeof store->where, "%.100s", url->path);
    return BWL_OK;
}

/* The name is looked up when there is something to ask, every time anew: see connect.c. */
static int take_host(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    if (url->host == NULL || url->host[0] == '\0')
        return bwl_fail(fault, BWL_STATUS_USAGE, "%s: takes a host: %s://127.0.0.1:6379",
                        url->scheme, url->scheme);
    if (url->hosts_count > 1)
        return bwl_fail(fault, BWL_STATUS_USAGE, "%s: takes one host", url->scheme);
    if (strlen(url->host) > BWL_RESOLVE_HOST_MAX)
        return bwl_fail(fault, BWL_STATUS_USAGE, "the name of a host has at most %d characters",
                        BWL_RESOLVE_HOST_MAX);
    store->port = url->port != 0 ? url->port : PORT_DEFAULT;
    (void)snprintf(store->where, sizeof store->where, "%.100s:%u", url->host,
                   (unsigned)store->port);
    return bwl_copy(&store->host, url->host, fault);
}

static int take_database(bwl_redis_store *store, const char *text, bwl_fault *fault)
{
    uint64_t number;

    if (!bwl_number_parse(&number, text, strlen(text), DATABASE_MAX))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "a Redis database is a number up to %d: redis://HOST/2", DATABASE_MAX);
    store->database = (int64_t)number;
    return BWL_OK;
}

static int take_place(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    bool        is_file = strcmp(url->scheme, "unix") == 0;
    const char *path    = url->path;
    const char *option  = bwl_url_find(url, "db");
    int         status;

    if (bwl_redis_is_watched(url))
        status = bwl_redis_take_service(store, url, &path, fault);
    else if (bwl_redis_is_cluster(url))
        status = BWL_OK; /* the others may move, and so may these: see bwl_redis_take_nodes */
    else
        status = is_file ? add_socket_file(store, url, fault) : take_host(store, url, fault);
    if (status == BWL_OK && option != NULL)
        status = take_database(store, option, fault);
    else if (status == BWL_OK && !is_file && path[0] == '/' && path[1] != '\0')
        status = take_database(store, path + 1, fault);
    return status;
}

/* ---- who we are ------------------------------------------------------------------------------ */

static int take_identity(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    const char *file   = bwl_url_find(url, "password-file");
    int         status = BWL_OK;

    if (file != NULL && url->password != NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "there is a password in the URL and a password-file= as well");
    if (url->user != NULL && url->user[0] != '\0')
        status = bwl_copy(&store->user, url->user, fault);
    if (status == BWL_OK && url->password != NULL)
        status = bwl_copy(&store->password, url->password, fault);
    if (status == BWL_OK && file != NULL)
        status = bwl_secret_read(&store->password, file, fault);
    if (status == BWL_OK && store->user != NULL && store->password == NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "the URL names a user without a password: write USER:PASSWORD@ or give "
                        "password-file=");
    return status;
}

/* ---- TLS ------------------------------------------------------------------------------------- */

/* Everything that can be known to be wrong is said when the client is opened. */
static int take_tls(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    bwl_tls_options options = { .ca_file   = bwl_url_find(url, BWL_TLS_OPTION_CA),
                                .cert_file = bwl_url_find(url, BWL_TLS_OPTION_CERT),
                                .key_file  = bwl_url_find(url, BWL_TLS_OPTION_KEY) };
    bwl_tls        *tls     = NULL;
    int             status  = bwl_tls_context_new(&store->tls, &options, fault);

    if (status < 0)
        return status;
    if (bwl_redis_is_watched(url) || bwl_redis_is_cluster(url))
        return BWL_OK;                                            /* its hosts are heard of later */
    status = bwl_tls_start(&tls, store->tls, store->host, fault); /* can such a host be checked? */
    bwl_tls_free(tls);
    if (status == BWL_OK)
        bwl_stream_secure(&store->conn.stream, store->tls, store->host);
    return status;
}

/* ---- which keys ------------------------------------------------------------------------------ */

static int take_keys(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    const char *template = bwl_url_find(url, "key");
    const char *wrong    = template != NULL ? bwl_key_template_fault(template) : NULL;

    if (wrong != NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, key=: %s (in a URL, each %% is written %%25: key=lock:%%25s)",
                        wrong);
    int status = bwl_redis_take_profile(store, url, fault);
    if (status < 0)
        return status;
    if (template == NULL && store->profile != NULL)
        template = store->profile->key;
    return template != NULL ? bwl_copy(&store->key_template, template, fault) : BWL_OK;
}

/* ---- who may wait ---------------------------------------------------------------------------- */

static int take_queue(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    const char *text = bwl_url_find(url, "queue-max");
    uint64_t    max  = QUEUE_DEFAULT_MAX;

    if (text != NULL && !bwl_redis_listens(store))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, queue-max=: only protocol=queue has a queue on the server");
    if (text != NULL && !bwl_number_parse(&max, text, strlen(text), QUEUE_MAX))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, queue-max= is a number up to %d; 0: any number may wait",
                        QUEUE_MAX);
    store->queue_max = (uint32_t)max;
    return BWL_OK;
}

/* A server that waits for its replicas answers nothing else on the connection meanwhile, and up to
 * 100 ms longer than it was told: that must not be taken for silence. */
static int check_sync(const bwl_redis_store *store, bwl_fault *fault)
{
    const bwl_settings *settings = &store->client->settings;

    if (settings->replicas == 0 || settings->answer_ms >= SYNC_ANSWER_MIN_MS)
        return BWL_OK;
    return bwl_fail(fault, BWL_STATUS_USAGE,
                    "in the URL, sync= takes a timeout= of %d ms at least, or a lease of three "
                    "times that",
                    SYNC_ANSWER_MIN_MS);
}

/* How often, and for how long, threads of ours hand it on to each other before others have it. */
static int take_turns(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    bwl_settings *settings = &store->client->settings;
    const char   *turns    = bwl_url_find(url, "turns");
    const char   *time     = bwl_url_find(url, "turns-time");
    uint64_t      max      = BWL_TURNS_DEFAULT;
    bwl_ms        time_ms  = BWL_TURNS_DEFAULT_MS;

    if ((turns != NULL || time != NULL) && !bwl_redis_listens(store))
        return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, %s=: only protocol=queue has turns",
                        turns != NULL ? "turns" : "turns-time");
    if (turns != NULL && (!bwl_number_parse(&max, turns, strlen(turns), BWL_TURNS_MAX) || max == 0))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, turns= is a number from 1 to %d; 1: none between threads",
                        BWL_TURNS_MAX);
    if (time != NULL && (!bwl_duration_parse(&time_ms, time, strlen(time)) || time_ms == 0))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, turns-time= is not a duration such as 100ms, 1s");
    settings->turns_max = (unsigned)max;
    settings->turns_ms  = time_ms;
    return BWL_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Options of some URLs alone. */
static int check_reserved(const bwl_url *url, const char *const *names, const char *whose,
                          bwl_fault *fault)
{
    for (; *names != NULL; names++)
        if (bwl_url_find(url, *names) != NULL)
            return bwl_fail(fault, BWL_STATUS_USAGE, "%s: has no option \"%s\": %s", url->scheme,
                            *names, whose);
    return BWL_OK;
}

static int check_options(const bwl_url *url, bool is_tls, bwl_fault *fault)
{
    static const char *const known[]        = { BWL_SETTINGS_OPTIONS,
                                                "protocol",
                                                "profile",
                                                "accept-risk",
                                                "retry",
                                                "pause",
                                                "buffer",
                                                "guard",
                                                "key",
                                                "password-file",
                                                "db",
                                                "queue-max",
                                                "sync",
                                                "turns",
                                                "turns-time",
                                                BWL_TLS_OPTION_CA,
                                                BWL_TLS_OPTION_CERT,
                                                BWL_TLS_OPTION_KEY,
                                                BWL_SENTINEL_OPTION_USER,
                                                BWL_SENTINEL_OPTION_PASSWORD,
                                                NULL };
    static const char *const for_tls[]      = { BWL_TLS_OPTION_CA, BWL_TLS_OPTION_CERT,
                                                BWL_TLS_OPTION_KEY, NULL };
    static const char *const for_sentinel[] = { BWL_SENTINEL_OPTION_USER,
                                                BWL_SENTINEL_OPTION_PASSWORD, NULL };
    int                      status         = BWL_OK;

    if (!is_tls)
        status = check_reserved(url, for_tls, "TLS is rediss://", fault);
    if (status == BWL_OK && !bwl_redis_is_watched(url))
        status = check_reserved(url, for_sentinel, "sentinels are redis+sentinel://", fault);
    return status < 0 ? status : bwl_url_check_options(url, known, fault);
}

int bwl_redis_store_open(bwl_redis_store **ret_store, bwl_host *client, const bwl_url *url,
                         bwl_fault *fault)
{
    bool is_tls = strncmp(url->scheme, "rediss", strlen("rediss")) == 0;
    int  status;

    bwl_redis_store *store = bwl_redis_new(client);
    if (store == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    if ((status = take_place(store, url, fault)) < 0 ||
        (status = take_identity(store, url, fault)) < 0 ||
        (status = take_keys(store, url, fault)) < 0 ||
        (status = take_queue(store, url, fault)) < 0 ||
        (status = take_turns(store, url, fault)) < 0 || (status = check_sync(store, fault)) < 0 ||
        (is_tls && (status = take_tls(store, url, fault)) < 0) ||
        (status = bwl_redis_take_sentinels(store, url, fault)) < 0 ||
        (status = bwl_redis_take_nodes(store, url, fault)) < 0) {
        bwl_redis_free(store);
        return status;
    }
    *ret_store = store;
    return BWL_OK;
}

int bwl_redis_open(bwl_host *client, const bwl_url *url, bwl_fault *fault)
{
    bwl_redis_store *store;
    bool             is_tls = strncmp(url->scheme, "rediss", strlen("rediss")) == 0;
    int              status = check_options(url, is_tls, fault);

    if (status == BWL_OK)
        status = bwl_redis_store_open(&store, client, url, fault);
    if (status == BWL_OK)
        client->store = store;
    return status;
}
