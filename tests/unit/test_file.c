/*
 * test_file.c -- the engine file: order, fences, flock(1) and fcntl(2), files that are replaced,
 * children of fork, and the URLs.
 */
#include "file_users.h"
#include "tests/lib/suite.h"

FIXTURE(begin, end)

/* ---- the queue ------------------------------------------------------------------------------- */

TEST_OF(try_once_overtakes_nobody, &name, &permit, &path)
{
    char before[32] = "";
    char after[32]  = "";

    (void)takes(0);
    int fd = open_in(((const kind *)*state)->leaf[0] == 'n' ? "n" : "x.bowline");
    assert_int_equal(pread(fd, before, 26, 0), 26);
    assert_int_equal(once(1), BOWLINE_BUSY);
    assert_non_null(strstr(error.text, "pid"));
    assert_int_equal(pread(fd, after, 26, 0), 26);
    assert_memory_equal(after, before, 26); /* no ticket was drawn */
    waits(1);
    leave(0);
    assert_int_equal(once(2), BOWLINE_BUSY); /* free, but a waiter is queued */
    (void)gets(1);
    (void)close(fd);
}

/* Wherever the joiner is when the holder releases: it has the lock, or an event arrives. */
static void leave_0(void)
{
    leave(0);
}

TEST_OF(release_during_a_join_is_not_missed, &name, &permit, &path, &shared)
{
    bool has_left = true;

    for (unsigned after = 0; has_left; after++) {
        (void)takes(0);
        disturbance = (struct disturbance){ .after = after, .before = leave_0 };
        int status  = start_acquire(1);
        has_left    = disturbance.before == NULL;
        disturbance = (struct disturbance){ 0 };
        if (!has_left)
            leave(0);
        if (status == PENDING)
            status = run_user(1);
        assert_status(BOWLINE_OK, status, &error);
        leave(1);
        assert_true(after < 100);
    }
}

/* The numbers in the lock file, and the fence of the next holder.  0: the acquire is refused. */
TEST_OF(fence_is_above_the_numbers_in_the_file, &name)
{
    static const uint64_t ahead = UINT64_C(4000000000000000); /* the year 2096 */
    static const uint64_t last  = (UINT64_C(1) << 62) - (UINT64_C(1) << 40) - 1;
    const struct {
        uint64_t drawn;
        uint64_t granted;
        uint64_t fence;
    } rows[] = {
        { ahead, 0, ahead + 1 }, { 0, ahead, ahead + 1 }, { ahead + 5, ahead, ahead + 6 },
        { last - 1, 0, last },   { last, 0, 0 },          { 0, last, 0 },
        { UINT64_MAX, 0, 0 },    { 0, UINT64_MAX, 0 },
    };

    uint64_t first = takes(0);
    leave(0);
    assert_int_equal(takes(1), first + 1); /* the clock is stopped */
    leave(1);
    pass(1000);
    assert_int_equal(takes(0), first + 1000000); /* microseconds of the wall clock */
    leave(0);
    for (unsigned i = 0; i < COUNT_OF(rows); i++) {
        int fd = open_in("n");
        assert_int_equal(pwrite(fd, &rows[i].drawn, 8, 0), 8);
        assert_int_equal(pwrite(fd, &rows[i].granted, 8, 18), 8);
        (void)close(fd);
        if (rows[i].fence == 0) {
            expect_refused(start_acquire(0), "has a broken counter");
            continue;
        }
        assert_int_equal(takes(0), rows[i].fence);
        leave(0);
    }
}

/* The counter was set back while the holder of the last ticket exists. */
TEST_OF(no_ticket_is_above_the_last, &name)
{
    const uint64_t last   = (UINT64_C(1) << 62) - (UINT64_C(1) << 40) - 1;
    const uint64_t less   = last - 1;
    bowline_holder holder = { .size = sizeof holder };
    int            fd     = open_in("n");

    (void)takes(0);
    leave(0);
    assert_int_equal(pwrite(fd, &less, 8, 0), 8);
    assert_int_equal(takes(0), last);
    assert_int_equal(bowline_who(users[1].client, "n", &holder, &error), BOWLINE_OK);
    assert_int_equal(holder.fence, last);
    assert_int_equal(pwrite(fd, &less, 8, 0), 8);
    assert_int_equal(pwrite(fd, &less, 8, 18), 8);
    expect_refused(start_acquire(1), "cannot join the queue");
    (void)close(fd);
}

TEST_OF(counter_set_back_gives_no_ticket_twice, &name, &permit)
{
    const uint64_t zero = 0;
    int            fd   = open_in("n");

    uint64_t fence = takes(0);
    waits(1);
    assert_int_equal(pwrite(fd, &zero, 8, 0), 8);
    assert_int_equal(pwrite(fd, &zero, 8, 18), 8);
    waits(2);
    leave(0);
    uint64_t next = gets(1);
    assert_true(next > fence);
    leave(1);
    assert_true(gets(2) > next);
    (void)close(fd);
}

TEST_OF(try_once_does_not_trust_a_broken_counter, &name)
{
    const uint64_t nonsense = UINT64_MAX;
    int            fd       = open_in("n");

    (void)takes(0);
    waits(1);
    assert_int_equal(pwrite(fd, &nonsense, sizeof nonsense, 18), 8);
    assert_int_equal(once(2), BOWLINE_BUSY);
    (void)close(fd);
}

/* A process that is stopped while it draws a ticket. */
TEST_OF(latch_of_a_stopped_process_does_not_block, &name, &permit)
{
    struct flock latch = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)1 << 62 };
    int          fd    = open_in("n");

    (void)takes(0);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &latch), 0);
    waits(1);
    assert_int_equal(once(2), BOWLINE_BUSY);
    leave(0);
    pass(16);
    still_waits(1);
    (void)close(fd);
    pass(16);
    (void)gets(1);
}

/* ---- other locks on the file ----------------------------------------------------------------- */

TEST_OF(flock_and_bowline_exclude_each_other, &name, &path)
{
    int fd = open(in(((const kind *)*state)->leaf), O_RDONLY | O_CREAT | O_CLOEXEC, 0666);

    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(once(0), BOWLINE_BUSY);
    waits(0);
    waits(1);
    assert_int_equal(flock(fd, LOCK_UN), 0); /* this causes no event */
    still_waits(0);
    pass(128);
    still_waits(1);
    (void)gets(0);
    assert_int_not_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    leave(0);
    (void)gets(1);
    assert_int_not_equal(flock(fd, LOCK_SH | LOCK_NB), 0);
    leave(1);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    (void)close(fd);
}

TEST_OF(named_file_is_never_written, &path)
{
    static const struct timespec long_ago[2] = { { 1000, 0 }, { 1000, 0 } };
    struct stat                  st;

    put("x", "precious", 8);
    assert_int_equal(chmod(in("x"), 0444), 0);
    assert_int_equal(utimensat(AT_FDCWD, in("x"), long_ago, 0), 0);
    (void)takes(0);
    waits(1);
    leave(0);
    (void)gets(1);
    leave(1);
    assert_int_equal(stat(in("x"), &st), 0);
    assert_int_equal(st.st_mtim.tv_sec, 1000);
    assert_int_equal(st.st_size, 8);
}

static void lock_all_by_fcntl(void *arg)
{
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    if (fcntl(open_in(arg), F_SETLK, &all) != 0)
        _exit(1);
}

TEST_OF(record_lock_on_the_lock_file_excludes, &name)
{
    pid_t child = start_child(lock_all_by_fcntl, "n");

    assert_int_equal(once(0), BOWLINE_BUSY);
    waits(0);
    end_child(child);
    pass(16);
    (void)gets(0);
}

/* ---- files that are replaced ----------------------------------------------------------------- */

TEST_OF(waiter_of_a_removed_file_joins_the_new_one, &name, &permit)
{
    (void)takes(0);
    waits(1);
    assert_int_equal(unlink(in("n")), 0);
    uint64_t fence = takes(2);
    pass(1); /* a new file begins with the wall clock */
    leave(0);
    still_waits(1); /* it has the old file only, and joins the queue of the new one */
    assert_int_equal(once(3), BOWLINE_BUSY);
    assert_int_equal(rename(in("n"), in("m")), 0);
    leave(2);
    assert_true(gets(1) > fence);
    assert_true(exists("n"));
}

TEST_OF(either_file_of_a_path_may_be_replaced, &path)
{
    uint64_t fence = takes(0);
    assert_int_equal(unlink(in("x.bowline")), 0);
    pass(1);                                 /* a new file begins with the wall clock */
    assert_int_equal(once(1), BOWLINE_BUSY); /* another queue, the same flock */
    waits(1);
    leave(0);
    uint64_t next = gets(1);
    assert_true(next > fence);
    assert_int_equal(unlink(in("x")), 0);
    assert_int_equal(once(2), BOWLINE_BUSY); /* another file, the same queue */
    waits(2);
    leave(1);
    assert_true(gets(2) > next);
}

TEST_OF(waiter_notices_that_either_file_of_a_path_was_replaced, &path, &permit_path)
{
    static const char *const leaves[] = { "x", "x.bowline" };

    for (unsigned i = 0; i < 2; i++) {
        (void)takes(0);
        waits(1);
        assert_int_equal(unlink(in(leaves[i])), 0);
        leave(0);
        (void)gets(1);
        assert_true(exists(leaves[i])); /* it was made again, because 1 holds by the new files */
        leave(1);
    }
}

TEST_OF(lock_directory_that_was_replaced_is_opened_again, &name)
{
    assert_int_equal(rmdir(directory), 0);
    expect_refused(once(0), "does not exist");
    assert_int_equal(mkdir(directory, 0700), 0);
    assert_int_equal(once(0), BOWLINE_OK);
    assert_int_equal(once(1), BOWLINE_OK); /* not affected by the first failure */
    assert_true(exists("n"));
}

/* ---- children -------------------------------------------------------------------------------- */

static void nothing(void *arg)
{
}

/* The child has copies of all descriptors, so a close is not noticed and does not unlock. */
TEST_OF(release_ends_the_hold_in_children_too, &name, &permit, &path, &shared)
{
    (void)takes(0);
    waits(1);
    pid_t child = start_child(nothing, NULL);
    leave(0);
    (void)gets(1);
    leave(1);
    (void)takes(2);
    end_child(child);
}

typedef struct fds {
    int count;
    int fd[BOWLINE_HOLD_INHERIT_FDS_MAX];
} fds;

/* As exec does, except for the descriptors that the child inherits. */
static void close_on_exec(void *arg)
{
    const fds *passed = arg;

    for (int fd = 3; fd < 256; fd++) {
        bool is_passed = false;
        for (int i = 0; i < passed->count; i++)
            is_passed = is_passed || fd == passed->fd[i];
        if (!is_passed && (fcntl(fd, F_GETFD) & FD_CLOEXEC) == FD_CLOEXEC &&
            fcntl(fd, F_GETFD) >= 0)
            (void)close(fd);
    }
}

TEST_OF(hold_outlives_its_process_in_a_child, &name, &path, &shared)
{
    const kind *k = *state;
    fds         passed;

    (void)takes(0);
    passed.count = bowline_hold_inherit_fds(users[0].hold, passed.fd);
    assert_int_equal(passed.count, k == &name ? 1 : 2);
    for (int i = 0; i < passed.count; i++)
        assert_true(descriptor_closes_on_exec(passed.fd[i]));
    pid_t child = start_child(close_on_exec, &passed);
    for (int i = 0; i < passed.count; i++) { /* closed and not unlocked, as by SIGKILL */
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        assert_int_equal(dup3(null, passed.fd[i], O_CLOEXEC), passed.fd[i]);
        (void)close(null);
    }
    assert_int_equal(once(1), BOWLINE_BUSY);
    if (k == &shared) { /* the child inherits the mark too: name_lock.h */
        assert_int_equal(unlink(in("n")), 0);
        assert_int_equal(once(1), BOWLINE_BUSY);
    }
    end_child(child);
    assert_int_equal(once(1), BOWLINE_OK);
}

static int acquire_without_standard_files(void *arg)
{
    for (int fd = 0; fd < 3; fd++)
        (void)close(fd);
    static bowline_client *client; /* static: the process ends without closing it */
    static bowline_hold   *hold;
    if (bowline_open(&client, BOWLINE_OPTIONS(.url = url), NULL) != BOWLINE_OK ||
        bowline_acquire(&hold, client, lock_name, NULL, NULL) != BOWLINE_OK)
        return 1;
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            return 2;
    return 0;
}

TEST_OF(lock_file_is_never_a_standard_file, &name, &path)
{
    assert_int_equal(in_child(acquire_without_standard_files, NULL), 0);
}

/* ---- URLs ------------------------------------------------------------------------------------ */

TEST_OF(urls, &name)
{
    static const struct {
        const char *scheme;
        const char *rest; /* after the directory; NULL: the URL is `scheme` alone */
        int         status;
    } rows[] = {
        { "file:", NULL, BOWLINE_OK }, /* its directory is made when it is needed */
        { "file:?wait=5s", NULL, BOWLINE_OK },
        { "file:", "", BOWLINE_OK },
        { "file://", "/", BOWLINE_OK },
        { "file://", "?wait=forever&lease=5s&max-hold=1h", BOWLINE_OK },
        { "file://host", "", BOWLINE_USAGE },
        { "file://tmp", NULL, BOWLINE_USAGE },
        { "file://user@", "", BOWLINE_USAGE },
        { "file://:80", "", BOWLINE_USAGE },
        { "file://", NULL, BOWLINE_USAGE },
        { "file:", "?key=x", BOWLINE_USAGE },
        { "file:?wait=never", NULL, BOWLINE_USAGE },
    };
    bowline_client *client;
    bowline_holder  holder = { .size = sizeof holder };
    char            text[PATH_SIZE];

    for (unsigned i = 0; i < COUNT_OF(rows); i++) {
        const char *rest = rows[i].rest;
        (void)snprintf(text, sizeof text, "%s%s%s", rows[i].scheme, rest != NULL ? directory : "",
                       rest != NULL ? rest : "");
        int status = bowline_open(&client, BOWLINE_OPTIONS(.url = text), &error);
        if (status != rows[i].status)
            fail_msg("%s: %s", text, bowline_status_name(status));
        if (status == BOWLINE_OK)
            bowline_close(client);
    }
    client = must_open(NULL); /* a path needs no lock directory */
    assert_int_equal(bowline_who(client, in("x"), &holder, &error), BOWLINE_OK);
    assert_int_equal(holder.held, 0);
    bowline_close(client);
}
