/*
 * test_host_moves.c -- the name of a host leads to another address than before: after its server
 * has failed, and while it has not.
 *
 * The one server is at 127.0.0.1 and the other at 127.0.0.2, by the same port; the name is the
 * test's (names.h).
 */
#include "tests/lib/fake_server.h"
#include "tests/lib/judged.h"
#include "tests/lib/names.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>

#define HERE  "127.0.0.1"
#define THERE "127.0.0.2"

enum { LEASE_MS = 60000, PATIENCE_MS = 20000 };

static server  *first;
static server  *second;
static witness *judge;
static char     url[100];

/* Of this server by the other address: with what it has, or empty. */
static server *start_there(const char *options, int port)
{
    char words[256];

    (void)snprintf(words, sizeof words, "--bind %s --port %d --repl-diskless-sync-delay 0 %s",
                   THERE, port, options);
    return server_start(words);
}

static int begin(void **state)
{
    server_needed();
    judge  = witness_new();
    first  = server_start("--repl-diskless-sync-delay 0");
    second = start_there("", first->port);
    name_leads_to("db.test", HERE);
    (void)snprintf(url, sizeof url, "redis://db.test:%d?lease=%dms&timeout=1s", first->port,
                   LEASE_MS);
    return 0;
}

static int end(void **state)
{
    server_stop(second);
    server_stop(first);
    judge_dismiss(judge);
    return 0;
}

static void second_follows(void)
{
    (void)server_ask(second, "REPLICAOF %s %d", HERE, first->port);
    assert_true(server_comes_to(second, "master_link_status:up", "INFO replication"));
}

static bowline_hold *gets(const char *at_url, bowline_client **ret_client, uint64_t fence)
{
    bowline_hold *hold = NULL;

    *ret_client = must_open(at_url);
    assert_status(BOWLINE_OK, acquire_within(&hold, *ret_client, "x", PATIENCE_MS, NULL), NULL);
    assert_true(bowline_hold_fence(hold) > fence);
    return hold;
}

FIXTURE(begin, end)

/* A copy of it, made the primary by somebody who does not tell: another process, of which nothing
 * is known.  What is held is lost, also where the key is there; it stays until it is given up. */
TEST(copy_behind_the_same_name_is_a_loss)
{
    bowline_client *other;
    bowline_hold   *other_hold = NULL;

    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);
    lock_holder    *b      = holder_start(judge, hold);

    second_follows();
    assert_true(server_comes_to(second, "1", "EXISTS bowline:{x}"));
    (void)server_ask(second, "REPLICAOF NO ONE");
    name_leads_to("db.test", THERE);
    server_kill(first);
    assert_true(holder_await_loss(b));
    (void)holder_stop(b);
    other = must_open(url);
    assert_status(BOWLINE_BUSY, acquire_within(&other_hold, other, "x", BOWLINE_NO_WAIT, NULL),
                  NULL);
    bowline_close(other);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    other_hold      = gets(url, &other, fence);
    witness_visit v = { .fd = -1 };
    assert_true(witness_enter(judge, &v, bowline_hold_fence(other_hold)));
    witness_leave(&v);
    must_release(other_hold);
    assert_one_at_a_time(judge);
    bowline_close(other);
    bowline_close(client);
}

/* The name is not known for a while, and then leads elsewhere: it is looked up until it does. */
TEST(name_is_looked_up_for_every_attempt)
{
    bowline_client *client;

    client = must_open(url);
    must_release(must_acquire(client, "x"));
    name_leads_to("db.test", NULL);
    server_kill(first);
    assert_int_not_equal(try_once(client, "x"), BOWLINE_OK); /* the line has broken, or breaks */
    unsigned before = name_lookups("db.test");
    waiter   w;
    waiter_start(&w, client, "x", PATIENCE_MS);
    while (name_lookups("db.test") < before + 2)
        sleep_ms(1);
    name_leads_to("db.test", THERE);
    assert_int_equal(waiter_join(&w), BOWLINE_OK);
    must_release(w.hold);
    bowline_close(client);
}

/* Nothing has failed: who is connected stays where it is, and who comes is elsewhere.  Two servers
 * have one name, and both believe; the fence tells the later one. */
TEST(name_that_leads_elsewhere_parts_the_old_from_the_new)
{
    bowline_client *other;

    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    unsigned        asked  = name_lookups("db.test");

    name_leads_to("db.test", THERE);
    bowline_hold *later = gets(url, &other, bowline_hold_fence(hold));
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    assert_int_equal(name_lookups("db.test"), asked + 1); /* by the other */
    must_release(later);
    must_release(hold);
    bowline_close(other);
    bowline_close(client);
}

/* ---- sentinels ------------------------------------------------------------------------------- */

/* The sentinel itself is elsewhere when it is needed again. */
TEST(sentinel_that_moves_is_found)
{
    char watched[160];
    char options[80];

    server *old = server_start_sentinel(first->port, 1);
    (void)snprintf(options, sizeof options, "--bind %s --port %d", THERE, old->port);
    server *now = server_start_sentinel_of(HERE, first->port, 1, options);
    name_leads_to("watch.test", HERE);
    (void)snprintf(watched, sizeof watched, "redis+sentinel://watch.test:%d/m?lease=%dms",
                   old->port, LEASE_MS);
    bowline_client *client = must_open(watched);
    bowline_hold   *hold   = must_acquire(client, "x");

    name_leads_to("watch.test", THERE);
    server_kill(old);
    server_hang_up(first);
    int status = BOWLINE_UNKNOWN; /* the line breaks, perhaps with the question under way */
    for (int64_t last = clock_ms() + PATIENCE_MS; status != BOWLINE_OK && clock_ms() < last;)
        status = bowline_extend(hold, 0, NULL);
    assert_status(BOWLINE_OK, status, NULL);
    assert_true(name_lookups("watch.test") >= 2);
    must_release(hold);
    bowline_close(client);
    server_stop(now);
    server_stop(old);
}
