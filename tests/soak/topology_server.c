/*
 * topology_server.c -- one server: stopped, restarted with all, some or none of its data, its
 * connections killed and its scripts flushed. See topology.h.
 */
#include "tests/soak/topology.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAIL_BYTES = 40000, LONG_MS = 1500 };

static void start(soak_run *run)
{
    char wood[96];

    run->nodes_count = 1;
    run->nodes[0]    = server_start("--appendonly yes --appendfsync no");
    (void)snprintf(wood, sizeof wood, "%s/wood", run->nodes[0]->directory);
    assert_int_equal(mkdir(wood, 0700), 0);
    (void)snprintf(run->journal->socket, sizeof run->journal->socket, "%s", run->nodes[0]->socket);
}

static void stop(soak_run *run)
{
    server_stop(run->nodes[0]);
}

static void set_url(soak_run *run, unsigned member)
{
    soak_member     *m    = &run->journal->members[member];
    const soak_lock *lock = &run->topology->locks[m->lock];

    if (m->has_proxy)
        run->proxies[member][0] = proxy_start(run->nodes[0], &(proxy_plan){ .fault = PROXY_NONE });
    if (strcmp(lock->protocol, "file") == 0)
        (void)snprintf(m->url, sizeof m->url, "file:%s/wood", run->nodes[0]->directory);
    else
        (void)snprintf(m->url, sizeof m->url, "%s?protocol=%s",
                       m->has_proxy ? proxy_url(run->proxies[member][0]) : run->nodes[0]->tcp_url,
                       lock->protocol);
}

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
    server_kill(run->nodes[0]);
    if (kind != SOAK_RESTART_KEPT)
        damage_files(run->nodes[0], kind == SOAK_RESTART_EMPTY);
    server_start_again(run->nodes[0]);
}

static void inject(soak_run *run, soak_server_fault *t)
{
    server *s = run->nodes[0];

    switch ((unsigned)t->fault.kind) {
    case SOAK_CLIENT_KILL: server_hang_up(s); return;
    case SOAK_SCRIPT_FLUSH: (void)server_ask(s, "SCRIPT FLUSH SYNC"); return;
    case SOAK_SERVER_SHORT:
        t->until_ms = clock_ms() + soak_share(&t->fault, SOAK_MOMENT_MS);
        server_signal(s, SIGSTOP);
        return;
    case SOAK_SERVER_LONG:
        t->until_ms = clock_ms() + LONG_MS + soak_share(&t->fault, LONG_MS);
        server_signal(s, SIGSTOP);
        return;
    default: restart(run, t->fault.kind); return;
    }
}

static bool repair(soak_run *run, soak_server_fault *t)
{
    if (clock_ms() < t->until_ms)
        return false;
    if (t->until_ms != 0)
        server_signal(run->nodes[0], SIGCONT);
    return true;
}

static server *lock_server(soak_run *run, unsigned lock)
{
    (void)lock;
    return run->server_fault.phase == SOAK_FAULTY ? NULL : run->nodes[0];
}

const soak_topology soak_server = {
    .name          = "server",
    .locks         = { [RED]   = { "red", "queue", 1000 },
                       [GREEN] = { "green", "queue", 1500 },
                       [BLUE]  = { "blue", "queue", 3000 },
                       [GREY]  = { "grey", "token", 1000 },
                       [WOOD]  = { "wood", "file", 0 } },
    .weights = {
        SOAK_WEIGHTS_OF_MEMBERS,
        SOAK_WEIGHTS_OF_PROXIES,
        [SOAK_CLIENT_KILL] = 16,
        [SOAK_SCRIPT_FLUSH] = 16,
        [SOAK_SERVER_SHORT] = 16,
        [SOAK_SERVER_LONG] = 6,
        [SOAK_RESTART_KEPT] = 10,
        [SOAK_RESTART_TAIL] = 10,
        [SOAK_RESTART_EMPTY] = 8,
    },
    .has_foreign = true,
    .pause_ms      = 80,
    .start         = start,
    .stop          = stop,
    .set_url         = set_url,
    .inject        = inject,
    .repair          = repair,
    .lock_server        = lock_server,
};
