/*
 * test_engines_shares.c -- shared holds and permits, most of it on every engine that needs no
 * server.  (More of protocol queue: tests/live/test_queue_shares.c.)
 */
#include "tests/lib/engines.h"

#include <sched.h>

enum { CLIENTS = 3, THREADS = 6, ROUNDS = 300, ONE_SHARE = 1 << 10, EXCLUSIVE = 1 << 20 };

static bowline_client    *clients[CLIENTS];
static bowline_operation *ops[8];
static bowline_hold      *holds[8];
static uint32_t           weights[8], limits[8];

static void open_clients(const engine *e)
{
    for (unsigned i = 0; i < CLIENTS; i++)
        clients[i] = engine_client(e, NULL);
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
    assert_int_equal(bowline_acquire_start(&op, clients[i % CLIENTS], engine_lock(), &o, NULL),
                     BOWLINE_OK);
    return op;
}

/* Dispatches the clients.  True: those of `letters` hold the lock, by the holder queries too. */
static bool is_held_by(const char *letters, bool may_be_busy, bowline_holder *ret_seen)
{
    bowline_holder all[8]  = { { .size = sizeof all[0] } };
    uint32_t       sharers = 0, permits = 0, waiting = 0, sum = 0;

    for (unsigned i = 0; i < COUNT_OF(ops); i++) {
        (void)bowline_dispatch(clients[i % CLIENTS], 0, NULL);
        if (ops[i] != NULL && bowline_operation_done(ops[i]) == 1) {
            int status = bowline_acquire_finish(&holds[i], ops[i], NULL);
            assert_true(status == BOWLINE_OK || (status == BOWLINE_BUSY && may_be_busy));
            ops[i] = NULL;
        }
        waiting += ops[i] != NULL;
        permits += holds[i] != NULL ? weights[i] : 0;
        sum += holds[i] != NULL ? weights[i] + 10 * limits[i] : 0;
        sharers += holds[i] != NULL && weights[i] > 0;
        if ((holds[i] != NULL) != (memchr(letters, 'a' + (int)i, strcspn(letters, " ")) != NULL))
            return false;
    }
    *ret_seen = (bowline_holder){ .size = sizeof *ret_seen };
    assert_int_equal(bowline_who(clients[0], engine_lock(), ret_seen, NULL), BOWLINE_OK);
    int count = bowline_holders(clients[0], engine_lock(), all, COUNT_OF(all), NULL);
    for (int k = 0; k < count; k++)
        sum -= all[k].permits + 10 * all[k].limit;
    return count == (ret_seen->sharers > 0 ? (int)ret_seen->sharers : ret_seen->held) &&
           ret_seen->sharers == sharers && ret_seen->permits == permits && sum == 0 &&
           ret_seen->waiting == waiting;
}

/* "a1/0=ab": a asks for permits/limit, then a and b have the lock; "?": it does not wait; "-": it
 * releases or cancels; ">": it downgrades; "<": it upgrades; "!": that is BUSY.  Without "=",
 * nobody is dispatched, and knows of a grant.  All that hold the lock together have one fence, and
 * the next a greater one. */
static void play(const char *word, uint64_t *latest)
{
    const char    *share = word + (*word < 'a') + 1, *has = word + strcspn(word, " =");
    unsigned       i       = (unsigned)(share[-1] - 'a');
    bool           goes_on = false, changes = *word == '<' || *word == '>';
    bowline_holder seen;

    if (*word == '!') {
        assert_status(BOWLINE_BUSY, bowline_upgrade(holds[i], NULL), NULL);
    } else if (changes) {
        weights[i] = *word == '>';
        assert_status(BOWLINE_OK,
                      (weights[i] ? bowline_downgrade : bowline_upgrade)(holds[i], NULL), NULL);
        assert_int_equal(bowline_hold_mode(holds[i]), weights[i]);
    } else if (*word != '-') {
        weights[i] = (uint32_t)(share[0] - '0');
        limits[i]  = (uint32_t)(share[2] - '0');
        ops[i]     = ask_for(i, weights[i], limits[i], *word == '?' ? 0 : BOWLINE_FOREVER);
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
    for (i = 0; i < COUNT_OF(holds); i++)
        goes_on = goes_on || holds[i] != NULL;
    for (int64_t end = clock_ms() + 10000; !is_held_by(has, *word == '?', &seen);)
        assert_true(clock_ms() < end);
    for (i = 0; i < COUNT_OF(holds); i++)
        assert_true(holds[i] == NULL || bowline_hold_fence(holds[i]) == seen.fence);
    assert_true(seen.left_ms == (seen.held ? INT64_MAX : 0) && !seen.foreign);
    assert_true(goes_on && !changes ? seen.fence == *latest : !seen.held || seen.fence > *latest);
    *latest = seen.held ? seen.fence : *latest;
}

LOCAL_TEST(waiters_are_served_in_order_as_long_as_they_fit)
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

    open_clients(THE_ENGINE);
    for (unsigned n = 0; n < COUNT_OF(scripts); n++)
        for (const char *word = scripts[n]; word != NULL; word = strchr(word, ' '))
            play(word += *word == ' ', &latest);
}

/* With file: a hold keeps its mode. */
LOCAL_TEST(downgrade_serves_the_waiters_and_upgrade_is_for_the_only_one)
{
    static const char *const scripts[] = {
        "a0/0=a b1/0=a c1/0=a d0/0=a e1/0=a >a=abc !a=abc !b=abc -b=ac -c=a <a=a >a=a -d=ae -e=a",
        "-a= a1/0=a <a=a ?b1/0=a b1/2=a >a=ab -a=b -b=",
    };
    bool          is_thread = strncmp(THE_ENGINE->name, "thread", 6) == 0;
    uint64_t      latest    = 0;
    bowline_error error;

    open_clients(THE_ENGINE);
    bowline_hold *hold   = must_acquire(clients[0], engine_lock());
    int           status = bowline_downgrade(hold, &error);
    must_release(hold);
    assert_status(is_thread ? BOWLINE_OK : BOWLINE_UNSUPPORTED, status, &error);
    for (unsigned n = 0; is_thread && n < COUNT_OF(scripts); n++)
        for (const char *word = scripts[n]; word != NULL; word = strchr(word, ' '))
            play(word += *word == ' ', &latest);
}

/* ---- the end of a share ---------------------------------------------------------------------- */

static bowline_hold *share(bowline_client *client, int64_t max_hold_ms)
{
    bowline_hold *hold = NULL;
    int           status =
        bowline_acquire(&hold, client, engine_lock(),
                        BOWLINE_ACQUIRE(.mode = BOWLINE_SHARED, .max_hold_ms = max_hold_ms), NULL);

    assert_true(status == BOWLINE_OK || status == BOWLINE_UNSUPPORTED);
    return hold;
}

/* The holder sleeps.  A writer that waits gets the lock when the last share has ended. */
ENGINE_TEST(max_hold_of_a_share_ends_that_share_alone)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_client *writer = engine_client(THE_ENGINE, NULL);
    bowline_hold   *kept   = share(other, 0);

    if (kept == NULL)
        return; /* it has no shared holds */
    bowline_hold *hold = share(client, 200);
    assert_true(bowline_hold_left_ms(hold) <= 200);
    bowline_operation *op = must_start(writer, engine_lock(), BOWLINE_FOREVER);
    must_end(hold);
    while (bowline_holders(other, engine_lock(), NULL, 0, NULL) != 1)
        assert_status(BOWLINE_OK, bowline_dispatch(writer, 1, NULL), NULL);
    assert_false(bowline_operation_done(op));
    assert_status(BOWLINE_OK, bowline_hold_check(kept, NULL), NULL);
    must_release(kept);
    must_release(must_finish(op));
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* In the order of arrival: twice the fence, and 1 of an exclusive hold; 0 after a cancel. */
static uint64_t        arrivals[THREADS * ROUNDS];
static unsigned        arrived;
static pthread_mutex_t arriving = PTHREAD_MUTEX_INITIALIZER, entering = PTHREAD_MUTEX_INITIALIZER;
static unsigned        in_use, faults; /* EXCLUSIVE, ONE_SHARE, permits of 3 */
static uint64_t        latest_fence;

/* Those that hold the lock together have one fence; the next ones, and after an exclusive hold the
 * next, a greater one. */
static void enter(unsigned adds, uint64_t fence)
{
    (void)pthread_mutex_lock(&entering);
    faults += in_use > 0 ? fence != latest_fence : fence < latest_fence + (adds == EXCLUSIVE);
    latest_fence = fence;
    in_use += adds;
    faults += in_use >= EXCLUSIVE ? in_use != adds : in_use % ONE_SHARE > 3;
    (void)pthread_mutex_unlock(&entering);
    (void)sched_yield();
    (void)pthread_mutex_lock(&entering);
    in_use -= adds;
    (void)pthread_mutex_unlock(&entering);
}

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
        arrivals[nth] = bowline_hold_fence(hold) * 2 + (permits == 0);
        enter(adds, arrivals[nth] / 2);
        must_release(hold);
    }
    return NULL;
}

/* On file:, a thread that finds the latch taken draws its ticket a little later. */
LOCAL_TEST(threads_share_in_order_and_exclude)
{
    pthread_t threads[THREADS];
    uint64_t  last = 0;

    open_clients(THE_ENGINE);
    arrived      = 0;
    latest_fence = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_turns, (void *)i), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(faults, 0);
    for (unsigned i = 0; i < arrived && !THE_ENGINE->across_fork; i++) {
        assert_true(arrivals[i] == 0 || arrivals[i] / 2 >= last / 2 + ((arrivals[i] | last) & 1));
        last = arrivals[i] != 0 ? arrivals[i] : last;
    }
}
