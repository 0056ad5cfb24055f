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

/* A server that says something is waited for as long as it takes; the other's silence is short. */
enum { PATIENT = 10000, SHORT = 50 };

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
    };

    return cmocka_run_group_tests_name("redis_tls_strangers", tests, NULL, stop_server);
}
