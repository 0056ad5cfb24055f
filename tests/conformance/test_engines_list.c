/*
 * test_engines_list.c -- the list of held names, and what a holder query shows beside the holder.
 */
#include "tests/lib/engines.h"

#include <bowline/bowline.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HELD = 300 }; /* more than one step of any engine */

/* Reads the list to its end: returns how often `name` was in it, and in *ret_all how many names. */
static unsigned listed(bowline_client *client, const char *pattern, const char *name,
                       unsigned *ret_all, bowline_holder *ret_holder)
{
    bowline_list  *list   = NULL;
    bowline_holder holder = { .size = sizeof holder };
    bowline_error  error  = { 0 };
    unsigned       count  = 0;
    unsigned       all    = 0;
    int            status;

    assert_status(BOWLINE_OK, bowline_list_start(&list, client, pattern, &error), &error);
    while ((status = bowline_list_next(&holder, list, &error)) == 1) {
        all++;
        assert_int_equal(holder.held, 1);
        if (strcmp(holder.name, name) == 0) {
            count++;
            if (ret_holder != NULL)
                *ret_holder = holder;
        }
    }
    assert_status(BOWLINE_OK, status, &error);
    assert_int_equal(bowline_list_next(&holder, list, &error), 0);
    bowline_list_free(list);
    if (ret_all != NULL)
        *ret_all = all;
    return count;
}

/* Names with every byte that keys, files or patterns treat specially. */
ENGINE_TEST(list_shows_held_names_as_who_does)
{
    static const char *const ends[] = {
        "", "{x}", "%7B", "a*b", "[q]\\", "\xc3\xa4 z", "x/y", "}{"
    };
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_hold   *holds[sizeof ends / sizeof ends[0]];
    char            name[BOWLINE_NAME_MAX + 1];
    char            pattern[BOWLINE_NAME_MAX + 1];
    unsigned        all;

    (void)snprintf(pattern, sizeof pattern, "%s*", engine_lock());
    assert_int_equal(listed(client, pattern, engine_lock(), &all, NULL), 0);
    assert_int_equal(all, 0);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        (void)snprintf(name, sizeof name, "%s%s", engine_lock(), ends[i]);
        holds[i] = must_acquire(client, name);
    }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        bowline_holder holder = { .size = sizeof holder };
        bowline_holder who    = { .size = sizeof who };
        (void)snprintf(name, sizeof name, "%s%s", engine_lock(), ends[i]);
        assert_int_equal(listed(client, pattern, name, &all, &holder), 1);
        assert_int_equal(all, sizeof ends / sizeof ends[0]);
        assert_status(BOWLINE_OK, bowline_who(client, name, &who, NULL), NULL);
        assert_string_equal(who.name, name);
        assert_string_equal(who.user, holder.user);
        assert_string_equal(who.program, holder.program);
        assert_int_equal(who.pid, holder.pid);
        assert_int_equal(who.id, holder.id);
        assert_int_equal(who.foreign, holder.foreign);
        assert_int_equal(who.left_ms == INT64_MAX, holder.left_ms == INT64_MAX);
    }
    (void)snprintf(pattern, sizeof pattern, "%s[!a-z]x?", engine_lock()); /* {x} */
    (void)snprintf(name, sizeof name, "%s{x}", engine_lock());
    assert_int_equal(listed(client, pattern, name, &all, NULL), 1);
    assert_int_equal(all, 1);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        must_release(holds[i]);
    (void)snprintf(pattern, sizeof pattern, "%s*", engine_lock());
    assert_int_equal(listed(client, pattern, "", &all, NULL), 0);
    assert_int_equal(all, 0);
}

/* The limit stops between two steps, and the list goes on where it was. */
ENGINE_TEST(list_stops_at_its_limit_and_goes_on)
{
    static bowline_hold *holds[HELD];
    static char          seen[HELD];
    bowline_client      *client   = engine_client(THE_ENGINE, NULL);
    bowline_list        *list     = NULL;
    bowline_holder       holder   = { .size = sizeof holder };
    bowline_error        error    = { 0 };
    unsigned             all      = 0;
    unsigned             timeouts = 0;
    int                  status;
    char                 name[BOWLINE_NAME_MAX + 1];

    memset(seen, 0, sizeof seen);
    for (unsigned i = 0; i < HELD; i++) {
        (void)snprintf(name, sizeof name, "%s-%u", engine_lock(), i);
        holds[i] = must_acquire(client, name);
    }
    assert_status(BOWLINE_OK, bowline_list_start(&list, client, NULL, &error), &error);
    assert_int_equal(bowline_list_progress(list, NULL), 0);
    bowline_list_limit(list, 1);
    while ((status = bowline_list_next(&holder, list, &error)) != 0) {
        unsigned number;
        if (status == BOWLINE_TIMEOUT) {
            timeouts++;
            bowline_list_limit(list, bowline_list_progress(list, NULL) + 1);
            continue;
        }
        assert_int_equal(status, 1);
        size_t size = strlen(engine_lock());
        if (strncmp(holder.name, engine_lock(), size) != 0)
            continue;
        assert_int_equal(sscanf(holder.name + size, "-%u", &number), 1);
        assert_true(number < HELD);
        assert_int_equal(seen[number], 0);
        seen[number] = 1;
        all++;
    }
    assert_int_equal(all, HELD);
    assert_true(timeouts >= 1);
    assert_true(bowline_list_progress(list, NULL) >= HELD);
    bowline_list_free(list);
    for (unsigned i = 0; i < HELD; i++)
        must_release(holds[i]);
}

ENGINE_TEST(list_may_be_left_before_its_end)
{
    bowline_list *list = NULL;

    assert_status(BOWLINE_OK,
                  bowline_list_start(&list, engine_client(THE_ENGINE, NULL), "[]]", NULL), NULL);
    bowline_list_free(list);
    bowline_list_free(NULL);
}

QUEUE_TEST(holder_query_counts_who_waits)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_client *others[2];
    waiter          waiters[2];
    bowline_holder  holder = { .size = sizeof holder };
    bowline_hold   *hold   = must_acquire(client, engine_lock());

    assert_status(BOWLINE_OK, bowline_who(client, engine_lock(), &holder, NULL), NULL);
    assert_int_equal(holder.waiting, 0);
    for (unsigned i = 0; i < 2; i++) {
        others[i] = engine_client(THE_ENGINE, NULL);
        waiter_start(&waiters[i], others[i], engine_lock(), BOWLINE_FOREVER);
        engine_await_queue(THE_ENGINE, waiters, i + 1);
        assert_status(BOWLINE_OK, bowline_who(client, engine_lock(), &holder, NULL), NULL);
        assert_int_equal(holder.waiting, i + 1);
    }
    must_release(hold);
    for (unsigned i = 0; i < 2; i++)
        waiter_must_release(&waiters[i]);
}

/* The holder of the lock of this test, once the store shows its time. */
static bowline_holder must_be_shown(bowline_client *client)
{
    bowline_holder holder = { .size = sizeof holder };

    for (int64_t end = clock_ms() + 10000; clock_ms() < end; sleep_ms(1)) {
        assert_status(BOWLINE_OK, bowline_who(client, engine_lock(), &holder, NULL), NULL);
        if (holder.since_ms > 0)
            return holder;
    }
    fail_msg("the time of the hold is not shown");
    return holder;
}

/* After the first renewal, without a call: a third of the lease. */
QUEUE_TEST(renewed_hold_shows_its_time_and_fence)
{
    bowline_client *client = engine_client(THE_ENGINE, "lease=2s");
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold   = must_acquire(client, engine_lock());
    bowline_holder  holder = must_be_shown(other);

    assert_int_equal(holder.fence, bowline_hold_fence(hold));
    assert_int_equal(holder.command_pid, 0);
    must_release(hold);
}

/* The pid of a child is shown, and goes with the hold: the next holder has none. */
QUEUE_TEST(command_of_a_hold_is_shown_until_its_end)
{
    bowline_client *client  = engine_client(THE_ENGINE, NULL);
    bowline_client *other   = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold    = must_acquire(client, engine_lock());
    bowline_holder  holder  = { .size = sizeof holder };
    bool            is_here = strcmp(THE_ENGINE->name, "thread") == 0;
    pid_t           child   = fork();

    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    assert_status(BOWLINE_USAGE, bowline_hold_set_command(hold, -1, NULL), NULL);
    assert_status(BOWLINE_USAGE, bowline_hold_set_command(NULL, 1, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_hold_set_command(hold, child, NULL), NULL);
    holder = must_be_shown(other);
    assert_int_equal(holder.command_pid, is_here ? 0 : child);
    assert_int_equal(holder.fence, bowline_hold_fence(hold));
    assert_int_equal(holder.pid, is_here ? 0 : getpid());
    must_release(hold);
    hold = must_acquire(client, engine_lock());
    assert_status(BOWLINE_OK, bowline_who(other, engine_lock(), &holder, NULL), NULL);
    assert_int_equal(holder.command_pid, 0);
    must_release(hold);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}
