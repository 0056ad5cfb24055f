/*
 * test_fence_file.c -- a fence file with concurrent checks, a crash at any step, a disk that fails,
 * and wrong contents.
 *
 * The test replaces fsync and linkat of libc, so that it sees the file at that moment and can end
 * the process there.
 */
#include "tests/lib/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/fence/file.h"

enum { CRASHED = 77 };

/* What happens at a step; the replaced calls read it. */
typedef enum step {
    FILE_SYNC = 1,
    NAME_SYNC,
    NAMING,
} step;

static struct {
    step crash_at;
    step fail_at;
    bool is_overtaken; /* another process creates the file just before linkat */
    char seen[8];      /* the steps in order: f, d, n */
    char content[64];  /* contents of the file at fsync */
} scene;

static char directory[] = "/tmp/bowline-fence-XXXXXX";

/* ---- replacements of libc functions ---------------------------------------------------------- */

static bool is_active(step now, char letter)
{
    size_t size = strlen(scene.seen);

    if (size + 1 < sizeof scene.seen)
        scene.seen[size] = letter;
    if (scene.crash_at == now)
        _exit(CRASHED);
    errno = EIO;
    return scene.fail_at != now;
}

int fsync(int fd)
{
    struct stat is;

    assert_int_equal(fstat(fd, &is), 0);
    if (S_ISDIR(is.st_mode))
        return is_active(NAME_SYNC, 'd') ? 0 : -1;
    ssize_t size = pread(fd, scene.content, sizeof scene.content - 1, 0);
    assert_true(size >= 0);
    scene.content[size] = '\0';
    return is_active(FILE_SYNC, 'f') ? 0 : -1;
}

static void put(const char *name, const char *content)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    assert_int_equal(close(fd), 0);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    if (!is_active(NAMING, 'n'))
        return -1;
    if (scene.is_overtaken)
        put(to, "bowline fence 9\n");
    return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

/* ---- helpers --------------------------------------------------------------------------------- */

static const char *content_of(const char *name)
{
    static char bytes[256];
    int         fd = open(name, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return "(nothing)";
    ssize_t size = read(fd, bytes, sizeof bytes - 1);
    assert_true(size >= 0);
    bytes[size] = '\0';
    assert_int_equal(close(fd), 0);
    return bytes;
}

/* 0, or the code of the failure. */
static int check(const char *name, uint64_t fence)
{
    failure is;
    int     fd = -1;

    if (fence_file_check(&fd, name, fence, &is) < 0) {
        assert_true(is.what.text[0] != '\0' && is.why.text[0] != '\0' && is.hint.text[0] != '\0');
        return is.code;
    }
    /* It stays locked while the descriptor is open. */
    int other = open(name, O_RDWR | O_CLOEXEC);
    assert_true(other >= 0);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
    assert_int_equal(close(fd), 0);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(close(other), 0);
    return 0;
}

/* Runs check in a child, with its standard error in *ret_err. The child does not inherit `ours`,
 * and so not its lock. */
static pid_t check_apart(const char *name, uint64_t fence, int ours, int *ret_err)
{
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        failure is;
        int     fd;
        (void)close(ours);
        (void)dup2(fds[1], STDERR_FILENO);
        (void)close(fds[0]);
        (void)close(fds[1]);
        _exit(fence_file_check(&fd, name, fence, &is) < 0 ? is.code : 0);
    }
    (void)close(fds[1]);
    *ret_err = fds[0];
    return pid;
}

static int end_of(pid_t pid, int err)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(close(err), 0);
    return WEXITSTATUS(status);
}

/* Reads until the message that says that it waits; fails if it ends instead. */
static void see_it_wait(int err)
{
    char bytes[256] = "";

    assert_true(read(err, bytes, sizeof bytes - 1) > 0);
    assert_non_null(strstr(bytes, "waiting for"));
}

static int crash(const char *name, uint64_t fence, step at)
{
    int err;

    scene.crash_at = at;
    pid_t pid      = check_apart(name, fence, -1, &err);
    scene.crash_at = 0;
    return end_of(pid, err);
}

static int set_up(void **state)
{
    memset(&scene, 0, sizeof scene);
    (void)strcpy(directory, "/tmp/bowline-fence-XXXXXX");
    (void)umask(022);
    return mkdtemp(directory) == NULL || chdir(directory) != 0;
}

static int tear_down(void **state)
{
    char line[64];

    (void)snprintf(line, sizeof line, "rm -rf %s", directory);
    return chdir("/") != 0 || system(line) != 0;
}

/* ---- remembered fences ----------------------------------------------------------------------- */

FIXTURE(set_up, tear_down)

TEST(fence_file_stays_the_same_file_with_its_mode)
{
    struct stat before, after;

    assert_int_equal(check("f", 1), 0);
    assert_int_equal(chmod("f", 0640), 0);
    assert_int_equal(stat("f", &before), 0);
    assert_int_equal(check("f", 2), 0);
    assert_int_equal(stat("f", &after), 0);
    assert_true(before.st_ino == after.st_ino && before.st_mode == after.st_mode);
    assert_int_equal(after.st_nlink, 1); /* and its temporary name is gone */
}

TEST(fence_file_is_made_by_the_umask_and_never_for_everybody)
{
    static const struct {
        mode_t umask, mode;
        char   name[4];
    } all[] = { { 0, 0644, "a" }, { 022, 0644, "b" }, { 077, 0600, "c" } };

    for (size_t i = 0; i < 3; i++) {
        struct stat is;
        (void)umask(all[i].umask);
        assert_int_equal(check(all[i].name, 1), 0);
        assert_int_equal(stat(all[i].name, &is), 0);
        assert_int_equal(is.st_mode & 07777, all[i].mode);
    }
}

TEST(fence_file_is_made_for_the_group_of_a_shared_directory)
{
    struct stat is;

    (void)umask(0);
    assert_int_equal(chmod(".", 02775), 0);
    assert_int_equal(check("f", 1), 0);
    assert_int_equal(stat("f", &is), 0);
    assert_int_equal(is.st_mode & 07777, 0664);
    assert_int_equal(check("f", 2), 0);
    assert_int_equal(chmod(".", 0755), 0); /* no longer shared */
    assert_int_equal(check("f", 3), EXIT_FAILED);
}

TEST(fence_file_with_an_extra_byte_is_refused)
{
    put("f", "bowline fence 18446744073709551615\n");
    assert_int_equal(check("f", UINT64_MAX), 0);
    put("f", "bowline fence 18446744073709551615\nx");
    assert_int_equal(check("f", UINT64_MAX), EXIT_FAILED);
    put("f", "bowline fence 5\n\n");
    assert_int_equal(check("f", 6), EXIT_FAILED);
    assert_string_equal(content_of("f"), "bowline fence 5\n\n");
}

/* ---- concurrent checks ----------------------------------------------------------------------- */

/* A check that waits for the lock reads the file that has the name when it gets the lock: the same
 * file, or one that replaces it. */
static void changes_during_the_wait(const char *name)
{
    int err;

    put("f", "bowline fence 1\n");
    int fd = open("f", O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    pid_t pid = check_apart("f", 5, fd, &err);
    see_it_wait(err);
    put(name, "bowline fence 9\n");
    assert_int_equal(rename(name, "f"), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(end_of(pid, err), EXIT_LOST);
    assert_string_equal(content_of("f"), "bowline fence 9\n");
}

TEST(fence_file_is_compared_under_its_lock)
{
    changes_during_the_wait("f");
}

TEST(fence_file_that_is_replaced_during_the_wait_is_opened_again)
{
    changes_during_the_wait("g");
}

TEST(fence_file_that_another_process_creates_first_is_used)
{
    scene.is_overtaken = true;
    assert_int_equal(check("f", 5), EXIT_LOST);
    assert_string_equal(content_of("f"), "bowline fence 9\n");
    assert_int_equal(unlink("f"), 0);
    assert_int_equal(check("f", 9), 0);
    assert_int_equal(unlink("f"), 0);
    assert_int_equal(rmdir(directory), 0); /* nothing is left behind */
    assert_int_equal(mkdir(directory, 0700), 0);
}

/* An accepted check writes a note while it holds the lock: the notes never decrease. */
TEST(fence_file_never_decreases_with_concurrent_checks)
{
    enum { CROWD = 4, EACH = 150 };
    int log = open("log", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    for (unsigned who = 0; who < CROWD; who++) {
        if (fork() != 0)
            continue;
        for (uint64_t i = 1; i <= EACH; i++) {
            uint64_t fence = i * CROWD + (who * 7) % 23; /* some late, some early */
            failure  is;
            int      fd;
            if (fence_file_check(&fd, "f", fence, &is) == 0) {
                if (write(log, &fence, sizeof fence) != sizeof fence)
                    _exit(1);
                (void)close(fd);
            } else if (is.code != EXIT_LOST) {
                _exit(2);
            }
        }
        _exit(0);
    }
    for (unsigned who = 0; who < CROWD; who++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    uint64_t before = 0, fence = 0;
    assert_int_equal(lseek(log, 0, SEEK_SET), 0);
    while (read(log, &fence, sizeof fence) == sizeof fence) {
        if (fence < before)
            fail_msg("%llu after %llu", (unsigned long long)fence, (unsigned long long)before);
        before = fence;
    }
    assert_true(before >= EACH * CROWD);
    assert_int_equal(close(log), 0);
}

/* ---- the disk -------------------------------------------------------------------------------- */

TEST(fence_file_is_synced_before_the_result)
{
    assert_int_equal(check("f", 5), 0);
    assert_string_equal(scene.seen, "fnd");
    assert_string_equal(scene.content, "bowline fence 5\n");
    memset(&scene, 0, sizeof scene);
    assert_int_equal(check("f", 6), 0);
    assert_string_equal(scene.seen, "fd");
    assert_string_equal(scene.content, "bowline fence 6\n");
    /* Also for an old file: its writer may have crashed before fsync. */
    memset(&scene, 0, sizeof scene);
    assert_int_equal(check("f", 6), 0);
    assert_string_equal(scene.seen, "fd");
    /* A refused fence writes nothing. */
    memset(&scene, 0, sizeof scene);
    assert_int_equal(check("f", 5), EXIT_LOST);
    assert_string_equal(scene.seen, "");
}

TEST(fence_file_is_whole_or_missing_after_a_crash_at_any_step)
{
    assert_int_equal(crash("f", 5, FILE_SYNC), CRASHED);
    assert_string_equal(content_of("f"), "(nothing)");
    assert_int_equal(crash("f", 5, NAMING), CRASHED);
    assert_string_equal(content_of("f"), "(nothing)");
    assert_int_equal(crash("f", 5, NAME_SYNC), CRASHED);
    assert_string_equal(content_of("f"), "bowline fence 5\n");
    assert_int_equal(check("f", 6), 0);
    /* A fence that was written but not synced counts: the next one is higher. */
    assert_int_equal(crash("f", 8, FILE_SYNC), CRASHED);
    assert_int_equal(check("f", 7), EXIT_LOST);
    assert_int_equal(crash("f", 9, NAME_SYNC), CRASHED);
    assert_int_equal(check("f", 8), EXIT_LOST);
    assert_int_equal(check("f", 9), 0);
}

TEST(fence_file_that_cannot_be_synced_accepts_nothing)
{
    static const step steps[] = { FILE_SYNC, NAMING, NAME_SYNC };

    for (unsigned i = 0; i < 3; i++) {
        scene.fail_at = steps[i];
        assert_int_equal(check("f", 5), EXIT_FAILED);
    }
    put("g", "bowline fence 5\n");
    scene.fail_at = FILE_SYNC;
    assert_int_equal(check("g", 6), EXIT_FAILED);
    assert_int_equal(check("g", 6), EXIT_FAILED); /* although the file has that fence already */
    scene.fail_at = NAME_SYNC;
    assert_int_equal(check("g", 6), EXIT_FAILED);
    scene.fail_at = 0;
    assert_int_equal(check("g", 6), 0);
}

TEST(fence_file_is_unchanged_after_a_failed_write)
{
    struct rlimit before, none;

    put("f", "bowline fence 5\n");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    int existing = check("f", 6), absent = check("g", 6);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(existing, EXIT_FAILED);
    assert_string_equal(content_of("f"), "bowline fence 5\n");
    assert_int_equal(absent, EXIT_FAILED);
    assert_string_equal(content_of("g"), "(nothing)");
    assert_int_equal(unlink("f"), 0);
    assert_int_equal(rmdir(directory), 0); /* nothing is left behind */
    assert_int_equal(mkdir(directory, 0700), 0);
}
