/*
 * discovery.c -- finds the primary of a service that sentinels monitor.  See sentinel.h.
 *
 *      redis+sentinel://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]].../SERVICE[/DATABASE]
 *
 * Every attempt to connect begins with a query to a sentinel.  The named server is used if its own
 * handshake shows that it is a primary.  A stale sentinel names a replica, or a server that is
 * gone: then the next sentinel is queried in the same attempt, until all were queried or the time
 * is over.  A sentinel that names the same server again adds nothing.
 *
 * A sign that the primary has moved (a message of the sentinel, an error READONLY) closes the
 * connection.  Held locks are then revalidated at the new primary before they count as lost.
 */
#include "engine/redis/topology/discovery.h"

#include "base/fault.h"
#include "base/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_there(const bwl_endpoint *endpoint, const bwl_primary *primary)
{
    return endpoint->host != NULL && endpoint->port == primary->port &&
           strcmp(endpoint->host, primary->host) == 0;
}

static void try_it(bwl_session *session, const bwl_primary *primary)
{
    char         host[sizeof primary->host];
    bwl_endpoint endpoint = { .host = host, .port = primary->port };

    (void)snprintf(host, sizeof host, "%s", primary->host);
    (void)snprintf(endpoint.text, sizeof endpoint.text, "%.40s (%.60s:%u)",
                   bwl_sentinel_service(bwl_router_of(session)->sentinel), primary->host,
                   (unsigned)primary->port);
    bwl_session_found(session, &endpoint);
}

static void on_found(bwl_session *session, const bwl_primary *primary, const bwl_fault *fault)
{
    const bwl_session_attempt *attempt  = &session->attempt;
    bwl_sentinel              *sentinel = bwl_router_of(session)->sentinel;

    if (primary == NULL)
        bwl_session_not_found(session, fault);
    else if (attempt->candidate.status == 0 || !is_there(&session->endpoint, primary))
        try_it(session, primary);
    else if (!bwl_sentinel_try_next(sentinel, attempt->until))
        bwl_session_not_found(session, &attempt->candidate);
}

static void on_moved(bwl_session *session, const bwl_primary *primary)
{
    bwl_fault fault;

    (void)bwl_fail(&fault, BWL_STATUS_UNREACHABLE, "%s is not the primary any more, %.60s:%u is",
                   session->endpoint.text, primary->host, (unsigned)primary->port);
    bwl_session_break(session, &fault, false);
}

static void heard(void *arg, const bwl_primary *primary, const bwl_fault *fault)
{
    bwl_router  *router  = arg;
    bwl_session *session = router->sessions;
    bool         is_new  = primary != NULL && !is_there(&session->endpoint, primary);

    switch (session->phase) {
    case BWL_SESSION_DOWN:
    case BWL_SESSION_BACKOFF: break; /* the next attempt queries again */
    case BWL_SESSION_DISCOVERING: on_found(session, primary, fault); break;
    case BWL_SESSION_RESOLVING:
    case BWL_SESSION_CONNECTING:
    case BWL_SESSION_HANDSHAKE:
        if (is_new)
            try_it(session, primary);
        break;
    case BWL_SESSION_READY:
        if (is_new)
            on_moved(session, primary);
        break;
    }
    session->owner->on_change(session);
}

static void stirred(void *arg)
{
    bwl_router *router = arg;

    router->owner->on_change(router->sessions);
}

void bwl_discovery_start(bwl_session *session)
{
    bwl_sentinel_discover(bwl_router_of(session)->sentinel);
}

bool bwl_discovery_next(bwl_session *session, bwl_ms until)
{
    return bwl_sentinel_try_next(bwl_router_of(session)->sentinel, until);
}

int bwl_discovery_check_hello(bwl_session *session, const bwl_hello *hello, bwl_fault *fault)
{
    int status = bwl_single_check_hello(session, hello, fault);

    if (status < 0 || bwl_resp_text_is(&hello->role, "master"))
        return status;
    return bwl_fail(fault, BWL_STATUS_UNREACHABLE,
                    "%s is a replica, and the sentinel names it as the primary",
                    session->endpoint.text);
}

bool bwl_discovery_is_demoted(const bwl_session *session, const char *bytes, size_t size)
{
    (void)session;
    return bwl_redis_error_is(bytes, size, "READONLY");
}

bool bwl_discovery_has_moved(const bwl_session *session)
{
    const bwl_endpoint *served = &bwl_router_of(session)->served;
    const bwl_endpoint *now    = &session->endpoint;

    return served->host != NULL &&
           (now->port != served->port || strcmp(now->host, served->host) != 0);
}

/* Out of memory: the next connection counts as one to the same server. */
void bwl_discovery_served(bwl_session *session)
{
    bwl_endpoint *served = &bwl_router_of(session)->served;

    free(served->host);
    served->host = strdup(session->endpoint.host);
    served->port = session->endpoint.port;
}

int bwl_discovery_parse(bwl_endpoint *ret_endpoint, const bwl_url *url, const char **ret_rest,
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
    (void)snprintf(ret_endpoint->text, sizeof ret_endpoint->text, "%.*s",
                   (int)(size < 100 ? size : 100), name);
    *ret_rest = name + size;
    return BWL_OK;
}

int bwl_discovery_open(bwl_router *router, const bwl_url *url, bwl_fault *fault)
{
    const char *file = bwl_url_find(url, BWL_SENTINEL_OPTION_PASSWORD);
    const char *name = url->path[0] == '/' ? url->path + 1 : url->path;
    char        service[BWL_SENTINEL_NAME_MAX + 1];
    char       *password = NULL;
    int         status   = BWL_OK;

    (void)snprintf(service, sizeof service, "%.*s", (int)strcspn(name, "/"), name);
    bwl_sentinel_plan plan = { .hosts       = url->hosts,
                               .hosts_count = url->hosts_count,
                               .service     = service,
                               .user        = bwl_url_find(url, BWL_SENTINEL_OPTION_USER),
                               .tls         = router->config->tls,
                               .heard       = heard,
                               .stirred     = stirred,
                               .arg         = router };
    if (plan.user != NULL && file == NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "the URL names a user of the sentinels without a password: give "
                        "sentinel-password-file=");
    if (file != NULL)
        status = bwl_secret_read(&password, file, fault);
    plan.password = password;
    if (status == BWL_OK)
        status = bwl_sentinel_new(&router->sentinel, router->host, &plan, fault);
    bwl_secret_free(password);
    return status;
}

int bwl_discovery_share(bwl_router *router, const bwl_router *of)
{
    (void)snprintf(router->sessions->endpoint.text, sizeof router->sessions->endpoint.text,
                   "%.100s", bwl_sentinel_service(of->sentinel));
    return bwl_sentinel_copy(&router->sentinel, router->host, of->sentinel, router);
}
