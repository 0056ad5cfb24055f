/*
 * test_redis_spin.c -- a client that looks for its answers before it sleeps, beside a server: how
 * often it sleeps, and that turning it off is heard everywhere.
 *
 * How long answers take is not the test's to say, so its clock stands still: whoever may spin then
 * does until the answer is there, and every sleep is one that was chosen.
 */
#include "api/handles.h"
#include "engine/redis/redis.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/testing.h"

#include <poll.h>
#include <stdio.h>

enum { PAIRS = 200, THREADS = 4, LIMIT_MS = 10000 };

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
    bwl_session *store = bwl_redis_of(&client->inner->host)->router.sessions;
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
    cpus = 64;
    return 0;
}

static void test_spin_never_sleeps_where_answers_come_in_time(void **state)
{
    bowline_client *client = opened("");

    take_pairs(client, "n", PAIRS);
    assert_int_equal(sleeps, 0);
    assert_true(looks >= 2 * PAIRS);
    assert_true(offers <= 2 * PAIRS);
    bowline_close(client);
}

static void test_spin_off_sleeps_for_every_answer(void **state)
{
    bowline_client *client = opened("?spin=off");

    take_pairs(client, "n", PAIRS);
    assert_true(sleeps >= 2 * PAIRS);
    assert_int_equal(looks + offers, 0);
    bowline_close(client);
}

#define CASE(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_spin_never_sleeps_where_answers_come_in_time),
        CASE(test_spin_off_sleeps_for_every_answer),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
