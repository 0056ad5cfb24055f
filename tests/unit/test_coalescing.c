/*
 * test_coalescing.c -- commands that are held back are sent together: what the server receives.
 *
 * The server is a fake that counts the extensions it receives.
 */
#include "tests/lib/fake_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <bowline/async.h>

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { HOLDS = 3, ROUNDS = 20, PATIENCE_MS = 10000 };

static atomic_uint     received; /* extensions */
static fake_server    *redis;
static bowline_client *client;
static bowline_hold   *holds[HOLDS];
static bowline_error   error;

static void answer(fake_server *s, const fake_command *cmd, void *arg)
{
    (void)arg;
    if (strcmp(cmd->words[0], "HELLO") == 0) {
        fake_say_hello(s, "7.0.15");
    } else if (strcmp(cmd->words[0], "SET") == 0) {
        fake_say(s, "+OK\r\n");
    } else {
        (void)atomic_fetch_add(&received, 1);
        fake_say(s, ":1\r\n");
    }
}

static int hold_all(void **state)
{
    char url[160];
    char name[8];

    redis = fake_start(answer, NULL);
    (void)snprintf(url, sizeof url, "%s?protocol=token&lease=600s", fake_url(redis));
    assert_status(BOWLINE_OK, bowline_open(&client, BOWLINE_OPTIONS(.url = url), &error), &error);
    for (unsigned i = 0; i < HOLDS; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        holds[i] = must_acquire(client, name);
    }
    atomic_store(&received, 0);
    return 0;
}

static int close_all(void **state)
{
    bowline_close(client);
    fake_stop(redis);
    return 0;
}

/* No thread calls the library meanwhile. */
static void await_received(unsigned count)
{
    for (unsigned ms = 0; atomic_load(&received) < count && ms < PATIENCE_MS; ms++)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    assert_int_equal(atomic_load(&received), count);
}

static void start_all(bowline_operation *ret_ops[HOLDS])
{
    for (unsigned i = 0; i < HOLDS; i++)
        assert_status(BOWLINE_OK, bowline_extend_start(&ret_ops[i], holds[i], 0, &error), &error);
}

static void finish_all(bowline_operation *ops[HOLDS])
{
    for (unsigned i = 0; i < HOLDS; i++)
        assert_status(BOWLINE_OK, bowline_finish(ops[i], &error), &error);
}

FIXTURE(hold_all, close_all)

/* The first command is sent at once.  The others are held back until its reply is read. */
TEST(coalesced_commands_without_a_waiting_caller_are_sent_by_the_renewal_thread)
{
    bowline_operation *ops[HOLDS];

    for (unsigned round = 1; round <= ROUNDS; round++) {
        start_all(ops);
        await_received(round * HOLDS);
        finish_all(ops);
    }
}

TEST(coalesced_commands_are_sent_by_a_waiting_caller)
{
    bowline_operation *ops[HOLDS];

    for (unsigned round = 1; round <= ROUNDS; round++) {
        start_all(ops);
        assert_status(BOWLINE_OK, bowline_operation_wait(ops[HOLDS - 1], BOWLINE_FOREVER, &error),
                      &error);
        assert_int_equal(atomic_load(&received), round * HOLDS);
        finish_all(ops);
    }
}

/* The event loop may not return within a millisecond, and no other thread would send them. */
TEST(commands_of_an_event_loop_are_not_coalesced)
{
    bowline_operation *ops[HOLDS];

    assert_true(bowline_fd(client) >= 0);
    start_all(ops);
    await_received(HOLDS);
    finish_all(ops);
}
