/*
 * test_sync.c -- sync=K: a lock counts only when K replicas have it. A primary and its replicas are
 * really stopped, continued and promoted.
 *
 * Without sync=, a primary that is killed before the replication of a lock, or of an extension,
 * leads to two holders: the tests show that too, and that the same faults lead to none with it.
 */
#include "tests/lib/judged.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"

#include <signal.h>
#include <stdio.h>

enum { NODES = 3, LONG_MS = 60000, LEASE_MS = 1500, ROUNDS_MAX = 20 };

static server  *nodes[NODES]; /* the first is the primary */
static witness *judge;
static char     name[] = "x";

/* An established link carries nothing before the replica has acknowledged, once a second: waits
 * until a write at the primary is visible on each replica. */
static void await_replicas(unsigned count)
{
    for (unsigned i = 1; i <= count; i++) {
        assert_true(server_comes_to(nodes[i], "master_link_status:up", "INFO replication"));
        (void)server_ask(nodes[0], "SET begun %u", i);
        char number[4];
        (void)snprintf(number, sizeof number, "%u", i);
        assert_true(server_comes_to(nodes[i], number, "GET begun"));
    }
    (void)server_ask(nodes[0], "DEL begun");
}

static void start_replica(unsigned i)
{
    nodes[i] = server_start("--repl-diskless-sync-delay 0");
    (void)server_ask(nodes[i], "REPLICAOF 127.0.0.1 %d", nodes[0]->port);
    await_replicas(i);
}

static int begin(void **state)
{
    server_needed();
    nodes[0] = server_start("--repl-diskless-sync-delay 0");
    start_replica(1);
    judge = witness_new();
    return 0;
}

static int end(void **state)
{
    for (unsigned i = 0; i < NODES; i++) {
        server_stop(nodes[i]);
        nodes[i] = NULL;
    }
    judge_dismiss(judge);
    judge = NULL;
    return 0;
}

static bowline_client *client_of(const server *node, const char *options)
{
    char url[200];

    (void)snprintf(url, sizeof url, "%s?%s", node->tcp_url, options);
    return must_open(url);
}

/* Stops the replica, and drops what is in the socket buffers. */
static void cut_off(server *replica)
{
    server_signal(replica, SIGSTOP);
    (void)server_ask(nodes[0], "CLIENT KILL TYPE replica");
}

/* Kills the primary, and promotes the replica with what it has. */
static void take_over(server *replica)
{
    server_kill(nodes[0]);
    server_signal(replica, SIGCONT);
    assert_string_equal(server_ask(replica, "REPLICAOF NO ONE"), "OK");
}

static bool is_there(server *node)
{
    return strcmp(server_ask(node, "EXISTS bowline:{x}"), "1") == 0;
}

/* Not the expected error, but a time-out because the machine was too slow. `part` is from the
 * expected error text; NULL: OK is expected. */
static bool is_late(int status, const char *part, const bowline_error *error)
{
    if (status == BOWLINE_OK || (part != NULL && strstr(error->text, part) != NULL))
        return false;
    return strstr(error->text, "no answer") != NULL ||
           strstr(error->text, "had it in time") != NULL;
}

static void must_be_refused(bowline_client *client, const char *part)
{
    bowline_hold *hold   = NULL;
    bowline_error error  = { 0 };
    int           status = acquire_within(&hold, client, name, BOWLINE_NO_WAIT, &error);

    for (int round = 1; round < ROUNDS_MAX && is_late(status, part, &error); round++) {
        (void)server_ask(nodes[0], "DEL bowline:{x}"); /* it may have been executed */
        status = acquire_within(&hold, client, name, BOWLINE_NO_WAIT, &error);
    }
    assert_status(BOWLINE_REFUSED, status, &error);
    if (strstr(error.text, part) == NULL)
        fail_msg("\"%s\" does not contain %s", error.text, part);
}

static void release(bowline_hold *hold)
{
    bowline_error error  = { 0 };
    int           status = bowline_release(hold, &error);

    if (is_late(status, NULL, &error))
        (void)server_ask(nodes[0], "DEL bowline:{x}");
    else
        assert_status(BOWLINE_OK, status, &error);
}

/* Tries again while the result is a late reply. */
static int extend_to_a_minute(bowline_hold *hold, const char *part, bowline_error *reterr)
{
    int status = bowline_extend(hold, LONG_MS, reterr);

    for (int round = 1; round < ROUNDS_MAX && is_late(status, part, reterr); round++)
        status = bowline_extend(hold, LONG_MS, reterr);
    return status;
}

/* ---- replicas -------------------------------------------------------------------------------- */

FIXTURE(begin, end)

/* When the acquire returns, the replica has the key. */
TEST(sync_acquire_returns_when_the_replica_has_the_key)
{
    static const char *const options[] = { "sync=1", "sync=1&protocol=token" };

    for (unsigned i = 0; i < 2; i++) {
        bowline_client *client = client_of(nodes[0], options[i]);
        for (unsigned round = 0; round < ROUNDS_MAX; round++) {
            bowline_hold *hold = must_acquire(client, name);
            assert_true(is_there(nodes[1]));
            must_release(hold);
        }
        bowline_close(client);
    }
    assert_true(server_becomes_empty(nodes[0]));
}

/* Without a wait the acquire is REFUSED and leaves no key; a waiter acquires the lock when the
 * replica is back. */
TEST(sync_acquire_waits_for_a_stopped_replica)
{
    static const char *const options[] = { "sync=1&timeout=500ms",
                                           "sync=1&timeout=500ms&protocol=token" };

    for (unsigned i = 0; i < 2; i++) {
        bowline_client *client = client_of(nodes[0], options[i]);
        waiter          w;
        server_signal(nodes[1], SIGSTOP);
        must_be_refused(client, "0 replicas acknowledged it in time, and sync=1");
        assert_false(is_there(nodes[0]));
        waiter_start(&w, client, name, LONG_MS);
        sleep_ms(700);
        assert_false(atomic_load(&w.ended));
        server_signal(nodes[1], SIGCONT);
        assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
        assert_true(is_there(nodes[1]));
        release(w.hold);
        bowline_close(client);
    }
    assert_true(server_becomes_empty(nodes[0]));
}

/* The release of another client wrote the grant of the waiter: it counts when the replica has
 * it. */
TEST(sync_handoff_completes_when_the_replica_has_it)
{
    waiter w;

    bowline_client *client = client_of(nodes[0], "sync=1&timeout=3s");
    bowline_client *other  = client_of(nodes[0], "sync=1&timeout=3s");
    bowline_hold   *hold   = must_acquire(client, name);

    waiter_start(&w, other, name, LONG_MS);
    assert_true(server_comes_to(nodes[0], "1", "ZCARD bowline:{x}:bwl.q"));
    server_signal(nodes[1], SIGSTOP);
    must_release(hold);
    sleep_ms(400); /* the waiter received the push and has confirmed */
    assert_true(is_there(nodes[0]));
    assert_false(atomic_load(&w.ended));
    server_signal(nodes[1], SIGCONT);
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    assert_true(is_there(nodes[1]));
    must_release(w.hold);
    bowline_close(other);
    bowline_close(client);
}

/* The hold keeps its previous end. */
TEST(sync_extension_counts_when_the_replica_has_it)
{
    bowline_error error = { 0 };
    bowline_hold *hold  = NULL;

    bowline_client *client = client_of(nodes[0], "sync=1&timeout=500ms&lease=20s&renew=off");

    acquire_in_the_end(&hold, client, name);
    server_signal(nodes[1], SIGSTOP);
    assert_status(BOWLINE_REFUSED, extend_to_a_minute(hold, "0 replicas acknowledged", &error),
                  &error);
    assert_non_null(strstr(error.text, "0 replicas acknowledged"));
    assert_true(bowline_hold_left_ms(hold) < 20000);
    server_signal(nodes[1], SIGCONT);
    await_replicas(1);
    assert_status(BOWLINE_OK, extend_to_a_minute(hold, NULL, &error), &error);
    assert_true(bowline_hold_left_ms(hold) > 20000);
    release(hold);
    bowline_close(client);
}

/* ---- the primary is killed ------------------------------------------------------------------- */

/* The lock was not replicated. Without sync= there are two holders, with it the acquire failed. */
TEST(only_sync_prevents_two_holders_when_the_lock_was_not_replicated)
{
    witness_visit first, second;

    bowline_client *without = client_of(nodes[0], "lease=60s&renew=off");
    bowline_client *with    = client_of(nodes[0], "lease=60s&sync=1&timeout=500ms");
    bowline_hold   *hold    = NULL;
    acquire_in_the_end(&hold, with, "before");
    give_back_or_lose(hold);
    cut_off(nodes[1]);
    must_be_refused(with, "0 replicas acknowledged");
    hold = must_acquire(without, name);
    take_over(nodes[1]);
    bowline_client *other = client_of(nodes[1], "");
    bowline_hold   *next  = must_acquire(other, name);
    assert_true(witness_enter(judge, &first, 0));
    assert_false(witness_enter(judge, &second, 0));
    assert_true(bowline_hold_left_ms(hold) > 0);
    witness_leave(&second);
    witness_leave(&first);
    must_release(next);
    bowline_close(other);
    bowline_close(without);
    bowline_close(with);
}

/* The lock was replicated, its extensions were not. Returns the number of overlaps after the next
 * holder; -1: unknown, because the machine was too slow. */
static int overlaps_after(const char *options)
{
    bowline_client *client = client_of(nodes[0], options);
    bowline_hold   *hold   = NULL;
    witness        *own    = witness_new();
    char            url[200];

    acquire_in_the_end(&hold, client, name);
    lock_holder *b             = holder_start(own, hold);
    bool         is_replicated = server_comes_to(nodes[1], "1", "EXISTS bowline:{x}");
    cut_off(nodes[1]);
    sleep_ms(LEASE_MS / 3 * 2 + 100); /* more than two renewals */
    bool still_holds = bowline_hold_left_ms(hold) > 0;
    take_over(nodes[1]);
    (void)snprintf(url, sizeof url, "%s?lease=60s", nodes[1]->tcp_url);
    rival *r = rival_start(own, url, name);
    assert_true(rival_await_hold(r));
    (void)holder_stop(b);
    rival_stop(r);
    (void)bowline_release(hold, NULL);
    bowline_close(client);
    witness_verdict verdict = witness_judge(own);
    witness_free(own);
    return is_replicated && still_holds ? (int)(verdict.overlaps + verdict.unexcused) : -1;
}

static void restart_nodes(void)
{
    for (unsigned i = 0; i < 2; i++) {
        server_stop(nodes[i]);
        nodes[i] = NULL;
    }
    nodes[0] = server_start("--repl-diskless-sync-delay 0");
    start_replica(1);
}

TEST(only_sync_prevents_two_holders_when_extensions_were_not_replicated)
{
    int overlaps = overlaps_after("lease=1500ms&timeout=400ms");

    for (int round = 1; overlaps <= 0; round++) { /* without sync=: two holders are sure */
        assert_true(round < ROUNDS_MAX);
        restart_nodes();
        overlaps = overlaps_after("lease=1500ms&timeout=400ms");
    }
    for (int round = 1; round <= 2; round++) { /* with sync=: never, however slow the machine is */
        restart_nodes();
        assert_true(overlaps_after(round == 1
                                       ? "lease=1500ms&timeout=400ms&sync=1"
                                       : "lease=1500ms&timeout=400ms&sync=1&protocol=token") <= 0);
    }
}

/* The lock was replicated: a client of the new primary does not acquire it while it is held. */
TEST(sync_lock_excludes_others_on_the_promoted_replica)
{
    bowline_hold *hold   = NULL;
    bowline_hold *second = NULL;

    bowline_client *client = client_of(nodes[0], "lease=60s&sync=1&timeout=500ms");

    acquire_in_the_end(&hold, client, name);
    cut_off(nodes[1]); /* at once: the replica has the key already */
    take_over(nodes[1]);
    assert_true(is_there(nodes[1]));
    bowline_client *other = client_of(nodes[1], "");
    assert_status(BOWLINE_TIMEOUT, acquire_within(&second, other, name, 300, NULL), NULL);
    assert_true(bowline_hold_left_ms(hold) > 0);
    (void)bowline_release(hold, NULL);
    bowline_close(other);
    bowline_close(client);
}
