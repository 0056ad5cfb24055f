/*
 * test_redis_many.c -- from a URL to the stores of several servers; what a server says of itself;
 * what most of them say of who has a lock.
 *
 * Nothing is sent, nothing is connected and nothing is looked up.
 */
#include "api/handles.h"
#include "engine/redis/topology/quorum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

static bwl_client *client;
static bwl_fault   fault;

static int close_client(void **state)
{
    (void)state;
    bwl_client_close(client);
    client = NULL;
    return 0;
}

static int open_url(const char *url)
{
    static const bwl_settings nothing;

    fault = (bwl_fault){ 0 };
    return bwl_client_open(&client, &nothing, false, url, &fault);
}

static void must_open(const char *url)
{
    int status = open_url(url);

    if (status != BWL_OK)
        fail_msg("%s: %s", url, fault.text);
}

static void expect_wrong(const char *url, int status, const char *part)
{
    assert_int_equal(open_url(url), status);
    if (strstr(fault.text, part) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", url, fault.text, part);
}

static const bwl_redis_store *store(unsigned node)
{
    return bwl_redis_store_of(client, node);
}

/* ---- from the URL ---------------------------------------------------------------------------- */

static void test_each_host_has_a_store(void **state)
{
    static const char *const where[] = { "a:6379", "b:7000", "::1:6379", "c:6379", "d:9" };

    (void)state;
    must_open("redlock://joe:secret@a,b:7000,[::1],c,d:9/3?key=x:%25s&lease=2s");
    assert_int_equal(client->nodes, 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_string_equal(store(i)->where, where[i]);
        assert_int_equal(store(i)->node, i);
        assert_int_equal(store(i)->database, 3);
        assert_true(store(i)->is_of_many);
        assert_false(store(i)->trusts_young);
        assert_string_equal(store(i)->user, "joe");
        assert_string_equal(store(i)->password, "secret");
        assert_string_equal(store(i)->key_template, "x:%s");
        assert_null(store(i)->tls);
    }
    assert_null(store(4)->next);
    assert_string_equal(client->engine->protocol->name, "redlock");
}

static void test_profile_of_several_servers_brings_its_key_and_its_values(void **state)
{
    (void)state;
    must_open("redlock://a,b,c?profile=pottery");
    assert_string_equal(client->engine->protocol->name, "redlock");
    assert_null(client->settings.protocol);
    assert_ptr_equal(client->settings.rules, bwl_profile_named("pottery")->rules);
    assert_int_equal(client->settings.lease_ms, 10000);
    for (unsigned i = 0; i < 3; i++) {
        assert_string_equal(store(i)->key_template, "redlock:%s");
        assert_ptr_equal(store(i)->profile, bwl_profile_named("pottery"));
    }
    (void)close_client(NULL);
    must_open("redlock://a,b,c?profile=redsync&key=shop:%25s&lease=2s");
    assert_string_equal(store(2)->key_template, "shop:%s");
    assert_int_equal(client->settings.lease_ms, 2000);
    (void)close_client(NULL);
    must_open("redlock://a,b,c?profile=distributedlock");
    assert_non_null(client->settings.rules->prefix);
    (void)close_client(NULL);
    must_open("redlock://a,b,c?key=shop:%25s");
    assert_null(client->settings.rules);
}

static void test_profile_of_one_server_is_refused_for_several(void **state)
{
    static const char *const urls[] = {
        "redlock://a,b,c?profile=redis-py",
        "redlock://a,b,c?profile=symfony",
        "redlock://a,b,c?profile=spring&key=reg:%25s",
        "redlock://a,b,c?profile=jedis-lock-1&accept-risk=1",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(urls); i++)
        expect_wrong(urls[i], BWL_STATUS_UNSUPPORTED, "that program are on one server");
    expect_wrong("redlock://a,b,c?profile=potery", BWL_STATUS_UNSUPPORTED, "did you mean pottery?");
    expect_wrong("redlock://a,b,c?accept-risk=2", BWL_STATUS_USAGE, "accept-risk= is 1");
}

static void test_another_lane_has_the_same_stores(void **state)
{
    bwl_client *lane = NULL;

    (void)state;
    must_open("redlock://a,b,c?restart-wait=off");
    assert_int_equal(bwl_client_share(&lane, client), BWL_OK);
    assert_int_equal(lane->nodes, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_ptr_not_equal(bwl_redis_store_of(lane, i), store(i));
        assert_string_equal(bwl_redis_store_of(lane, i)->where, store(i)->where);
        assert_int_equal(bwl_redis_store_of(lane, i)->node, i);
        assert_true(bwl_redis_store_of(lane, i)->is_of_many);
        assert_true(bwl_redis_store_of(lane, i)->trusts_young);
    }
    bwl_client_close(lane);
}

static void test_what_cannot_be_a_majority_is_refused(void **state)
{
    static const struct {
        const char *url;
        const char *part;
    } cases[] = {
        { "redlock://a", "takes 3 to 9 hosts, here are 1" },
        { "redlock://a,b", "takes 3 to 9 hosts, here are 2" },
        { "redlock://a,b,c,d", "bear the loss of 1, as 3 do" },
        { "redlock://a,b,c,d,e,f", "bear the loss of 2, as 5 do" },
        { "redlock://a,b,c,d,e,f,g,h,i,j", "takes 3 to 9 hosts, here are 10" },
        { "redlock://a,b,a", "a:6379 stands twice" },
        { "redlock://a,b,a:6379", "a:6379 stands twice" },
        { "redlock:", "takes 3 to 9 hosts, here are 0" },
        { "redlock://a,,b", "a host is missing" },
        { "redlock://a,rediss://b,c", "all of them are encrypted, or none" },
        { "redlock://a,b,redis://c", "all of them are encrypted, or none" },
        { "redlock://a,b,c?restart-wait=yes", "neither on nor off" },
        { "redlock://a,b,c?drift=0ms", "from 1ms to a third of the lease; 302ms without it" },
        { "redlock://a,b,c?drift=1%25", "from 1ms to a third of the lease" },
        { "redlock://a,b,c?lease=3s&drift=1001ms", "from 1ms to a third of the lease; 32ms" },
        { "redlock://a,b,c?protocol=queue", "no option \"protocol\"" },
        { "redlock://a,b,c?ca=/x", "no option \"ca\"" },
        { "redlock://a,b,c/x", "a Redis database is a number" },
        { "redis://a,b,c", "takes one host" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        expect_wrong(cases[i].url, BWL_STATUS_USAGE, cases[i].part);
    expect_wrong("redlock://a,b,c?sync=1", BWL_STATUS_UNSUPPORTED, "have no replicas");
}

static bwl_ms drift_of(const char *url)
{
    must_open(url);
    const bwl_settings *s = &client->settings;
    return bwl_drift_named_ms(s->lease_ms, s->drift_ppm);
}

static void test_the_drift_that_is_named_is_the_one_that_counts(void **state)
{
    static const struct {
        const char *url;
        bwl_ms      drift_ms;
        bool        is_short;
    } cases[] = {
        { "redlock://a,b,c", 302, false },
        { "redlock://a,b,c?drift=302ms", 302, false },
        { "redlock://a,b,c?drift=301ms", 301, true },
        { "redlock://a,b,c?drift=1ms", 1, true },
        { "redlock://a,b,c?drift=10s", 10000, false },
        { "redlock://a,b,c?lease=700ms&drift=233ms", 233, false },
        { "redlock://a,b,c?lease=700ms&drift=8ms", 8, true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(drift_of(cases[i].url), cases[i].drift_ms);
        assert_int_equal(strstr(client->settings.risk, "is short of 1%") != NULL,
                         cases[i].is_short);
        assert_int_equal(client->settings.risk[0] != '\0', cases[i].is_short);
        (void)close_client(state);
    }
    assert_int_equal(open_url("redis://a?drift=1s"), BWL_STATUS_USAGE);
}

static void test_the_hold_counts_with_the_drift_of_the_url(void **state)
{
    static const bwl_terms terms = { .lease_ms = 500, .max_hold_ms = BWL_NEVER };
    bwl_lock              *lock  = NULL;

    (void)state;
    must_open("redlock://a,b,c?lease=1s&drift=100ms");
    assert_int_equal(bwl_lock_new(&lock, client, "x", &terms, &fault), BWL_OK);
    assert_int_equal(bwl_drift_named_ms(lock->hold.claim.lease_ms, lock->hold.claim.drift_ppm), 50);
}

static void test_the_lock_spans_all_of_them(void **state)
{
    bwl_lock *lock = NULL;

    (void)state;
    must_open("redlock://a,b,c");
    bwl_client_lock(client);
    assert_int_equal(
        bwl_lock_new(&lock, client, "x",
                     &(bwl_terms){ .lease_ms = 1000, .max_hold_ms = BWL_NEVER, .answer_ms = 100 },
                     &fault),
        BWL_OK);
    bwl_lock_unwanted(lock);
    bwl_client_unlock(client);
}

/* ---- what a server says of itself ------------------------------------------------------------ */

static int says(unsigned node, const char *info)
{
    bwl_redis_store *s = bwl_redis_store_of(client, node);

    fault         = (bwl_fault){ 0 };
    s->is_put_off = false;
    return bwl_redis_check_independence(s, info, strlen(info), &fault);
}

static void test_a_node_of_a_cluster_is_refused(void **state)
{
    (void)state;
    must_open("redlock://a,b,c");
    assert_int_equal(says(1, "# Server\r\nredis_mode:cluster\r\nuptime_in_seconds:99\r\n"),
                     BWL_STATUS_REFUSED);
    assert_non_null(strstr(fault.text, "b:6379 is a node of a cluster"));
    assert_int_equal(says(1, "# Server\r\nserver_mode:cluster\r\nuptime_in_seconds:99\r\n"),
                     BWL_STATUS_REFUSED);
    assert_int_equal(says(1, "# Server\r\nredis_mode:standalone\r\nuptime_in_seconds:99\r\n"),
                     BWL_OK);
}

static void test_a_replica_is_refused(void **state)
{
    static const char info[] = "# Server\r\nredis_mode:standalone\r\nuptime_in_seconds:99\r\n";

    (void)state;
    must_open("redlock://a,b,c");
    bwl_redis_store_of(client, 1)->is_replica = true;
    assert_int_equal(says(1, info), BWL_STATUS_REFUSED);
    assert_non_null(strstr(fault.text, "b:6379 is a replica of another server"));
    bwl_redis_store_of(client, 1)->is_replica = false;
    assert_int_equal(says(1, info), BWL_OK);
}

static void test_one_server_under_two_names_is_refused(void **state)
{
    (void)state;
    must_open("redlock://a,b,c");
    (void)snprintf(bwl_redis_store_of(client, 0)->run_id, BWL_REDIS_RUN_ID_SIZE + 1, "abc");
    assert_int_equal(says(2, "# Server\r\nrun_id:abc\r\nuptime_in_seconds:99\r\n"),
                     BWL_STATUS_REFUSED);
    assert_non_null(strstr(fault.text, "c:6379 is the same server as a:6379"));
    assert_int_equal(says(2, "# Server\r\nrun_id:abcd\r\nuptime_in_seconds:99\r\n"), BWL_OK);
    assert_int_equal(says(2, "# Server\r\nrun_id:ab\r\nuptime_in_seconds:99\r\n"), BWL_OK);
    assert_int_equal(says(2, "# Server\r\nrun_id:\r\nuptime_in_seconds:99\r\n"), BWL_OK);
    assert_int_equal(says(0, "# Server\r\nrun_id:abc\r\nuptime_in_seconds:99\r\n"), BWL_OK);
}

/* A lease of two seconds, with the drift allowance of 22 ms, is over in the third. */
static void test_a_young_server_is_put_off(void **state)
{
    (void)state;
    must_open("redlock://a,b,c?lease=2s");
    for (unsigned age = 0; age < 3; age++) {
        char info[64];
        (void)snprintf(info, sizeof info, "# Server\r\nuptime_in_seconds:%u\r\n", age);
        assert_int_equal(says(0, info), BWL_STATUS_UNREACHABLE);
        assert_true(store(0)->is_put_off);
        assert_non_null(strstr(fault.text, "may have forgotten locks"));
    }
    assert_int_equal(says(0, "# Server\r\nuptime_in_seconds:3\r\n"), BWL_OK);
    assert_false(store(0)->is_put_off);
    assert_int_equal(says(0, "# Server\r\n"), BWL_OK); /* it does not say */
}

/* To the second, as the server counts: a lease of 3 s and a drift of 1 s are over at 4 s. */
static void test_a_server_as_old_as_the_lease_and_its_drift_is_asked(void **state)
{
    (void)state;
    must_open("redlock://a,b,c?lease=3s&drift=1s");
    assert_int_equal(says(0, "# Server\r\nuptime_in_seconds:3\r\n"), BWL_STATUS_UNREACHABLE);
    assert_int_equal(says(0, "# Server\r\nuptime_in_seconds:4\r\n"), BWL_OK);
}

/* It would have its vote while that lease still runs elsewhere. */
static void test_no_lease_is_longer_than_a_young_server_waits(void **state)
{
    bwl_terms     terms = { .lease_ms = 2000, .max_hold_ms = BWL_NEVER };
    bwl_lock     *lock  = NULL;
    bowline_error error;

    (void)state;
    must_open("redlock://a,b,c?lease=2s");
    assert_int_equal(bwl_lock_new(&lock, client, "n", &terms, &fault), BWL_OK);
    assert_int_equal(bwl_check_extend(lock, 2000, &error), BOWLINE_OK);
    assert_int_equal(bwl_check_extend(lock, 2001, &error), BOWLINE_USAGE);
    assert_non_null(strstr(error.text, "lease=2001ms"));
    bwl_lock_unwanted(lock);
    terms.lease_ms = 2001;
    assert_int_equal(bwl_lock_new(&lock, client, "n", &terms, &fault), BWL_STATUS_USAGE);
    assert_non_null(strstr(fault.text, "restart-wait=off"));
    bwl_client_close(client);
    must_open("redlock://a,b,c?lease=2s&restart-wait=off");
    assert_int_equal(bwl_lock_new(&lock, client, "n", &terms, &fault), BWL_OK);
    bwl_lock_unwanted(lock);
}

static void test_a_young_server_is_asked_where_that_is_wished(void **state)
{
    (void)state;
    must_open("redlock://a,b,c?lease=2s&restart-wait=off");
    assert_int_equal(says(0, "# Server\r\nuptime_in_seconds:0\r\n"), BWL_OK);
}

/* ---- who has it ------------------------------------------------------------------------------ */

static bwl_redis_looker lookers[5];
static bwl_redis_part   part;
static bwl_lock         lock;

static void look_at(const char *const values[5], const int64_t lefts[5])
{
    lock = (bwl_lock){ .client = client, .part = &part };
    part = (bwl_redis_part){ .looker = lookers };
    for (unsigned i = 0; i < 5; i++) {
        lookers[i] = (bwl_redis_looker){ .answer = values[i] == NULL ? 0 : BWL_YES };
        if (values[i] == NULL)
            continue;
        lookers[i].look.left_ms = values[i][0] == '\0' ? -2 : lefts[i];
        (void)snprintf(lookers[i].look.kind, sizeof lookers[i].look.kind, "%s",
                       values[i][0] == '\0' ? "none" : "string");
        (void)snprintf(lookers[i].look.value, sizeof lookers[i].look.value, "%s", values[i]);
    }
}

/* The third longest of five is when a majority ends. */
static void test_who_has_it_at_most_of_them(void **state)
{
    static const int64_t lefts[] = { 500, 900, 700, 300, 800 };

    (void)state;
    must_open("redlock://a,b,c,d,e");
    look_at((const char *[]){ "A", "A", "", "A", "A" }, lefts);
    assert_true(bwl_redis_has_seen(&lock));
    bwl_redis_looker seen = bwl_redis_seen(&lock);
    assert_int_equal(seen.answer, BWL_YES);
    assert_string_equal(seen.look.value, "A");
    assert_int_equal(seen.look.left_ms, 500);
}

static void test_nobody_is_waited_for_when_most_say_the_same(void **state)
{
    static const int64_t lefts[] = { 500, 900, 700, 0, 0 };

    (void)state;
    must_open("redlock://a,b,c,d,e");
    look_at((const char *[]){ "A", "A", "A", NULL, NULL }, lefts);
    assert_true(bwl_redis_has_seen(&lock));
    assert_int_equal(bwl_redis_seen(&lock).look.left_ms, 500);
    look_at((const char *[]){ "A", "A", "B", NULL, "B" }, lefts);
    assert_false(bwl_redis_has_seen(&lock));
    look_at((const char *[]){ "", "", "", NULL, NULL }, lefts);
    assert_true(bwl_redis_has_seen(&lock));
    assert_int_equal(bwl_redis_seen(&lock).look.left_ms, -2);
}

static void test_a_minority_has_nothing(void **state)
{
    static const int64_t lefts[] = { 500, 900, 700, 300, 800 };

    (void)state;
    must_open("redlock://a,b,c,d,e");
    look_at((const char *[]){ "A", "A", "B", "B", "" }, lefts);
    assert_true(bwl_redis_has_seen(&lock));
    assert_int_equal(bwl_redis_seen(&lock).answer, BWL_YES);
    assert_int_equal(bwl_redis_seen(&lock).look.left_ms, -2);
}

/* A hash shows no value, and is not nothing. */
static void test_who_has_it_is_what_most_say_of_the_same_kind(void **state)
{
    static const int64_t lefts[] = { -2, -2, -2, -2, -2 };

    (void)state;
    must_open("redlock://a,b,c,d,e");
    look_at((const char *[]){ "", "", "", NULL, NULL }, lefts);
    (void)snprintf(lookers[1].look.kind, sizeof lookers[1].look.kind, "hash");
    assert_false(bwl_redis_has_seen(&lock));
}

static void test_without_a_majority_that_answers_it_is_not_known(void **state)
{
    static const int64_t lefts[] = { 500, 900, 700, 300, 800 };

    (void)state;
    must_open("redlock://a,b,c,d,e");
    look_at((const char *[]){ "A", "A", NULL, NULL, NULL }, lefts);
    for (unsigned i = 2; i < 5; i++)
        lookers[i].answer = BWL_UNSENT;
    assert_true(bwl_redis_has_seen(&lock));
    assert_int_equal(bwl_redis_seen(&lock).answer, BWL_UNSENT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, close_client)
    const struct CMUnitTest tests[] = {
        TEST(test_each_host_has_a_store),
        TEST(test_profile_of_several_servers_brings_its_key_and_its_values),
        TEST(test_profile_of_one_server_is_refused_for_several),
        TEST(test_another_lane_has_the_same_stores),
        TEST(test_what_cannot_be_a_majority_is_refused),
        TEST(test_the_drift_that_is_named_is_the_one_that_counts),
        TEST(test_the_hold_counts_with_the_drift_of_the_url),
        TEST(test_the_lock_spans_all_of_them),
        TEST(test_a_node_of_a_cluster_is_refused),
        TEST(test_a_replica_is_refused),
        TEST(test_one_server_under_two_names_is_refused),
        TEST(test_a_young_server_is_put_off),
        TEST(test_a_server_as_old_as_the_lease_and_its_drift_is_asked),
        TEST(test_no_lease_is_longer_than_a_young_server_waits),
        TEST(test_a_young_server_is_asked_where_that_is_wished),
        TEST(test_who_has_it_at_most_of_them),
        TEST(test_nobody_is_waited_for_when_most_say_the_same),
        TEST(test_a_minority_has_nothing),
        TEST(test_who_has_it_is_what_most_say_of_the_same_kind),
        TEST(test_without_a_majority_that_answers_it_is_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
