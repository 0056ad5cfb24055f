/*
 * test_drive_gather.c -- many holds that are due for their renewal at about the same time: what
 * they ask goes out together, the earliest first, and in packets when it is much.  And operations
 * that are started one after the other: what they ask is kept while others are under way, until
 * somebody waits, or the keeper comes.
 */
#include "redis_fixture.h"

#include "runtime/loop.h"
#include "runtime/renewal_thread.h"

#include <poll.h>
#include <sys/ioctl.h>

enum { MANY = 20, CROWD = 300, LEASE_MS = 3000 };

static bwl_operation operation;
static int           sent_before; /* bytes at the server when the first flush came; -1: none did */
static size_t        asked_before;

static void spy_flush(bwl_client *c)
{
    if (sent_before < 0 && store->questions_count > 0) {
        assert_int_equal(ioctl(server, FIONREAD, &sent_before), 0);
        asked_before = store->questions_count;
    }
    bwl_redis_flush(c);
}

static int play_with_spy(void **state)
{
    (void)play(state);
    close_client();
    open_client("lease=3s&timeout=3s");
    engine.flush = spy_flush;
    return 0;
}

/* Taken one after the other, and a third of the lease later. */
static void hold_until_due(bwl_lock *ret_locks[], unsigned count, bwl_ms apart_ms)
{
    char name[16];

    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        ret_locks[i] = held_lock(name, &operation);
        pass(apart_ms);
    }
    pass(LEASE_MS / 3);
    sent_before = -1;
}

static void test_drive_renewals_that_are_due_go_out_together(void **state)
{
    bwl_lock *locks[MANY];
    char      lines[READ_MAX];
    int       size = 0;

    (void)state;
    hold_until_due(locks, MANY, 2);
    assert_int_equal(bwl_client_drive(client, bwl_client_now(client), &fault), BWL_OK);
    assert_int_equal(sent_before, 0);
    assert_int_equal(asked_before, MANY);
    size += snprintf(lines, sizeof lines, "EVALSHA @extend_each_if_mine %d", MANY);
    for (unsigned i = 0; i < MANY; i++)
        size += snprintf(lines + size, sizeof lines - (size_t)size, " bowline:{n%u}", i);
    for (unsigned i = 0; i < MANY; i++)
        size +=
            snprintf(lines + size, sizeof lines - (size_t)size, " %s", locks[i]->hold.claim.token);
    (void)snprintf(lines + size, sizeof lines - (size_t)size, " %d", LEASE_MS);
    expect("%s", lines);
    assert_false(client->gathers);
}

/* What is asked by a call is not kept back: nobody is about to send it. */
static void test_drive_keeps_nothing_back_but_for_alarms(void **state)
{
    bwl_lock *lock = held_lock("n", &operation);

    (void)state;
    bwl_lock_extend(lock, &operation, LEASE_MS);
    expect("EVALSHA @extend_if_mine 1 bowline:{n} %s %d", lock->hold.claim.token, LEASE_MS);
}

/* A part of them is on its way while the others are asked for. */
static void test_drive_a_crowd_goes_out_by_packets(void **state)
{
    static bwl_lock *locks[CROWD];
    static char      bytes[READ_MAX];
    ssize_t          got;
    size_t           asked = 0;
    size_t           calls = 0;

    (void)state;
    hold_until_due(locks, CROWD, 0);
    assert_int_equal(bwl_client_drive(client, bwl_client_now(client), &fault), BWL_OK);
    assert_true(sent_before > 0);
    assert_int_equal(asked_before, CROWD);
    got = recv(server, bytes, sizeof bytes - 1, 0);
    assert_true(got > 0 && (size_t)got < sizeof bytes - 1);
    bytes[got] = '\0';
    for (const char *at = bytes; (at = strstr(at, "EVALSHA")) != NULL; at++)
        calls++;
    for (const char *at = bytes; (at = strstr(at, "bowline:{")) != NULL; at++)
        asked++;
    assert_int_equal(asked, CROWD);
    assert_int_equal(calls, (CROWD + BWL_BATCH_MAX - 1) / BWL_BATCH_MAX);
}

/* ---- what is started ------------------------------------------------------------------------- */

enum { STARTED = 3 };

static bwl_operation started[STARTED];
static bwl_lock     *held[STARTED];

static int at_server(void)
{
    int size;

    assert_int_equal(ioctl(server, FIONREAD, &size), 0);
    return size;
}

static void start(unsigned i)
{
    bwl_gather(client);
    bwl_lock_extend(held[i], &started[i], LEASE_MS);
    bwl_gathered(client);
    assert_false(client->gathers);
}

static void hold_them(void)
{
    char name[16];

    for (unsigned i = 0; i < STARTED; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        held[i] = held_lock(name, &operation);
    }
}

static void expect_extensions(unsigned from)
{
    char lines[READ_MAX];
    int  size = 0;

    for (unsigned i = from; i < STARTED; i++)
        size += snprintf(lines + size, sizeof lines - (size_t)size,
                         "EVALSHA @extend_if_mine 1 bowline:{n%u} %s %d\n", i,
                         held[i]->hold.claim.token, LEASE_MS);
    expect("%s", lines);
}

static void test_drive_sends_what_is_started_with_the_next_wait(void **state)
{
    (void)state;
    hold_them();
    assert_int_equal(bwl_keeper_start(client, &fault), BWL_OK);
    start(0);
    int first = at_server();
    assert_true(first > 0); /* nothing was under way */
    start(1);
    start(2);
    assert_int_equal(at_server(), first);
    assert_true(client->kept_since != 0);
    sent_before = -1;
    assert_int_equal(bwl_client_wait(client, &started[2], bwl_client_now(client) + 1, &fault),
                     BWL_STATUS_TIMEOUT);
    assert_int_equal(sent_before, first);
    assert_int_equal(client->kept_since, 0);
    expect_extensions(0);
}

static void test_drive_lets_the_keeper_send_what_nobody_waits_for(void **state)
{
    (void)state;
    hold_them();
    client->watches = false; /* what else it comes for every now and then */
    assert_int_equal(bwl_keeper_start(client, &fault), BWL_OK);
    bwl_client_unlock(client);
    pass(20); /* it sleeps now, for long */
    bwl_client_lock(client);
    for (unsigned i = 0; i < STARTED; i++)
        start(i);
    expect("EVALSHA @extend_if_mine 1 bowline:{n0} %s %d", held[0]->hold.claim.token, LEASE_MS);
    bwl_client_unlock(client);
    int count = poll(&(struct pollfd){ .fd = server, .events = POLLIN }, 1, 5000);
    bwl_client_lock(client);
    assert_int_equal(count, 1);
    expect_extensions(1);
}

/* Another call that asks takes it along. */
static void test_drive_sends_what_is_started_with_the_next_question(void **state)
{
    (void)state;
    hold_them();
    assert_int_equal(bwl_keeper_start(client, &fault), BWL_OK);
    start(0);
    start(1);
    bwl_lock_extend(held[2], &started[2], LEASE_MS);
    expect_extensions(0);
}

static bool gathers_now(void)
{
    bwl_gather(client);
    bool gathers    = client->gathers;
    client->gathers = false;
    return gathers;
}

static void test_drive_sends_at_once_what_nobody_would_send(void **state)
{
    (void)state;
    hold_them();
    start(0);
    assert_false(gathers_now()); /* there is no keeper */
    assert_int_equal(bwl_keeper_start(client, &fault), BWL_OK);
    assert_true(gathers_now());
    client->driving = true; /* and has sent what there was */
    assert_false(gathers_now());
    client->driving     = false;
    client->dispatchers = 1;
    assert_false(gathers_now());
    client->dispatchers = 0;
    static char a_bell;
    client->bell = (struct bwl_bell *)(void *)&a_bell; /* there is a loop */
    assert_false(gathers_now());
    client->bell = NULL;
    says(":1\r\n");
    turn();
    assert_int_equal(client->pending, 0);
    assert_false(gathers_now()); /* nothing is under way */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play_with_spy, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_drive_renewals_that_are_due_go_out_together),
        CASE(test_drive_keeps_nothing_back_but_for_alarms),
        CASE(test_drive_a_crowd_goes_out_by_packets),
        CASE(test_drive_sends_what_is_started_with_the_next_wait),
        cmocka_unit_test_setup_teardown(test_drive_lets_the_keeper_send_what_nobody_waits_for, play,
                                        play_is_over),
        CASE(test_drive_sends_what_is_started_with_the_next_question),
        CASE(test_drive_sends_at_once_what_nobody_would_send),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
