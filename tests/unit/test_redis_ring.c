/*
 * test_redis_ring.c -- the questions of a connection: in the order in which they came, however
 * often the ring has gone round and grown.
 */
#include "redis_fixture.h"

enum { MANY = 100 };

static bwl_lock *lock;

static int begin(void **state)
{
    (void)play(state);
    lock = lock_named("n");
    return 0;
}

/* The lock is freed with its client, which counts what is left. */
static int end(void **state)
{
    while (store->questions_count > 0) {
        (void)bwl_redis_take_first(store);
        bwl_lock_unpin(lock);
    }
    return play_is_over(state);
}

static void put(uint32_t tag)
{
    assert_true(bwl_redis_append(store, &(bwl_redis_open_question){ .lock = lock, .tag = tag }));
}

static uint32_t take(void)
{
    bwl_redis_open_question first = bwl_redis_take_first(store);

    bwl_lock_unpin(first.lock);
    return first.tag;
}

static void test_redis_ring_oldest_comes_first(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MANY; i++)
        put(i);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(bwl_redis_nth(store, i)->tag, i);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(take(), i);
}

/* Three come and two go: it is full at every place of its round. */
static void test_redis_ring_goes_round_and_grows(void **state)
{
    uint32_t came = 0, went = 0;

    (void)state;
    for (unsigned round = 0; round < MANY; round++) {
        for (unsigned i = 0; i < 3; i++)
            put(came++);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(take(), went++);
        assert_int_equal(store->questions_count, came - went);
        for (uint32_t i = 0; i < came - went; i++)
            assert_int_equal(bwl_redis_nth(store, i)->tag, went + i);
    }
}

static void test_redis_ring_counts_and_pins(void **state)
{
    unsigned pins = lock->pins;

    (void)state;
    put(1);
    put(2);
    assert_int_equal(client->pending, 2);
    assert_int_equal(lock->pins, pins + 2);
    (void)bwl_redis_take_first(store);
    assert_int_equal(client->pending, 1);
    assert_int_equal(lock->pins, pins + 2); /* whoever takes it unpins it */
    bwl_lock_unpin(lock);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_redis_ring_oldest_comes_first),
        CASE(test_redis_ring_goes_round_and_grows),
        CASE(test_redis_ring_counts_and_pins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
