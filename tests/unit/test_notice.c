/*
 * test_notice.c -- what a caller sees of holds and operations: the list, and the descriptor of a
 * loss.
 *
 * The server is played (redis_fixture.h), so that a renewal can be answered, refused, or not
 * answered at all.  A lease is 30 s, renewed when the test says so.
 */
#include "redis_fixture.h"

#include "runtime/event_queue.h"
#include "runtime/wakeup.h"

#include <poll.h>

static bwl_operation operation;

static bwl_lock *hold_out(const char *name)
{
    bwl_lock *lock = held_lock(name, &operation);

    bwl_lock_hand_out(lock);
    return lock;
}

/* An extension is asked for, and answered like this. */
static void renew(bwl_lock *lock, const char *answer)
{
    static bwl_operation extending;

    bwl_lock_extend(lock, &extending, 30000);
    says(answer);
    turn();
    assert_int_not_equal(extending.ended, BWL_PENDING);
}

static bwl_lock *taken(bwl_notice_kind kind)
{
    bwl_lock      *lock = NULL;
    bwl_operation *op   = NULL;

    assert_int_equal(bwl_notices_take(client, &lock, &op), kind);
    assert_null(op);
    return lock;
}

static void assert_no_notice(void)
{
    assert_null(taken(0));
}

static bool is_readable(int fd)
{
    return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0) == 1;
}

/* ---- holds ----------------------------------------------------------------------------------- */

static void test_notice_hold_that_is_renewed_gives_none(void **state)
{
    bwl_lock *lock = hold_out("n");

    (void)state;
    renew(lock, ":1\r\n");
    assert_no_notice();
    assert_int_equal(lock->hold.trouble, BWL_PENDING);
}

static void test_notice_trouble_is_told_once_for_each_time_it_begins(void **state)
{
    bwl_lock *lock = hold_out("n");

    (void)state;
    renew(lock, "-NOPERM no\r\n");
    renew(lock, "-LOADING no\r\n");
    assert_ptr_equal(taken(BWL_NOTICE_TROUBLE), lock);
    assert_no_notice();
    renew(lock, "-LOADING no\r\n");
    assert_no_notice(); /* it is the same trouble still */
    renew(lock, ":1\r\n");
    assert_int_equal(lock->hold.trouble, BWL_PENDING);
    renew(lock, "-LOADING no\r\n");
    assert_ptr_equal(taken(BWL_NOTICE_TROUBLE), lock);
}

static void test_notice_trouble_that_is_over_is_not_told(void **state)
{
    bwl_lock *lock = hold_out("n");

    (void)state;
    renew(lock, "-LOADING no\r\n");
    renew(lock, ":1\r\n");
    assert_no_notice();
}

static void test_notice_loss_takes_the_place_of_trouble(void **state)
{
    bwl_lock *first  = hold_out("n");
    bwl_lock *second = hold_out("o");

    (void)state;
    renew(first, "-LOADING no\r\n");
    renew(second, "-LOADING no\r\n");
    renew(first, ":0\r\n");
    assert_ptr_equal(taken(BWL_NOTICE_LOST), first);
    assert_ptr_equal(taken(BWL_NOTICE_TROUBLE), second);
    assert_no_notice();
    renew(second, ":0\r\n");
    assert_ptr_equal(taken(BWL_NOTICE_LOST), second);
    assert_no_notice();
}

static void test_notice_lock_that_is_not_out_gives_none(void **state)
{
    bwl_lock *lock = held_lock("n", &operation);

    (void)state;
    renew(lock, ":0\r\n");
    assert_no_notice();
    bwl_lock_hand_out(lock); /* lost between its being won and its being taken */
    assert_ptr_equal(taken(BWL_NOTICE_LOST), lock);
}

static void test_notice_of_what_is_taken_back_is_dropped(void **state)
{
    bwl_lock            *locks[3] = { hold_out("a"), hold_out("b"), hold_out("c") };
    static bwl_operation releasing[3];

    (void)state;
    for (unsigned order = 0; order < 3; order++) {
        renew(locks[order], "-LOADING no\r\n");
        assert_non_null(client->notices.first);
    }
    bwl_lock_release(locks[1], &releasing[1]); /* from the middle, the end, and the only one */
    assert_ptr_equal(client->notices.first->next, client->notices.last);
    bwl_lock_release(locks[2], &releasing[2]);
    assert_ptr_equal(client->notices.first, client->notices.last);
    bwl_lock_release(locks[0], &releasing[0]);
    assert_null(client->notices.first);
    assert_null(client->notices.last);
    assert_no_notice();
}

/* ---- the descriptor -------------------------------------------------------------------------- */

static void test_notice_descriptor_is_that_of_a_loss_and_of_nothing_else(void **state)
{
    bwl_lock *lock = hold_out("n");
    int       fd   = bwl_lock_loss_fd(lock, &fault);

    (void)state;
    assert_true(fd >= 0);
    assert_true(lock->loss_at == lock->hold.until);
    renew(lock, "-LOADING no\r\n");
    assert_false(is_readable(fd));
    renew(lock, ":1\r\n");
    assert_false(is_readable(fd));
    assert_true(lock->loss_at == lock->hold.until);
    renew(lock, ":0\r\n");
    assert_true(is_readable(fd));
    assert_int_equal(bwl_lock_loss_fd(lock, &fault), fd);
    assert_true(is_readable(fd));
}

static void test_notice_descriptor_follows_the_lease(void **state)
{
    bwl_lock *lock  = hold_out("n");
    int       fd    = bwl_lock_loss_fd(lock, &fault);
    bwl_ms    first = lock->loss_at;

    (void)state;
    pass(5);
    renew(lock, ":1\r\n");
    assert_true(lock->loss_at > first);
    assert_true(lock->loss_at == lock->hold.until);
    assert_false(is_readable(fd));
}

/* ---- operations ------------------------------------------------------------------------------ */

static void test_notice_end_is_told_of_what_is_watched_before_or_after_it(void **state)
{
    static bwl_operation ops[3];
    bwl_lock            *lock  = hold_out("n");
    bwl_lock            *other = NULL;
    bwl_operation       *op    = NULL;

    (void)state;
    bwl_lock_extend(lock, &ops[0], 10000);
    bwl_operation_watch(&ops[0]);
    assert_no_notice();
    says(":1\r\n");
    turn();
    bwl_lock_extend(lock, &ops[1], 10000); /* which nobody watches */
    says(":1\r\n");
    turn();
    bwl_lock_extend(lock, &ops[2], 10000);
    says(":1\r\n");
    turn();
    bwl_operation_watch(&ops[2]);
    assert_int_equal(bwl_notices_take(client, &other, &op), BWL_NOTICE_ENDED);
    assert_ptr_equal(op, &ops[0]);
    assert_null(other);
    assert_int_equal(bwl_notices_take(client, &other, &op), BWL_NOTICE_ENDED);
    assert_ptr_equal(op, &ops[2]);
    assert_no_notice();
}

static void test_notice_of_what_is_finished_is_dropped(void **state)
{
    static bwl_operation op;
    bwl_lock            *lock = hold_out("n");

    (void)state;
    bwl_lock_extend(lock, &op, 10000);
    bwl_operation_watch(&op);
    says(":1\r\n");
    turn();
    assert_non_null(client->notices.first);
    bwl_operation_forget(&op);
    assert_no_notice();
    bwl_lock_extend(lock, &op, 10000);
    bwl_operation_watch(&op);
    bwl_operation_forget(&op); /* and its end is told to nobody */
    says(":1\r\n");
    turn();
    assert_int_equal(op.ended, BWL_HELD);
    assert_no_notice();
}

/* ---- whoever is to look ---------------------------------------------------------------------- */

static bwl_bell *bell;

static bool was_rung(void)
{
    bool rung = is_readable(bwl_bell_fd(bell));

    bwl_bell_heard(bell);
    return rung;
}

static void test_notice_rings_only_for_who_takes_them(void **state)
{
    bwl_lock *lock = hold_out("n");

    (void)state;
    assert_int_equal(bwl_bell_new(&bell, &fault), BWL_OK);
    assert_int_equal(bwl_bell_watch(bell, client, &fault), BWL_OK);
    renew(lock, "-LOADING no\r\n");
    assert_false(was_rung());
    renew(lock, ":1\r\n");
    bwl_notices_want(client);
    renew(lock, "-LOADING no\r\n");
    assert_true(was_rung());
    renew(lock, "-LOADING no\r\n");
    assert_false(was_rung());
    client->dispatchers = 1; /* the loop itself sees it */
    renew(lock, ":1\r\n");
    renew(lock, "-LOADING no\r\n");
    assert_false(was_rung());
    client->dispatchers = 0;
    client->bell        = NULL;
    bwl_bell_free(bell);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_notice_hold_that_is_renewed_gives_none),
        CASE(test_notice_trouble_is_told_once_for_each_time_it_begins),
        CASE(test_notice_trouble_that_is_over_is_not_told),
        CASE(test_notice_loss_takes_the_place_of_trouble),
        CASE(test_notice_lock_that_is_not_out_gives_none),
        CASE(test_notice_of_what_is_taken_back_is_dropped),
        CASE(test_notice_descriptor_is_that_of_a_loss_and_of_nothing_else),
        CASE(test_notice_descriptor_follows_the_lease),
        CASE(test_notice_end_is_told_of_what_is_watched_before_or_after_it),
        CASE(test_notice_of_what_is_finished_is_dropped),
        CASE(test_notice_rings_only_for_who_takes_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
