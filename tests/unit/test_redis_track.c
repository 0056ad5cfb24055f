/*
 * test_redis_track.c -- when the server is asked for pushes of changed keys, and which waiter
 * wakes.
 *
 * A server is played (redis_fixture.h).
 */
#include "redis_fixture.h"

#define INVALIDATE(key, size) ">2\r\n$10\r\ninvalidate\r\n*1\r\n$" size "\r\n" key "\r\n"

static bwl_operation operations[4];

static int play_redisson(void **state)
{
    (void)play(state);
    close_client();
    open_client("lease=30s&timeout=5s&profile=redisson");
    return 0;
}

static void expect_take(const bwl_lock *lock, const char *before)
{
    expect("%sEVALSHA @hash_take 1 %s %s 30000", before, lock->name, lock->hold.claim.token);
}

/* A lock that waits, after a first attempt that found it held; its next attempt is far away. */
static bwl_lock *waiting_lock(const char *name, bwl_operation *operation)
{
    bwl_lock *lock = lock_named(name);

    bwl_lock_acquire(lock, operation, BWL_NEVER);
    if (store->phase != BWL_REDIS_READY)
        greet();
    expect_take(lock, "");
    says(":-1\r\n");
    turn();
    assert_int_equal(lock->hold.state, BWL_HOLD_WAITING);
    lock->hold.look_at = BWL_NEVER;
    return lock;
}

/* Its second attempt is made, and finds it held as well. */
static void try_again(bwl_lock *lock, const char *before, const char *answer)
{
    bwl_lock_event(lock, (bwl_event){ .kind = BWL_PUSH });
    turn();
    expect_take(lock, before);
    says(answer);
    turn();
    assert_int_equal(lock->hold.state, BWL_HOLD_WAITING);
    lock->hold.look_at = BWL_NEVER;
}

#define TRACKING "CLIENT TRACKING ON\n"

static void test_track_is_asked_for_once_before_a_second_attempt(void **state)
{
    bwl_lock *lock = waiting_lock("n", &operations[0]);

    (void)state;
    assert_false(store->tracks);
    try_again(lock, TRACKING, "+OK\r\n:-1\r\n");
    assert_true(store->tracks);
    try_again(lock, "", ":-1\r\n");
}

static void test_track_that_is_refused_is_no_answer_to_the_question(void **state)
{
    bwl_lock *lock = waiting_lock("n", &operations[0]);

    (void)state;
    bwl_lock_event(lock, (bwl_event){ .kind = BWL_PUSH });
    turn();
    expect_take(lock, TRACKING);
    says("-NOPERM this user has no permissions to run the 'client|tracking' command\r\n:0\r\n");
    turn();
    assert_int_equal(operations[0].ended, BWL_HELD);
}

static void test_track_push_makes_the_next_attempt_at_once(void **state)
{
    bwl_lock *lock = waiting_lock("n", &operations[0]);

    (void)state;
    try_again(lock, TRACKING, "+OK\r\n:-1\r\n");
    says(INVALIDATE("n", "1"));
    turn();
    expect_take(lock, "");
    says(":0\r\n");
    turn();
    assert_int_equal(operations[0].ended, BWL_HELD);
}

static void test_track_push_about_another_key_wakes_nobody(void **state)
{
    static const char *const pushes[] = {
        INVALIDATE("m", "1"),
        INVALIDATE("nn", "2"),
        ">2\r\n$10\r\ninvalidate\r\n*0\r\n",
        ">2\r\n$7\r\nunknown\r\n*1\r\n$1\r\nn\r\n",
        ">3\r\n$7\r\nmessage\r\n$1\r\nn\r\n$1\r\n0\r\n",
    };
    bwl_lock *lock = waiting_lock("n", &operations[0]);

    (void)state;
    try_again(lock, TRACKING, "+OK\r\n:-1\r\n");
    for (size_t i = 0; i < COUNT_OF(pushes); i++) {
        says(pushes[i]);
        turn();
        expect(NOTHING);
        assert_int_equal(lock->hold.state, BWL_HOLD_WAITING);
    }
}

static void test_track_push_wakes_the_one_with_the_most_attempts(void **state)
{
    bwl_lock *young = waiting_lock("n", &operations[0]);
    bwl_lock *old   = waiting_lock("n", &operations[1]);
    bwl_lock *last  = waiting_lock("n", &operations[2]);

    (void)state;
    try_again(old, TRACKING, "+OK\r\n:-1\r\n");
    says(INVALIDATE("n", "1"));
    turn();
    expect_take(old, "");
    assert_int_equal(young->hold.state, BWL_HOLD_WAITING);
    assert_int_equal(last->hold.state, BWL_HOLD_WAITING);
}

static void test_track_push_without_keys_wakes_all(void **state)
{
    bwl_lock *one   = waiting_lock("a", &operations[0]);
    bwl_lock *other = waiting_lock("b", &operations[1]);

    (void)state;
    try_again(one, TRACKING, "+OK\r\n:-1\r\n");
    says(">2\r\n$10\r\ninvalidate\r\n_\r\n");
    turn();
    assert_int_equal(one->hold.state, BWL_HOLD_ACQUIRING);
    assert_int_equal(other->hold.state, BWL_HOLD_ACQUIRING);
}

static void test_track_push_about_a_held_lock_changes_nothing(void **state)
{
    bwl_lock *lock = waiting_lock("n", &operations[0]);

    (void)state;
    try_again(lock, TRACKING, "+OK\r\n:-1\r\n");
    says(INVALIDATE("n", "1"));
    turn();
    expect_take(lock, "");
    says(":0\r\n" INVALIDATE("n", "1"));
    turn();
    assert_int_equal(lock->hold.state, BWL_HOLD_HELD);
    expect(NOTHING);
}

static void test_track_begins_anew_with_the_connection(void **state)
{
    bwl_lock *lock = waiting_lock("n", &operations[0]);

    (void)state;
    try_again(lock, TRACKING, "+OK\r\n:-1\r\n");
    hang_up();
    turn();
    bwl_lock_event(lock, (bwl_event){ .kind = BWL_PUSH });
    greet();
    assert_true(store->tracks);
    expect_take(lock, TRACKING);
}

static void test_track_is_asked_for_by_a_waiter_of_symfony(void **state)
{
    (void)state;
    close_client();
    open_client("lease=30s&timeout=5s&profile=symfony");
    bwl_lock *lock = lock_named("n");
    bwl_lock_acquire(lock, &operations[0], BWL_NEVER);
    greet();
    expect("EVALSHA @zset_take 1 n %s 30000", lock->hold.claim.token);
    says(":0\r\n");
    turn();
    bwl_lock_event(lock, (bwl_event){ .kind = BWL_PUSH });
    turn();
    expect(TRACKING "EVALSHA @zset_take 1 n %s 30000", lock->hold.claim.token);
    says("+OK\r\n:0\r\n");
    turn();
    lock->hold.look_at = BWL_NEVER;
    says(INVALIDATE("n", "1"));
    turn();
    expect("EVALSHA @zset_take 1 n %s 30000", lock->hold.claim.token);
    says(":1\r\n");
    turn();
    assert_int_equal(operations[0].ended, BWL_HELD);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play_redisson, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_track_is_asked_for_once_before_a_second_attempt),
        CASE(test_track_that_is_refused_is_no_answer_to_the_question),
        CASE(test_track_push_makes_the_next_attempt_at_once),
        CASE(test_track_push_about_another_key_wakes_nobody),
        CASE(test_track_push_wakes_the_one_with_the_most_attempts),
        CASE(test_track_push_without_keys_wakes_all),
        CASE(test_track_push_about_a_held_lock_changes_nothing),
        CASE(test_track_begins_anew_with_the_connection),
        CASE(test_track_is_asked_for_by_a_waiter_of_symfony),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
