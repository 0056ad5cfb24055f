/*
 * memory.c -- what the server forgets: keys that it throws away when memory is full, and all that a
 * restart loses.
 */
#include "doctor/info.h"
#include "doctor/visit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- eviction -------------------------------------------------------------------------------- */

static bool is_short_lived_first(const char *policy)
{
    return strcmp(policy, "volatile-ttl") == 0;
}

static void check_policy(visit *v, const char *info)
{
    char            policy[INFO_VALUE_MAX];
    int64_t         max  = info_number(info, "maxmemory", 0);
    int64_t         used = info_number(info, "used_memory", 0);
    doctor_finding *f    = visit_find(v, "eviction", DOCTOR_FINE);

    (void)info_text(policy, info, "maxmemory_policy");
    if (strcmp(policy, "noeviction") == 0) {
        visit_what(f, "nothing is thrown away (noeviction)");
        if (max <= 0 || used < max / 100 * 90)
            return;
        f->grade = DOCTOR_WARNING;
        visit_why(f, "%.0f%% of maxmemory is used: when it is full, who comes anew is refused",
                  100.0 * (double)used / (double)max);
        visit_type(f, "redis-cli INFO memory; CONFIG SET maxmemory");
        return;
    }
    f->grade = DOCTOR_WARNING;
    visit_what(f, "maxmemory-policy is %s%s", policy,
               max == 0 ? ", and maxmemory is not set now" : "");
    visit_why(f, is_short_lived_first(policy)
                     ? "when memory is full, what ends soonest goes first, and that is a lock: "
                       "another gets it while it is held"
                     : "when memory is full, a lock that is held may be thrown away, and another "
                       "gets it; the keys of a queue, too");
    visit_type(f, "CONFIG SET maxmemory-policy noeviction, or a server for locks alone");
}

static void check_evicted(visit *v)
{
    const char *info = visit_ask(v, "INFO stats");
    int64_t     gone = info != NULL ? info_number(info, "evicted_keys", 0) : 0;

    if (gone == 0)
        return;
    doctor_finding *f = visit_find(v, "evicted", DOCTOR_WARNING);
    visit_what(f, "%" PRId64 " keys have been thrown away since the server began", gone);
    visit_why(f, "each of them may have been a lock");
    visit_type(f, "redis-cli INFO stats, evicted_keys");
}

/* ---- persistence ----------------------------------------------------------------------------- */

static void say_nothing_kept(visit *v)
{
    doctor_finding *f = visit_find(v, "persistence", DOCTOR_WARNING);

    visit_what(f, "nothing is written to disk (no AOF, no save)");
    visit_why(f,
              "a restart forgets every lock that is held: another gets it, and the holder is told "
              "LOST at its next connection; fences go on rising, by the server's clock");
    visit_type(f, "CONFIG SET appendonly yes, and appendfsync always if no lock may be forgotten");
}

/* Its vote waits for that: see engine/redis/topology/quorum.c. */
static void say_forgets(visit *v)
{
    doctor_finding *f = visit_find(v, "persistence", DOCTOR_NOTE);

    visit_what(f, "a restart forgets every lock that is held, or some (no AOF)");
    visit_why(f, "the server then has no vote until it has run for a lease; most of them must not "
                 "restart within one");
}

static void say_snapshots(visit *v, const char *save)
{
    doctor_finding *f = visit_find(v, "persistence", DOCTOR_WARNING);

    visit_what(f, "snapshots alone are written (save %s)", save);
    visit_why(f,
              "a restart comes back with an older state: locks of then, without those of now; who "
              "holds one is told LOST at its next connection");
    visit_type(f, "CONFIG SET appendonly yes");
}

static void say_log(visit *v)
{
    char            fsync[INFO_VALUE_MAX];
    bool            known = visit_setting(v, "appendfsync", fsync);
    doctor_finding *f     = visit_find(v, "persistence", DOCTOR_FINE);

    if (v->is_dead)
        return;
    if (known && strcmp(fsync, "always") == 0) {
        visit_what(f, "every write is on the disk before it is answered (appendfsync always)");
        return;
    }
    f->grade = DOCTOR_NOTE;
    visit_what(f, "writes are logged (AOF%s%s)", known ? ", appendfsync " : "", known ? fsync : "");
    visit_why(f, "a restart may forget the locks of the last second%s",
              known && strcmp(fsync, "no") == 0 ? "s, as many as the system likes" : "");
    if (!known)
        visit_type(f, "ACL SETUSER %.60s +config|get, to be told appendfsync", visit_user(v));
    else
        visit_type(f, "CONFIG SET appendfsync always, if no lock may be forgotten");
}

static void check_troubles(visit *v, const char *info)
{
    char last[INFO_VALUE_MAX];
    bool log_fails  = info_text(last, info, "aof_last_write_status") && strcmp(last, "ok") != 0;
    bool save_fails = info_text(last, info, "rdb_last_bgsave_status") && strcmp(last, "ok") != 0;

    if (!log_fails && !save_fails)
        return;
    doctor_finding *f = visit_find(v, "disk", DOCTOR_FAILURE);
    visit_what(f, "the last %s to disk has failed", log_fails ? "write of the log" : "snapshot");
    visit_why(f, "the server then refuses to write (MISCONF), so nobody gets a lock");
    visit_type(f, "redis-cli INFO persistence; df; the server's log");
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
    check_troubles(v, info);
    if (logs)
        say_log(v);
    else if (!visit_setting(v, "save", save))
        visit_cannot(v, "persistence", "what a restart loses", "+config|get");
    else if (v->target->is_quorum && !v->store->trusts_young)
        say_forgets(v);
    else if (save[0] == '\0')
        say_nothing_kept(v);
    else
        say_snapshots(v, save);
}

void visit_memory(visit *v)
{
    if (v->is_dead)
        return;
    const char *info = visit_ask(v, "INFO memory");
    if (info == NULL) {
        visit_cannot(v, "eviction", "what is thrown away when memory is full", "+info");
    } else {
        check_policy(v, info);
        check_evicted(v);
    }
    check_persistence(v);
}
