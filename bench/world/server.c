/*
 * server.c -- see server.h.
 */
#include "bench/world/server.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/world/proxy.h"

enum { TRIES = 5, PATIENCE_MS = 10000, PORT_OF_OTHERS = 6379 };

char *bench_find_program(const char *name)
{
    char        path[4096];
    const char *at = getenv("PATH");

    while (at != NULL && *at != '\0') {
        size_t size    = strcspn(at, ":");
        int    written = snprintf(path, sizeof path, "%.*s/%s", (int)size, at, name);
        if (written > 0 && (size_t)written < sizeof path && access(path, X_OK) == 0)
            return strdup(path);
        at += size + (at[size] == ':');
    }
    return NULL;
}

/* In the child: becomes the server or exits. */
_Noreturn static void become_server(const char *program, const bench_server *s,
                                    const char *directory, pid_t parent)
{
    char port[16], log[BENCH_DIRECTORY_MAX + 8];

    bench_child_alone(parent, -1);
    (void)snprintf(port, sizeof port, "%d", s->port);
    (void)snprintf(log, sizeof log, "%s/log", directory);
    /* Descriptors 0 and 1 are free, so open returns them. */
    if (open("/dev/null", O_RDWR) != STDIN_FILENO ||
        open(log, O_WRONLY | O_CREAT | O_APPEND, 0600) != STDOUT_FILENO ||
        dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        _exit(127);
    const char *const words[] = {
        program, "--port",  port,           "--bind", "127.0.0.1",   "--save", "",
        "--dir", directory, "--appendonly", "no",     "--daemonize", "no",     NULL
    };
    (void)execv(program, (char *const *)words);
    _exit(127);
}

/* A port that is free at this moment. */
static int choose_port(int *ret_port, bench_failure *reterr)
{
    int port;
    int fd = bench_listen(&port, reterr);

    if (fd < 0)
        return -1;
    (void)close(fd);
    *ret_port = port != PORT_OF_OTHERS ? port : port + 1;
    return 0;
}

/* Checks by INFO that the server is ours: another process may have taken the port. */
static bool is_ours(bench_server *s)
{
    redisContext *context = redisConnect("127.0.0.1", s->port);
    redisReply   *reply   = NULL;
    bool          ours    = false;

    if (context != NULL && context->err == 0)
        reply = redisCommand(context, "INFO server");
    if (reply != NULL && reply->type == REDIS_REPLY_STRING) {
        const char *pid     = strstr(reply->str, "process_id:");
        const char *version = strstr(reply->str, "redis_version:");
        ours                = pid != NULL && strtol(pid + 11, NULL, 10) == s->pid;
        if (version != NULL)
            (void)snprintf(s->version, sizeof s->version, "%.*s",
                           (int)strcspn(version + 14, "\r\n"), version + 14);
    }
    if (reply != NULL)
        freeReplyObject(reply);
    if (context != NULL)
        redisFree(context);
    return ours;
}

static bool has_ended(bench_server *s)
{
    return waitpid(s->pid, NULL, WNOHANG) == s->pid;
}

/* True when it answers; false if it has ended or was stopped after a time limit. */
static bool comes_up(bench_server *s)
{
    int64_t end_ns = bench_now_ns() + (int64_t)PATIENCE_MS * 1000000;

    while (bench_now_ns() < end_ns) {
        if (has_ended(s))
            return false;
        if (is_ours(s))
            return true;
        bench_sleep_ms(2);
    }
    (void)kill(s->pid, SIGKILL);
    (void)waitpid(s->pid, NULL, 0);
    return false;
}

int bench_server_start(bench_server *ret_server, bench_janitor *janitor, bench_failure *reterr)
{
    pid_t        parent  = getpid();
    bench_server s       = { .pid = 0 };
    char        *program = bench_find_program("redis-server");
    int          status  = -1;

    if (program == NULL)
        return bench_fail(reterr,
                          (bench_failure){
                              .what = bench_text_of("there is no redis-server"),
                              .why  = bench_text_of("nothing in $PATH has that name"),
                              .type = bench_text_of("type: tools/install-deps && make bench"),
                          });
    for (unsigned tries = 0; tries < TRIES && status < 0; tries++) {
        if (choose_port(&s.port, reterr) < 0)
            goto out;
        s.pid = fork();
        if (s.pid == 0)
            become_server(program, &s, janitor->directory, parent);
        if (s.pid < 0) {
            (void)bench_fail_errno(reterr, bench_text_of("cannot start redis-server"));
            goto out;
        }
        bench_janitor_mind(janitor, s.pid);
        if (comes_up(&s))
            status = 0;
        else
            bench_janitor_forget(janitor, s.pid);
    }
    if (status == 0)
        *ret_server = s;
    else
        (void)bench_fail(reterr, (bench_failure){
                                     .what = bench_text_of("redis-server does not start"),
                                     .why  = bench_text_of("%s was tried %d times", program, TRIES),
                                     .type = bench_text_of("type: %s --port 0 --save ''", program),
                                 });
out:
    free(program);
    return status;
}

void bench_server_stop(bench_server *server, bench_janitor *janitor)
{
    if (server->pid == 0)
        return;
    (void)kill(server->pid, SIGTERM);
    for (int64_t end_ns = bench_now_ns() + INT64_C(2000000000); bench_now_ns() < end_ns;
         bench_sleep_ms(2))
        if (has_ended(server))
            goto gone;
    (void)kill(server->pid, SIGKILL);
    (void)waitpid(server->pid, NULL, 0);
gone:
    bench_janitor_forget(janitor, server->pid);
    *server = (bench_server){ .pid = 0 };
}
