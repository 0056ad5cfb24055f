/*
 * test_file_torture.c -- many processes contend for one name of file:, while the test kills, stops
 * and continues them at random, and flock(1) takes the lock file too. Some share the lock, or hold
 * one or both of two permits.
 *
 * Each holder takes a flock on a witness file, without waiting, and a lock on a byte of it for each
 * permit: if another process has it that is not being killed, there were two holders. Each holder
 * also compares its fence with the previous one; an exclusive one, its id with a word in memory.
 *
 * BOWLINE_TORTURE_SECONDS is the duration, by default 10.
 */
#include "tests/lib/suite.h"

#include <bowline/bowline.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    WORKERS   = 10, /* that lock with bowline ... */
    OUTSIDERS = 2,  /* ... and with flock */
    SLOTS     = WORKERS + OUTSIDERS,
    ELDERS    = 5, /* never killed, so that some waiters wait long enough to be overtaken */
    SECONDS   = 10,
    SLEEP_MS  = 2600, /* long enough for others to overtake it */
    PERMITS   = 2,
};

typedef struct slot {
    atomic_bool dying;  /* set before the kill, until the process was reaped */
    atomic_int  lives;  /* the number of starts */
    atomic_int  killed; /* the last life that was killed */
    atomic_long held;
    atomic_long left;
} slot;

typedef struct shared_state {
    atomic_int           stop;
    atomic_int           inside; /* life and slot of the holder: see life_of */
    atomic_long          violations;
    atomic_long          disorders;
    atomic_long          failures;
    atomic_uint_fast64_t fence;
    slot                 slots[SLOTS];
} shared_state;

static shared_state *judge;
static char          directory[64];
static char          lock_path[128]; /* the file for flock */
static char          witness_path[128];
static char          url[128];
static const char   *name;

static int64_t now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void sleep_us(long us)
{
    struct timespec t = { us / 1000000, us % 1000000 * 1000 };

    (void)nanosleep(&t, NULL);
}

static unsigned random_below(unsigned below)
{
    return (unsigned)random() % below;
}

/* ---- the witness ----------------------------------------------------------------------------- */

static bool is_any_dying(void)
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (atomic_load(&judge->slots[i].dying))
            return true;
    return false;
}

static int life_of(unsigned me)
{
    return atomic_load(&judge->slots[me].lives) * SLOTS + (int)me;
}

static bool was_killed(int life)
{
    return atomic_load(&judge->slots[life % SLOTS].killed) >= life / SLOTS;
}

/* Locks the file, and a byte for each permit. */
static bool witness_lets_in(int witness, bool shares, uint32_t permits)
{
    if (flock(witness, (shares ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0)
        return false;
    for (off_t at = 0; at < PERMITS && permits > 0; at++)
        permits -= fcntl(witness, F_OFD_SETLK,
                         &(struct flock){ .l_type = F_WRLCK, .l_start = at, .l_len = 1 }) == 0;
    return permits == 0;
}

/* The kernel closes the files of a killed process one after the other: perhaps the lock file before
 * the witness file. */
static void enter(int witness, unsigned me, bool shares, uint32_t permits)
{
    for (int64_t until = now_ms() + 5000; !witness_lets_in(witness, shares, permits);) {
        bool is_excused = is_any_dying();
        if ((is_excused && now_ms() < until) || witness_lets_in(witness, shares, permits))
            continue;
        atomic_fetch_add(&judge->violations, 1);
        return;
    }
    int previous = atomic_exchange(&judge->inside, shares ? 0 : life_of(me));
    if (previous != 0 && !was_killed(previous))
        atomic_fetch_add(&judge->violations, 1);
}

static void leave(int witness, unsigned me, bool shares)
{
    int mine = shares ? 0 : life_of(me);

    if (!atomic_compare_exchange_strong(&judge->inside, &mine, 0))
        atomic_fetch_add(&judge->violations, 1);
    (void)fcntl(witness, F_OFD_SETLK, &(struct flock){ .l_type = F_UNLCK });
    (void)flock(witness, LOCK_UN);
}

/* ---- the workers ----------------------------------------------------------------------------- */

/* 0 permits: it is exclusive, or `shares`.  Those that share the lock have one fence. */
static void visit(int witness, unsigned me, uint64_t fence, bool shares, uint32_t permits)
{
    enter(witness, me, shares, permits);
    if (fence != 0 && atomic_exchange(&judge->fence, fence) >= fence + shares)
        atomic_fetch_add(&judge->disorders, 1);
    if (random_below(4) == 0)
        sleep_us((long)random_below(800));
    if (fence != 0 && atomic_load(&judge->fence) != fence)
        atomic_fetch_add(&judge->disorders, 1);
    leave(witness, me, shares);
    atomic_fetch_add(&judge->slots[me].held, 1);
}

/* No wait, a few milliseconds, or no limit. */
static int64_t random_wait_ms(void)
{
    switch (random_below(6)) {
    case 0: return BOWLINE_NO_WAIT;
    case 1: return 1 + random_below(20);
    default: return BOWLINE_FOREVER;
    }
}

static void work(unsigned me, int witness)
{
    bowline_client *client;
    bowline_hold   *hold;
    bowline_error   error;

    if (bowline_open(&client, BOWLINE_OPTIONS(.url = url), &error) < 0)
        _exit(1);
    while (!atomic_load(&judge->stop)) {
        bowline_acquire_options o = BOWLINE_ACQUIRE_INIT;
        o.wait_ms                 = random_wait_ms();
        o.mode     = random_below(2) * (BOWLINE_SHARED + random_below(2)); /* half are exclusive */
        o.permits  = o.mode == BOWLINE_PERMITS ? 1 + random_below(PERMITS) : 0;
        o.limit    = o.permits > 0 ? PERMITS : 0;
        int status = bowline_acquire(&hold, client, name, &o, &error);
        if (status == BOWLINE_OK) {
            visit(witness, me, bowline_hold_fence(hold), o.mode != BOWLINE_EXCLUSIVE, o.permits);
            status = bowline_release(hold, &error);
        }
        /* One without a wait is refused if a process was stopped while it changed the file. */
        bool is_stuck = status == BOWLINE_REFUSED && o.wait_ms == 0;
        if (status == BOWLINE_BUSY || status == BOWLINE_TIMEOUT || is_stuck) {
            atomic_fetch_add(&judge->slots[me].left, 1);
        } else if (status != BOWLINE_OK) {
            (void)fprintf(stderr, "# %s\n", error.text);
            atomic_fetch_add(&judge->failures, 1);
        }
        if (random_below(3) == 0)
            sleep_us((long)random_below(2000));
    }
    bowline_close(client);
}

static void lock_by_flock(unsigned me, int witness)
{
    while (!atomic_load(&judge->stop)) {
        int  fd     = open(lock_path, O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
        bool shares = random_below(2) == 0;
        if (flock(fd, shares ? LOCK_SH : LOCK_EX) == 0)
            visit(witness, me, 0, shares, 0);
        if (random_below(2) == 0) {
            (void)flock(fd, LOCK_UN); /* keeps the file open: no close event reports the unlock */
            sleep_us((long)random_below(3000));
        }
        (void)close(fd);
        sleep_us((long)random_below(5000));
    }
}

static pid_t start(unsigned me)
{
    (void)fflush(NULL);
    atomic_fetch_add(&judge->slots[me].lives, 1);
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    srandom((unsigned)getpid());
    int witness = open(witness_path, O_RDWR | O_CLOEXEC);
    if (me < WORKERS)
        work(me, witness);
    else
        lock_by_flock(me, witness);
    _exit(0);
}

/* ---- the faults ------------------------------------------------------------------------------ */

static void reap(pid_t pid, unsigned me)
{
    int exit_status;

    (void)waitpid(pid, &exit_status, 0);
    if (WIFEXITED(exit_status) ? WEXITSTATUS(exit_status) != 0 : WTERMSIG(exit_status) != SIGKILL)
        atomic_fetch_add(&judge->failures, 1);
    atomic_store(&judge->slots[me].dying, false);
}

static void kill_one(pid_t pids[SLOTS], unsigned me)
{
    atomic_store(&judge->slots[me].dying, true);
    atomic_store(&judge->slots[me].killed, atomic_load(&judge->slots[me].lives));
    (void)kill(pids[me], SIGKILL);
    reap(pids[me], me);
    pids[me] = start(me);
}

static void stop_one(pid_t pid)
{
    (void)kill(pid, SIGSTOP);
    sleep_us((long)random_below(20000));
    (void)kill(pid, SIGCONT);
}

/* One worker is stopped for long while the others continue, unless it was the holder. */
typedef struct stopped_worker {
    unsigned slot;
    int64_t  wakes_at;
} stopped_worker;

static void stop_another_worker(stopped_worker *s, const pid_t pids[SLOTS])
{
    if (now_ms() < s->wakes_at)
        return;
    (void)kill(pids[s->slot], SIGCONT);
    s->slot     = random_below(WORKERS);
    s->wakes_at = now_ms() + SLEEP_MS;
    (void)kill(pids[s->slot], SIGSTOP);
}

static int seconds(void)
{
    const char *text = getenv("BOWLINE_TORTURE_SECONDS");

    return text != NULL ? atoi(text) : SECONDS;
}

typedef struct fault_counts {
    long killed;
    long stopped;
} fault_counts;

static fault_counts run_with_faults(void)
{
    pid_t          pids[SLOTS];
    fault_counts   t     = { 0 };
    stopped_worker s     = { 0 };
    int64_t        until = now_ms() + (int64_t)seconds() * 1000 / 2;

    for (unsigned i = 0; i < SLOTS; i++)
        pids[i] = start(i);
    while (now_ms() < until) {
        sleep_us((long)random_below(10000));
        stop_another_worker(&s, pids);
        unsigned me = random_below(SLOTS);
        if (me == s.slot)
            continue;
        if (random_below(3) == 0 || me < ELDERS) {
            stop_one(pids[me]);
            t.stopped++;
        } else {
            kill_one(pids, me);
            t.killed++;
        }
    }
    atomic_store(&judge->stop, 1);
    (void)kill(pids[s.slot], SIGCONT);
    for (unsigned i = 0; i < SLOTS; i++)
        reap(pids[i], i);
    return t;
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void check(fault_counts t)
{
    long held[2] = { 0 };
    long left    = 0;

    for (unsigned i = 0; i < SLOTS; i++) {
        held[i >= WORKERS] += atomic_load(&judge->slots[i].held);
        left += atomic_load(&judge->slots[i].left);
    }
    (void)fprintf(
        stderr,
        "# %s: %ld times held, %ld by flock, %ld not acquired; %ld killed, %ld stopped; %ld "
        "violations, %ld out of order, %ld failures\n",
        name, held[0], held[1], left, t.killed, t.stopped, atomic_load(&judge->violations),
        atomic_load(&judge->disorders), atomic_load(&judge->failures));
    assert_int_equal(atomic_load(&judge->violations), 0);
    assert_int_equal(atomic_load(&judge->disorders), 0);
    assert_int_equal(atomic_load(&judge->failures), 0);
    assert_true(held[0] > 0 && held[1] > 0);
}

/* The queue is empty and the lock is free. */
static void check_lock_is_free(void)
{
    bowline_client *client;
    bowline_hold   *hold;
    bowline_holder  holder = { .size = sizeof holder };

    assert_int_equal(bowline_open(&client, BOWLINE_OPTIONS(.url = url), NULL), BOWLINE_OK);
    assert_int_equal(bowline_who(client, name, &holder, NULL), BOWLINE_OK);
    assert_false(holder.held);
    assert_int_equal(bowline_acquire(&hold, client, name, NULL, NULL), BOWLINE_OK);
    assert_int_equal(bowline_release(hold, NULL), BOWLINE_OK);
    bowline_close(client);
}

static int set_up(void **state)
{
    (void)snprintf(directory, sizeof directory, "/tmp/bowline-torture-XXXXXX");
    assert_non_null(mkdtemp(directory));
    (void)snprintf(witness_path, sizeof witness_path, "%s/witness", directory);
    (void)snprintf(url, sizeof url, "file:%s", directory);
    int fd = open(witness_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    judge = mmap(NULL, sizeof *judge, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(judge != MAP_FAILED);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const leaves[] = { "name", "file", "file.bowline", "witness" };
    char                     path[128];

    for (unsigned i = 0; i < COUNT_OF(leaves); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", directory, leaves[i]);
        (void)unlink(path);
    }
    (void)rmdir(directory);
    (void)munmap(judge, sizeof *judge);
    return 0;
}

FIXTURE(set_up, tear_down)

TEST(file_torture_has_one_holder_for_a_bare_name)
{
    name = "name";
    (void)snprintf(lock_path, sizeof lock_path, "%s/name", directory);
    check(run_with_faults());
    check_lock_is_free();
}

TEST(file_torture_has_one_holder_for_a_path)
{
    static char path[128];

    (void)snprintf(path, sizeof path, "%s/file", directory);
    (void)snprintf(lock_path, sizeof lock_path, "%s", path);
    name = path;
    check(run_with_faults());
    check_lock_is_free();
}
