/*
 * test_redis_write.c -- a question as bytes: whose key, which words, by name or by text.
 */
#include "redis_fixture.h"

static bwl_operation operation;

static void test_redis_write_key_is_made_by_the_template(void **state)
{
    (void)state;
    close_client();
    open_client("key=lock:%25s:x");
    bwl_lock *lock = lock_named("{n}");
    bwl_lock_acquire(lock, &operation, 0);
    greet();
    expect("SET lock:{n}:x %s NX PX 30000", lock->hold.claim.token);
}

static void test_redis_write_release_of_a_profile_tells_who_waits(void **state)
{
    (void)state;
    close_client();
    open_client("profile=python-redis-lock");
    bwl_lock *lock = lock_named("n");
    bwl_lock_acquire(lock, &operation, 0);
    greet();
    expect("SET lock:n %s NX EX 30", lock->hold.claim.token);
    says("+OK\r\n");
    turn();
    bwl_lock_release(lock, &operation);
    turn();
    expect("EVALSHA @delete_and_push 2 lock:n lock-signal:n %s", lock->hold.claim.token);
}

/* Its text is sent once to a process that cannot know it, and its name afterwards. */
static void test_redis_write_text_goes_once_to_another_process(void **state)
{
    bwl_lock *lock = held_lock("n", &operation);

    (void)state;
    store->texts_due = UINT64_MAX;
    for (unsigned i = 0; i < 2; i++) {
        bwl_lock_extend(lock, &operation, 30000);
        turn();
        expect(i == 0 ? "EVAL #extend_if_mine 1 bowline:{n} %s 30000"
                      : "EVALSHA @extend_if_mine 1 bowline:{n} %s 30000",
               lock->hold.claim.token);
        says(":1\r\n");
        turn();
    }
}

static void test_redis_write_says_where_it_begins_and_when(void **state)
{
    bwl_lock *lock = held_lock("n", &operation);
    uint64_t  end  = store->conn.stream.written;

    (void)state;
    bwl_lock_extend(lock, &operation, 30000);
    assert_int_equal(store->questions_count, 1);
    assert_true(store->questions[store->questions_first].written);
    assert_int_equal(store->questions[store->questions_first].starts_at, end);
    assert_int_equal(store->questions[store->questions_first].written_at, client->latest);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_redis_write_key_is_made_by_the_template),
        CASE(test_redis_write_release_of_a_profile_tells_who_waits),
        CASE(test_redis_write_text_goes_once_to_another_process),
        CASE(test_redis_write_says_where_it_begins_and_when),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
