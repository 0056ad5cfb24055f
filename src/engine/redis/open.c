/*
 * open.c -- creates the sessions of a client from a URL, and those of a further shard from the
 * first one.
 */
#include "base/fault.h"
#include "base/secret.h"
#include "core/text.h"
#include "engine/redis/redis.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/sentinel.h"
#include "engine/redis/topology/quorum.h"
#include "lock/local_group.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

enum {
    PORT_DEFAULT       = 6379,
    DATABASE_MAX       = 65535,
    QUEUE_DEFAULT_MAX  = 10000,
    QUEUE_MAX          = 1000000000,
    SYNC_ANSWER_MIN_MS = 250,
};

/* ---- the address ----------------------------------------------------------------------------- */

static int take_socket_file(bwl_session *session, const bwl_url *url, bwl_fault *fault)
{
    bwl_address         address = { .size = 0 };
    struct sockaddr_un *to      = (struct sockaddr_un *)&address.socket;
    size_t              size    = strlen(url->path);

    if (size == 0 || (url->host != NULL && url->host[0] != '\0'))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "unix: takes the path of a socket: unix:///run/redis/redis.sock");
    if (size >= sizeof to->sun_path)
        return bwl_fail(fault, BWL_STATUS_USAGE, "the path of a socket has at most %zu bytes",
                        sizeof to->sun_path - 1);
    to->sun_family = AF_UNIX;
    memcpy(to->sun_path, url->path, size + 1);
    address.size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + 1);
    bwl_dialer_set_address(&session->link.dialer, &address);
    (void)snprintf(session->endpoint.text, sizeof session->endpoint.text, "%.100s", url->path);
    return BWL_OK;
}

/* The name is resolved at each attempt to connect. */
static int take_host(bwl_session *session, const bwl_url *url, const bwl_url_host *host,
                     bwl_fault *fault)
{
    bwl_endpoint *endpoint = &session->endpoint;

    if (host->name == NULL || host->name[0] == '\0')
        return bwl_fail(fault, BWL_STATUS_USAGE, "%s: takes a host: %s://127.0.0.1:6379",
                        url->scheme, url->scheme);
    if (strlen(host->name) > BWL_RESOLVE_HOST_MAX)
        return bwl_fail(fault, BWL_STATUS_USAGE, "the name of a host has at most %d characters",
                        BWL_RESOLVE_HOST_MAX);
    endpoint->port = host->port != 0 ? host->port : PORT_DEFAULT;
    (void)snprintf(endpoint->text, sizeof endpoint->text, "%.100s:%u", host->name,
                   (unsigned)endpoint->port);
    return bwl_copy(&endpoint->host, host->name, fault);
}

/* `rest` is the path after the address. */
static int take_database(bwl_redis_config *config, const bwl_url *url, const char *rest,
                         bwl_fault *fault)
{
    const char *option = bwl_url_find(url, "db");
    const char *text   = option != NULL ? option : rest[0] == '/' ? rest + 1 : "";
    uint64_t    number = 0;

    if ((option != NULL || text[0] != '\0') &&
        !bwl_number_parse(&number, text, strlen(text), DATABASE_MAX))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "a Redis database is a number up to %d: redis://HOST/2", DATABASE_MAX);
    config->database = (int64_t)number;
    return BWL_OK;
}

/* ---- credentials ----------------------------------------------------------------------------- */

static int take_credentials(bwl_redis_config *config, const bwl_url *url, bwl_fault *fault)
{
    const char *file   = bwl_url_find(url, "password-file");
    int         status = BWL_OK;

    if (file != NULL && url->password != NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "there is a password in the URL and a password-file= as well");
    if (url->user != NULL && url->user[0] != '\0')
        status = bwl_copy(&config->user, url->user, fault);
    if (status == BWL_OK && url->password != NULL)
        status = bwl_copy(&config->password, url->password, fault);
    if (status == BWL_OK && file != NULL)
        status = bwl_secret_read(&config->password, file, fault);
    if (status == BWL_OK && config->user != NULL && config->password == NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "the URL names a user without a password: write USER:PASSWORD@ or give "
                        "password-file=");
    return status;
}

/* ---- TLS ------------------------------------------------------------------------------------- */

static int take_tls(bwl_redis_config *config, const bwl_url *url, bwl_fault *fault)
{
    bwl_tls_options options = { .ca_file   = bwl_url_find(url, BWL_TLS_OPTION_CA),
                                .cert_file = bwl_url_find(url, BWL_TLS_OPTION_CERT),
                                .key_file  = bwl_url_find(url, BWL_TLS_OPTION_KEY) };

    return bwl_tls_context_new(&config->tls, &options, fault);
}

/* Whether the certificate of such a host can be checked.  Errors are reported when the client is
 * opened. */
static int secure(bwl_session *session, bwl_fault *fault)
{
    const bwl_tls_context *context = session->config->tls;
    bwl_tls               *tls     = NULL;
    int                    status  = bwl_tls_start(&tls, context, session->endpoint.host, fault);

    bwl_tls_free(tls);
    if (status == BWL_OK)
        bwl_stream_secure(&session->link.conn.stream, context, session->endpoint.host);
    return status;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static int take_keys(bwl_redis_config *config, bwl_settings *settings, const bwl_url *url,
                     bwl_fault *fault)
{
    const char *template = bwl_url_find(url, "key");
    const char *wrong    = template != NULL ? bwl_key_template_fault(template) : NULL;

    if (wrong != NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, key=: %s (in a URL, each %% is written %%25: key=lock:%%25s)",
                        wrong);
    int status = bwl_redis_take_profile(config, settings, url, fault);
    if (status < 0)
        return status;
    if (template == NULL && config->profile != NULL)
        template = config->profile->key;
    return template != NULL ? bwl_copy(&config->key_template, template, fault) : BWL_OK;
}

/* ---- the queue ------------------------------------------------------------------------------- */

static int take_queue(bwl_redis_config *config, const bwl_host *host, const bwl_url *url,
                      bwl_fault *fault)
{
    const char *text = bwl_url_find(url, "queue-max");
    uint64_t    max  = QUEUE_DEFAULT_MAX;

    if (text != NULL && !bwl_host_has_queue(host))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, queue-max=: only protocol=queue has a queue on the server");
    if (text != NULL && !bwl_number_parse(&max, text, strlen(text), QUEUE_MAX))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, queue-max= is a number up to %d; 0: any number may wait",
                        QUEUE_MAX);
    config->queue_max = (uint32_t)max;
    return BWL_OK;
}

/* A server in WAIT answers nothing else on the connection, and up to 100 ms longer than requested:
 * this must not count as a time-out. */
static int check_sync(const bwl_settings *settings, bwl_fault *fault)
{
    if (settings->options.replicas == 0 || settings->answer_ms >= SYNC_ANSWER_MIN_MS)
        return BWL_OK;
    return bwl_fail(fault, BWL_STATUS_USAGE,
                    "in the URL, sync= takes a timeout= of %d ms at least, or a lease of three "
                    "times that",
                    SYNC_ANSWER_MIN_MS);
}

/* How many times, and for how long, the threads of this client may hand the lock to each other
 * before other clients get it. */
static int read_handoffs(bwl_host *host, const bwl_url *url, bwl_fault *fault)
{
    bwl_settings *settings = &host->settings;
    const char   *turns    = bwl_url_find(url, "turns");
    const char   *time     = bwl_url_find(url, "turns-time");
    uint64_t      max      = BWL_HANDOFFS_DEFAULT;
    bwl_ms        time_ms  = BWL_HANDOFFS_DEFAULT_MS;

    if ((turns != NULL || time != NULL) && !bwl_host_has_queue(host))
        return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, %s=: only protocol=queue has turns",
                        turns != NULL ? "turns" : "turns-time");
    if (turns != NULL &&
        (!bwl_number_parse(&max, turns, strlen(turns), BWL_HANDOFFS_MAX) || max == 0))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, turns= is a number from 1 to %d; 1: none between threads",
                        BWL_HANDOFFS_MAX);
    if (time != NULL && (!bwl_duration_parse(&time_ms, time, strlen(time)) || time_ms == 0))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, turns-time= is not a duration such as 100ms, 1s");
    settings->handoffs_max = (unsigned)max;
    settings->handoffs_ms  = time_ms;
    return BWL_OK;
}

/* How long a released lock stays with the client.  Call after read_handoffs.  A caller that turns
 * off renewals by a flag keeps none. */
static int read_sticky(bwl_host *host, const bwl_url *url, bwl_fault *fault)
{
    bwl_settings *settings = &host->settings;
    const char   *text     = bwl_url_find(url, "sticky");
    const char   *renew    = bwl_url_find(url, "renew");
    bwl_ms        keep_ms  = 0;

    if (text == NULL)
        return BWL_OK;
    if (!bwl_host_has_queue(host))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, sticky=: only protocol=queue can keep a released lock");
    if (!bwl_duration_parse(&keep_ms, text, strlen(text)) || keep_ms > BWL_STICKY_MAX_MS)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, sticky= is a duration up to %ds, such as 500ms, 1s; 0s: off",
                        BWL_STICKY_MAX_MS / 1000);
    if (keep_ms > 0 && settings->handoffs_max == 1)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, sticky= and turns=1 exclude each other: the next thread would "
                        "get the lock without the server");
    if (keep_ms > 0 && renew != NULL && strcmp(renew, "off") == 0)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, sticky= and renew=off exclude each other: a kept lock has a "
                        "part of its lease left");
    settings->keep_ms = settings->sticks ? keep_ms : 0;
    return BWL_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Rejects options that only other schemes have. */
static int check_reserved(const bwl_url *url, const char *const *names, const char *whose,
                          bwl_fault *fault)
{
    for (; *names != NULL; names++)
        if (bwl_url_find(url, *names) != NULL)
            return bwl_fail(fault, BWL_STATUS_USAGE, "%s: has no option \"%s\": %s", url->scheme,
                            *names, whose);
    return BWL_OK;
}

static bool is_tls(const bwl_url *url)
{
    return strncmp(url->scheme, "rediss", strlen("rediss")) == 0 ||
           strcmp(url->scheme, "redlocks") == 0;
}

static bool ends_with(const char *text, const char *suffix)
{
    size_t size = strlen(text), suffix_size = strlen(suffix);

    return size > suffix_size && strcmp(text + size - suffix_size, suffix) == 0;
}

static bwl_redis_topology topology_of(const bwl_url *url)
{
    if (ends_with(url->scheme, "+sentinel"))
        return BWL_TOPOLOGY_SENTINEL;
    if (ends_with(url->scheme, "+cluster"))
        return BWL_TOPOLOGY_CLUSTER;
    return strncmp(url->scheme, "redlock", strlen("redlock")) == 0 ? BWL_TOPOLOGY_QUORUM
                                                                   : BWL_TOPOLOGY_SINGLE;
}

static int check_options(const bwl_url *url, bwl_fault *fault)
{
    static const char *const known[]        = { BWL_REDIS_OPTIONS,
                                                "protocol",
                                                "protocol-file",
                                                "retry",
                                                "pause",
                                                "buffer",
                                                "guard",
                                                "queue-max",
                                                "sticky",
                                                "sync",
                                                "token",
                                                "turns",
                                                "turns-time",
                                                BWL_REDIS_TLS_OPTIONS,
                                                BWL_SENTINEL_OPTIONS,
                                                NULL };
    static const char *const for_tls[]      = { BWL_REDIS_TLS_OPTIONS, NULL };
    static const char *const for_sentinel[] = { BWL_SENTINEL_OPTIONS, NULL };
    int                      status         = BWL_OK;

    if (topology_of(url) == BWL_TOPOLOGY_QUORUM)
        return bwl_quorum_check_url(url, fault);
    if (!is_tls(url))
        status = check_reserved(url, for_tls, "TLS is rediss://", fault);
    if (status == BWL_OK && topology_of(url) != BWL_TOPOLOGY_SENTINEL)
        status = check_reserved(url, for_sentinel, "sentinels are redis+sentinel://", fault);
    return status < 0 ? status : bwl_url_check_options(url, known, fault);
}

/* Without sessions.  Until open succeeds, only this client uses the config. */
static bwl_redis *redis_new(bwl_host *host, bwl_redis_config *config)
{
    bwl_redis *redis = calloc(1, sizeof *redis);

    if (redis == NULL)
        return NULL;
    redis->router.host   = host;
    redis->router.config = config;
    redis->router.owner  = bwl_redis_owner(config->topology);
    if (config->topology == BWL_TOPOLOGY_CLUSTER) {
        redis->router.cluster = bwl_cluster_new(&redis->router);
        if (redis->router.cluster == NULL) {
            free(redis);
            return NULL;
        }
    }
    return redis;
}

static bwl_session *add_session(bwl_redis *redis, bwl_fault *fault)
{
    bwl_session *session = bwl_router_add(&redis->router);

    if (session == NULL)
        (void)bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    return session;
}

static int open_single(bwl_redis *redis, const bwl_url *url, const char **ret_rest,
                       bwl_fault *fault)
{
    const bwl_url_host host    = { .name = url->host, .port = url->port };
    bool               is_file = strcmp(url->scheme, "unix") == 0;
    bwl_session       *session = add_session(redis, fault);

    if (session == NULL)
        return BWL_STATUS_NOMEM;
    *ret_rest = is_file ? "" : url->path;
    if (is_file)
        return take_socket_file(session, url, fault);
    if (url->host != NULL && url->host[0] != '\0' && url->hosts_count > 1)
        return bwl_fail(fault, BWL_STATUS_USAGE, "%s: takes one host", url->scheme);
    return take_host(session, url, &host, fault);
}

static int open_quorum(bwl_redis *redis, const bwl_url *url, const char **ret_rest,
                       bwl_fault *fault)
{
    *ret_rest = url->path;
    for (unsigned i = 0; i < url->hosts_count; i++) {
        bwl_session *session = add_session(redis, fault);
        if (session == NULL)
            return BWL_STATUS_NOMEM;
        int status = take_host(session, url, &url->hosts[i], fault);
        if (status == BWL_OK)
            status = bwl_quorum_check_last(&redis->router, fault);
        if (status < 0)
            return status;
    }
    redis->router.host->nodes = url->hosts_count;
    return BWL_OK;
}

/* Opens the servers in the URL. */
static int open_servers(bwl_redis *redis, const bwl_url *url, const char **ret_rest,
                        bwl_fault *fault)
{
    switch (redis->router.config->topology) {
    case BWL_TOPOLOGY_SINGLE: return open_single(redis, url, ret_rest, fault);
    case BWL_TOPOLOGY_QUORUM: return open_quorum(redis, url, ret_rest, fault);
    case BWL_TOPOLOGY_CLUSTER: *ret_rest = url->path; return BWL_OK;
    case BWL_TOPOLOGY_SENTINEL:
        return add_session(redis, fault) == NULL
                   ? BWL_STATUS_NOMEM
                   : bwl_sentinel_parse(&redis->router.sessions->endpoint, url, ret_rest, fault);
    }
    bwl_unreachable("a topology outside of its enum");
}

/* Once the config is complete. */
static int finish_servers(bwl_redis *redis, const bwl_url *url, bwl_fault *fault)
{
    bwl_redis_topology topology = redis->router.config->topology;
    int                status   = BWL_OK;

    if (topology == BWL_TOPOLOGY_SENTINEL)
        return bwl_sentinel_open(&redis->router, url, fault);
    if (topology == BWL_TOPOLOGY_CLUSTER)
        return bwl_cluster_add_hosts(redis->router.cluster, url, fault);
    for (bwl_session *each                                     = redis->router.sessions;
         each != NULL && status == BWL_OK && is_tls(url); each = each->next)
        status = secure(each, fault);
    return status;
}

static int configure(bwl_redis *redis, const bwl_url *url, bwl_fault *fault)
{
    bwl_redis_config *config = redis->router.config;
    bwl_host         *host   = redis->router.host;
    const char       *rest   = "";
    int               status;

    if (config->topology == BWL_TOPOLOGY_QUORUM &&
        (status = bwl_quorum_configure(config, &host->settings, url, fault)) < 0)
        return status;
    if ((status = open_servers(redis, url, &rest, fault)) < 0 ||
        (status = take_database(config, url, rest, fault)) < 0 ||
        (status = take_credentials(config, url, fault)) < 0 ||
        (status = take_keys(config, &host->settings, url, fault)) < 0 ||
        (status = take_queue(config, host, url, fault)) < 0 ||
        (status = read_handoffs(host, url, fault)) < 0 ||
        (status = read_sticky(host, url, fault)) < 0 ||
        (status = check_sync(&host->settings, fault)) < 0 ||
        (is_tls(url) && (status = take_tls(config, url, fault)) < 0))
        return status;
    return finish_servers(redis, url, fault);
}

int bwl_redis_open(bwl_host *host, const bwl_url *url, bwl_fault *fault)
{
    int status = check_options(url, fault);

    if (status < 0)
        return status;
    bwl_redis_config *config = bwl_redis_config_new();
    if (config != NULL)
        config->topology = topology_of(url);
    bwl_redis *redis = config != NULL ? redis_new(host, config) : NULL;
    if (redis == NULL) {
        bwl_redis_config_unref(config);
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    }
    host->store = redis;
    status      = configure(redis, url, fault);
    if (status < 0)
        bwl_redis_close(host);
    return status;
}

/* ---- one more shard -------------------------------------------------------------------------- */

static int share_endpoint(bwl_session *session, const bwl_session *of)
{
    if (of->endpoint.host != NULL)
        return bwl_session_set_endpoint(session, of->endpoint.host, of->endpoint.port);
    bwl_dialer_set_address(&session->link.dialer, &of->link.dialer.addresses[0]);
    memcpy(session->endpoint.text, of->endpoint.text, sizeof session->endpoint.text);
    return BWL_OK;
}

static int share_servers(bwl_redis *redis, const bwl_router *of)
{
    if (of->cluster != NULL)
        return bwl_cluster_add_seeds(redis->router.cluster, of->cluster);
    for (const bwl_session *each = of->sessions; each != NULL; each = each->next) {
        bwl_session *session = bwl_router_add(&redis->router);
        if (session == NULL || (of->sentinel == NULL && share_endpoint(session, each) < 0))
            return BWL_STATUS_NOMEM;
    }
    return of->sentinel != NULL ? bwl_sentinel_share(&redis->router, of) : BWL_OK;
}

int bwl_redis_share(bwl_host *host, const bwl_host *first)
{
    const bwl_router *of    = &bwl_redis_of(first)->router;
    bwl_redis        *redis = redis_new(host, of->config);

    if (redis == NULL)
        return BWL_STATUS_NOMEM;
    (void)bwl_redis_config_ref(of->config);
    host->store = redis;
    host->nodes = first->nodes;
    int status  = share_servers(redis, of);
    if (status < 0)
        bwl_redis_close(host);
    return status;
}
