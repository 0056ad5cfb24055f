/*
 * quorum.c -- checks the servers of redlock://: each alone, then all together.
 *
 * A lock needs a majority, so a failure at a minority is a warning. The servers must fail
 * independently: two names of one server, replicas, nodes of one cluster and servers on one machine
 * are reported. So are clocks that differ, because the servers measure the lease.
 */
#include "doctor/visit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MS_PER_SECOND = 1000 };

typedef struct quorum {
    unsigned    count;
    visit_facts of[BWL_NODES_MAX];
} quorum;

/* How many servers may fail. */
static unsigned losses_allowed(const quorum *c)
{
    return (c->count - 1) / 2;
}

static unsigned failing(const quorum *c)
{
    unsigned number = 0;

    for (unsigned i = 0; i < c->count; i++)
        number += c->of[i].fails;
    return number;
}

static bool has_failed(const doctor_report *r, unsigned server)
{
    for (unsigned i = 0; i < r->findings_count; i++)
        if (r->findings[i].server == server && r->findings[i].grade == DOCTOR_FAILURE)
            return true;
    return false;
}

/* A server that has just started has no vote: see engine/redis/topology/quorum.c. */
static void check_uptime(visit *v)
{
    const bwl_settings *s = &v->target->client->host.settings;
    bwl_ms  needed        = s->lease_ms + bwl_drift_named_ms(s->lease_ms, s->options.drift_ppm);
    int64_t ran_s         = v->facts.uptime_s;

    if (v->store.config->trusts_young || ran_s < 0 || ran_s * MS_PER_SECOND >= needed)
        return;
    doctor_finding *f = visit_find(v, "restart", DOCTOR_WARNING);
    visit_what(f, "the server was started %" PRId64 "s ago", ran_s);
    visit_why(
        f, "it may have lost locks, and has no vote until it has run for a lease (%" PRId64 "ms)",
        needed);
    visit_type(f, "wait; or use restart-wait=off if the server never loses an acknowledged write");
}

static void visit_each(visit *v, quorum *c)
{
    for (const bwl_session *s = doctor_redis(v->target)->router.sessions; s != NULL; s = s->next) {
        visit_begin(v, doctor_server_of(s));
        if (visit_reach(v)) {
            visit_all(v);
            check_uptime(v);
        }
        (void)snprintf(v->facts.address, sizeof v->facts.address, "%s", v->link.address);
        link_close(&v->link);
        v->facts.fails    = has_failed(v->report, v->server);
        c->of[c->count++] = v->facts;
    }
    v->server = 0;
}

/* Why two servers are not independent; NULL: no reason found. */
static const char *shared_identity(const visit_facts *a, const visit_facts *b)
{
    if (a->run_id[0] != '\0' && strcmp(a->run_id, b->run_id) == 0)
        return "are the same server";
    if (a->is_cluster && b->is_cluster)
        return "are nodes of one cluster";
    if (a->replid[0] != '\0' && strcmp(a->replid, b->replid) == 0)
        return "have the same data: one replicates the other, or both replicate a third";
    return NULL;
}

static void check_independence(visit *v, quorum *c)
{
    unsigned found = 0;

    for (unsigned i = 1; i < c->count; i++)
        for (unsigned k = 0; k < i; k++) {
            const char *words = shared_identity(&c->of[i], &c->of[k]);
            if (words == NULL)
                continue;
            found++;
            c->of[i].fails    = true;
            doctor_finding *f = visit_find(v, "independence", DOCTOR_FAILURE);
            visit_what(f, "%.120s and %.120s %s", c->of[k].where, c->of[i].where, words);
            visit_why(f, "they fail together but would have two votes, so a majority of them "
                         "proves nothing");
            visit_type(f, "use the URL of an independent server");
            break;
        }
    if (found == 0)
        visit_what(visit_find(v, "independence", DOCTOR_FINE),
                   "the servers that answer are independent: not the same server, cluster or data");
}

/* Servers with the same address are on one machine. */
static void check_machines(visit *v, const quorum *c)
{
    unsigned most = 0, at = 0;

    for (unsigned i = 0; i < c->count; i++) {
        unsigned same = 0;
        for (unsigned k = 0; k < c->count; k++)
            same += c->of[i].address[0] != '\0' && strcmp(c->of[i].address, c->of[k].address) == 0;
        if (same > most) {
            most = same;
            at   = i;
        }
    }
    if (most < 2)
        return;
    doctor_finding *f =
        visit_find(v, "machines", most > losses_allowed(c) ? DOCTOR_WARNING : DOCTOR_NOTE);
    visit_what(f, "%u of %u servers are at %.60s", most, c->count, c->of[at].address);
    visit_why(f, "they fail together; a lock tolerates the loss of %u", losses_allowed(c));
    visit_type(f, "use servers on separate machines");
}

static void check_majority(visit *v, const quorum *c)
{
    unsigned        fail = failing(c);
    doctor_finding *f    = visit_find(v, "majority", DOCTOR_FINE);

    if (fail == 0) {
        visit_what(f, "all %u servers serve: a lock tolerates the loss of %u", c->count,
                   losses_allowed(c));
        return;
    }
    f->grade = fail > losses_allowed(c) ? DOCTOR_FAILURE : DOCTOR_WARNING;
    visit_what(f, "%u of %u servers %s no vote", fail, c->count, fail == 1 ? "has" : "have");
    if (fail > losses_allowed(c))
        visit_why(f, "a lock needs %u of them: acquire fails", c->count - losses_allowed(c));
    else
        visit_why(f, "locks work, and tolerate the loss of %u more", losses_allowed(c) - fail);
    visit_type(f, "see the findings of each server below");
}

void visit_quorum(visit *v)
{
    static quorum c;

    c = (quorum){ .count = 0 };
    visit_each(v, &c);
    check_independence(v, &c);
    check_machines(v, &c);
    visit_clocks(v, c.of, c.count,
                 "when a clock is corrected, keys expire early there; if that server is part of "
                 "a bare majority, two clients hold the lock");
    if (failing(&c) <= losses_allowed(&c))
        visit_downgrade(v, -1);
    check_majority(v, &c);
}
