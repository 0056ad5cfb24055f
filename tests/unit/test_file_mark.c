/*
 * test_file_mark.c -- a lock on a name, held on its directory.
 */
#include "engine/file/mark.h"
#include "file_fixture.h"

#include <sched.h>
#include <sys/syscall.h>

enum { MARKS = 2 };

static bwl_file_mark marks[MARKS];
static int           opened;

/* In the C library's place: what happens after the next lock was set, and how many were. */
static void (*meanwhile)(void);
static unsigned locks_set;

int fcntl(int fd, int command, ...)
{
    va_list rest;

    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    int ret = (int)syscall(SYS_fcntl, fd, command, argument);
    if (command == F_OFD_SETLK) {
        void (*now)(void) = meanwhile;
        int error         = errno;
        meanwhile         = NULL;
        locks_set++;
        if (now != NULL)
            now();
        errno = error;
    }
    return ret;
}

static void open_marks(const char *first, const char *second)
{
    assert_int_equal(bwl_file_mark_open(&marks[0], opened, first), 0);
    assert_int_equal(bwl_file_mark_open(&marks[1], opened, second), 0);
}

/* Marks are opened by way of a descriptor that can only be walked through. */
static int set_up(void **state)
{
    (void)make_directory(state);
    opened = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(opened >= 0);
    return 0;
}

static int tear_down(void **state)
{
    for (unsigned i = 0; i < MARKS; i++)
        bwl_file_mark_close(&marks[i]);
    (void)close(opened);
    return remove_directory(state);
}

static void test_file_mark_is_of_one_at_a_time(void **state)
{
    open_marks("n", "n");
    assert_int_equal(bwl_file_mark_look(&marks[1]), BWL_FILE_OURS);
    assert_int_equal(bwl_file_mark_take(&marks[0]), BWL_FILE_OURS);
    assert_int_equal(bwl_file_mark_take(&marks[0]), BWL_FILE_OURS); /* it is ours */
    assert_int_equal(bwl_file_mark_look(&marks[0]), BWL_FILE_OURS);
    assert_int_equal(bwl_file_mark_look(&marks[1]), BWL_FILE_OTHERS);
    assert_int_equal(bwl_file_mark_take(&marks[1]), BWL_FILE_OTHERS);
    bwl_file_mark_give(&marks[1]); /* was not taken */
    assert_int_equal(bwl_file_mark_take(&marks[1]), BWL_FILE_OTHERS);
    bwl_file_mark_give(&marks[0]);
    assert_int_equal(bwl_file_mark_take(&marks[1]), BWL_FILE_OURS);
    assert_int_equal(bwl_file_mark_take(&marks[0]), BWL_FILE_OTHERS);
}

/* What stays behind after a failed attempt would keep everybody out. */
static void test_file_mark_that_was_not_taken_is_not_left_behind(void **state)
{
    open_marks("n", "n");
    assert_int_equal(bwl_file_mark_take(&marks[0]), BWL_FILE_OURS);
    assert_int_equal(bwl_file_mark_take(&marks[1]), BWL_FILE_OTHERS);
    assert_int_equal(bwl_file_mark_look(&marks[0]), BWL_FILE_OURS);
}

static void take_other(void)
{
    struct flock range = {
        .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = marks[0].at, .l_len = 1
    };

    assert_int_equal(fcntl(marks[1].fd, F_OFD_SETLK, &range), 0);
}

/* Both have set their lock, and neither has looked: neither takes it, nor leaves a lock behind. */
static void test_file_mark_that_two_take_at_once_is_nobodys(void **state)
{
    open_marks("n", "n");
    meanwhile = take_other;
    assert_int_equal(bwl_file_mark_take(&marks[0]), BWL_FILE_OTHERS);
    assert_null(meanwhile);
    assert_int_equal(bwl_file_mark_look(&marks[1]), BWL_FILE_OURS); /* that of 0 is gone */
    bwl_file_mark_give(&marks[1]);
    assert_int_equal(bwl_file_mark_take(&marks[0]), BWL_FILE_OURS);
}

/* A lock, set for a moment only, would keep out somebody who is taking it. */
static void test_file_mark_of_others_is_looked_at_and_not_touched(void **state)
{
    open_marks("n", "n");
    assert_int_equal(bwl_file_mark_take(&marks[0]), BWL_FILE_OURS);
    locks_set = 0;
    assert_int_equal(bwl_file_mark_take(&marks[1]), BWL_FILE_OTHERS);
    assert_int_equal(locks_set, 0);
}

/* Who has the mark is alone: else the file is there already. */
static bool is_alone(void)
{
    int fd = open(in("inside"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    return fd >= 0 && close(fd) == 0 && unlink(in("inside")) == 0;
}

/* Takes and gives as often as that. */
static bool goes_alone(const bwl_file_mark *mark, unsigned rounds)
{
    while (rounds > 0) {
        if (bwl_file_mark_take(mark) != BWL_FILE_OURS) {
            (void)sched_yield();
            continue;
        }
        if (!is_alone())
            return false;
        bwl_file_mark_give(mark);
        rounds--;
    }
    return true;
}

static int go_alone(void)
{
    bwl_file_mark theirs;

    if (bwl_file_mark_open(&theirs, opened, "n") != 0)
        return 2;
    return goes_alone(&theirs, 2000) ? 0 : 1;
}

/* Each of two may set its own between a look and a lock of the other. */
static void test_file_mark_that_two_take_at_once_is_never_of_both(void **state)
{
    int how;

    open_marks("n", "m");
    (void)fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(go_alone());
    bool alone = goes_alone(&marks[0], 2000);
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
    assert_true(alone);
}

static void test_file_mark_of_another_name_is_another(void **state)
{
    open_marks("n", "m");
    assert_int_equal(bwl_file_mark_take(&marks[0]), BWL_FILE_OURS);
    assert_int_equal(bwl_file_mark_take(&marks[1]), BWL_FILE_OURS);
    bwl_file_mark_close(&marks[0]);
    bwl_file_mark_close(&marks[1]);
    open_marks("", "nightly/1");
    assert_int_equal(bwl_file_mark_take(&marks[0]), BWL_FILE_OURS);
    assert_int_equal(bwl_file_mark_take(&marks[1]), BWL_FILE_OURS);
}

static void test_file_mark_ends_with_the_last_copy_of_its_descriptor(void **state)
{
    open_marks("n", "n");
    assert_int_equal(bwl_file_mark_take(&marks[0]), BWL_FILE_OURS);
    int copy = dup(marks[0].fd);
    assert_true(copy >= 0);
    bwl_file_mark_close(&marks[0]);
    assert_int_equal(bwl_file_mark_take(&marks[1]), BWL_FILE_OTHERS);
    assert_int_equal(close(copy), 0);
    assert_int_equal(bwl_file_mark_take(&marks[1]), BWL_FILE_OURS);
}

static void test_file_mark_that_is_not_open_stops_nobody(void **state)
{
    assert_int_equal(bwl_file_mark_look(&marks[0]), BWL_FILE_OURS);
    assert_int_equal(bwl_file_mark_take(&marks[0]), BWL_FILE_OURS);
    bwl_file_mark_give(&marks[0]);
    bwl_file_mark_close(&marks[0]);
    assert_int_equal(fcntl(0, F_GETFD) < 0 ? errno : 0, 0); /* 0 is none of its descriptors */
}

static void test_file_mark_says_why_it_cannot_be_opened(void **state)
{
    assert_int_equal(bwl_file_mark_open(&marks[0], -1, "n"), EBADF);
    assert_int_equal(marks[0].fd, 0);
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_file_mark_is_of_one_at_a_time),
        test(test_file_mark_that_was_not_taken_is_not_left_behind),
        test(test_file_mark_that_two_take_at_once_is_nobodys),
        test(test_file_mark_of_others_is_looked_at_and_not_touched),
        test(test_file_mark_that_two_take_at_once_is_never_of_both),
        test(test_file_mark_of_another_name_is_another),
        test(test_file_mark_ends_with_the_last_copy_of_its_descriptor),
        test(test_file_mark_that_is_not_open_stops_nobody),
        test(test_file_mark_says_why_it_cannot_be_opened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
