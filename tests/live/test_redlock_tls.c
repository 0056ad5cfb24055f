/*
 * test_redlock_tls.c -- redlocks:// on three servers: a server without a trusted certificate, or
 * without TLS, has no vote.
 */
#include "tests/lib/server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SERVERS = 3 };

static server *servers[SERVERS];
static char    trusted[64]; /* a file with the certificates of the trusted authorities */

static void trust(unsigned count)
{
    FILE *all = fopen(trusted, "w");

    assert_non_null(all);
    for (unsigned i = 0; i < count; i++) {
        char  path[96];
        char  bytes[8192];
        FILE *one;
        (void)snprintf(path, sizeof path, "%s/ca.pem", servers[i]->directory);
        one = fopen(path, "r");
        assert_non_null(one);
        size_t size = fread(bytes, 1, sizeof bytes, one);
        assert_int_equal(fwrite(bytes, 1, size, all), size);
        assert_int_equal(fclose(one), 0);
    }
    assert_int_equal(fclose(all), 0);
}

/* The last `clear` servers by their ports without TLS. */
static bowline_client *open_with_clear(unsigned clear)
{
    int ports[SERVERS];

    for (unsigned i = 0; i < SERVERS; i++)
        ports[i] = i < SERVERS - clear ? servers[i]->tls_port : servers[i]->port;
    return must_open_url(
        "redlocks://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d?ca=%s&restart-wait=off%s", ports[0],
        ports[1], ports[2], trusted, clear > 1 ? "&timeout=2s" : "");
}

static bowline_client *open_all(void)
{
    return open_with_clear(0);
}

static int begin(void **state)
{
    (void)snprintf(trusted, sizeof trusted, "/tmp/bowline-trusted-XXXXXX");
    int fd = mkstemp(trusted);
    for (unsigned i = 0; i < SERVERS; i++)
        servers[i] = server_start_tls(NULL);
    return fd >= 0 ? close(fd) : -1;
}

static int end(void **state)
{
    for (unsigned i = 0; i < SERVERS; i++)
        server_stop(servers[i]);
    return unlink(trusted);
}

/* The server, or bowline, may be built without TLS. */
static void tls_needed(void)
{
    bowline_client *client = NULL;

    if (servers[0]->tls_port == 0 ||
        bowline_open(&client, BOWLINE_OPTIONS(.url = servers[0]->tls_url), NULL) ==
            BOWLINE_UNSUPPORTED)
        skip_because("the server or this build of bowline has no TLS");
    bowline_close(client);
}

FIXTURE(begin, end)

TEST(redlock_server_with_an_untrusted_certificate_has_no_vote)
{
    bowline_client *client;
    bowline_hold   *hold = NULL;

    tls_needed();
    trust(2);
    client = open_all();
    hold   = must_acquire(client, "x");
    assert_string_equal(server_ask(servers[2], "EXISTS bowline:{x}"), "0");
    must_release(hold);
    bowline_close(client);
    trust(1);
    client = open_all();
    assert_status(BOWLINE_REFUSED, acquire_within(&hold, client, "x", 20000, NULL), NULL);
    bowline_close(client);
}

/* With redlocks:// nothing is sent without encryption. */
TEST(redlock_server_without_tls_has_no_vote)
{
    bowline_client *client;
    bowline_hold   *hold = NULL;
    bowline_error   error;

    tls_needed();
    trust(SERVERS);
    client = open_with_clear(1);
    hold   = must_acquire(client, "x");
    assert_string_equal(server_ask(servers[2], "EXISTS bowline:{x}"), "0");
    must_release(hold);
    bowline_close(client);
    client     = open_with_clear(2);
    int status = bowline_acquire(&hold, client, "x", NULL, &error);
    if (status != BOWLINE_UNREACHABLE && status != BOWLINE_REFUSED)
        fail_msg("%d: %s", status, error.text);
    for (unsigned i = 0; i < SERVERS; i++)
        assert_string_equal(server_ask(servers[i], "EXISTS bowline:{x}"), "0");
    bowline_close(client);
}
