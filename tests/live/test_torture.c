/*
 * test_torture.c -- processes acquire and release locks on a Redis server, while holders, waiters
 * and the server are killed and stopped at random.
 *
 * The witness (witness.h) checks two things. No two processes were sure of one lock at the same
 * moment. And each holder found no other inside, except one that was stopped or killed there, or
 * that knew itself to be late: only that one is harmed.
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

enum { LOCKS = 3, WORKERS = 12, DURATION_MS = 9000, LEASE_MS = 500, MARGIN_MS = 100 };

static const char *const names[LOCKS] = { "red", "green", "blue" };

/* The counts of a worker, in shared memory. */
typedef struct slot {
    atomic_uint holds;
    atomic_uint lost;
    atomic_uint unknown;
    atomic_uint failed; /* acquires that failed */
    atomic_uint wrong;  /* impossible statuses */
} slot;

typedef struct shared_state {
    atomic_bool ends;
    slot        slots[WORKERS];
} shared_state;

/* A worker in the view of the test. */
typedef struct worker_process {
    pid_t   pid;
    int64_t stopped_until; /* 0: it is not stopped */
} worker_process;

static struct {
    server        *redis;
    witness       *judges[LOCKS];
    shared_state  *shared_state;
    worker_process victims[WORKERS];
    int64_t        server_stopped_until;
    unsigned       kills;
    unsigned       stops;
    unsigned       server_stops;
} torture;

/* ---- a worker -------------------------------------------------------------------------------- */

static unsigned any(unsigned bound)
{
    return (unsigned)random() % bound;
}

/* Is sure of the lock again and again, and leaves well before its end. */
static void visit_lock(witness *judge, bowline_hold *hold)
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
    /* Checked at the end: a slow process may have been late in the last step. */
    if (bowline_hold_left_ms(hold) == 0)
        visit.record->tainted = true;
}

static void count_wrong(slot *me, const char *call, const bowline_error *error)
{
    (void)dprintf(STDERR_FILENO, "# %s: %d: %s\n", call, error->status, error->text);
    atomic_fetch_add(&me->wrong, 1);
}

/* REFUSED: the process was stopped for longer than a lease during the acquire. */
static bool is_possible(int status, const bowline_error *error)
{
    bool too_late =
        strstr(error->text, "too slowly") != NULL || strstr(error->text, "no answer") != NULL;

    return status == BOWLINE_TIMEOUT || status == BOWLINE_UNKNOWN ||
           status == BOWLINE_UNREACHABLE || (status == BOWLINE_REFUSED && too_late);
}

static void acquire_and_release(slot *me, bowline_client *client, int lock)
{
    bowline_hold *hold   = NULL;
    bowline_error error  = { 0 };
    int           status = acquire_within(&hold, client, names[lock], 1 + any(1500), &error);

    if (status != BOWLINE_OK) {
        atomic_fetch_add(&me->failed, 1);
        if (!is_possible(status, &error))
            count_wrong(me, "acquire", &error);
        return;
    }
    atomic_fetch_add(&me->holds, 1);
    visit_lock(torture.judges[lock], hold);
    status = bowline_release(hold, &error);
    if (status == BOWLINE_LOST)
        atomic_fetch_add(&me->lost, 1);
    else if (status == BOWLINE_UNKNOWN || status == BOWLINE_UNREACHABLE)
        atomic_fetch_add(&me->unknown, 1);
    else if (status != BOWLINE_OK)
        count_wrong(me, "release", &error);
}

_Noreturn static void work(int n)
{
    bowline_client *client = NULL;
    slot           *me     = &torture.shared_state->slots[n];

    srandom((unsigned)getpid());
    int status = bowline_open(
        &client,
        BOWLINE_OPTIONS(.url      = n % 2 == 0 ? torture.redis->tcp_url : torture.redis->unix_url,
                        .lease_ms = LEASE_MS, .reply_ms = 120),
        NULL);
    if (status != BOWLINE_OK)
        _exit(1);
    while (!atomic_load(&torture.shared_state->ends))
        acquire_and_release(me, client, n % LOCKS);
    bowline_close(client);
    _exit(0);
}

static void start_worker(int n)
{
    torture.victims[n] = (worker_process){ .pid = fork() };
    if (torture.victims[n].pid == 0)
        work(n);
    assert_true(torture.victims[n].pid > 0);
}

/* ---- the faults ------------------------------------------------------------------------------ */

static witness *judge_of(int n)
{
    return torture.judges[n % LOCKS];
}

static void kill_one(int n)
{
    assert_int_equal(kill(torture.victims[n].pid, SIGKILL), 0);
    assert_int_equal(waitpid(torture.victims[n].pid, NULL, 0), torture.victims[n].pid);
    witness_taint(judge_of(n), torture.victims[n].pid, true);
    torture.kills++;
    start_worker(n);
}

static void stop_one(int n)
{
    pid_t pid = torture.victims[n].pid;

    if (torture.victims[n].stopped_until != 0)
        return;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid); /* returns when it has stopped */
    witness_taint(judge_of(n), pid, false);
    torture.victims[n].stopped_until = clock_ms() + any(3 * LEASE_MS);
    torture.stops++;
}

static void stop_server_for_a_while(void)
{
    if (torture.server_stopped_until != 0)
        return;
    server_signal(torture.redis, SIGSTOP);
    torture.server_stopped_until = clock_ms() + any(LEASE_MS + 300);
    torture.server_stops++;
}

static void continue_stopped(bool all)
{
    for (int n = 0; n < WORKERS; n++) {
        if (torture.victims[n].stopped_until == 0 ||
            (!all && clock_ms() < torture.victims[n].stopped_until))
            continue;
        assert_int_equal(kill(torture.victims[n].pid, SIGCONT), 0);
        torture.victims[n].stopped_until = 0;
    }
    if (torture.server_stopped_until != 0 && (all || clock_ms() >= torture.server_stopped_until)) {
        server_signal(torture.redis, SIGCONT);
        torture.server_stopped_until = 0;
    }
}

static void inject_faults(void)
{
    for (int64_t end = clock_ms() + DURATION_MS; clock_ms() < end; sleep_ms(1 + any(20))) {
        continue_stopped(false);
        switch (any(12)) {
        case 0: kill_one((int)any(WORKERS)); break;
        case 1:
        case 2:
        case 3: stop_one((int)any(WORKERS)); break;
        case 4:
            if (any(4) == 0)
                stop_server_for_a_while();
            break;
        default: break; /* no fault */
        }
    }
    continue_stopped(true);
}

/* ---- the test -------------------------------------------------------------------------------- */

/* Each worker must exit by itself. */
static void await_workers(void)
{
    int64_t end = clock_ms() + 20000;

    atomic_store(&torture.shared_state->ends, true);
    for (int n = 0; n < WORKERS; n++) {
        int   status = 0;
        pid_t ended;
        while ((ended = waitpid(torture.victims[n].pid, &status, WNOHANG)) == 0 && clock_ms() < end)
            sleep_ms(2);
        if (ended != torture.victims[n].pid)
            fail_msg("a worker does not exit");
        torture.victims[n].pid = 0;
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static void count_slots(void)
{
    unsigned holds = 0, lost = 0, unknown = 0, failed = 0, wrong = 0;

    for (int n = 0; n < WORKERS; n++) {
        slot *s = &torture.shared_state->slots[n];
        holds += atomic_load(&s->holds);
        lost += atomic_load(&s->lost);
        unknown += atomic_load(&s->unknown);
        failed += atomic_load(&s->failed);
        wrong += atomic_load(&s->wrong);
    }
    print_message("# %u killed, %u stopped, the server %u times\n", torture.kills, torture.stops,
                  torture.server_stops);
    print_message("# %u holds: %u lost, %u released without a reply; %u acquires failed\n", holds,
                  lost, unknown, failed);
    assert_int_equal(wrong, 0);
    assert_true(holds > 20);
    assert_true(torture.kills > 0 && torture.stops > 0 && torture.server_stops > 0);
}

/* A killed waiter stays in the queue until the next handoff. */
static void acquire_each_once_more(void)
{
    bowline_client *client = must_open(torture.redis->unix_url);

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
        if (torture.victims[n].pid <= 0)
            continue;
        (void)kill(torture.victims[n].pid, SIGKILL);
        (void)waitpid(torture.victims[n].pid, NULL, 0);
    }
    for (int i = 0; i < LOCKS; i++)
        witness_free(torture.judges[i]);
    server_stop(torture.redis);
    if (torture.shared_state != NULL)
        (void)munmap(torture.shared_state, sizeof *torture.shared_state);
    return 0;
}

FIXTURE(NULL, clean_up)

TEST(torture_has_one_holder_at_a_time)
{
    torture.redis        = server_start(NULL);
    torture.shared_state = mmap(NULL, sizeof *torture.shared_state, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(torture.shared_state != MAP_FAILED);
    srandom((unsigned)clock_ms());
    for (int i = 0; i < LOCKS; i++)
        torture.judges[i] = witness_new();
    for (int n = 0; n < WORKERS; n++)
        start_worker(n);
    inject_faults();
    await_workers();
    count_slots();
    for (int i = 0; i < LOCKS; i++) {
        witness_verdict v = witness_judge(torture.judges[i]);
        print_message("# %s: %zu visits, %zu overlaps; %zu collisions, %zu of them unexcused\n",
                      names[i], v.visits, v.overlaps, v.collisions, v.unexcused);
        assert_int_equal(v.overlaps, 0);
        assert_int_equal(v.unexcused, 0);
    }
    acquire_each_once_more();
    assert_true(server_becomes_empty(torture.redis));
}
