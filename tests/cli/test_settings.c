/*
 * test_settings.c -- where the settings of a run come from, and which source takes precedence.
 * tests/cli/test_options.py checks the messages.
 */
#include "tests/lib/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/settings/config.h"

/* Replaces open and read of libc: this many calls are interrupted first. */
static int opens_interrupted;
static int reads_interrupted;

static bool is_interrupted(int *left)
{
    if (*left == 0)
        return false;
    --*left;
    errno = EINTR;
    return true;
}

int open(const char *path, int flags, ...)
{
    va_list rest;

    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return is_interrupted(&opens_interrupted)
               ? -1
               : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t read(int fd, void *bytes, size_t size)
{
    return is_interrupted(&reads_interrupted) ? -1 : syscall(SYS_read, fd, bytes, size);
}

static char     directory[64];
static char     file[128];
static settings found;
static failure  is;

static int make_directory(void **state)
{
    (void)snprintf(directory, sizeof directory, "/tmp/bowline-settings-XXXXXX");
    assert_non_null(mkdtemp(directory));
    (void)snprintf(file, sizeof file, "%s/bowline.conf", directory);
    assert_int_equal(setenv("XDG_CONFIG_HOME", directory, 1), 0);
    (void)unsetenv("BOWLINE_URL");
    is = (failure){ 0 };
    return 0;
}

static int remove_directory(void **state)
{
    (void)unlink(file);
    return rmdir(directory);
}

static void write_file(const char *text)
{
    FILE *out = fopen(file, "w");

    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(chmod(file, 0600), 0);
}

static int find(const run_options *options)
{
    return settings_find(&found, options, &is);
}

FIXTURE(make_directory, remove_directory)

TEST(settings_are_the_defaults_without_sources)
{
    if (access("/etc/bowline.conf", F_OK) == 0)
        skip(); /* this machine has such a file */
    assert_int_equal(find(&(run_options){ .wait_ms = BOWLINE_DEFAULT, .kill_after_ms = -1 }), 0);
    assert_string_equal(found.url, "file:");
    assert_string_equal(found.url_from.text, "the default");
    assert_int_equal(found.wait_ms, BOWLINE_FOREVER);
    assert_int_equal(found.kill_after_ms, 5000);
    assert_false(found.url_ends_hold);
}

TEST(settings_of_the_url_come_before_the_file)
{
    write_file("wait = 1s\nlease = 2s\nmax-hold = 3s\n");
    assert_int_equal(
        find(&(run_options){ .url = "file:", .wait_ms = BOWLINE_DEFAULT, .kill_after_ms = -1 }), 0);
    assert_int_equal(found.wait_ms, 1000);
    assert_int_equal(found.lease_ms, 2000);
    assert_int_equal(found.max_hold_ms, 3000);
    assert_int_equal(find(&(run_options){ .url           = "file:?wait=9s&lease=9s&max-hold=9s",
                                          .wait_ms       = BOWLINE_DEFAULT,
                                          .kill_after_ms = -1 }),
                     0);
    assert_int_equal(found.wait_ms, BOWLINE_DEFAULT);
    assert_int_equal(found.lease_ms, 0);
    assert_int_equal(found.max_hold_ms, 0);
    assert_true(found.url_ends_hold);
}

TEST(settings_of_the_options_come_first)
{
    write_file("wait = 1s\nlease = 2s\nmax-hold = 3s\nkill-after = 4s\n");
    assert_int_equal(find(&(run_options){ .url           = "file:?wait=9s&lease=9s",
                                          .wait_ms       = 5,
                                          .lease_ms      = 600,
                                          .max_hold_ms   = 7000,
                                          .kill_after_ms = 0 }),
                     0);
    assert_int_equal(found.wait_ms, 5);
    assert_int_equal(found.lease_ms, 600);
    assert_int_equal(found.max_hold_ms, 7000);
    assert_int_equal(found.kill_after_ms, 0);
    settings_wipe(&found);
    assert_string_equal(found.url, "");
}

TEST(settings_of_the_file_include_the_wait)
{
    const run_options no_options = { .wait_ms = BOWLINE_DEFAULT, .kill_after_ms = -1 };

    write_file("wait = 0s\n");
    assert_int_equal(find(&no_options), 0);
    assert_int_equal(found.wait_ms, BOWLINE_NO_WAIT);
    assert_false(found.wait_is_default);
    write_file("wait = forever\n");
    assert_int_equal(find(&no_options), 0);
    assert_int_equal(found.wait_ms, BOWLINE_FOREVER);
    assert_false(found.wait_is_default);
    write_file("");
    assert_int_equal(find(&no_options), 0);
    assert_true(found.wait_is_default);
}

TEST(settings_are_read_despite_signals)
{
    write_file("lease = 2s\n");
    opens_interrupted = 2;
    reads_interrupted = 3;
    assert_int_equal(find(&(run_options){ .wait_ms = BOWLINE_DEFAULT, .kill_after_ms = -1 }), 0);
    assert_int_equal(opens_interrupted, 0);
    assert_int_equal(reads_interrupted, 0);
    assert_int_equal(found.lease_ms, 2000);
}

/* Without HOME the list of users has the directory. */
TEST(settings_are_found_without_HOME)
{
    static const char *const homes[] = { NULL, "", "relative" };

    assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
    for (size_t i = 0; i < COUNT_OF(homes); i++) {
        assert_int_equal(homes[i] != NULL ? setenv("HOME", homes[i], 1) : unsetenv("HOME"), 0);
        assert_int_equal(find(&(run_options){ .url = "file:" }), 0);
    }
    (void)setenv("XDG_CONFIG_HOME", "relative", 1);
    (void)setenv("HOME", directory, 1);
    assert_int_equal(find(&(run_options){ .url = "file:" }), 0);
}
