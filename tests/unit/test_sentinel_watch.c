/*
 * test_sentinel_watch.c -- a sentinel that has answered is listened to: switches, a line that
 * breaks, and another question.
 */
#include "sentinel_fixture.h"

/* ---- watching -------------------------------------------------------------------------------- */

static void test_switch_is_heard(void **state)
{
    (void)state;
    watch_first();
    says(0, SWITCH("m 127.0.0.1 6379 127.0.0.1 6380"));
    assert_int_equal(found, 2);
    assert_int_equal(primary.port, 6380);
    says(0, SWITCH("m 127.0.0.1 6379 127.0.0.1 6380") SWITCH("n 127.0.0.1 1 127.0.0.1 2"));
    assert_int_equal(found, 2); /* nothing new */
}

static void test_second_seek_asks_on_the_same_line(void **state)
{
    (void)state;
    watch_first();
    bwl_sentinel_discover(sentinel);
    turn();
    expect(0, QUESTION);
    says(0, AT("6379"));
    assert_int_equal(found, 2);
}

static void test_second_seek_goes_on_to_others(void **state)
{
    (void)state;
    watch_first();
    bwl_sentinel_discover(sentinel);
    turn();
    hangs_up(0);
    assert_true(is_called(1));
    says(1, HELLO AT("6380"));
    assert_int_equal(found, 2);
    assert_int_equal(primary.port, 6380);
}

/* Who has refused before that one answered may be away now. */
static void test_second_seek_knows_no_refusal_of_the_first(void **state)
{
    (void)state;
    bwl_sentinel_discover(sentinel);
    turn();
    assert_true(is_called(0));
    says(0, HELLO "_\r\n");
    assert_true(is_called(1));
    says(1, HELLO AT("6379"));
    assert_int_equal(found, 1);
    vanish(0);
    vanish(2);
    bwl_sentinel_discover(sentinel);
    hangs_up(1);
    vanish(1);
    turn();
    assert_int_equal(failed, 1);
    assert_int_equal(failure.status, BWL_STATUS_UNREACHABLE);
}

/* ---- the time of a turn: the clock is put forward, and stands still then --------------------- */

static void passes(bwl_ms ms)
{
    client->host.latest = bwl_shard_now(client) + ms;
}

static bwl_ms left_ms(void)
{
    return bwl_sentinel_waits_until(sentinel) - client->host.latest;
}

/* The line was listened to for longer than a round may take. */
static void test_second_seek_has_its_own_time(void **state)
{
    (void)state;
    watch_first();
    passes(60000);
    bwl_sentinel_discover(sentinel);
    assert_int_equal(left_ms(), 30000 / SENTINELS);
}

static void test_connecting_takes_its_part_of_the_turn(void **state)
{
    (void)state;
    passes(60000);
    bwl_sentinel_discover(sentinel);
    passes(4000);
    turn();
    assert_true(is_called(0));
    expect(0, GREETING QUESTION);
    assert_int_equal(left_ms(), 30000 / SENTINELS - 4000);
}

static void test_next_one_has_its_part_of_the_time_of_who_doubts(void **state)
{
    (void)state;
    watch_first();
    passes(60000);
    assert_true(bwl_sentinel_try_next(sentinel, client->host.latest + 600));
    assert_int_equal(left_ms(), 600 / (SENTINELS - 1));
}

/* ---- a line that ends ------------------------------------------------------------------------ */

/* Nobody waits, and nobody has ever been told of another place. */
static void test_first_word_that_nobody_waits_for_is_kept(void **state)
{
    (void)state;
    vanish(1);
    vanish(2);
    client->host.watches = true;
    bwl_sentinel_discover(sentinel);
    turn();
    assert_true(is_called(0));
    hangs_up(0);
    assert_int_equal(failed, 1);
    await_its_time();
    assert_true(is_called(0));
    says(0, HELLO AT("6379"));
    assert_int_equal(found, 0);
    says(0, SWITCH("m 127.0.0.1 6379 127.0.0.1 6380"));
    assert_int_equal(found, 1);
}

/* What was said while nobody listened is asked for. */
static void test_broken_watch_is_taken_up_by_the_next(void **state)
{
    (void)state;
    watch_first();
    client->host.watches = true;
    hangs_up(0);
    assert_false(is_called(1)); /* a moment later */
    await_its_time();
    assert_true(is_called(1));
    says(1, HELLO AT("6379"));
    assert_int_equal(found, 1); /* nobody waits, and it is where it was */
    hangs_up(1);
    await_its_time();
    assert_true(is_called(2));
    says(2, HELLO AT("6380"));
    assert_int_equal(found, 2);
    assert_int_equal(primary.port, 6380);
}

static void test_broken_watch_is_let_be_when_nobody_wants_to_know(void **state)
{
    (void)state;
    watch_first();
    client->host.watches = false;
    hangs_up(0);
    await_its_time();
    assert_false(is_called(1));
    assert_int_equal(bwl_sentinel_waits_until(sentinel), BWL_NEVER);
}

/* It may stand still, and its line looks as ever: it is asked, and another one if it says
 * nothing. */
static void test_silent_watch_is_asked_and_then_another(void **state)
{
    (void)state;
    watch_first();
    client->host.watches = true;
    await_its_time();
    expect(0, QUESTION);
    says(0, AT("6379"));
    assert_int_equal(found, 1); /* nobody waits, and it is where it was */
    await_its_time();
    expect(0, QUESTION);
    await_its_time();
    assert_true(is_called(1));
    says(1, HELLO AT("6380"));
    assert_int_equal(found, 2);
    assert_int_equal(primary.port, 6380);
    assert_int_equal(failed, 0);
}

static void test_silent_watch_is_let_be_when_nobody_wants_to_know(void **state)
{
    (void)state;
    watch_first();
    client->host.watches = false;
    await_its_time();
    expect(0, "");
    assert_int_equal(bwl_sentinel_waits_until(sentinel), BWL_NEVER);
    bwl_sentinel_discover(sentinel);
    turn();
    expect(0, QUESTION);
}

static void test_word_without_a_question_ends_it(void **state)
{
    (void)state;
    watch_first();
    says(0, AT("6380"));
    assert_int_equal(found, 1);
    assert_int_equal(recv(lines[0], &(char){ 0 }, 1, 0), 0); /* hung up */
}

static void rest_now(void)
{
    bwl_sentinel_rest(sentinel);
}

static void test_rest_inside_of_what_is_heard(void **state)
{
    (void)state;
    then = rest_now;
    bwl_sentinel_discover(sentinel);
    turn();
    assert_true(is_called(0));
    says(0, HELLO AT("6379") SWITCH("m 127.0.0.1 6379 127.0.0.1 6380"));
    assert_int_equal(found, 1);
    assert_int_equal(bwl_sentinel_waits_until(sentinel), BWL_NEVER);
}

static void test_copy_asks_the_same(void **state)
{
    bwl_sentinel *copy;

    (void)state;
    assert_int_equal(bwl_sentinel_copy(&copy, &client->host, sentinel, client), BWL_OK);
    bwl_sentinel_free(sentinel);
    sentinel = copy;
    assert_string_equal(bwl_sentinel_service(sentinel), "m");
    watch_first();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_switch_is_heard),
        CASE(test_second_seek_asks_on_the_same_line),
        CASE(test_second_seek_goes_on_to_others),
        CASE(test_second_seek_knows_no_refusal_of_the_first),
        CASE(test_second_seek_has_its_own_time),
        CASE(test_connecting_takes_its_part_of_the_turn),
        CASE(test_next_one_has_its_part_of_the_time_of_who_doubts),
        CASE(test_first_word_that_nobody_waits_for_is_kept),
        CASE(test_broken_watch_is_taken_up_by_the_next),
        CASE(test_broken_watch_is_let_be_when_nobody_wants_to_know),
        CASE(test_silent_watch_is_asked_and_then_another),
        CASE(test_silent_watch_is_let_be_when_nobody_wants_to_know),
        CASE(test_word_without_a_question_ends_it),
        CASE(test_rest_inside_of_what_is_heard),
        CASE(test_copy_asks_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
