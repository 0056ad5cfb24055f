/*
 * test_redis_follow.c -- questions that nodes of a cluster send to each other, and when that ends.
 *
 * The nodes are played (cluster_fixture.h).
 */
#include "cluster_fixture.h"

static void test_cluster_who_is_sent_in_circles_gives_up(void **state)
{
    unsigned hops = 0;

    (void)state;
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 0);
    greets(0);
    says_moved(0, "a", 1);
    greets(1);
    for (hops = 1; operation.ended == BWL_PENDING && hops < 100; hops++)
        says_moved(hops % 2, "a", (hops + 1) % 2);
    assert_int_equal(hops, BWL_CLUSTER_HOPS_MAX + 1);
    assert_int_equal(operation.ended, BWL_NOT_NOW);
    assert_int_equal(client->pending, 0);
    assert_non_null(strstr(lock->why, "they are at odds"));
}

/* Every time to another place, where nobody is. */
static void test_cluster_who_is_sent_to_nobody_gives_up(void **state)
{
    unsigned told = 0;

    (void)state;
    bwl_lock *lock = lock_named("a");
    vanish(1);
    bwl_lock_acquire(lock, &operation, 0);
    greets(0);
    for (; operation.ended == BWL_PENDING && told < 100; told++) {
        expect_set(0, lock);
        says(0, "-MOVED %u 127.0.0.1:%u\r\n", slot_of("a"), told + 1);
    }
    assert_true(told <= BWL_CLUSTER_HOPS_MAX);
    assert_true(operation.ended == BWL_NOT_NOW || operation.ended == BWL_UNREACHABLE);
    assert_int_equal(client->pending, 0);
    assert_int_equal(((bwl_redis_store *)client->store)->cluster->nodes_count, 2 + told);
}

/* The one that has the slot is away.  Whoever does not wait is told so at the second time, and who
 * waits goes on asking. */
static void test_cluster_who_is_out_of_time_does_not_try_again(void **state)
{
    static bwl_operation second; /* the client ends it */

    (void)state;
    bwl_lock *lock = lock_named("a");
    vanish(1);
    bwl_lock_acquire(lock, &operation, 0);
    greets(0);
    says_moved(0, "a", 1);
    assert_int_equal(operation.ended, BWL_PENDING);
    says_moved(0, "a", 1);
    assert_int_equal(operation.ended, BWL_NOT_NOW);
    assert_non_null(strstr(lock->why, "which cannot be reached from here: 127.0.0.1"));
    assert_int_equal(client->pending, 0);
    bwl_lock *other = lock_named("a");
    bwl_lock_acquire(other, &second, 60000);
    says_moved(0, "a", 1);
    says_moved(0, "a", 1);
    assert_int_equal(second.ended, BWL_PENDING);
    assert_int_equal(client->pending, 1);
    bwl_lock_unwanted(other);
}

/* Behind the release that takes it back it would be taken once more, and by nobody. */
static void test_cluster_what_nobody_wants_any_more_is_not_asked_again(void **state)
{
    (void)state;
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 0);
    greets(0);
    expect_set(0, lock);
    lock->latest_tag++; /* its machine asks something else by now */
    says_moved(0, "a", 1);
    assert_false(is_called(1));
    assert_int_equal(client->pending, 0);
}

/* ---- what is held, and whose node is away ---------------------------------------------------- */

static bwl_redis_store *store_of(unsigned i)
{
    return bwl_redis_store_at(((bwl_redis_store *)client->store)->cluster, i + 1);
}

/* The other node has an address to which nothing can be sent, which is known at once: that was no
 * search, and the next one finds the lock. */
static void test_cluster_search_that_ends_at_once_is_not_the_last(void **state)
{
    (void)state;
    bwl_lock *lock = held_at_0("a");
    assert_int_equal(bwl_redis_set_host(store_of(1), "255.255.255.255", 7000), BWL_OK);
    vanish(0);
    hang_up(0);
    while (!bwl_redis_is_suspect(store_of(0)) || !bwl_redis_is_suspect(store_of(1)))
        turn();
    assert_int_equal(bwl_redis_set_host(store_of(1), "127.0.0.1", (uint16_t)ports[1]), BWL_OK);
    for (unsigned n = 0; n < 100 && !is_called(1); n++)
        assert_int_equal(bwl_client_drive(client, bwl_client_now(client) + 50, NULL), BWL_OK);
    assert_true(lines[1] >= 0);
    says(1, SAYS_HELLO("cluster", "master") SAYS_INFO("a") SAYS_NO_MAP);
    says(1, ":1\r\n");
    assert_true(bwl_hold_is_held(&lock->hold));
    assert_int_equal(client->pending, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_cluster_who_is_sent_in_circles_gives_up),
        CASE(test_cluster_who_is_sent_to_nobody_gives_up),
        CASE(test_cluster_who_is_out_of_time_does_not_try_again),
        CASE(test_cluster_what_nobody_wants_any_more_is_not_asked_again),
        CASE(test_cluster_search_that_ends_at_once_is_not_the_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
