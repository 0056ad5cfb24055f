/*
 * test_redis_seek_on.c -- of a service with sentinels: what one of them names is no primary, or not
 * any more, and another one is asked in the same attempt.
 */
#include "seek_fixture.h"

/* The next one is asked, and knows better, in the same attempt. */
static void second_knows_better(void)
{
    assert_true(is_called(&second));
    says(&second, SENTINEL_HELLO);
    tells(&second, "127.0.0.1", &two);
    assert_true(is_called(&two));
    says(&two, GREETING("b"));
    assert_true(has_heard(&two, "SET"));
    says(&two, "+OK\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    assert_int_equal(store->failures, 0);
    assert_int_equal(lock->hold.claim.attempt, 1);
}

static void test_next_sentinel_knows_better_than_a_replica(void **state)
{
    (void)state;
    names(&one);
    assert_true(is_called(&one));
    says(&one, HELLO_AS("replica") INFO_BY("a"));
    second_knows_better();
}

static void test_next_sentinel_knows_better_than_a_dead_address(void **state)
{
    (void)state;
    (void)close(one.listener);
    one.listener = -1;
    names(&one);
    second_knows_better();
}

static void test_next_sentinel_knows_better_than_one_who_hangs_up(void **state)
{
    (void)state;
    names(&one);
    assert_true(is_called(&one));
    (void)close(one.line);
    one.line = -1;
    turn();
    second_knows_better();
}

static void test_next_sentinel_knows_better_than_a_port_of_another_protocol(void **state)
{
    (void)state;
    names(&one);
    assert_true(is_called(&one));
    says(&one, "HTTP/1.1 400 Bad Request\r\n");
    second_knows_better();
}

/* No sentinel is left to ask. */
static void test_named_port_of_another_protocol_is_refused(void **state)
{
    (void)state;
    names(&one);
    assert_true(is_called(&one));
    says(&one, "HTTP/1.1 400 Bad Request\r\n");
    assert_int_equal(operation.ended, BWL_STORE_REFUSED);
    assert_non_null(strstr(lock->why.text, "what answers there is not a Redis server"));
}

static void test_next_sentinel_knows_better_than_silence(void **state)
{
    (void)state;
    client->settings.answer_ms = 50;
    names(&one);
    assert_true(is_called(&one));
    client->settings.answer_ms = 2000;
    for (unsigned i = 0; i < 10; i++)
        turn();
    second_knows_better();
}

/* The time of the attempt is that of all of them. */
static void test_next_sentinel_brings_no_more_time(void **state)
{
    (void)state;
    names(&one);
    assert_true(is_called(&one));
    store->attempt_by = bwl_client_now(client) + 1000;
    says(&one, HELLO_AS("replica") INFO_BY("a"));
    assert_true(is_called(&second));
    says(&second, SENTINEL_HELLO);
    tells(&second, "127.0.0.1", &two);
    assert_true(is_called(&two));
    assert_true(store->dialer.until == store->attempt_by);
}

static void test_next_sentinel_is_not_asked_when_the_time_is_over(void **state)
{
    (void)state;
    names(&one);
    assert_true(is_called(&one));
    store->attempt_by = bwl_client_now(client);
    says(&one, HELLO_AS("replica") INFO_BY("a"));
    assert_false(is_called(&second));
    assert_int_equal(store->failures, 1);
}

/* What all of them say and is not so is said once, as it was before any other was asked. */
static void test_sentinels_that_say_the_same_are_not_believed_twice(void **state)
{
    (void)state;
    names(&one);
    assert_true(is_called(&one));
    says(&one, HELLO_AS("replica") INFO_BY("a"));
    assert_true(is_called(&second));
    says(&second, SENTINEL_HELLO);
    tells(&second, "127.0.0.1", &one);
    assert_false(is_called(&one));
    assert_int_equal(store->failures, 1);
    assert_non_null(strstr(lock->why.text, "names as the primary, and is a replica"));
}

static void test_doubt_outweighs_what_others_cannot_say(void **state)
{
    (void)state;
    names(&one);
    assert_true(is_called(&one));
    says(&one, HELLO_AS("replica") INFO_BY("a"));
    assert_true(is_called(&second));
    says(&second, SENTINEL_HELLO);
    says(&second, "_\r\n");
    assert_int_equal(operation.ended, BWL_PENDING); /* not REFUSED */
    assert_int_equal(store->failures, 1);
    assert_non_null(strstr(lock->why.text, "names as the primary, and is a replica"));
}

/* A refusal is for somebody to mend, and no other sentinel can. */
static void test_refusal_of_the_primary_is_the_end(void **state)
{
    (void)state;
    names(&one);
    assert_true(is_called(&one));
    says(&one, "-NOAUTH HELLO must be called with the client already authenticated\r\n");
    assert_int_equal(operation.ended, BWL_STORE_REFUSED);
    assert_false(is_called(&second));
}

/* It is the primary, and will serve: its inbox has been told so (redis_inbox.c). */
static void test_primary_that_puts_us_off_is_waited_for(void **state)
{
    (void)state;
    names(&one);
    assert_true(is_called(&one));
    store->is_put_off = true;
    says(&one, "-LOADING Redis is loading the dataset in memory\r\n");
    assert_int_equal(store->failures, 1);
    assert_false(is_called(&second));
}

/* Heard of before the first one has answered. */
static void test_switch_while_we_connect_is_followed_at_once(void **state)
{
    char text[128];

    (void)state;
    names(&one);
    assert_true(is_called(&one));
    (void)snprintf(text, sizeof text,
                   ">3\r\n+message\r\n++switch-master\r\n+m 127.0.0.1 %d 127.0.0.1 %d\r\n",
                   one.port, two.port);
    says(&watcher, text);
    assert_true(has_heard(&one, "HELLO"));
    assert_int_equal(recv(one.line, text, 1, 0), 0); /* hung up */
    assert_true(is_called(&two));
    says(&two, GREETING("b"));
    assert_int_equal(store->phase, BWL_REDIS_READY);
    assert_false(is_called(&second));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE_OF_TWO(test_next_sentinel_knows_better_than_a_replica),
        CASE_OF_TWO(test_next_sentinel_knows_better_than_a_dead_address),
        CASE_OF_TWO(test_next_sentinel_knows_better_than_one_who_hangs_up),
        CASE_OF_TWO(test_next_sentinel_knows_better_than_a_port_of_another_protocol),
        CASE(test_named_port_of_another_protocol_is_refused),
        CASE_OF_TWO(test_next_sentinel_knows_better_than_silence),
        CASE_OF_TWO(test_next_sentinel_brings_no_more_time),
        CASE_OF_TWO(test_next_sentinel_is_not_asked_when_the_time_is_over),
        CASE_OF_TWO(test_sentinels_that_say_the_same_are_not_believed_twice),
        CASE_OF_TWO(test_doubt_outweighs_what_others_cannot_say),
        CASE_OF_TWO(test_refusal_of_the_primary_is_the_end),
        CASE_OF_TWO(test_primary_that_puts_us_off_is_waited_for),
        CASE_OF_TWO(test_switch_while_we_connect_is_followed_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
