/*
 * test_drive_gather.c -- many holds that are due for their renewal at about the same time: what
 * they ask goes out together, the earliest first, and in packets when it is much.
 */
#include "redis_fixture.h"

#include "engine/drive.h"

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

#define CASE(name) cmocka_unit_test_setup_teardown(name, play_with_spy, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_drive_renewals_that_are_due_go_out_together),
        CASE(test_drive_keeps_nothing_back_but_for_alarms),
        CASE(test_drive_a_crowd_goes_out_by_packets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
