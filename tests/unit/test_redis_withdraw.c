/*
 * test_redis_withdraw.c -- a question that has not been sent when its caller waits no longer: it is
 * taken out of the ring and never sent; the questions of others stay in their order.
 */
#include "redis_fixture.h"

static bwl_lock     *first;
static bwl_lock     *second;
static bwl_lock     *third;
static bwl_operation operations[3];

/* Three locks are asked for on a connection whose greeting is not answered. */
static int ask_for_three(void **state)
{
    (void)play(state);
    first  = lock_named("a");
    second = lock_named("b");
    third  = lock_named("c");
    bwl_lock_acquire(first, &operations[0], 0);
    bwl_lock_acquire(second, &operations[1], 0);
    bwl_lock_acquire(third, &operations[2], 0);
    assert_int_equal(store->questions_count, 3);
    return 0;
}

static void test_redis_withdraw_takes_out_what_was_not_sent(void **state)
{
    (void)state;
    bwl_redis_withdraw(second);
    assert_int_equal(operations[1].ended, BWL_UNREACHABLE);
    assert_int_equal(told_to(second, BWL_REPLY, BWL_UNSENT), 1);
    assert_int_equal(store->questions_count, 2);
    assert_int_equal(client->pending, 2);
    assert_int_equal(operations[0].ended, BWL_PENDING);
    assert_int_equal(operations[2].ended, BWL_PENDING);
    greet();
    expect("SET bowline:{a} %s NX PX 30000\nSET bowline:{c} %s NX PX 30000",
           first->hold.claim.token, third->hold.claim.token);
    says("+OK\r\n_\r\n");
    turn();
    assert_int_equal(operations[0].ended, BWL_HELD);
    assert_int_equal(operations[2].ended, BWL_BUSY);
}

static void test_redis_withdraw_of_the_first_and_the_last(void **state)
{
    (void)state;
    bwl_redis_withdraw(third);
    bwl_redis_withdraw(first);
    assert_int_equal(operations[0].ended, BWL_UNREACHABLE);
    assert_int_equal(operations[2].ended, BWL_UNREACHABLE);
    greet();
    expect("SET bowline:{b} %s NX PX 30000", second->hold.claim.token);
}

static void test_redis_withdraw_says_that_there_was_no_answer(void **state)
{
    char text[sizeof store->where + 40];

    (void)state;
    bwl_redis_withdraw(first);
    (void)snprintf(text, sizeof text, "%s: no answer within 5000 ms", store->where);
    assert_string_equal(first->why.text, text);
}

static void test_redis_withdraw_says_why_the_last_attempt_failed(void **state)
{
    (void)state;
    turn();
    server_accepts();
    hang_up();
    turn();
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(operations[i].ended, BWL_UNREACHABLE);
    bwl_lock *late = lock_named("late");
    bwl_lock_acquire(late, &operations[0], 0);
    assert_int_equal(store->phase, BWL_REDIS_RESTING);
    bwl_redis_withdraw(late);
    assert_int_equal(operations[0].ended, BWL_UNREACHABLE);
    assert_string_equal(late->why.text, store->broke.text);
}

/* The server may carry it out: nothing is told of it. */
static void test_redis_withdraw_leaves_what_was_sent(void **state)
{
    (void)state;
    greet();
    bwl_redis_withdraw(first);
    assert_int_equal(operations[0].ended, BWL_PENDING);
    assert_int_equal(store->questions_count, 3);
    says("+OK\r\n+OK\r\n+OK\r\n");
    turn();
    assert_int_equal(operations[0].ended, BWL_HELD);
}

/* A question of the machine's past, and a look, are not what its caller waits for. */
static void test_redis_withdraw_leaves_other_questions_of_the_lock(void **state)
{
    bwl_redis_looker        looker   = { 0 };
    bwl_redis_open_question old      = { .lock = first, .word = REDIS_DELETE_IF_MINE };
    bwl_redis_open_question look     = { .lock = first, .looker = &looker };
    bwl_redis_open_question verifies = { .lock = first, .verifies = true };
    bwl_redis_open_question replicas = { .lock = first, .word = REDIS_REPLICATED };

    (void)state;
    old.tag      = first->latest_tag + 1;
    look.tag     = first->latest_tag;
    verifies.tag = first->latest_tag;
    replicas.tag = first->latest_tag;
    assert_true(bwl_redis_append(store, &old));
    assert_true(bwl_redis_append(store, &look));
    assert_true(bwl_redis_append(store, &verifies));
    assert_true(bwl_redis_append(store, &replicas));
    bwl_redis_withdraw(first);
    assert_int_equal(store->questions_count, 6);
    for (unsigned i = 0; i < 4; i++) { /* the test's own */
        (void)bwl_redis_take_unsent(store, 2);
        bwl_lock_unpin(first);
    }
}

/* The section that the question would have opened is free for another lock. */
static void test_redis_withdraw_frees_the_section(void **state)
{
    (void)state;
    store->watcher = first;
    bwl_redis_withdraw(second);
    assert_ptr_equal(store->watcher, first);
    bwl_redis_withdraw(first);
    assert_null(store->watcher);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, ask_for_three, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_redis_withdraw_takes_out_what_was_not_sent),
        CASE(test_redis_withdraw_of_the_first_and_the_last),
        CASE(test_redis_withdraw_says_that_there_was_no_answer),
        CASE(test_redis_withdraw_says_why_the_last_attempt_failed),
        CASE(test_redis_withdraw_leaves_what_was_sent),
        CASE(test_redis_withdraw_leaves_other_questions_of_the_lock),
        CASE(test_redis_withdraw_frees_the_section),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
