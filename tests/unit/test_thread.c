/*
 * test_thread.c -- the engine thread: several clients in one thread, so that the test chooses the
 * order of events.  A client that is not dispatched does not know yet that it was granted a lock.
 * tests/conformance tests the promises of all engines.
 */
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <sched.h>
#include <stdio.h>

enum { CLIENTS = 3, THREADS = 6, ROUNDS = 300, ONE_SHARE = 1 << 10, EXCLUSIVE = 1 << 20 };

static bowline_client *clients[CLIENTS];

static int open_clients(void **state)
{
    for (unsigned i = 0; i < CLIENTS; i++)
        clients[i] = must_open("thread:");
    return 0;
}

static int close_clients(void **state)
{
    for (unsigned i = 0; i < CLIENTS; i++)
        bowline_close(clients[i]);
    return 0;
}

static bool has_ended(unsigned i, bowline_operation *op)
{
    (void)bowline_dispatch(clients[i], 0, NULL);
    return bowline_operation_done(op) == 1;
}

FIXTURE(open_clients, close_clients)

TEST(client_that_closes_passes_on_holds_and_grants)
{
    bowline_hold *hold = must_acquire(clients[0], "n");
    (void)must_acquire(clients[1], "m");
    (void)must_start(clients[1], "n", BOWLINE_FOREVER);
    bowline_operation *n = must_start(clients[2], "n", BOWLINE_FOREVER);
    bowline_operation *m = must_start(clients[2], "m", BOWLINE_FOREVER);
    must_release(hold); /* granted to the client that closes */
    bowline_close(clients[1]);
    clients[1] = must_open("thread:");
    must_release(must_finish(n));
    must_release(must_finish(m));
}

/* The table of names grows several times. */
TEST(many_names_stay_held)
{
    static bowline_hold *holds[1000];
    char                 name[16];

    for (unsigned i = 0; i < COUNT_OF(holds); i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        holds[i] = must_acquire(clients[0], name);
    }
    for (unsigned i = 0; i < COUNT_OF(holds); i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        assert_status(BOWLINE_BUSY, try_once(clients[1], name), NULL);
    }
    for (unsigned i = 0; i < COUNT_OF(holds); i++)
        must_release(holds[i]);
}

/* 0 permits: exclusive; limit 0: shared. */
static bowline_operation *ask_for(unsigned i, uint32_t permits, uint32_t limit, int64_t wait_ms)
{
    bowline_acquire_options o = BOWLINE_ACQUIRE_INIT;
    bowline_operation      *op;

    o.wait_ms = wait_ms;
    o.mode    = permits == 0 ? BOWLINE_EXCLUSIVE : limit == 0 ? BOWLINE_SHARED : BOWLINE_PERMITS;
    o.permits = limit > 0 ? permits : 0;
    o.limit   = limit;
    assert_int_equal(bowline_acquire_start(&op, clients[i % CLIENTS], "n", &o, NULL), BOWLINE_OK);
    return op;
}

static bowline_operation *ops[8];
static bowline_hold      *holds[8];
static uint32_t           weights[8];

/* "a1/0=ab": a asks for permits/limit, then a and b have the lock; "?": it does not wait; "-": it
 * releases or cancels.  Without "=", nobody is dispatched, and knows of a grant.  All that hold the
 * lock together have one fence, and the next a greater one. */
static void play(const char *word, uint64_t *latest)
{
    const char    *share = word + (*word < 'a') + 1, *has = word + strcspn(word, " =");
    bowline_holder seen    = { .size = sizeof seen };
    bowline_holder all[8]  = { { .size = sizeof all[0] } };
    unsigned       i       = (unsigned)(share[-1] - 'a');
    uint32_t       sharers = 0, permits = 0, waiting = 0, listed = 0;
    bool           goes_on = false;

    if (*word != '-') {
        weights[i] = (uint32_t)(share[0] - '0');
        ops[i] =
            ask_for(i, weights[i], (uint32_t)(share[2] - '0'), *word == '?' ? 0 : BOWLINE_FOREVER);
    } else if (ops[i] != NULL) {
        bowline_cancel(ops[i]);
        assert_int_equal(bowline_acquire_finish(&holds[i], ops[i], NULL), BOWLINE_CANCELLED);
    } else {
        must_release(holds[i]);
    }
    if (*word == '-')
        ops[i] = NULL, holds[i] = NULL;
    if (*has++ != '=')
        return;
    assert_int_equal(bowline_who(clients[0], "n", &seen, NULL), BOWLINE_OK);
    int count = bowline_holders(clients[0], "n", all, COUNT_OF(all), NULL);
    assert_int_equal(count, seen.sharers > 0 ? (int)seen.sharers : seen.held);
    for (int k = 0; k < count; k++)
        listed += all[k].permits;
    for (i = 0; i < COUNT_OF(ops); i++) {
        goes_on = goes_on || holds[i] != NULL;
        if (ops[i] != NULL && has_ended(i % CLIENTS, ops[i])) {
            int status = bowline_acquire_finish(&holds[i], ops[i], NULL);
            assert_true(status == BOWLINE_OK || (status == BOWLINE_BUSY && *word == '?'));
            ops[i] = NULL;
        }
        waiting += ops[i] != NULL;
        if (holds[i] == NULL)
            continue;
        assert_int_equal(*has++, 'a' + (int)i);
        assert_true(bowline_hold_fence(holds[i]) == seen.fence);
        permits += weights[i];
        sharers += weights[i] > 0;
    }
    assert_true(*has < 'a' && seen.left_ms == (seen.held ? INT64_MAX : 0) && !seen.foreign);
    assert_true(seen.sharers == sharers && seen.permits == permits && listed == permits &&
                seen.waiting == waiting);
    assert_true(goes_on ? seen.fence == *latest : !seen.held || seen.fence > *latest);
    *latest = seen.held ? seen.fence : *latest;
}

TEST(waiters_are_served_in_order_as_long_as_they_fit)
{
    static const char *const scripts[] = {
        "a1/0=a b1/0=ab ?c0/0=ab c0/0=ab d1/0=ab ?e1/0=ab -a=b -b=c ?e1/0=c e1/0=c -c=de -d=e -e=",
        "a1/0=a b0/0=a c1/0=a d0/0=a e1/0=a -b=ac -a=c -c=d -d=e -e=",
        "a1/3=a b1/3=ab c3/3=ab d1/3=ab ?e1/3=ab -a=b -b=c -c=d ?e3/3=d ?e2/3=de -d=e -e=",
        "a0/0=a b1/0=a c1/2=a d1/2=a e0/0=a f1/0=a -a=bc -b=cd -d=c -c=e -e=f -f=",
        "a1/0=a b1/1=a -a=b c1/0=bc d1/2=bc -c=bd e2/3=bd f1/0=bd -e=bdf ?g1/4=bdfg -d=bfg",
        "-b=fg -f=g -g=",
        "a0/0=a b0/0=a c0/0=a -a -b=c -c= a0/0=a b1/0=a c1/0=a e1/0=a h1/0=a -a -e -c=bh -b=h -h=",
    };
    uint64_t latest = 0;

    for (unsigned n = 0; n < COUNT_OF(scripts); n++)
        for (const char *word = scripts[n]; word != NULL; word = strchr(word, ' '))
            play(word += *word == ' ', &latest);
}

/* In the order of arrival: twice the fence, and 1 of an exclusive hold; 0 after a cancel. */
static uint64_t        arrivals[THREADS * ROUNDS];
static unsigned        arrived;
static pthread_mutex_t arriving = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint     in_use, faults; /* EXCLUSIVE, ONE_SHARE, permits of 3 */

static void *take_turns(void *arg)
{
    unsigned random = (unsigned)(uintptr_t)arg;

    for (unsigned i = 0; i < ROUNDS; i++) {
        random           = random * 1103515245 + 12345;
        uint32_t permits = random >> 16 & 3, limit = random >> 18 & 1 && permits > 0 ? 3 : 0;
        unsigned adds = permits == 0 ? EXCLUSIVE : limit == 0 ? ONE_SHARE : permits;
        (void)pthread_mutex_lock(&arriving);
        unsigned           nth = arrived++;
        bowline_operation *op  = ask_for(random >> 20, permits, limit, BOWLINE_FOREVER);
        (void)pthread_mutex_unlock(&arriving);
        if ((random >> 24 & 7) == 0)
            bowline_cancel(op);
        bowline_hold *hold;
        if (bowline_acquire_finish(&hold, op, NULL) != BOWLINE_OK)
            continue;
        unsigned in   = atomic_fetch_add(&in_use, adds) + adds;
        arrivals[nth] = bowline_hold_fence(hold) * 2 + (permits == 0);
        (void)sched_yield();
        atomic_fetch_add(&faults, in >= EXCLUSIVE ? in != adds : in % ONE_SHARE > 3);
        atomic_fetch_sub(&in_use, adds);
        must_release(hold);
    }
    return NULL;
}

TEST(threads_share_in_order_and_exclude)
{
    pthread_t threads[THREADS];
    uint64_t  last = 0;

    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_turns, (void *)i), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&faults), 0);
    for (unsigned i = 0; i < arrived; i++) {
        assert_true(arrivals[i] == 0 || arrivals[i] / 2 >= last / 2 + ((arrivals[i] | last) & 1));
        last = arrivals[i] != 0 ? arrivals[i] : last;
    }
}
