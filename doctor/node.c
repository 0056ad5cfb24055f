/*
 * node.c -- checks a node of a cluster: whether it serves, and its settings for failover. See
 * visit.h.
 */
#include "doctor/visit.h"

#include <stdlib.h>
#include <string.h>

static void check_state(visit *v)
{
    char        state[INFO_VALUE_MAX];
    const char *info = visit_ask(v, "CLUSTER INFO");

    if (info == NULL) {
        if (v->facts.is_cluster || visit_is_denied(v))
            visit_cannot(v, "state", "whether the cluster serves", "+cluster|info");
        return;
    }
    if (!info_text(state, info, "cluster_state"))
        return;
    doctor_finding *f = visit_find(v, "state", DOCTOR_FINE);
    visit_what(f, "the cluster serves (cluster_state:%s)", state);
    if (strcmp(state, "ok") == 0)
        return;
    f->grade = DOCTOR_FAILURE;
    visit_what(f, "the cluster does not serve here (cluster_state:%s)", state);
    visit_why(f, "this node grants and renews no lock (CLUSTERDOWN)");
    visit_type(f, "redis-cli --cluster check %.100s", v->store->where);
}

/* nodes.c reports these settings once for all nodes. */
static void read_settings(visit *v)
{
    char value[INFO_VALUE_MAX];

    if (visit_setting(v, "cluster-node-timeout", value))
        v->facts.node_timeout_ms = strtoll(value, NULL, 10);
    else if (!v->is_dead)
        visit_cannot(v, "failover", "how long a failover takes", "+config|get");
    if (visit_setting(v, "cluster-require-full-coverage", value))
        v->facts.wants_all_slots = strcmp(value, "yes") == 0;
}

void visit_node(visit *v)
{
    if (v->is_dead)
        return;
    check_state(v);
    if (!v->is_dead && v->facts.is_cluster)
        read_settings(v);
}
