/*
 * sentinels.c -- checks each sentinel of a service, and finds the primary that they name.
 *
 * One sentinel that answers is enough for a lock. So a failure at another one is a warning once a
 * primary is known. Of several primaries, that of the highest epoch counts, as for a lock.
 */
#include "engine/redis/topology/sentinel_service.h"
#include "engine/redis/wire/sentinel.h"
#include "doctor/visit.h"
#include "base/secret.h"

#include <stdio.h>
#include <string.h>

_Static_assert((int)BWL_URL_HOSTS_MAX <= (int)DOCTOR_SENTINELS_MAX,
               "there is room for each of them");

typedef struct service {
    bwl_url url;
    char    name[BWL_SENTINEL_NAME_MAX + 1];
    char   *password; /* of the sentinels; NULL: none                                       */
    bool    is_known;
    bwl_sentinel_answer newest; /* of the sentinels so far */
} service;

static int take_service(service *s, const char *text, bwl_fault *fault)
{
    int status = bwl_url_parse(&s->url, text, fault);

    if (status < 0)
        return status;
    const char *path = s->url.path[0] == '/' ? s->url.path + 1 : s->url.path;
    const char *file = bwl_url_find(&s->url, BWL_SENTINEL_OPTION_PASSWORD);
    (void)snprintf(s->name, sizeof s->name, "%.*s", (int)strcspn(path, "/"), path);
    return file != NULL ? bwl_secret_read(&s->password, file, fault) : BWL_OK;
}

static void report_no_primary(visit *v, const service *s, bwl_sentinel_says says)
{
    const doctor_server *store = &v->store;
    char                 words[120];
    doctor_finding      *f = visit_find(v, "sentinel", DOCTOR_FAILURE);

    visit_why(f, "only a sentinel names the server for locks");
    visit_type(f, "redis-cli -h %.100s -p %u SENTINEL MASTERS", store->host, (unsigned)store->port);
    if (says == BWL_SENTINEL_UNKNOWN) {
        visit_what(f, "it does not monitor %.100s", s->name);
        return;
    }
    if (says != BWL_SENTINEL_ERROR) {
        visit_what(f, "it does not name the primary of %.100s%s%s", s->name,
                   v->link.status < 0 ? ": " : "", v->link.status < 0 ? v->link.fault.text : "");
        return;
    }
    bwl_session_error_text(store->config, words, sizeof words, v->link.frame, v->link.frame_size);
    visit_what(f, "it does not name the primary of %.100s: %s", s->name, words);
    if (bwl_redis_error_is(v->link.frame, v->link.frame_size, "ERR unknown command")) {
        visit_what(f, "this is not a sentinel: %s", words);
        visit_type(f, "%s://%.100s for locks on this server, or the port of a sentinel",
                   store->config->tls != NULL ? "rediss" : "redis", store->where);
    } else if (visit_is_denied(v)) {
        visit_type(f, "ACL SETUSER %.60s " BWL_SENTINEL_RIGHTS ", at the sentinel", visit_user(v));
    }
}

/* The same two commands as for a lock, in the same order.  False: reported. */
static bool query_primary(visit *v, const service *s, bwl_sentinel_answer *ret_answer)
{
    const char *const  state_words[]   = { "SENTINEL", "MASTER", s->name };
    const char *const  address_words[] = { "SENTINEL", "GET-MASTER-ADDR-BY-NAME", s->name };
    bwl_sentinel_state state           = { .epoch = 0 };
    bwl_primary        primary         = { .port = 0 };
    bwl_sentinel_says  says            = BWL_SENTINEL_STRANGE;

    if (link_ask(&v->link, state_words, 3) >= 0)
        says = bwl_sentinel_read_state(&state, v->link.frame, v->link.frame_size);
    if (says != BWL_SENTINEL_FOUND) {
        report_no_primary(v, s, says);
        return false;
    }
    says = BWL_SENTINEL_STRANGE;
    if (link_ask(&v->link, address_words, 3) >= 0)
        says = bwl_sentinel_read(&primary, v->link.frame, v->link.frame_size);
    if (says != BWL_SENTINEL_FOUND) {
        report_no_primary(v, s, says);
        return false;
    }
    *ret_answer = bwl_sentinel_answer_of(&state, &primary);
    return true;
}

static void report_other(visit *v, const service *s, doctor_finding *f,
                         const bwl_sentinel_answer *answer)
{
    const bwl_sentinel_answer *other    = &s->newest;
    const char                *relation = other->epoch > answer->epoch   ? "newer"
                                          : other->epoch < answer->epoch ? "older"
                                                                         : "same";

    f->grade = DOCTOR_WARNING;
    visit_why(f,
              "another sentinel names %.100s:%u, with the %s epoch %llu: a failover is in "
              "progress, or the sentinels are partitioned; the newest epoch is used",
              other->primary.host, (unsigned)other->primary.port, relation,
              (unsigned long long)other->epoch);
    visit_type(f, "redis-cli -h %.100s -p %u SENTINEL SENTINELS %.100s", v->store.host,
               (unsigned)v->store.port, s->name);
}

static void visit_sentinel(visit *v, service *s)
{
    bwl_sentinel_answer answer;

    if (!query_primary(v, s, &answer))
        return;
    doctor_finding *f = visit_find(v, "sentinel", DOCTOR_FINE);
    visit_what(f, "the primary of %.100s is %.100s:%u, epoch %llu%s", s->name, answer.primary.host,
               (unsigned)answer.primary.port, (unsigned long long)answer.epoch,
               answer.is_down ? "; it is down for a quorum of the sentinels" : "");
    if (s->is_known && !bwl_primary_is(&answer.primary, &s->newest.primary)) {
        report_other(v, s, f, &answer);
    } else if (answer.is_down) {
        f->grade = DOCTOR_WARNING;
        visit_why(f, "no lock can be acquired before the failover");
        visit_type(f, "redis-cli -h %.100s -p %u SENTINEL CKQUORUM %.100s", v->store.host,
                   (unsigned)v->store.port, s->name);
    }
    if (!s->is_known || answer.epoch > s->newest.epoch)
        s->newest = answer;
    s->is_known = true;
}

static void visit_sentinels(visit *v, service *s, const bwl_redis_config *of)
{
    static bwl_redis_config config; /* of the sentinels: their user, the TLS of the URL */

    v->asks_sentinel = true;
    config           = (bwl_redis_config){ .topology = BWL_TOPOLOGY_SINGLE,
                                           .tls      = of->tls,
                                           .password = s->password };
    config.user      = (char *)bwl_url_find(&s->url, BWL_SENTINEL_OPTION_USER); /* not changed */
    for (unsigned i = 0; i < s->url.hosts_count; i++) {
        const bwl_url_host *host = &s->url.hosts[i];
        visit_begin(v, doctor_server_at(&config, host->name,
                                        host->port != 0 ? host->port : BWL_SENTINEL_PORT));
        if (visit_reach(v))
            visit_sentinel(v, s);
        link_close(&v->link);
    }
    v->asks_sentinel = false;
}

bool visit_service(visit *v)
{
    static service          s;
    const bwl_redis_config *config = v->store.config;
    bwl_fault               fault  = { 0 };

    s                        = (service){ .is_known = false };
    v->report->servers_count = 0;
    if (take_service(&s, v->url, &fault) == BWL_OK) /* it was parsed before */
        visit_sentinels(v, &s, config);
    if (s.is_known) {
        visit_downgrade(v, -1);
        visit_begin(v, doctor_server_at(config, s.newest.primary.host, s.newest.primary.port));
    }
    bwl_secret_free(s.password);
    s.password = NULL;
    bwl_url_wipe(&s.url);
    return s.is_known;
}
