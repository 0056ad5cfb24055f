/*
 * test_redis_cluster_nodes.c -- of a cluster: which of its nodes is asked where nobody knows who
 * has the slot, or who has it is away; and the places that nodes have.
 *
 * The nodes are played (cluster_fixture.h).
 */
#include "cluster_fixture.h"

static bwl_cluster *cluster(void)
{
    return ((bwl_redis_store *)client->store)->cluster;
}

static bwl_redis_store *store_of(unsigned i)
{
    return bwl_redis_store_at(cluster(), i + 1);
}

/* Both nodes can be asked at once. */
static void both_are_ready(void)
{
    bwl_lock *lock = lock_named("b");

    (void)held_at_0("a");
    bwl_lock_acquire(lock, &operation, 0);
    expect_set(0, lock);
    says_moved(0, "b", 1);
    greets(1);
    expect_set(1, lock);
    says(1, "+OK\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
}

static void ask_of(const char *name)
{
    static bwl_operation operations[4]; /* the client ends them */
    static unsigned      count;

    bwl_lock_acquire(lock_named(name), &operations[count++ % 4], 60000);
    turn();
}

static void test_cluster_nodes_are_asked_in_turn(void **state)
{
    (void)state;
    both_are_ready();
    ask_of("c");
    ask_of("d");
    ask_of("e");
    ask_of("f");
    assert_int_equal(store_of(0)->questions_count, 2);
    assert_int_equal(store_of(1)->questions_count, 2);
}

/* Whosever turn it is. */
static void test_cluster_node_is_asked_that_can_answer_first(void **state)
{
    static const struct {
        bwl_redis_phase phases[2];
        unsigned        place;
    } rows[] = {
        { { BWL_REDIS_GREETING, BWL_REDIS_READY }, 2 },
        { { BWL_REDIS_READY, BWL_REDIS_CONNECTING }, 1 },
        { { BWL_REDIS_DOWN, BWL_REDIS_CONNECTING }, 2 },
        { { BWL_REDIS_GREETING, BWL_REDIS_DOWN }, 1 },
    };

    (void)state;
    both_are_ready();
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        store_of(0)->phase = rows[i / 2].phases[0];
        store_of(1)->phase = rows[i / 2].phases[1];
        cluster()->turn    = i % 2;
        assert_int_equal(bwl_redis_adviser(cluster(), BWL_NOBODY), rows[i / 2].place);
    }
    store_of(0)->phase = BWL_REDIS_READY;
    store_of(1)->phase = BWL_REDIS_READY;
}

/* It cannot say who else has a slot, however near it is. */
static void test_cluster_node_is_not_asked_instead_of_itself(void **state)
{
    (void)state;
    both_are_ready();
    for (unsigned i = 0; i < 2; i++) {
        cluster()->turn = i;
        assert_int_equal(bwl_redis_adviser(cluster(), 1), 2);
        cluster()->turn = i;
        assert_int_equal(bwl_redis_adviser(cluster(), 2), 1);
    }
}

static void test_cluster_owner_that_is_away_is_not_waited_for(void **state)
{
    (void)state;
    both_are_ready();
    bwl_lock *lock                  = lock_named("c");
    cluster()->owners[slot_of("c")] = 1;
    assert_ptr_equal(bwl_redis_store_for(lock, 0), store_of(0));
    vanish(0);
    hang_up(0);
    while (!bwl_redis_is_suspect(store_of(0)))
        turn();
    assert_ptr_equal(bwl_redis_store_for(lock, 0), store_of(1));
}

/* Of all that are away, the owner is the first that is tried again; and of a slot without one, one
 * after the other. */
static void test_cluster_where_all_are_away_the_owner_is_tried(void **state)
{
    (void)state;
    both_are_ready();
    vanish(0);
    vanish(1);
    hang_up(0);
    hang_up(1);
    while (!bwl_redis_is_suspect(store_of(0)) || !bwl_redis_is_suspect(store_of(1)))
        turn();
    bwl_lock *lock = lock_named("c");
    for (unsigned i = 0; i < 2; i++) {
        cluster()->owners[slot_of("c")] = (uint16_t)(i + 1);
        assert_ptr_equal(bwl_redis_store_for(lock, 0), store_of(i));
        assert_ptr_equal(bwl_redis_store_for(lock, 0), store_of(i));
    }
    cluster()->owners[slot_of("c")] = BWL_NOBODY;
    const bwl_redis_store *first    = bwl_redis_store_for(lock, 0);
    assert_ptr_not_equal(bwl_redis_store_for(lock, 0), first);
    assert_ptr_equal(bwl_redis_store_for(lock, 0), first);
}

/* Addresses that come and go: the place of one that is of no use goes to the next. */
static void test_cluster_place_is_used_again_when_there_are_too_many(void **state)
{
    bwl_primary at = { .host = "127.0.0.9" };

    (void)state;
    const bwl_redis_store *first = client->store;
    while (cluster()->nodes_count < BWL_CLUSTER_NODES_MAX) {
        at.port++;
        unsigned place = bwl_redis_place_said(first, &at);
        assert_int_equal(place, cluster()->nodes_count);
    }
    cluster()->owners[7]   = 3;
    bwl_redis_store *store = bwl_redis_store_at(cluster(), 4);
    store->phase           = BWL_REDIS_RESTING;
    at.port++;
    assert_int_equal(bwl_redis_place_said(first, &at), 5); /* 1 and 2 stand in the URL */
    assert_int_equal(bwl_redis_place_said(first, &at), 5);
    store->phase         = BWL_REDIS_DOWN;
    cluster()->owners[8] = 5;
    at.port++;
    assert_int_equal(bwl_redis_place_said(first, &at), 4);
    assert_int_equal(store->port, at.port);
    assert_int_equal(cluster()->nodes_count, BWL_CLUSTER_NODES_MAX);
}

/* A request takes the slot from its lock: it is not computed from the key again. */
static void test_cluster_lock_keeps_the_slot_of_its_key(void **state)
{
    (void)state;
    bwl_lock *lock = lock_named("a");
    assert_int_equal(bwl_redis_slot_of(lock), slot_of("a"));
    ((bwl_redis_part *)lock->part)->cluster_slot = 7;
    assert_int_equal(bwl_redis_slot_of(lock), 7);
    assert_int_not_equal(bwl_redis_slot_of(lock_named("b")), slot_of("a"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_cluster_lock_keeps_the_slot_of_its_key),
        CASE(test_cluster_nodes_are_asked_in_turn),
        CASE(test_cluster_node_is_asked_that_can_answer_first),
        CASE(test_cluster_node_is_not_asked_instead_of_itself),
        CASE(test_cluster_owner_that_is_away_is_not_waited_for),
        CASE(test_cluster_where_all_are_away_the_owner_is_tried),
        CASE(test_cluster_place_is_used_again_when_there_are_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
