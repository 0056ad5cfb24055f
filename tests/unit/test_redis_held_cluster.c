/*
 * test_redis_held_cluster.c -- of a cluster: what is held there, and a node that was started again.
 *
 * The node whose former process gave a lock may have come back with an older state of its data, and
 * the lock is lost; one that has it from another node lacks at most the last of it, and is asked.
 * The nodes are played (cluster_fixture.h): 0 is the one that is started again.
 */
#include "cluster_fixture.h"

/* The pause after an attempt that failed may be under way. */
static void must_be_called(unsigned i)
{
    for (unsigned n = 0; n < 100 && !is_called(i); n++)
        assert_int_equal(bwl_client_drive(client, bwl_client_now(client) + 50, NULL), BWL_OK);
    assert_true(lines[i] >= 0);
}

static void greets_as(unsigned i, char process)
{
    must_be_called(i);
    expect(i, GREETING);
    if (process == 'a')
        says(i, SAYS_HELLO("cluster", "master") SAYS_INFO("a") SAYS_NO_MAP);
    else
        says(i, SAYS_HELLO("cluster", "master") SAYS_INFO("b") SAYS_NO_MAP);
}

static void expect_extend(unsigned i, const bwl_lock *lock)
{
    expect(i, "EVALSHA|%s|1|bowline:{%s}|%s|30000|", EXTEND, lock->name, lock->hold.claim.token);
}

/* Held at 1, by way of 0, which is known since. */
static bwl_lock *held_at_1(const char *name)
{
    bwl_lock *lock = lock_named(name);

    bwl_lock_acquire(lock, &operation, 0);
    greets(0);
    expect_set(0, lock);
    says_moved(0, name, 1);
    greets(1);
    expect_set(1, lock);
    says(1, "+OK\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    return lock;
}

/* A node where it is thought to be is asked twice: what was sent on, and what it means to have come
 * there. */
static void says_moved_twice(unsigned i, const char *name, unsigned to)
{
    says_moved(i, name, to);
    says_moved(i, name, to);
}

/* Held at 0, which is away; 1 has been asked for it, and sends to 2. */
static bwl_lock *sought_at_2(const char *name)
{
    bwl_lock *lock = held_at_0(name);

    vanish(0);
    bind_to(0, ports[0]); /* so that nobody else takes it */
    hang_up(0);
    greets_with_map(1, 1);
    expect_extend(1, lock);
    says_moved(1, name, 2);
    greets(2);
    return lock;
}

/* ---- what another node gave ------------------------------------------------------------------ */

/* As when a cluster is upgraded: the replica first, and then it takes over. */
static void test_cluster_node_that_was_started_again_has_what_came_with_the_slot(void **state)
{
    (void)state;
    bwl_lock *lock = held_at_1("a");
    hang_up(0);
    assert_false(is_called(0)); /* nothing is held there, and its new process is met later */
    bwl_lock_extend(lock, &operation, LEASE_MS);
    expect_extend(1, lock);
    says_moved(1, "a", 0);
    greets_as(0, 'b');
    assert_true(bwl_hold_is_held(&lock->hold));
    assert_int_equal(operation.ended, BWL_PENDING);
    says(0, ":1\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    assert_string_equal(lock->why.text, "");
}

/* From then on it is the one that gave it. */
static void test_cluster_node_that_has_extended_and_is_started_again_loses_it(void **state)
{
    (void)state;
    bwl_lock *lock = held_at_1("a");
    bwl_lock_extend(lock, &operation, LEASE_MS);
    says_moved(1, "a", 0);
    expect_extend(0, lock);
    says(0, ":1\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    hang_up(0);
    greets_as(0, 'b');
    assert_int_equal(lock->hold.state, BWL_HOLD_DISOWNED);
    assert_non_null(strstr(lock->why.text, "was started again"));
}

/* What it lacks is lost there as well. */
static void test_cluster_node_that_was_started_again_lacks_what_came_with_the_slot(void **state)
{
    (void)state;
    bwl_lock *lock = held_at_1("a");
    hang_up(0);
    bwl_lock_extend(lock, &operation, LEASE_MS);
    says_moved(1, "a", 0);
    greets_as(0, 'b');
    says(0, ":0\r\n");
    assert_int_equal(operation.ended, BWL_LOST);
}

/* ---- what its former process gave ------------------------------------------------------------ */

/* It was sent to another node meanwhile, which has said nothing of it but where it is. */
static void test_cluster_way_round_makes_a_former_process_no_other(void **state)
{
    (void)state;
    bwl_lock *lock = sought_at_2("a");
    comes_up(0);
    says_moved_twice(2, "a", 0);
    greets_as(0, 'b');
    assert_int_equal(lock->hold.state, BWL_HOLD_DISOWNED);
    assert_non_null(strstr(lock->why.text, "was started again"));
}

/* The new process was met when the lock was thought to be elsewhere: its yes proves nothing. */
static void test_cluster_yes_of_a_process_that_did_not_give_is_none(void **state)
{
    static bwl_operation second; /* the client ends it */

    (void)state;
    bwl_lock *lock  = sought_at_2("a");
    bwl_lock *other = lock_named("b");
    comes_up(0);
    bwl_lock_acquire(other, &second, 60000);
    expect_set(1, other);
    says_moved(1, "b", 0);
    greets_as(0, 'b');
    expect_set(0, other);
    says(0, "+OK\r\n");
    assert_int_equal(second.ended, BWL_HELD);
    assert_true(bwl_hold_is_held(&lock->hold));
    says_moved_twice(2, "a", 0);
    says(0, ":1\r\n:1\r\n");
    assert_int_equal(lock->hold.state, BWL_HOLD_DISOWNED);
    assert_non_null(strstr(lock->why.text, "was started again"));
    assert_true(bwl_hold_is_held(&other->hold)); /* of the same process, which did give it */
}

/* A replica when it was met: it has a copy, whoever it is, and may be the primary again. */
static void test_cluster_yes_of_one_that_came_back_as_a_replica_is_one(void **state)
{
    (void)state;
    bwl_lock *lock = held_at_0("a");
    hang_up(0);
    must_be_called(0);
    says(0, SAYS_HELLO("cluster", "replica") SAYS_INFO("b") SAYS_NO_MAP);
    says_moved(0, "a", 1);
    greets(1);
    says_moved_twice(1, "a", 0);
    says(0, ":1\r\n:1\r\n");
    assert_true(bwl_hold_is_held(&lock->hold));
    assert_int_equal(client->pending, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_cluster_node_that_was_started_again_has_what_came_with_the_slot),
        CASE(test_cluster_node_that_has_extended_and_is_started_again_loses_it),
        CASE(test_cluster_node_that_was_started_again_lacks_what_came_with_the_slot),
        CASE(test_cluster_way_round_makes_a_former_process_no_other),
        CASE(test_cluster_yes_of_a_process_that_did_not_give_is_none),
        CASE(test_cluster_yes_of_one_that_came_back_as_a_replica_is_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
