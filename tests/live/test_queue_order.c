/*
 * test_queue_order.c -- protocol queue on a real server: waiters are granted the lock in order, by
 * a push, and send only heartbeats meanwhile.
 *
 * The server counts the commands. The witness detects two holders.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/suite.h"
#include "tests/lib/witness.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { WAITERS = 10, CROWD = 1000 };

static server  *redis;
static witness *judge;
static char     url[200];

/* Each waiter records when it was granted the lock, and releases. */
typedef struct queue_client {
    pthread_t       thread;
    bowline_client *client;
    int             number;
    int             status;
    uint64_t        fence;
} queue_client;

static int         order[WAITERS];
static atomic_int  grants;
static const char *lock_name = "x";

static void *wait_once(void *arg)
{
    queue_client *self = arg;
    bowline_hold *hold = NULL;
    witness_visit inside;

    self->status = acquire_within(&hold, self->client, lock_name, 60000, NULL);
    if (self->status != BOWLINE_OK)
        return NULL;
    self->fence                         = bowline_hold_fence(hold);
    bool is_alone                       = witness_enter(judge, &inside, self->fence);
    order[atomic_fetch_add(&grants, 1)] = self->number;
    witness_leave(&inside);
    self->status = bowline_release(hold, NULL);
    if (!is_alone)
        self->status = 1;
    return NULL;
}

static void start_all(queue_client *waiting, int count)
{
    atomic_store(&grants, 0);
    for (int i = 0; i < count; i++) {
        waiting[i] = (queue_client){ .client = must_open(url), .number = i };
        assert_int_equal(pthread_create(&waiting[i].thread, NULL, wait_once, &waiting[i]), 0);
        assert_true(queue_await_size(redis, "x", i + 1));
    }
}

static void join_all(queue_client *waiting, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_join(waiting[i].thread, NULL), 0);
    for (int i = 0; i < count; i++) {
        assert_int_equal(waiting[i].status, BOWLINE_OK);
        bowline_close(waiting[i].client);
    }
}

static void assert_one_holder_at_a_time(void)
{
    witness_verdict verdict = witness_judge(judge);

    assert_int_equal(verdict.collisions, 0);
    assert_int_equal(verdict.fences_backward, 0);
}

TEST(ten_waiters_are_granted_in_order)
{
    queue_client waiting[WAITERS];

    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);
    assert_true(fence > 0);
    start_all(waiting, WAITERS);
    must_release(hold);
    join_all(waiting, WAITERS);
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(order[i], i);
        assert_true(waiting[i].fence > fence);
        fence = waiting[i].fence;
    }
    assert_one_holder_at_a_time();
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* RELEASE by the holder, EXTEND by the waiter. Only a HEARTBEAT runs ZRANK. */
TEST(handoff_takes_two_commands)
{
    queue_client waiting[WAITERS];

    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    start_all(waiting, WAITERS);
    (void)server_ask(redis, "CONFIG RESETSTAT");
    must_release(hold);
    join_all(waiting, WAITERS);
    long scripts    = server_command_count(redis, "evalsha") + server_command_count(redis, "eval");
    long heartbeats = server_command_count(redis, "zrank");
    assert_int_equal(scripts - heartbeats, 2 * WAITERS + 1);
    assert_int_equal(queue_push_count(redis), WAITERS);
    assert_one_holder_at_a_time();
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* ---- many waiters in the event loop of one program ------------------------------------------- */

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

TEST(thousand_waiters_share_one_connection)
{
    bowline_client *client = must_open_without_renewal_thread(url);
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

/* ---- set-up ---------------------------------------------------------------------------------- */

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
