/*
 * test_unawaited.c -- releases that nobody waits for, against a server that is played: what is sent
 * and when, whose answers may wait, what becomes of one when the connection breaks, and how many
 * that went wrong are kept.
 */
#include "redis_fixture.h"

#include "runtime/background_release.h"
#include "runtime/loop.h"
#include "runtime/renewal_thread.h"

#include <poll.h>

static bwl_operation operation;
static uint64_t      known_on; /* the connection over which the script has gone */

/* The first release of a connection goes with the text of its script: nobody would hear that the
 * server does not know it before the next question was carried out. */
static void expect_release(const char *name, const char *token)
{
    expect("%s 1 bowline:{%s} %s",
           known_on == store->opened ? "EVALSHA @delete_if_mine" : "EVAL #delete_if_mine", name,
           token);
    known_on = store->opened;
}

/* Held, and then released without waiting; what was sent is seen to. */
static bwl_lock *let_go(const char *name)
{
    static bwl_operation releasing;
    bwl_lock            *lock = held_lock(name, &operation);

    assert_false(bwl_lock_release_unawaited(lock, &releasing));
    expect_release(name, lock->hold.claim.token);
    return lock;
}

static void test_unawaited_is_sent_at_once_and_before_what_is_asked_next(void **state)
{
    static bwl_operation releasing;
    static bwl_operation next;
    bwl_lock            *lock = held_lock("n", &operation);

    (void)state;
    assert_false(bwl_lock_release_unawaited(lock, &releasing));
    assert_int_equal(client->unawaited.count, 1);
    assert_null(lock->operation);
    expect_release("n", lock->hold.claim.token);
    bwl_lock *second = lock_named("n");
    bwl_lock_acquire(second, &next, 0);
    expect("SET bowline:{n} %s NX PX 30000", second->hold.claim.token);
    says(":1\r\n+OK\r\n");
    turn();
    assert_int_equal(next.ended, BWL_HELD);
    assert_int_equal(client->unawaited.count, 0);
    assert_int_equal(client->locks_count, 1); /* the first is gone */
    assert_null(bwl_unawaited_take(client));
}

/* While somebody waits for another answer nothing is late; alone it may be. */
static void test_unawaited_answer_may_be_read_late(void **state)
{
    static bwl_operation next;

    (void)state;
    (void)let_go("n");
    assert_int_equal(client->pending, 1);
    assert_int_equal(client->unawaited.read_late, 1);
    bwl_lock_acquire(lock_named("o"), &next, 0);
    assert_int_equal(client->pending, 2);
    assert_int_equal(client->unawaited.read_late, 1);
    says(":1\r\n");
    turn();
    assert_int_equal(client->pending, 1);
    assert_int_equal(client->unawaited.read_late, 0);
    says("+OK\r\n");
    turn();
    assert_int_equal(next.ended, BWL_HELD);
}

static void test_unawaited_what_has_ended_before_is_told_at_once(void **state)
{
    static bwl_operation releasing;
    bwl_lock            *lock = held_lock("n", &operation);

    (void)state;
    bwl_lock_disown(lock);
    assert_true(bwl_lock_release_unawaited(lock, &releasing));
    assert_int_equal(releasing.ended, BWL_LOST);
    assert_int_equal(client->unawaited.count, 0);
    assert_false(lock->unawaited);
    bwl_lock_unwanted(lock);
}

static void test_unawaited_that_was_lost_is_kept_until_it_is_told(void **state)
{
    bwl_lock *lock = let_go("n");

    (void)state;
    assert_int_equal(client->unawaited.end.ended, BWL_PENDING);
    says(":0\r\n");
    turn();
    assert_int_equal(client->unawaited.end.ended, BWL_RELEASED);
    assert_ptr_equal(bwl_unawaited_take(client), lock);
    assert_int_equal(lock->ended_as, BWL_LOST);
    assert_null(bwl_unawaited_take(client));
    bwl_lock_unwanted(lock);
    assert_int_equal(client->locks_count, 0);
}

/* The server has forgotten the script: the text is sent, and somebody should read the answer. */
static void test_unawaited_by_text_again_is_not_left_for_later(void **state)
{
    (void)let_go("o");
    says(":1\r\n");
    turn();
    bwl_lock *lock = let_go("n");

    (void)state;
    says("-NOSCRIPT No matching script.\r\n");
    turn();
    expect("EVAL #delete_if_mine 1 bowline:{n} %s", lock->hold.claim.token);
    assert_int_equal(client->pending, 1);
    assert_int_equal(client->unawaited.read_late, 0);
    says(":1\r\n");
    turn();
    assert_int_equal(client->unawaited.count, 0);
    assert_null(bwl_unawaited_take(client));
}

static void await_server(void)
{
    bwl_client_unlock(client);
    int count = poll(&(struct pollfd){ .fd = listener, .events = POLLIN }, 1, 5000);
    bwl_client_lock(client);
    assert_int_equal(count, 1);
}

/* Nobody knows whether it was carried out: it is sent again, and NO is no loss that is sure. */
static void test_unawaited_is_sent_again_after_a_cut(void **state)
{
    bwl_lock *lock = let_go("n");
    char      token[BWL_TOKEN_MAX + 1];

    (void)state;
    memcpy(token, lock->hold.claim.token, sizeof token);
    hang_up();
    turn();
    assert_int_equal(client->unawaited.read_late, 0);
    assert_int_equal(client->unawaited.count, 1);
    while (store->phase == BWL_REDIS_DOWN || store->phase == BWL_REDIS_RESTING)
        assert_int_equal(bwl_client_drive(client, bwl_client_now(client) + 1000, &fault), BWL_OK);
    await_server();
    server_accepts();
    turn();
    expect("HELLO 3\nINFO server");
    says(HELLO INFO);
    turn();
    expect("CLIENT KILL ID 7");
    says(":0\r\n");
    turn();
    expect("EVALSHA @delete_if_mine 1 bowline:{n} %s", token);
    says(":0\r\n");
    turn();
    assert_int_equal(client->unawaited.count, 0);
    assert_ptr_equal(bwl_unawaited_take(client), lock);
    assert_int_equal(lock->ended_as, BWL_UNKNOWN);
    bwl_lock_unwanted(lock);
}

/* Who has no keeper, or would wait for long, sends them with the rest. */
static void test_unawaited_that_is_not_sent_yet_is_not_late(void **state)
{
    static bwl_operation releasing;
    bwl_lock            *lock = held_lock("n", &operation);

    (void)state;
    client->called++; /* others are about to come: it is kept for them to send */
    assert_false(bwl_lock_release_unawaited(lock, &releasing));
    client->called--;
    expect(NOTHING);
    assert_int_equal(client->pending, 1);
    assert_int_equal(client->unawaited.read_late, 0);
    turn();
    expect_release("n", lock->hold.claim.token);
    says(":1\r\n");
    turn();
    assert_int_equal(client->unawaited.count, 0);
}

static void test_unawaited_are_counted_when_too_many_went_wrong(void **state)
{
    enum { MORE = 3 };
    size_t lost;

    (void)state;
    for (unsigned i = 0; i < BWL_UNTOLD_MAX + MORE; i++) {
        (void)let_go("n");
        says(i == BWL_UNTOLD_MAX ? "-OOPS it may not\r\n" : ":0\r\n");
        turn();
    }
    assert_int_equal(client->unawaited.untold, BWL_UNTOLD_MAX);
    assert_int_equal(client->locks_count, BWL_UNTOLD_MAX);
    for (unsigned i = 0; i < BWL_UNTOLD_MAX; i++) {
        assert_int_equal(client->unawaited.end.ended,
                         BWL_RELEASED); /* there is something to tell */
        bwl_lock_unwanted(bwl_unawaited_take(client));
    }
    assert_null(bwl_unawaited_take(client));
    assert_int_equal(bwl_unawaited_take_dropped(client, &lost), MORE);
    assert_int_equal(lost, MORE - 1);
    assert_int_equal(bwl_unawaited_take_dropped(client, &lost), 0);
    assert_int_equal(client->locks_count, 0);
}

/* Who waits for the end of all is not woken by the end of one of them that went well. */
static void test_unawaited_end_is_that_of_all(void **state)
{
    static bwl_operation releasing;
    bwl_lock            *n = held_lock("n", &operation);
    bwl_lock            *o = held_lock("o", &operation);

    (void)state;
    assert_false(bwl_lock_release_unawaited(n, &releasing));
    assert_false(bwl_lock_release_unawaited(o, &releasing));
    says(":1\r\n");
    turn();
    assert_int_equal(client->unawaited.end.ended, BWL_PENDING);
    says(":1\r\n");
    assert_int_equal(bwl_client_wait(client, &client->unawaited.end, BWL_NEVER, &fault), BWL_OK);
    assert_int_equal(client->unawaited.end.ended, BWL_RELEASED);
}

/* Before it counts as missing, that is. */
static void test_unawaited_answer_is_read_by_the_keeper_in_the_end(void **state)
{
    bwl_ms begin = bwl_client_now(client);

    (void)state;
    assert_int_equal(bwl_keeper_start(client, &fault), BWL_OK);
    (void)let_go("n");
    says(":1\r\n");
    bwl_hand_over(client);
    for (unsigned i = 0; i < 5000 && client->unawaited.count > 0; i++) {
        bwl_client_unlock(client);
        pass(1);
        bwl_client_lock(client);
    }
    assert_int_equal(client->unawaited.count, 0);
    assert_int_equal(client->locks_count, 0);
    assert_true(bwl_client_now(client) - begin < client->settings.answer_ms);
}

/* The close says it to the server, and does not go before that has read it. */
static void test_unawaited_is_handed_over_by_a_close(void **state)
{
    static bwl_operation releasing;
    bwl_lock            *lock = held_lock("n", &operation);
    char                 token[BWL_TOKEN_MAX + 1];

    (void)state;
    memcpy(token, lock->hold.claim.token, sizeof token);
    client->called++;
    assert_false(bwl_lock_release_unawaited(lock, &releasing));
    client->called--;
    expect(NOTHING);
    close_client();
    expect("EVAL #delete_if_mine 1 bowline:{n} %s", token);
}

static int play_anew(void **state)
{
    known_on = 0;
    return play(state);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play_anew, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_unawaited_is_sent_at_once_and_before_what_is_asked_next),
        CASE(test_unawaited_answer_may_be_read_late),
        CASE(test_unawaited_what_has_ended_before_is_told_at_once),
        CASE(test_unawaited_that_was_lost_is_kept_until_it_is_told),
        CASE(test_unawaited_by_text_again_is_not_left_for_later),
        CASE(test_unawaited_is_sent_again_after_a_cut),
        CASE(test_unawaited_that_is_not_sent_yet_is_not_late),
        CASE(test_unawaited_are_counted_when_too_many_went_wrong),
        CASE(test_unawaited_end_is_that_of_all),
        CASE(test_unawaited_answer_is_read_by_the_keeper_in_the_end),
        CASE(test_unawaited_is_handed_over_by_a_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
