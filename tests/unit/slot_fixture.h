/*
 * slot_fixture.h -- a client of a cluster with a queue, and nodes that are played by the test
 * (cluster_fixture.h), which are told of a slot before the first question about it.
 */
#ifndef SLOT_FIXTURE_H
#define SLOT_FIXTURE_H

#include "cluster_fixture.h"

#include "engine/redis/topology/slots.h"

#define SAYS_NO_SCRIPTS \
    "-NOPERM this user has no permissions to run the 'script|exists' command\r\n"

static char bytes[ROOM];
static char inbox[BWL_QUEUE_INBOX_MAX + 1];

static inline int play_queue(void **state)
{
    protocol = "queue";
    return play(state);
}

/* Everything that has come; true if these words are in it, in this order. */
static inline bool hears(unsigned i, const char *first, const char *second)
{
    ssize_t size               = recv(lines[i], bytes, sizeof bytes - 1, 0);
    bytes[size > 0 ? size : 0] = '\0';
    const char *at             = strstr(bytes, first);

    return at != NULL && strstr(at, second) != NULL;
}

static inline void greets_queue(unsigned i)
{
    assert_true(is_called(i));
    assert_true(hears(i, "CLUSTER", "SCRIPT"));
    says(i, SAYS_HELLO("cluster", "master") SAYS_INFO("a") SAYS_NO_MAP SAYS_NO_SCRIPTS);
}

/* The channel that was just asked for. */
static inline void read_inbox(void)
{
    const char *at = strstr(bytes, BWL_QUEUE_INBOX);

    assert_non_null(at);
    (void)snprintf(inbox, sizeof inbox, "%.*s", (int)strcspn(at, "\r"), at);
}

static inline void says_prepared(unsigned i)
{
    says(i, ">3\r\n$10\r\nssubscribe\r\n$%zu\r\n%s\r\n:1\r\n", strlen(inbox), inbox);
    says(i, ":1\r\n>3\r\n$8\r\nsmessage\r\n$%zu\r\n%s\r\n$1\r\nH\r\n:1\r\n", strlen(inbox), inbox);
}

/* All that comes before a question has been said, and not the question itself. */
static inline bwl_lock *asked_at_0(void)
{
    bwl_lock *lock = lock_named("a");

    bwl_lock_acquire(lock, &operation, 60000);
    greets_queue(0);
    assert_true(hears(0, "SSUBSCRIBE", "bowline:f:{"));
    assert_null(strstr(bytes, ":bwl.q")); /* nothing of the question itself */
    read_inbox();
    return lock;
}

static inline bwl_lock *queued_at_0(void)
{
    bwl_lock *lock = asked_at_0();

    says_prepared(0);
    assert_true(hears(0, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1, inbox));
    says(0, "*6\r\n$6\r\nQUEUED\r\n:5\r\n:0\r\n:30000\r\n:1\r\n:1795323949966265\r\n");
    assert_int_equal(lock->hold.state, BWL_HOLD_QUEUED);
    return lock;
}

/* By way of 0, which has said so. */
static inline bwl_lock *held_at_1(void)
{
    bwl_lock *lock = asked_at_0();

    for (unsigned i = 0; i < 3; i++)
        says_moved(0, "a", 1);
    greets_queue(1);
    assert_true(hears(1, "SSUBSCRIBE", "bowline:f:{"));
    read_inbox();
    says_prepared(1);
    assert_true(hears(1, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1, inbox));
    says(1, ":1795323949966265\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    return lock;
}

static inline bwl_redis_store *store_of(unsigned i)
{
    return bwl_redis_store_at(((bwl_redis_store *)client->store)->cluster, i + 1);
}

static inline bwl_lock *told_and_held(void)
{
    bwl_lock *lock = asked_at_0();

    says_prepared(0);
    assert_true(hears(0, bwl_scripts[BWL_SCRIPT_QUEUE_JOIN].sha1, inbox));
    says(0, ":1795323949966265\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    return lock;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play_queue, play_is_over)

#endif
