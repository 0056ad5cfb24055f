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

/* unit/test_tls_words.c has every wrong certificate. */
TEST(wrong_server_certificates_are_refused)
{
    static const struct {
        cert        certificate;
        const char *part;
    } list[] = {
        { { "other", "ca", "DNS:other.test", false, false },
          "the certificate of localhost is for other.test" },
        { { "old", "ca", "DNS:localhost", false, true }, "has expired: it ended on 2" },
        { { "strange", "otherca", "DNS:localhost", false, false }, "of the authority \"otherca\"" },
    };

    needs_tls();
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        certs_make(redis->directory, &list[i].certificate);
        use_server_certificate(list[i].certificate.name);
        expect(BOWLINE_REFUSED, list[i].part, "rediss://localhost:%d?ca=%s", redis->tls_port,
               path_of("ca.pem"));
    }
}

/* ---- client certificates --------------------------------------------------------------------- */

TEST(server_that_requires_a_client_certificate_accepts_only_that)
{
    needs_tls();
    certs_make(redis->directory, &(cert){ .name = "we", .issuer = "ca" });
    assert_string_equal(server_ask(redis, "CONFIG SET tls-auth-clients yes"), "OK");
    expect(BOWLINE_REFUSED, "requires a client certificate: give cert=FILE and cert-key=FILE", "%s",
           redis->tls_url);
    expect(BOWLINE_OK, "", "%s&cert=%s&cert-key=%s", redis->tls_url, path_of("we.pem"),
           path_of("we.key"));
    assert_string_equal(server_ask(redis, "CONFIG SET tls-auth-clients no"), "OK");
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
