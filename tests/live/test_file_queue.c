/*
 * test_file_queue.c -- processes in the queue of one lock file: their order, what becomes of it
 * when some are killed or stopped, and how soon the next one knows.
 */
#include "api/engines.h"
#include "runtime/lock.h"
#include "api/engines.h"
#include "engine/file/ticket.h"
#include "protocol/store/local.h"
#include "tests/unit/file_fixture.h"

#include <bowline/async.h>
#include <bowline/bowline.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { CROWD = 200 };

static bowline_client *client;
static bowline_hold   *hold;
static char            url[128];
static int             told[2]; /* a pipe: who got it */
static int             go;      /* one with a name */

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
    unsigned count = bwl_file_count(fd, 0, BWL_FILE_TICKET_MAX, CROWD * 2);

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

static void test_file_queue_is_served_in_order_without_the_dead(void **state)
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
static void test_file_queue_of_a_crowd_is_served_in_order(void **state)
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

/* ---- the killed ------------------------------------------------------------------------------ */

static unsigned tries;

static bool count_tries(bwl_engine_lock *lock, const bwl_ask *ask, bwl_event *ret_reply)
{
    tries += ask->word == LOCAL_TRY;
    return bwl_file_engine.ask(lock, ask, ret_reply);
}

static void hold_until_killed(void *arg)
{
    bowline_client *mine;
    bowline_hold   *won;

    if (bowline_open(&mine, BOWLINE_OPTIONS(.url = url), NULL) < 0 ||
        bowline_acquire(&won, mine, arg, NULL, NULL) < 0)
        _exit(1);
}

static void kill_later(pid_t pid, _Atomic int64_t *ret_killed_ms)
{
    if (fork() != 0)
        return;
    sleep_ms(600);
    atomic_store(ret_killed_ms, clock_ms());
    (void)kill(pid, SIGKILL);
    _exit(0);
}

/* How long after its end it was ours. */
static int64_t wait_for_the_dead(bwl_shard *counted, _Atomic int64_t *killed_ms)
{
    static const bwl_terms terms = { .lease_ms = 30000, .max_hold_ms = BWL_NEVER };
    bwl_operation          operation;
    bwl_lock              *lock;
    bwl_fault              fault;
    int                    how;

    pid_t holder = start_child(hold_until_killed, "k");
    tries        = 0;
    bwl_shard_lock(counted);
    assert_int_equal(bwl_lock_new(&lock, counted, "k", &terms, &fault), BWL_OK);
    bwl_lock_acquire(lock, &operation, BWL_NEVER);
    kill_later(holder, killed_ms);
    assert_int_equal(bwl_loop_wait(&counted->loop, &operation.completion, BWL_NEVER, &fault),
                     BWL_OK);
    int64_t took_ms = clock_ms() - atomic_load(killed_ms);
    assert_int_equal(operation.completion.result, BWL_HELD);
    bwl_lock_release(lock, &operation);
    bwl_lock_drop_handle(lock);
    bwl_shard_unlock(counted);
    print_message("# killed; %d ms later it was ours, after %u looks in 600 ms\n", (int)took_ms,
                  tries);
    while (wait(&how) > 0) {
    }
    assert_in_range(tries, 1, 16); /* by the millisecond it would be 600 */
    return took_ms;
}

static void test_file_queue_a_killed_holder_is_told_and_not_polled_for(void **state)
{
    bwl_engine       counting = bwl_file_engine;
    bwl_settings     asked    = { 0 };
    bwl_shard       *counted;
    bwl_fault        fault;
    int64_t          best_ms = INT64_MAX; /* the machine may be slow, but not each time */
    _Atomic int64_t *killed_ms =
        mmap(NULL, sizeof *killed_ms, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(killed_ms != MAP_FAILED);
    counting.ask = count_tries;
    assert_int_equal(bwl_shard_open(&counted, bwl_engines, &asked, false, url, &fault), BWL_OK);
    counted->host.engine = &counting;
    for (unsigned i = 0; i < 5; i++) {
        int64_t took_ms = wait_for_the_dead(counted, killed_ms);
        best_ms         = took_ms < best_ms ? took_ms : best_ms;
    }
    assert_in_range(best_ms, 0, 250); /* the next look by itself would be after 423 */
    bwl_shard_close(counted);
    (void)munmap(killed_ms, sizeof *killed_ms);
}

/* ---- the stopped ----------------------------------------------------------------------------- */

static void until_stopped(pid_t pid)
{
    int how;

    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, &how, WUNTRACED), pid);
    assert_true(WIFSTOPPED(how));
}

static void test_file_queue_goes_round_who_is_stopped(void **state)
{
    char letter = 0;

    pid_t a = start_waiter('a');
    until_standing(2);
    pid_t b = start_waiter('b');
    until_standing(3);
    pid_t c = start_waiter('c');
    until_standing(4);
    until_stopped(a);
    int64_t began = clock_ms();
    release();
    assert_int_equal(read(told[0], &letter, 1), 1);
    assert_int_equal(letter, 'b');
    assert_in_range(clock_ms() - began, 1000, 5000);
    assert_int_equal(read(told[0], &letter, 1), 1);
    assert_int_equal(letter, 'c');
    print_message("# with the first one stopped, the next two were served in %d ms\n",
                  (int)(clock_ms() - began));
    reap(b);
    reap(c);
    assert_int_equal(kill(a, SIGCONT), 0);
    assert_int_equal(read(told[0], &letter, 1), 1);
    assert_int_equal(letter, 'a');
    reap(a);
}

/* ---- flock(1) -------------------------------------------------------------------------------- */

/* The exit status of flock(1) with these arguments, tried once on this file. */
static int flock_once(const char *leaf)
{
    char command[PATH_SIZE];

    (void)snprintf(command, sizeof command, "flock --nonblock %s true", in(leaf));
    int how = system(command);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

/* Somebody else has it until he is told to go: by a line in the pipe `go`. */
static void expect_exclusion(const char *name, const char *leaf)
{
    const bowline_acquire_options *waits = BOWLINE_ACQUIRE(.wait_ms = 10000);
    bowline_hold                  *mine;
    bowline_operation             *op;
    char                           command[PATH_SIZE];

    assert_int_equal(bowline_acquire(&mine, client, name, waits, NULL), BOWLINE_OK);
    assert_int_equal(flock_once(leaf), 1);
    assert_int_equal(bowline_release(mine, NULL), BOWLINE_OK);
    assert_int_equal(flock_once(leaf), 0);
    (void)snprintf(command, sizeof command, "flock %s sh -c 'echo; read x <%s/go'", in(leaf),
                   directory);
    FILE *other = popen(command, "re");
    assert_non_null(other);
    assert_int_equal(fgetc(other), '\n');
    assert_int_equal(bowline_acquire(&mine, client, name, NULL, NULL), BOWLINE_BUSY);
    assert_int_equal(bowline_acquire_start(&op, client, name, waits, NULL), BOWLINE_OK);
    assert_int_equal(bowline_operation_wait(op, 100, NULL), BOWLINE_TIMEOUT);
    assert_int_equal(write(go, "\n", 1), 1);
    assert_int_equal(bowline_acquire_finish(&mine, op, NULL), BOWLINE_OK);
    assert_int_equal(pclose(other), 0);
    assert_int_equal(bowline_release(mine, NULL), BOWLINE_OK);
}

static void test_file_queue_and_the_command_flock_exclude_each_other(void **state)
{
    if (system("flock --version >/dev/null 2>&1") != 0)
        skip();
    release();
    assert_int_equal(mkfifo(in("go"), 0600), 0);
    go = open(in("go"), O_RDWR | O_CLOEXEC);
    assert_true(go >= 0);
    expect_exclusion("n", "n");
    expect_exclusion(in("x"), "x");
    assert_int_equal(mkdir(in("d"), 0700), 0);
    expect_exclusion(in("d"), "d");
    (void)close(go);
}

#define with_holder(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_holder(test_file_queue_is_served_in_order_without_the_dead),
        with_holder(test_file_queue_of_a_crowd_is_served_in_order),
        with_holder(test_file_queue_a_killed_holder_is_told_and_not_polled_for),
        with_holder(test_file_queue_goes_round_who_is_stopped),
        with_holder(test_file_queue_and_the_command_flock_exclude_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
