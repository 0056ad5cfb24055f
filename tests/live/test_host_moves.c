/*
 * test_host_moves.c -- a host name resolves to another address than before: after its server
 * failed, and while its server still runs.
 *
 * One server is at 127.0.0.1 and the other at 127.0.0.2, on the same port; the test resolves the
 * name itself: it replaces getaddrinfo(3) of the system in this program.
 */
#include "tests/lib/server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>

#define ADDRESS_1 "127.0.0.1"
#define ADDRESS_2 "127.0.0.2"

enum { LEASE_MS = 60000, PATIENCE_MS = 20000 };

typedef int look_up(const char *node, const char *service, const struct addrinfo *hints,
                    struct addrinfo **res);

static server *first;
static server *second;
static char    url[100];

static atomic_bool leads_to_second; /* the name "db.test" */
static atomic_uint lookups;

int getaddrinfo(const char *restrict node, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict res)
{
    void    *symbol    = dlsym(RTLD_NEXT, "getaddrinfo");
    look_up *of_system = NULL;

    memcpy(&of_system, &symbol, sizeof of_system);
    if (node != NULL && strcmp(node, "db.test") == 0 && (hints->ai_flags & AI_NUMERICHOST) == 0) {
        node = leads_to_second ? ADDRESS_2 : ADDRESS_1;
        lookups++;
    }
    return of_system(node, service, hints, res);
}

static int begin(void **state)
{
    char words[100];

    server_needed();
    first = server_start("--repl-diskless-sync-delay 0");
    (void)snprintf(words, sizeof words, "--bind %s --port %d --repl-diskless-sync-delay 0",
                   ADDRESS_2, first->port);
    second          = server_start(words);
    leads_to_second = false;
    (void)snprintf(url, sizeof url, "redis://db.test:%d?lease=%dms&timeout=1s", first->port,
                   LEASE_MS);
    return 0;
}

static int end(void **state)
{
    server_stop(second);
    server_stop(first);
    return 0;
}

static void second_follows(void)
{
    (void)server_ask(second, "REPLICAOF %s %d", ADDRESS_1, first->port);
    assert_true(server_comes_to(second, "master_link_status:up", "INFO replication"));
}

static bowline_hold *acquire_after(const char *at_url, bowline_client **ret_client, uint64_t fence)
{
    bowline_hold *hold = NULL;

    *ret_client = must_open(at_url);
    assert_status(BOWLINE_OK, acquire_within(&hold, *ret_client, "x", PATIENCE_MS, NULL), NULL);
    assert_true(bowline_hold_fence(hold) > fence);
    return hold;
}

FIXTURE(begin, end)

/* A replica that was promoted without notice to the client: another process with an unknown
 * history. The hold is lost although the key exists; the key stays until the release. */
TEST(hold_is_lost_when_the_name_resolves_to_a_promoted_replica)
{
    bowline_client *other;
    bowline_hold   *other_hold = NULL;

    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);

    second_follows();
    assert_true(server_comes_to(second, "1", "EXISTS bowline:{x}"));
    (void)server_ask(second, "REPLICAOF NO ONE");
    leads_to_second = true;
    server_kill(first);
    must_end(hold);
    other = must_open(url);
    assert_status(BOWLINE_BUSY, acquire_within(&other_hold, other, "x", BOWLINE_NO_WAIT, NULL),
                  NULL);
    bowline_close(other);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    other_hold = acquire_after(url, &other, fence);
    must_release(other_hold);
    bowline_close(other);
    bowline_close(client);
}

/* No server failed: connected clients keep their connection, new clients connect to the other
 * server. One name has two servers, and both grant the lock; the later fence is greater. */
TEST(name_change_keeps_old_connections_and_raises_the_fence)
{
    bowline_client *other;

    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    unsigned        asked  = lookups;

    leads_to_second     = true;
    bowline_hold *later = acquire_after(url, &other, bowline_hold_fence(hold));
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    assert_int_equal(lookups, asked + 1); /* by the other client */
    must_release(later);
    must_release(hold);
    bowline_close(other);
    bowline_close(client);
}
