/*
 * nodes.c -- checks a cluster: the nodes of the URL, then those that they name, then all of them
 * together.
 *
 * Clients connect to the address that a node announces.  So each node is checked by that address,
 * from this machine: an address that only the nodes can reach is the most frequent mistake.  A
 * failure at a replica is a warning, because it matters only after a failover.
 */
#include "doctor/visit.h"
#include "engine/redis/topology/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NOBODY         = 0,
    NOWHERE        = UINT16_MAX,
    PRIMARIES_MIN  = 3,
    SWITCH_MS      = 2000,
    ROOM_OF_ONE    = 64,
    MS_OF_ROUNDING = 1000
};

typedef struct node {
    bwl_primary at;
    bool        is_named; /* in a slot map; otherwise only in the URL */
    bool        is_primary;
    bool        is_replica;
    bool        is_reached;
} node;

typedef struct look {
    node        nodes[DOCTOR_NODES_MAX];
    visit_facts of[DOCTOR_NODES_MAX];
    unsigned    count;
    unsigned    left_out;
    unsigned    looked_at;
    int         mapper;                    /* the node whose map is used; below 0: none */
    uint16_t    owners[BWL_CLUSTER_SLOTS]; /* index of the node, from 1 */
} look;

/* ---- the nodes ------------------------------------------------------------------------------- */

/* Returns the index from 1, or NOWHERE if there are too many. */
static uint16_t place_of(look *l, const bwl_primary *at)
{
    for (unsigned i = 0; i < l->count; i++)
        if (bwl_primary_is(&l->nodes[i].at, at))
            return (uint16_t)(i + 1);
    if (l->count == DOCTOR_NODES_MAX) {
        l->left_out++;
        return NOWHERE;
    }
    l->nodes[l->count] = (node){ .at = *at };
    return (uint16_t)++l->count;
}

static bool is_host(bwl_resp_value host)
{
    if (host.size == 0 || host.size > BWL_PRIMARY_HOST_MAX || (host.size == 1 && *host.text == '?'))
        return false;
    for (size_t i = 0; i < host.size; i++)
        if (host.text[i] <= ' ' || host.text[i] > '~')
            return false;
    return true;
}

/* [host, port, id, ...]. NOWHERE: the address is unknown.  False: not a node. */
static bool read_node(look *l, const visit *v, bwl_resp_cursor *cursor, uint16_t *ret_place)
{
    bwl_resp_value all, host, port, other;
    bwl_primary    at = { .port = 0 };

    if (!bwl_resp_next_bare(cursor, &all) || all.type != '*' || all.count < 2 ||
        !bwl_resp_next_bare(cursor, &host) || !bwl_resp_next_bare(cursor, &port) ||
        port.type != ':')
        return false;
    for (uint32_t i = 2; i < all.count; i++) {
        if (!bwl_resp_next_bare(cursor, &other))
            return false;
        bwl_resp_skip(cursor, &other);
    }
    *ret_place     = NOWHERE;
    bool is_sender = host.text == NULL || host.size == 0; /* the address of the node that replies */
    if (port.integer <= 0 || port.integer > UINT16_MAX || (!is_sender && !is_host(host)))
        return true;
    if (is_sender)
        (void)snprintf(at.host, sizeof at.host, "%s", v->store.host);
    else
        (void)snprintf(at.host, sizeof at.host, "%.*s", (int)host.size, host.text);
    at.port    = (uint16_t)port.integer;
    *ret_place = place_of(l, &at);
    if (*ret_place != NOWHERE)
        l->nodes[*ret_place - 1].is_named = true;
    return true;
}

/* Reads the reply to CLUSTER SLOTS.  False: malformed. */
static bool read_map(look *l, const visit *v, uint16_t ret_owners[BWL_CLUSTER_SLOTS])
{
    bwl_resp_cursor cursor = bwl_resp_begin(v->link.frame, v->link.frame_size);
    bwl_resp_value  all, range, first, last;

    if (!bwl_resp_next_bare(&cursor, &all) || all.type != '*')
        return false;
    for (uint32_t r = 0; r < all.count; r++) {
        if (!bwl_resp_next_bare(&cursor, &range) || range.type != '*' || range.count < 3 ||
            !bwl_resp_next_bare(&cursor, &first) || !bwl_resp_next_bare(&cursor, &last) ||
            first.type != ':' || last.type != ':' || first.integer < 0 ||
            last.integer >= BWL_CLUSTER_SLOTS)
            return false;
        for (uint32_t i = 2; i < range.count; i++) {
            uint16_t place;
            if (!read_node(l, v, &cursor, &place))
                return false;
            if (place != NOWHERE && i == 2)
                l->nodes[place - 1].is_primary = true;
            else if (place != NOWHERE)
                l->nodes[place - 1].is_replica = true;
            for (int64_t slot = first.integer; i == 2 && slot <= last.integer; slot++)
                ret_owners[slot] = place;
        }
    }
    return true;
}

static void check_map(visit *v, look *l, unsigned i)
{
    static uint16_t owners[BWL_CLUSTER_SLOTS];
    unsigned        others = 0;

    memset(owners, 0, sizeof owners);
    if (visit_ask(v, "CLUSTER SLOTS") == NULL || !read_map(l, v, owners)) {
        if (visit_is_denied(v)) /* otherwise it is not a cluster node, which is found below */
            visit_cannot(v, "map", "which node has which slot", "+cluster|slots");
        return;
    }
    if (l->mapper < 0) {
        l->mapper = (int)i;
        memcpy(l->owners, owners, sizeof owners);
        return;
    }
    for (unsigned slot = 0; slot < BWL_CLUSTER_SLOTS; slot++)
        others += owners[slot] != l->owners[slot];
    if (others == 0)
        return;
    doctor_finding *f = visit_find(v, "map", DOCTOR_WARNING);
    visit_what(f, "in %u slots its map differs from that of %.100s", others,
               l->of[l->mapper].where);
    visit_why(f, "a slot has just moved, or the cluster is partitioned: two nodes may grant the "
                 "same lock");
    visit_type(f, "redis-cli --cluster check %.100s", v->store.where);
}

/* ---- one by one ------------------------------------------------------------------------------ */

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
    visit_type(f, "redis-cli --cluster check %.100s", v->store.where);
}

/* They are reported once for all nodes. */
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

/* Explains the last finding: the address is announced by the cluster, it is not in the URL. */
static void explain_announced(visit *v)
{
    doctor_finding *f = &v->report->findings[v->report->findings_count - 1];

    if (strcmp(f->check, "resolve") != 0 && strcmp(f->check, "connect") != 0)
        return;
    visit_why(f, "the cluster announces this address, and clients connect to it: no lock of its "
                 "slots can be acquired (behind NAT or in a container, nodes announce addresses "
                 "that only they can reach)");
    visit_type(f, "CONFIG SET cluster-announce-hostname, or cluster-announce-ip and -port, on "
                  "that node");
}

static void check_one(visit *v, look *l, unsigned i)
{
    node *n = &l->nodes[i];

    visit_begin(v, doctor_server_at(v->store.config, n->at.host, n->at.port));
    n->is_reached = visit_reach(v);
    if (n->is_reached) {
        check_map(v, l, i);
        visit_server(v);
        if (!v->is_dead)
            check_state(v);
        if (!v->is_dead && v->facts.is_cluster)
            read_settings(v);
        if (!v->facts.is_replica) /* its primary decides */
            visit_memory(v);
        visit_rights(v);
        if (!v->facts.is_replica)
            visit_foreign_locks(v);
    } else if (n->is_named) {
        explain_announced(v);
    }
    if (n->is_replica && !n->is_primary)
        visit_downgrade(v, (int)v->server);
    link_close(&v->link);
    l->of[i] = v->facts;
    l->looked_at++;
}

/* ---- the cluster as a whole ------------------------------------------------------------------ */

static void check_slots(visit *v, const look *l)
{
    unsigned primaries = 0, replicas = 0, free = 0, nowhere = 0;

    for (unsigned i = 0; i < l->count; i++) {
        primaries += l->nodes[i].is_primary;
        replicas += !l->nodes[i].is_primary && l->nodes[i].is_replica;
    }
    for (unsigned slot = 0; slot < BWL_CLUSTER_SLOTS; slot++) {
        free += l->owners[slot] == NOBODY;
        nowhere += l->left_out == 0 && l->owners[slot] == NOWHERE;
    }
    doctor_finding *f = visit_find(v, "slots", DOCTOR_FINE);
    visit_what(f, "all of %d slots are served; primaries: %u, replicas: %u", BWL_CLUSTER_SLOTS,
               primaries, replicas);
    if (nowhere > 0) {
        f->grade = DOCTOR_FAILURE;
        visit_what(f, "%u slots are on a node whose address the cluster does not announce",
                   nowhere);
        visit_why(f, "no lock of these slots can be acquired");
        visit_type(f, "CONFIG SET cluster-announce-hostname on that node%s",
                   v->store.config->tls != NULL ? ", which also needs a tls-port" : "");
    } else if (free > 0) {
        f->grade = DOCTOR_FAILURE;
        visit_what(f, "%u of %d slots have no node", free, BWL_CLUSTER_SLOTS);
        visit_why(f, "no lock of these slots can be acquired; with cluster-require-full-coverage "
                     "yes, the default, no lock at all (CLUSTERDOWN)");
        visit_type(f, "redis-cli --cluster fix %.100s", l->of[l->mapper].where);
    } else if (primaries < PRIMARIES_MIN) {
        f->grade = DOCTOR_WARNING;
        visit_why(f,
                  "with %u primaries, a failover needs %u votes, so no replica can replace a "
                  "failed one",
                  primaries, primaries / 2 + 1);
        visit_type(f, "use at least three primaries, on separate machines");
    }
}

/* The longest timeout counts; a replica uses its own setting.  A lease is renewed after a third, so
 * two thirds are left when its node fails. */
static void check_failover(visit *v, const look *l)
{
    int64_t lease_ms   = v->target->client->host.settings.lease_ms;
    int64_t left_ms    = lease_ms / 3 * 2;
    int64_t timeout_ms = 0;
    bool    differ     = false;

    for (unsigned i = 0; i < l->count; i++) {
        int64_t its = l->of[i].node_timeout_ms;
        differ      = differ || (its != 0 && timeout_ms != 0 && its != timeout_ms);
        timeout_ms  = its > timeout_ms ? its : timeout_ms;
    }
    if (timeout_ms == 0)
        return;
    doctor_finding *f = visit_find(v, "failover", DOCTOR_FINE);
    visit_what(f, "cluster-node-timeout is %" PRId64 "ms%s, a lease is %" PRId64 "ms", timeout_ms,
               differ ? " at most (the nodes differ)" : "", lease_ms);
    if (timeout_ms + SWITCH_MS <= left_ms)
        return;
    f->grade = DOCTOR_WARNING;
    visit_why(f,
              "a failover takes %" PRId64 "ms or more; a lease may have only %" PRId64 "ms left, "
              "so the hold is LOST",
              timeout_ms + SWITCH_MS, left_ms);
    visit_type(f, "?lease=%" PRId64 "ms, or CONFIG SET cluster-node-timeout on every node",
               (timeout_ms + SWITCH_MS) / 2 * 3 + MS_OF_ROUNDING);
}

static void check_coverage(visit *v, const look *l)
{
    for (unsigned i = 0; i < l->count; i++) {
        if (l->of[i].wants_all_slots != 1)
            continue;
        doctor_finding *f = visit_find(v, "coverage", DOCTOR_NOTE);
        visit_what(f, "cluster-require-full-coverage is yes at %.100s", l->of[i].where);
        visit_why(f, "if some slots have no node, no lock at all can be acquired or renewed "
                     "(CLUSTERDOWN)");
        visit_type(f, "CONFIG SET cluster-require-full-coverage no on every node, to keep the "
                      "other slots usable");
        return;
    }
}

static void check_number(visit *v, const look *l)
{
    if (l->left_out == 0 && l->looked_at == l->count)
        return;
    doctor_finding *f = visit_find(v, "nodes", DOCTOR_UNKNOWN);
    visit_what(f, "only %u nodes were checked", l->looked_at);
    visit_type(f, "to check the others, name them in the URL");
}

static void check_all(visit *v, look *l)
{
    if (l->mapper < 0) {
        doctor_finding *f = visit_find(v, "slots", DOCTOR_FAILURE);
        visit_what(f, "no node of the URL returns the slot map");
        visit_why(f, "a client needs the slot map of one of them to acquire a lock");
        visit_type(f, "see the findings of each server below");
        return;
    }
    for (unsigned i = 0; i < l->count; i++)
        if (!l->nodes[i].is_named && !l->nodes[i].is_reached)
            visit_downgrade(v, (int)i + 1); /* one node that answers is enough */
    check_slots(v, l);
    check_failover(v, l);
    check_coverage(v, l);
    visit_clocks(v, l->of, l->count,
                 "after a failover to a node whose clock is behind, fences are lower than "
                 "earlier ones; when the clock is corrected, leases end early or late");
    check_number(v, l);
}

void visit_nodes(visit *v)
{
    const bwl_router *router = &doctor_redis(v->target)->router;
    static look       l;

    l               = (look){ .mapper = -1 };
    v->store.config = router->config;
    for (unsigned i = 0; i < router->cluster->seeds_count; i++)
        (void)place_of(&l, &router->cluster->seeds[i]);
    for (unsigned i = 0;
         i < l.count && v->report->findings_count + ROOM_OF_ONE < DOCTOR_FINDINGS_MAX; i++)
        check_one(v, &l, i);
    v->server = 0;
    check_all(v, &l);
}
