/*
 * test_engines_crowd.c -- many waiters at once, on every engine: never two holders, every waiter
 * gets the lock, in order where the engine promises it; and a close releases all.
 */
#include "tests/lib/engines.h"

#include <time.h>

enum { THREADS = 8, ROUNDS = 200, WAITERS = 6 };

/* ---- many waiters for one name --------------------------------------------------------------- */

typedef struct crowd {
    bowline_client *clients[THREADS];
    atomic_int      inside;
    atomic_int      overlaps;
    atomic_int      failures;
    atomic_int      rounds; /* counted by separate reads and writes: an overlap loses some */
    atomic_ullong   fence;
    atomic_int      fences_backward;
    atomic_uint     next;
    atomic_uint     waits; /* another holder was inside already */

    pthread_barrier_t start;
} crowd;

static void linger(void)
{
    struct timespec t = { .tv_nsec = 20000 };

    (void)nanosleep(&t, NULL);
}

static void go_round(crowd *c, bowline_client *client)
{
    bowline_hold *hold = NULL;

    if (acquire_within(&hold, client, engine_lock(), BOWLINE_NO_WAIT, NULL) == BOWLINE_BUSY)
        atomic_fetch_add(&c->waits, 1);
    if (hold == NULL && acquire_within(&hold, client, engine_lock(), 60000, NULL) != BOWLINE_OK) {
        atomic_fetch_add(&c->failures, 1);
        return;
    }
    if (atomic_fetch_add(&c->inside, 1) != 0)
        atomic_fetch_add(&c->overlaps, 1);
    int                rounds = atomic_load(&c->rounds);
    unsigned long long fence  = bowline_hold_fence(hold);
    linger();
    if (fence != 0 && fence <= atomic_exchange(&c->fence, fence))
        atomic_fetch_add(&c->fences_backward, 1);
    atomic_store(&c->rounds, rounds + 1);
    atomic_fetch_sub(&c->inside, 1);
    if (bowline_release(hold, NULL) != BOWLINE_OK)
        atomic_fetch_add(&c->failures, 1);
}

static void *go_rounds(void *arg)
{
    crowd   *c  = arg;
    unsigned me = atomic_fetch_add(&c->next, 1);

    (void)pthread_barrier_wait(&c->start);
    for (int i = 0; i < ROUNDS; i++)
        go_round(c, c->clients[me]);
    return NULL;
}

/* `shared`: so many threads have one client. */
static void run_crowd(const engine *e, unsigned shared, const char *options)
{
    static crowd c;
    pthread_t    threads[THREADS];

    c = (crowd){ .next = 0 };
    assert_int_equal(pthread_barrier_init(&c.start, NULL, THREADS), 0);
    for (unsigned i = 0; i < THREADS; i++)
        c.clients[i] = i % shared > 0 ? c.clients[i - 1] : engine_client(e, options);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, go_rounds, &c), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    (void)pthread_barrier_destroy(&c.start);
    print_message("# %u of %d waited\n", atomic_load(&c.waits), THREADS * ROUNDS);
    assert_int_equal(atomic_load(&c.overlaps), 0);
    assert_int_equal(atomic_load(&c.failures), 0);
    assert_int_equal(atomic_load(&c.fences_backward), 0);
    assert_int_equal(atomic_load(&c.rounds), THREADS * ROUNDS);
}

ENGINE_TEST(many_threads_of_one_client)
{
    run_crowd(THE_ENGINE, THREADS, NULL);
}

ENGINE_TEST(many_clients)
{
    run_crowd(THE_ENGINE, 1, NULL);
}

SERVER_TEST(clients_that_keep_released_locks)
{
    run_crowd(THE_ENGINE, THREADS / 2, "sticky=1s");
    run_crowd(THE_ENGINE, 1, "sticky=10ms");
}

/* ---- many names at once ---------------------------------------------------------------------- */

static void *work_alone(void *arg)
{
    waiter *w = arg;

    for (int i = 0; i < ROUNDS && w->status == BOWLINE_OK; i++) {
        w->status = acquire_within(&w->hold, w->client, w->name, 30000, &w->error);
        if (w->status == BOWLINE_OK)
            w->status = bowline_release(w->hold, &w->error);
    }
    return NULL;
}

/* Threads of one client with different names must not affect each other. They may wait: a majority
 * releases a lock of redlock, and another connection may carry the next attempt past the delete on
 * the slowest server. */
ENGINE_TEST(names_of_one_client_do_not_affect_each_other)
{
    static const char *const names[THREADS] = { "1", "2", "3", "4", "5", "6", "7", "8" };
    bowline_client          *client         = engine_client(THE_ENGINE, NULL);
    waiter                   workers[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (waiter){ .client = client, .name = names[i] };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work_alone, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_status(BOWLINE_OK, waiter_join(&workers[i]), &workers[i].error);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Each has its own entry in the queue of the server.  For waiters that share one, see
 * live/test_local_group.c. */
static void served_in_order(const engine *e, bool one_client)
{
    bool            has_turns = one_client && e->in_order && e->has_lease;
    bowline_client *first     = engine_client(e, has_turns ? "turns=1" : NULL);
    bowline_client *clients[WAITERS];
    waiter          waiters[WAITERS];
    bowline_hold   *hold = must_acquire(first, engine_lock());

    for (int i = 0; i < WAITERS; i++) {
        clients[i] = one_client ? first : engine_client(e, NULL);
        waiter_start(&waiters[i], clients[i], engine_lock(), 30000);
        engine_await_queue(e, waiters, (unsigned)i + 1);
    }
    for (int i = 0; i < WAITERS; i++) {
        must_release(hold);
        assert_true(waiter_ends(&waiters[i]));
        for (int later = i + 1; later < WAITERS; later++)
            assert_false(atomic_load(&waiters[later].ended));
        assert_status(BOWLINE_OK, waiter_join(&waiters[i]), &waiters[i].error);
        hold = waiters[i].hold;
    }
    must_release(hold);
}

QUEUE_TEST(waiters_of_one_client_are_served_in_order)
{
    served_in_order(THE_ENGINE, true);
}

QUEUE_TEST(waiters_of_many_clients_are_served_in_order)
{
    served_in_order(THE_ENGINE, false);
}

/* ---- passing on ------------------------------------------------------------------------------ */

/* The client has used the name before, and uses it again: they share a lock in the store. */
QUEUE_TEST(hold_that_waited_for_its_own_client_is_exported)
{
    bool               is_known = THE_ENGINE->has_lease;
    bowline_client    *one      = engine_client(THE_ENGINE, NULL);
    bowline_client    *two      = engine_client(THE_ENGINE, NULL);
    bowline_hold      *first    = must_acquire(one, engine_lock());
    bowline_operation *next     = must_start(one, engine_lock(), 30000);
    bowline_operation *last     = must_start(one, engine_lock(), 30000);
    char               ticket[BOWLINE_TICKET_MAX];
    bowline_error      error = { 0 };

    must_release(first);
    bowline_hold *hold   = must_finish(next);
    uint64_t      fence  = bowline_hold_fence(hold);
    int           status = bowline_hold_export(hold, ticket, &error);
    assert_status(is_known ? BOWLINE_OK : BOWLINE_UNSUPPORTED, status, &error);
    if (is_known) {
        status = bowline_hold_import(&hold, two, ticket, NULL, &error);
        assert_status(BOWLINE_OK, status, &error);
        assert_int_equal(fence, bowline_hold_fence(hold));
        assert_status(BOWLINE_BUSY, try_once(one, engine_lock()), NULL);
        assert_int_equal(0, bowline_operation_done(last));
    }
    must_release(hold);
    hold = must_finish(last);
    assert_true(!THE_ENGINE->has_fence || bowline_hold_fence(hold) > fence);
    must_release(hold);
}

/* ---- closing --------------------------------------------------------------------------------- */

/* The lease is long: a lock that another client gets soon was released, and has not expired. */
ENGINE_TEST(close_releases_holds)
{
    bowline_client *client = engine_client(THE_ENGINE, "lease=1h");
    bowline_client *other  = engine_client(THE_ENGINE, NULL);

    (void)must_acquire(client, "one");
    (void)must_acquire(client, "two");
    engine_close(client);
    must_release(must_acquire_within(other, "one", 10000));
    must_release(must_acquire_within(other, "two", 10000));
}

ENGINE_TEST(close_cancels_operations)
{
    bowline_client    *client = engine_client(THE_ENGINE, "lease=1h");
    bowline_client    *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold      *hold   = must_acquire(other, "busy");
    bowline_hold      *mine   = must_acquire(client, "mine");
    bowline_operation *op;

    (void)must_start(client, "busy", 60000);           /* waits */
    (void)must_start(client, "free", BOWLINE_DEFAULT); /* may be in flight, or granted */
    assert_status(BOWLINE_OK, bowline_extend_start(&op, mine, 0, NULL), NULL);
    engine_close(client);
    must_release(hold);
    must_release(must_acquire_within(other, "busy", 10000));
    must_release(must_acquire_within(other, "free", 10000));
    must_release(must_acquire_within(other, "mine", 10000));
}

/* A client that was opened and closed has no effect. */
ENGINE_TEST(unused_client_has_no_effect)
{
    unsigned descriptors = count_descriptors();
    unsigned threads     = count_threads();

    for (int i = 0; i < 20; i++) {
        bowline_client *client = engine_client(THE_ENGINE, NULL);
        assert_true(count_threads() <= threads);
        engine_close(client);
    }
    assert_int_equal(count_descriptors(), descriptors);
}
