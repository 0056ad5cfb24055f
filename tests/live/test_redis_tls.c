/*
 * test_redis_tls.c -- rediss:// against a real server: who is let in, who is believed, and what is
 * said when it goes wrong.
 *
 * Each fault is one that somebody will make: a certificate for another host, one that has expired,
 * the wrong port, a client without a certificate.  A refusal comes at once, however long the caller
 * would wait; a fault that may pass is waited for.
 */
#include "tests/lib/attempt.h"
#include "tests/lib/certs.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *path_of(const char *name)
{
    return certs_path(redis->directory, name);
}

static void needs_tls(void)
{
    if (redis->tls_port == 0)
        skip_because("the server has no TLS");
}

/* Makes shown.pem or shown.key a link to this certificate or its key. */
static void link_shown(const char *name, const char *ending)
{
    char file[64];
    char shown[64];

    (void)snprintf(file, sizeof file, "%s.%s", name, ending);
    (void)snprintf(shown, sizeof shown, "shown.%s", ending);
    (void)unlink(path_of(shown));
    assert_int_equal(symlink(file, path_of(shown)), 0);
}

/* From now on the server shows this certificate.  Redis 6.2 sets one of the two files at a time and
 * refuses a pair that does not match: so both names stay, and lead elsewhere. */
static void server_shows(const char *name)
{
    link_shown(name, "pem");
    link_shown(name, "key");
    assert_string_equal(server_ask(redis, "CONFIG SET tls-cert-file %s", path_of("shown.pem")),
                        "OK");
    assert_string_equal(server_ask(redis, "CONFIG SET tls-key-file %s", path_of("shown.key")),
                        "OK");
}

/* ---- whom we believe ------------------------------------------------------------------------- */

static int own_nothing_is_left(void **state)
{
    if (redis->tls_port != 0)
        server_shows("host");
    return server_becomes_empty(redis) ? 0 : -1;
}

FIXTURE(NULL, own_nothing_is_left)

TEST(server_by_address_and_by_name)
{
    needs_tls();
    expect(BOWLINE_OK, "", "%s", redis->tls_url);
    expect(BOWLINE_OK, "", "rediss://localhost:%d?ca=%s", redis->tls_port, path_of("ca.pem"));
    expect(BOWLINE_OK, "", "rediss://localhost:%d/3?ca=%s", redis->tls_port, path_of("ca.pem"));
    assert_true(server_becomes_empty(redis));
}

TEST(certificates_that_are_not_believed)
{
    static const struct {
        cert        shown;
        const char *host;
        int         status;
        const char *part;
    } list[] = {
        { { "other", "ca", "DNS:other.test", false, false },
          "localhost",
          BOWLINE_REFUSED,
          "the certificate of localhost is for other.test" },
        { { "dnsonly", "ca", "DNS:localhost", false, false },
          "127.0.0.1",
          BOWLINE_REFUSED,
          "the certificate of 127.0.0.1 is for localhost; an address must be in it as IP:" },
        { { "iponly", "ca", "IP:127.0.0.1", false, false }, "127.0.0.1", BOWLINE_OK, "" },
        { { "iponly", "ca", "IP:127.0.0.1", false, false },
          "localhost",
          BOWLINE_REFUSED,
          "the certificate of localhost is for 127.0.0.1" },
        { { "ipbad", "ca", "IP:127.0.0.2", false, false },
          "127.0.0.1",
          BOWLINE_REFUSED,
          "the certificate of 127.0.0.1 is for 127.0.0.2" },
        { { "localhost", "ca", NULL, false, false }, /* a common name counts for nothing */
          "localhost",
          BOWLINE_REFUSED,
          "names no host: it needs a subjectAltName" },
        { { "old", "ca", "DNS:localhost", false, true },
          "localhost",
          BOWLINE_REFUSED,
          "has expired: it ended on 2" },
        { { "selfmade", NULL, "DNS:localhost", false, false },
          "localhost",
          BOWLINE_REFUSED,
          "signed by itself" },
        { { "strange", "otherca", "DNS:localhost", false, false },
          "localhost",
          BOWLINE_REFUSED,
          "of the authority \"otherca\"" },
        { { "mailonly", "ca", "email:a@b.test", false, false },
          "localhost",
          BOWLINE_REFUSED,
          "names no host: it needs a subjectAltName" },
    };

    needs_tls();
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        print_message("# %s\n", list[i].shown.name);
        certs_make(redis->directory, &list[i].shown);
        server_shows(list[i].shown.name);
        expect(list[i].status, list[i].part, "rediss://%s:%d?ca=%s", list[i].host, redis->tls_port,
               path_of("ca.pem"));
    }
    assert_true(server_becomes_empty(redis));
}

/* ---- who we are ------------------------------------------------------------------------------ */

static void with_certificate(int status, const char *part, const char *file, const char *key)
{
    expect(status, part, "%s&cert=%s&cert-key=%s", redis->tls_url, path_of(file), path_of(key));
}

TEST(server_that_wants_our_certificate)
{
    static const char *const versions[] = { "TLSv1.2", "TLSv1.3" };

    needs_tls();
    certs_make(redis->directory, &(cert){ .name = "we", .issuer = "ca" });
    certs_make(redis->directory, &(cert){ .name = "stranger", .issuer = "otherca" });
    assert_string_equal(server_ask(redis, "CONFIG SET tls-auth-clients yes"), "OK");
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        print_message("# %s\n", versions[i]);
        assert_string_equal(server_ask(redis, "CONFIG SET tls-protocols %s", versions[i]), "OK");
        expect(BOWLINE_REFUSED, "requires a client certificate: give cert=FILE and cert-key=FILE",
               "%s", redis->tls_url);
        with_certificate(BOWLINE_OK, "", "we.pem", "we.key");
        with_certificate(BOWLINE_REFUSED, "does not know the authority of our certificate",
                         "stranger.pem", "stranger.key");
    }
    assert_string_equal(server_ask(redis, "CONFIG SET tls-protocols ''"), "OK");
    assert_string_equal(server_ask(redis, "CONFIG SET tls-auth-clients no"), "OK");
    assert_true(server_becomes_empty(redis));
}

/* ---- the wrong port -------------------------------------------------------------------------- */

TEST(wrong_port_is_named)
{
    needs_tls();
    expect(BOWLINE_UNREACHABLE, "is this a port for TLS?",
           "rediss://127.0.0.1:%d?ca=%s&timeout=50ms", redis->port, path_of("ca.pem"));
    expect(BOWLINE_UNREACHABLE, "if it speaks TLS, write rediss://",
           "redis://127.0.0.1:%d?timeout=500ms", redis->tls_port);
}

/* ---- what a connection is for ---------------------------------------------------------------- */

/* Everything goes on over the next connection. */
TEST(connections_killed_while_held)
{
    needs_tls();
    bowline_client *client = must_open(redis->tls_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    for (int i = 0; i < 20; i++) {
        server_hang_up(redis);
        sleep_ms(IDLE_MS);
        assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    }
    must_release(hold);
    bowline_close(client);
}

/* ---- the cases ------------------------------------------------------------------------------- */

static int own_server_starts(void **state)
{
    redis = server_start_tls(NULL);
    if (redis->tls_port == 0)
        return 0;
    certs_make(redis->directory, &(cert){ .name = "otherca", .is_authority = true });
    server_shows("host"); /* it already does, by another name */
    return 0;
}

AROUND(own_server_starts, stop_server)
