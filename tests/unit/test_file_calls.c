/*
 * test_file_calls.c -- open and read calls that signals interrupt, and short reads.
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
    return (int)syscall(SYS_openat, at, path, flags, mode);
}

static int set_up(void **state)
{
    answers       = NULL;
    interruptions = 0;
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
