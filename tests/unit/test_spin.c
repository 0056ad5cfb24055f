/*
 * test_spin.c -- busy-polling for a reply: how long a wait spins, when it sleeps at once, and what
 * the next wait learns from it.
 *
 * The system is a fake: each poll takes a microsecond, and a row says which poll gets the reply.
 */
#include "net/spin.h"
#include "tests/lib/suite.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>

enum { US = 1000, NEVER = INT_MAX };

typedef struct row {
    const char *what;
    int         smoothed_us, varies_us;
    bool        is_off;
    unsigned    cpus;           /* 0: 2 */
    int         answer_at;      /* the poll that gets the reply; 0: NEVER */
    int         sleep_us;       /* 0: 40 */
    int         offer_us;       /* how long another thread has the CPU after sched_yield */
    int         gap_at, gap_us; /* this poll takes so long */
    int         got, error;     /* what recv returns in the end; got 0: 5 bytes, -2: 0 bytes */
    int         looks, sleeps, offers; /* expected */
    bwl_ms      rests_until;           /* expected, of a wait at 5 ms */
} row;

static row     now_played;
static int64_t now_ns;
static int     looks, sleeps, offers, clock_readings;
static bool    cpus_set_errno;

static int64_t clock_of_test(void)
{
    clock_readings++;
    return now_ns;
}

static ssize_t reply(void)
{
    errno = now_played.error;
    return now_played.got == -2 ? 0 : now_played.got == 0 ? 5 : now_played.got;
}

static ssize_t look(int fd, void *ret_bytes, size_t room)
{
    assert_int_equal(room, 8);
    looks++;
    now_ns += looks == now_played.gap_at ? now_played.gap_us * US : US;
    if (looks == now_played.answer_at)
        return reply();
    errno = EAGAIN;
    return -1;
}

static ssize_t sleep_there(int fd, void *ret_bytes, size_t room)
{
    sleeps++;
    now_ns += (now_played.sleep_us == 0 ? 40 : now_played.sleep_us) * US;
    return reply();
}

static void offer(void)
{
    offers++;
    now_ns += now_played.offer_us * US;
}

static unsigned cpus(void)
{
    if (cpus_set_errno)
        errno = ENOENT;
    return now_played.cpus == 0 ? 2 : now_played.cpus;
}

static const bwl_spin_system fake = {
    .now_ns = clock_of_test, .look = look, .sleep = sleep_there, .offer = offer, .cpus = cpus
};

static bwl_spin begin(row played)
{
    now_played     = played;
    now_ns         = 77 * US;
    cpus_set_errno = false;
    return (bwl_spin){ .system      = &fake,
                       .is_off      = played.is_off,
                       .smoothed_ns = played.smoothed_us * US,
                       .varies_ns   = played.varies_us * US };
}

static ssize_t wait_at(bwl_spin *spin, bwl_ms now)
{
    char bytes[8];

    looks = sleeps = offers = clock_readings = 0;
    bwl_spin_wait wait                       = bwl_spin_plan(spin, now);
    ssize_t       got                        = bwl_spin_receive(&wait, 3, bytes, sizeof bytes);
    int           error                      = errno;
    bwl_spin_learn(spin, &wait, got >= 0, now);
    errno = error;
    return got;
}

/* ---- one wait -------------------------------------------------------------------------------- */

static const row rows[] = {
    { "no reply time is known: sleep", .answer_at = 1, .sleeps = 1 },
    { "reply at the first look", 20, .answer_at = 1, .looks = 1 },
    { "the CPU is offered once", 20, .answer_at = 9, .looks = 9, .offers = 1 },
    { "spinning ends at smoothed + 4 * deviation", 20, 5, .looks = 40, .sleeps = 1, .offers = 1,
      .rests_until = 6 },
    { "spinning ends at the maximum", 190, 50, .looks = 200, .sleeps = 1, .offers = 1,
      .rests_until = 6 },
    { "reply times above the maximum: sleep", 201, .answer_at = 1, .sleep_us = 201, .sleeps = 1,
      .rests_until = 6 },
    { "another thread took the CPU", 20, .answer_at = 2, .offer_us = 10, .looks = 2, .offers = 1,
      .rests_until = 6 },
    { "another thread had it for less than half", 20, .answer_at = 9, .offer_us = 8, .looks = 9,
      .offers = 1 },
    { "a gap of more than half: one more look", 20, 20, .gap_at = 4, .gap_us = 12, .looks = 5,
      .sleeps = 1, .offers = 1, .rests_until = 6 },
    { "one CPU: sleep", 20, .cpus = 1, .answer_at = 1, .sleeps = 1 },
    { "off: sleep", 20, .is_off = true, .answer_at = 1, .sleeps = 1 },
    { "end of the stream", 20, .answer_at = 2, .got = -2, .looks = 2, .offers = 1 },
    { "reset", 20, .answer_at = 2, .got = -1, .error = ECONNRESET, .looks = 2, .offers = 1,
      .rests_until = 6 },
    { "interrupted", 20, .answer_at = 2, .got = -1, .error = EINTR, .looks = 2, .offers = 1,
      .rests_until = 6 },
};

TEST(spin_of_one_wait_ends_as_the_row_says)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const row *r     = &rows[i];
        bwl_spin   spin  = begin(*r);
        ssize_t    got   = wait_at(&spin, 5);
        int        error = errno;

        print_message("# %s\n", r->what);
        assert_int_equal(got, r->got == -2 ? 0 : r->got == 0 ? 5 : r->got);
        assert_true(got >= 0 || error == r->error);
        assert_int_equal(looks, r->looks);
        assert_int_equal(sleeps, r->sleeps);
        assert_int_equal(offers, r->offers);
        assert_int_equal(spin.rests_until, r->rests_until);
        assert_int_equal(clock_readings == 0, r->is_off);
    }
}

/* sysconf(3) may succeed and change errno: without /sys it leaves ENOENT. */
TEST(spin_errno_of_the_cpu_count_is_ignored)
{
    for (unsigned count = 1; count <= 2; count++) {
        bwl_spin spin  = begin((row){ .smoothed_us = 20, .cpus = count });
        cpus_set_errno = true;
        assert_int_equal(wait_at(&spin, 1), 5);
        assert_int_equal(sleeps, 1);
        assert_int_equal(looks > 0, count == 2);
    }
}

/* ---- one wait after the other ---------------------------------------------------------------- */

/* The figures of RFC 6298: an eighth of the new, a quarter of the deviation. */
TEST(spin_smooths_as_RFC_6298_does)
{
    bwl_spin spin = begin((row){ .sleep_us = 80 });

    (void)wait_at(&spin, 1);
    assert_int_equal(spin.smoothed_ns, 80 * US);
    assert_int_equal(spin.varies_ns, 40 * US);
    now_played.answer_at = 40;
    (void)wait_at(&spin, 1);
    assert_int_equal(spin.varies_ns, 40 * US);
    assert_int_equal(spin.smoothed_ns, 75 * US);
}

/* A reply of 3 ms raises the mean from 20 to 392 us.  The waits of the pause lower it. */
TEST(spin_goes_on_after_one_late_reply)
{
    bwl_spin spin = begin((row){ .smoothed_us = 20, .sleep_us = 3000 });

    (void)wait_at(&spin, 1);
    assert_in_range(spin.smoothed_ns, BWL_SPIN_MAX_NS, 2 * BWL_SPIN_MAX_NS);
    assert_int_equal(spin.rests_until, 2);
    now_played.sleep_us = 20;
    for (int i = 0; i < 20; i++) {
        (void)wait_at(&spin, 1);
        assert_int_equal(looks, 0);
    }
    assert_in_range(spin.smoothed_ns, 20 * US, 60 * US);
    assert_int_equal(spin.rests_until, 2); /* a wait in a pause begins no other */
    now_played.answer_at = 2;
    (void)wait_at(&spin, 2);
    assert_int_equal(spin.rests_until, 2); /* it has paid */
}

TEST(spin_pauses_double_up_to_the_maximum)
{
    bwl_spin spin = begin((row){ .smoothed_us = 20 });
    bwl_ms   now  = 1;

    for (bwl_ms pause = 1; pause < 3 * BWL_SPIN_PAUSE_MAX_MS; pause *= 2) {
        bwl_ms expected = pause < BWL_SPIN_PAUSE_MAX_MS ? pause : BWL_SPIN_PAUSE_MAX_MS;
        (void)wait_at(&spin, now);
        assert_true(looks > 0);
        assert_int_equal(spin.rests_until, now + expected);
        (void)wait_at(&spin, now + expected - 1);
        assert_int_equal(looks, 0); /* in the pause */
        now += expected;
    }
}

TEST(spin_pause_shrinks_by_eighths)
{
    bwl_spin spin = begin((row){ .smoothed_us = 20, .answer_at = 2 });

    spin.pause_ms = 1024;
    (void)wait_at(&spin, 1);
    assert_int_equal(spin.pause_ms, 896);
    for (int i = 0; i < 60; i++)
        (void)wait_at(&spin, 1);
    assert_int_equal(spin.pause_ms, 0);
    assert_int_equal(spin.rests_until, 0);
}

/* The pause after 300 waits, of which every nth gets no reply while it spins. */
static bwl_ms pause_after(int every)
{
    bwl_spin spin = begin((row){ .smoothed_us = 20 });
    bwl_ms   now  = 1;

    spin.pause_ms = 64;
    for (int i = 1; i <= 300; i++) {
        spin.smoothed_ns     = 20 * US;
        spin.varies_ns       = 0;
        now_played.answer_at = i % every == 0 ? NEVER : 2;
        (void)wait_at(&spin, now);
        if (spin.rests_until > now)
            now = spin.rests_until;
    }
    return spin.pause_ms;
}

TEST(spin_continues_when_few_waits_fail)
{
    assert_in_range(pause_after(10), 0, 2);
    assert_in_range(pause_after(2), 512, BWL_SPIN_PAUSE_MAX_MS);
}

/* ---- other threads --------------------------------------------------------------------------- */

TEST(spin_leaves_a_cpu_for_the_server)
{
    static const struct {
        unsigned cpus, others; /* the highest number of other threads that leaves room */
    } limits[] = { { 2, 0 }, { 3, 1 }, { 8, 6 } };

    assert_false(bwl_spin_has_room(0, 1));
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        assert_true(bwl_spin_has_room(limits[i].others, limits[i].cpus));
        assert_false(bwl_spin_has_room(limits[i].others + 1, limits[i].cpus));
    }
}

static pthread_barrier_t inside, leaves;

static ssize_t sleep_with_us(int fd, void *ret_bytes, size_t room)
{
    (void)pthread_barrier_wait(&inside);
    (void)pthread_barrier_wait(&leaves);
    return 1;
}

static int64_t no_time(void)
{
    return 0;
}

static void *wait_elsewhere(void *arg)
{
    static const bwl_spin_system elsewhere = { .now_ns = no_time, .sleep = sleep_with_us };
    char                         byte;
    bwl_spin_wait                wait = { .system = &elsewhere, .is_measured = true };

    (void)bwl_spin_receive(&wait, 3, &byte, 1);
    return NULL;
}

static int looks_with(unsigned count)
{
    bwl_spin spin = begin((row){ .smoothed_us = 20, .cpus = count, .answer_at = 1 });

    (void)wait_at(&spin, 1);
    return looks;
}

TEST(spin_counts_other_waiting_threads_of_the_process)
{
    pthread_t thread;

    assert_int_equal(pthread_barrier_init(&inside, NULL, 2), 0);
    assert_int_equal(pthread_barrier_init(&leaves, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_elsewhere, NULL), 0);
    (void)pthread_barrier_wait(&inside);
    assert_int_equal(looks_with(2), 0);
    assert_int_equal(looks_with(3), 1);
    (void)pthread_barrier_wait(&leaves);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(looks_with(2), 1);
    (void)pthread_barrier_destroy(&inside);
    (void)pthread_barrier_destroy(&leaves);
}
