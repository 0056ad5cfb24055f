/*
 * test_redis_notices.c -- what a loop is told when a real server loses a lock, cannot serve for a
 * while, goes away, or does not answer.
 *
 * The loop knows only what it is told: it takes events, and asks nothing of its own accord.
 */
#include "api/handles.h"
#include "tests/lib/judged.h"
#include "tests/lib/server.h"
#include "tests/lib/testing.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>

static server *redis;

static const char *url_with(const char *options)
{
    static char url[200];

    (void)snprintf(url, sizeof url, "%s?%s", redis->tcp_url, options);
    return url;
}

static bool is_readable(int fd, int wait_ms)
{
    return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, wait_ms) == 1;
}

/* The next event, by way of the pipe alone. */
static bowline_event await_event(bowline_client *client)
{
    bowline_event event  = { .size = sizeof event };
    int           status = bowline_next_event(client, &event, NULL);

    while (status == 0) {
        assert_true(is_readable(bowline_wakeup_fd(client, NULL), 20000));
        assert_status(BOWLINE_OK, bowline_dispatch(client, 0, NULL), NULL);
        status = bowline_next_event(client, &event, NULL);
    }
    assert_int_equal(status, 1);
    return event;
}

static void assert_about(bowline_event event, int32_t kind, const bowline_hold *hold)
{
    assert_int_equal(event.kind, kind);
    assert_ptr_equal(event.hold, hold);
    assert_null(event.operation);
}

static void test_key_that_is_gone_is_a_loss_at_the_next_renewal(void **state)
{
    bowline_client *client = must_open_without_keeper(url_with("lease=6s"));
    bowline_hold   *hold   = must_acquire(client, "n");
    bowline_error   error  = { 0 };
    int             fd     = bowline_hold_fd(hold, &error);

    (void)state;
    assert_string_equal(server_ask(redis, "DEL bowline:{n}"), "1");
    assert_false(is_readable(fd, 0));
    assert_about(await_event(client), BOWLINE_EVENT_LOST, hold);
    assert_true(is_readable(fd, 0));
    assert_int_equal(bowline_hold_left_ms(hold), 0);
    assert_status(BOWLINE_LOST, bowline_hold_trouble(hold, &error), &error);
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    bowline_close(client);
}

/* Nobody dispatches; the keeper renews, and finds that there is nothing to renew. */
static void test_loss_that_the_keeper_sees_is_shown_by_the_descriptor(void **state)
{
    bowline_client *client = must_open(url_with("lease=6s"));
    bool            in_time;
    int             round = 0;

    (void)state;
    do {
        bowline_hold *hold  = must_acquire(client, "n");
        int64_t       begin = clock_ms();
        assert_string_equal(server_ask(redis, "DEL bowline:{n}"), "1");
        assert_true(is_readable(bowline_hold_fd(hold, NULL), 20000));
        in_time = clock_ms() < begin + 5000; /* by the renewal, not by the end of the lease */
        assert_true(in_time || ++round < 5);
        assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    } while (!in_time);
    bowline_close(client);
}

/* What it is.  LOST: the machine was so slow that the lease was over before it was told. */
static int await_trouble(bowline_client *client, bowline_hold *hold, bowline_error *reterr)
{
    bowline_event event  = await_event(client);
    int           status = bowline_hold_trouble(hold, reterr);

    if (event.kind == BOWLINE_EVENT_LOST)
        assert_status(BOWLINE_LOST, status, reterr);
    else
        assert_about(event, BOWLINE_EVENT_TROUBLE, hold);
    return status;
}

/* The same until its trouble is over; false: the lease was over before. */
static bool outlasts_trouble(bowline_client *client, bowline_hold *hold)
{
    bowline_event event = { .size = sizeof event };

    while (bowline_hold_trouble(hold, NULL) == BOWLINE_REFUSED) {
        assert_true(is_readable(bowline_wakeup_fd(client, NULL), 20000));
        assert_status(BOWLINE_OK, bowline_dispatch(client, 0, NULL), NULL);
        int told = bowline_next_event(client, &event, NULL); /* it is the same trouble */
        assert_true(told == 0 || event.kind == BOWLINE_EVENT_LOST);
    }
    return bowline_hold_left_ms(hold) > 0;
}

static void test_server_that_cannot_serve_is_trouble_until_it_can(void **state)
{
    bowline_hold *hold  = NULL;
    bowline_error error = { 0 };
    bool          kept;
    int           round = 0;

    (void)state;
    do {
        bowline_client *client = must_open_without_keeper(url_with("lease=3s"));
        acquire_in_the_end(&hold, client, "n");
        int status = bowline_hold_trouble(hold, &error);
        assert_true(status == BOWLINE_OK || status == BOWLINE_LOST);
        assert_string_equal(server_ask(redis, "REPLICAOF 127.0.0.1 1"), "OK");
        status = await_trouble(client, hold, &error);
        if (status != BOWLINE_LOST) {
            assert_status(BOWLINE_REFUSED, status, &error);
            assert_non_null(strstr(error.text, "READONLY"));
            assert_non_null(strstr(error.text, "n is ours for "));
            assert_true(bowline_hold_left_ms(hold) > 0 ||
                        bowline_hold_trouble(hold, NULL) == BOWLINE_LOST);
        }
        assert_string_equal(server_ask(redis, "REPLICAOF NO ONE"), "OK");
        kept   = outlasts_trouble(client, hold);
        status = bowline_hold_trouble(hold, &error);
        if (status != BOWLINE_LOST)
            assert_status(BOWLINE_OK, status, &error);
        kept = keeps_in_round(kept, bowline_release(hold, NULL), ++round);
        bowline_close(client);
    } while (!kept);
}

static void test_server_that_goes_away_is_trouble_and_then_a_loss(void **state)
{
    bowline_error error = { 0 };
    bool          kept;
    int           round = 0;

    (void)state;
    do {
        bowline_client *client = must_open_without_keeper(url_with("lease=1500ms"));
        bowline_hold   *hold   = must_acquire(client, "n");
        int             fd     = bowline_hold_fd(hold, &error);
        server_kill(redis);
        int status = await_trouble(client, hold, &error);
        kept       = status != BOWLINE_LOST;
        assert_true(kept || ++round < 20);
        if (kept) {
            assert_true(status == BOWLINE_UNREACHABLE || status == BOWLINE_UNKNOWN);
            assert_about(await_event(client), BOWLINE_EVENT_LOST, hold);
            assert_true(is_readable(fd, 0));
        }
        server_start_again(redis);
        assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
        bowline_close(client);
    } while (!kept);
}

/* A process that is stopped takes connections, and says nothing on them. */
static void test_who_of_a_silent_server_blocks_nobody(void **state)
{
    bowline_client    *client = must_open_without_keeper(url_with("timeout=700ms"));
    bowline_operation *first  = NULL;
    bowline_operation *second = NULL;
    bowline_holder     holder = { .size = sizeof holder };
    bowline_error      error  = { 0 };

    (void)state;
    server_signal(redis, SIGSTOP);
    assert_status(BOWLINE_OK, bowline_who_start(&first, client, "n", &error), &error);
    assert_status(BOWLINE_OK, bowline_who_start(&second, client, "n", &error), &error);
    assert_int_equal(bowline_operation_done(first), 0);
    assert_status(BOWLINE_TIMEOUT, bowline_operation_wait(first, 20, &error), &error);
    bowline_cancel(second);
    assert_status(BOWLINE_CANCELLED, bowline_who_finish(&holder, second, &error), &error);
    bowline_event event = await_event(client); /* second was finished, and is not told */
    assert_int_equal(event.kind, BOWLINE_EVENT_ENDED);
    assert_ptr_equal(event.operation, first);
    assert_status(BOWLINE_UNREACHABLE, bowline_who_finish(&holder, first, &error), &error);
    assert_non_null(strstr(error.text, "no answer within 700 ms"));
    assert_status(BOWLINE_OK, bowline_who_start(&first, client, "n", &error), &error);
    server_signal(redis, SIGCONT);
    assert_status(BOWLINE_OK, bowline_who_finish(&holder, first, &error), &error);
    assert_int_equal(holder.held, 0);
    bowline_close(client);
}

/* ---- a hold in another lane than the loop looks at ------------------------------------------- */

/* Won while somebody was inside of the first lane. */
static bowline_hold *hold_in_another_lane(bowline_client *client, const char *name)
{
    bwl_shard_enter(client->first);
    bowline_hold *hold = must_acquire(client, name);
    bwl_shard_leave(client->first);
    assert_ptr_not_equal(bwl_lock_of(hold)->shard, client->first);
    return hold;
}

static void test_what_is_started_in_another_lane_ends_on_the_loop(void **state)
{
    bowline_client    *client = must_open(url_with("timeout=60s&lease=1h"));
    bowline_hold      *hold   = hold_in_another_lane(client, "n");
    bowline_operation *op     = NULL;

    (void)state;
    assert_true(bowline_wakeup_fd(client, NULL) >= 0);
    assert_status(BOWLINE_OK, bowline_extend_start(&op, hold, 0, NULL), NULL);
    assert_ptr_equal(await_event(client).operation, op);
    assert_status(BOWLINE_OK, bowline_finish(op, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_release_start(&op, hold, NULL), NULL);
    assert_ptr_equal(await_event(client).operation, op);
    assert_status(BOWLINE_OK, bowline_finish(op, NULL), NULL);
    bowline_close(client);
}

static void test_loss_in_another_lane_is_told_to_the_loop(void **state)
{
    bowline_client *client = must_open(url_with("lease=6s"));
    bowline_hold   *hold   = hold_in_another_lane(client, "n");
    bowline_event   event  = { .size = sizeof event };

    (void)state;
    assert_true(bowline_fd(client) >= 0);
    assert_int_equal(bowline_next_event(client, &event, NULL), 0);
    assert_string_equal(server_ask(redis, "DEL bowline:{n}"), "1");
    assert_about(await_event(client), BOWLINE_EVENT_LOST, hold);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    bowline_close(client);
}

/* The server hangs up on a lane in which nobody is: the loop cannot see to that, and must not be
 * called for it again and again. */
static void test_other_lane_that_breaks_does_not_keep_the_loop_busy(void **state)
{
    bowline_client *client = must_open(url_with("lease=1h"));
    bowline_hold   *hold   = hold_in_another_lane(client, "n");
    int             fd     = bowline_fd(client);
    int             turns  = 0;

    (void)state;
    must_release(hold);
    assert_true(server_ask(redis, "CLIENT KILL TYPE normal")[0] != '-');
    while (is_readable(fd, 100) && turns < 50) {
        assert_status(BOWLINE_OK, bowline_dispatch(client, 0, NULL), NULL);
        turns++;
    }
    assert_in_range(turns, 0, 4);
    bowline_close(client);
}

static int start_server(void **state)
{
    (void)state;
    redis = server_start(NULL);
    return 0;
}

static int stop_server(void **state)
{
    (void)state;
    server_stop(redis);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start_server, stop_server)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_key_that_is_gone_is_a_loss_at_the_next_renewal),
        CASE(test_loss_that_the_keeper_sees_is_shown_by_the_descriptor),
        CASE(test_server_that_cannot_serve_is_trouble_until_it_can),
        CASE(test_server_that_goes_away_is_trouble_and_then_a_loss),
        CASE(test_who_of_a_silent_server_blocks_nobody),
        CASE(test_what_is_started_in_another_lane_ends_on_the_loop),
        CASE(test_loss_in_another_lane_is_told_to_the_loop),
        CASE(test_other_lane_that_breaks_does_not_keep_the_loop_busy),
    };

    return cmocka_run_group_tests_name("redis_notices", tests, NULL, NULL);
}
