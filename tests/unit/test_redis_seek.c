/*
 * test_redis_seek.c -- of a service with sentinels: where its primary is, and what shows that it is
 * elsewhere now.  A sentinel that is wrong: test_redis_seek_on.c.
 */
#include "seek_fixture.h"

#include <pthread.h>

/* ---- a name server of our own, in threads of the client's ------------------------------------ */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t  changed;
    bool            holds_back;
} answers = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void hold_back(bool holds_back)
{
    (void)pthread_mutex_lock(&answers.mutex);
    answers.holds_back = holds_back;
    (void)pthread_cond_broadcast(&answers.changed);
    (void)pthread_mutex_unlock(&answers.mutex);
}

/* Every host is this machine. */
static int look_up(const char *host, const char *port, const struct addrinfo *hints,
                   struct addrinfo **ret_found)
{
    if (strchr(host, '.') == NULL && (hints->ai_flags & AI_NUMERICHOST) != 0)
        return EAI_NONAME;
    (void)pthread_mutex_lock(&answers.mutex);
    while (answers.holds_back)
        (void)pthread_cond_wait(&answers.changed, &answers.mutex);
    (void)pthread_mutex_unlock(&answers.mutex);
    return getaddrinfo("127.0.0.1", port, hints, ret_found);
}

/* The lock is held, at the first server. */
static void hold_at_one(void)
{
    names(&one);
    assert_true(is_called(&one));
    says(&one, GREETING("a"));
    assert_int_equal(store->phase, BWL_REDIS_READY);
    assert_true(has_heard(&one, "SET"));
    says(&one, "+OK\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
}

static void test_primary_is_where_the_sentinel_says(void **state)
{
    (void)state;
    assert_int_equal(store->phase, BWL_REDIS_SEEKING);
    assert_false(is_called(&one));
    hold_at_one();
    assert_non_null(strstr(store->where, "m (127.0.0.1:"));
    assert_false(is_called(&two));
}

static void test_service_that_is_not_known_is_refused(void **state)
{
    (void)state;
    says(&watcher, "_\r\n");
    assert_int_equal(operation.ended, BWL_STORE_REFUSED);
    assert_non_null(strstr(lock->why.text, "knows no service \"m\""));
}

static void test_replica_is_not_asked(void **state)
{
    (void)state;
    names(&one);
    assert_true(is_called(&one));
    says(&one, HELLO_AS("replica") INFO_BY("a"));
    assert_true(has_heard(&one, "HELLO"));
    assert_int_equal(recv(one.line, &(char){ 0 }, 1, 0), 0); /* hung up */
    assert_int_equal(operation.ended, BWL_PENDING);
}

/* It is heard of on the line to the sentinel; what is held is asked for, for its whole lease. */
static void test_switch_takes_what_is_held_along(void **state)
{
    char text[128];

    (void)state;
    hold_at_one();
    (void)snprintf(text, sizeof text,
                   ">3\r\n+message\r\n++switch-master\r\n+m 127.0.0.1 %d 127.0.0.1 %d\r\n",
                   one.port, two.port);
    says(&watcher, text);
    assert_int_equal(recv(one.line, text, 1, 0), 0); /* hung up */
    assert_int_equal(store->phase, BWL_REDIS_SEEKING);
    assert_true(has_heard(&watcher, "GET-MASTER-ADDR-BY-NAME"));
    names(&two);
    assert_true(is_called(&two));
    says(&two, GREETING("b"));
    assert_true(bwl_hold_is_held(&lock->hold));
    assert_true(has_heard(&two, "$5\r\n30000\r\n"));
    says(&two, ":1\r\n");
    assert_true(bwl_hold_is_held(&lock->hold));
}

/* Nobody knows whom it has followed since: what was renewed last may be lacking there as well. */
static void test_same_server_is_asked_for_the_whole_lease_too(void **state)
{
    (void)state;
    hold_at_one();
    (void)close(one.line);
    one.line = -1;
    turn();
    names(&one);
    assert_true(is_called(&one));
    says(&one, GREETING("a"));
    assert_true(bwl_hold_is_held(&lock->hold));
    assert_true(has_heard(&one, "$5\r\n30000\r\n"));
    says(&one, ":1\r\n");
    assert_true(bwl_hold_is_held(&lock->hold));
}

static void test_what_is_not_there_after_a_switch_is_lost(void **state)
{
    (void)state;
    hold_at_one();
    (void)close(one.line);
    one.line = -1;
    turn();
    names(&two);
    assert_true(is_called(&two));
    says(&two, GREETING("b"));
    assert_true(bwl_hold_is_held(&lock->hold));
    says(&two, ":0\r\n");
    assert_false(bwl_hold_is_held(&lock->hold));
}

/* The same server, started again: it may have come back with an older state. */
static void test_restart_in_the_same_place_is_a_loss(void **state)
{
    (void)state;
    hold_at_one();
    (void)close(one.line);
    one.line = -1;
    turn();
    names(&one);
    assert_true(is_called(&one));
    says(&one, GREETING("b"));
    assert_false(bwl_hold_is_held(&lock->hold));
}

/* The same port, at another host. */
static void test_switch_to_another_host_is_one(void **state)
{
    char text[128];

    (void)state;
    hold_at_one();
    (void)snprintf(text, sizeof text,
                   ">3\r\n+message\r\n++switch-master\r\n+m 127.0.0.1 %d 127.0.0.2 %d\r\n",
                   one.port, one.port);
    says(&watcher, text);
    assert_non_null(strstr(store->broke.text, "is not the primary any more, 127.0.0.2:"));
}

static void test_switch_to_where_we_are_is_nothing(void **state)
{
    char text[128];

    (void)state;
    hold_at_one();
    (void)snprintf(text, sizeof text,
                   ">3\r\n+message\r\n++switch-master\r\n+m 127.0.0.1 %d 127.0.0.1 %d\r\n",
                   two.port, one.port);
    says(&watcher, text);
    assert_int_equal(store->phase, BWL_REDIS_READY);
}

static void test_server_that_may_not_write_is_left(void **state)
{
    (void)state;
    names(&one);
    assert_true(is_called(&one));
    says(&one, GREETING("a"));
    assert_true(has_heard(&one, "SET"));
    says(&one, "-READONLY You can't write against a read only replica.\r\n");
    assert_int_equal(recv(one.line, &(char){ 0 }, 1, 0), 0);
    assert_int_equal(operation.ended, BWL_PENDING); /* it is tried again, at the other one */
}

/* A lookup that is late is kept for the next attempt, which may be at another host. */
static void test_late_lookup_of_the_former_host_is_let_go(void **state)
{
    (void)state;
    store->resolver = (bwl_resolver){ look_up, freeaddrinfo };
    hold_back(true);
    assert_true(has_heard(&watcher, "GET-MASTER-ADDR-BY-NAME"));
    tells(&watcher, "first", &one);
    assert_int_equal(store->phase, BWL_REDIS_RESOLVING);
    store->phase_ends_at  = bwl_client_now(client);
    store->dialer.ends_at = store->phase_ends_at;
    bwl_redis_woken(client);
    assert_int_equal(store->failures, 1);
    while (!has_heard(&watcher, "GET-MASTER-ADDR-BY-NAME"))
        turn();
    tells(&watcher, "second", &two);
    hold_back(false);
    while (!is_called(&two)) {
        assert_false(is_called(&one));
        turn();
    }
    assert_string_equal(store->host, "second");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_primary_is_where_the_sentinel_says),
        CASE(test_service_that_is_not_known_is_refused),
        CASE(test_replica_is_not_asked),
        CASE(test_switch_takes_what_is_held_along),
        CASE(test_same_server_is_asked_for_the_whole_lease_too),
        CASE(test_what_is_not_there_after_a_switch_is_lost),
        CASE(test_restart_in_the_same_place_is_a_loss),
        CASE(test_switch_to_another_host_is_one),
        CASE(test_switch_to_where_we_are_is_nothing),
        CASE(test_server_that_may_not_write_is_left),
        CASE(test_late_lookup_of_the_former_host_is_let_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
