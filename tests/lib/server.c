/*
 * server.c -- see server.h.
 */
#include "tests/lib/server.h"
#include "tests/lib/certs.h"
#include "tests/lib/server_inside.h"
#include "tests/lib/testing.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the janitor ----------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)remove(path);
    return 0;
}

/* Waits for the signal, or for the end of the test program. */
_Noreturn static void sweep(const server *s, pid_t parent)
{
    sigset_t  awaited;
    int       signal;
    const int descriptors = (int)sysconf(_SC_OPEN_MAX);

    for (int fd = 0; fd < descriptors && fd < 1024; fd++)
        (void)close(fd);
    (void)setpgid(0, 0); /* a signal to the test's process group must not end this process */
    (void)sigemptyset(&awaited);
    (void)sigaddset(&awaited, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &awaited, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == parent)
        (void)sigwait(&awaited, &signal);
    if (*s->shared != 0)
        (void)kill(*s->shared, SIGKILL);
    (void)nftw(s->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    _exit(0);
}

static void hire_janitor(server *s)
{
    pid_t parent = getpid();

    s->janitor = fork();
    if (s->janitor == 0)
        sweep(s, parent);
    assert_true(s->janitor > 0);
}

/* ---- starting -------------------------------------------------------------------------------- */

static bool found(const char *program)
{
    char        path[512];
    const char *at = getenv("PATH");

    while (at != NULL && *at != '\0') {
        size_t size = strcspn(at, ":");
        (void)snprintf(path, sizeof path, "%.*s/%s", (int)size, at, program);
        if (access(path, X_OK) == 0)
            return true;
        at += size + (at[size] == ':');
    }
    return false;
}

void server_needed(void)
{
    if (found("redis-server"))
        return;
    if (getenv("CI") != NULL)
        fail_msg("there is no redis-server in PATH");
    skip_because("there is no redis-server in PATH");
}

bool server_is_new(void)
{
    return system("redis-server --version | grep -q 'v=[789]'") == 0;
}

/* Binds a port of the loopback interface; wanted 0: any.  Returns it, or 0 if it is in use.  The
 * socket stays open, so the port stays reserved.  SO_REUSEADDR is set after bind: with it, bind
 * would share a port that another test has reserved. */
static int reserve_port(int wanted)
{
    struct sockaddr_in at   = { .sin_family      = AF_INET,
                                .sin_port        = htons((uint16_t)wanted),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof at;
    int                fd   = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    if (bind(fd, (struct sockaddr *)&at, size) != 0) {
        (void)close(fd);
        return 0;
    }
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    return ntohs(at.sin_port);
}

int server_free_port(void)
{
    int port = reserve_port(0);

    assert_int_not_equal(port, 0);
    return port;
}

int server_free_node_port(void)
{
    for (int tries = 0; tries < 1000; tries++) {
        int port = server_free_port();
        if (port + SERVER_BUS_PORT_STEP <= UINT16_MAX &&
            reserve_port(port + SERVER_BUS_PORT_STEP) != 0)
            return port;
    }
    fail_msg("there are no two free ports %d apart", SERVER_BUS_PORT_STEP);
    return 0;
}

/* In the child: becomes the server, or exits. */
_Noreturn static void become_server(server *s, pid_t parent)
{
    char  port[8];
    char  tls_port[8];
    char  log[96];
    char *words[SERVER_WORDS_MAX] = { "redis-server",
                                      "--port",
                                      port,
                                      "--bind",
                                      "127.0.0.1",
                                      "--unixsocket",
                                      s->socket,
                                      "--unixsocketperm",
                                      "700",
                                      "--save",
                                      "",
                                      "--appendonly",
                                      "no",
                                      "--dir",
                                      s->directory,
                                      "--logfile",
                                      log,
                                      "--loglevel",
                                      "notice" };
    int   count                   = 0;

    (void)snprintf(port, sizeof port, "%d", s->port);
    (void)snprintf(log, sizeof log, "%s/log", s->directory);
    while (words[count] != NULL)
        count++;
    if (s->config[0] != '\0') {
        memmove(words + 2, words + 1, (size_t)count * sizeof words[0]);
        words[1]       = s->config;
        words[++count] = NULL;
    }
    count += server_split(words + count, s->options);
    if (s->tls_port != 0) {
        const char *const tls[] = { "--tls-port",         tls_port,
                                    "--tls-cert-file",    certs_path(s->directory, "host.pem"),
                                    "--tls-key-file",     certs_path(s->directory, "host.key"),
                                    "--tls-ca-cert-file", certs_path(s->directory, "ca.pem"),
                                    "--tls-auth-clients", "no" };
        (void)snprintf(tls_port, sizeof tls_port, "%d", s->tls_port);
        for (size_t i = 0; i < sizeof tls / sizeof tls[0] && count < SERVER_WORDS_MAX - 1; i++)
            words[count++] = (char *)(uintptr_t)tls[i];
        words[count] = NULL;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        (void)dup2(nothing, fd);
    for (int fd = 3; fd < 1024; fd++)
        (void)close(fd);
    (void)execvp(words[0], words);
    _exit(127);
}

void server_start_only(server *s)
{
    pid_t parent = getpid();

    assert_int_equal(s->pid, 0);
    s->pid = fork();
    if (s->pid == 0)
        become_server(s, parent);
    assert_true(s->pid > 0);
    *s->shared = s->pid;
}

void server_kill(server *s)
{
    if (s->pid == 0)
        return;
    (void)kill(s->pid, SIGKILL);
    (void)waitpid(s->pid, NULL, 0);
    s->pid     = 0;
    *s->shared = 0;
}

static bool has_ended(server *s)
{
    if (s->pid != 0 && waitpid(s->pid, NULL, WNOHANG) == s->pid) {
        s->pid     = 0;
        *s->shared = 0;
    }
    return s->pid == 0;
}

/* Prints the end of the log, because its directory is deleted after the test. */
static void say_log(const server *s)
{
    char  path[96];
    char  text[2048];
    FILE *log;

    (void)snprintf(path, sizeof path, "%s/log", s->directory);
    log = fopen(path, "r");
    if (log == NULL)
        return;
    (void)fseek(log, -(long)(sizeof text - 1),
                SEEK_END); /* fails for a short one: from its start */
    text[fread(text, 1, sizeof text - 1, log)] = '\0';
    (void)fclose(log);
    print_error("the log of redis-server, port %d, ends with:\n%s\n", s->port, text);
}

void server_fails(server *s, const char *what)
{
    say_log(s);
    fail_msg("redis-server, which %s, %s", has_ended(s) ? "has ended" : "runs", what);
}

/* Whether it seems to accept connections.  False: it has ended. */
bool server_comes_up(server *s)
{
    while (!has_ended(s)) {
        int fd = server_connect(s->socket);
        if (fd >= 0) {
            (void)close(fd);
            return true;
        }
        sleep_ms(2);
    }
    return false;
}

/* The socket accepts connections before the last port is open: only a reply shows that the server
 * runs. */
void server_await(server *s)
{
    while (!has_ended(s)) {
        const char *answer = server_may_say(s, "PING");
        if (answer != NULL && (strcmp(answer, "PONG") == 0 || strncmp(answer, "-NOAUTH", 7) == 0))
            return;
        sleep_ms(2);
    }
    server_fails(s, "does not start");
}

void server_start_again(server *s)
{
    (void)unlink(s->socket);
    server_start_only(s);
    server_await(s);
}

void server_restart(server *s)
{
    server_kill(s);
    server_start_again(s);
}

void server_signal(server *s, int signal)
{
    assert_true(s->pid > 0);
    assert_int_equal(kill(s->pid, signal), 0);
}

static server *make_server(const char *options)
{
    server *s = calloc(1, sizeof *s);

    server_needed();
    assert_non_null(s);
    (void)snprintf(s->directory, sizeof s->directory, "/tmp/bowline-server-XXXXXX");
    assert_non_null(mkdtemp(s->directory));
    (void)snprintf(s->socket, sizeof s->socket, "%s/socket", s->directory);
    (void)snprintf(s->options, sizeof s->options, "%s", options != NULL ? options : "");
    (void)snprintf(s->unix_url, sizeof s->unix_url, "unix://%s", s->socket);
    s->shared =
        mmap(NULL, sizeof *s->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(s->shared != MAP_FAILED);
    hire_janitor(s);
    return s;
}

static bool try_to_start(server *s, bool with_tls)
{
    bool is_node = strstr(s->options, "--cluster-enabled") != NULL;

    s->port     = is_node ? server_free_node_port() : server_free_port();
    s->tls_port = with_tls ? server_free_port() : 0;
    server_start_only(s);
    return server_comes_up(s);
}

static server *started(server *s)
{
    (void)snprintf(s->tcp_url, sizeof s->tcp_url, "redis://127.0.0.1:%d", s->port);
    (void)snprintf(s->tls_url, sizeof s->tls_url, "rediss://127.0.0.1:%d?ca=%s", s->tls_port,
                   certs_path(s->directory, "ca.pem"));
    server_await(s);
    return s;
}

server *server_start(const char *options)
{
    server *s = make_server(options);

    (void)try_to_start(s, false);
    return started(s);
}

server *server_start_sentinel_of(const char *address, int port, int quorum, const char *options)
{
    char    words[512];
    server *s;
    FILE   *file;

    (void)snprintf(words, sizeof words, "--sentinel %s", options != NULL ? options : "");
    s = make_server(words);
    (void)snprintf(s->config, sizeof s->config, "%s/sentinel.conf", s->directory);
    file = fopen(s->config, "w");
    assert_non_null(file);
    (void)fprintf(file,
                  "sentinel monitor m %s %d %d\n"
                  "sentinel down-after-milliseconds m 1000\n"
                  "sentinel failover-timeout m 5000\n",
                  address, port, quorum);
    assert_int_equal(fclose(file), 0);
    (void)try_to_start(s, false);
    return started(s);
}

server *server_start_sentinel(int port, int quorum)
{
    return server_start_sentinel_of("127.0.0.1", port, quorum, NULL);
}

server *server_start_tls(const char *options)
{
    server *s = make_server(options);

    if (certs_possible()) {
        certs_make(s->directory, &(cert){ .name = "ca", .is_authority = true });
        certs_make(s->directory, &(cert){ .name   = "host",
                                          .issuer = "ca",
                                          .hosts  = "DNS:localhost,IP:127.0.0.1,IP:::1" });
        if (try_to_start(s, true))
            return started(s);
    }
    (void)try_to_start(s, false);
    return started(s);
}

void server_stop(server *s)
{
    if (s == NULL)
        return;
    server_kill(s);
    (void)kill(s->janitor, SIGTERM);
    (void)waitpid(s->janitor, NULL, 0);
    (void)munmap(s->shared, sizeof *s->shared);
    free(s);
}
