/*
 * test_torture.c -- processes that take and give back locks on a Redis server, while holders,
 * waiters and the server itself are killed and stopped at random.
 *
 * The judge (witness.h) says two things.  No two were ever sure of the same lock at the same
 * moment, whatever was done to them.  And whoever came in found nobody else inside, except one who
 * had been stopped or killed there, or had noticed himself that he was late: such a one harms only
 * himself.
 */
#include "tests/lib/server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"
#include "tests/lib/witness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOCKS = 3, WORKERS = 12, LASTS_MS = 9000, LEASE_MS = 500, MARGIN_MS = 100 };

static const char *const names[LOCKS] = { "red", "green", "blue" };

/* What a worker tells, in memory that all share. */
typedef struct slot {
    atomic_uint holds;
    atomic_uint lost;
    atomic_uint unknown;
    atomic_uint without; /* acquires that came to nothing                                       */
    atomic_uint wrong;   /* statuses that cannot be                                             */
} slot;

typedef struct stage {
    atomic_bool ends;
    slot        slots[WORKERS];
} stage;

/* Of the process that torments. */
typedef struct victim {
    pid_t   pid;
    int64_t sleeps_until; /* 0: it is not stopped */
} victim;

static struct {
    server  *redis;
    witness *judges[LOCKS];
    stage   *stage;
    victim   victims[WORKERS];
    int64_t  server_sleeps_until;
    unsigned kills;
    unsigned stops;
    unsigned server_stops;
} play;

/* ---- a worker -------------------------------------------------------------------------------- */

static unsigned any(unsigned bound)
{
    return (unsigned)random() % bound;
}

/* Inside: sure of the lock again and again, and out again well before it ends. */
static void be_inside(witness *judge, bowline_hold *hold)
{
    witness_visit visit;
    int64_t       end = clock_ms() + (any(20) == 0 ? 2 * LEASE_MS : any(20));
    int64_t       left;

    (void)witness_enter(judge, &visit, bowline_hold_fence(hold));
    do {
        int64_t at = witness_now_us();
        left       = bowline_hold_left_ms(hold);
        if (left > 0)
            witness_sure(&visit, at);
        sleep_ms(1);
    } while (left > MARGIN_MS && clock_ms() < end);
    witness_leave(&visit);
    /* Looked at afterwards: whoever is slow may have been so slow on the last step. */
    if (bowline_hold_left_ms(hold) == 0)
        visit.record->tainted = true;
}

static void cannot_be(slot *me, const char *call, const bowline_error *error)
{
    (void)dprintf(STDERR_FILENO, "# %s: %d: %s\n", call, error->status, error->text);
    atomic_fetch_add(&me->wrong, 1);
}

/* REFUSED: who was stopped while he asked, longer than a lease, has won too late to use it. */
static bool may_end_so(int status, const bowline_error *error)
{
    bool too_late = strstr(error->text, "too slowly") != NULL ||
                    strstr(error->text, "no answer within") != NULL;

    return status == BOWLINE_TIMEOUT || status == BOWLINE_UNKNOWN ||
           status == BOWLINE_UNREACHABLE || (status == BOWLINE_REFUSED && too_late);
}

static void take_and_give(slot *me, bowline_client *client, int lock)
{
    bowline_hold *hold   = NULL;
    bowline_error error  = { 0 };
    int           status = acquire_within(&hold, client, names[lock], 1 + any(1500), &error);

    if (status != BOWLINE_OK) {
        atomic_fetch_add(&me->without, 1);
        if (!may_end_so(status, &error))
            cannot_be(me, "acquire", &error);
        return;
    }
    atomic_fetch_add(&me->holds, 1);
    be_inside(play.judges[lock], hold);
    status = bowline_release(hold, &error);
    if (status == BOWLINE_LOST)
        atomic_fetch_add(&me->lost, 1);
    else if (status == BOWLINE_UNKNOWN || status == BOWLINE_UNREACHABLE)
        atomic_fetch_add(&me->unknown, 1);
    else if (status != BOWLINE_OK)
        cannot_be(me, "release", &error);
}

_Noreturn static void work(int n)
{
    bowline_client *client = NULL;
    slot           *me     = &play.stage->slots[n];

    srandom((unsigned)getpid());
    int status =
        bowline_open(&client,
                     BOWLINE_OPTIONS(.url = n % 2 == 0 ? play.redis->tcp_url : play.redis->unix_url,
                                     .lease_ms = LEASE_MS, .reply_ms = 120),
                     NULL);
    if (status != BOWLINE_OK)
        _exit(1);
    while (!atomic_load(&play.stage->ends))
        take_and_give(me, client, n % LOCKS);
    bowline_close(client);
    _exit(0);
}

static void hire(int n)
{
    play.victims[n] = (victim){ .pid = fork() };
    if (play.victims[n].pid == 0)
        work(n);
    assert_true(play.victims[n].pid > 0);
}

/* ---- the tormentor --------------------------------------------------------------------------- */

static witness *judge_of(int n)
{
    return play.judges[n % LOCKS];
}

static void kill_one(int n)
{
    assert_int_equal(kill(play.victims[n].pid, SIGKILL), 0);
    assert_int_equal(waitpid(play.victims[n].pid, NULL, 0), play.victims[n].pid);
    witness_taint(judge_of(n), play.victims[n].pid, true);
    play.kills++;
    hire(n);
}

static void stop_one(int n)
{
    pid_t pid = play.victims[n].pid;

    if (play.victims[n].sleeps_until != 0)
        return;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid); /* until it has stopped */
    witness_taint(judge_of(n), pid, false);
    play.victims[n].sleeps_until = clock_ms() + any(3 * LEASE_MS);
    play.stops++;
}

static void stop_server_for_a_while(void)
{
    if (play.server_sleeps_until != 0)
        return;
    server_signal(play.redis, SIGSTOP);
    play.server_sleeps_until = clock_ms() + any(LEASE_MS + 300);
    play.server_stops++;
}

static void wake_who_has_slept_enough(bool all)
{
    for (int n = 0; n < WORKERS; n++) {
        if (play.victims[n].sleeps_until == 0 ||
            (!all && clock_ms() < play.victims[n].sleeps_until))
            continue;
        assert_int_equal(kill(play.victims[n].pid, SIGCONT), 0);
        play.victims[n].sleeps_until = 0;
    }
    if (play.server_sleeps_until != 0 && (all || clock_ms() >= play.server_sleeps_until)) {
        server_signal(play.redis, SIGCONT);
        play.server_sleeps_until = 0;
    }
}

static void torment(void)
{
    for (int64_t end = clock_ms() + LASTS_MS; clock_ms() < end; sleep_ms(1 + any(20))) {
        wake_who_has_slept_enough(false);
        switch (any(12)) {
        case 0: kill_one((int)any(WORKERS)); break;
        case 1:
        case 2:
        case 3: stop_one((int)any(WORKERS)); break;
        case 4:
            if (any(4) == 0)
                stop_server_for_a_while();
            break;
        default: break; /* they work undisturbed */
        }
    }
    wake_who_has_slept_enough(true);
}

/* ---- the play -------------------------------------------------------------------------------- */

/* Everybody comes to an end by himself. */
static void await_workers(void)
{
    int64_t end = clock_ms() + 20000;

    atomic_store(&play.stage->ends, true);
    for (int n = 0; n < WORKERS; n++) {
        int   status = 0;
        pid_t ended;
        while ((ended = waitpid(play.victims[n].pid, &status, WNOHANG)) == 0 && clock_ms() < end)
            sleep_ms(2);
        if (ended != play.victims[n].pid)
            fail_msg("a worker does not come to an end");
        play.victims[n].pid = 0;
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static void count_slots(void)
{
    unsigned holds = 0, lost = 0, unknown = 0, without = 0, wrong = 0;

    for (int n = 0; n < WORKERS; n++) {
        slot *s = &play.stage->slots[n];
        holds += atomic_load(&s->holds);
        lost += atomic_load(&s->lost);
        unknown += atomic_load(&s->unknown);
        without += atomic_load(&s->without);
        wrong += atomic_load(&s->wrong);
    }
    print_message("# %u killed, %u stopped, the server %u times\n", play.kills, play.stops,
                  play.server_stops);
    print_message("# %u holds: %u lost, %u given back without an answer; %u acquires in vain\n",
                  holds, lost, unknown, without);
    assert_int_equal(wrong, 0);
    assert_true(holds > 20);
    assert_true(play.kills > 0 && play.stops > 0 && play.server_stops > 0);
}

/* Whoever was killed while it waited stands in line still, until the lock is to be given on. */
static void take_each_once_more(void)
{
    bowline_client *client = must_open(play.redis->unix_url);

    for (int i = 0; i < LOCKS; i++) {
        bowline_hold *hold = NULL;
        assert_status(BOWLINE_OK, acquire_within(&hold, client, names[i], 20000, NULL), NULL);
        must_release(hold);
    }
    bowline_close(client);
}

static int clean_up(void **state)
{
    for (int n = 0; n < WORKERS; n++) {
        if (play.victims[n].pid <= 0)
            continue;
        (void)kill(play.victims[n].pid, SIGKILL);
        (void)waitpid(play.victims[n].pid, NULL, 0);
    }
    for (int i = 0; i < LOCKS; i++)
        witness_free(play.judges[i]);
    server_stop(play.redis);
    if (play.stage != NULL)
        (void)munmap(play.stage, sizeof *play.stage);
    return 0;
}

FIXTURE(NULL, clean_up)

TEST(torture_one_holder_at_a_time)
{
    play.redis = server_start(NULL);
    play.stage =
        mmap(NULL, sizeof *play.stage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(play.stage != MAP_FAILED);
    srandom((unsigned)clock_ms());
    for (int i = 0; i < LOCKS; i++)
        play.judges[i] = witness_new();
    for (int n = 0; n < WORKERS; n++)
        hire(n);
    torment();
    await_workers();
    count_slots();
    for (int i = 0; i < LOCKS; i++) {
        witness_verdict v = witness_judge(play.judges[i]);
        print_message(
            "# %s: %zu visits, %zu overlaps; %zu found a straggler, %zu of them no excuse\n",
            names[i], v.visits, v.overlaps, v.collisions, v.unexcused);
        assert_int_equal(v.overlaps, 0);
        assert_int_equal(v.unexcused, 0);
    }
    take_each_once_more();
    assert_true(server_becomes_empty(play.redis));
}
