/*
 * test_sentinel_mixed.c -- sentinels with TLS and servers without, the reverse, and URLs of the
 * wrong kind: each is an error that names the right URL, within timeout=.
 */
#include "tests/lib/attempt.h"
#include "tests/lib/certs.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <sys/stat.h>

static server *redis;     /* ports with and without TLS, if the server has TLS */
static server *sentinel;  /* likewise; returns the server's port without TLS */
static server *names_tls; /* no TLS; returns the server's TLS port; NULL: none */
static char    ca[100];   /* "ca=..." */

static int begin(void **state)
{
    char options[512];

    server_needed();
    redis    = server_start_tls(NULL);
    int port = server_free_port();
    if (redis->tls_port == 0) {
        sentinel = server_start_sentinel(redis->port, 1);
        return 0;
    }
    (void)snprintf(ca, sizeof ca, "ca=%s", certs_path(redis->directory, "ca.pem"));
    (void)snprintf(options, sizeof options,
                   "--tls-port %d --tls-cert-file %s --tls-key-file %s --tls-ca-cert-file %s "
                   "--tls-auth-clients no",
                   port, certs_path(redis->directory, "host.pem"),
                   certs_path(redis->directory, "host.key"),
                   certs_path(redis->directory, "ca.pem"));
    sentinel           = server_start_sentinel_of("127.0.0.1", redis->port, 1, options);
    sentinel->tls_port = port;
    names_tls          = server_start_sentinel(redis->tls_port, 1);
    return 0;
}

static int end(void **state)
{
    server_stop(names_tls);
    server_stop(sentinel);
    server_stop(redis);
    return 0;
}

static void needs_tls(void)
{
    if (redis->tls_port == 0)
        skip_because("the server has no TLS");
}

TEST(service_without_tls_works)
{
    expect(BOWLINE_OK, "", "redis+sentinel://127.0.0.1:%d/m", sentinel->port);
}

TEST(sentinels_with_tls_and_servers_without_are_reported)
{
    needs_tls();
    expect(BOWLINE_UNREACHABLE,
           "is this a port for TLS? At rediss+sentinel:// servers and sentinels",
           "rediss+sentinel://127.0.0.1:%d/m?timeout=500ms&%s", sentinel->tls_port, ca);
    expect(BOWLINE_UNREACHABLE, "if it speaks TLS, write rediss+sentinel://",
           "redis+sentinel://127.0.0.1:%d/m?timeout=500ms", sentinel->tls_port);
    assert_string_equal(server_ask(redis, "EXISTS bowline:{x}"), "0");
}

TEST(sentinels_without_tls_and_servers_with_it_are_reported)
{
    needs_tls();
    expect(BOWLINE_UNREACHABLE,
           "if it speaks TLS, write rediss+sentinel://, where servers and sentinels all speak it",
           "redis+sentinel://127.0.0.1:%d/m?timeout=500ms", names_tls->port);
    expect(BOWLINE_UNREACHABLE, "if it speaks no TLS, write redis+sentinel://",
           "rediss+sentinel://127.0.0.1:%d/m?timeout=500ms&%s", names_tls->port, ca);
    assert_string_equal(server_ask(redis, "EXISTS bowline:{x}"), "0");
}

TEST(server_in_a_sentinel_url_is_refused)
{
    expect(BOWLINE_REFUSED, "if it is the server, write redis:// or rediss://",
           "redis+sentinel://127.0.0.1:%d/m", redis->port);
    needs_tls();
    expect(BOWLINE_REFUSED, "if it is the server, write redis:// or rediss://",
           "rediss+sentinel://127.0.0.1:%d/m?%s", redis->tls_port, ca);
}

TEST(sentinel_in_a_server_url_is_refused)
{
    expect(BOWLINE_REFUSED, "is a sentinel, and keeps no locks: write redis+sentinel://",
           "redis://127.0.0.1:%d", sentinel->port);
    needs_tls();
    expect(BOWLINE_REFUSED, "is a sentinel, and keeps no locks: write rediss+sentinel://",
           "rediss://127.0.0.1:%d?%s", sentinel->tls_port, ca);
}

TEST(unknown_service_is_refused)
{
    expect(BOWLINE_REFUSED, "it knows no service \"nightly\": the path of the URL is the name",
           "redis+sentinel://127.0.0.1:%d/nightly", sentinel->port);
}

TEST(wrong_sentinel_password_is_refused)
{
    char path[96];
    char url[240];

    (void)snprintf(path, sizeof path, "%s/secret", sentinel->directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    assert_true(fputs("hunter2\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    (void)server_ask(sentinel, "ACL SETUSER ann on >another +@all &*");
    (void)snprintf(url, sizeof url,
                   "redis+sentinel://127.0.0.1:%d/m?sentinel-user=ann&sentinel-password-file=%s",
                   sentinel->port, path);
    expect(BOWLINE_REFUSED, "see sentinel-user= and sentinel-password-file=", "%s", url);
    (void)server_ask(sentinel, "ACL SETUSER ann >hunter2");
    expect(BOWLINE_OK, "", "%s", url);
}

AROUND(begin, end)
