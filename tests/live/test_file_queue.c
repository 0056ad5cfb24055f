/*
 * test_file_queue.c -- processes in the queue of one lock file: their order, also after some were
 * killed, and when some of them get no inotify instance.
 */
#include "engine/file/kernel_queue.h"
#include "tests/lib/suite.h"
#include "tests/unit/file_fixture.h"

#include <bowline/async.h>
#include <bowline/bowline.h>

#include <sys/inotify.h>
#include <sys/syscall.h>

enum { CROWD = 40, KILLED = 3 };

static bowline_client *client;
static bowline_hold   *hold;
static char            url[128];
static int             letters_pipe[2]; /* each process writes its letter */
static bool            lacks_inotify;   /* as for a user that has all its instances in use */

/* In place of the system call: a test that really used up the instances of the user would fail
 * other tests. */
int inotify_init1(int flags)
{
    if (!lacks_inotify)
        return (int)syscall(SYS_inotify_init1, flags);
    errno = EMFILE;
    return -1;
}

static int set_up(void **state)
{
    lacks_inotify = false;
    (void)make_directory(state);
    (void)snprintf(url, sizeof url, "file:%s", directory);
    assert_int_equal(pipe2(letters_pipe, O_CLOEXEC), 0);
    assert_int_equal(bowline_open(&client, BOWLINE_OPTIONS(.url = url), NULL), BOWLINE_OK);
    assert_int_equal(bowline_acquire(&hold, client, "n", NULL, NULL), BOWLINE_OK);
    return 0;
}

static int tear_down(void **state)
{
    bowline_close(client);
    (void)close(letters_pipe[0]);
    (void)close(letters_pipe[1]);
    return remove_directory(state);
}

/* The number of processes in the queue, with the holder. */
static unsigned queue_size(void)
{
    int      fd    = open_in("n");
    unsigned count = bwl_file_queue_count(fd, 0, BWL_FILE_TICKET_MAX, CROWD * 2);

    (void)close(fd);
    return count;
}

static void wait_for_queue_size(unsigned count)
{
    for (int64_t end = clock_ms() + 20000; queue_size() != count; sleep_ms(1))
        assert_true(clock_ms() < end);
}

/* Acquires the lock, writes its letter, and releases. */
static pid_t start_waiter(char letter)
{
    (void)fflush(NULL);
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    bowline_client *own_client;
    bowline_hold   *own_hold;
    if (bowline_open(&own_client, BOWLINE_OPTIONS(.url = url), NULL) < 0 ||
        bowline_acquire(&own_hold, own_client, "n", BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER),
                        NULL) < 0 ||
        write(letters_pipe[1], &letter, 1) != 1 || bowline_release(own_hold, NULL) < 0)
        _exit(1);
    _exit(0);
}

static void release(void)
{
    assert_int_equal(bowline_release(hold, NULL), BOWLINE_OK);
}

static void reap(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- order ----------------------------------------------------------------------------------- */

FIXTURE(set_up, tear_down)

/* Every second waiter polls, and one is killed. */
TEST(file_queue_grants_in_order_and_skips_a_killed_waiter)
{
    static pid_t pids[CROWD];
    char         numbers[CROWD];

    for (unsigned i = 0; i < CROWD; i++) {
        lacks_inotify = i % 2 == 1;
        pids[i]       = start_waiter((char)i);
        wait_for_queue_size(i + 2);
    }
    end_child(pids[KILLED]);
    wait_for_queue_size(CROWD);
    int64_t began = clock_ms();
    release();
    for (unsigned i = 0; i < CROWD; i++)
        if (i != KILLED)
            reap(pids[i]);
    print_message("# %d waiters were served in %d ms\n", CROWD, (int)(clock_ms() - began));
    assert_int_equal(read(letters_pipe[0], numbers, sizeof numbers), CROWD - 1);
    for (unsigned i = 0; i < CROWD - 1; i++)
        assert_int_equal((unsigned char)numbers[i], i + (i >= KILLED));
}
