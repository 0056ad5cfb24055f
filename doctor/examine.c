/*
 * examine.c -- opens a URL and runs the checks for its kind. See doctor.h.
 */
#include "doctor/doctor.h"
#include "doctor/visit.h"

#include <stdio.h>
#include <string.h>

const char *doctor_grade_name(doctor_grade grade)
{
    switch (grade) {
    case DOCTOR_FINE: return "ok";
    case DOCTOR_NOTE: return "note";
    case DOCTOR_UNKNOWN: return "unknown";
    case DOCTOR_WARNING: return "warning";
    case DOCTOR_FAILURE: return "failure";
    }
    bwl_unreachable("a grade outside of its enum");
}

doctor_grade doctor_worst(const doctor_report *report)
{
    doctor_grade worst = DOCTOR_FINE;

    for (unsigned i = 0; i < report->findings_count; i++)
        if (report->findings[i].grade > worst)
            worst = report->findings[i].grade;
    return worst;
}

static void visit_redis(visit *v)
{
    const bwl_router *router = &doctor_redis(v->target)->router;

    v->store = doctor_server_of(router->sessions);
    if (router->sentinel != NULL && !visit_service(v))
        return;
    if (visit_reach(v))
        visit_all(v);
    link_close(&v->link);
}

void doctor_examine(doctor_report *ret_report, const char *url, uint32_t lease_ms)
{
    doctor_report *r = ret_report;
    doctor_target  target;
    bwl_fault      fault = { 0 };
    static visit   v; /* its link is large */

    *r = (doctor_report){ .servers_count = 1 };
    v  = (visit){ .report = r, .target = &target, .url = url };
    if (doctor_target_open(&target, url, lease_ms, &fault) < 0) {
        doctor_finding *f     = visit_find(&v, "url", DOCTOR_FAILURE);
        const char     *to_do = strstr(fault.text, ".  "); /* what to do follows */
        size_t          size  = to_do != NULL ? (size_t)(to_do - fault.text) : strlen(fault.text);
        visit_what(f, "there can be no lock there: %.*s", (int)size, fault.text);
        visit_why(f, "%s", to_do != NULL ? to_do + 3 : "");
        visit_type(f, "man 7 bowline, URLS");
        (void)snprintf(r->servers[0], DOCTOR_NAME_MAX, "(none)");
        return;
    }
    (void)snprintf(r->servers[0], DOCTOR_NAME_MAX, "%s", target.place);
    if (target.is_redis || target.is_quorum)
        (void)snprintf(r->protocol, sizeof r->protocol, "%s", target.protocol->name);
    if (target.client->host.settings.risk[0] != '\0') {
        doctor_finding *f = visit_find(&v, "url", DOCTOR_WARNING);
        visit_what(f, "%s", target.client->host.settings.risk);
        if (target.is_quorum)
            visit_type(f, "use a URL without drift=, or with a larger value");
        else
            visit_why(f, "the URL accepts this risk (accept-risk=1); bowline cannot remove it");
    }
    if (target.is_cluster)
        visit_nodes(&v);
    else if (target.is_redis)
        visit_redis(&v);
    else if (target.is_quorum)
        visit_quorum(&v);
    else
        visit_local(&v);
    bwl_shard_close(target.client);
}
