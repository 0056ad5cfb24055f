/*
 * test_queue_order.c -- protocol queue on a real server: who comes first is served first, woken by
 * a push, and nothing is asked meanwhile but beats.
 *
 * The server counts what it was asked.  The judge of exclusion is the witness.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/suite.h"
#include "tests/lib/witness.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LINE = 10, CROWD = 1000 };

static server  *redis;
static witness *judge;
static char     url[200];

/* Whoever is served is inside for a moment, writes down that it was his turn, and passes it on. */
typedef struct guest {
    pthread_t       thread;
    bowline_client *client;
    int             number;
    int             status;
    uint64_t        fence;
} guest;

static int         order[LINE];
static atomic_int  served;
static const char *name_of_all = "x";

static void *visit(void *arg)
{
    guest        *g    = arg;
    bowline_hold *hold = NULL;
    witness_visit inside;

    g->status = acquire_within(&hold, g->client, name_of_all, 60000, NULL);
    if (g->status != BOWLINE_OK)
        return NULL;
    g->fence                            = bowline_hold_fence(hold);
    bool alone                          = witness_enter(judge, &inside, g->fence);
    order[atomic_fetch_add(&served, 1)] = g->number;
    witness_leave(&inside);
    g->status = bowline_release(hold, NULL);
    if (!alone)
        g->status = 1;
    return NULL;
}

static void guests_come(guest *guests, int count)
{
    atomic_store(&served, 0);
    for (int i = 0; i < count; i++) {
        guests[i] = (guest){ .client = must_open(url), .number = i };
        assert_int_equal(pthread_create(&guests[i].thread, NULL, visit, &guests[i]), 0);
        assert_true(queue_await_size(redis, "x", i + 1));
    }
}

static void guests_leave(guest *guests, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_join(guests[i].thread, NULL), 0);
    for (int i = 0; i < count; i++) {
        assert_int_equal(guests[i].status, BOWLINE_OK);
        bowline_close(guests[i].client);
    }
}

static void assert_nobody_met(void)
{
    witness_verdict verdict = witness_judge(judge);

    assert_int_equal(verdict.collisions, 0);
    assert_int_equal(verdict.fences_backward, 0);
}

TEST(ten_are_served_in_the_order_in_which_they_came)
{
    guest guests[LINE];

    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);
    assert_true(fence > 0);
    guests_come(guests, LINE);
    must_release(hold);
    guests_leave(guests, LINE);
    for (int i = 0; i < LINE; i++) {
        assert_int_equal(order[i], i);
        assert_true(guests[i].fence > fence);
        fence = guests[i].fence;
    }
    assert_nobody_met();
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* RELEASE by the one, EXTEND by the other.  A HEARTBEAT is what looks at its rank. */
TEST(handing_over_takes_two_commands)
{
    guest guests[LINE];

    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    guests_come(guests, LINE);
    (void)server_ask(redis, "CONFIG RESETSTAT");
    must_release(hold);
    guests_leave(guests, LINE);
    long asked = server_command_count(redis, "evalsha") + server_command_count(redis, "eval");
    long beats = server_command_count(redis, "zrank");
    assert_int_equal(asked - beats, 2 * LINE + 1);
    assert_int_equal(queue_push_count(redis), LINE);
    assert_nobody_met();
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* ---- a crowd, through the event loop of one program ------------------------------------------ */

static bowline_operation *crowd[CROWD];

static void dispatch(bowline_client *client)
{
    struct pollfd polled  = { .fd = bowline_fd(client), .events = POLLIN };
    int64_t       wait_ms = bowline_timeout_ms(client);

    (void)poll(&polled, 1, wait_ms < 0 || wait_ms > 1000 ? 1000 : (int)wait_ms);
    assert_status(BOWLINE_OK, bowline_dispatch(client, 0, NULL), NULL);
}

static void await_operation(bowline_client *client, bowline_operation *op)
{
    for (int64_t end = clock_ms() + 60000; !bowline_operation_done(op);) {
        assert_true(clock_ms() < end);
        dispatch(client);
    }
}

TEST(a_thousand_wait_on_one_connection)
{
    bowline_client *client = must_open_without_keeper(url);
    bowline_hold   *hold   = NULL;
    uint64_t        fence  = 0;
    for (int i = 0; i < CROWD; i++)
        assert_status(
            BOWLINE_OK,
            bowline_acquire_start(&crowd[i], client, "x", BOWLINE_ACQUIRE(.wait_ms = 120000), NULL),
            NULL);
    await_operation(client, crowd[0]);
    while (strtol(server_ask(redis, "ZCARD bowline:{x}:bwl.q"), NULL, 10) < CROWD - 1)
        dispatch(client);
    for (int i = 0; i < CROWD; i++) {
        bowline_operation *op = NULL;
        await_operation(client, crowd[i]);
        if (i + 1 < CROWD)
            assert_false(bowline_operation_done(crowd[i + 1]));
        assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, crowd[i], NULL), NULL);
        assert_true(bowline_hold_fence(hold) > fence);
        fence = bowline_hold_fence(hold);
        assert_status(BOWLINE_OK, bowline_release_start(&op, hold, NULL), NULL);
        await_operation(client, op);
        assert_status(BOWLINE_OK, bowline_finish(op, NULL), NULL);
    }
    assert_true(queue_await_no_keys(redis));
    bowline_close(client);
}

/* ---- what leaves the line -------------------------------------------------------------------- */

static int open_server(void **state)
{
    server_needed();
    redis = server_start(NULL);
    judge = witness_new();
    (void)snprintf(url, sizeof url, "%s?protocol=queue&turns=1", redis->tcp_url);
    return 0;
}

static int close_server(void **state)
{
    server_stop(redis);
    witness_free(judge);
    return 0;
}

AROUND(open_server, close_server)
