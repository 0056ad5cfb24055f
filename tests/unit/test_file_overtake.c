/*
 * test_file_overtake.c -- a waiter that does not take the lock when it is first in the queue is
 * overtaken after a while, and joins again when it continues.  A user that is not run is stopped.
 */
#include "file_users.h"
#include "tests/lib/suite.h"

FIXTURE(begin, end)

/* See queue_node.h: without a holder for PATIENCE_MS, the flock is then found free three times for
 * each waiter in front, at intervals of 250 ms.  A check comes at most 128 ms late. */
enum { PATIENCE_MS = 1000, SIGHTINGS_MS = 3 * 250, LATE_MS = 4 * 128 };

/* User 0 leaves while 1 is stopped and 2 waits behind it. */
static void stop_1(void)
{
    (void)takes(0);
    waits(1);
    waits(2);
    leave(0);
}

TEST_OF(stopped_waiter_is_overtaken_and_joins_again, &name, &permit, &path)
{
    stop_1();
    int64_t took_ms = gets_eventually(2);
    assert_in_range(took_ms, PATIENCE_MS + SIGHTINGS_MS, PATIENCE_MS + SIGHTINGS_MS + LATE_MS);
    uint64_t second = fence_of(2);
    still_waits(1); /* it joins again */
    assert_int_equal(once(0), BOWLINE_BUSY);
    leave(2);
    assert_true(gets(1) > second);
}

/* No user waits for the same stopped waiter twice: neither those behind it nor a newcomer. */
TEST_OF(stopped_waiter_costs_the_patience_once, &name, &permit)
{
    (void)takes(0);
    waits(1);
    waits(2);
    waits(3);
    leave(0);
    (void)gets_eventually(2);
    uint64_t second = fence_of(2);
    still_waits(3);
    leave(2);
    assert_true(gets(3) > second);
    leave(3);
    assert_int_equal(once(2), BOWLINE_OK);
    (void)takes(2);
    assert_int_equal(once(0), BOWLINE_BUSY);
    waits(0);
    leave(2);
    (void)gets(0);
}

TEST_OF(each_stopped_waiter_in_front_costs_sightings, &name, &permit)
{
    (void)takes(0);
    waits(1);
    waits(2);
    waits(3);
    leave(0);
    int64_t took_ms = gets_eventually(3);
    assert_in_range(took_ms, PATIENCE_MS + 2 * SIGHTINGS_MS + 250,
                    PATIENCE_MS + 2 * SIGHTINGS_MS + 250 + 2 * LATE_MS);
    still_waits(1);
    still_waits(2);
}

TEST_OF(long_hold_is_not_overtaken, &name, &permit)
{
    (void)takes(0);
    waits(1);
    waits(2);
    for (unsigned i = 0; i < 40; i++) {
        pass(128);
        still_waits(1);
        still_waits(2);
    }
    leave(0);
    still_waits(2);
    (void)gets(1);
}

/* A holder by flock(2) alone is in no queue, but the first waiter is not stopped. */
TEST_OF(long_flock_is_not_overtaken, &name, &permit)
{
    int fd = open_in("n");

    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    waits(0);
    waits(1);
    for (unsigned i = 0; i < 40; i++) {
        pass(128);
        still_waits(1);
    }
    (void)close(fd);
    pass(PATIENCE_MS / 2);
    still_waits(1); /* free, but only for the first waiter */
    (void)gets(0);
}

TEST_OF(stopped_first_waiter_behind_a_flock_is_overtaken, &name, &permit)
{
    int fd = open_in("n");

    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    waits(0);
    waits(1);
    (void)close(fd);
    assert_true(gets_eventually(1) >= PATIENCE_MS + SIGHTINGS_MS);
    still_waits(0);
}

/* The flock is free repeatedly, but never for long: a running waiter would have taken it. */
TEST_OF(stopped_waiter_is_detected_between_flocks, &name, &permit)
{
    int status = PENDING;
    int fd     = open_in("n");

    stop_1();
    for (unsigned i = 0; status == PENDING && i < 300; i++) {
        assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
        pass(40);
        still_waits(2);
        assert_int_equal(flock(fd, LOCK_UN), 0);
        pass(40);
        status = run_user(2);
    }
    assert_status(BOWLINE_OK, status, &error);
    (void)close(fd);
}

/* Between two checks the lock may have been taken and released. */
TEST_OF(hold_meanwhile_restarts_the_patience, &name, &permit)
{
    (void)takes(0);
    waits(1);
    waits(2);
    waits(3);
    leave(0);
    still_waits(3);
    pass(PATIENCE_MS);
    (void)gets(1);
    leave(1); /* 2 is stopped */
    assert_true(gets_eventually(3) >= PATIENCE_MS + SIGHTINGS_MS);
}

/* Runs at the time that the client asks for.  Returns the timeout that it asks for then. */
static int64_t next_look(unsigned i)
{
    pass(bowline_timeout_ms(users[i].client));
    still_waits(i);
    return bowline_timeout_ms(users[i].client);
}

/* Another waiter that checks at the same time has the flock for a moment.  The client checks again
 * soon, but only once, because it may be a holder.  After the flock was free, this starts again. */
TEST_OF(busy_flock_is_checked_again_soon_but_once, &name, &permit)
{
    int     fd      = open_in("n");
    int64_t idle_ms = 0;

    stop_1();
    still_waits(2);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    calls[FLOCK] = 0;
    for (unsigned i = 0; calls[FLOCK] == 0 && i < 100; i++)
        idle_ms = next_look(2);
    assert_in_range(idle_ms, 1, 128);
    idle_ms = next_look(2);
    assert_true(idle_ms > 128); /* an event is expected */
    assert_int_equal(flock(fd, LOCK_UN), 0);
    idle_ms = next_look(2); /* free: the first sighting */
    assert_in_range(idle_ms, 1, 128);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    pass(250);
    still_waits(2);
    idle_ms = bowline_timeout_ms(users[2].client);
    assert_in_range(idle_ms, 1, 128);
    (void)close(fd);
    assert_true(gets_eventually(2) >= SIGHTINGS_MS - 250);
}

/* ---- stopped in the middle of a check -------------------------------------------------------- */

static uint64_t granted_meanwhile;

/* As a waiter behind that overtakes: it writes its ticket, which is above those before it. */
static void grant_to_another(void)
{
    int fd = open_in("n");

    assert_int_equal(pwrite(fd, &granted_meanwhile, 8, 18), 8);
    (void)close(fd);
}

/* The waiter is stopped between its check and its flock.  Its ticket is lower than one that was
 * granted meanwhile, so a store would reject its writes. */
TEST_OF(waiter_stopped_before_its_flock_takes_a_new_ticket, &name, &permit)
{
    granted_meanwhile = takes(0) + 7;
    waits(1);
    leave(0);
    disturbance = (struct disturbance){ .of = FLOCK, .before = grant_to_another };
    assert_true(gets(1) > granted_meanwhile);
    assert_null(disturbance.before);
}
