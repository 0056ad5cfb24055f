/*
 * test_engines_references.c -- references to a hold, on every engine: the release of the last one
 * releases the lock, in any thread and of any kind.
 */
#include "tests/lib/engines.h"

#include <bowline/async.h>

enum { THREADS = 4, ROUNDS = 60, KINDS = 4 };

/* A release of each kind. */
static int release_as(unsigned kind, bowline_hold *hold)
{
    bowline_operation *op;

    switch (kind % KINDS) {
    case 0: return bowline_release(hold, NULL);
    case 1: return bowline_release_nowait(hold, NULL);
    case 2: return bowline_release_all(&hold, 1, NULL);
    }
    assert_status(BOWLINE_OK, bowline_release_start(&op, hold, NULL), NULL);
    return bowline_finish(op, NULL);
}

static bowline_hold *with_references(bowline_client *client, unsigned count, int64_t max_hold_ms)
{
    bowline_hold *hold;
    int           status = bowline_acquire(&hold, client, engine_lock(),
                                           BOWLINE_ACQUIRE(.max_hold_ms = max_hold_ms), NULL);

    assert_status(BOWLINE_OK, status, NULL);
    while (count-- > 1)
        assert_ptr_equal(bowline_hold_ref(hold), hold);
    return hold;
}

ENGINE_TEST(release_of_the_last_reference_releases_the_lock)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);

    assert_null(bowline_hold_ref(NULL));
    for (unsigned last = 0; last < KINDS; last++) {
        bowline_hold *hold = with_references(client, KINDS + 1, 0);
        for (unsigned kind = 0; kind < KINDS; kind++) {
            assert_status(BOWLINE_OK, release_as(kind, hold), NULL);
            assert_status(BOWLINE_BUSY, try_once(other, engine_lock()), NULL);
        }
        assert_status(BOWLINE_OK, bowline_hold_check(hold, NULL), NULL);
        assert_status(BOWLINE_OK, release_as(last, hold), NULL);
        assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, NULL), NULL);
        assert_status(BOWLINE_OK, try_once(other, engine_lock()), NULL);
    }
    bowline_hold *hold     = with_references(client, 2, 0);
    bowline_hold *both[]   = { hold, hold };
    int           released = bowline_release_all(both, COUNT_OF(both), NULL);
    assert_status(BOWLINE_OK, released, NULL);
    assert_true(both[0] == NULL && both[1] == NULL);
    assert_status(BOWLINE_OK, try_once(other, engine_lock()), NULL);
}

/* The operations of both releases, the first one finished last: it keeps no lock. */
ENGINE_TEST(release_of_a_reference_may_be_finished_after_the_hold)
{
    bowline_client    *client = engine_client(THE_ENGINE, NULL);
    bowline_client    *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold      *hold   = with_references(client, 2, 0);
    bowline_event      event  = { .size = sizeof event };
    bowline_operation *first;

    assert_status(BOWLINE_OK, bowline_release_start(&first, hold, NULL), NULL);
    assert_int_equal(bowline_operation_done(first), 1);
    assert_int_equal(bowline_next_event(client, &event, NULL), 1);
    assert_true(event.kind == BOWLINE_EVENT_ENDED && event.operation == first);
    must_release(hold);
    assert_status(BOWLINE_OK, try_once(other, engine_lock()), NULL);
    assert_status(BOWLINE_OK, bowline_finish(first, NULL), NULL);
}

ENGINE_TEST(every_reference_of_a_lost_hold_is_lost)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold   = with_references(client, 2 * KINDS - 1, 50);

    must_end(hold);
    assert_ptr_equal(bowline_hold_ref(hold), hold);
    for (unsigned kind = 0; kind < 2 * KINDS; kind++)
        assert_status(BOWLINE_LOST, release_as(kind, hold), NULL);
    must_release(must_acquire_within(client, engine_lock(), 10000));
}

/* With a message that says so, and nothing has changed. */
ENGINE_TEST(hold_with_references_is_not_given_away_or_changed)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold   = with_references(client, 2, 0);
    bowline_error   error  = { 0 };
    char            ticket[BOWLINE_TICKET_MAX];

    assert_status(BOWLINE_USAGE, bowline_yield(hold, 1000, &error), &error);
    assert_non_null(strstr(error.text, "other references (1)"));
    int exported = bowline_hold_export(hold, ticket, &error);
    assert_status(BOWLINE_USAGE, exported, &error);
    int changed = bowline_downgrade(hold, &error);
    if (changed != BOWLINE_UNSUPPORTED)
        assert_status(BOWLINE_USAGE, changed, &error);
    int extended = bowline_extend(hold, 0, &error);
    assert_status(BOWLINE_OK, extended, &error);
    assert_status(BOWLINE_OK, bowline_release(hold, NULL), NULL);
    assert_status(BOWLINE_BUSY, try_once(other, engine_lock()), NULL);
    assert_status(BOWLINE_OK, bowline_yield(hold, 20000, NULL), NULL);
    must_release(hold);
}

ENGINE_TEST(references_have_a_maximum)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold   = with_references(client, BOWLINE_REFS_MAX, 0);

    assert_null(bowline_hold_ref(hold));
    for (unsigned i = 1; i < BOWLINE_REFS_MAX; i++)
        must_release(hold);
    assert_status(BOWLINE_BUSY, try_once(other, engine_lock()), NULL);
    must_release(hold);
    assert_status(BOWLINE_OK, try_once(other, engine_lock()), NULL);
}

typedef struct user {
    pthread_t       thread;
    bowline_client *other;
    bowline_hold   *hold;
    unsigned        kind;
    int             bad;
} user;

/* Uses the hold with a reference of its own, and takes and drops some more. */
static void *use_reference(void *arg)
{
    user *u = arg;

    for (unsigned i = 0; i < u->kind; i++) {
        u->bad += bowline_hold_ref(u->hold) != u->hold;
        u->bad += release_as(u->kind + i, u->hold) != BOWLINE_OK;
    }
    u->bad += try_once(u->other, bowline_hold_name(u->hold)) != BOWLINE_BUSY;
    u->bad += release_as(u->kind, u->hold) != BOWLINE_OK;
    return NULL;
}

ENGINE_TEST(threads_release_their_references_in_any_order)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    user            users[THREADS];

    for (unsigned round = 0; round < ROUNDS; round++) {
        bowline_hold *hold = with_references(client, THREADS, 0);
        for (unsigned i = 0; i < THREADS; i++) {
            users[i] = (user){ .other = other, .hold = hold, .kind = i + round % KINDS };
            int made = pthread_create(&users[i].thread, NULL, use_reference, &users[i]);
            assert_int_equal(made, 0);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            (void)pthread_join(users[i].thread, NULL);
            assert_int_equal(users[i].bad, 0);
        }
        assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, NULL), NULL);
        assert_status(BOWLINE_OK, try_once(other, engine_lock()), NULL);
    }
}
