/*
 * test_redis_connect_pauses.c -- the pause after an attempt to connect that failed: how long it is,
 * who waits for it, and that one is for all locks of a client.
 */
#include "redis_fixture.h"

static bwl_operation operation;

static void ask(void)
{
    bwl_lock_acquire(lock_named("n"), &operation, 0);
}

static void drive_until(bwl_redis_phase phase)
{
    while (store->phase != phase)
        assert_int_equal(bwl_client_drive(client, BWL_NEVER, &fault), BWL_OK);
}

/* A thousand locks that want their server back are one client that knocks now and then. */
static void test_redis_connect_a_thousand_locks_knock_as_one(void **state)
{
    enum { HOLDS = 1000 };
    static bwl_operation operations[HOLDS];
    char                 name[16];

    (void)state;
    for (unsigned i = 0; i < HOLDS; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        (void)held_lock(name, &operations[i]);
    }
    hang_up();
    vanish();
    bwl_ms end = bwl_client_now(client) + 1000;
    while (bwl_client_now(client) < end || store->failures < 3) { /* all of it may be one stop */
        for (bwl_lock *lock = client->locks; lock != NULL; lock = lock->next)
            if (lock->operation == NULL && lock->hold.state == BWL_HOLD_HELD)
                bwl_lock_extend(lock, &operations[0], 30000);
        assert_int_equal(bwl_client_drive(client, end, &fault), BWL_OK);
    }
    print_message("# %u attempts in a second\n", store->failures);
    assert_in_range(store->failures, 3, 20);
    assert_int_equal(store->opened, 1);
    for (bwl_lock *lock = client->locks; lock != NULL; lock = lock->next)
        if (lock->operation != NULL)
            lock->operation = NULL; /* they share one */
}

static void test_redis_connect_pause_doubles_up_to_a_second(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        bwl_ms most     = i < 7 ? (bwl_ms)10 << i : 1000;
        store->failures = i;
        for (unsigned times = 0; times < 50; times++) {
            store->failures = i;
            bwl_redis_rest(store);
            assert_int_equal(store->failures, i + 1);
            assert_in_range(store->rests_until - client->latest, most / 2, most);
        }
    }
}

static void test_redis_connect_pause_is_at_most_half_of_the_time_for_an_answer(void **state)
{
    (void)state;
    close_client();
    open_client("lease=30s&timeout=20ms");
    store->failures = 20;
    for (unsigned times = 0; times < 50; times++) {
        bwl_redis_rest(store);
        assert_in_range(store->rests_until - client->latest, 5, 10);
    }
}

static void test_redis_connect_what_is_asked_in_a_pause_waits_for_its_end(void **state)
{
    (void)state;
    vanish();
    ask();
    assert_int_equal(operation.ended, BWL_UNREACHABLE);
    assert_int_equal(store->failures, 1);
    listen_again();
    store->rests_until = bwl_client_now(client) + 60000; /* not over before it is asked again */
    ask();
    assert_int_equal(operation.ended, BWL_PENDING);
    assert_int_equal(store->phase, BWL_REDIS_RESTING);
    assert_true(store->phase_ends_at == store->rests_until);
    store->phase_ends_at = bwl_client_now(client);
    bwl_redis_set_timer(store);
    drive_until(BWL_REDIS_GREETING);
    greet();
    says("+OK\r\n");
    turn();
    assert_int_equal(operation.ended, BWL_HELD);
    assert_int_equal(store->failures, 0);
}

/* It was greeted, and closed before it had answered anything: no reason to hurry. */
static void test_redis_connect_connection_that_answers_nothing_is_a_failure(void **state)
{
    (void)state;
    bwl_lock *lock = lock_named("n");
    bwl_lock_acquire(lock, &operation, 20000);
    greet();
    hang_up();
    turn();
    assert_int_equal(store->failures, 1);
    drive_until(BWL_REDIS_GREETING);
    server_accepts();
    says(HELLO INFO);
    turn();
    says(":0\r\n"); /* to CLIENT KILL */
    turn();
    assert_int_equal(store->phase, BWL_REDIS_READY);
    hang_up();
    turn();
    assert_int_equal(store->failures, 2);
}

static void test_redis_connect_connection_that_served_is_followed_at_once(void **state)
{
    (void)state;
    (void)held_lock("n", &operation);
    store->failures = 5;
    hang_up();
    turn();
    assert_int_equal(store->phase, BWL_REDIS_GREETING);
}

/* The pause ends, and nobody wants a connection any more. */
static void test_redis_connect_nobody_connects_for_nothing(void **state)
{
    (void)state;
    bwl_lock *lock = held_lock("n", &operation);
    hang_up();
    vanish();
    turn();
    assert_int_equal(store->phase, BWL_REDIS_RESTING);
    lock->hold.state = BWL_HOLD_OVER;
    drive_until(BWL_REDIS_DOWN);
    assert_true(client->store_timer.at == BWL_NEVER);
    assert_false(client->watches);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_redis_connect_a_thousand_locks_knock_as_one),
        CASE(test_redis_connect_pause_doubles_up_to_a_second),
        CASE(test_redis_connect_pause_is_at_most_half_of_the_time_for_an_answer),
        CASE(test_redis_connect_what_is_asked_in_a_pause_waits_for_its_end),
        CASE(test_redis_connect_connection_that_answers_nothing_is_a_failure),
        CASE(test_redis_connect_connection_that_served_is_followed_at_once),
        CASE(test_redis_connect_nobody_connects_for_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
