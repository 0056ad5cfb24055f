/*
 * test_file_open.c -- opening files that are written, where others have laid something in their
 * place.
 */
#include "engine/file/open.h"
#include "file_fixture.h"

#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

/* In the C library's place: somebody else makes the file just before we do. */
static bool others_are_faster;

int openat(int at, const char *path, int flags, ...)
{
    va_list rest;

    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    if (others_are_faster && (flags & O_EXCL) != 0) {
        others_are_faster = false;
        (void)close((int)syscall(SYS_openat, at, path, flags, mode));
    }
    return (int)syscall(SYS_openat, at, path, flags, mode);
}

static bwl_file  file;
static bwl_fault fault;
static int       above; /* the directory, opened */

static int set_up(void **state)
{
    (void)make_directory(state);
    above = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    file  = (bwl_file){ .fd = -1 };
    fault = (bwl_fault){ 0 };
    return 0;
}

static int tear_down(void **state)
{
    if (file.fd >= 0)
        (void)close(file.fd);
    (void)close(above);
    (void)umask(022);
    return remove_directory(state);
}

static bwl_file_spot spot(mode_t mode, bool is_private)
{
    return (bwl_file_spot){ .at         = above,
                            .leaf       = "f",
                            .shown      = directory,
                            .role       = "",
                            .sharing    = { mode, geteuid(), getegid() },
                            .is_private = is_private,
                            .makes      = true,
                            .writes     = true };
}

static int open_f(void)
{
    bwl_file_spot s = spot(01777, false);

    return bwl_file_open_ours(&file, &s, &fault);
}

static void expect_refused(const char *word)
{
    assert_int_equal(open_f(), BWL_STATUS_REFUSED);
    assert_int_equal(fault.status, BWL_STATUS_REFUSED);
    assert_non_null(strstr(fault.text, in("f")));
    assert_non_null(strstr(fault.text, word));
    assert_int_equal(file.fd, -1);
}

/* ---- what lies there ------------------------------------------------------------------------- */

static void test_file_open_what_is_missing_is_made_empty(void **state)
{
    struct stat st;

    assert_int_equal(open_f(), BWL_OK);
    assert_int_equal(fstat(file.fd, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_true(bwl_file_is_this(&st, &file));
    assert_int_equal(fcntl(file.fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(file.fd, F_GETFL) & O_ACCMODE, O_RDWR);
}

static void test_file_open_what_is_there_is_left_as_it_is(void **state)
{
    char bytes[8];

    put("f", "content", 7);
    assert_int_equal(open_f(), BWL_OK);
    assert_int_equal(pread(file.fd, bytes, sizeof bytes, 0), 7);
    assert_memory_equal(bytes, "content", 7);
    assert_int_equal(mode_of("f"), 0600);
}

static void test_file_open_what_others_make_meanwhile_is_opened(void **state)
{
    bwl_file_spot s = spot(0700, true);

    others_are_faster = true;
    assert_int_equal(bwl_file_open_ours(&file, &s, &fault), BWL_OK);
    assert_false(others_are_faster);
    assert_true(file.fd >= 0);
}

/* To open a FIFO for reading waits until somebody writes. */
static void test_file_open_does_not_wait_for_a_fifo_to_be_written_to(void **state)
{
    bwl_file_spot s = spot(01777, false);

    s.makes  = false;
    s.writes = false;
    assert_int_equal(mkfifo(in("f"), 0600), 0);
    (void)alarm(20); /* to wait for ever ends the test */
    assert_int_equal(bwl_file_open_ours(&file, &s, &fault), BWL_STATUS_REFUSED);
    (void)alarm(0);
    assert_non_null(strstr(fault.text, "is not a regular file"));
}

static void test_file_open_follows_no_link(void **state)
{
    put("target", "precious", 8);
    assert_int_equal(symlink("target", in("f")), 0);
    expect_refused("symbolic link");
    assert_int_equal(unlink(in("f")), 0);
    assert_int_equal(symlink("none", in("f")), 0);
    expect_refused("symbolic link");
    assert_false(exists("none"));
}

static void test_file_open_refuses_a_file_with_other_names(void **state)
{
    put("target", "precious", 8);
    assert_int_equal(link(in("target"), in("f")), 0);
    expect_refused("hard links");
}

static void test_file_open_refuses_what_is_no_file(void **state)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int                socket_fd;

    assert_int_equal(mkdir(in("f"), 0700), 0);
    expect_refused("not a regular file");
    assert_int_equal(rmdir(in("f")), 0);
    assert_int_equal(mkfifo(in("f"), 0600), 0);
    expect_refused("not a regular file"); /* and does not wait for somebody to write */
    assert_int_equal(unlink(in("f")), 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", in("f"));
    socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(socket_fd, (struct sockaddr *)&address, sizeof address), 0);
    expect_refused("not a regular file");
    (void)close(socket_fd);
}

static void test_file_open_in_a_private_directory_refuses_the_files_of_others(void **state)
{
    bwl_file_spot s = spot(0700, true);

    if (geteuid() != 0)
        skip();
    put("f", "", 0);
    assert_int_equal(chown(in("f"), NOBODY, NOBODY), 0);
    assert_int_equal(bwl_file_open_ours(&file, &s, &fault), BWL_STATUS_REFUSED);
    assert_non_null(strstr(fault.text, "another user"));
    s.is_private = false;
    assert_int_equal(bwl_file_open_ours(&file, &s, &fault), BWL_OK);
}

static void test_file_open_to_look_nothing_is_made(void **state)
{
    bwl_file_spot s = spot(0755, false);

    s.makes  = false;
    s.writes = false;
    file.fd  = 99;
    assert_int_equal(bwl_file_open_ours(&file, &s, &fault), BWL_OK);
    assert_int_equal(file.fd, -1);
    assert_false(exists("f"));
    put("f", "", 0);
    assert_int_equal(bwl_file_open_ours(&file, &s, &fault), BWL_OK);
    assert_int_equal(fcntl(file.fd, F_GETFL) & O_ACCMODE, O_RDONLY);
}

/* ---- for whom it is made --------------------------------------------------------------------- */

static void expect_mode(mode_t mask, mode_t directory_mode, bool is_private, mode_t wanted)
{
    bwl_file_spot s = spot(directory_mode, is_private);

    (void)umask(mask);
    assert_int_equal(bwl_file_open_ours(&file, &s, &fault), BWL_OK);
    assert_int_equal(mode_of("f"), wanted);
    (void)close(file.fd);
    file.fd = -1;
    assert_int_equal(unlink(in("f")), 0);
}

static void test_file_open_whoever_may_make_files_here_may_lock_here(void **state)
{
    expect_mode(022, 0755, false, 0644);
    expect_mode(077, 0755, false, 0600);
    expect_mode(022, 02775, false, 0664);
    expect_mode(077, 02775, false, 0660);
    expect_mode(022, 01777, false, 0666);
    expect_mode(077, 01777, false, 0666);
    expect_mode(0, 0755, false, 0666);
    expect_mode(0777, 0755, false, 0600);
}

static void test_file_open_what_is_private_stays_so(void **state)
{
    expect_mode(0, 0700, true, 0600);
    expect_mode(022, 0700, true, 0600);
    expect_mode(0777, 0700, true, 0600);
    expect_mode(0, 01777, true, 0600);
}

/* What root makes in the directory of another is his, as he may lock there; of a group that may
 * write, it is the group's. */
static void test_file_open_is_for_the_owner_of_the_directory_and_its_group(void **state)
{
    bwl_file_spot s = spot(0770, false);
    struct stat   st;

    if (geteuid() != 0)
        skip();
    s.sharing = (bwl_file_sharing){ 0770, NOBODY, NOBODY };
    assert_int_equal(bwl_file_open_ours(&file, &s, &fault), BWL_OK);
    assert_int_equal(fstat(file.fd, &st), 0);
    assert_int_equal(st.st_uid, NOBODY);
    assert_int_equal(st.st_gid, NOBODY);
    assert_int_equal(st.st_mode & 0777, 0664);
    (void)close(file.fd);
    assert_int_equal(unlink(in("f")), 0);
    s.sharing.mode = 0755;
    assert_int_equal(bwl_file_open_ours(&file, &s, &fault), BWL_OK);
    assert_int_equal(fstat(file.fd, &st), 0);
    assert_int_equal(st.st_uid, NOBODY);
    assert_int_equal(st.st_gid, getegid());
}

/* ---- what the system refuses ----------------------------------------------------------------- */

static int open_as_nobody(void *arg)
{
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        return 1;
    return open_f() == BWL_STATUS_REFUSED && strstr(fault.text, "permission denied") != NULL &&
                   strstr(fault.text, arg) != NULL
               ? 0
               : 2;
}

static void test_file_open_says_when_it_may_not(void **state)
{
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(directory, 0755), 0);
    assert_int_equal(in_child(open_as_nobody, "/f"), 0);
    put("f", "", 0);
    assert_int_equal(in_child(open_as_nobody, "/f"), 0);
}

static void test_file_open_a_directory_that_is_gone_is_an_error(void **state)
{
    char leaf[] = "d";

    assert_int_equal(mkdir(in(leaf), 0700), 0);
    (void)close(above);
    above = open(in(leaf), O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(rmdir(in(leaf)), 0);
    assert_int_equal(open_f(), BWL_STATUS_SYSTEM);
}

static int open_without_standard_files(void *arg)
{
    (void)arg;
    for (int fd = 0; fd < 3; fd++)
        (void)close(fd);
    if (open_f() != BWL_OK || file.fd <= 2 || fcntl(file.fd, F_GETFD) != FD_CLOEXEC)
        return 1;
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            return 2; /* nor does it stay open there */
    return 0;
}

static void test_file_open_is_never_standard_output(void **state)
{
    assert_int_equal(in_child(open_without_standard_files, NULL), 0);
}

static void test_file_open_above_standard_keeps_what_failed(void **state)
{
    errno = ENOENT;
    assert_int_equal(bwl_file_above_standard(-1), -1);
    assert_int_equal(errno, ENOENT);
}

/* Another user opens the file as soon as it has a name. */
static void open_for_ever(void)
{
    bwl_file_spot s = spot(01777, false);

    s.makes = false;
    if (setegid(NOBODY) != 0 || seteuid(NOBODY) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        _exit(1);
    (void)close(open(in("ready"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    while (!exists("refused")) {
        if (bwl_file_open_ours(&file, &s, &fault) != BWL_OK)
            (void)close(open(in("refused"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        else if (file.fd >= 0)
            (void)close(file.fd);
    }
    _exit(0);
}

static void test_file_open_a_new_file_is_shared_before_it_has_its_name(void **state)
{
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(directory, 01777), 0);
    (void)umask(077);
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        open_for_ever();
    while (!exists("ready"))
        (void)sched_yield();
    for (unsigned i = 0; i < 3000 && !exists("refused"); i++) {
        assert_int_equal(open_f(), BWL_OK);
        assert_int_equal(mode_of("f"), 0666);
        (void)sched_yield();
        assert_int_equal(unlink(in("f")), 0);
        (void)close(file.fd);
        file.fd = -1;
    }
    assert_false(exists("refused"));
    end_child(child);
}

/* Somebody swaps what lies there, all the time: no more than a regular file is ever opened, and by
 * no symbolic link. */
static void swap_for_ever(void *arg)
{
    (void)arg;
    if (fork() != 0) /* this process says that it is ready, the other one works */
        return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        (void)!symlink("target", in("f"));
        (void)unlink(in("f"));
        (void)mkfifo(in("f"), 0600);
        (void)unlink(in("f"));
        sched_yield();
    }
}

static void test_file_open_is_not_led_astray_by_a_race(void **state)
{
    struct stat target;
    unsigned    opens = 0;

    put("target", "precious", 8);
    assert_int_equal(lstat(in("target"), &target), 0);
    pid_t   child = start_child(swap_for_ever, NULL);
    int64_t until = clock_ms() + 500;
    /* Longer where it had no turn yet: its one chance is that nothing lies there. */
    while (clock_ms() < until || (opens == 0 && clock_ms() < until + 10000)) {
        if (open_f() != BWL_OK)
            continue;
        struct stat st;
        assert_int_equal(fstat(file.fd, &st), 0);
        assert_true(S_ISREG(st.st_mode));
        assert_int_not_equal(st.st_ino, target.st_ino);
        (void)close(file.fd);
        file.fd = -1;
        opens++;
    }
    end_child(child);
    assert_true(opens > 0);
}

#define with_above(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_above(test_file_open_what_is_missing_is_made_empty),
        with_above(test_file_open_what_is_there_is_left_as_it_is),
        with_above(test_file_open_what_others_make_meanwhile_is_opened),
        with_above(test_file_open_does_not_wait_for_a_fifo_to_be_written_to),
        with_above(test_file_open_follows_no_link),
        with_above(test_file_open_refuses_a_file_with_other_names),
        with_above(test_file_open_refuses_what_is_no_file),
        with_above(test_file_open_in_a_private_directory_refuses_the_files_of_others),
        with_above(test_file_open_to_look_nothing_is_made),
        with_above(test_file_open_whoever_may_make_files_here_may_lock_here),
        with_above(test_file_open_what_is_private_stays_so),
        with_above(test_file_open_is_for_the_owner_of_the_directory_and_its_group),
        with_above(test_file_open_says_when_it_may_not),
        with_above(test_file_open_a_directory_that_is_gone_is_an_error),
        with_above(test_file_open_is_never_standard_output),
        with_above(test_file_open_above_standard_keeps_what_failed),
        with_above(test_file_open_a_new_file_is_shared_before_it_has_its_name),
        with_above(test_file_open_is_not_led_astray_by_a_race),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
