/*
 * test_redis_follow.c -- questions that nodes of a cluster send to each other, and when that ends.
 *
 * The nodes are played (cluster_fixture.h).
 */
#include "cluster_fixture.h"

#include "runtime/background_release.h"

static bwl_redis_store *store_of(unsigned i)
{
    return bwl_redis_store_at(((bwl_redis_store *)client->store)->cluster, i + 1);
}

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
    assert_non_null(strstr(lock->why.text, "they are at odds"));
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

/* As long as a server may be silent, counted from the first time. */
static void test_cluster_who_is_sent_on_for_too_long_gives_up(void **state)
{
    (void)state;
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 60000);
    greets(0);
    expect_set(0, lock);
    says_moved(0, "a", 1);
    greets(1);
    expect_set(1, lock);
    bwl_ms until = bwl_redis_nth(store_of(1), 0)->hops_until;
    assert_in_range(until - client->latest, 1, client->settings.answer_ms);
    client->latest = until - 1;
    says_moved(1, "a", 0);
    expect_set(0, lock);
    assert_string_equal(lock->why.text, "");
    client->latest = until;
    says_moved(0, "a", 1);
    expect(1, "%s", "");
    assert_int_equal(client->pending, 0);
    assert_non_null(strstr(lock->why.text, "they are at odds"));
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
    assert_non_null(strstr(lock->why.text, "which cannot be reached from here: 127.0.0.1"));
    assert_int_equal(client->pending, 0);
    bwl_lock *other = lock_named("a");
    bwl_lock_acquire(other, &second, 60000);
    says_moved(0, "a", 1);
    says_moved(0, "a", 1);
    assert_int_equal(second.ended, BWL_PENDING);
    assert_int_equal(client->pending, 1);
    bwl_lock_unwanted(other);
}

/* The wait ends at this very moment. */
static void test_cluster_who_has_no_time_left_does_not_try_again(void **state)
{
    (void)state;
    client->latest = bwl_client_now(client) + 60000; /* and so the clock stands still */
    bwl_lock *lock = lock_named("a");
    vanish(1);
    bwl_lock_acquire(lock, &operation, 0);
    greets(0);
    says_moved(0, "a", 1);
    assert_int_equal(operation.ended, BWL_PENDING);
    says_moved(0, "a", 1);
    assert_int_equal(operation.ended, BWL_NOT_NOW);
    assert_int_equal(lock->hold.give_up_at - client->latest, 0);
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

/* Who only looks has asked nothing that could be overtaken. */
static void test_cluster_look_is_sent_on(void **state)
{
    (void)state;
    bwl_lock *lock = held_at_0("a");
    assert_false(client->engine->look(lock));
    turn();
    says_moved(0, "a", 1);
    assert_true(is_called(1));
    assert_int_equal(client->pending, 1);
}

/* Nobody waits for its answer, and it is not on its way from the other node yet. */
static void test_cluster_release_that_nobody_waits_for_is_sent_on(void **state)
{
    static bwl_operation releasing;

    (void)state;
    bwl_lock *lock = held_at_0("a");
    assert_false(bwl_lock_release_unawaited(lock, &releasing));
    assert_int_equal(client->unawaited.read_late, 1);
    says_moved(0, "a", 1);
    assert_int_equal(client->unawaited.read_late, 0);
    greets(1);
    says(1, ":1\r\n");
    assert_int_equal(client->pending, 0);
    assert_int_equal(client->unawaited.count, 0);
}

/* ASKING is for the node that was named, and for no other. */
static void test_cluster_ask_to_a_node_that_is_away_is_asked_of_another_without_asking(void **state)
{
    (void)state;
    bwl_lock *lock = lock_named("a");
    vanish(1);
    bwl_lock_acquire(lock, &operation, 60000);
    greets(0);
    expect_set(0, lock);
    says(0, "-ASK %u 127.0.0.1:%d\r\n", slot_of("a"), ports[1]);
    expect_set(0, lock);
}

/* What sends on serves: it is one of those that are asked first, and its connection may end. */
static void test_cluster_node_that_sends_on_has_answered(void **state)
{
    (void)state;
    bwl_lock *lock = held_at_0("a");
    bwl_lock_acquire(lock_named("b"), &operation, 60000);
    store_of(0)->failures     = 1;
    store_of(0)->has_answered = false;
    says_moved(0, "b", 1);
    greets(1);
    assert_int_equal(store_of(0)->failures, 0);
    hang_up(0);
    assert_int_equal(store_of(0)->failures, 0);
    assert_true(is_called(0)); /* at once, as something is held there */
    assert_true(bwl_hold_is_held(&lock->hold));
}

/* ---- what is held, and whose node is away ---------------------------------------------------- */

/* A caller has extended the lock while it was looked for. */
static void test_cluster_held_lock_is_looked_for_with_the_lease_of_now(void **state)
{
    (void)state;
    bwl_lock *lock = held_at_0("a");
    vanish(0);
    hang_up(0);
    greets(1);
    expect(1, "EVALSHA|%s|1|bowline:{a}|%s|30000|", EXTEND, lock->hold.claim.token);
    bwl_lock_extend(lock, &operation, 60000);
    says_moved(1, "a", 2);
    greets(2);
    expect(2, "EVALSHA|%s|1|bowline:{a}|%s|60000|", EXTEND, lock->hold.claim.token);
}

/* The extension that goes there says it as well. */
static void test_cluster_held_lock_that_is_extended_is_not_looked_for(void **state)
{
    (void)state;
    bwl_lock *lock = held_at_0("a");
    hang_up(0);
    assert_true(is_called(0));
    bwl_lock_extend(lock, &operation, LEASE_MS);
    assert_int_equal(store_of(0)->questions_count, 1);
    vanish(0);
    hang_up(0);
    greets(1);
    expect(1, "EVALSHA|%s|1|bowline:{a}|%s|30000|", EXTEND, lock->hold.claim.token);
    assert_int_equal(client->pending, 1);
}

/* What is with another node is none of its business. */
static void test_cluster_held_lock_of_another_node_is_not_looked_for(void **state)
{
    (void)state;
    bwl_lock *lock  = held_at_0("a");
    bwl_lock *other = lock_named("b");
    bwl_lock_acquire(other, &operation, 0);
    expect_set(0, other);
    says_moved(0, "b", 1);
    greets(1);
    expect_set(1, other);
    says(1, "+OK\r\n");
    vanish(0);
    hang_up(0);
    expect(1, "EVALSHA|%s|1|bowline:{a}|%s|30000|", EXTEND, lock->hold.claim.token);
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
        CASE(test_cluster_who_is_sent_on_for_too_long_gives_up),
        CASE(test_cluster_who_is_out_of_time_does_not_try_again),
        CASE(test_cluster_who_has_no_time_left_does_not_try_again),
        CASE(test_cluster_what_nobody_wants_any_more_is_not_asked_again),
        CASE(test_cluster_look_is_sent_on),
        CASE(test_cluster_release_that_nobody_waits_for_is_sent_on),
        CASE(test_cluster_ask_to_a_node_that_is_away_is_asked_of_another_without_asking),
        CASE(test_cluster_node_that_sends_on_has_answered),
        CASE(test_cluster_held_lock_is_looked_for_with_the_lease_of_now),
        CASE(test_cluster_held_lock_that_is_extended_is_not_looked_for),
        CASE(test_cluster_held_lock_of_another_node_is_not_looked_for),
        CASE(test_cluster_search_that_ends_at_once_is_not_the_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
