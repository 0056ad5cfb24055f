/*
 * seat_fixture.h -- seats of one lock file, taken and left by hand, for the tests of file_seat.c
 * and file_who.c.  Each has its file opened for itself, and so stands for a process of its own.
 */
#ifndef SEAT_FIXTURE_H
#define SEAT_FIXTURE_H

#include "api/engines.h"
#include "runtime/lock.h"
#include "api/engines.h"
#include "engine/file/seat.h"
#include "engine/file/ticket.h"
#include "file_fixture.h"
#include "protocol/store/local.h"

enum { SEATS = 4, WAITS = true, ONCE = false };

static bwl_shard     *client;
static bwl_lock      *locks[SEATS];
static bwl_file_seat *seats[SEATS];
static uint64_t       number; /* that came with the latest answer                               */
static bwl_fault      fault;

static inline void make_seats(const char *name)
{
    static const bwl_terms terms = { .lease_ms = 30000, .max_hold_ms = BWL_NEVER };

    for (unsigned i = 0; i < SEATS; i++) {
        assert_int_equal(bwl_lock_new(&locks[i], client, name, &terms, &fault), BWL_OK);
        seats[i] = locks[i]->base.part;
    }
}

static inline void open_client(void **state)
{
    bwl_settings asked = { 0 };
    char         url[PATH_SIZE];

    (void)make_directory(state);
    (void)snprintf(url, sizeof url, "file:%s", directory);
    assert_int_equal(bwl_shard_open(&client, bwl_engines, &asked, false, url, &fault), BWL_OK);
    bwl_shard_lock(client);
}

/* Seats of the bare name "n". */
static inline int seats_of_a_name(void **state)
{
    open_client(state);
    make_seats("n");
    return 0;
}

/* Seats of the file "x". */
static inline int seats_of_a_path(void **state)
{
    open_client(state);
    make_seats(in("x"));
    return 0;
}

static inline int leave_all(void **state)
{
    for (unsigned i = 0; i < SEATS; i++)
        bwl_lock_drop_handle(locks[i]);
    bwl_shard_unlock(client);
    bwl_shard_close(client);
    (void)umask(022);
    return remove_directory(state);
}

static inline bwl_answer join(unsigned i, bool may_wait)
{
    number = 99;
    return bwl_file_seat_join(seats[i], may_wait, &number);
}

static inline bwl_answer try(unsigned i)
{
    number = 99;
    return bwl_file_seat_try(seats[i], &number);
}

static inline void leave(unsigned i)
{
    bwl_file_seat_leave(seats[i]);
}

/* It is his; the fence. */
static inline uint64_t takes(unsigned i)
{
    assert_int_equal(join(i, WAITS), BWL_YES);
    return number;
}

static inline void waits(unsigned i)
{
    assert_int_equal(join(i, WAITS), BWL_NO);
    assert_int_equal(number, LOCAL_WILL_PUSH);
}

static inline uint64_t gets(unsigned i)
{
    assert_int_equal(try(i), BWL_YES);
    return number;
}

static inline void gets_not(unsigned i)
{
    assert_int_equal(try(i), BWL_NO);
}

#define with_name(test) cmocka_unit_test_setup_teardown(test, seats_of_a_name, leave_all)
#define with_path(test) cmocka_unit_test_setup_teardown(test, seats_of_a_path, leave_all)

#endif
