/*
 * test_redis_wait.c -- do the replicas have it?  One question to them at a time for all who want to
 * know, nothing of another connection, and what is said when too few have it.
 */
#include "engine/redis/session/replication_barrier.h"
#include "redis_fixture.h"

enum { MANY = 300 };

static bwl_operation operations[MANY];
static bwl_lock     *locks[MANY];

static int play_synced(void **state)
{
    (void)play(state);
    close_client();
    open_client("lease=30s&timeout=5s&protocol=token&sync=2");
    return 0;
}

static void expect_sets(unsigned first, unsigned count)
{
    static char lines[MANY * 80];
    int         size = 0;

    for (unsigned i = first; i < first + count; i++)
        size += snprintf(lines + size, sizeof lines - (size_t)size,
                         "SET bowline:{n%u} %s NX PX 30000\n", i, locks[i]->hold.claim.token);
    expect("%s", lines);
}

static void acquire(unsigned first, unsigned count)
{
    char name[16];

    for (unsigned i = first; i < first + count; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        locks[i] = lock_named(name);
        bwl_lock_acquire(locks[i], &operations[i], 0);
    }
    if (store->phase != BWL_REDIS_READY)
        greet();
    expect_sets(first, count);
}

static void turn_to(const char *text)
{
    says(text);
    turn();
}

static void test_redis_wait_is_behind_the_yes_on_the_same_connection(void **state)
{
    (void)state;
    acquire(0, 1);
    turn_to("+OK\r\n");
    expect("WAIT 2 100");
    assert_int_equal(operations[0].ended, BWL_PENDING);
    turn_to(":2\r\n");
    assert_int_equal(operations[0].ended, BWL_HELD);
    expect(NOTHING);
    assert_int_equal(store->questions_count, 0);
    assert_int_equal(store->waits_out, 0);
}

/* The first has its question to itself; who comes while it is out has one with all the others. */
static void test_redis_wait_is_asked_once_for_all_who_came_meanwhile(void **state)
{
    (void)state;
    acquire(0, 3);
    turn_to("+OK\r\n");
    expect("WAIT 2 100");
    turn_to("+OK\r\n+OK\r\n");
    expect(NOTHING);
    assert_int_equal(client->pending, 3); /* somebody has to read what will come */
    turn_to(":2\r\n");
    assert_int_equal(operations[0].ended, BWL_HELD);
    assert_int_equal(operations[1].ended, BWL_PENDING);
    expect("WAIT 2 100");
    turn_to(":3\r\n");
    assert_int_equal(operations[1].ended, BWL_HELD);
    assert_int_equal(operations[2].ended, BWL_HELD);
    assert_int_equal(store->waits_out, 0);
    assert_int_equal(client->pending, 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(locks[i]->pins, 0);
}

/* ... also while those are told that went out as one. */
static void test_redis_wait_is_out_until_all_who_share_it_are_told(void **state)
{
    (void)state;
    acquire(0, 3);
    turn_to("+OK\r\n+OK\r\n+OK\r\n");
    expect("WAIT 2 100");
    acquire(3, 1);
    turn_to(":2\r\n+OK\r\n");
    expect("WAIT 2 100"); /* of 1 and 2 */
    acquire(4, 1);
    turn_to(":2\r\n");
    expect("WAIT 2 100"); /* of 3 */
    assert_int_equal(store->waits_out, 1);
    turn_to("+OK\r\n");
    expect(NOTHING);
    turn_to(":2\r\n");
    expect("WAIT 2 100"); /* of 4 */
    turn_to(":2\r\n");
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(operations[i].ended, BWL_HELD);
    assert_int_equal(client->pending, 0);
}

/* Nobody else who stood behind it then. */
static void test_redis_wait_who_is_kept_again_is_kept_alone(void **state)
{
    (void)state;
    acquire(0, 3);
    turn_to("+OK\r\n+OK\r\n+OK\r\n");
    turn_to(":2\r\n");
    turn_to(":2\r\n");
    expect("WAIT 2 100\nWAIT 2 100");
    for (unsigned i = 0; i < 2; i++) {
        bwl_lock_extend(locks[i], &operations[i], 30000);
        expect("EVALSHA @extend_if_mine 1 bowline:{n%u} %s 30000", i, locks[i]->hold.claim.token);
    }
    turn_to(":1\r\n:1\r\n");
    expect("WAIT 2 100");
    turn_to(":2\r\n");
    expect("WAIT 2 100");
    assert_int_equal(store->questions_count, 1);
    assert_int_equal(client->pending, 1);
    turn_to(":2\r\n");
    assert_int_equal(operations[1].ended, BWL_HELD);
    assert_int_equal(client->pending, 0);
}

/* As many as can be counted. */
static void test_redis_wait_has_room_for_so_many_at_a_time(void **state)
{
    (void)state;
    acquire(0, MANY);
    for (unsigned i = 0; i < MANY; i++)
        turn_to("+OK\r\n");
    expect("WAIT 2 100");
    turn_to(":2\r\n");
    expect("WAIT 2 100\nWAIT 2 100");
    turn_to(":2\r\n");
    assert_int_equal(client->pending, MANY - 251);
    turn_to(":2\r\n");
    assert_int_equal(client->pending, 0);
    assert_int_equal(operations[MANY - 1].ended, BWL_HELD);
}

/* It is no script, and a server that says so is at odds with itself. */
static void test_redis_wait_that_is_taken_for_a_script_is_refused(void **state)
{
    (void)state;
    acquire(0, 3);
    turn_to("+OK\r\n+OK\r\n+OK\r\n");
    turn_to(":2\r\n");
    expect("WAIT 2 100\nWAIT 2 100");
    turn_to("-NOSCRIPT No matching script.\r\n");
    expect("EVALSHA @delete_if_mine 1 bowline:{n1} %s\n"
           "EVALSHA @delete_if_mine 1 bowline:{n2} %s",
           locks[1]->hold.claim.token, locks[2]->hold.claim.token);
    turn_to(":1\r\n:1\r\n");
    assert_int_equal(operations[2].ended, BWL_STORE_REFUSED);
}

static void test_redis_wait_too_few_is_given_back_and_says_so(void **state)
{
    (void)state;
    acquire(0, 1);
    turn_to("+OK\r\n");
    expect("WAIT 2 100");
    turn_to(":1\r\n"); /* without having waited */
    expect("EVALSHA @delete_if_mine 1 bowline:{n0} %s", locks[0]->hold.claim.token);
    turn_to(":1\r\n");
    assert_int_equal(operations[0].ended, BWL_NOT_NOW);
    assert_non_null(strstr(locks[0]->why, "1 of the replicas had it in time, and sync=2"));
    assert_non_null(strstr(locks[0]->why, "INFO replication"));
}

static void test_redis_wait_of_several_is_too_few_for_each(void **state)
{
    (void)state;
    acquire(0, 3);
    turn_to("+OK\r\n+OK\r\n+OK\r\n");
    expect("WAIT 2 100");
    turn_to(":2\r\n");
    expect("WAIT 2 100");
    turn_to(":0\r\n");
    for (unsigned i = 1; i < 3; i++)
        assert_non_null(strstr(locks[i]->why, "0 of the replicas had it"));
    expect("EVALSHA @delete_if_mine 1 bowline:{n1} %s\n"
           "EVALSHA @delete_if_mine 1 bowline:{n2} %s",
           locks[1]->hold.claim.token, locks[2]->hold.claim.token);
}

static void test_redis_wait_an_error_is_no_number(void **state)
{
    (void)state;
    acquire(0, 3);
    turn_to("+OK\r\n+OK\r\n+OK\r\n");
    expect("WAIT 2 100");
    turn_to("-ERR WAIT cannot be used with replica instances\r\n");
    expect("EVALSHA @delete_if_mine 1 bowline:{n0} %s\nWAIT 2 100", locks[0]->hold.claim.token);
    assert_non_null(strstr(locks[0]->why, "replica instances"));
    turn_to(":1\r\n-NOPERM this user has no permissions\r\n");
    assert_int_equal(operations[0].ended, BWL_NOT_NOW);
    assert_non_null(strstr(locks[2]->why, "NOPERM"));
    expect("EVALSHA @delete_if_mine 1 bowline:{n1} %s\n"
           "EVALSHA @delete_if_mine 1 bowline:{n2} %s",
           locks[1]->hold.claim.token, locks[2]->hold.claim.token);
    turn_to(":1\r\n:1\r\n");
    assert_int_equal(operations[2].ended, BWL_STORE_REFUSED);
}

static void hang_up_on_all(void)
{
    int fd;

    while ((fd = accept(listener, NULL, NULL)) >= 0)
        close(fd);
}

static void test_redis_wait_strange_answers_end_the_connection(void **state)
{
    static const char *const strange[] = { ":-1\r\n", "+OK\r\n", "_\r\n" };

    (void)state;
    for (unsigned i = 0; i < COUNT_OF(strange); i++) {
        acquire(0, 2);
        turn_to("+OK\r\n+OK\r\n");
        expect("WAIT 2 100");
        if (i > 0) { /* of several */
            turn_to(":2\r\n");
            expect("WAIT 2 100");
        }
        turn_to(strange[i]);
        assert_int_equal(operations[1].ended, BWL_PENDING); /* and is given back, see below */
        expect_closed();
        close_client();
        hang_up_on_all();
        open_client("lease=30s&timeout=5s&protocol=token&sync=2");
    }
}

/* On the next one nothing was written, and a server would say yes to that at once. */
static void test_redis_wait_is_not_asked_on_the_next_connection(void **state)
{
    (void)state;
    acquire(0, 3);
    turn_to("+OK\r\n+OK\r\n+OK\r\n");
    expect("WAIT 2 100");
    hang_up();
    turn();
    assert_int_equal(store->waits_out, 0);
    assert_null(store->unasked);
    pass(20);
    turn();
    server_accepts();
    expect("HELLO 3\nINFO server");
    turn_to(HELLO INFO);
    expect("CLIENT KILL ID 7");
    turn_to(":0\r\n");
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(operations[i].ended, BWL_PENDING); /* until it is given back */
    char    bytes[READ_MAX];
    ssize_t got = recv(server, bytes, sizeof bytes - 1, 0);
    assert_true(got > 0);
    bytes[got] = '\0';
    assert_null(strstr(bytes, "WAIT"));
    for (unsigned i = 0; i < 3; i++)
        assert_non_null(strstr(bytes, locks[i]->hold.claim.token));
}

/* ... also when what it is about was answered before the connection ended. */
static void test_redis_wait_is_never_put_to_a_connection_to_come(void **state)
{
    (void)state;
    acquire(0, 1);
    turn_to("+OK\r\n");
    expect("WAIT 2 100");
    bwl_redis_open_question late = { .lock = locks[0], .word = REDIS_REPLICATED, .tag = 12345 };
    hang_up();
    turn();
    assert_int_not_equal(store->phase, BWL_REDIS_READY);
    size_t count = store->questions_count;
    assert_false(bwl_redis_wait_admits(store, &late));
    assert_int_equal(store->questions_count, count);
    assert_int_equal(store->waits_out, 0);
}

static void test_redis_wait_other_questions_pass_while_one_is_out(void **state)
{
    bwl_operation release;

    (void)state;
    acquire(0, 1);
    turn_to("+OK\r\n");
    expect("WAIT 2 100");
    turn_to(":2\r\n");
    acquire(1, 2);
    turn_to("+OK\r\n+OK\r\n");
    expect("WAIT 2 100");
    bwl_lock_release(locks[0], &release);
    expect("EVALSHA @delete_if_mine 1 bowline:{n0} %s", locks[0]->hold.claim.token);
    turn_to(":2\r\n");
    expect("WAIT 2 100");
    turn_to(":1\r\n:2\r\n");
    assert_int_equal(release.ended, BWL_RELEASED);
    assert_int_equal(operations[2].ended, BWL_HELD);
}

int main(void)
{
#define PLAYED(test) cmocka_unit_test_setup_teardown(test, play_synced, play_is_over)
    const struct CMUnitTest tests[] = {
        PLAYED(test_redis_wait_is_behind_the_yes_on_the_same_connection),
        PLAYED(test_redis_wait_is_asked_once_for_all_who_came_meanwhile),
        PLAYED(test_redis_wait_is_out_until_all_who_share_it_are_told),
        PLAYED(test_redis_wait_who_is_kept_again_is_kept_alone),
        PLAYED(test_redis_wait_has_room_for_so_many_at_a_time),
        PLAYED(test_redis_wait_that_is_taken_for_a_script_is_refused),
        PLAYED(test_redis_wait_too_few_is_given_back_and_says_so),
        PLAYED(test_redis_wait_of_several_is_too_few_for_each),
        PLAYED(test_redis_wait_an_error_is_no_number),
        PLAYED(test_redis_wait_strange_answers_end_the_connection),
        PLAYED(test_redis_wait_is_not_asked_on_the_next_connection),
        PLAYED(test_redis_wait_is_never_put_to_a_connection_to_come),
        PLAYED(test_redis_wait_other_questions_pass_while_one_is_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
