/*
 * test_redis_slot.c -- what a node of a cluster is told of a slot before the first question about
 * it, and what of that is over when.
 *
 * The nodes are played (slot_fixture.h); a real cluster is in tests/live/test_cluster_queue.c.
 */
#include "slot_fixture.h"

#include <poll.h>

/* ---- what comes before ----------------------------------------------------------------------- */

static void test_slot_is_told_before_the_first_question(void **state)
{
    char  tag[BWL_QUEUE_TAG_MAX + 1];
    char *brace;

    (void)state;
    bwl_lock *lock = asked_at_0();
    bwl_redis_slot_tag(client->store, lock, tag);
    brace = strchr(inbox, '{');
    assert_non_null(brace);
    assert_string_equal(brace, tag);
    assert_int_equal(bwl_cluster_slot(tag, strlen(tag)), slot_of("a"));
    says_prepared(0);
    assert_true(hears(0, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1, inbox));
    assert_non_null(strstr(bytes, "\r\nspublish\r\n")); /* it may have just come */
    says(0, ":1795323949966265\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    bwl_lock_release(lock, &operation);
    turn();
    assert_true(hears(0, bwl_scripts[BWL_SCRIPT_QUEUE_RELEASE].sha1, "bwl.q"));
    assert_null(strstr(bytes, "SSUBSCRIBE")); /* once is enough */
}

/* Behind it would be carried out before the question, or without what comes before it. */
static void test_slot_is_told_before_anything_else_goes_out(void **state)
{
    static bwl_operation second; /* ends with the client */

    (void)state;
    (void)asked_at_0();
    bwl_lock *other = lock_named("b");
    bwl_lock_acquire(other, &second, 60000);
    turn();
    assert_false(hears(0, "*", ""));
    says(0, ">3\r\n$10\r\nssubscribe\r\n$%zu\r\n%s\r\n:1\r\n:1\r\n", strlen(inbox), inbox);
    assert_false(hears(0, "*", "")); /* the floor is not laid yet */
    says(0, ":1\r\n");
    assert_true(hears(0, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1, "SSUBSCRIBE"));
    says(0, ":1795323949966265\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    bwl_lock_unwanted(other);
}

/* Both of what comes before are refused, and nothing was asked. */
static void test_slot_that_is_elsewhere(void **state)
{
    (void)state;
    (void)asked_at_0();
    for (unsigned i = 0; i < 3; i++)
        says_moved(0, "a", 1);
    greets_queue(1);
    assert_true(hears(1, "SSUBSCRIBE", "bowline:f:{"));
    assert_false(hears(0, ":bwl.q", ""));
}

static void test_slot_whose_channels_are_not_for_us(void **state)
{
    (void)state;
    bwl_lock *lock = asked_at_0();
    says(0, "-NOPERM no channel\r\n-NOPERM no channel\r\n:1\r\n");
    assert_int_equal(operation.ended, BWL_STORE_REFUSED);
    assert_non_null(strstr(lock->why.text, "NOPERM no channel: man 7 bowline, RIGHTS"));
    assert_int_equal(client->pending, 0);
    bwl_lock_unwanted(lock);
}

/* A right that is lacking is for somebody to mend, whatever else is wrong. */
static void test_slot_refusal_outweighs_what_passes(void **state)
{
    (void)state;
    (void)asked_at_0();
    says(0, "-NOPERM no channel\r\n-LOADING not yet\r\n:1\r\n");
    assert_int_equal(operation.ended, BWL_STORE_REFUSED);
}

/* The floor cannot be laid.  It listens since the first time, and so that is not said again. */
static void test_slot_whose_floor_is_refused(void **state)
{
    static const char *const answers[] = { "-ERR no such thing\r\n", "-NOPERM no key\r\n",
                                           "+OK\r\n", "-LOADING not yet\r\n" };
    static bwl_operation     operations[4]; /* the client ends them */

    (void)state;
    (void)asked_at_0();
    says(0, ">3\r\n$10\r\nssubscribe\r\n$%zu\r\n%s\r\n:1\r\n:1\r\n", strlen(inbox), inbox);
    says(0, "%s", answers[0]);
    assert_int_equal(operation.ended, BWL_STORE_REFUSED);
    for (unsigned i = 1; i < 4; i++) {
        bwl_lock_acquire(lock_named("a"), &operations[i], 60000);
        turn();
        assert_true(hears(0, "EVAL", "bowline:f:{"));
        assert_null(strstr(bytes, "SSUBSCRIBE"));
        client->latest = bwl_client_now(client) + 100; /* stands still: nobody tries again */
        says(0, "%s", answers[i]);
        assert_int_equal(operations[i].ended, i < 3 ? BWL_STORE_REFUSED : BWL_PENDING);
    }
}

/* Who we are is said again after a while, and nothing else. */
static void test_slot_is_told_again_after_a_while(void **state)
{
    static bwl_operation second; /* ends with the client */

    (void)state;
    (void)told_and_held();
    store_of(0)->introduced_at -= 60000;
    bwl_lock_acquire(lock_named("a"), &second, 60000);
    turn();
    assert_true(hears(0, "EVAL", "bowline:f:{"));
    assert_null(strstr(bytes, "SSUBSCRIBE"));
    says(0, ":1\r\n");
    assert_true(hears(0, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1, inbox));
}

/* By the same process, which is asked for what is held there. */
static void is_met_again(void)
{
    hang_up(0);
    greets_queue(0);
    assert_true(hears(0, "CLIENT", "KILL"));
    says(0, ":1\r\n");
    assert_true(hears(0, EXTEND, "30000"));
}

static void release_on_a_new_connection(bwl_lock *lock)
{
    is_met_again();
    says(0, ":1\r\n");
    bwl_lock_release(lock, &operation);
    turn();
    assert_true(hears(0, "SSUBSCRIBE", "bowline:f:{"));
}

/* Nothing that was said on a connection holds on the next one. */
static void test_slot_is_told_on_a_new_connection(void **state)
{
    (void)state;
    release_on_a_new_connection(told_and_held());
    read_inbox();
    says_prepared(0);
    assert_true(hears(0, bwl_scripts[BWL_SCRIPT_QUEUE_RELEASE].sha1, "bwl.q"));
}

/* What is gone may have been broken: found out on a new connection, or by an extension. */
static void test_slot_says_who_has_broken_a_lock(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        bwl_lock *lock = told_and_held();
        if (i == 0)
            is_met_again();
        else
            bwl_lock_extend(lock, &operation, LEASE_MS);
        turn();
        says(0, ":0\r\n");
        assert_false(bwl_hold_is_held(&lock->hold));
        assert_true(hears(0, "HGET", store_of(0)->session));
        says(0, "$9\r\nann@web-2\r\n");
        assert_string_equal(lock->why.text, "broken by ann@web-2");
        (void)play_is_over(state);
        (void)play_queue(state);
    }
}

/* For a moment others may not know that the slot has come, and are told by another way as well. */
static void test_slot_is_new_for_a_moment(void **state)
{
    (void)state;
    bwl_lock *lock  = told_and_held();
    bwl_ms    until = store_of(0)->slots_new_until;
    assert_in_range(until - bwl_client_now(client), 1, 3000);
    assert_true(bwl_redis_slot_is_new(store_of(0), lock));
    client->latest = until - 1;
    assert_true(bwl_redis_slot_is_new(store_of(0), lock));
    client->latest++;
    assert_false(bwl_redis_slot_is_new(store_of(0), lock));
}

/* ---- a client that closes -------------------------------------------------------------------- */

static void close_and_open(void)
{
    bwl_client_unlock(client);
    bwl_client_close(client);
    open_client();
}

/* Of what waits for its slot, only what lets go goes out; who we are is taken back. */
static void test_slot_is_not_waited_for_by_who_closes(void **state)
{
    (void)state;
    (void)asked_at_0();
    close_and_open();
    assert_true(hears(0, "CLIENT", "REPLY"));
    assert_null(strstr(bytes, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1));
    assert_null(strstr(bytes, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].text));
}

static void test_slot_does_not_know_who_has_closed(void **state)
{
    (void)state;
    (void)told_and_held();
    close_and_open();
    assert_true(hears(0, "REPLY", "\r\nDEL\r\n"));
}

static void test_slot_is_not_waited_for_by_a_release_of_who_closes(void **state)
{
    (void)state;
    release_on_a_new_connection(told_and_held());
    says(0, "-LOADING not yet\r\n"); /* and whatever was said so far */
    close_and_open();
    assert_true(hears(0, bwl_scripts[BWL_SCRIPT_QUEUE_RELEASE].text, "bwl.q"));
    assert_non_null(strstr(bytes, "\r\nDEL\r\n")); /* it was known there before as well */
}

/* Its end surely comes before the question: nothing is in doubt. */
static void test_slot_whose_connection_ends_in_between(void **state)
{
    (void)state;
    (void)asked_at_0();
    vanish(0);
    hang_up(0);
    greets_queue(1);
    assert_true(hears(1, "SSUBSCRIBE", "bowline:f:{"));
    read_inbox();
    says_prepared(1);
    assert_true(hears(1, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1, inbox)); /* no BEAT: it is new */
    assert_int_equal(operation.ended, BWL_PENDING);
}

/* What leads a release is of the connection that has just broken, and of no other. */
static void test_slot_release_whose_lead_was_not_sent(void **state)
{
    const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

    (void)state;
    bwl_lock *lock                             = told_and_held();
    ((bwl_redis_part *)lock->part)->has_waited = true;
    vanish(0);
    assert_int_equal(setsockopt(lines[0], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    (void)close(lines[0]); /* a reset, which has come, and of which nobody has heard */
    lines[0]             = -1;
    struct pollfd at_end = { .fd = store_of(0)->conn.stream.source.fd, .events = POLLIN };
    assert_int_equal(poll(&at_end, 1, -1), 1);
    store_of(0)->heard_at = bwl_client_now(client) + 1000;
    bwl_lock_release(lock, &operation);
    greets_queue(1);
    assert_true(hears(1, "SSUBSCRIBE", "bowline:f:{"));
    read_inbox();
    says_prepared(1);
    assert_true(hears(1, bwl_scripts[BWL_SCRIPT_QUEUE_RELEASE].sha1, "bwl.q"));
    assert_int_equal(operation.ended, BWL_PENDING);
}

/* What was refused of what comes before it is nothing to a node that knows all of it. */
static void test_slot_that_another_node_has_been_told_of(void **state)
{
    static bwl_operation second; /* ends with the client */

    (void)state;
    (void)held_at_1();
    bwl_redis_store *first               = client->store;
    first->cluster->owners[slot_of("a")] = 1; /* by a map that is old: node 0 */
    bwl_lock *other                      = lock_named("a");
    bwl_lock_acquire(other, &second, 60000);
    turn();
    assert_true(hears(0, "SSUBSCRIBE", "bowline:f:{"));
    says(0, "-LOADING not yet\r\n");
    vanish(0);
    hang_up(0);
    assert_true(hears(1, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1, inbox));
    assert_null(strstr(bytes, "SSUBSCRIBE"));
    says(1, ":1795323949966266\r\n");
    assert_int_equal(second.ended, BWL_HELD);
}

static void test_slot_of_a_server_that_is_too_old(void **state)
{
    (void)state;
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 0);
    assert_true(is_called(0));
    says(0, "%%4\r\n+version\r\n+6.2.14\r\n+proto\r\n:3\r\n+id\r\n:7\r\n+mode\r\n+cluster\r\n");
    assert_int_equal(operation.ended, BWL_STORE_REFUSED);
    assert_non_null(strstr(lock->why.text, "use protocol=token"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_slot_is_told_before_the_first_question),
        CASE(test_slot_is_told_before_anything_else_goes_out),
        CASE(test_slot_that_is_elsewhere),
        CASE(test_slot_whose_channels_are_not_for_us),
        CASE(test_slot_refusal_outweighs_what_passes),
        CASE(test_slot_whose_floor_is_refused),
        CASE(test_slot_is_told_again_after_a_while),
        CASE(test_slot_is_told_on_a_new_connection),
        CASE(test_slot_says_who_has_broken_a_lock),
        CASE(test_slot_is_new_for_a_moment),
        CASE(test_slot_is_not_waited_for_by_who_closes),
        CASE(test_slot_does_not_know_who_has_closed),
        CASE(test_slot_is_not_waited_for_by_a_release_of_who_closes),
        CASE(test_slot_whose_connection_ends_in_between),
        CASE(test_slot_release_whose_lead_was_not_sent),
        CASE(test_slot_that_another_node_has_been_told_of),
        CASE(test_slot_of_a_server_that_is_too_old),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
