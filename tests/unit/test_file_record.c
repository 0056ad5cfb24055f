/*
 * test_file_record.c -- the bytes of a lock file: their format, files that are no lock files, and
 * writes that are short, are interrupted or fail.
 */
#include "file_users.h"
#include "tests/lib/suite.h"

#include <inttypes.h>
#include <sys/resource.h>
#include <sys/utsname.h>

FIXTURE(begin, end)

enum { BYTES = 512, HEAD = 26 };

static uint64_t ticket_at(const unsigned char *bytes)
{
    uint64_t ticket = 0;

    for (unsigned i = 8; i-- > 0;)
        ticket = ticket << 8 | bytes[i];
    return ticket;
}

static void read_file(unsigned char ret_bytes[BYTES])
{
    struct stat st;
    int         fd = open_in("n");

    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, BYTES);
    assert_int_equal(pread(fd, ret_bytes, BYTES, 0), BYTES);
    (void)close(fd);
}

static bowline_client *client_of(const char *program)
{
    bowline_client *client;

    assert_int_equal(bowline_open(&client, BOWLINE_OPTIONS(.url = url, .program = program), NULL),
                     BOWLINE_OK);
    return client;
}

/* ---- the format ------------------------------------------------------------------------------ */

/* Other versions read the format: it must not change by accident. */
TEST_OF(format_is_as_documented_in_the_header, &name)
{
    unsigned char   bytes[BYTES];
    char            wanted[BYTES];
    char            boot[64] = "";
    struct utsname  system;
    struct timespec now;
    FILE           *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    assert_non_null(fgets(boot, sizeof boot, file));
    (void)fclose(file);
    assert_int_equal(uname(&system), 0);
    bowline_client *client = client_of("back up");
    bowline_hold   *hold   = must_acquire(client, "n");
    uint64_t        fence  = bowline_hold_fence(hold);
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    int64_t since = now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000 + 1;
    int     size  = snprintf(wanted, sizeof wanted,
                             "fence=%" PRIu64 "\nuid=%u\npid=%d\nhost=%.64s\nprogram=back%%20up\n"
                                  "boot=%ssince=%" PRId64 "\nend=%" PRIu64 "\n",
                             fence, geteuid(), getpid(), system.nodename, boot, since, fence);
    read_file(bytes);
    assert_int_equal(ticket_at(bytes), fence);
    assert_memory_equal(bytes + 8, "bowline 1\n", 10);
    assert_int_equal(ticket_at(bytes + 18), fence);
    assert_memory_equal(bytes + HEAD, wanted, (size_t)size);
    for (int i = HEAD + size; i < BYTES; i++)
        assert_int_equal(bytes[i], 0);
    waits(1); /* draws a ticket: the rest is unchanged */
    read_file(bytes);
    assert_int_equal(ticket_at(bytes), fence + 1);
    assert_int_equal(ticket_at(bytes + 18), fence);
    must_release(hold);
    bowline_close(client);
    (void)gets(1);
    read_file(bytes);
    assert_int_equal(ticket_at(bytes), fence + 1);
    assert_int_equal(ticket_at(bytes + 18), fence + 1);
}

/* The longest text fits in its encoding, and a shorter record leaves none of it. */
TEST_OF(longest_record_is_replaced_by_a_shorter_one, &name)
{
    unsigned char   bytes[BYTES];
    char            program[64];
    bowline_holder  holder = { .size = sizeof holder };
    bowline_client *client;

    memset(program, '%', 63);
    program[63]        = '\0';
    client             = client_of(program);
    bowline_hold *hold = must_acquire(client, "n");
    assert_int_equal(bowline_who(users[0].client, "n", &holder, &error), BOWLINE_OK);
    assert_in_range(strspn(holder.program, "%"), 40, 63);
    must_release(hold);
    bowline_close(client);
    client = client_of("p");
    hold   = must_acquire(client, "n");
    read_file(bytes);
    assert_null(memchr(bytes + HEAD, '%', BYTES - HEAD));
    assert_int_equal(bytes[HEAD + strlen((char *)bytes + HEAD) - 1], '\n');
    for (size_t i = HEAD + strlen((char *)bytes + HEAD); i < BYTES; i++)
        assert_int_equal(bytes[i], 0);
    must_release(hold);
    bowline_close(client);
}

/* ---- other files ----------------------------------------------------------------------------- */

static const char zeros[BYTES + 1];

static const struct {
    const char *bytes;
    size_t      size;
    bool        is_new; /* a file system may leave zeros after a power failure */
} files[] = {
    { zeros, 0, true },
    { zeros, 1, true },
    { zeros, 18, true },
    { zeros, 25, true },
    { zeros, 26, true },
    { zeros, BYTES, true },
    { zeros, BYTES + 1, false }, /* may be a part of a head */
    { "x", 1, false },
    { "123\n", 4, false },
    { "4711 a pid file\n", 16, false },
    { "\1\0\0\0\0\0\0\0bowline 2\n\0\0\0\0\0\0\0\0", 26, false },
    { "\1\0\0\0\0\0\0\0Bowline 1\n\0\0\0\0\0\0\0\0", 26, false },
    { "12345678bowline 1", 17, false },
};

TEST_OF(other_files_are_not_touched, &name)
{
    char         bytes[BYTES + 1];
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    for (unsigned i = 0; i < COUNT_OF(files); i++) {
        put("n", files[i].bytes, files[i].size);
        unsigned before = count_descriptors();
        if (files[i].is_new) {
            assert_int_equal(once(0), BOWLINE_OK);
            continue;
        }
        expect_refused(once(0), "/n is not a lock file, though it has the name of one");
        expect_refused(start_acquire(0), "not a lock file");
        assert_int_equal(count_descriptors(), before);
        int fd = open_in("n");
        assert_int_equal(pread(fd, bytes, sizeof bytes, 0), files[i].size);
        assert_memory_equal(bytes, files[i].bytes, files[i].size);
        assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
        assert_int_equal(fcntl(fd, F_OFD_SETLK, &all), 0);
        (void)close(fd);
    }
}

TEST_OF(waiter_is_refused_when_the_file_becomes_a_foreign_one, &name)
{
    (void)takes(0);
    waits(1);
    put("n", "garbage, and enough of it", 25);
    expect_refused(run_user(1), "not a lock file");
}

/* ---- writes that fail ------------------------------------------------------------------------ */

/* There is room for this many bytes. */
static int once_with_room(rlim_t bytes)
{
    struct rlimit before;

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ bytes, before.rlim_max }), 0);
    int status = once(0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    return status;
}

/* A part of the head would make the file look like a foreign file: it is removed.  A whole head
 * stays, because another process may have read its ticket. */
TEST_OF(part_of_a_head_is_removed, &name)
{
    uint64_t first = takes(0); /* the clock is stopped: the first ticket of any file */
    leave(0);
    for (rlim_t room = 1; room < BYTES; room += room < 20 ? 1 : 100) {
        assert_int_equal(unlink(in("n")), 0);
        expect_refused(once_with_room(room), "cannot write");
        assert_int_equal(takes(0), room < 18 ? first : first + 1);
        leave(0);
    }
}

TEST_OF(writes_continue_after_signals_and_short_writes, &name)
{
    bowline_holder holder = { .size = sizeof holder };

    write_max   = 5;
    disturbance = (struct disturbance){ .of = WRITE, .after = 2, .fails = 3, .error = EINTR };
    (void)takes(0);
    assert_int_equal(disturbance.fails, 0);
    assert_int_equal(bowline_who(users[1].client, "n", &holder, &error), BOWLINE_OK);
    assert_int_equal(holder.fence, fence_of(0));
    assert_string_not_equal(holder.program, "");
}

TEST_OF(failed_write_leaves_an_old_head_unchanged, &name)
{
    uint64_t fence = takes(0);
    leave(0);
    for (unsigned after = 0; after < 4; after++) {
        write_max = 30;
        disturbance =
            (struct disturbance){ .of = WRITE, .after = after, .fails = 1, .error = ENOSPC };
        expect_refused(start_acquire(0), "cannot write");
        write_max     = 0;
        uint64_t next = takes(1);
        assert_true(next > fence);
        fence = next;
        leave(1);
    }
}
