/*
 * server.c -- checks a server: version, replication, clock, round trip; and what it can lose:
 * evicted keys, and all that a restart loses.
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
    bool            uses_push = v->target->protocol->uses_push;
    doctor_finding *f         = visit_find(v, "version", DOCTOR_FINE);

    if (v->version[0] != '\0' && is_old(v)) {
        f->grade = DOCTOR_FAILURE;
        visit_what(f, "Redis %s is too old: bowline needs 6.2 or newer", v->version);
        visit_why(f, "bowline refuses it");
        visit_type(f, "a newer server");
    } else if (v->major != 0 && v->major < VERSION_OF_SHARDS && uses_push &&
               v->target->is_cluster) {
        f->grade = DOCTOR_FAILURE;
        visit_what(f, "Redis %s: in a cluster protocol queue needs 7.0", v->version);
        visit_why(f, "bowline refuses it: in a cluster only SPUBLISH reaches the waiters of a "
                     "slot");
        visit_type(f, "a newer server, or ?protocol=token");
    } else if (v->is_resp2 && uses_push) {
        f->grade = DOCTOR_FAILURE;
        visit_what(f, "the server does not know HELLO 3, or user %.60s may not", visit_user(v));
        visit_why(f, "bowline refuses protocol queue: it receives pushes and replies on one "
                     "connection");
        visit_type(f, "ACL SETUSER %.60s +hello; a proxy that lets HELLO pass; or protocol=token",
                   visit_user(v));
    } else {
        visit_what(f, "version %s, %s%s", v->version[0] != '\0' ? v->version : "not known",
                   v->is_resp2 ? "RESP2" : "RESP3",
                   !uses_push                      ? ""
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
    char    host[INFO_VALUE_MAX], link[INFO_VALUE_MAX];
    int64_t port       = info_number(info, "master_port", 0);
    bool    is_of_node = v->facts.is_cluster && v->target->is_cluster;

    (void)info_text(host, info, "master_host");
    v->facts.is_replica = true;
    doctor_finding *f   = visit_find(v, "role", is_of_node ? DOCTOR_FINE : DOCTOR_FAILURE);
    if (!is_of_node) {
        visit_what(f, "the server is a replica (READONLY) of %s:%" PRId64, host, port);
        visit_why(f, "a replica is read-only: acquire is REFUSED");
        visit_type(f, "use the URL of its primary: redis://%s:%" PRId64, host, port);
        return;
    }
    visit_what(f, "a replica of %s:%" PRId64, host, port);
    if (!info_text(link, info, "master_link_status") || strcmp(link, "up") == 0)
        return;
    f->grade = DOCTOR_WARNING;
    visit_why(f, "its link to the primary is down: after a failover it would lack all newer "
                 "locks");
    visit_type(f, "redis-cli -h %.100s -p %u INFO replication", v->store.host,
               (unsigned)v->store.port);
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
        visit_type(f, "fence your writes: docs/explanation/fencing.md");
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

/* ---- what it can lose ------------------------------------------------------------------------ */

static void check_policy(visit *v, const char *info)
{
    char            policy[INFO_VALUE_MAX];
    int64_t         max  = info_number(info, "maxmemory", 0);
    int64_t         used = info_number(info, "used_memory", 0);
    doctor_finding *f    = visit_find(v, "eviction", DOCTOR_FINE);

    (void)info_text(policy, info, "maxmemory_policy");
    if (strcmp(policy, "noeviction") == 0) {
        visit_what(f, "the server evicts no keys (noeviction)");
        if (max <= 0 || used < max / 100 * 90)
            return;
        f->grade = DOCTOR_WARNING;
        visit_why(f, "%.0f%% of maxmemory is used: when it is full, acquire is REFUSED",
                  100.0 * (double)used / (double)max);
        visit_type(f, "redis-cli INFO memory; CONFIG SET maxmemory");
        return;
    }
    f->grade = DOCTOR_WARNING;
    visit_what(f, "maxmemory-policy is %s%s", policy, max == 0 ? ", but maxmemory is not set" : "");
    visit_why(f, strcmp(policy, "volatile-ttl") == 0
                     ? "when memory is full, the server evicts the keys with the shortest time "
                       "to live, such as locks: another client then acquires a lock that is held"
                     : "when memory is full, the server may evict the key of a lock that is "
                       "held, and another client acquires it; or keys of its queue");
    visit_type(f, "CONFIG SET maxmemory-policy noeviction, or use a server only for locks");
}

static void check_evicted(visit *v)
{
    const char *info = visit_ask(v, "INFO stats");
    int64_t     gone = info != NULL ? info_number(info, "evicted_keys", 0) : 0;

    if (gone == 0)
        return;
    doctor_finding *f = visit_find(v, "evicted", DOCTOR_WARNING);
    visit_what(f, "the server has evicted %" PRId64 " keys since its start", gone);
    visit_why(f, "each of them may have been a lock");
    visit_type(f, "redis-cli INFO stats, evicted_keys");
}

/* Without an AOF.  A server of a quorum has no vote until it has run for a lease: see
 * engine/redis/topology/quorum.c. */
static void report_snapshots(visit *v, const char *save)
{
    doctor_finding *f = visit_find(v, "persistence", DOCTOR_WARNING);

    if (v->target->is_quorum && !v->store.config->trusts_young) {
        f->grade = DOCTOR_NOTE;
        visit_what(f, "a restart loses all or some locks that are held (no AOF)");
        visit_why(f, "the server then has no vote until it has run for a lease; a majority must "
                     "not restart within one lease");
    } else if (save[0] == '\0') {
        visit_what(f, "nothing is written to disk (no AOF, no save)");
        visit_why(f, "a restart loses every lock that is held: other clients acquire them, and the "
                     "holders get LOST at their next connection; fences still rise, by the clock "
                     "of the server");
        visit_type(f, "CONFIG SET appendonly yes, and appendfsync always if no lock may be lost");
    } else {
        visit_what(f, "only snapshots are written (save %s)", save);
        visit_why(f, "a restart restores an older state, without newer locks; their holders get "
                     "LOST at the next connection");
        visit_type(f, "CONFIG SET appendonly yes");
    }
}

static void report_aof(visit *v)
{
    char            fsync[INFO_VALUE_MAX];
    bool            known = visit_setting(v, "appendfsync", fsync);
    doctor_finding *f     = visit_find(v, "persistence", DOCTOR_FINE);

    if (v->is_dead)
        return;
    if (known && strcmp(fsync, "always") == 0) {
        visit_what(f, "every write is on disk before its reply (appendfsync always)");
        return;
    }
    f->grade = DOCTOR_NOTE;
    visit_what(f, "writes are logged (AOF%s%s)", known ? ", appendfsync " : "", known ? fsync : "");
    visit_why(f, "a restart may lose the locks of the last second%s",
              known && strcmp(fsync, "no") == 0 ? "s, with no limit" : "");
    if (!known)
        visit_type(f, "ACL SETUSER %.60s +config|get, to check appendfsync", visit_user(v));
    else
        visit_type(f, "CONFIG SET appendfsync always, if no lock may be lost");
}

static void check_disk(visit *v, const char *info)
{
    char last[INFO_VALUE_MAX];
    bool log_fails  = info_text(last, info, "aof_last_write_status") && strcmp(last, "ok") != 0;
    bool save_fails = info_text(last, info, "rdb_last_bgsave_status") && strcmp(last, "ok") != 0;

    if (!log_fails && !save_fails)
        return;
    doctor_finding *f = visit_find(v, "disk", DOCTOR_FAILURE);
    visit_what(f, "the last %s to disk failed", log_fails ? "write of the log" : "snapshot");
    visit_why(f, "the server then refuses writes (MISCONF), so acquire fails");
    visit_type(f, "redis-cli INFO persistence; df; the log of the server");
}

static void check_persistence(visit *v)
{
    char        save[INFO_VALUE_MAX];
    const char *info = visit_ask(v, "INFO persistence");

    if (info == NULL) {
        visit_cannot(v, "persistence", "what a restart loses", "+info +config|get");
        return;
    }
    bool logs = info_number(info, "aof_enabled", 0) == 1;
    check_disk(v, info);
    if (logs)
        report_aof(v);
    else if (!visit_setting(v, "save", save))
        visit_cannot(v, "persistence", "what a restart loses", "+config|get");
    else
        report_snapshots(v, save);
}

void visit_memory(visit *v)
{
    if (v->is_dead)
        return;
    const char *info = visit_ask(v, "INFO memory");
    if (info == NULL) {
        visit_cannot(v, "eviction", "eviction when memory is full", "+info");
    } else {
        check_policy(v, info);
        check_evicted(v);
    }
    check_persistence(v);
}

void visit_all(visit *v)
{
    visit_server(v);
    visit_memory(v);
    visit_rights(v);
    visit_foreign_locks(v);
}
