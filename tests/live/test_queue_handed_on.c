/*
 * test_queue_handed_on.c -- a hold that threads of one client hand to each other, and that leaves
 * them: its mode changes, it is announced, or it is exported.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/request.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <bowline/async.h>
#include <bowline/election.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { FOR_EVER = 60000, WAITERS = 2 };

static bowline_client *client; /* of the threads */
static bowline_client *other;

static int open_clients(void **state)
{
    (void)server_ask(redis, "FLUSHALL");
    client = must_open_url("%s", redis->tcp_url);
    other  = must_open_url("%s", redis->tcp_url);
    return 0;
}

static int leave_no_keys(void **state)
{
    bowline_close(client);
    bowline_close(other);
    return queue_await_no_keys(redis) ? 0 : -1;
}

FIXTURE(open_clients, leave_no_keys)

static long waiting(void)
{
    return strtol(server_ask(redis, "ZCARD bowline:{x}:bwl.q"), NULL, 10);
}

static void ask(request *r, bowline_client *of, uint32_t mode)
{
    bowline_acquire_options o = BOWLINE_ACQUIRE_INIT;

    o.wait_ms = BOWLINE_FOREVER;
    o.mode    = mode;
    assert_status(BOWLINE_OK, bowline_acquire_start(&r->op, of, "x", &o, NULL), NULL);
    request_run(r);
}

/* A hold of the first of WAITERS threads; the others wait for it in this client. */
static bowline_hold *handed_on(bowline_client *of, request waiters[WAITERS])
{
    bowline_hold *hold;

    assert_status(BOWLINE_OK, bowline_acquire(&hold, of, "x", NULL, NULL), NULL);
    for (int i = 0; i < WAITERS; i++)
        ask(&waiters[i], of, BOWLINE_EXCLUSIVE);
    assert_true(queue_await_size(redis, "x", 1)); /* one for all of them */
    must_release(hold);
    return request_granted(&waiters[0]);
}

TEST(downgrade_lets_other_clients_read_and_the_threads_wait_behind_them)
{
    request       waiters[WAITERS];
    request       reader;
    bowline_hold *hold  = handed_on(client, waiters);
    uint64_t      fence = bowline_hold_fence(hold);

    ask(&reader, other, BOWLINE_SHARED);
    assert_true(queue_await_size(redis, "x", 1));
    assert_status(BOWLINE_OK, bowline_upgrade(hold, NULL), NULL); /* it is exclusive */
    assert_true(bowline_hold_fence(hold) == fence);
    assert_int_equal(waiting(), 1);
    assert_status(BOWLINE_OK, bowline_downgrade(hold, NULL), NULL);
    assert_int_equal(bowline_hold_mode(hold), BOWLINE_SHARED);
    bowline_hold *read = request_granted(&reader);
    assert_true(bowline_hold_fence(read) == bowline_hold_fence(hold));
    assert_true(bowline_hold_fence(read) > fence);
    assert_true(queue_await_size(redis, "x", 1)); /* the other thread, anew */
    assert_false(bowline_operation_done(waiters[1].op));
    assert_status(BOWLINE_BUSY, bowline_upgrade(hold, NULL), NULL);
    must_release(read);
    fence = bowline_hold_fence(hold);
    assert_status(BOWLINE_OK, bowline_upgrade(hold, NULL), NULL);
    assert_int_equal(bowline_hold_mode(hold), BOWLINE_EXCLUSIVE);
    assert_true(bowline_hold_fence(hold) > fence);
    fence = bowline_hold_fence(hold);
    must_release(hold);
    hold = request_granted(&waiters[1]);
    assert_true(bowline_hold_fence(hold) > fence);
    must_release(hold);
}

/* Its renewal was that of the lock that all threads shared. */
TEST(hold_that_has_left_the_threads_is_renewed_and_ends_with_max_hold)
{
    bowline_client         *brief = must_open_url("%s?lease=600ms", redis->tcp_url);
    bowline_acquire_options o     = BOWLINE_ACQUIRE_INIT;
    bowline_hold           *first;
    bowline_hold           *hold;
    bowline_operation      *op;

    o.wait_ms     = BOWLINE_FOREVER;
    o.max_hold_ms = 1500;
    for (int i = 0; i < 2; i++) {
        assert_status(BOWLINE_OK, bowline_acquire(&first, brief, "x", NULL, NULL), NULL);
        assert_status(BOWLINE_OK, bowline_acquire_start(&op, brief, "x", &o, NULL), NULL);
        must_release(first);
        assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, op, NULL), NULL);
        if (i == 0)
            assert_status(BOWLINE_OK, bowline_downgrade(hold, NULL), NULL);
        else
            assert_status(BOWLINE_OK, bowline_announce(hold, "here", NULL), NULL);
        for (int renewals = 0; renewals < 3; renewals++)
            assert_true(queue_await_renewal(redis, "x"));
        while (bowline_hold_left_ms(hold) > 0)
            sleep_ms(1);
        assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    }
    bowline_close(brief);
}

TEST(hold_is_announced_and_the_threads_wait_behind_the_leader)
{
    request        waiters[WAITERS];
    bowline_hold  *hold   = handed_on(client, waiters);
    bowline_leader leader = BOWLINE_LEADER_INIT;

    assert_status(BOWLINE_OK, bowline_announce(hold, "here", NULL), NULL);
    assert_status(BOWLINE_OK, bowline_observe(&leader, other, "x", FOR_EVER, NULL), NULL);
    assert_true(leader.leads && leader.fence == bowline_hold_fence(hold));
    assert_string_equal(leader.text, "here");
    assert_true(queue_await_size(redis, "x", 1));
    must_release(hold);
    hold = request_granted(&waiters[1]);
    assert_true(bowline_hold_fence(hold) > leader.fence);
    must_release(hold);
}

/* The extension of a caller who has cancelled it is still in flight. */
TEST(hold_leaves_the_threads_during_an_extension)
{
    request            waiters[WAITERS];
    bowline_hold      *hold = handed_on(client, waiters);
    bowline_operation *op;

    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL); /* not a provisional grant */
    server_signal(redis, SIGSTOP);
    assert_status(BOWLINE_OK, bowline_extend_start(&op, hold, 50000, NULL), NULL);
    bowline_cancel(op);
    assert_status(BOWLINE_CANCELLED, bowline_finish(op, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_downgrade_start(&op, hold, NULL), NULL);
    server_signal(redis, SIGCONT);
    assert_status(BOWLINE_OK, bowline_finish(op, NULL), NULL);
    assert_int_equal(bowline_hold_mode(hold), BOWLINE_SHARED);
    assert_true(queue_await_size(redis, "x", 1));
    assert_true(bowline_hold_left_ms(hold) > 40000); /* the lease is that of the extension */
    must_release(hold);
    must_release(request_granted(&waiters[1]));
}

/* The connection has ended, which the client does not know yet. */
TEST(hold_leaves_the_threads_when_the_connection_has_ended)
{
    static const struct way {
        bool announces;
        bool has_others;
    } ways[] = { { true, false }, { true, true }, { false, false }, { false, true } };

    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        bowline_options    options = BOWLINE_OPTIONS_INIT;
        bowline_client    *alone; /* nobody else runs its loop */
        bowline_operation *ops[2];
        bowline_hold      *hold;
        bowline_error      error;
        options.url   = redis->tcp_url;
        options.flags = BOWLINE_NO_THREAD;
        assert_status(BOWLINE_OK, bowline_open(&alone, &options, &error), &error);
        assert_status(BOWLINE_OK, bowline_acquire(&hold, alone, "x", NULL, &error), &error);
        for (int n = 0; n < 1 + ways[i].has_others; n++) {
            bowline_acquire_options o = BOWLINE_ACQUIRE_INIT;
            o.wait_ms                 = BOWLINE_FOREVER;
            assert_status(BOWLINE_OK, bowline_acquire_start(&ops[n], alone, "x", &o, NULL), NULL);
        }
        must_release(hold);
        assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, ops[0], &error), &error);
        assert_status(BOWLINE_OK, bowline_extend(hold, 0, &error), &error);
        server_hang_up(redis);
        int  status      = ways[i].announces ? bowline_announce(hold, "here", &error)
                                             : bowline_downgrade(hold, &error);
        bool is_repeated = ways[i].announces; /* by the next renewal; a downgrade by itself */
        if (!is_repeated || (status != BOWLINE_UNKNOWN && status != BOWLINE_UNREACHABLE))
            assert_status(BOWLINE_OK, status, &error);
        assert_status(BOWLINE_OK, bowline_ping(alone, FOR_EVER, &error), &error);
        assert_status(BOWLINE_OK, bowline_extend(hold, 0, &error), &error);
        must_release(hold);
        if (ways[i].has_others) {
            assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, ops[1], &error), &error);
            must_release(hold);
        }
        bowline_close(alone);
    }
}

/* It is not lost: it will be ours again. */
TEST(announcement_during_a_yield_is_refused)
{
    bowline_hold      *hold;
    bowline_operation *op;
    request            next;

    assert_status(BOWLINE_OK, bowline_acquire(&hold, client, "x", NULL, NULL), NULL);
    ask(&next, other, BOWLINE_EXCLUSIVE);
    assert_true(queue_await_size(redis, "x", 1));
    assert_status(BOWLINE_OK, bowline_yield_start(&op, hold, BOWLINE_FOREVER, NULL), NULL);
    assert_status(BOWLINE_USAGE, bowline_announce(hold, "here", NULL), NULL);
    must_release(request_granted(&next));
    assert_status(BOWLINE_OK, bowline_finish(op, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_announce(hold, "here", NULL), NULL);
    must_release(hold);
}

/* By another client, to which the threads are as any other. */
TEST(exported_hold_is_imported_while_the_threads_wait)
{
    request       waiters[WAITERS];
    bowline_hold *hold  = handed_on(client, waiters);
    uint64_t      fence = bowline_hold_fence(hold);
    char          ticket[BOWLINE_TICKET_MAX];

    assert_status(BOWLINE_OK, bowline_hold_export(hold, ticket, NULL), NULL);
    assert_true(queue_await_size(redis, "x", 1));
    assert_status(BOWLINE_OK, bowline_hold_import(&hold, other, ticket, NULL, NULL), NULL);
    assert_true(bowline_hold_fence(hold) == fence);
    must_release(hold);
    must_release(request_granted(&waiters[1]));
}

TEST(lost_hold_is_reported)
{
    request       waiters[WAITERS];
    bowline_hold *hold = handed_on(client, waiters);
    bowline_error error;

    (void)server_ask(redis, "DEL bowline:{x}");
    assert_status(BOWLINE_LOST, bowline_extend(hold, 0, NULL), NULL);
    assert_status(BOWLINE_LOST, bowline_announce(hold, "here", &error), &error);
    assert_status(BOWLINE_LOST, bowline_downgrade(hold, &error), &error);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    must_release(request_granted(&waiters[1]));
}

/* It was released and acquired again without a command to the server. */
TEST(kept_hold_can_be_downgraded)
{
    bowline_client *keeps = must_open_url("%s?sticky=10s", redis->tcp_url);
    bowline_hold   *hold;
    bowline_hold   *read;

    for (int i = 0; i < 2; i++) {
        assert_status(BOWLINE_OK, bowline_acquire(&hold, keeps, "x", NULL, NULL), NULL);
        if (i == 0)
            must_release(hold);
    }
    uint64_t fence = bowline_hold_fence(hold);
    assert_true(fence % 1024 != 0); /* the second of one grant */
    assert_status(BOWLINE_OK, bowline_downgrade(hold, NULL), NULL);
    assert_true(bowline_hold_fence(hold) > fence);
    assert_status(BOWLINE_OK,
                  bowline_acquire(&read, other, "x", BOWLINE_ACQUIRE(.mode = BOWLINE_SHARED), NULL),
                  NULL);
    must_release(read);
    must_release(hold);
    bowline_close(keeps);
}

AROUND(start_server, stop_server)
