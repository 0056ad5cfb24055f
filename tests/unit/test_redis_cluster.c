/*
 * test_redis_cluster.c -- which node of a cluster is asked, and where a question goes that another
 * one has to answer.
 *
 * The nodes are played (cluster_fixture.h); a real cluster is in tests/live/test_cluster_server.c.
 */
#include "cluster_fixture.h"

/* ---- whom to ask ----------------------------------------------------------------------------- */

static void test_cluster_map_says_whom_to_ask(void **state)
{
    (void)state;
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 0);
    greets_with_map(0, 2);
    const bwl_cluster *cluster = ((bwl_redis_store *)client->store)->cluster;
    assert_int_equal(cluster->owners[0], 3);
    assert_int_equal(cluster->owners[BWL_CLUSTER_SLOTS - 1], 3);
    expect_set(0, lock); /* it was on its way; the next one is not */
    says_moved(0, "a", 2);
    greets(2);
    expect_set(2, lock);
    says(2, "+OK\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    for (const char *name = "b\0c\0d\0"; *name != '\0'; name += 2) {
        bwl_lock *other = lock_named(name);
        bwl_lock_acquire(other, &operation, 0);
        expect_set(2, other);
        says(2, "+OK\r\n");
    }
    expect(0, "%s", "");
}

/* More often than there are nodes, in turns of which it could be by chance. */
static void extend_at(unsigned i, bwl_lock *lock)
{
    for (unsigned n = 0; n < NODES; n++) {
        bwl_lock_extend(lock, &operation, LEASE_MS);
        expect(i, "EVALSHA|%s|1|bowline:{%s}|%s|30000|", EXTEND, lock->name,
               lock->hold.claim.token);
        says(i, ":1\r\n");
        assert_int_equal(operation.ended, BWL_HELD);
    }
}

static void test_cluster_moved_mends_the_map(void **state)
{
    (void)state;
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 0);
    greets(0);
    expect_set(0, lock);
    says_moved(0, "a", 2);
    greets(2);
    expect_set(2, lock);
    says(2, "+OK\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    extend_at(2, lock);
    bwl_lock *other = lock_named("b"); /* of another slot, of which nothing is known */
    assert_int_not_equal(slot_of("b"), slot_of("a"));
    bwl_lock_acquire(other, &operation, 0);
    assert_int_equal(client->pending, 1);
}

static void test_cluster_moved_without_a_host_is_to_the_same(void **state)
{
    (void)state;
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 0);
    greets(0);
    says(0, "-MOVED %u :%d\r\n", slot_of("a"), ports[2]);
    greets(2);
    expect_set(2, lock);
}

/* Of a node that announces none, or that has no port for TLS. */
static void test_cluster_moved_to_nowhere_is_refused(void **state)
{
    (void)state;
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 60000);
    greets(0);
    says(0, "-MOVED %u ?:6379\r\n", slot_of("a"));
    assert_int_equal(operation.ended, BWL_STORE_REFUSED);
    assert_non_null(
        strstr(lock->why.text, "?:6379: the cluster does not say where that node is: set"));
    bwl_operation second = { 0 };
    bwl_lock     *other  = lock_named("a");
    bwl_lock_acquire(other, &second, 60000);
    says(0, "-MOVED %u 127.0.0.1:0\r\n", slot_of("a"));
    assert_int_equal(second.ended, BWL_STORE_REFUSED);
    bwl_lock_unwanted(other);
}

static void test_cluster_ask_is_for_once(void **state)
{
    (void)state;
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 0);
    greets_with_map(0, 0);
    expect_set(0, lock);
    says(0, "-ASK %u 127.0.0.1:%d\r\n", slot_of("a"), ports[1]);
    greets(1);
    expect(1, "ASKING|SET|bowline:{a}|%s|NX|PX|30000|", lock->hold.claim.token);
    says(1, "+OK\r\n"); /* to ASKING */
    assert_int_equal(operation.ended, BWL_PENDING);
    says(1, "+OK\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    extend_at(0, lock);
}

/* A script that the other node does not know is sent once more, and behind ASKING again. */
static void test_cluster_ask_with_a_script_that_is_not_known(void **state)
{
    (void)state;
    bwl_lock *lock = held_at_0("a");
    bwl_lock_release(lock, &operation);
    expect(0, "EVALSHA|%s|1|bowline:{a}|%s|", DELETE, lock->hold.claim.token);
    says(0, "-ASK %u 127.0.0.1:%d\r\n", slot_of("a"), ports[1]);
    greets(1);
    expect(1, "ASKING|EVALSHA|%s|1|bowline:{a}|%s|", DELETE, lock->hold.claim.token);
    says(1, "+OK\r\n-NOSCRIPT No matching script.\r\n");
    char bytes[ROOM] = "";
    assert_true(recv(lines[1], bytes, sizeof bytes - 1, 0) > 0);
    assert_ptr_equal(strstr(bytes, "*1\r\n$6\r\nASKING\r\n"), bytes);
    assert_non_null(strstr(bytes, "\r\nEVAL\r\n"));
    says(1, "+OK\r\n:1\r\n");
    assert_int_equal(operation.ended, BWL_RELEASED);
}

/* ---- nodes that are none --------------------------------------------------------------------- */

/* One host answers by another protocol, the next one is a node. */
static void test_cluster_next_host_is_asked_when_one_is_of_another_protocol(void **state)
{
    (void)state;
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 60000);
    assert_true(is_called(0));
    expect(0, GREETING);
    says(0, "HTTP/1.1 400 Bad Request\r\n");
    assert_int_equal(operation.ended, BWL_PENDING);
    greets(1);
    expect_set(1, lock);
}

/* A map that is longer than any answer breaks the connection; the next one does without. */
static void test_cluster_map_that_is_too_long_is_not_asked_for_again(void **state)
{
    (void)state;
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 60000);
    assert_true(is_called(0));
    expect(0, GREETING);
    says(0, SAYS_HELLO("cluster", "master") SAYS_INFO("a") "*2000\r\n");
    assert_true(is_called(1));
    expect(1, "HELLO|3|INFO|server|");
    says(1, SAYS_HELLO("cluster", "master") SAYS_INFO("a"));
    expect_set(1, lock);
    says(1, "+OK\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
}

/* There is no other to ask: it is for somebody to mend. */
static void test_cluster_of_one_host_of_another_protocol_is_refused(void **state)
{
    (void)state;
    vanish(0);
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 60000);
    assert_true(is_called(1));
    says(1, "HTTP/1.1 400 Bad Request\r\n");
    assert_int_equal(operation.ended, BWL_STORE_REFUSED);
    assert_non_null(strstr(lock->why.text, "what answers there is not a Redis server"));
}

/* And yet the server is one, and answers the next time. */
static void test_cluster_map_of_the_only_node_that_is_too_long_is_no_refusal(void **state)
{
    (void)state;
    vanish(0);
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 60000);
    assert_true(is_called(1));
    expect(1, GREETING);
    says(1, SAYS_HELLO("cluster", "master") SAYS_INFO("a") "*2000\r\n");
    assert_int_equal(operation.ended, BWL_PENDING);
    for (unsigned n = 0; n < 100 && !is_called(1); n++)
        assert_int_equal(bwl_client_drive(client, bwl_client_now(client) + 50, NULL), BWL_OK);
    expect(1, "HELLO|3|INFO|server|");
    says(1, SAYS_HELLO("cluster", "master") SAYS_INFO("a"));
    expect_set(1, lock);
    says(1, "+OK\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
}

/* ---- nodes that are not there ---------------------------------------------------------------- */

static void test_cluster_next_host_is_asked_when_one_is_not_there(void **state)
{
    (void)state;
    vanish(0);
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 0);
    greets(1);
    expect_set(1, lock);
    says(1, "+OK\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
}

static void test_cluster_no_host_is_there(void **state)
{
    (void)state;
    vanish(0);
    vanish(1);
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 0);
    turn();
    assert_int_equal(operation.ended, BWL_UNREACHABLE);
    assert_int_equal(client->pending, 0);
    bwl_lock_unwanted(lock);
}

/* What is held at a node that is gone is looked for, and for its whole lease: the last renewal may
 * be what the new node lacks. */
static void test_cluster_held_lock_is_looked_for_when_its_node_goes(void **state)
{
    (void)state;
    bwl_lock *lock = held_at_0("a");
    vanish(0);
    hang_up(0);
    turn();
    greets(1);
    expect(1, "EVALSHA|%s|1|bowline:{a}|%s|30000|", EXTEND, lock->hold.claim.token);
    says_moved(1, "a", 2);
    assert_true(is_called(2));
    expect(2, GREETING);
    says(2, SAYS_HELLO("cluster", "master") SAYS_INFO("b") SAYS_NO_MAP);
    assert_true(bwl_hold_is_held(&lock->hold)); /* another process, and nothing was heard of it */
    char bytes[ROOM] = "";
    assert_true(recv(lines[2], bytes, sizeof bytes - 1, 0) > 0);
    assert_non_null(strstr(bytes, "\r\n$5\r\n30000\r\n"));
    says(2, ":1\r\n:1\r\n");
    assert_true(bwl_hold_is_held(&lock->hold));
    assert_int_equal(client->pending, 0);
    assert_ptr_equal(((bwl_redis_part *)lock->part)->home->cluster,
                     ((bwl_redis_store *)client->store)->cluster);
    assert_int_equal(((bwl_redis_part *)lock->part)->home->port, ports[2]);
}

/* It is none of the old node's business any more. */
static void test_cluster_held_lock_moves_with_its_slot(void **state)
{
    (void)state;
    bwl_lock *lock = held_at_0("a");
    bwl_lock_extend(lock, &operation, LEASE_MS);
    says_moved(0, "a", 2);
    hang_up(0);
    assert_false(is_called(0));
    greets(2);
    expect(2, "EVALSHA|%s|1|bowline:{a}|%s|30000|", EXTEND, lock->hold.claim.token);
    says(2, ":1\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    extend_at(2, lock);
}

static void test_cluster_held_lock_that_the_new_node_lacks_is_lost(void **state)
{
    (void)state;
    bwl_lock *lock = held_at_0("a");
    vanish(0);
    hang_up(0);
    greets(1);
    says(1, ":0\r\n");
    assert_false(bwl_hold_is_held(&lock->hold));
}

/* The same address, another process: it may be an old state of the data. */
static void test_cluster_node_that_was_started_again_loses_its_own(void **state)
{
    (void)state;
    bwl_lock *lock = held_at_0("a");
    bwl_lock *far  = lock_named("b");
    bwl_lock_acquire(far, &operation, 0);
    expect_set(0, far);
    says_moved(0, "b", 1);
    greets(1);
    says(1, "+OK\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    hang_up(0);
    assert_true(is_called(0));
    expect(0, GREETING);
    says(0, SAYS_HELLO("cluster", "master") SAYS_INFO("b") SAYS_NO_MAP);
    assert_false(bwl_hold_is_held(&lock->hold));
    assert_true(bwl_hold_is_held(&far->hold)); /* it is at home elsewhere */
}

/* ... unless it is a replica now, which knows who has them. */
static void test_cluster_node_that_is_a_replica_now_sends_on(void **state)
{
    (void)state;
    bwl_lock *lock = held_at_0("a");
    hang_up(0);
    assert_true(is_called(0));
    expect(0, GREETING);
    says(0, SAYS_HELLO("cluster", "replica") SAYS_INFO("b") SAYS_NO_MAP);
    assert_true(bwl_hold_is_held(&lock->hold));
    says_moved(0, "a", 1); /* is it there still? */
    assert_true(is_called(1));
    says(1, SAYS_HELLO("cluster", "master") SAYS_INFO("c") SAYS_NO_MAP ":1\r\n:1\r\n");
    assert_true(bwl_hold_is_held(&lock->hold));
}

/* ---- what the URL says ----------------------------------------------------------------------- */

static void test_cluster_server_by_itself_is_none(void **state)
{
    (void)state;
    bwl_lock *lock = lock_named("a");
    bwl_lock_acquire(lock, &operation, 0);
    assert_true(is_called(0));
    says(0, SAYS_HELLO("standalone", "master"));
    assert_int_equal(operation.ended, BWL_STORE_REFUSED);
    assert_non_null(strstr(lock->why.text, "write redis://"));
    assert_false(is_called(1)); /* nobody else is asked: somebody has to mend the URL */
}

static void test_cluster_urls_that_cannot_be(void **state)
{
    static const struct {
        const char *url;
        int         status;
        const char *tells;
    } rows[] = {
        { "redis+cluster:", BWL_STATUS_USAGE, "takes nodes of the cluster" },
        { "redis+cluster://", BWL_STATUS_USAGE, "takes nodes of the cluster" },
        { "redis+cluster://h/1", BWL_STATUS_USAGE, "database 0 alone" },
        { "redis+cluster://h?db=1", BWL_STATUS_USAGE, "database 0 alone" },
        { "redis+cluster://h?protocol=queue", BWL_OK, "" },
        { "redis+cluster://h?protocol=set-nx-ex&accept-risk=1", BWL_STATUS_UNSUPPORTED,
          "redisson and symfony" },
        { "redis+cluster://h?profile=redis-py", BWL_STATUS_UNSUPPORTED, "by no profile" },
        { "redis+cluster://h?sync=1", BWL_STATUS_UNSUPPORTED, "has no sync=" },
        { "redis+cluster://h?ca=/x", BWL_STATUS_USAGE, "TLS is rediss" },
        { "redis+cluster://h?protocol=token", BWL_OK, "" },
        { "redis+cluster://h?profile=symfony&sync=1", BWL_STATUS_USAGE, "only queue and token" },
        { "redis+cluster://h?profile=symfony", BWL_OK, "" },
        { "redis+cluster://h?profile=redisson", BWL_OK, "" },
        { "redis+cluster://h?profile=redisson-fenced", BWL_OK, "" },
        { "redis+cluster://h/0", BWL_OK, "" },
    };
    static const bwl_settings nothing;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bwl_client *other = NULL;
        assert_int_equal(bwl_client_open(&other, &nothing, false, rows[i].url, &fault),
                         rows[i].status);
        if (other != NULL)
            bwl_client_close(other);
        else if (strstr(fault.text, rows[i].tells) == NULL)
            fail_msg("%s: %s", rows[i].url, fault.text);
    }
}

static void test_cluster_lanes_have_nodes_of_their_own(void **state)
{
    bwl_client *lane;

    (void)state;
    (void)held_at_0("a");
    assert_int_equal(bwl_client_share(&lane, client), BWL_OK);
    const bwl_cluster *first  = ((bwl_redis_store *)client->store)->cluster;
    const bwl_cluster *second = ((bwl_redis_store *)lane->store)->cluster;
    assert_ptr_not_equal(first, second);
    assert_int_equal(second->seeds_count, 2);
    assert_int_equal(second->nodes_count, 2);
    assert_null(((bwl_redis_store *)lane->store)->next);
    assert_non_null(((bwl_redis_store *)client->store)->next);
    bwl_client_close(lane);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_cluster_map_says_whom_to_ask),
        CASE(test_cluster_moved_mends_the_map),
        CASE(test_cluster_moved_without_a_host_is_to_the_same),
        CASE(test_cluster_moved_to_nowhere_is_refused),
        CASE(test_cluster_ask_is_for_once),
        CASE(test_cluster_ask_with_a_script_that_is_not_known),
        CASE(test_cluster_next_host_is_asked_when_one_is_of_another_protocol),
        CASE(test_cluster_map_that_is_too_long_is_not_asked_for_again),
        CASE(test_cluster_of_one_host_of_another_protocol_is_refused),
        CASE(test_cluster_map_of_the_only_node_that_is_too_long_is_no_refusal),
        CASE(test_cluster_next_host_is_asked_when_one_is_not_there),
        CASE(test_cluster_no_host_is_there),
        CASE(test_cluster_held_lock_is_looked_for_when_its_node_goes),
        CASE(test_cluster_held_lock_moves_with_its_slot),
        CASE(test_cluster_held_lock_that_the_new_node_lacks_is_lost),
        CASE(test_cluster_node_that_was_started_again_loses_its_own),
        CASE(test_cluster_node_that_is_a_replica_now_sends_on),
        CASE(test_cluster_server_by_itself_is_none),
        CASE(test_cluster_urls_that_cannot_be),
        CASE(test_cluster_lanes_have_nodes_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
