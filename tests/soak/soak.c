/*
 * soak.c -- the supervisor: see soak.h.
 *
 * soak SECONDS [SEED] -- without a seed, or with 0, it chooses one. BOWLINE is the
 * command, if there is one.
 *
 * After SECONDS the faults end and everything is repaired; each waiter must then acquire its lock.
 * When all members have exited, the supervisor checks what remains here and on the server. The
 * last line is "N passed, N failed".
 */
#include "tests/soak/soak.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHECK_EVERY_MS = 100,
    PATIENCE_MS    = 30000,
    LONG_RUN_S     = 300, /* a run this long also waits for expiring keys */
};

static unsigned passed;
static unsigned failed;

void soak_check(bool holds, const char *format, ...)
{
    va_list arguments;

    passed += holds;
    failed += !holds;
    (void)printf("%s  ", holds ? "passed" : "FAILED");
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    (void)printf("\n");
}

/* ---- the faults ------------------------------------------------------------------------------ */

static void run_faults(soak_run *run, int64_t seconds)
{
    uint64_t   plan     = run->journal->seed;
    int64_t    begin_ms = clock_ms(), end_ms = begin_ms + seconds * 1000;
    soak_fault next    = soak_draw(&plan, soak_weights, SOAK_PAUSE_MS);
    int64_t    next_ms = begin_ms + next.pause_ms;

    for (int64_t now; (now = clock_ms()) < end_ms; sleep_ms(2)) {
        atomic_store(&run->journal->quarter,
                     (unsigned)((now - begin_ms) * SOAK_QUARTERS / (end_ms - begin_ms)));
        soak_check_clock(run);
        soak_continue(run, false);
        soak_restart_ended(run);
        soak_server_fault_step(run);
        if (now >= next_ms) {
            soak_inject(run, next);
            next    = soak_draw(&plan, soak_weights, SOAK_PAUSE_MS);
            next_ms = now + next.pause_ms;
        }
    }
    soak_continue(run, true);
    while (run->server_fault.phase != SOAK_HEALTHY && run->server_fault.stuck == 0) {
        soak_restart_ended(run);
        soak_server_fault_step(run);
        sleep_ms(2);
    }
}

unsigned soak_holds_of(const soak_member *m)
{
    unsigned holds = 0;

    for (unsigned t = 0; t < SOAK_THREADS; t++)
        holds += atomic_load(&m->tallies[t].holds);
    return holds;
}

/* Without further faults: counts the threads that do not acquire their lock once more. */
static unsigned count_starved(soak_run *run)
{
    soak_journal *journal = run->journal;
    unsigned      before[SOAK_MEMBERS_MAX][SOAK_THREADS];
    unsigned      without = 0;
    int64_t       end_ms  = clock_ms() + PATIENCE_MS;

    atomic_store(&journal->is_calm, true);
    for (unsigned i = 0; i < journal->members_count; i++)
        for (unsigned t = 0; t < SOAK_THREADS; t++)
            before[i][t] = atomic_load(&journal->members[i].tallies[t].holds);
    do {
        without = 0;
        sleep_ms(CHECK_EVERY_MS);
        soak_restart_ended(run);
        for (unsigned i = 0; i < journal->members_count; i++)
            for (unsigned t = 0; t < journal->members[i].threads; t++)
                without += atomic_load(&journal->members[i].tallies[t].holds) == before[i][t];
    } while (without > 0 && clock_ms() < end_ms);
    for (unsigned i = 0; i < journal->members_count; i++)
        for (unsigned t = 0; t < journal->members[i].threads; t++)
            if (atomic_load(&journal->members[i].tallies[t].holds) == before[i][t])
                (void)printf("        member %u, thread %u, pid %d does not acquire %s\n", i, t,
                             (int)run->pids[i], journal->locks[journal->members[i].lock].name);
    return without;
}

/* Each member must exit by itself. */
static unsigned await_all(soak_run *run)
{
    int64_t  end_ms = clock_ms() + PATIENCE_MS;
    unsigned there;

    atomic_store(&run->journal->ends, true);
    do {
        there = 0;
        sleep_ms(20);
        soak_restart_ended(run);
        for (unsigned i = 0; i < run->journal->members_count; i++)
            there += run->pids[i] != 0;
    } while (there > 0 && clock_ms() < end_ms);
    for (unsigned i = 0; i < run->journal->members_count; i++)
        if (run->pids[i] != 0) {
            (void)kill(run->pids[i], SIGKILL);
            (void)waitpid(run->pids[i], NULL, 0);
        }
    return there;
}

/* ---- the report ----------------------------------------------------------------------------- */

static unsigned report_tallies(const soak_run *run)
{
    unsigned wrong = 0;

    for (unsigned lock = 0; lock < SOAK_LOCKS; lock++) {
        unsigned holds = 0, vain = 0, lost = 0, unknown = 0, refused = 0, foreign = 0, runs = 0;
        for (unsigned i = 0; i < run->journal->members_count; i++) {
            const soak_member *m = &run->journal->members[i];
            for (unsigned t = 0; m->lock == lock && t < SOAK_THREADS; t++) {
                const soak_tally *tally = &m->tallies[t];
                holds += m->part == SOAK_LIBRARY ? tally->holds : 0;
                foreign += m->part == SOAK_FOREIGN ? tally->holds : 0;
                runs += m->part == SOAK_COMMAND ? tally->holds : 0;
                vain += tally->in_vain;
                lost += tally->lost;
                unknown += tally->unknown;
                refused += tally->refused;
                wrong += tally->wrong;
            }
        }
        (void)printf("%s (%s): %u holds, %u by commands, %u by foreign programs; %u busy, %u lost, "
                     "%u without a reply, %u refused\n",
                     run->journal->locks[lock].name, run->journal->locks[lock].protocol, holds,
                     runs, foreign, vain, lost, unknown, refused);
    }
    return wrong;
}

static void check_verdicts(const soak_run *run, const soak_verdict verdicts[SOAK_LOCKS])
{
    for (unsigned lock = 0; lock < SOAK_LOCKS; lock++) {
        const soak_verdict *v    = &verdicts[lock];
        const char         *name = run->journal->locks[lock].name;
        soak_check(v->overlaps == 0 && v->visits > 0,
                   "%s: %u visits, %u overlaps; not counted: %u with holders that the server "
                   "lost, %u with those that were lost after a restart, %u while the clock was set",
                   name, v->visits, v->overlaps, v->forgotten, v->given_up, v->unjudged);
        soak_check(v->late == 0,
                   "%s: %u collisions with a stopped process, %u with a holder whose server was "
                   "restarted, %u without such a reason",
                   name, v->slow, v->restarted, v->late);
        if (v->fences > 0)
            soak_check(v->backward == 0, "%s: %u fences, %u not above the previous one", name,
                       v->fences, v->backward);
    }
}

static unsigned count_server_faults(const soak_run *run)
{
    unsigned count = 0;

    for (unsigned kind = SOAK_NOTHING; kind < SOAK_KINDS_END; kind++)
        count += soak_fault_of_server((soak_kind)kind) ? run->counts[kind] : 0;
    return count;
}

static void soak(soak_run *run, int64_t seconds)
{
    soak_verdict verdicts[SOAK_LOCKS];

    soak_start_members(run);
    run_faults(run, seconds);
    unsigned starved_threads = count_starved(run);
    unsigned stuck           = await_all(run);

    unsigned wrong = report_tallies(run);
    soak_judge(run, verdicts);
    check_verdicts(run, verdicts);
    soak_check(starved_threads == 0, "after the faults, each thread acquires its lock: %u did not",
               starved_threads);
    soak_check(stuck == 0, "each member exits: %u did not", stuck);
    soak_check(wrong == 0, "each status is a possible one: %u were not", wrong);
    soak_check(run->server_fault.stuck == 0,
               "after each of %u faults of the server each lock is held again before the next "
               "(%u were skipped): %u times it was not",
               count_server_faults(run), run->server_fault.skipped, run->server_fault.stuck);
    soak_check(run->wrong_exits == 0, "no member ends with an error: %u did", run->wrong_exits);
    soak_check_members(run);
    soak_check_server(run, seconds >= LONG_RUN_S);
}

static int supervise(const char *program, int64_t seconds, uint64_t seed)
{
    soak_run *run = calloc(1, sizeof *run);

    assert_non_null(run);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    run->program            = program;
    run->bowline            = getenv("BOWLINE");
    run->journal            = soak_journal_new(run->journal_path);
    run->journal->seed      = seed;
    run->server_fault.phase = SOAK_HEALTHY;
    memcpy(run->journal->locks, soak_locks, sizeof soak_locks);
    soak_server_start(run);
    (void)printf("soak: %d s, seed %lu\n", (int)seconds, seed);
    soak(run, seconds);
    server_stop(run->server);
    free(run);
    (void)printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*main_function)(soak_journal *journal, unsigned member);
    } parts[] = { { "--work", soak_work },
                  { "--inside", soak_inside },
                  { "--stray", soak_foreign_program } };

    for (size_t i = 0; argc == 4 && i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(argv[1], parts[i].name) == 0)
            return parts[i].main_function(soak_journal_map(argv[2]),
                                          (unsigned)strtoul(argv[3], NULL, 10));
    int64_t  seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    uint64_t seed    = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (argc > 3 || seconds <= 0) {
        (void)fputs("usage: soak SECONDS [SEED]\n", stderr);
        return 2;
    }
    while (seed == 0)
        seed = (uint64_t)soak_now_us() % 1000000;
    char program[512] = "";
    if (readlink("/proc/self/exe", program, sizeof program - 1) <= 0)
        return 1;
    return supervise(program, seconds, seed);
}
