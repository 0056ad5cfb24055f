/*
 * memory.c -- checks what the server can lose: evicted keys, and all that a restart loses.
 */
#include "doctor/visit.h"

#include <inttypes.h>
#include <string.h>

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
