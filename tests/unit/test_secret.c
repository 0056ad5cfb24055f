/*
 * test_secret.c -- a password out of a file: its first line, of a file that is private.
 */
#include "base/secret.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char      path[64];
static char     *secret;
static bwl_fault fault;

static int begin(void **state)
{
    secret = NULL;
    (void)snprintf(path, sizeof path, "/tmp/bowline-secret-XXXXXX");
    int fd = mkstemp(path);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0 ? 0 : -1;
}

static int end(void **state)
{
    bwl_secret_free(secret);
    return unlink(path);
}

static void put(const char *bytes, size_t size)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void assert_refused(const char *word)
{
    assert_int_equal(bwl_secret_read(&secret, path, &fault), BWL_STATUS_REFUSED);
    assert_null(secret);
    assert_non_null(strstr(fault.text, word));
}

FIXTURE(begin, end)

TEST(first_line_is_the_password)
{
    put("hunter2\r\nmore", 13);
    assert_int_equal(bwl_secret_read(&secret, path, &fault), BWL_OK);
    assert_string_equal(secret, "hunter2");
}

TEST(empty_or_too_long_is_refused)
{
    static char long_one[4096];

    put("", 0);
    assert_refused("empty or too long");
    put("\nx", 2);
    assert_refused("empty or too long");
    memset(long_one, 'p', sizeof long_one);
    put(long_one, sizeof long_one);
    assert_refused("empty or too long");
    put(long_one, sizeof long_one - 1);
    assert_int_equal(bwl_secret_read(&secret, path, &fault), BWL_OK);
    assert_int_equal(strlen(secret), sizeof long_one - 1);
}

TEST(file_of_another_user_or_open_to_others_is_refused)
{
    static const mode_t modes[] = { 0640, 0604, 0620, 0601 };

    put("p", 1);
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_refused("chmod 600");
    }
}

TEST(only_a_regular_file_is_read)
{
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused("no regular file");
}

FIXTURE(NULL, NULL)

TEST(missing_file_is_named)
{
    assert_int_equal(bwl_secret_read(&secret, "/nowhere/at all", &fault), BWL_STATUS_SYSTEM);
    assert_non_null(strstr(fault.text, "/nowhere/at all"));
}

TEST(secret_and_its_parts_are_found)
{
    static const struct {
        const char *secret;
        const char *text;
        size_t      size;
        bool        is_there;  /* at any place */
        bool        is_partly; /* in any case */
    } rows[] = {
        { "ab", "ab", 2, true, true },
        { "ab", "x\0ab", 4, true, true },
        { "ab", "xxab", 3, false, false },
        { "ab", "xAB", 3, false, true },
        { "ab", "ba", 2, false, false },
        { "", "ab", 2, false, false },
        { NULL, "ab", 2, false, false },
        { "hunter2", "ERR hun", 7, false, true },
        { "hunter2", "er2", 3, false, true },
        { "hunter2", "xHUNx", 5, false, true },
        { "hunter2", "hu nt er 2", 10, false, false },
        { "hunter2", "hunter2", 2, false, false },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (bwl_secret_is_in(rows[i].secret, rows[i].text, rows[i].size) != rows[i].is_there ||
            bwl_secret_part_is_in(rows[i].secret, rows[i].text, rows[i].size) != rows[i].is_partly)
            fail_msg("row %zu: %s", i, rows[i].text);
}

TEST(free_accepts_NULL)
{
    bwl_secret_free(NULL);
}
