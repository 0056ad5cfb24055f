/*
 * test_file_queue.c -- processes in the queue of one lock file: their order, also when some are
 * killed, and of more than there are inotify descriptors for.
 */
#include "engine/file/kernel_queue.h"
#include "tests/lib/suite.h"
#include "tests/unit/file_fixture.h"

#include <bowline/async.h>
#include <bowline/bowline.h>

enum { CROWD = 200 };

static bowline_client *client;
static bowline_hold   *hold;
static char            url[128];
static int             told[2]; /* a pipe: who got it */

static int set_up(void **state)
{
    (void)make_directory(state);
    (void)snprintf(url, sizeof url, "file:%s", directory);
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    assert_int_equal(bowline_open(&client, BOWLINE_OPTIONS(.url = url), NULL), BOWLINE_OK);
    assert_int_equal(bowline_acquire(&hold, client, "n", NULL, NULL), BOWLINE_OK);
    return 0;
}

static int tear_down(void **state)
{
    bowline_close(client);
    (void)close(told[0]);
    (void)close(told[1]);
    return remove_directory(state);
}

/* How many stand in the queue, the holder too. */
static unsigned standing(void)
{
    int      fd    = open_in("n");
    unsigned count = bwl_file_queue_count(fd, 0, BWL_FILE_TICKET_MAX, CROWD * 2);

    (void)close(fd);
    return count;
}

static void until_standing(unsigned count)
{
    int64_t until = clock_ms() + 20000;

    while (standing() != count) {
        assert_true(clock_ms() < until);
        sleep_ms(1);
    }
}

/* Waits for the lock, says its letter, and gives it back. */
static pid_t start_waiter(char letter)
{
    (void)fflush(NULL);
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    bowline_client *mine;
    bowline_hold   *won;
    if (bowline_open(&mine, BOWLINE_OPTIONS(.url = url), NULL) < 0 ||
        bowline_acquire(&won, mine, "n", BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), NULL) < 0 ||
        write(told[1], &letter, 1) != 1 || bowline_release(won, NULL) < 0)
        _exit(1);
    _exit(0);
}

static void release(void)
{
    assert_int_equal(bowline_release(hold, NULL), BOWLINE_OK);
}

static void reap(pid_t pid)
{
    int how;

    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

/* ---- order ----------------------------------------------------------------------------------- */

FIXTURE(set_up, tear_down)

TEST(file_queue_is_served_in_order_without_the_dead)
{
    pid_t pids[10];
    char  letters[10] = "";

    for (unsigned i = 0; i < 10; i++) {
        pids[i] = start_waiter((char)('a' + i));
        until_standing(i + 2);
    }
    end_child(pids[3]);
    until_standing(10);
    release();
    for (unsigned i = 0; i < 10; i++)
        if (i != 3)
            reap(pids[i]);
    assert_int_equal(read(told[0], letters, sizeof letters), 9);
    assert_string_equal(letters, "abcefghij");
}

/* More than a user may have inotify descriptors by default: some of them poll. */
TEST(file_queue_of_a_crowd_is_served_in_order)
{
    static pid_t pids[CROWD];
    char         numbers[CROWD];

    for (unsigned i = 0; i < CROWD; i++) {
        pids[i] = start_waiter((char)i);
        until_standing(i + 2);
    }
    int64_t began = clock_ms();
    release();
    for (unsigned i = 0; i < CROWD; i++)
        reap(pids[i]);
    print_message("# %d waiters were served in %d ms\n", CROWD, (int)(clock_ms() - began));
    assert_int_equal(read(told[0], numbers, sizeof numbers), CROWD);
    for (unsigned i = 0; i < CROWD; i++)
        assert_int_equal((unsigned char)numbers[i], i);
}
