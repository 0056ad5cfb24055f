/*
 * quorum.c -- several independent Redis servers: the URL, and the checks of each server.  See
 * quorum.h.
 *
 * The servers must be independent: the same address twice, the same process under two names, or
 * nodes of one cluster would have only one vote.  An even number of servers tolerates no more
 * failures than one server less: 4 tolerate one failure, as 3 do, and split their votes more often.
 *
 * A server that started less than a lease ago may have lost a key, and would vote twice for the
 * same time.  So it counts as unavailable until any lost key has expired.
 */
#include "engine/redis/topology/quorum.h"

#include "base/fault.h"
#include "core/text.h"

#include <stdio.h>
#include <string.h>

enum { SERVERS_MIN = 3, MS_PER_SECOND = 1000, PARTS = 1000000 };

static int check_options(const bwl_url *url, bwl_fault *fault)
{
    static const char *const known[] = { BWL_REDIS_OPTIONS, "restart-wait", "drift", NULL };
    static const char *const tls[]   = { BWL_REDIS_OPTIONS, "restart-wait", "drift",
                                         BWL_REDIS_TLS_OPTIONS, NULL };
    bool                     is_tls  = strcmp(url->scheme, "redlocks") == 0;

    if (bwl_url_find(url, "sync") != NULL)
        return bwl_fail(
            fault, BWL_STATUS_UNSUPPORTED,
            "%s: has no sync=: a lock counts when most of its servers have it, and they "
            "have no replicas",
            url->scheme);
    return bwl_url_check_options(url, is_tls ? tls : known, fault);
}

static int check_number(const bwl_url *url, bwl_fault *fault)
{
    unsigned count = url->hosts_count;

    if (count < SERVERS_MIN || count > BWL_NODES_MAX)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "%s: takes 3 to %d hosts, here are %u: %s://HOST1,HOST2:6380,HOST3",
                        url->scheme, BWL_NODES_MAX, count, url->scheme);
    if (count % 2 == 0)
        return bwl_fail(
            fault, BWL_STATUS_USAGE,
            "%s: %u servers tolerate the loss of %u, as %u do, and split their votes more "
            "often: leave one out, or add one",
            url->scheme, count, count / 2 - 1, count - 1);
    return BWL_OK;
}

static int take_restart_wait(bool *ret_trusts, const bwl_url *url, bwl_fault *fault)
{
    const char *text = bwl_url_find(url, "restart-wait");

    *ret_trusts = text != NULL && strcmp(text, "off") == 0;
    if (text == NULL || *ret_trusts || strcmp(text, "on") == 0)
        return BWL_OK;
    return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, restart-wait= must be on or off");
}

/* A drift below the default is accepted as a risk, which the caller is shown.  More than a third of
 * the lease would end a hold before its renewal. */
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
    settings->options.drift_ppm = (uint32_t)((drift_ms * PARTS + lease_ms - 1) / lease_ms);
    if (drift_ms < usual_ms)
        (void)snprintf(
            settings->risk, sizeof settings->risk,
            "drift=%lldms is short of 1%% of the lease and 2ms, which is %lldms: when the "
            "clocks of servers run faster than it covers, two hold the lock",
            (long long)drift_ms, (long long)usual_ms);
    return BWL_OK;
}

int bwl_quorum_check_url(const bwl_url *url, bwl_fault *fault)
{
    int status = check_options(url, fault);

    return status == BWL_OK ? check_number(url, fault) : status;
}

int bwl_quorum_configure(bwl_redis_config *config, bwl_settings *settings, const bwl_url *url,
                         bwl_fault *fault)
{
    int status = take_restart_wait(&config->trusts_young, url, fault);

    if (status == BWL_OK)
        status = take_drift(settings, url, fault);
    if (status == BWL_OK && !config->trusts_young)
        settings->lease_max_ms =
            settings->lease_ms; /* a restarted server has no vote for so long */
    return status;
}

int bwl_quorum_check_last(const bwl_router *router, bwl_fault *fault)
{
    const bwl_session *last = router->sessions;

    while (last->next != NULL)
        last = last->next;
    for (const bwl_session *other = router->sessions; other != last; other = other->next)
        if (strcmp(other->endpoint.text, last->endpoint.text) == 0)
            return bwl_fail(fault, BWL_STATUS_USAGE,
                            "%s is in the URL twice: one server has one vote", last->endpoint.text);
    return BWL_OK;
}

static bool is_field(const char *info, size_t size, const char *mark, const char *text)
{
    size_t      length = 0;
    const char *at     = bwl_redis_info_field(info, size, mark, &length);

    return at != NULL && length == strlen(text) && memcmp(at, text, length) == 0;
}

static int check_process(const bwl_session *session, const char *info, size_t size,
                         bwl_fault *fault)
{
    for (const bwl_session *other = bwl_router_of(session)->sessions; other != NULL;
         other                    = other->next)
        if (other != session && other->server.run_id[0] != '\0' &&
            is_field(info, size, "\nrun_id:", other->server.run_id))
            return bwl_fail(fault, BWL_STATUS_REFUSED,
                                               "%s is the same server as %s: it would have two "
                                                                  "votes",
                                               session->endpoint.text, other->endpoint.text);
    return BWL_OK;
}

/* Without the uptime, lost grants cannot be ruled out.  (If the user may not run INFO, this check
 * is skipped; the documentation names that right.) */
static int check_youth(bwl_session *session, const char *info, size_t size, bwl_fault *fault)
{
    bwl_ms      lease_ms = session->host->settings.lease_ms;
    uint32_t    drift    = session->host->settings.options.drift_ppm;
    size_t      length   = 0;
    const char *at       = bwl_redis_info_field(info, size, "\nuptime_in_seconds:", &length);
    uint64_t    seconds;

    if (session->config->trusts_young || at == NULL ||
        !bwl_number_parse(&seconds, at, length, INT32_MAX) ||
        (bwl_ms)seconds * MS_PER_SECOND >= lease_ms + bwl_drift_named_ms(lease_ms, drift))
        return BWL_OK;
    session->handshake.is_put_off = true;
    return bwl_fail(fault, BWL_STATUS_UNREACHABLE,
                    "%s started %llu s ago and may have lost locks: it has no vote until it has "
                    "run for a lease of %lld ms (restart-wait=off: at once)",
                    session->endpoint.text, (unsigned long long)seconds, (long long)lease_ms);
}

int bwl_quorum_check_info(bwl_session *session, const char *info, size_t size, bwl_fault *fault)
{
    int status = BWL_OK;

    if (is_field(info, size, "\nredis_mode:", "cluster") ||
        is_field(info, size, "\nserver_mode:", "cluster")) /* Valkey's name of the field */
        status =
            bwl_fail(fault, BWL_STATUS_REFUSED,
                     "%s is a node of a cluster: redlock needs servers that are independent "
                     "of each other (for a lock in a cluster: %s+cluster://)",
                     session->endpoint.text, session->config->tls != NULL ? "rediss" : "redis");
    else if (session->server.is_replica)
        status = bwl_fail(fault, BWL_STATUS_REFUSED,
                          "%s is a replica of another server: redlock needs servers that are "
                          "independent of each other; write one that is a primary",
                          session->endpoint.text);
    if (status == BWL_OK)
        status = check_process(session, info, size, fault);
    if (status == BWL_OK)
        status = check_youth(session, info, size, fault);
    return status;
}
