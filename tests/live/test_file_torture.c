/*
 * test_file_torture.c -- many processes contend for one name of file: while others kill, stop and
 * wake them at any moment, and flock(1) takes the file as well.
 *
 * Whoever is inside takes a flock on a file of the judge, without waiting: if somebody else has it
 * who is not dying, two were inside.  And he compares his fence with that of the one before him,
 * and his number with what he finds in a word of shared memory.
 *
 * BOWLINE_TORTURE_SECONDS: how long; 10 if it is not set.
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    WORKERS   = 10, /* that lock by bowline ...                                              */
    OUTSIDERS = 2,  /* ... and by flock                                                       */
    SLOTS     = WORKERS + OUTSIDERS,
    ELDERS    = 5, /* of whom none is killed, so that somebody waits for long enough to overtake  */
    SECONDS   = 10,
    SLEEP_MS  = 2600, /* long enough to be overtaken                                            */
};

typedef struct slot {
    atomic_bool dying;  /* set before it is killed, until it was reaped                         */
    atomic_int  lives;  /* how often it was started                                             */
    atomic_int  killed; /* the last of its lives that was, or is being, ended by force          */
    atomic_long held;
    atomic_long left;
} slot;

typedef struct court {
    atomic_int           stop;
    atomic_int           inside; /* which life of which slot: see life_of                       */
    atomic_long          violations;
    atomic_long          disorders;
    atomic_long          failures;
    atomic_uint_fast64_t fence;
    slot                 slots[SLOTS];
} court;

static court *judge;
static char   directory[64];
static char   lock_path[128]; /* of what is flocked                                             */
static char   witness_path[128];
static char   url[128];
static const char *name;

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

static unsigned chance(unsigned below)
{
    return (unsigned)random() % below;
}

/* ---- the judge ------------------------------------------------------------------------------- */

static bool anybody_dying(void)
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

/* The files of somebody who is killed are closed one after the other: the lock perhaps before that
 * of the judge. */
static void enter(int witness, unsigned me)
{
    for (int64_t until = now_ms() + 5000; flock(witness, LOCK_EX | LOCK_NB) != 0;) {
        bool excused = anybody_dying();
        if ((excused && now_ms() < until) || flock(witness, LOCK_EX | LOCK_NB) == 0)
            continue;
        atomic_fetch_add(&judge->violations, 1);
        return;
    }
    int before = atomic_exchange(&judge->inside, life_of(me));
    if (before != 0 && !was_killed(before))
        atomic_fetch_add(&judge->violations, 1);
}

static void leave(int witness, unsigned me)
{
    int mine = life_of(me);

    if (!atomic_compare_exchange_strong(&judge->inside, &mine, 0))
        atomic_fetch_add(&judge->violations, 1);
    (void)flock(witness, LOCK_UN);
}

/* ---- those who contend ----------------------------------------------------------------------- */

static void be_inside(int witness, unsigned me, uint64_t fence)
{
    enter(witness, me);
    if (fence != 0 && atomic_exchange(&judge->fence, fence) >= fence)
        atomic_fetch_add(&judge->disorders, 1);
    if (chance(4) == 0)
        sleep_us((long)chance(800));
    leave(witness, me);
    atomic_fetch_add(&judge->slots[me].held, 1);
}

/* Once, for a few milliseconds, or as long as it takes. */
static int64_t some_wait(void)
{
    switch (chance(6)) {
    case 0: return BOWLINE_NO_WAIT;
    case 1: return 1 + chance(20);
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
        int status =
            bowline_acquire(&hold, client, name, BOWLINE_ACQUIRE(.wait_ms = some_wait()), &error);
        if (status == BOWLINE_OK) {
            be_inside(witness, me, bowline_hold_fence(hold));
            status = bowline_release(hold, &error);
        }
        if (status == BOWLINE_BUSY || status == BOWLINE_TIMEOUT) {
            atomic_fetch_add(&judge->slots[me].left, 1);
        } else if (status != BOWLINE_OK) {
            (void)fprintf(stderr, "# %s\n", error.text);
            atomic_fetch_add(&judge->failures, 1);
        }
        if (chance(3) == 0)
            sleep_us((long)chance(2000));
    }
    bowline_close(client);
}

static void lock_by_flock(unsigned me, int witness)
{
    while (!atomic_load(&judge->stop)) {
        int fd = open(lock_path, O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
        if (flock(fd, LOCK_EX) == 0)
            be_inside(witness, me, 0);
        if (chance(2) == 0) {
            (void)flock(fd, LOCK_UN); /* and keeps it open: nothing tells that it is free */
            sleep_us((long)chance(3000));
        }
        (void)close(fd);
        sleep_us((long)chance(5000));
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

/* ---- those who make trouble ------------------------------------------------------------------ */

static void reap(pid_t pid, unsigned me)
{
    int how;

    (void)waitpid(pid, &how, 0);
    if (WIFEXITED(how) ? WEXITSTATUS(how) != 0 : WTERMSIG(how) != SIGKILL)
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
    sleep_us((long)chance(20000));
    (void)kill(pid, SIGCONT);
}

/* One of them sleeps for long, while the others go on, unless it was the holder. */
typedef struct sleeper {
    unsigned slot;
    int64_t  wakes_at;
} sleeper;

static void change_sleeper(sleeper *s, const pid_t pids[SLOTS])
{
    if (now_ms() < s->wakes_at)
        return;
    (void)kill(pids[s->slot], SIGCONT);
    s->slot     = chance(WORKERS);
    s->wakes_at = now_ms() + SLEEP_MS;
    (void)kill(pids[s->slot], SIGSTOP);
}

static int seconds(void)
{
    const char *text = getenv("BOWLINE_TORTURE_SECONDS");

    return text != NULL ? atoi(text) : SECONDS;
}

typedef struct toll {
    long killed;
    long stopped;
} toll;

static toll torture(void)
{
    pid_t   pids[SLOTS];
    toll    t     = { 0 };
    sleeper s     = { 0 };
    int64_t until = now_ms() + (int64_t)seconds() * 1000 / 2;

    for (unsigned i = 0; i < SLOTS; i++)
        pids[i] = start(i);
    while (now_ms() < until) {
        sleep_us((long)chance(10000));
        change_sleeper(&s, pids);
        unsigned me = chance(SLOTS);
        if (me == s.slot)
            continue;
        if (chance(3) == 0 || me < ELDERS) {
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

static void verdict(toll t)
{
    long held[2] = { 0 };
    long left    = 0;

    for (unsigned i = 0; i < SLOTS; i++) {
        held[i >= WORKERS] += atomic_load(&judge->slots[i].held);
        left += atomic_load(&judge->slots[i].left);
    }
    (void)fprintf(stderr,
                  "# %s: %ld times held, %ld by flock, %ld given up; %ld killed, %ld stopped; %ld "
                  "violations, %ld out of order, %ld failures\n",
                  name, held[0], held[1], left, t.killed, t.stopped,
                  atomic_load(&judge->violations), atomic_load(&judge->disorders),
                  atomic_load(&judge->failures));
    assert_int_equal(atomic_load(&judge->violations), 0);
    assert_int_equal(atomic_load(&judge->disorders), 0);
    assert_int_equal(atomic_load(&judge->failures), 0);
    assert_true(held[0] > 0 && held[1] > 0);
}

/* Nobody has stayed behind, in the queue or with the lock. */
static void nobody_is_left(void)
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

TEST(file_torture_of_a_bare_name)
{
    name = "name";
    (void)snprintf(lock_path, sizeof lock_path, "%s/name", directory);
    verdict(torture());
    nobody_is_left();
}

TEST(file_torture_of_a_path)
{
    static char path[128];

    (void)snprintf(path, sizeof path, "%s/file", directory);
    (void)snprintf(lock_path, sizeof lock_path, "%s", path);
    name = path;
    verdict(torture());
    nobody_is_left();
}
