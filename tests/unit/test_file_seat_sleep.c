/*
 * test_file_seat_sleep.c -- who does not take the lock when it is his turn is overtaken after a
 * while, and finds out when he wakes up.
 *
 * A seat that is not tried is one that sleeps.  Time is real here.
 */
#include "seat_fixture.h"

#include <sys/syscall.h>

enum {
    PATIENCE    = BWL_FILE_PATIENCE_MS,
    FOR_SLEEPER = (BWL_FILE_SIGHTINGS - 1) * BWL_FILE_SIGHTING_MS,
    APART       = 128,
};

static unsigned tries;

/* Tries as a waiter does; after how long it got it. */
static int64_t overtakes(unsigned i)
{
    int64_t began = clock_ms();

    for (tries = 1; try(i) == BWL_NO; tries++) {
        assert_true(clock_ms() - began < 10000);
        sleep_ms(APART);
    }
    return clock_ms() - began;
}

/* That it took no longer: where this machine was late, there were fewer tries. */
static void expect_tries_within(unsigned ms)
{
    assert_in_range(tries, 1, ms / APART);
}

static void test_file_seat_sleep_harms_only_who_sleeps(void **state)
{
    uint64_t first = takes(0);

    waits(1);
    waits(2);
    leave(0);
    int64_t  took_ms = overtakes(2);
    uint64_t second  = number;
    assert_true(took_ms >= PATIENCE + FOR_SLEEPER);
    expect_tries_within(PATIENCE + FOR_SLEEPER + 1000);
    assert_true(second > first);

    assert_int_equal(try(1), BWL_LATER); /* awake, but too late */
}

static void test_file_seat_sleep_who_wakes_up_joins_anew(void **state)
{
    (void)takes(0);
    waits(1);
    waits(2);
    leave(0);
    (void)overtakes(2);
    uint64_t second = number;
    assert_int_equal(try(1), BWL_LATER);
    assert_false(seats[1]->queued);
    waits(1);
    leave(2);
    assert_true(gets(1) > second); /* with a ticket of before it would be less */
}

/* Once it is known who sleeps, nobody waits for him again: neither who stands there nor who comes.
 * */
static void test_file_seat_sleep_costs_once(void **state)
{
    (void)takes(0);
    waits(1);
    waits(2);
    waits(3);
    leave(0);
    (void)overtakes(2);
    uint64_t second = number;
    gets_not(3);
    leave(2);
    uint64_t third = gets(3); /* at once, and in his turn */
    assert_true(third > second);
    leave(3);
    assert_int_equal(join(2, ONCE), BWL_YES);
    assert_true(number > third);
    assert_int_equal(join(0, ONCE), BWL_NO);
    waits(0);
    leave(2);
    (void)gets(0);
}

static void test_file_seat_sleep_of_two_takes_longer(void **state)
{
    (void)takes(0);
    waits(1);
    waits(2);
    waits(3);
    leave(0);
    assert_true(overtakes(3) >= PATIENCE + 2 * FOR_SLEEPER);
    expect_tries_within(PATIENCE + 2 * FOR_SLEEPER + 1500);
    assert_int_equal(try(1), BWL_LATER);
    assert_int_equal(try(2), BWL_LATER);
}

static void test_file_seat_sleep_is_not_what_a_holder_does(void **state)
{
    (void)takes(0);
    waits(1);
    waits(2);
    for (int64_t until = clock_ms() + 3 * PATIENCE + 500; clock_ms() < until; sleep_ms(128)) {
        gets_not(1);
        gets_not(2);
    }
    leave(0);
    gets_not(2);
    (void)gets(1);
}

/* Who holds by flock alone stands in no queue: the first in it is awake all the same. */
static void test_file_seat_sleep_is_not_waiting_for_a_flock(void **state)
{
    int fd = open_in("n");

    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(join(0, WAITS), BWL_NO);
    waits(1);
    for (int64_t until = clock_ms() + 3 * PATIENCE + 500; clock_ms() < until; sleep_ms(128))
        gets_not(1);
    (void)close(fd);
    gets_not(1); /* free, but for the first */
    sleep_ms(PATIENCE / 2);
    gets_not(1);
    (void)gets(0);
}

/* Two who are behind the sleeper look at the same time: the one that finds the other there looks
 * again soon, and once, as it may be a holder. */
static void test_file_seat_sleep_look_of_others_is_no_reason_to_be_late(void **state)
{
    int fd = open_in("n");

    (void)takes(0);
    waits(1);
    waits(2);
    leave(0);
    gets_not(2);
    sleep_ms(PATIENCE + 1);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    gets_not(2);
    assert_int_equal(number, LOCAL_WILL_NOT);
    gets_not(2);
    assert_int_equal(number, LOCAL_WILL_PUSH);
    (void)close(fd);
    int64_t began = clock_ms();
    gets_not(2); /* the first time that it is free */
    assert_int_equal(number, LOCAL_WILL_NOT);
    (void)overtakes(2);
    assert_true(clock_ms() - began >= FOR_SLEEPER);
    expect_tries_within(FOR_SLEEPER + 1000);
}

static void test_file_seat_sleep_of_who_came_first_behind_a_flock_is_noticed_too(void **state)
{
    int fd = open_in("n");

    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(join(0, WAITS), BWL_NO);
    waits(1);
    (void)close(fd);
    (void)overtakes(1);
    assert_int_equal(try(0), BWL_LATER);
}

/* It is free again and again, though never for long: who is awake would have had it. */
static void test_file_seat_sleep_is_seen_also_between_the_flocks_of_others(void **state)
{
    bwl_answer answer = BWL_NO;
    int        fd     = open_in("n");

    (void)takes(0);
    waits(1);
    waits(2);
    leave(0);
    for (unsigned i = 0; answer == BWL_NO && i < 200; i++) {
        assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
        sleep_ms(40);
        gets_not(2);
        assert_int_equal(flock(fd, LOCK_UN), 0);
        answer = try(2);
    }
    assert_int_equal(answer, BWL_YES);
    assert_int_equal(try(1), BWL_LATER);
    (void)close(fd);
}

/* Between two of our looks everything may have been taken and given back. */
static void test_file_seat_sleep_is_counted_anew_when_somebody_held_meanwhile(void **state)
{
    (void)takes(0);
    waits(1);
    waits(2);
    waits(3);
    leave(0);
    gets_not(3);
    sleep_ms(PATIENCE);
    (void)gets(1);
    leave(1);
    gets_not(3); /* not even looked whether it is free */
    assert_int_equal(number, LOCAL_WILL_PUSH);
    (void)gets(2);
}

/* It was free in between: who has it now may be one that only looks, once more. */
static void test_file_seat_sleep_look_of_others_is_met_anew_after_it_was_free(void **state)
{
    int fd = open_in("n");

    (void)takes(0);
    waits(1);
    waits(2);
    leave(0);
    gets_not(2);
    seats[2]->idle_since = 1; /* long ago */
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    gets_not(2);
    assert_int_equal(number, LOCAL_WILL_NOT);
    gets_not(2);
    assert_int_equal(number, LOCAL_WILL_PUSH);
    assert_int_equal(flock(fd, LOCK_UN), 0);
    gets_not(2);
    assert_int_equal(seats[2]->free_seen, 1);
    seats[2]->free_at = 1; /* long ago, too */
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    gets_not(2);
    assert_int_equal(number, LOCAL_WILL_NOT);
    (void)close(fd);
}

/* A waiter has left after a while, and comes back: what it has seen before does not count against
 * those who are before it now.  That it was long ago is written instead of waited for. */
static void test_file_seat_sleep_is_counted_anew_by_who_comes_back(void **state)
{
    (void)takes(0);
    waits(1);
    leave(0);
    waits(2);
    gets_not(2);
    seats[2]->idle_since = 1;
    seats[2]->free_seen  = SEATS * BWL_FILE_SIGHTINGS;
    leave(2);
    waits(2);
    gets_not(2);
    (void)gets(1);
}

/* He slept between finding himself at the head and taking it. */
static void test_file_seat_sleep_just_before_taking_is_noticed(void **state)
{
    int fd;

    (void)takes(0);
    waits(1);
    leave(0);
    fd = open_in("n");
    assert_int_equal(bwl_file_write_granted(fd, seats[1]->ticket + 1, &seats[1]->store->self, 1),
                     0);
    (void)close(fd);
    assert_int_equal(try(1), BWL_LATER);
    assert_false(seats[1]->flocked);
}

/* What happens just before the next flock(2). */
static void (*before_flock)(void);

/* As NFS does: a file that is open for reading only cannot be locked. */
static bool wants_writable;

/* Instead of libc's. */
int flock(int fd, int operation)
{
    void (*first)(void) = before_flock;

    before_flock = NULL;
    if (first != NULL)
        first();
    if (wants_writable && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
        errno = EBADF;
        return -1;
    }
    return (int)syscall(SYS_flock, fd, operation);
}

static void grant_to_who_overtakes(void)
{
    int fd = open_in("n");

    assert_int_equal(bwl_file_write_granted(fd, seats[1]->ticket + 7, &seats[1]->store->self, 1),
                     0);
    (void)close(fd);
}

/* He slept between the look that found him at the head and the flock: with a fence that is less
 * than one that was granted, what he writes would be refused, or worse. */
static void test_file_seat_sleep_between_look_and_flock_is_noticed(void **state)
{
    bwl_file_head head;
    int           fd = open_in("n");

    (void)takes(0);
    waits(1);
    leave(0);
    uint64_t ticket = seats[1]->ticket;
    before_flock    = grant_to_who_overtakes;
    assert_int_equal(try(1), BWL_LATER);
    assert_null(before_flock);
    assert_false(seats[1]->flocked);
    assert_false(seats[1]->queued);
    assert_int_equal(bwl_file_read_head(fd, &head), 0);
    assert_int_equal(head.granted, ticket + 7);
    (void)close(fd);
    assert_true(takes(1) > ticket + 7);
}

static void test_file_seat_opens_for_writing_what_must_be(void **state)
{
    unsigned before = count_descriptors();

    wants_writable = true;
    (void)takes(0);
    assert_int_equal(fcntl(seats[0]->named.fd, F_GETFL) & O_ACCMODE, O_RDWR);
    leave(0);
    wants_writable = false;
    assert_int_equal(count_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_name(test_file_seat_sleep_harms_only_who_sleeps),
        with_path(test_file_seat_opens_for_writing_what_must_be),
        with_path(test_file_seat_sleep_who_wakes_up_joins_anew),
        with_name(test_file_seat_sleep_costs_once),
        with_name(test_file_seat_sleep_of_two_takes_longer),
        with_name(test_file_seat_sleep_is_not_what_a_holder_does),
        with_name(test_file_seat_sleep_is_not_waiting_for_a_flock),
        with_name(test_file_seat_sleep_look_of_others_is_no_reason_to_be_late),
        with_name(test_file_seat_sleep_of_who_came_first_behind_a_flock_is_noticed_too),
        with_name(test_file_seat_sleep_is_seen_also_between_the_flocks_of_others),
        with_name(test_file_seat_sleep_is_counted_anew_when_somebody_held_meanwhile),
        with_name(test_file_seat_sleep_look_of_others_is_met_anew_after_it_was_free),
        with_name(test_file_seat_sleep_is_counted_anew_by_who_comes_back),
        with_name(test_file_seat_sleep_just_before_taking_is_noticed),
        with_name(test_file_seat_sleep_between_look_and_flock_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
