/*
 * server.c -- checks a server: version, replication, clock, round trip.
 */
#include "doctor/visit.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VERSION_MAJOR_MIN = 6,
    VERSION_MINOR_MIN = 2,
    VERSION_OF_SHARDS = 7,
    PINGS             = 7,
    SKEW_MAX_US       = 2000000,
    US_PER_MS         = 1000,
};

/* ---- the version ----------------------------------------------------------------------------- */

static bool is_old(const visit *v)
{
    const char *dot   = strchr(v->version, '.');
    unsigned    minor = dot != NULL ? (unsigned)strtoul(dot + 1, NULL, 10) : 0;

    return v->major < VERSION_MAJOR_MIN ||
           (v->major == VERSION_MAJOR_MIN && minor < VERSION_MINOR_MIN);
}

static void check_version(visit *v)
{
    bool            listens = v->target->protocol->uses_push;
    doctor_finding *f       = visit_find(v, "version", DOCTOR_FINE);

    if (v->version[0] != '\0' && is_old(v)) {
        f->grade = DOCTOR_FAILURE;
        visit_what(f, "Redis %s is too old: bowline needs 6.2 or newer", v->version);
        visit_why(f, "bowline refuses it");
        visit_type(f, "a newer server");
    } else if (v->major != 0 && v->major < VERSION_OF_SHARDS && listens && v->target->is_cluster) {
        f->grade = DOCTOR_FAILURE;
        visit_what(f, "Redis %s: in a cluster protocol queue needs 7.0", v->version);
        visit_why(f, "bowline refuses it: in a cluster only SPUBLISH reaches the waiters of a "
                     "slot");
        visit_type(f, "a newer server, or ?protocol=token");
    } else if (v->is_resp2 && listens) {
        f->grade = DOCTOR_FAILURE;
        visit_what(f, "the server does not know HELLO 3, or user %.60s may not", visit_user(v));
        visit_why(f, "bowline refuses protocol queue: it receives pushes and replies on one "
                     "connection");
        visit_type(f, "ACL SETUSER %.60s +hello; a proxy that lets HELLO pass; or protocol=token",
                   visit_user(v));
    } else {
        visit_what(f, "version %s, %s%s", v->version[0] != '\0' ? v->version : "not known",
                   v->is_resp2 ? "RESP2" : "RESP3",
                   !listens                        ? ""
                   : v->major >= VERSION_OF_SHARDS ? "; waiters get SPUBLISH"
                                                   : "; waiters get PUBLISH");
    }
}

/* Valkey uses another name. */
static bool mode_text(char ret_mode[INFO_VALUE_MAX], const char *info)
{
    return info_text(ret_mode, info, "redis_mode") || info_text(ret_mode, info, "server_mode");
}

static void check_mode(visit *v, const char *info)
{
    char mode[INFO_VALUE_MAX];
    bool wants_cluster = v->target->is_cluster;

    if (!mode_text(mode, info) || strcmp(mode, wants_cluster ? "cluster" : "standalone") == 0)
        return;
    const char     *tls = v->store.config->tls != NULL ? "s" : "";
    doctor_finding *f   = visit_find(v, "mode", DOCTOR_FAILURE);
    visit_what(f, "the server runs as %s%s", mode, wants_cluster ? ", not as a cluster node" : "");
    visit_why(f, wants_cluster ? "bowline needs the slot map of a cluster, and this server has none"
                               : "this URL names one server, and bowline follows no redirect");
    if (strcmp(mode, "sentinel") == 0)
        visit_type(f, "use the URL of a single server: the primary that this sentinel watches");
    else if (wants_cluster)
        visit_type(f, "redis%s://%.200s", tls, v->store.where);
    else if (strcmp(mode, "cluster") == 0 && !v->target->is_quorum)
        visit_type(f, "redis%s+cluster://%.200s", tls, v->store.where);
    else
        visit_type(f, "use the URL of a single server");
}

/* ---- replication ----------------------------------------------------------------------------- */

static void check_replica(visit *v, const char *info)
{
    char master[INFO_VALUE_MAX];

    (void)info_text(master, info, "master_host");
    v->facts.is_replica = true;
    if (v->facts.is_cluster && v->target->is_cluster) {
        char            link[INFO_VALUE_MAX];
        doctor_finding *r = visit_find(v, "role", DOCTOR_FINE);
        visit_what(r, "a replica of %s:%" PRId64, master, info_number(info, "master_port", 0));
        if (!info_text(link, info, "master_link_status") || strcmp(link, "up") == 0)
            return;
        r->grade = DOCTOR_WARNING;
        visit_why(r, "its link to the primary is down: after a failover it would lack all newer "
                     "locks");
        visit_type(r, "redis-cli -h %.100s -p %u INFO replication", v->store.host,
                   (unsigned)v->store.port);
        return;
    }
    doctor_finding *f = visit_find(v, "role", DOCTOR_FAILURE);
    visit_what(f, "the server is a replica (READONLY) of %s:%" PRId64, master,
               info_number(info, "master_port", 0));
    visit_why(f, "a replica is read-only: acquire is REFUSED");
    visit_type(f, "use the URL of its primary: redis://%s:%" PRId64, master,
               info_number(info, "master_port", 0));
}

static void check_master(visit *v, const char *info)
{
    int64_t         replicas = info_number(info, "connected_slaves", 0);
    int64_t         good     = info_number(info, "min_slaves_good_slaves", -1);
    doctor_finding *f        = visit_find(v, "role", DOCTOR_FINE);

    if (replicas < v->target->replicas) {
        f->grade = DOCTOR_FAILURE;
        visit_what(f, "a primary with %" PRId64 " of the %u replicas that sync= requires", replicas,
                   v->target->replicas);
        visit_why(f, "a lock counts only when they have it: acquire fails");
        visit_type(f, "start replicas, or require fewer in the URL: sync=1");
        return;
    }
    if (replicas == 0) {
        visit_what(f, "a primary without replicas");
        if (v->facts.is_cluster && v->target->is_cluster) {
            f->grade = DOCTOR_WARNING;
            visit_why(f, "if it fails, no node serves its slots, and no lock of these slots can "
                         "be acquired until it is back");
            visit_type(f, "redis-cli --cluster add-node HOST:PORT %.100s --cluster-slave",
                       v->store.where);
        }
        return;
    }
    visit_what(f, "a primary with %" PRId64 " replica%s", replicas, replicas == 1 ? "" : "s");
    f->grade = DOCTOR_WARNING;
    if (v->target->is_quorum) {
        visit_why(f, "after a failover the replica may lack a lock that is held, and vote for "
                     "another holder: with redlock, an address must always be the same server");
        visit_type(f, "disable failover for this server; the holders restore their locks on an "
                      "empty one");
        return;
    }
    visit_why(f, "replication is asynchronous: after a failover the new primary may lack a lock "
                 "that is held, and another client acquires it; a fence detects that");
    if (good < 0) /* INFO has this line only with min-replicas-to-write */
        visit_type(f, "CONFIG SET min-replicas-to-write 1, so that an isolated primary stops "
                      "granting locks; and fence your writes");
    else {
        f->grade = DOCTOR_NOTE;
        visit_type(f, "fence your writes: docs/fencing.md");
    }
}

static void check_role(visit *v)
{
    char        role[INFO_VALUE_MAX];
    const char *info = visit_ask(v, "INFO replication");

    if (info != NULL)
        (void)info_text(v->facts.replid, info, "master_replid");
    if (info == NULL)
        visit_cannot(v, "role", "role and replicas", "+info");
    else if (info_text(role, info, "role") && strcmp(role, "slave") == 0)
        check_replica(v, info);
    else
        check_master(v, info);
}

/* ---- the clock ------------------------------------------------------------------------------- */

/* Reads the reply to TIME.  False: malformed. */
static bool read_time(const visit *v, int64_t *ret_us)
{
    static const int64_t SECONDS_MAX = INT64_MAX / 2000000;

    char    text[INFO_VALUE_MAX];
    char   *end;
    int64_t parts[2];

    for (unsigned i = 0; i < 2; i++) {
        if (!visit_part(v, i, text))
            return false;
        parts[i] = strtoll(text, &end, 10);
        if (end == text || parts[i] < 0 || parts[i] > SECONDS_MAX)
            return false;
    }
    *ret_us = parts[0] * 1000000 + parts[1];
    return true;
}

/* The protocol compares timestamps of this machine with those of others. */
static bool uses_our_clock(const visit *v)
{
    const bwl_compat_rules *rules = v->target->client->host.settings.options.rules;

    return v->target->protocol->uses_wall && rules != NULL && rules->clock != BWL_CLOCK_OF_SERVER;
}

static void check_clock(visit *v)
{
    int64_t     before = (int64_t)bwl_clock_wall_us();
    const char *answer = visit_ask(v, "TIME");
    int64_t     after  = (int64_t)bwl_clock_wall_us();
    int64_t     server;

    if (answer == NULL || !read_time(v, &server)) {
        visit_cannot(v, "clock", "the server's clock", "+time");
        return;
    }
    int64_t ahead       = server > after ? server - after : server < before ? server - before : 0;
    int64_t off         = ahead < 0 ? -ahead : ahead;
    v->facts.tells_time = true;
    v->facts.ahead_us   = ahead;
    doctor_finding *f   = visit_find(v, "clock", DOCTOR_FINE);
    if (off < SKEW_MAX_US) {
        visit_what(f, "the clocks of the server and of this machine are %" PRId64 "ms apart",
                   off / US_PER_MS);
        return;
    }
    f->grade = DOCTOR_WARNING;
    visit_what(f, "the clock of the server is %" PRId64 "s %s the clock of this machine",
               off / 1000000, ahead > 0 ? "ahead of" : "behind");
    if (uses_our_clock(v))
        visit_why(f, "this protocol compares the clocks of several machines: a client whose "
                     "clock is ahead takes locks that are held");
    else
        visit_why(f, "a lease is a duration, so the offset does not matter; but when the clock is "
                     "corrected, leases end early or late, and fences follow the clock");
    visit_type(f, "on each machine: timedatectl, chronyc tracking");
}

/* ---- the round trip -------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void check_round_trip(visit *v)
{
    int64_t took[PINGS];
    bwl_ms  lease_ms = v->target->client->host.settings.lease_ms;

    for (unsigned i = 0; i < PINGS; i++) {
        uint64_t before = bwl_clock_wall_us();
        if (visit_ask(v, "PING") == NULL && !v->is_dead && !visit_is_denied(v))
            return; /* an error is a reply too */
        took[i] = (int64_t)(bwl_clock_wall_us() - before);
        if (v->is_dead)
            return;
    }
    qsort(took, PINGS, sizeof took[0], compare);
    int64_t         median = took[PINGS / 2];
    doctor_finding *f      = visit_find(v, "round trip", DOCTOR_FINE);
    visit_what(
        f, "a reply takes %" PRId64 ".%02" PRId64 "ms (median of %d), the lease is %" PRId64 "ms",
        median / US_PER_MS, median % US_PER_MS / 10, PINGS, lease_ms);
    if (median * 10 < lease_ms * US_PER_MS / 3)
        return;
    f->grade = median < lease_ms * US_PER_MS / 3 ? DOCTOR_WARNING : DOCTOR_FAILURE;
    visit_why(f, "a lease is renewed after a third of it, and one slow reply may lose the lock");
    visit_type(f, "use a longer lease: ?lease=%" PRId64 "ms", median * 40 / US_PER_MS + 1000);
}

void visit_server(visit *v)
{
    const char *info = visit_ask(v, "INFO server");

    if (info != NULL && v->version[0] == '\0') {
        char text[INFO_VALUE_MAX];
        if (info_text(text, info, "redis_version"))
            (void)snprintf(v->version, sizeof v->version, "%.20s", text);
        v->major = (unsigned)strtoul(v->version, NULL, 10);
    }
    if (v->is_dead)
        return;
    check_version(v);
    if (info != NULL) {
        char mode[INFO_VALUE_MAX];
        v->facts.is_cluster = mode_text(mode, info) && strcmp(mode, "cluster") == 0;
        v->facts.uptime_s   = info_number(info, "uptime_in_seconds", -1);
        (void)info_text(v->facts.run_id, info, "run_id");
        check_mode(v, info);
    }
    if (info == NULL) {
        doctor_finding *f = visit_find(v, "restart", DOCTOR_UNKNOWN);
        visit_what(f, "the server does not identify its process (INFO server)");
        visit_why(f, v->target->is_quorum
                         ? "a server that restarts empty votes at once, perhaps for a second holder"
                         : "bowline does not detect a restart with older data, and notices a "
                           "lost lock late");
        visit_type(f, "ACL SETUSER %.60s +info", visit_user(v));
    }
    check_role(v);
    check_clock(v);
    check_round_trip(v);
}

void visit_all(visit *v)
{
    visit_server(v);
    visit_memory(v);
    visit_rights(v);
    visit_foreign_locks(v);
}
