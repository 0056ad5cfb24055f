/*
 * test_pool.c -- places of which each has a client of its own: taken, given back, waited for.
 *
 * Nothing is connected here.
 */
#include "base/clock.h"
#include "runtime/pool.h"
#include "api/engines.h"
#include "tests/lib/suite.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bwl_pool   pool;
static bwl_shard *first;
static bwl_fault  fault;

static void open_pool(const char *url)
{
    bwl_settings asked = { .keeps = true };

    fault = (bwl_fault){ 0 };
    assert_int_equal(bwl_shard_open(&first, bwl_engines, &asked, false, url, &fault), BWL_OK);
    bwl_pool_init(&pool, first);
}

static int open_redis(void **state)
{
    (void)state;
    open_pool("redis://127.0.0.1:1");
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    bwl_pool_close(&pool);
    bwl_shard_close(first);
    return 0;
}

static bwl_pool_slot *take(void)
{
    bwl_pool_slot *place = NULL;

    assert_int_equal(bwl_pool_take(&pool, BWL_NEVER, &place, &fault), BWL_OK);
    assert_true(place->is_taken);
    assert_non_null(place->shard);
    assert_ptr_equal(place->lock->shard, place->shard);
    return place;
}

static unsigned open_count(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < BWL_POOL_MAX; i++)
        count += pool.slots[i].shard != NULL;
    return count;
}

FIXTURE(open_redis, close_all)

TEST(one_after_the_other_need_one)
{
    bwl_pool_slot *place = take();

    assert_ptr_not_equal(place->shard, first);
    for (int i = 0; i < 5; i++) {
        bwl_pool_give(&pool, place, false);
        assert_ptr_equal(take(), place);
    }
    assert_int_equal(open_count(), 1);
    bwl_pool_give(&pool, place, false);
}

TEST(each_has_a_client_of_its_own)
{
    bwl_pool_slot *places[BWL_POOL_MAX];

    for (unsigned i = 0; i < BWL_POOL_MAX; i++) {
        places[i] = take();
        for (unsigned j = 0; j < i; j++)
            assert_ptr_not_equal(places[i]->shard, places[j]->shard);
    }
    for (unsigned i = 0; i < BWL_POOL_MAX; i++)
        bwl_pool_give(&pool, places[i], false);
    assert_int_equal(open_count(), BWL_POOL_MAX); /* kept */
}

TEST(when_all_are_taken_there_is_none_within_the_time)
{
    bwl_pool_slot *places[BWL_POOL_MAX];
    bwl_pool_slot *late = NULL;

    for (unsigned i = 0; i < BWL_POOL_MAX; i++)
        places[i] = take();
    assert_int_equal(bwl_pool_take(&pool, bwl_clock_now() + 20, &late, &fault), BWL_STATUS_TIMEOUT);
    assert_non_null(strstr(fault.text, "16 updates"));
    assert_null(late);
    for (unsigned i = 0; i < BWL_POOL_MAX; i++)
        bwl_pool_give(&pool, places[i], false);
}

static void *take_one(void *arg)
{
    bwl_pool_slot **ret_place = arg;

    *ret_place = take();
    return NULL;
}

TEST(who_waits_gets_what_is_given_back)
{
    bwl_pool_slot *places[BWL_POOL_MAX];
    bwl_pool_slot *got = NULL;
    pthread_t      thread;

    for (unsigned i = 0; i < BWL_POOL_MAX; i++)
        places[i] = take();
    assert_int_equal(pthread_create(&thread, NULL, take_one, &got), 0);
    (void)nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    bwl_pool_give(&pool, places[7], false);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ptr_equal(got, places[7]);
    for (unsigned i = 0; i < BWL_POOL_MAX; i++)
        bwl_pool_give(&pool, places[i], false);
}

static void *look_from_elsewhere(void *ret_is_in)
{
    *(bool *)ret_is_in = bwl_pool_is_in(&pool);
    return NULL;
}

TEST(who_has_taken_a_place_is_in_and_no_other_thread)
{
    bool      other_is_in = true;
    pthread_t other;

    assert_false(bwl_pool_is_in(&pool));
    bwl_pool_slot *place = take();
    assert_true(bwl_pool_is_in(&pool));
    assert_int_equal(pthread_create(&other, NULL, look_from_elsewhere, &other_is_in), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_false(other_is_in);
    bwl_pool_give(&pool, place, false);
    assert_false(bwl_pool_is_in(&pool));
}

TEST(broken_place_is_closed_and_opened_again)
{
    bwl_pool_slot *place = take();

    place->transaction.seen          = malloc(8);
    place->transaction.seen_capacity = 8;
    bwl_pool_give(&pool, place, true);
    assert_int_equal(open_count(), 0);
    assert_ptr_equal(take(), place);
    assert_null(place->transaction.seen);
    bwl_pool_give(&pool, place, false);
}

FIXTURE(NULL, NULL)

TEST(store_without_keys_is_unsupported)
{
    bwl_pool_slot *place = NULL;

    open_pool("thread:");
    assert_int_equal(bwl_pool_take(&pool, BWL_NEVER, &place, &fault), BWL_STATUS_UNSUPPORTED);
    assert_non_null(strstr(fault.text, "thread: updates no keys"));
    (void)close_all(NULL);
}
