/*
 * test_redis_stores.c -- the stores of a client: another lane's are like them and know nothing yet,
 * a place that is taken by another server is like new, and all of them end.
 *
 * Nothing is connected here.  What is said before the end is test_redis_who.c's and the live
 * tests'; that nothing is left of it is for the sanitizers and valgrind to say.
 */
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bwl_client *open_client(const char *url)
{
    const bwl_settings settings = { .lease_ms = 0 };
    bwl_client        *client   = NULL;
    bwl_fault          fault    = { 0 };

    if (bwl_client_open(&client, &settings, false, url, &fault) < 0)
        fail_msg("%s: %s", url, fault.text);
    return client;
}

static unsigned count(const bwl_client *client)
{
    unsigned stores = 0;

    for (const bwl_redis_store *store = client->store; store != NULL; store = store->next)
        stores++;
    return stores;
}

static void test_stores_of_most_clients_are_one(void **state)
{
    static const char *const urls[] = { "redis://a", "unix:///run/redis.sock",
                                        "redis+sentinel://a,b,c/service", "redis+cluster://a,b" };

    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        bwl_client *client = open_client(urls[i]);
        bwl_client *lane   = NULL;
        assert_int_equal(count(client), 1);
        assert_int_equal(bwl_client_share(&lane, client), BWL_OK);
        assert_int_equal(count(lane), 1);
        bwl_client_close(lane);
        bwl_client_close(client);
    }
}

static void test_stores_of_another_lane_are_alike_and_in_order(void **state)
{
    bwl_client *client = open_client("redlock://joe:secret@a,b:7000,c/3?key=x:%25s");
    bwl_client *lane   = NULL;

    (void)state;
    assert_int_equal(bwl_client_share(&lane, client), BWL_OK);
    assert_int_equal(count(client), 3);
    assert_int_equal(count(lane), 3);
    const bwl_redis_store *its = client->store;
    for (const bwl_redis_store *store = lane->store; store != NULL; store = store->next) {
        assert_ptr_equal(store->client, lane);
        assert_string_equal(store->where, its->where);
        assert_string_equal(store->host, its->host);
        assert_ptr_not_equal(store->host, its->host);
        assert_string_equal(store->password, "secret");
        assert_ptr_not_equal(store->password, its->password);
        assert_string_equal(store->key_template, "x:%s");
        assert_int_equal(store->database, 3);
        assert_int_equal(store->node, its->node);
        assert_true(store->borrows_tls);
        its = its->next;
    }
    assert_int_equal(lane->nodes, 3);
    bwl_client_close(lane);
    bwl_client_close(client);
}

static int look_up(const char *host, const char *port, const struct addrinfo *hints,
                   struct addrinfo **ret_found)
{
    (void)host;
    (void)port;
    (void)hints;
    (void)ret_found;
    return EAI_NONAME;
}

/* What is not of a place, but of the URL. */
static void test_stores_of_another_lane_have_the_same_rules(void **state)
{
    bwl_client      *client = open_client("redis://joe:secret@a?profile=redis-py");
    bwl_redis_store *its    = client->store;
    bwl_client      *lane   = NULL;

    (void)state;
    its->queue_max = 7;
    its->resolver  = (bwl_resolver){ .look_up = look_up };
    assert_int_equal(bwl_client_share(&lane, client), BWL_OK);
    const bwl_redis_store *store = lane->store;
    assert_non_null(store->profile);
    assert_ptr_equal(store->profile, its->profile);
    assert_string_equal(store->user, "joe");
    assert_ptr_not_equal(store->user, its->user);
    assert_int_equal(store->queue_max, 7);
    assert_true(store->resolver.look_up == look_up);
    bwl_client_close(lane);
    bwl_client_close(client);
}

static void test_stores_are_made_by_the_settings(void **state)
{
    bwl_client *client = open_client("redis://a?timeout=1234ms");

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        client->settings.spins = i == 0;
        bwl_redis_store *store = bwl_redis_new(client);
        assert_int_equal(store->spin.is_off, i != 0);
        assert_int_equal(store->conn.stream.silence_ms, 1234);
        bwl_redis_free(store);
    }
    bwl_client_close(client);
}

static void test_stores_of_a_socket_have_its_address(void **state)
{
    bwl_client *client = open_client("unix:///run/redis.sock");
    bwl_client *lane   = NULL;

    (void)state;
    assert_int_equal(bwl_client_share(&lane, client), BWL_OK);
    const bwl_redis_store *its   = client->store;
    const bwl_redis_store *store = lane->store;
    assert_null(store->host);
    assert_int_equal(store->dialer.addresses_count, 1);
    assert_memory_equal(&store->dialer.addresses[0], &its->dialer.addresses[0],
                        sizeof store->dialer.addresses[0]);
    assert_string_equal(store->where, "/run/redis.sock");
    bwl_client_close(lane);
    bwl_client_close(client);
}

/* A node's place in a cluster that is used again, for another address. */
static void test_stores_forget_slots_and_role_of_the_server_before(void **state)
{
    bwl_client      *client = open_client("redis://a");
    bwl_redis_store *store  = client->store;
    uint64_t         before = store->processes;

    (void)state;
    assert_int_equal(bwl_redis_slots_new(store), BWL_OK);
    store->slots[7]          = BWL_SLOT_KNOWN | BWL_SLOT_NEW;
    store->slots_new_until   = 1000;
    store->introduced_at     = 1000;
    store->is_replica        = true;
    store->is_another        = true;
    store->is_without_shards = true;
    assert_int_equal(bwl_redis_set_host(store, "b", 6379), BWL_OK);
    assert_int_equal(store->slots[7], 0);
    assert_int_equal(store->slots_new_until, 0);
    assert_int_equal(store->introduced_at, 0);
    assert_false(store->is_replica);
    assert_false(store->is_another);
    assert_false(store->is_without_shards);
    assert_true(store->processes > before); /* none of its processes gave what is held */
    bwl_client_close(client);
}

static void test_stores_forget_the_server_that_was_there_before(void **state)
{
    bwl_client      *client = open_client("redis://a");
    bwl_redis_store *store  = client->store;

    (void)state;
    memcpy(store->run_id, "abc", sizeof "abc");
    store->failures     = 3;
    store->rests_until  = 1000;
    store->to_be_killed = 7;
    assert_int_equal(bwl_redis_set_host(store, "b", 7000), BWL_OK);
    assert_string_equal(store->host, "b");
    assert_string_equal(store->where, "b:7000");
    assert_int_equal(store->port, 7000);
    assert_string_equal(store->run_id, "");
    assert_int_equal(store->failures, 0);
    assert_int_equal(store->rests_until, 0);
    assert_int_equal(store->to_be_killed, 0);
    bwl_client_close(client);
}

static void test_stores_join_at_the_end(void **state)
{
    bwl_client      *client = open_client("redis+cluster://a,b,c");
    bwl_redis_store *first  = client->store;
    bwl_redis_store *third  = bwl_redis_store_at(first->cluster, 3);
    bwl_redis_store *second = bwl_redis_store_at(first->cluster, 2);

    (void)state;
    assert_int_equal(first->place, BWL_NOBODY);
    assert_ptr_equal(first->next, third);
    assert_ptr_equal(third->next, second);
    assert_null(second->next);
    assert_int_equal(second->place, 2);
    assert_string_equal(second->where, "b:6379");
    assert_ptr_equal(bwl_redis_store_at(first->cluster, 3), third);
    assert_int_equal(count(client), 3);
    bwl_redis_close_all(NULL);
    bwl_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stores_of_most_clients_are_one),
        cmocka_unit_test(test_stores_of_another_lane_are_alike_and_in_order),
        cmocka_unit_test(test_stores_of_another_lane_have_the_same_rules),
        cmocka_unit_test(test_stores_are_made_by_the_settings),
        cmocka_unit_test(test_stores_of_a_socket_have_its_address),
        cmocka_unit_test(test_stores_forget_slots_and_role_of_the_server_before),
        cmocka_unit_test(test_stores_forget_the_server_that_was_there_before),
        cmocka_unit_test(test_stores_join_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
