/*
 * test_redis_held.c -- what a new connection means for the locks that are held.
 *
 * The server that is played (redis_fixture.h) hangs up and is met again: as the same process, which
 * has the key still, or not; as another one, in which the key proves nothing; as one that does not
 * say who it is.  Nobody asks anything meanwhile.
 */
#include "redis_fixture.h"

static bwl_operation operation;

/* The server hangs up, and takes the connection that follows at once. */
static void meet_again(const char *greeting)
{
    hang_up();
    turn();
    server_accepts();
    expect("HELLO 3\nINFO server");
    says(greeting);
    turn();
}

static void test_redis_held_connection_follows_at_once(void **state)
{
    (void)state;
    (void)held_lock("n", &operation);
    hang_up();
    turn();
    assert_int_equal(store->phase, BWL_REDIS_GREETING);
    assert_int_equal(store->opened, 2);
}

static void test_redis_held_nothing_held_is_no_reason_to_connect(void **state)
{
    (void)state;
    bwl_lock *lock = held_lock("n", &operation);
    bwl_lock_release(lock, &operation);
    says(":1\r\n");
    turn();
    hang_up();
    turn();
    assert_int_equal(store->phase, BWL_REDIS_DOWN);
    assert_int_equal(store->opened, 1);
}

static void test_redis_held_same_process_is_asked_for_every_lock(void **state)
{
    (void)state;
    bwl_lock *first  = held_lock("a", &operation);
    bwl_lock *second = held_lock("b", &operation);
    bwl_lock *free   = lock_named("c");
    meet_again(HELLO INFO);
    assert_int_equal(store->phase, BWL_REDIS_READY);
    expect("EVALSHA @extend_if_mine 1 bowline:{b} %s 1\nEVALSHA @extend_if_mine 1 bowline:{a} %s 1",
           second->hold.claim.token, first->hold.claim.token);
    bwl_ms until = first->hold.until;
    says(":1\r\n:1\r\n");
    turn();
    assert_true(bwl_hold_is_held(&first->hold));
    assert_true(bwl_hold_is_held(&second->hold));
    assert_true(first->hold.until == until); /* it was no extension */
    assert_int_equal(client->pending, 0);
    assert_int_equal(free->hold.state, BWL_HOLD_IDLE);
    bwl_lock_unwanted(free);
}

static void test_redis_held_what_the_same_process_has_no_more_is_lost(void **state)
{
    (void)state;
    bwl_lock *lock = held_lock("n", &operation);
    meet_again(HELLO INFO);
    expect("EVALSHA @extend_if_mine 1 bowline:{n} %s 1", lock->hold.claim.token);
    says(":0\r\n");
    turn();
    assert_false(bwl_hold_is_held(&lock->hold));
    assert_non_null(strstr(lock->why.text, "does not have it any more"));
    expect(NOTHING);
    bwl_lock_release(lock, &operation);
    assert_int_equal(operation.ended, BWL_LOST);
    expect("EVALSHA @delete_if_mine 1 bowline:{n} %s", lock->hold.claim.token);
}

static void test_redis_held_script_that_is_not_known_is_sent_by_its_text(void **state)
{
    (void)state;
    bwl_lock *lock = held_lock("n", &operation);
    meet_again(HELLO INFO);
    expect("EVALSHA @extend_if_mine 1 bowline:{n} %s 1", lock->hold.claim.token);
    says("-NOSCRIPT no\r\n");
    turn();
    assert_int_equal(client->pending, 1);
    says(":0\r\n");
    turn();
    assert_false(bwl_hold_is_held(&lock->hold));
}

/* No answer, and answers that are none, change nothing: the next renewal asks again. */
static void test_redis_held_no_answer_is_no_loss(void **state)
{
    static const char *const answers[] = { "-LOADING not yet\r\n", "-NOPERM no\r\n", "" };

    (void)state;
    bwl_lock *lock = held_lock("n", &operation);
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        meet_again(HELLO INFO);
        expect("EVALSHA @extend_if_mine 1 bowline:{n} %s 1", lock->hold.claim.token);
        says(answers[i]);
        turn();
        assert_true(bwl_hold_is_held(&lock->hold));
    }
    assert_string_equal(lock->why.text, "");
}

static void test_redis_held_another_process_makes_everything_lost(void **state)
{
    (void)state;
    bwl_lock *first  = held_lock("a", &operation);
    bwl_lock *second = held_lock("b", &operation);
    char      tokens[2][BWL_TOKEN_MAX + 1];
    memcpy(tokens[0], first->hold.claim.token, sizeof tokens[0]);
    memcpy(tokens[1], second->hold.claim.token, sizeof tokens[1]);
    meet_again(HELLO INFO_BY("b"));
    assert_int_equal(first->hold.state, BWL_HOLD_DISOWNED);
    assert_int_equal(second->hold.state, BWL_HOLD_DISOWNED);
    assert_true(bwl_hold_left(&first->hold, bwl_client_now(client)) == 0);
    assert_non_null(strstr(first->why.text, "was started again"));
    expect(NOTHING); /* who has read how long it is his may trust that */
    bwl_lock_release(second, &operation);
    assert_int_equal(operation.ended, BWL_LOST);
    bwl_lock_release(first, &operation);
    assert_int_equal(operation.ended, BWL_LOST);
    /* It cannot know the script yet. */
    expect("EVAL #delete_if_mine 1 bowline:{b} %s\nEVALSHA @delete_if_mine 1 bowline:{a} %s",
           tokens[1], tokens[0]);
    says(":1\r\n:0\r\n");
    turn();
    assert_int_equal(first->hold.state, BWL_HOLD_OVER);
    assert_false(store->is_another);
}

/* What was asked while there was no connection is not written before it is known who answers: an
 * extension would keep a key alive that proves nothing. */
static void test_redis_held_extension_is_not_believed_by_another_process(void **state)
{
    (void)state;
    bwl_lock *lock = held_lock("n", &operation);
    hang_up();
    pass(5); /* an idle connection is looked at before it is used */
    bwl_lock_extend(lock, &operation, 60000);
    turn();
    server_accepts();
    expect("HELLO 3\nINFO server");
    says(HELLO INFO_BY("b"));
    turn();
    assert_int_equal(operation.ended, BWL_LOST);
    says(":1\r\n");
    turn();
    assert_false(bwl_hold_is_held(&lock->hold));
    bwl_lock_release(lock, &operation);
    says(":1\r\n");
    turn();
    assert_int_equal(lock->hold.state, BWL_HOLD_OVER);
    assert_int_equal(operation.ended, BWL_LOST);
}

/* A greeting that fails after INFO: the next one must not take it for the same. */
static void test_redis_held_another_process_is_not_forgotten(void **state)
{
    (void)state;
    bwl_lock *lock  = held_lock("n", &operation);
    store->database = 3;
    hang_up();
    turn();
    server_accepts();
    says(HELLO INFO_BY("b"));
    turn();
    assert_int_equal(store->greeting, BWL_GREET_SELECT);
    assert_true(bwl_hold_is_held(&lock->hold)); /* SELECT is not answered yet */
    hang_up();
    turn();
    while (store->phase != BWL_REDIS_GREETING)
        assert_int_equal(bwl_client_drive(client, BWL_NEVER, &fault), BWL_OK);
    server_accepts();
    says(HELLO INFO_BY("b") "+OK\r\n");
    turn();
    assert_int_equal(lock->hold.state, BWL_HOLD_DISOWNED);
}

static void test_redis_held_server_that_does_not_say_who_it_is_is_asked(void **state)
{
    (void)state;
    close_client();
    open_client("lease=30s&timeout=5s");
    bwl_lock *lock = lock_named("n");
    bwl_lock_acquire(lock, &operation, 0);
    turn();
    server_accepts();
    says(HELLO "-NOPERM no\r\n");
    turn();
    says("+OK\r\n");
    turn();
    expect("HELLO 3\nINFO server\nSET bowline:{n} %s NX PX 30000", lock->hold.claim.token);
    assert_int_equal(operation.ended, BWL_HELD);
    meet_again(HELLO "-NOPERM no\r\n");
    expect("EVALSHA @extend_if_mine 1 bowline:{n} %s 1", lock->hold.claim.token);
    assert_true(bwl_hold_is_held(&lock->hold));
}

/* The answer to what nobody asked comes after a release: it says nothing of that. */
static void test_redis_held_lock_that_is_released_meanwhile_is_released(void **state)
{
    (void)state;
    bwl_lock *lock = held_lock("n", &operation);
    meet_again(HELLO INFO);
    bwl_lock_release(lock, &operation);
    says(":0\r\n");
    turn();
    assert_int_equal(operation.ended, BWL_PENDING);
    says(":1\r\n");
    turn();
    assert_int_equal(operation.ended, BWL_RELEASED);
}

/* Of a cluster the answer may have gone a long way, and the lock was yielded and won again. */
static void test_redis_held_no_about_a_former_token_is_no_loss(void **state)
{
    bwl_event no = { .kind = BWL_REPLY, .answer = BWL_NO };

    (void)state;
    bwl_lock               *lock     = held_lock("n", &operation);
    bwl_redis_open_question question = { .lock = lock, .verifies = true, .token = "former" };
    bwl_redis_verified(&question, &no);
    assert_true(bwl_hold_is_held(&lock->hold));
    assert_string_equal(lock->why.text, "");
    memcpy(question.token, lock->hold.claim.token, sizeof question.token);
    bwl_redis_verified(&question, &no);
    assert_int_equal(lock->hold.state, BWL_HOLD_DISOWNED);
}

/* A hash is asked for by its field: as a string it would be lost. */
static void test_redis_held_lock_of_redisson_is_asked_for_by_its_field(void **state)
{
    (void)state;
    close_client();
    open_client("lease=30s&timeout=5s&profile=redisson");
    bwl_lock *lock = lock_named("n");
    bwl_lock_acquire(lock, &operation, 0);
    greet();
    expect("EVALSHA @hash_take 1 n %s 30000", lock->hold.claim.token);
    says(":0\r\n");
    turn();
    meet_again(HELLO INFO);
    expect("EVALSHA @hash_extend 1 n %s 1", lock->hold.claim.token);
    says(":1\r\n");
    turn();
    assert_int_equal(lock->hold.state, BWL_HOLD_HELD);
}

static void test_redis_held_lock_of_symfony_is_asked_for_by_its_member(void **state)
{
    (void)state;
    close_client();
    open_client("lease=30s&timeout=5s&profile=symfony");
    bwl_lock *lock = lock_named("n");
    bwl_lock_acquire(lock, &operation, 0);
    greet();
    expect("EVALSHA @zset_take 1 n %s 30000", lock->hold.claim.token);
    says(":1\r\n");
    turn();
    meet_again(HELLO INFO);
    expect("EVALSHA @zset_extend 1 n %s 1", lock->hold.claim.token);
    says(":1\r\n");
    turn();
    assert_int_equal(lock->hold.state, BWL_HOLD_HELD);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_redis_held_lock_of_symfony_is_asked_for_by_its_member),
        CASE(test_redis_held_connection_follows_at_once),
        CASE(test_redis_held_nothing_held_is_no_reason_to_connect),
        CASE(test_redis_held_same_process_is_asked_for_every_lock),
        CASE(test_redis_held_what_the_same_process_has_no_more_is_lost),
        CASE(test_redis_held_script_that_is_not_known_is_sent_by_its_text),
        CASE(test_redis_held_no_answer_is_no_loss),
        CASE(test_redis_held_another_process_makes_everything_lost),
        CASE(test_redis_held_extension_is_not_believed_by_another_process),
        CASE(test_redis_held_another_process_is_not_forgotten),
        CASE(test_redis_held_server_that_does_not_say_who_it_is_is_asked),
        CASE(test_redis_held_lock_that_is_released_meanwhile_is_released),
        CASE(test_redis_held_no_about_a_former_token_is_no_loss),
        CASE(test_redis_held_lock_of_redisson_is_asked_for_by_its_field),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
