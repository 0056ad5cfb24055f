/*
 * test_file_overtake.c -- a waiter that does not take the lock in its turn is overtaken after a
 * while, and joins anew when it goes on.  A user that is not looked at is one that is stopped.
 */
#include "file_users.h"
#include "tests/lib/suite.h"

/* What queue_node.h says: nobody holds for so long, then the flock is found free so often for each
 * waiter in front, so far apart.  A look comes at most 128 ms late. */
enum { PATIENCE_MS = 1000, SIGHTINGS_MS = 3 * 250, LATE_MS = 4 * 128 };

/* User 0 leaves while 1 is stopped and 2 waits behind it. */
static void stop_1(void)
{
    (void)takes(0);
    waits(1);
    waits(2);
    leave(0);
}

static void test_only_the_stopped_waiter_is_late(void **state)
{
    stop_1();
    int64_t took_ms = gets_in_the_end(2);
    assert_in_range(took_ms, PATIENCE_MS + SIGHTINGS_MS, PATIENCE_MS + SIGHTINGS_MS + LATE_MS);
    uint64_t second = fence_of(2);
    gets_not(1); /* it joins anew */
    assert_int_equal(once(0), BOWLINE_BUSY);
    leave(2);
    assert_true(gets(1) > second);
}

/* Nobody waits for the same stopped waiter twice: neither those behind it nor a newcomer. */
static void test_a_stopped_waiter_costs_once(void **state)
{
    (void)takes(0);
    waits(1);
    waits(2);
    waits(3);
    leave(0);
    (void)gets_in_the_end(2);
    uint64_t second = fence_of(2);
    gets_not(3);
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

static void test_each_stopped_waiter_in_front_costs(void **state)
{
    (void)takes(0);
    waits(1);
    waits(2);
    waits(3);
    leave(0);
    int64_t took_ms = gets_in_the_end(3);
    assert_in_range(took_ms, PATIENCE_MS + 2 * SIGHTINGS_MS + 250,
                    PATIENCE_MS + 2 * SIGHTINGS_MS + 250 + 2 * LATE_MS);
    gets_not(1);
    gets_not(2);
}

static void test_a_long_hold_is_not_overtaken(void **state)
{
    (void)takes(0);
    waits(1);
    waits(2);
    for (unsigned i = 0; i < 40; i++) {
        pass(128);
        gets_not(1);
        gets_not(2);
    }
    leave(0);
    gets_not(2);
    (void)gets(1);
}

/* A holder by flock(2) alone stands in no queue, but the first waiter is not stopped. */
static void test_a_long_flock_is_not_overtaken(void **state)
{
    int fd = open_in("n");

    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    waits(0);
    waits(1);
    for (unsigned i = 0; i < 40; i++) {
        pass(128);
        gets_not(1);
    }
    (void)close(fd);
    pass(PATIENCE_MS / 2);
    gets_not(1); /* free, but for the first */
    (void)gets(0);
}

static void test_the_first_waiter_behind_a_flock_is_overtaken_too(void **state)
{
    int fd = open_in("n");

    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    waits(0);
    waits(1);
    (void)close(fd);
    assert_true(gets_in_the_end(1) >= PATIENCE_MS + SIGHTINGS_MS);
    gets_not(0);
}

/* The flock is free again and again, never for long: a waiter that runs would have had it. */
static void test_a_stopped_waiter_is_noticed_between_flocks(void **state)
{
    int status = PENDING;
    int fd     = open_in("n");

    stop_1();
    for (unsigned i = 0; status == PENDING && i < 300; i++) {
        assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
        pass(40);
        gets_not(2);
        assert_int_equal(flock(fd, LOCK_UN), 0);
        pass(40);
        status = look(2);
    }
    assert_status(BOWLINE_OK, status, &error);
    (void)close(fd);
}

/* Between two looks everything may have been taken and given back. */
static void test_a_hold_meanwhile_begins_the_patience_anew(void **state)
{
    (void)takes(0);
    waits(1);
    waits(2);
    waits(3);
    leave(0);
    gets_not(3);
    pass(PATIENCE_MS);
    (void)gets(1);
    leave(1); /* 2 is stopped */
    assert_true(gets_in_the_end(3) >= PATIENCE_MS + SIGHTINGS_MS);
}

/* Looks at the time that the client asks for, and returns how long it asks to be left alone
 * then. */
static int64_t next_look(unsigned i)
{
    pass(bowline_timeout_ms(users[i].client));
    gets_not(i);
    return bowline_timeout_ms(users[i].client);
}

/* Another waiter that looks at the same time has the flock for a moment: look again soon, but
 * once, as it may be a holder.  After the flock was free, that begins anew. */
static void test_a_flock_that_is_met_once_is_looked_at_again_soon(void **state)
{
    int     fd      = open_in("n");
    int64_t idle_ms = 0;

    stop_1();
    gets_not(2);
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
    gets_not(2);
    idle_ms = bowline_timeout_ms(users[2].client);
    assert_in_range(idle_ms, 1, 128);
    (void)close(fd);
    assert_true(gets_in_the_end(2) >= SIGHTINGS_MS - 250);
}

/* ---- stopped in the middle of a look --------------------------------------------------------- */

static uint64_t granted_meanwhile;

/* As a waiter behind that overtakes: it writes its ticket, which is above those before it. */
static void grant_to_another(void)
{
    int fd = open_in("n");

    assert_int_equal(pwrite(fd, &granted_meanwhile, 8, 18), 8);
    (void)close(fd);
}

/* The waiter is stopped between its look and its flock: with its ticket, which is lower than one
 * that was granted meanwhile, a store would reject its writes. */
static void test_waiter_stopped_before_its_flock_takes_a_new_ticket(void **state)
{
    granted_meanwhile = takes(0) + 7;
    waits(1);
    leave(0);
    disturbance = (struct disturbance){ .of = FLOCK, .before = grant_to_another };
    assert_true(gets(1) > granted_meanwhile);
    assert_null(disturbance.before);
}

FIXTURE(begin, end)

TEST_OF(name, only_the_stopped_waiter_is_late)
TEST_OF(path, only_the_stopped_waiter_is_late)
TEST_OF(name, a_stopped_waiter_costs_once)
TEST_OF(name, each_stopped_waiter_in_front_costs)
TEST_OF(name, a_long_hold_is_not_overtaken)
TEST_OF(name, a_long_flock_is_not_overtaken)
TEST_OF(name, the_first_waiter_behind_a_flock_is_overtaken_too)
TEST_OF(name, a_stopped_waiter_is_noticed_between_flocks)
TEST_OF(name, a_hold_meanwhile_begins_the_patience_anew)
TEST_OF(name, a_flock_that_is_met_once_is_looked_at_again_soon)
TEST_OF(name, waiter_stopped_before_its_flock_takes_a_new_ticket)
