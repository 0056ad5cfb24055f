/*
 * test_file_shared.c -- a lock directory that users share, where a lock file can be removed while
 * it is held; and one on a network file system, where a flock may be a lock on the whole file and
 * no event arrives.
 */
#include "file_users.h"
#include "tests/lib/suite.h"

FIXTURE(begin, end)

static void remove_files(void)
{
    static const char *const leaves[] = { "n", "x", "x.bowline" };

    for (unsigned i = 0; i < COUNT_OF(leaves); i++)
        (void)unlink(in(leaves[i]));
}

static bowline_holder who(void)
{
    bowline_holder holder = { .size = sizeof holder };

    assert_int_equal(bowline_who(users[3].client, lock_name, &holder, &error), BOWLINE_OK);
    return holder;
}

/* ---- a shared directory ---------------------------------------------------------------------- */

TEST_OF(lock_is_held_though_its_file_was_removed, &shared, &shared_path)
{
    assert_int_equal(who().held, 0);
    (void)takes(0);
    assert_string_equal(who().note, "");
    remove_files();
    assert_int_equal(who().held, 1);
    assert_int_equal(who().left_ms, INT64_MAX);
    assert_non_null(strstr(who().note, "removed"));
    calls[SET_LOCK] = 0;
    assert_int_equal(once(1), BOWLINE_BUSY);
    waits(1);
    assert_in_range(bowline_timeout_ms(users[1].client), 0, 128); /* it polls */
    int fd = open_in(((const kind *)*state)->leaf);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0); /* a waiter keeps no lock */
    (void)close(fd);
    leave(0);
    (void)gets_eventually(1);
    assert_int_equal(once(2), BOWLINE_BUSY);
    leave(1);
    assert_int_equal(who().held, 0);
    assert_int_equal(once(2), BOWLINE_OK);
}

TEST_OF(waiter_of_a_removed_file_does_not_get_it, &shared, &shared_path)
{
    (void)takes(0);
    waits(1);
    remove_files();
    leave(0);
    (void)takes(2);
    still_waits(1);
    leave(2);
    (void)gets_eventually(1);
}

TEST_OF(each_name_has_its_own_mark, &shared)
{
    static const char *const names[] = { "m", "", "nightly/1" };

    (void)takes(0);
    for (unsigned i = 1; i < 3; i++) {
        (void)snprintf(lock_name, sizeof lock_name, "%s", names[i - 1][0] ? names[i - 1] : "o");
        (void)takes(i);
    }
}

/* Two users set their mark at the same moment: neither has it, and neither keeps the other out. */
static int   other_mark;
static off_t mark_at;

static void set_other_mark(void)
{
    struct flock range = {
        .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = lock_start, .l_len = 1
    };

    mark_at = lock_start;
    assert_int_equal(lock_type, F_RDLCK); /* the mark is the third lock of an acquire */
    assert_int_equal(syscall(SYS_fcntl, other_mark, F_OFD_SETLK, &range), 0);
}

TEST_OF(mark_that_two_set_at_once_belongs_to_neither, &shared)
{
    struct flock theirs = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

    other_mark  = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    disturbance = (struct disturbance){ .of = SET_LOCK, .after = 1, .before = set_other_mark };
    waits(0);
    assert_null(disturbance.before);
    theirs.l_start = mark_at;
    assert_int_equal(syscall(SYS_fcntl, other_mark, F_OFD_GETLK, &theirs), 0);
    assert_int_equal(theirs.l_type, F_UNLCK);
    (void)close(other_mark);
    (void)gets_eventually(0);
}

/* A mark that is set for a moment would keep out another user that sets one. */
TEST_OF(mark_of_another_user_is_only_read, &shared)
{
    (void)takes(0);
    remove_files();
    assert_true(marks_set > 0);
    marks_set = 0;
    assert_int_equal(once(1), BOWLINE_BUSY);
    assert_int_equal(marks_set, 0);
}

TEST_OF(mark_that_cannot_be_set_is_an_error, &shared)
{
    disturbance = (struct disturbance){ .of = SET_LOCK, .after = 1, .fails = 1, .error = ENOLCK };
    expect_refused(start_acquire(0), "cannot lock");
    disturbance = (struct disturbance){ .of = SET_LOCK, .after = 1, .fails = 1, .error = EAGAIN };
    assert_int_equal(once(0), BOWLINE_BUSY); /* another process has set it */
}

/* No other user can remove files there: a mark would cost two system calls without need. */
TEST_OF(private_directory_has_no_marks, &name)
{
    (void)takes(0);
    remove_files();
    assert_int_equal(once(1), BOWLINE_OK);
}

/* ---- two users of the system ----------------------------------------------------------------- */

static int take_as_nobody(void *arg)
{
    if (setegid(NOBODY) != 0 || seteuid(NOBODY) != 0)
        return 100;
    static bowline_client *client; /* static: the process ends without closing it */
    static bowline_hold   *hold;
    int                    status = bowline_open(&client, BOWLINE_OPTIONS(.url = url), &error);
    return status != BOWLINE_OK ? 101 : -bowline_acquire(&hold, client, "n", NULL, &error);
}

static void take_and_stay(void *arg)
{
    if (take_as_nobody(arg) != BOWLINE_OK)
        _exit(1);
}

TEST_OF(users_of_the_system_exclude_each_other, &shared)
{
    struct stat st;

    needs_root();
    (void)umask(077); /* other users may use only what is shared on purpose */
    (void)takes(0);
    assert_int_equal(in_child(take_as_nobody, NULL), -BOWLINE_BUSY);
    leave(0);
    for (unsigned i = 0; i < 2; i++) { /* root made the file; nobody is its owner */
        pid_t child = start_child(take_and_stay, NULL);
        assert_int_equal(once(1), BOWLINE_BUSY);
        end_child(child);
        assert_int_equal(once(1), BOWLINE_OK);
        assert_int_equal(stat(in("n"), &st), 0);
        assert_int_equal(st.st_uid, i == 0 ? 0 : NOBODY);
        assert_int_equal(unlink(in("n")), 0);
    }
}

/* ---- a network file system ------------------------------------------------------------------- */

TEST_OF(remote_file_is_polled, &remote, &remote_path)
{
    (void)takes(0);
    waits(1);
    waits(2);
    leave(0);
    still_waits(1); /* no event */
    pass(128);
    still_waits(2);
    (void)gets(1);
    assert_int_equal(once(3), BOWLINE_BUSY);
    leave(1);
    pass(128);
    (void)gets(2);
}

/* There the queue alone excludes, so no waiter can be overtaken. */
TEST_OF(remote_name_is_held_without_flock, &remote)
{
    int fd = open_in("n");

    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    (void)takes(0);
    waits(1);
    waits(2);
    leave(0);
    for (unsigned i = 0; i < 40; i++) {
        pass(128);
        still_waits(2); /* 1 is stopped */
    }
    (void)gets(1);
    (void)close(fd);
}

TEST_OF(remote_path_is_flocked, &remote_path)
{
    int fd = open_in("x");

    (void)takes(0);
    assert_int_not_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    leave(0);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    waits(1);
    (void)close(fd);
    pass(128);
    (void)gets(1);
}

/* The locks of the directory may be those of another machine too, or not exist. */
TEST_OF(remote_directory_has_no_marks, &remote_path)
{
    assert_int_equal(chmod(directory, 01777), 0);
    (void)takes(0);
    remove_files();
    assert_int_equal(once(1), BOWLINE_OK);
}
