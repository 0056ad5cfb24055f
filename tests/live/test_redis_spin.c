/*
 * test_redis_spin.c -- a client that looks for its answers before it sleeps, beside a server: how
 * often it sleeps, and that turning it off is heard everywhere.
 *
 * How long answers take is not the test's to say, so its clock stands still: whoever may spin then
 * does until the answer is there, and every sleep is one that was chosen.
 */
#include "api/handles.h"
#include "engine/redis/redis.h"
#include "tests/lib/server.h"
#include "tests/lib/testing.h"

#include <poll.h>
#include <stdio.h>

enum { PAIRS = 200, THREADS = 4, LIMIT_MS = 10000 };

static server     *redis;
static atomic_uint looks;
static atomic_uint sleeps;
static atomic_uint offers;
static unsigned    cpus;

static int64_t same_time(void)
{
    return 0;
}

static ssize_t look(int fd, void *ret_bytes, size_t room)
{
    atomic_fetch_add(&looks, 1);
    return bwl_spin_real.look(fd, ret_bytes, room);
}

static ssize_t sleep_there(int fd, void *ret_bytes, size_t room)
{
    atomic_fetch_add(&sleeps, 1);
    return bwl_spin_real.sleep(fd, ret_bytes, room);
}

static void offer(void)
{
    atomic_fetch_add(&offers, 1);
    bwl_spin_real.offer();
}

static unsigned count_cpus(void)
{
    return cpus;
}

static const bwl_spin_system timeless = {
    .now_ns = same_time, .look = look, .sleep = sleep_there, .offer = offer, .cpus = count_cpus
};

static void take_pairs(bowline_client *client, const char *name, unsigned pairs)
{
    for (unsigned i = 0; i < pairs; i++) {
        bowline_hold *hold = NULL;
        assert_int_equal(bowline_acquire(&hold, client, name, NULL, NULL), BOWLINE_OK);
        assert_int_equal(bowline_release(hold, NULL), BOWLINE_OK);
    }
}

/* A client that has had its first answer, and then our clock. */
static bowline_client *opened(const char *options)
{
    char url[160];

    (void)snprintf(url, sizeof url, "%s%s", redis->tcp_url, options);
    bowline_client *client = must_open(url);
    take_pairs(client, "first", 1);
    bwl_session *store           = bwl_redis_of(&client->first->host)->router.sessions;
    store->link.spin.system      = &timeless;
    store->link.spin.rests_until = 0;
    store->link.spin.smoothed_ns = 20000;
    atomic_store(&looks, 0);
    atomic_store(&sleeps, 0);
    atomic_store(&offers, 0);
    return client;
}

static int begin(void **state)
{
    (void)state;
    cpus = 64;
    return 0;
}

static void test_spin_never_sleeps_where_answers_come_in_time(void **state)
{
    bowline_client *client = opened("");

    (void)state;
    take_pairs(client, "n", PAIRS);
    assert_int_equal(sleeps, 0);
    assert_true(looks >= 2 * PAIRS);
    assert_true(offers <= 2 * PAIRS);
    bowline_close(client);
}

static void test_spin_off_sleeps_for_every_answer(void **state)
{
    bowline_client *client = opened("?spin=off");

    (void)state;
    take_pairs(client, "n", PAIRS);
    assert_true(sleeps >= 2 * PAIRS);
    assert_int_equal(looks + offers, 0);
    bowline_close(client);
}

static void test_spin_is_not_for_one_cpu(void **state)
{
    (void)state;
    cpus                   = 1;
    bowline_client *client = opened("");
    take_pairs(client, "n", PAIRS);
    assert_true(sleeps >= 2 * PAIRS);
    assert_int_equal(looks + offers, 0);
    bowline_close(client);
}

static void *wait_for_it(void *arg)
{
    bowline_hold *hold = NULL;

    assert_int_equal(acquire_within(&hold, arg, "wanted", LIMIT_MS, NULL), BOWLINE_OK);
    assert_int_equal(bowline_release(hold, NULL), BOWLINE_OK);
    return NULL;
}

/* Within a tenth of a second: at first its answer may not be there yet. */
static bool looks_no_more(void)
{
    for (int round = 0; round < 20; round++) {
        unsigned before = atomic_load(&looks);
        (void)poll(NULL, 0, 100);
        if (atomic_load(&looks) == before)
            return true;
    }
    return false;
}

/* Whoever waits for a lock waits for another's release, which is no answer: nobody looks for that
 * again and again. */
static void test_spin_is_not_for_a_lock_that_another_holds(void **state)
{
    bowline_client *holder = must_open(redis->tcp_url);
    bowline_client *client = opened("");
    bowline_hold   *hold   = NULL;
    pthread_t       thread;

    (void)state;
    assert_int_equal(bowline_acquire(&hold, holder, "wanted", NULL, NULL), BOWLINE_OK);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_it, client), 0);
    assert_true(server_comes_to(redis, "1", "ZCARD bowline:{wanted}:bwl.q"));
    assert_true(looks_no_more()); /* from now on it waits for us */
    assert_int_equal(bowline_release(hold, NULL), BOWLINE_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    bowline_close(client);
    bowline_close(holder);
}

/* The real clock and the real CPUs: whatever is decided, nothing is lost. */
static void *work(void *arg)
{
    char name[32];

    (void)snprintf(name, sizeof name, "n-%p", (void *)&name);
    take_pairs(arg, name, PAIRS);
    return NULL;
}

static void test_spin_of_many_threads_loses_nothing(void **state)
{
    bowline_client *client = must_open(redis->tcp_url);
    pthread_t       threads[THREADS];

    (void)state;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, client), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    uint64_t waits = 0;
    for (unsigned i = 0; i < BWL_SHARDS_MAX && bwl_shard_at(client, i) != NULL; i++) {
        const bwl_spin *spin =
            &bwl_redis_of(&bwl_shard_at(client, i)->host)->router.sessions->link.spin;
        waits += spin->sleeps + spin->paid;
        print_message("# shard %u: %llu looks, %llu sleeps; %llu paid, %llu in vain\n", i,
                      (unsigned long long)spin->looks, (unsigned long long)spin->sleeps,
                      (unsigned long long)spin->paid, (unsigned long long)spin->unpaid);
    }
    assert_true(waits > 0);
    bowline_close(client);
    assert_true(server_becomes_empty(redis));
}

static int start(void **state)
{
    (void)state;
    server_needed();
    redis = server_start(NULL);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    server_stop(redis);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_spin_never_sleeps_where_answers_come_in_time),
        CASE(test_spin_off_sleeps_for_every_answer),
        CASE(test_spin_is_not_for_one_cpu),
        CASE(test_spin_is_not_for_a_lock_that_another_holds),
        CASE(test_spin_of_many_threads_loses_nothing),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
