/*
 * test_spin.c -- looking for an answer before sleeping: for how long, when not at all, and what is
 * learned from how it came out.
 *
 * The system is played: every look takes a microsecond, and the answer comes at a look that the
 * test has chosen.
 */
#include "net/spin.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { US = 1000, NEVER = INT_MAX };

static int64_t  now_ns;
static int      answer_at; /* which look brings it; NEVER                                  */
static int64_t  sleep_ns;  /* how long it takes then                                       */
static int64_t  offer_ns;  /* for how long another has the CPU when it is offered          */
static int      gap_at;    /* which look takes GAP_NS; NEVER                               */
static int64_t  gap_ns;
static ssize_t  last; /* what recv says in the end                                    */
static int      last_errno;
static unsigned cpus_count;
static int      cpus_errno; /* what counting the CPUs leaves in errno; 0: nothing               */
static int      looks;
static int      sleeps;
static int      offers;
static int      clock_readings;

static int64_t clock_of_test(void)
{
    clock_readings++;
    return now_ns;
}

static ssize_t look(int fd, void *ret_bytes, size_t room)
{
    (void)fd;
    (void)ret_bytes;
    assert_int_equal(room, 8);
    looks++;
    now_ns += looks == gap_at ? gap_ns : US;
    errno = looks == answer_at ? last_errno : EAGAIN;
    return looks == answer_at ? last : -1;
}

static ssize_t sleep_there(int fd, void *ret_bytes, size_t room)
{
    (void)fd;
    (void)ret_bytes;
    (void)room;
    sleeps++;
    now_ns += sleep_ns;
    errno = last_errno;
    return last;
}

static void offer(void)
{
    offers++;
    now_ns += offer_ns;
}

static unsigned cpus(void)
{
    if (cpus_errno != 0)
        errno = cpus_errno;
    return cpus_count;
}

static const bwl_spin_system played = {
    .now_ns = clock_of_test, .look = look, .sleep = sleep_there, .offer = offer, .cpus = cpus
};

static int begin(void **state)
{
    (void)state;
    now_ns     = 77 * US;
    answer_at  = NEVER;
    gap_at     = NEVER;
    sleep_ns   = 40 * US;
    offer_ns   = 0;
    last       = 5;
    last_errno = 0;
    cpus_count = 2;
    cpus_errno = 0;
    return 0;
}

/* One wait at this millisecond, as an engine does it. */
static ssize_t wait_at(bwl_spin *spin, bwl_ms now)
{
    char bytes[8];

    looks              = 0;
    sleeps             = 0;
    offers             = 0;
    clock_readings     = 0;
    bwl_spin_wait wait = bwl_spin_plan(spin, now);
    ssize_t       got  = bwl_spin_receive(&wait, 3, bytes, sizeof bytes);
    int           what = errno;
    bwl_spin_learn(spin, &wait, got >= 0, now);
    errno = what;
    return got;
}

/* One whose answers take `us`, and always did. */
static bwl_spin spin_of(int64_t us)
{
    return (bwl_spin){ .system = &played, .smoothed_ns = us * US };
}

/* ---- how long an answer takes ---------------------------------------------------------------- */

static void test_spin_sleeps_until_it_knows(void **state)
{
    bwl_spin spin = { .system = &played };

    (void)state;
    assert_int_equal(wait_at(&spin, 1), 5);
    assert_int_equal(looks, 0);
    assert_int_equal(sleeps, 1);
    assert_int_equal(spin.smoothed_ns, 40 * US);
    assert_int_equal(spin.varies_ns, 20 * US);
    answer_at = 3;
    assert_int_equal(wait_at(&spin, 1), 5);
    assert_int_equal(looks, 3);
    assert_int_equal(sleeps, 0);
    assert_int_equal(spin.paid, 1);
}

/* The figures of RFC 6298: an eighth of the new, a quarter of the deviation. */
static void test_spin_smooths_as_tcp_does(void **state)
{
    bwl_spin spin = { .system = &played };

    (void)state;
    sleep_ns = 80 * US;
    (void)wait_at(&spin, 1);
    spin.rests_until = 0;
    answer_at        = 40;
    (void)wait_at(&spin, 1);
    assert_int_equal(spin.varies_ns, 40 * US);
    assert_int_equal(spin.smoothed_ns, 75 * US);
}

static void test_spin_lasts_for_a_usual_answer(void **state)
{
    bwl_spin spin = spin_of(20);

    (void)state;
    spin.varies_ns = 5 * US;
    assert_int_equal(bwl_spin_plan(&spin, 1).spin_ns, 40 * US);
    assert_int_equal(wait_at(&spin, 1), 5);
    assert_int_equal(looks, 40);
    assert_int_equal(sleeps, 1);
    assert_int_equal(spin.unpaid, 1);
    spin           = spin_of(190);
    spin.varies_ns = 50 * US;
    assert_int_equal(bwl_spin_plan(&spin, 1).spin_ns, BWL_SPIN_MAX_NS);
}

static void test_spin_is_not_for_long_answers(void **state)
{
    bwl_spin spin = spin_of(201);

    (void)state;
    answer_at = 1;
    sleep_ns  = 201 * US;
    (void)wait_at(&spin, 7);
    assert_int_equal(looks, 0);
    assert_int_equal(sleeps, 1);
    assert_int_equal(spin.rests_until, 8);
    (void)wait_at(&spin, 7);
    assert_int_equal(clock_readings, 0); /* nothing is measured in a pause */
    sleep_ns = 100 * US;
    (void)wait_at(&spin, 8);
    (void)wait_at(&spin, 8); /* the second was known to be short before it began */
    assert_int_equal(looks, 1);
}

/* ---- is the CPU wanted? ---------------------------------------------------------------------- */

static void test_spin_offers_the_cpu_once(void **state)
{
    bwl_spin spin = spin_of(20);

    (void)state;
    answer_at = 9;
    (void)wait_at(&spin, 1);
    assert_int_equal(offers, 1);
    answer_at = 1;
    (void)wait_at(&spin, 1);
    assert_int_equal(offers, 0);
}

static void test_spin_sees_that_another_took_the_cpu(void **state)
{
    bwl_spin spin = spin_of(20);

    (void)state;
    answer_at = 2;
    offer_ns  = 10 * US; /* and the microsecond of the look: more than half */
    assert_int_equal(wait_at(&spin, 5), 5);
    assert_int_equal(sleeps, 0);
    assert_int_equal(spin.paid, 0);
    assert_int_equal(spin.unpaid, 1);
    assert_int_equal(spin.rests_until, 6);
    spin      = spin_of(20);
    offer_ns  = 8 * US;
    answer_at = 9;
    assert_int_equal(wait_at(&spin, 5), 5);
    assert_int_equal(spin.paid, 1);
    spin   = spin_of(20);
    gap_at = 4;
    gap_ns = 11 * US;
    assert_int_equal(wait_at(&spin, 5), 5);
    assert_int_equal(spin.unpaid, 1);
}

static void test_spin_stops_when_another_took_the_cpu(void **state)
{
    bwl_spin spin = spin_of(20);

    (void)state;
    spin.varies_ns = 20 * US;
    gap_at         = 4;
    gap_ns         = 12 * US;
    assert_int_equal(wait_at(&spin, 5), 5);
    assert_int_equal(looks, 5); /* once more: it may have come meanwhile */
    assert_int_equal(sleeps, 1);
    assert_int_equal(spin.unpaid, 1);
}

static void test_spin_leaves_a_cpu_for_the_server(void **state)
{
    (void)state;
    assert_false(bwl_spin_has_room(0, 1));
    assert_true(bwl_spin_has_room(0, 2));
    assert_false(bwl_spin_has_room(1, 2));
    assert_true(bwl_spin_has_room(1, 3));
    assert_true(bwl_spin_has_room(6, 8));
    assert_false(bwl_spin_has_room(7, 8));

    bwl_spin spin = spin_of(20);
    cpus_count    = 1;
    answer_at     = 1;
    (void)wait_at(&spin, 1);
    assert_int_equal(looks, 0);
    assert_int_equal(sleeps, 1);
    assert_int_equal(spin.unpaid, 0);
    assert_int_equal(spin.rests_until, 0);
}

typedef struct other {
    pthread_barrier_t inside;
    pthread_barrier_t leaves;
} other;

static other another;

static ssize_t sleep_with_us(int fd, void *ret_bytes, size_t room)
{
    (void)fd;
    (void)ret_bytes;
    (void)room;
    (void)pthread_barrier_wait(&another.inside);
    (void)pthread_barrier_wait(&another.leaves);
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

    (void)arg;
    (void)bwl_spin_receive(&wait, 3, &byte, 1);
    return NULL;
}

static void test_spin_counts_the_others_of_the_process(void **state)
{
    bwl_spin  spin = spin_of(20);
    pthread_t thread;

    (void)state;
    answer_at = 1;
    assert_int_equal(pthread_barrier_init(&another.inside, NULL, 2), 0);
    assert_int_equal(pthread_barrier_init(&another.leaves, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_elsewhere, NULL), 0);
    (void)pthread_barrier_wait(&another.inside);
    (void)wait_at(&spin, 1);
    assert_int_equal(looks, 0);
    cpus_count = 3;
    (void)wait_at(&spin, 1);
    assert_int_equal(looks, 1);
    cpus_count = 2;
    (void)pthread_barrier_wait(&another.leaves);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)wait_at(&spin, 1);
    assert_int_equal(looks, 1);
    (void)pthread_barrier_destroy(&another.inside);
    (void)pthread_barrier_destroy(&another.leaves);
}

/* ---- pauses ---------------------------------------------------------------------------------- */

static void test_spin_pauses_longer_each_time(void **state)
{
    bwl_spin spin = spin_of(20);
    bwl_ms   now  = 1;

    (void)state;
    for (bwl_ms pause = 1; pause < 3 * BWL_SPIN_PAUSE_MAX_MS; pause *= 2) {
        bwl_ms expected = pause < BWL_SPIN_PAUSE_MAX_MS ? pause : BWL_SPIN_PAUSE_MAX_MS;
        (void)wait_at(&spin, now);
        assert_true(looks > 0);
        assert_int_equal(spin.rests_until, now + expected);
        (void)wait_at(&spin, now + expected - 1);
        assert_int_equal(looks, 0);
        now += expected;
    }
}

static void test_spin_forgives_by_eighths(void **state)
{
    bwl_spin spin = spin_of(20);

    (void)state;
    spin.pause_ms = 1024;
    answer_at     = 2;
    (void)wait_at(&spin, 1);
    assert_int_equal(spin.pause_ms, 896);
    for (int i = 0; i < 60; i++)
        (void)wait_at(&spin, 1);
    assert_int_equal(spin.pause_ms, 0);
    assert_int_equal(spin.rests_until, 0);
}

/* Every sixth in vain is about what it bears; every second is not. */
static bwl_ms pause_after(int every)
{
    bwl_spin spin = spin_of(20);
    bwl_ms   now  = 1;

    spin.pause_ms = 64;
    for (int i = 1; i <= 300; i++) {
        spin.smoothed_ns = 20 * US;
        spin.varies_ns   = 0;
        answer_at        = i % every == 0 ? NEVER : 2;
        (void)wait_at(&spin, now);
        if (spin.rests_until > now)
            now = spin.rests_until;
    }
    return spin.pause_ms;
}

static void test_spin_bears_a_few_that_fail(void **state)
{
    (void)state;
    assert_in_range(pause_after(10), 0, 2);
    assert_in_range(pause_after(2), 512, BWL_SPIN_PAUSE_MAX_MS);
}

/* ---- what comes ------------------------------------------------------------------------------ */

static void test_spin_off_is_a_sleep_and_nothing_else(void **state)
{
    bwl_spin spin = spin_of(20);

    (void)state;
    spin.is_off = true;
    answer_at   = 1;
    assert_int_equal(wait_at(&spin, 1), 5);
    assert_int_equal(looks + offers + clock_readings, 0);
    assert_int_equal(sleeps, 1);
    assert_int_equal(spin.sleeps, 1);
}

static void test_spin_passes_on_what_it_found(void **state)
{
    const struct {
        ssize_t got;
        int     error;
        int     sleeps;
    } ends[] = { { 0, 0, 0 }, { -1, ECONNRESET, 0 }, { -1, EINTR, 0 }, { -1, EAGAIN, 1 } };

    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        bwl_spin spin = spin_of(20);
        last          = ends[i].got;
        last_errno    = ends[i].error;
        answer_at     = 2;
        assert_int_equal(wait_at(&spin, 1), ends[i].got);
        if (ends[i].got < 0)
            assert_int_equal(errno, ends[i].error);
        assert_int_equal(sleeps, ends[i].sleeps);
        assert_int_equal(spin.paid, ends[i].got == 0 ? 1 : 0);
    }
}

/* sysconf(3) may succeed and still change errno: without /sys it leaves ENOENT there. */
static void test_spin_ignores_the_errno_of_the_cpu_count(void **state)
{
    (void)state;
    cpus_errno = ENOENT;
    for (cpus_count = 1; cpus_count <= 2; cpus_count++) {
        bwl_spin spin = spin_of(20);
        assert_int_equal(wait_at(&spin, 1), 5);
        assert_int_equal(sleeps, 1);
        assert_int_equal(looks > 0, cpus_count == 2);
    }
}

static unsigned count_as_one(void)
{
    (void)bwl_spin_real.cpus();
    return 1;
}

/* The real sockets and the real count, in a process that has no descriptor left for /sys. */
static void test_spin_receives_without_a_descriptor_for_the_cpu_count(void **state)
{
    bwl_spin_system system = bwl_spin_real;
    bwl_spin        spin   = { .system = &system, .smoothed_ns = 20 * US };
    bwl_spin_wait   wait   = bwl_spin_plan(&spin, 1);
    struct rlimit   before;
    struct rlimit   none;
    char            bytes[8];
    int             pair[2];

    (void)state;
    system.cpus = count_as_one;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(write(pair[1], "reply", 5), 5);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none          = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    ssize_t got = bwl_spin_receive(&wait, pair[0], bytes, sizeof bytes);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(got, 5);
    assert_memory_equal(bytes, "reply", 5);
    assert_int_equal(wait.looks, 0);
    assert_true(wait.slept);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

#define CASE(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_spin_sleeps_until_it_knows),
        CASE(test_spin_smooths_as_tcp_does),
        CASE(test_spin_lasts_for_a_usual_answer),
        CASE(test_spin_is_not_for_long_answers),
        CASE(test_spin_offers_the_cpu_once),
        CASE(test_spin_sees_that_another_took_the_cpu),
        CASE(test_spin_stops_when_another_took_the_cpu),
        CASE(test_spin_leaves_a_cpu_for_the_server),
        CASE(test_spin_counts_the_others_of_the_process),
        CASE(test_spin_pauses_longer_each_time),
        CASE(test_spin_forgives_by_eighths),
        CASE(test_spin_bears_a_few_that_fail),
        CASE(test_spin_off_is_a_sleep_and_nothing_else),
        CASE(test_spin_passes_on_what_it_found),
        CASE(test_spin_ignores_the_errno_of_the_cpu_count),
        CASE(test_spin_receives_without_a_descriptor_for_the_cpu_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
