/*
 * test_redis_tls.c -- rediss:// with a real server: client certificates, server certificates, and
 * the error texts.
 *
 * Each fault is a common mistake: a certificate for another host, an expired one, the wrong port, a
 * client without a certificate. A permanent error is REFUSED at once, however long the wait; a
 * temporary one is retried.
 */
#include "tests/lib/attempt.h"
#include "tests/lib/certs.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <stdio.h>
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

/* Sets the certificate of the server.  Redis 6.2 sets one of the two files at a time and refuses a
 * pair that does not match: so the two names stay, and are links to other files. */
static void use_server_certificate(const char *name)
{
    link_shown(name, "pem");
    link_shown(name, "key");
    assert_string_equal(server_ask(redis, "CONFIG SET tls-cert-file %s", path_of("shown.pem")),
                        "OK");
    assert_string_equal(server_ask(redis, "CONFIG SET tls-key-file %s", path_of("shown.key")),
                        "OK");
}

/* ---- server certificates --------------------------------------------------------------------- */

static int own_nothing_is_left(void **state)
{
    if (redis->tls_port != 0)
        use_server_certificate("host");
    return server_becomes_empty(redis) ? 0 : -1;
}

FIXTURE(NULL, own_nothing_is_left)

TEST(server_is_accepted_by_address_and_by_name)
{
    needs_tls();
    expect(BOWLINE_OK, "", "%s", redis->tls_url);
    expect(BOWLINE_OK, "", "rediss://localhost:%d?ca=%s", redis->tls_port, path_of("ca.pem"));
    expect(BOWLINE_OK, "", "rediss://localhost:%d/3?ca=%s", redis->tls_port, path_of("ca.pem"));
    assert_true(server_becomes_empty(redis));
}

TEST(wrong_server_certificates_are_refused)
{
    static const struct {
        cert        certificate;
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
        { { "localhost", "ca", NULL, false, false }, /* a common name does not count */
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
        print_message("# %s\n", list[i].certificate.name);
        certs_make(redis->directory, &list[i].certificate);
        use_server_certificate(list[i].certificate.name);
        expect(list[i].status, list[i].part, "rediss://%s:%d?ca=%s", list[i].host, redis->tls_port,
               path_of("ca.pem"));
    }
    assert_true(server_becomes_empty(redis));
}

/* ---- client certificates --------------------------------------------------------------------- */

static void with_certificate(int status, const char *part, const char *file, const char *key)
{
    expect(status, part, "%s&cert=%s&cert-key=%s", redis->tls_url, path_of(file), path_of(key));
}

TEST(server_that_requires_a_client_certificate_accepts_only_that)
{
    static const char *const versions[] = { "TLSv1.2", "TLSv1.3" };

    needs_tls();
    certs_make(redis->directory, &(cert){ .name = "we", .issuer = "ca" });
    certs_make(redis->directory, &(cert){ .name = "untrusted", .issuer = "otherca" });
    assert_string_equal(server_ask(redis, "CONFIG SET tls-auth-clients yes"), "OK");
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        print_message("# %s\n", versions[i]);
        assert_string_equal(server_ask(redis, "CONFIG SET tls-protocols %s", versions[i]), "OK");
        expect(BOWLINE_REFUSED, "requires a client certificate: give cert=FILE and cert-key=FILE",
               "%s", redis->tls_url);
        with_certificate(BOWLINE_OK, "", "we.pem", "we.key");
        with_certificate(BOWLINE_REFUSED, "does not know the authority of our certificate",
                         "untrusted.pem", "untrusted.key");
    }
    assert_string_equal(server_ask(redis, "CONFIG SET tls-protocols ''"), "OK");
    assert_string_equal(server_ask(redis, "CONFIG SET tls-auth-clients no"), "OK");
    assert_true(server_becomes_empty(redis));
}

/* ---- the wrong port -------------------------------------------------------------------------- */

TEST(wrong_port_is_reported_with_the_right_scheme)
{
    needs_tls();
    expect(BOWLINE_UNREACHABLE, "is this a port for TLS?",
           "rediss://127.0.0.1:%d?ca=%s&timeout=50ms", redis->port, path_of("ca.pem"));
    expect(BOWLINE_UNREACHABLE, "if it speaks TLS, write rediss://",
           "redis://127.0.0.1:%d?timeout=500ms", redis->tls_port);
}

/* ---- lost connections ------------------------------------------------------------------------ */

/* The client continues over the next connection. */
TEST(hold_survives_killed_tls_connections)
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

/* ---- set-up ---------------------------------------------------------------------------------- */

static int own_server_starts(void **state)
{
    redis = server_start_tls(NULL);
    if (redis->tls_port == 0)
        return 0;
    certs_make(redis->directory, &(cert){ .name = "otherca", .is_authority = true });
    use_server_certificate("host"); /* as before, by links */
    return 0;
}

AROUND(own_server_starts, stop_server)
