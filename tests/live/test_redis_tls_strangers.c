/*
 * test_redis_tls_strangers.c -- rediss:// to what is no Redis: servers of old, servers of something
 * else, and those that stop in the middle of the handshake.
 *
 * What Redis cannot play is played by openssl(1), or by a socket that says a few bytes.
 */
#include "tests/lib/attempt.h"
#include "tests/lib/certs.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/testing.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

static const char *path_of(const char *name)
{
    return certs_path(redis->directory, name);
}

static void needs_tls(void)
{
    if (redis->tls_port == 0)
        skip();
}

/* ---- other servers --------------------------------------------------------------------------- */

/* A server of openssl(1) that shows host.pem; ended by its number. */
static pid_t start_openssl(int port, const char *version, const char *ciphers)
{
    char  accept[16];
    pid_t pid;

    (void)snprintf(accept, sizeof accept, "%d", port);
    pid = fork();
    if (pid == 0) {
        int nothing = open("/dev/null", O_RDWR);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int fd = 0; fd < 3; fd++)
            (void)dup2(nothing, fd);
        (void)execlp("openssl", "openssl", "s_server", "-accept", accept, "-cert",
                     path_of("host.pem"), "-key", path_of("host.key"), version, "-cipher", ciphers,
                     "-quiet", (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    for (int64_t end = clock_ms() + 10000; clock_ms() < end; sleep_ms(5)) {
        struct sockaddr_in at = { .sin_family      = AF_INET,
                                  .sin_port        = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool               up = connect(fd, (struct sockaddr *)&at, sizeof at) == 0;
        (void)close(fd);
        if (up)
            return pid;
    }
    fail_msg("openssl s_server does not start");
    return 0;
}

static void test_server_that_speaks_old_tls_only(void **state)
{
    int port = server_free_port();

    needs_tls();
    pid_t pid = start_openssl(port, "-tls1_1", "ALL:@SECLEVEL=0");
    expect(BOWLINE_REFUSED, "no version of TLS that we do, which are 1.2 and newer",
           "rediss://127.0.0.1:%d?ca=%s", port, path_of("ca.pem"));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Says some bytes when it has heard some, and then hangs up or stays. */
typedef struct talker {
    pthread_t   thread;
    const char *bytes;
    size_t      size;
    bool        hangs_up;
    int         listener;
    int         stops[2];
    int         port;
} talker;

static void *talk(void *arg)
{
    talker *t       = arg;
    int     fds[16] = { 0 };
    int     count   = 0;
    char    heard[4096];

    for (;;) {
        struct pollfd wait[] = { { .fd = t->stops[0], .events = POLLIN },
                                 { .fd = t->listener, .events = POLLIN } };
        if (poll(wait, 2, -1) < 0)
            continue;
        if (wait[0].revents != 0)
            break;
        int fd = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC);
        (void)recv(fd, heard, sizeof heard, 0);
        (void)send(fd, t->bytes, t->size, MSG_NOSIGNAL);
        if (t->hangs_up || count == (int)COUNT_OF(fds))
            (void)close(fd);
        else
            fds[count++] = fd;
    }
    for (int i = 0; i < count; i++)
        (void)close(fds[i]);
    return NULL;
}

static void start_talker(talker *t)
{
    struct sockaddr_in at   = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof at;

    t->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(t->listener >= 0);
    assert_int_equal(bind(t->listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(t->listener, 16), 0);
    assert_int_equal(getsockname(t->listener, (struct sockaddr *)&at, &size), 0);
    t->port = ntohs(at.sin_port);
    assert_int_equal(pipe2(t->stops, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&t->thread, NULL, talk, t), 0);
}

static void stop_talker(talker *t)
{
    (void)close(t->stops[1]);
    (void)pthread_join(t->thread, NULL);
    (void)close(t->stops[0]);
    (void)close(t->listener);
}

/* A server that says something is waited for as long as it takes; the other's silence is short. */
enum { PATIENT = 10000, SHORT = 50 };

static void test_servers_that_do_not_shake_hands(void **state)
{
#define HALF_A_HELLO "\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03\x01\x02"
    static const struct {
        const char *bytes;
        size_t      size;
        bool        hangs_up;
        int         status;
        const char *part;
    } list[] = {
        { "", 0, true, BOWLINE_UNREACHABLE, "closed the connection during the TLS handshake" },
        { "", 0, false, BOWLINE_UNREACHABLE, "is this a port for TLS?" },
        { HALF_A_HELLO, 13, false, BOWLINE_UNREACHABLE, "no answer within 50 ms" },
        { HALF_A_HELLO, 13, true, BOWLINE_UNREACHABLE,
          "closed the connection during the TLS handshake" },
        { "-ERR unknown command\r\n", 22, false, BOWLINE_REFUSED,
          "it says \"-ERR unknown command\": is this the port for TLS?" },
        { "HTTP/1.1 400 Bad Request\r\n\r\n", 28, true, BOWLINE_REFUSED,
          "not TLS, it says \"HTTP" },
        { "\xff\x00\xfe\x01\x02\x03\x04", 7, false, BOWLINE_REFUSED,
          "what answers there is not TLS" },
        { "\x15\x03\x03\x00\x02\x02\x28", 7, false, BOWLINE_REFUSED,
          "no kind of encryption in common" },
        { "\x16\x03\x03\x00\x04\x0e\x00\x00\x00", 9, false, BOWLINE_REFUSED,
          "breaks the rules of TLS" },
    };

    needs_tls();
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        talker t = { .bytes = list[i].bytes, .size = list[i].size, .hangs_up = list[i].hangs_up };
        bool   is_silent = list[i].status == BOWLINE_UNREACHABLE && !list[i].hangs_up;
        print_message("# %zu bytes%s\n", t.size, t.hangs_up ? ", and closes" : "");
        start_talker(&t);
        expect(list[i].status, list[i].part, "rediss://u:hunter2@127.0.0.1:%d?ca=%s&timeout=%dms",
               t.port, path_of("ca.pem"), is_silent ? SHORT : PATIENT);
        stop_talker(&t);
    }
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void test_own_server_starts(void **state)
{
    redis = server_start_tls(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_server_starts),
        cmocka_unit_test(test_server_that_speaks_old_tls_only),
        cmocka_unit_test(test_servers_that_do_not_shake_hands),
    };

    return cmocka_run_group_tests_name("redis_tls_strangers", tests, NULL, stop_server);
}
