/*
 * test_redis_watch.c -- sections between WATCH and EXEC on one connection: one at a time, in order,
 * other questions passing, and what becomes of them when the connection breaks.
 */
#include "redis_fixture.h"

enum { CROWD = 5 };

/* The lock's machine asks this, without a machine. */
static void asks(bwl_lock *lock, bwl_redis_word word)
{
    bwl_redis_open_question question =
        bwl_redis_question_of(lock, &(bwl_ask){ .tag = 1000 + word, .word = (uint8_t)word });

    assert_true(bwl_redis_put(store, &question));
}

/* Locks that want nothing, on a connection that is ready. */
static void be_ready(bwl_lock *locks[CROWD])
{
    bwl_operation operation;
    char          name[8];

    for (int i = 0; i < CROWD; i++) {
        (void)snprintf(name, sizeof name, "w%d", i);
        locks[i] = held_lock(name, &operation);
    }
    told_count = 0;
}

#define WATCHES "WATCH bowline:{w%d}\nGET bowline:{w%d}"

static void test_watch_and_get_are_one_question(void **state)
{
    bwl_lock *locks[CROWD];

    (void)state;
    be_ready(locks);
    asks(locks[0], REDIS_WATCH_READ);
    expect(WATCHES, 0, 0);
    says("+OK\r\n");
    turn();
    assert_int_equal(told_count, 0);
    says("_\r\n");
    turn();
    assert_int_equal(told_to(locks[0], BWL_REPLY, BWL_NO), 1);
    close_client();
}

static void test_second_section_begins_when_the_first_has_ended(void **state)
{
    bwl_lock *locks[CROWD];

    (void)state;
    be_ready(locks);
    asks(locks[0], REDIS_WATCH_READ);
    asks(locks[1], REDIS_WATCH_READ);
    asks(locks[2], REDIS_WATCH_READ);
    expect(WATCHES, 0, 0);
    asks(locks[3], REDIS_DELETE); /* others pass */
    expect("DEL bowline:{w3}");
    says("+OK\r\n_\r\n:1\r\n");
    turn();
    assert_int_equal(told_to(locks[3], BWL_REPLY, BWL_YES), 1);
    expect("%s", "");
    asks(locks[0], REDIS_UNWATCH);
    expect("UNWATCH\n" WATCHES, 1, 1); /* behind it, not before it */
    says("+OK\r\n+OK\r\n_\r\n");
    turn();
    asks(locks[1], REDIS_DELETE_WATCHED);
    expect("MULTI\nDEL bowline:{w1}\nEXEC\n" WATCHES, 2, 2);
    says("+OK\r\n+QUEUED\r\n*1\r\n:1\r\n+OK\r\n_\r\n");
    turn();
    assert_int_equal(told_to(locks[1], BWL_REPLY, BWL_YES), 1);
    assert_int_equal(told_to(locks[2], BWL_REPLY, BWL_NO), 1);
    close_client();
}

static void test_section_that_shows_nothing_is_over(void **state)
{
    bwl_lock *locks[CROWD];

    (void)state;
    be_ready(locks);
    asks(locks[0], REDIS_WATCH_READ);
    asks(locks[1], REDIS_WATCH_READ);
    expect(WATCHES, 0, 0);
    says("-NOPERM no\r\n_\r\n"); /* WATCH is forbidden, GET is not */
    turn();
    assert_int_equal(told_to(locks[0], BWL_REPLY, BWL_REFUSED), 1);
    expect(WATCHES, 1, 1);
    says("+OK\r\n-LOADING\r\n");
    turn();
    assert_int_equal(told_to(locks[1], BWL_REPLY, BWL_LATER), 1);
    asks(locks[2], REDIS_WATCH_READ);
    expect(WATCHES, 2, 2);
    close_client();
}

static void test_error_inside_a_transaction_is_the_answer(void **state)
{
    bwl_lock *locks[CROWD];

    (void)state;
    be_ready(locks);
    asks(locks[0], REDIS_WATCH_READ);
    expect(WATCHES, 0, 0);
    says("+OK\r\n_\r\n");
    turn();
    asks(locks[0], REDIS_DELETE_WATCHED);
    expect("MULTI\nDEL bowline:{w0}\nEXEC");
    says("+OK\r\n-OOM no\r\n-EXECABORT no\r\n");
    turn();
    assert_int_equal(told_to(locks[0], BWL_REPLY, BWL_LATER), 1);
    close_client();
}

static void test_delete_that_was_not_queued_breaks_the_connection(void **state)
{
    bwl_lock *locks[CROWD];

    (void)state;
    be_ready(locks);
    asks(locks[0], REDIS_WATCH_READ);
    expect(WATCHES, 0, 0);
    says("+OK\r\n_\r\n");
    turn();
    asks(locks[0], REDIS_DELETE_WATCHED);
    expect("MULTI\nDEL bowline:{w0}\nEXEC");
    says("-NOPERM no\r\n:1\r\n");
    turn();
    assert_int_equal(told_to(locks[0], BWL_DOWN, 0), 1);
    close_client();
}

/* The one that is open was written: nobody knows.  Those that are kept were not. */
static void test_connection_that_breaks_ends_every_section(void **state)
{
    bwl_lock *locks[CROWD];

    (void)state;
    be_ready(locks);
    for (int i = 0; i < 3; i++)
        asks(locks[i], REDIS_WATCH_READ);
    expect(WATCHES, 0, 0);
    hang_up();
    turn();
    assert_int_equal(told_to(locks[0], BWL_DOWN, 0), 1);
    assert_int_equal(told_to(locks[1], BWL_REPLY, BWL_UNSENT), 1);
    assert_int_equal(told_to(locks[2], BWL_REPLY, BWL_UNSENT), 1);
    assert_null(store->watcher);
    assert_null(store->kept_first);
    close_client();
}

/* On a new connection nothing is watched. */
static void test_last_question_of_a_section_never_goes_out_on_another_connection(void **state)
{
    bwl_lock *locks[CROWD];

    (void)state;
    be_ready(locks);
    asks(locks[0], REDIS_WATCH_READ);
    expect(WATCHES, 0, 0);
    says("+OK\r\n_\r\n");
    turn();
    hang_up();
    turn();
    asks(locks[0], REDIS_DELETE_WATCHED);
    assert_int_equal(told_to(locks[0], BWL_REPLY, BWL_UNSENT), 1);
    close_client();
}

static void test_nobody_ends_the_section_of_another(void **state)
{
    bwl_lock *locks[CROWD];

    (void)state;
    be_ready(locks);
    asks(locks[0], REDIS_WATCH_READ);
    expect(WATCHES, 0, 0);
    says("+OK\r\n_\r\n");
    turn();
    asks(locks[1], REDIS_DELETE_WATCHED);
    assert_int_equal(told_to(locks[1], BWL_REPLY, BWL_UNSENT), 1);
    expect("%s", "");
    assert_ptr_equal(store->watcher, locks[0]);
    close_client();
}

/* A value that no frame can hold is passed over, and what comes behind it is heard. */
static void test_value_of_any_length_is_a_strangers(void **state)
{
    enum { LONG = 300000, PIECE = 3000 };
    static char piece[PIECE + 1];
    bwl_lock   *locks[CROWD];

    (void)state;
    be_ready(locks);
    asks(locks[0], REDIS_READ);
    asks(locks[1], REDIS_READ);
    expect("GET bowline:{w0}\nGET bowline:{w1}");
    memset(piece, 'x', PIECE);
    says("$3000");
    turn();
    says("00\r\n");
    for (int sent = 0; sent < LONG; sent += PIECE) {
        turn();
        assert_int_equal(told_count, 0);
        says(piece);
    }
    turn();
    says("\r\n_\r\n");
    turn();
    assert_int_equal(told_to(locks[0], BWL_REPLY, BWL_ALIEN), 1);
    assert_int_equal(told_to(locks[1], BWL_REPLY, BWL_NO), 1);
    assert_true(store->conn.stream.in_room <= BWL_RESP_STREAM_IN_MAX);
    close_client();
}

static void test_long_value_that_nobody_asked_for_breaks_the_connection(void **state)
{
    bwl_lock *locks[CROWD];

    (void)state;
    be_ready(locks);
    asks(locks[0], REDIS_DELETE);
    expect("DEL bowline:{w0}");
    says("$3000000\r\n");
    turn();
    assert_int_equal(told_to(locks[0], BWL_DOWN, 0), 1);
    close_client();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_watch_and_get_are_one_question, play, play_is_over),
        cmocka_unit_test_setup_teardown(test_second_section_begins_when_the_first_has_ended, play,
                                        play_is_over),
        cmocka_unit_test_setup_teardown(test_section_that_shows_nothing_is_over, play,
                                        play_is_over),
        cmocka_unit_test_setup_teardown(test_error_inside_a_transaction_is_the_answer, play,
                                        play_is_over),
        cmocka_unit_test_setup_teardown(test_delete_that_was_not_queued_breaks_the_connection, play,
                                        play_is_over),
        cmocka_unit_test_setup_teardown(test_connection_that_breaks_ends_every_section, play,
                                        play_is_over),
        cmocka_unit_test_setup_teardown(
            test_last_question_of_a_section_never_goes_out_on_another_connection, play,
            play_is_over),
        cmocka_unit_test_setup_teardown(test_nobody_ends_the_section_of_another, play,
                                        play_is_over),
        cmocka_unit_test_setup_teardown(test_value_of_any_length_is_a_strangers, play,
                                        play_is_over),
        cmocka_unit_test_setup_teardown(test_long_value_that_nobody_asked_for_breaks_the_connection,
                                        play, play_is_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
