/*
 * test_file_seat_remote.c -- on a network file system: files are polled and not watched, and a name
 * is locked by its place in the queue alone, since a flock there may be a lock on all of the file.
 */
#include "seat_fixture.h"

#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

static bool is_remote;

/* Instead of libc's: the file system says that it is NFS. */
int fstatfs(int fd, struct statfs *ret_system)
{
    int status = (int)syscall(SYS_fstatfs, fd, ret_system);

    if (is_remote)
        ret_system->f_type = NFS_SUPER_MAGIC;
    return status;
}

static int remote_name(void **state)
{
    is_remote = true;
    return seats_of_a_name(state);
}

static int remote_path(void **state)
{
    is_remote = true;
    return seats_of_a_path(state);
}

static int go_home(void **state)
{
    is_remote = false;
    return leave_all(state);
}

static void polls(unsigned i)
{
    assert_int_equal(join(i, WAITS), BWL_NO);
    assert_int_equal(number, LOCAL_WILL_NOT);
}

static void test_file_seat_remote_is_polled(void **state)
{
    (void)takes(0);
    polls(1);
    polls(2);
    gets_not(1);
    assert_int_equal(number, LOCAL_WILL_NOT);
    leave(0);
    gets_not(2);
    (void)gets(1);
    leave(1);
    (void)gets(2);
}

static void test_file_seat_remote_name_is_held_without_flock(void **state)
{
    (void)takes(0);
    assert_false(seats[0]->flocked);
    int fd = open_in("n");
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    polls(1);
    leave(0);
    (void)gets(1); /* a flock is not in the way */
    assert_int_equal(join(2, ONCE), BWL_NO);
    (void)close(fd);
}

static void test_file_seat_remote_name_is_not_overtaken(void **state)
{
    (void)takes(0);
    polls(1);
    polls(2);
    leave(0);
    seats[2]->idle_after = seats[0]->ticket; /* as if it had been idle for long */
    seats[2]->idle_since = 1;
    seats[2]->free_seen  = BWL_FILE_SIGHTINGS;
    gets_not(2);
    (void)gets(1);
}

static void test_file_seat_remote_path_is_flocked_all_the_same(void **state)
{
    (void)takes(0);
    assert_true(seats[0]->flocked);
    int fd = open_in("x");
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
    leave(0);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    polls(1);
    (void)close(fd);
    (void)gets(1);
}

/* The directory's locks may be those of another machine too, or none. */
static void test_file_seat_remote_has_no_mark(void **state)
{
    assert_int_equal(chmod(directory, 01777), 0);
    (void)takes(0);
    assert_int_equal(seats[0]->place.mark.fd, 0);
    leave(0);
    is_remote = false;
    (void)takes(0);
    assert_int_not_equal(seats[0]->place.mark.fd, 0);
}

#define with_remote_name(test) cmocka_unit_test_setup_teardown(test, remote_name, go_home)
#define with_remote_path(test) cmocka_unit_test_setup_teardown(test, remote_path, go_home)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_remote_name(test_file_seat_remote_is_polled),
        with_remote_path(test_file_seat_remote_is_polled),
        with_remote_name(test_file_seat_remote_name_is_held_without_flock),
        with_remote_name(test_file_seat_remote_name_is_not_overtaken),
        with_remote_path(test_file_seat_remote_path_is_flocked_all_the_same),
        with_remote_path(test_file_seat_remote_has_no_mark),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
