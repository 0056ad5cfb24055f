/*
 * test_engines.c -- what every engine does alike: acquire, refuse, wait, release, and queries.
 */
#include "tests/lib/engines.h"
#include "tests/lib/inside.h"

#include <bowline/stats.h>

#include <stdio.h>

/* ---- acquire and refusal --------------------------------------------------------------------- */

ENGINE_TEST(free_lock_is_acquired_at_once)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);

    for (int i = 0; i < 3; i++)
        must_release(must_acquire(client, engine_lock()));
}

ENGINE_TEST(try_once_returns_busy_when_held)
{
    bowline_client *one   = engine_client(THE_ENGINE, NULL);
    bowline_client *two   = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold  = must_acquire(one, engine_lock());
    bowline_hold   *none  = NULL;
    bowline_error   error = { 0 };

    assert_status(BOWLINE_BUSY, bowline_acquire(&none, two, engine_lock(), NULL, &error), &error);
    assert_null(none);
    assert_int_equal(error.status, BOWLINE_BUSY);
    assert_non_null(strstr(error.text, engine_lock()));
    must_release(hold);
    assert_status(BOWLINE_OK, try_once(two, engine_lock()), NULL);
}

ENGINE_TEST(second_acquire_of_one_thread_returns_busy)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold   = must_acquire(client, engine_lock());

    assert_status(BOWLINE_BUSY, try_once(client, engine_lock()), NULL);
    assert_status(BOWLINE_BUSY, try_once(client, engine_lock()), NULL);
    must_release(hold);
    assert_status(BOWLINE_OK, try_once(client, engine_lock()), NULL);
}

ENGINE_TEST(names_do_not_exclude_each_other)
{
    static const char *const names[] = { "a",    "A",        "a ",        " a",   "a%",
                                         "a%25", "a{",       "a}",        "a{}",  "aa",
                                         "a.",   "a/b",      "a_b",       "a%7B", "a%2F",
                                         "a:b",  "\xc3\xa4", "a\xcc\x88", "\xff", "\xfe" };
    enum { NAMES = COUNT_OF(names) };
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold   *holds[NAMES];

    for (size_t i = 0; i < NAMES; i++) {
        holds[i] = must_acquire(client, names[i]);
        assert_string_equal(bowline_hold_name(holds[i]), names[i]);
    }
    for (size_t i = 0; i < NAMES; i++)
        assert_status(BOWLINE_BUSY, try_once(other, names[i]), NULL);
    for (size_t i = 0; i < NAMES; i++)
        must_release(holds[i]);
}

ENGINE_TEST(client_counts_what_it_has_done)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold   = must_acquire(client, engine_lock());
    bowline_stats   stats  = BOWLINE_STATS_INIT;

    assert_status(BOWLINE_BUSY, try_once(client, engine_lock()), NULL);
    must_release(hold);
    hold = must_acquire(client, engine_lock());
    assert_status(BOWLINE_OK, bowline_client_stats(client, &stats, NULL), NULL);
    assert_int_equal(stats.acquired, 2);
    assert_int_equal(stats.not_acquired, 1);
    assert_int_equal(stats.released, 1);
    assert_int_equal(stats.lost + stats.not_released + stats.renewals_late, 0);
    assert_true(stats.waited_ms >= stats.waited_max_ms && stats.waited_max_ms >= 0);
    must_release(hold);
    stats.size--;
    assert_status(BOWLINE_USAGE, bowline_client_stats(client, &stats, NULL), NULL);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void waits_until_released(const engine *e, const char *options, int64_t wait_ms)
{
    bowline_client *one  = engine_client(e, NULL);
    bowline_client *two  = engine_client(e, options);
    bowline_hold   *hold = must_acquire(one, engine_lock());
    waiter          w;

    waiter_start(&w, two, engine_lock(), wait_ms);
    engine_await_queue(e, &w, 1);
    assert_false(atomic_load(&w.ended));
    must_release(hold);
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    assert_status(BOWLINE_BUSY, try_once(one, engine_lock()), NULL);
    must_release(w.hold);
}

ENGINE_TEST(waiter_acquires_after_a_release)
{
    waits_until_released(THE_ENGINE, NULL, 20000);
}

ENGINE_TEST(wait_forever_ends_with_the_release)
{
    waits_until_released(THE_ENGINE, NULL, BOWLINE_FOREVER);
}

ENGINE_TEST(wait_of_the_url_ends_with_the_release)
{
    waits_until_released(THE_ENGINE, "wait=20s", BOWLINE_DEFAULT);
    waits_until_released(THE_ENGINE, "wait=forever", BOWLINE_DEFAULT);
}

ENGINE_TEST(waiter_times_out_when_held)
{
    bowline_client *one   = engine_client(THE_ENGINE, NULL);
    bowline_client *two   = engine_client(THE_ENGINE, "wait=1ms");
    bowline_hold   *hold  = must_acquire(one, engine_lock());
    bowline_hold   *none  = NULL;
    bowline_error   error = { 0 };
    int64_t         began = clock_ms();

    assert_status(BOWLINE_TIMEOUT, acquire_within(&none, one, engine_lock(), 50, &error), &error);
    assert_status(BOWLINE_TIMEOUT, acquire_within(&none, two, engine_lock(), 50, &error), &error);
    assert_status(BOWLINE_TIMEOUT, acquire_within(&none, two, engine_lock(), 1, &error), &error);
    assert_status(BOWLINE_TIMEOUT,
                  acquire_within(&none, two, engine_lock(), BOWLINE_DEFAULT, &error), &error);
    assert_status(BOWLINE_BUSY, acquire_within(&none, two, engine_lock(), BOWLINE_NO_WAIT, &error),
                  &error);
    assert_null(none);
    assert_true(clock_ms() - began < 20000);
    must_release(hold);
    assert_status(BOWLINE_OK, try_once(two, engine_lock()), NULL);
}

/* Waiters that timed out must not block the others. */
ENGINE_TEST(timed_out_waiter_blocks_no_other_waiter)
{
    bowline_client *one  = engine_client(THE_ENGINE, NULL);
    bowline_client *two  = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold = must_acquire(one, engine_lock());
    waiter          impatient;
    waiter          patient;

    waiter_start(&impatient, two, engine_lock(), 80);
    (void)threads_wait(two, 1); /* they do not, if the first time-out came before */
    waiter_start(&patient, two, engine_lock(), 20000);
    assert_status(BOWLINE_TIMEOUT, waiter_join(&impatient), &impatient.error);
    must_release(hold);
    assert_true(waiter_ends(&patient));
    assert_status(BOWLINE_OK, waiter_join(&patient), &patient.error);
    must_release(patient.hold);
}

/* ---- the hold -------------------------------------------------------------------------------- */

ENGINE_TEST(release_of_NULL_is_ok)
{
    bowline_error error = { .status = 7 };

    assert_status(BOWLINE_OK, bowline_release(NULL, &error), &error);
    assert_status(BOWLINE_OK, bowline_release(NULL, NULL), NULL);
    bowline_close(NULL);
}

ENGINE_TEST(time_left_is_at_most_the_lease)
{
    bowline_client *client = engine_client(THE_ENGINE, "lease=20s");
    bowline_hold   *hold   = must_acquire(client, engine_lock());
    int64_t         left   = bowline_hold_left_ms(hold);

    if (THE_ENGINE->has_lease) {
        assert_true(left > 0 && left < 20000);
        while (bowline_hold_left_ms(hold) == left)
            sleep_ms(1);
        assert_true(bowline_hold_left_ms(hold) < left);
    } else {
        assert_true(left == INT64_MAX);
    }
    must_release(hold);
}

ENGINE_TEST(extend_lengthens_and_never_shortens)
{
    bowline_client *client = engine_client(THE_ENGINE, "lease=20s");
    bowline_hold   *hold   = must_acquire(client, engine_lock());
    bowline_error   error  = { 0 };

    assert_status(BOWLINE_OK, bowline_extend(hold, 60000, &error), &error);
    int64_t left = bowline_hold_left_ms(hold);
    assert_true(left > 20000);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, &error), &error);
    assert_true(bowline_hold_left_ms(hold) > 20000);
    assert_status(BOWLINE_OK, bowline_extend(hold, 1000, &error), &error);
    assert_true(bowline_hold_left_ms(hold) > 20000);
    assert_status(BOWLINE_USAGE, bowline_extend(hold, 99, &error), &error);
    assert_status(BOWLINE_USAGE, bowline_extend(hold, 86400001, &error), &error);
    assert_true(bowline_hold_left_ms(hold) > 20000);
    must_release(hold);
}

ENGINE_TEST(lease_of_the_call_comes_before_that_of_the_client)
{
    bowline_client *client = engine_client(THE_ENGINE, "lease=20s");
    bowline_hold   *hold   = NULL;
    bowline_error   error  = { 0 };
    int             status =
        bowline_acquire(&hold, client, engine_lock(), BOWLINE_ACQUIRE(.lease_ms = 40000), &error);

    assert_status(BOWLINE_OK, status, &error);
    assert_true(bowline_hold_left_ms(hold) > 20000);
    must_release(hold);
}

ENGINE_TEST(fence_grows_or_is_zero)
{
    bowline_client *clients[] = { engine_client(THE_ENGINE, NULL),
                                  engine_client(THE_ENGINE, NULL) };
    uint64_t        before    = 0;

    for (int i = 0; i < 10; i++) {
        bowline_hold *hold  = must_acquire(clients[i % 2], engine_lock());
        uint64_t      fence = bowline_hold_fence(hold);
        if (THE_ENGINE->has_fence)
            assert_true(fence > before);
        else
            assert_true(fence == 0);
        assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
        assert_true(bowline_hold_fence(hold) == fence);
        before = fence;
        must_release(hold);
    }
}

ENGINE_TEST(hold_descriptors_are_few_and_close_on_exec)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold   = must_acquire(client, engine_lock());
    int             fds[BOWLINE_HOLD_INHERIT_FDS_MAX];
    int             count = bowline_hold_inherit_fds(hold, fds);

    assert_true(THE_ENGINE->has_descriptors ? count > 0 : count == 0);
    assert_true(count <= BOWLINE_HOLD_INHERIT_FDS_MAX);
    for (int i = 0; i < count; i++)
        assert_true(descriptor_closes_on_exec(fds[i]));
    must_release(hold);
}

/* ---- holder queries -------------------------------------------------------------------------- */

ENGINE_TEST(ping_reaches_the_store)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_error   error  = { 0 };

    assert_status(BOWLINE_OK, bowline_ping(client, 0, &error), &error);
    assert_status(BOWLINE_OK, bowline_ping(client, BOWLINE_FOREVER, NULL), NULL);
    assert_status(BOWLINE_USAGE, bowline_ping(client, BOWLINE_DEFAULT - 1, &error), &error);
    assert_status(BOWLINE_OK, try_once(client, engine_lock()), NULL);
}

ENGINE_TEST(holder_query_of_a_free_lock)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_holder  holder = { .size = sizeof holder, .held = 7, .pid = 7, .note = "stale" };
    bowline_error   error  = { 0 };

    assert_status(BOWLINE_OK, bowline_who(client, engine_lock(), &holder, &error), &error);
    assert_int_equal(holder.held, 0);
    assert_int_equal(holder.foreign, 0);
    assert_int_equal(holder.pid, 0);
    assert_true(holder.fence == 0);
    assert_string_equal(holder.note, "");
    assert_status(BOWLINE_OK, try_once(client, engine_lock()),
                  NULL); /* the query has changed nothing */
}

/* The error text has the fields of bowline_who, and no others. */
static void busy_names_the_holder(bowline_client *client, const bowline_holder *h)
{
    char          text[600] = "";
    bowline_hold *none      = NULL;
    bowline_error error     = { 0 };

    if (h->user[0] != '\0')
        (void)snprintf(text, sizeof text, ": by %s%s%s", h->user, h->host[0] != '\0' ? "@" : "",
                       h->host);
    if (h->pid != 0)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), " pid %lld",
                       (long long)h->pid);
    if (h->program[0] != '\0')
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), " (%s)", h->program);
    assert_status(BOWLINE_BUSY, acquire_within(&none, client, engine_lock(), 0, &error), &error);
    const char *found = strstr(error.text, " is held by someone else");
    assert_non_null(found);
    assert_string_equal(found + strlen(" is held by someone else"), text);
}

ENGINE_TEST(holder_query_of_a_held_lock)
{
    bowline_client *client = engine_client(THE_ENGINE, "lease=20s");
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold   = must_acquire(client, engine_lock());
    bowline_holder  holder = { .size = sizeof holder };
    bowline_error   error  = { 0 };

    for (int i = 0; i < 2; i++) {
        assert_status(BOWLINE_OK,
                      bowline_who(i == 0 ? client : other, engine_lock(), &holder, &error), &error);
        assert_int_equal(holder.held, 1);
        assert_int_equal(holder.foreign, 0);
        if (THE_ENGINE->has_lease)
            assert_true(holder.left_ms > 0 && holder.left_ms <= 20000);
        else
            assert_true(holder.left_ms == INT64_MAX);
        assert_true(holder.fence == (THE_ENGINE->shows_fence ? bowline_hold_fence(hold) : 0));
    }
    busy_names_the_holder(other, &holder);
    must_release(hold);
    assert_status(BOWLINE_OK, bowline_who(other, engine_lock(), &holder, &error), &error);
    assert_int_equal(holder.held, 0);
}

/* Nor does it change anything for the holder, or for other queries. */
ENGINE_TEST(timed_out_waiter_is_not_in_the_holder_query)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold   = must_acquire(client, engine_lock());
    bowline_holder  holder = { .size = sizeof holder };
    uint64_t        fence  = bowline_hold_fence(hold);

    for (int i = 0; i < 3; i++) {
        bowline_hold *none = NULL;
        assert_status(BOWLINE_TIMEOUT, acquire_within(&none, other, engine_lock(), 30, NULL), NULL);
        assert_status(BOWLINE_OK, bowline_who(other, engine_lock(), &holder, NULL), NULL);
        assert_int_equal(holder.held, 1);
        assert_true(holder.fence == (THE_ENGINE->shows_fence ? fence : 0));
        assert_true(bowline_hold_fence(hold) == fence);
        assert_true(bowline_hold_left_ms(hold) > 0);
    }
    must_release(hold);
}
