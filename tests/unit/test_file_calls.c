/*
 * test_file_calls.c -- open and read calls that signals interrupt or that fail, and short reads.
 */
#include "base/calls.h"
#include "file_fixture.h"
#include "tests/lib/suite.h"

#include <sys/syscall.h>

/* Replaces the call of the C library: what the next calls of pread do. */
static const int *answers;

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
    int answer = answers != NULL ? *answers++ : (int)size;

    if (answer < 0) {
        errno = -answer;
        return -1;
    }
    assert_in_range(answer, 0, size);
    return syscall(SYS_pread64, fd, bytes, (size_t)answer, at);
}

/* Likewise: this many of its calls are interrupted. */
static int interruptions;

/* Calls of openat that succeed before all others fail with EMFILE; below 0: none fails. */
static int opens_left;

int openat(int at, const char *path, int flags, ...)
{
    va_list rest;

    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    if (interruptions > 0) {
        interruptions--;
        errno = EINTR;
        return -1;
    }
    if (opens_left == 0) {
        errno = EMFILE;
        return -1;
    }
    opens_left -= opens_left > 0;
    return (int)syscall(SYS_openat, at, path, flags, mode);
}

static int set_up(void **state)
{
    answers       = NULL;
    interruptions = 0;
    opens_left    = -1;
    return make_directory(state);
}

static ssize_t read_with(const int *wanted, char *ret_bytes, size_t size, off_t at)
{
    int fd = bwl_file_openat(AT_FDCWD, in("f"), O_RDONLY | O_CLOEXEC, 0);

    assert_true(fd >= 0);
    answers         = wanted;
    errno           = 0;
    ssize_t got     = bwl_file_read_at(fd, ret_bytes, size, at);
    int     because = errno;
    (void)close(fd);
    errno = because;
    return got;
}

FIXTURE(set_up, remove_directory)

TEST(file_calls_read_is_put_together_from_pieces)
{
    static const int pieces[] = { 2, -EINTR, 1, -EINTR, 3 };
    char             bytes[6];

    put("f", "abcdefgh", 8);
    assert_int_equal(read_with(pieces, bytes, 6, 1), 6);
    assert_memory_equal(bytes, "bcdefg", 6);
}

TEST(file_calls_read_stops_at_the_end_of_the_file)
{
    static const int pieces[] = { 2, 4, 2 };
    char             bytes[6];

    put("f", "abcd", 4);
    assert_int_equal(read_with(pieces, bytes, 6, 0), 4);
    assert_memory_equal(bytes, "abcd", 4);
    assert_int_equal(read_with(NULL, bytes, 6, 9), 0);
}

TEST(file_calls_failed_read_has_its_errno)
{
    static const int pieces[] = { 2, -EIO };
    char             bytes[6];

    put("f", "abcd", 4);
    assert_int_equal(read_with(pieces, bytes, 6, 0), -1);
    assert_int_equal(errno, EIO);
}

TEST(file_calls_failed_open_has_its_errno)
{
    assert_int_equal(bwl_file_openat(AT_FDCWD, in("none"), O_RDONLY | O_CLOEXEC, 0), -1);
    assert_int_equal(errno, ENOENT);
}

TEST(file_calls_open_is_repeated_after_a_signal)
{
    put("f", "abcd", 4);
    interruptions = 3;
    int fd        = bwl_file_openat(AT_FDCWD, in("f"), O_RDONLY | O_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(interruptions, 0);
    (void)close(fd);
}

/* Starts the acquire of a free lock while only `opens` calls of openat succeed.  It ends at once,
 * although it may wait.  Returns its status. */
static int acquire_with_opens(bowline_client *client, const char *name, int opens)
{
    bowline_operation *op    = NULL;
    bowline_hold      *hold  = NULL;
    bowline_error      error = { 0 };

    opens_left = opens;
    int status = bowline_acquire_start(&op, client, name,
                                       BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error);
    opens_left = -1;
    if (status == BOWLINE_OK) {
        assert_true(bowline_operation_done(op));
        status = bowline_acquire_finish(&hold, op, &error);
    }
    if (status == BOWLINE_OK)
        assert_int_equal(bowline_release(hold, NULL), BOWLINE_OK);
    else
        assert_int_equal(error.system_errno, EMFILE);
    return status;
}

/* Returns the lowest number of opens with which the lock is acquired. */
static int opens_needed(const char *name)
{
    char            url[128];
    bowline_client *client;
    int             opens = 0;

    (void)snprintf(url, sizeof url, "file:%s", directory);
    assert_int_equal(
        bowline_open(&client, BOWLINE_OPTIONS(.url = url, .flags = BOWLINE_NO_THREAD), NULL),
        BOWLINE_OK);
    while (acquire_with_opens(client, name, opens) != BOWLINE_OK)
        opens++;
    bowline_close(client);
    return opens;
}

/* The acquire opens files before it locks them, and directories after it, to check the name. */
TEST(file_calls_acquire_reports_errno_without_descriptors)
{
    char long_name[201]; /* its encoding has three bytes for each, in several directories */

    memset(long_name, '=', 200);
    long_name[200] = '\0';
    assert_in_range(opens_needed("bare"), 1, 100);
    assert_in_range(opens_needed(long_name), 2, 100);
    assert_in_range(opens_needed(in("path")), 3, 100);
}
