/*
 * server.c -- the server, and its faults, one at a time: stopped, restarted with all, some or none
 * of its data, its connections killed and its scripts flushed. See soak.h.
 *
 * HEALTHY --fault--> FAULTY --repaired--> REPAIRED --each lock was held again--> HEALTHY
 *
 * A fault of the plan that comes before HEALTHY, or again before all other kinds, is skipped.
 * Faults of members are injected in the phase FAULTY too, but not in REPAIRED. So after each fault
 * each lock is held again before the next fault, or the run reports that it is not.
 */
#include "tests/soak/soak.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_US = 60000000, TAIL_BYTES = 40000, LONG_MS = 1500 };

const soak_lock soak_locks[SOAK_LOCKS] = {
    [RED] = { "red", "queue", 1000 },   [GREEN] = { "green", "queue", 1500 },
    [BLUE] = { "blue", "queue", 3000 }, [GREY] = { "grey", "token", 1000 },
    [WOOD] = { "wood", "file", 0 },
};

const unsigned soak_weights[SOAK_KINDS_END] = {
    [SOAK_NOTHING] = 350,     [SOAK_STOP_SHORT] = 120,  [SOAK_STOP_LONG] = 60,
    [SOAK_KILL] = 60,         [SOAK_CLIENT_KILL] = 40,  [SOAK_SCRIPT_FLUSH] = 16,
    [SOAK_SERVER_SHORT] = 16, [SOAK_SERVER_LONG] = 6,   [SOAK_RESTART_KEPT] = 10,
    [SOAK_RESTART_TAIL] = 10, [SOAK_RESTART_EMPTY] = 8,
};

void soak_server_start(soak_run *run)
{
    char wood[96];

    run->server = server_start("--appendonly yes --appendfsync no");
    (void)snprintf(wood, sizeof wood, "%s/wood", run->server->directory);
    assert_int_equal(mkdir(wood, 0700), 0);
    (void)snprintf(run->journal->socket, sizeof run->journal->socket, "%s", run->server->socket);
}

void soak_set_url(soak_run *run, unsigned member)
{
    soak_member     *m    = &run->journal->members[member];
    const soak_lock *lock = &soak_locks[m->lock];

    if (strcmp(lock->protocol, "file") == 0)
        (void)snprintf(m->url, sizeof m->url, "file:%s/wood", run->server->directory);
    else
        (void)snprintf(m->url, sizeof m->url, "%s?protocol=%s", run->server->tcp_url,
                       lock->protocol);
}

/* ---- one fault ------------------------------------------------------------------------------- */

/* Deletes its append-only files, or truncates the last one. */
static void damage_file(const char *path, const char *file, bool all)
{
    char        full[512];
    struct stat about;
    bool        is_log = strstr(file, ".incr.aof") != NULL;

    (void)snprintf(full, sizeof full, "%s/%s", path, file);
    if (all)
        (void)unlink(full);
    else if (is_log && stat(full, &about) == 0)
        assert_int_equal(
            truncate(full, about.st_size > TAIL_BYTES ? about.st_size - TAIL_BYTES : 0), 0);
}

static void damage_files(const server *s, bool all)
{
    char           path[128];
    struct dirent *entry;

    (void)snprintf(path, sizeof path, "%s/appendonlydir", s->directory);
    DIR *at = opendir(path);
    while (at != NULL && (entry = readdir(at)) != NULL)
        damage_file(path, entry->d_name, all);
    if (at != NULL)
        (void)closedir(at);
}

static void restart(soak_run *run, soak_kind kind)
{
    if (kind != SOAK_RESTART_KEPT)
        atomic_fetch_add(&run->journal->data_losses, 1);
    server_kill(run->server);
    if (kind != SOAK_RESTART_KEPT)
        damage_files(run->server, kind == SOAK_RESTART_EMPTY);
    server_start_again(run->server);
}

static void inject(soak_run *run, soak_server_fault *t)
{
    server *s = run->server;

    switch ((unsigned)t->fault.kind) {
    case SOAK_CLIENT_KILL: server_hang_up(s); return;
    case SOAK_SCRIPT_FLUSH: (void)server_ask(s, "SCRIPT FLUSH SYNC"); return;
    case SOAK_SERVER_SHORT:
    case SOAK_SERVER_LONG:
        t->until_ms = clock_ms() + (t->fault.kind == SOAK_SERVER_SHORT
                                        ? soak_share(&t->fault, SOAK_MOMENT_MS)
                                        : LONG_MS + soak_share(&t->fault, LONG_MS));
        server_signal(s, SIGSTOP);
        return;
    default: restart(run, t->fault.kind); return;
    }
}

static bool is_repaired(soak_run *run, soak_server_fault *t)
{
    if (clock_ms() < t->until_ms)
        return false;
    if (t->until_ms != 0)
        server_signal(run->server, SIGCONT);
    return true;
}

/* ---- one after the other --------------------------------------------------------------------- */

static bool is_of_server(const soak_lock *lock)
{
    return strcmp(lock->protocol, "file") != 0;
}

/* Whether it was acquired since, or renewed by its holder. */
static bool is_held_since(const soak_journal *journal, unsigned lock, int64_t since_us)
{
    unsigned inside = atomic_load(&journal->inside[lock]);

    if (atomic_load(&journal->entered_us[lock]) > since_us)
        return true;
    return inside != 0 && journal->visits[inside - 1].until_us >
                              since_us + (int64_t)journal->locks[lock].lease_ms * 1000;
}

static bool are_held_since(const soak_run *run, int64_t since_us)
{
    for (unsigned i = 0; i < SOAK_LOCKS; i++)
        if (is_of_server(&run->journal->locks[i]) && !is_held_since(run->journal, i, since_us))
            return false;
    return true;
}

int64_t soak_share(const soak_fault *fault, int64_t whole_ms)
{
    return whole_ms * fault->share / 1000;
}

static void begin(soak_server_fault *t, soak_phase phase)
{
    t->phase   = phase;
    t->from_us = soak_now_us();
}

/* Whether this kind was injected more often than another one. */
static bool ran_more_often(const soak_run *run, soak_kind of)
{
    for (unsigned kind = SOAK_NOTHING; kind < SOAK_KINDS_END; kind++)
        if (soak_fault_of_server((soak_kind)kind) && soak_weights[kind] > 0 &&
            run->counts[kind] < run->counts[of])
            return true;
    return false;
}

void soak_server_fault_begin(soak_run *run, soak_fault fault)
{
    soak_server_fault *t = &run->server_fault;

    if (t->phase != SOAK_HEALTHY || ran_more_often(run, fault.kind)) {
        t->skipped++;
        return;
    }
    t->fault    = fault;
    t->until_ms = 0;
    t->action   = soak_begin_action(run, fault.kind, SOAK_ALL_MEMBERS);
    begin(t, SOAK_FAULTY);
    inject(run, t);
}

static void report_locks(const soak_run *run)
{
    for (unsigned i = 0; i < SOAK_LOCKS; i++)
        if (is_of_server(&run->journal->locks[i]))
            (void)fprintf(stderr, "soak: %s was last acquired %ld ms ago\n",
                          run->journal->locks[i].name,
                          (soak_now_us() - atomic_load(&run->journal->entered_us[i])) / 1000);
}

/* Reports a repair that does not end. */
static void report_stuck(soak_run *run)
{
    soak_server_fault *t = &run->server_fault;

    (void)fprintf(stderr, "soak: %s after: %s\n",
                  t->phase == SOAK_FAULTY ? "the server is not repaired"
                                          : "not each lock is held again",
                  soak_fault_description(t->fault.kind));
    report_locks(run);
    t->stuck++;
    begin(t, t->phase); /* reported again after the same time */
}

void soak_server_fault_step(soak_run *run)
{
    soak_server_fault *t = &run->server_fault;

    if (t->phase == SOAK_FAULTY && is_repaired(run, t)) {
        soak_end_action(run, t->action);
        begin(t, SOAK_REPAIRED);
    } else if (t->phase == SOAK_REPAIRED && are_held_since(run, t->from_us)) {
        begin(t, SOAK_HEALTHY);
    }
    if (t->phase != SOAK_HEALTHY && soak_now_us() > t->from_us + PATIENCE_US)
        report_stuck(run);
}
