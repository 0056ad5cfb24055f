/*
 * torment.c -- injects the faults of the plan, and keeps their log: see soak.h.
 *
 * The number in the plan selects a victim among the members to which the fault applies: so the plan
 * does not depend on their state. Each action is recorded with a time before its start and a time
 * after its end.
 */
#include "tests/soak/soak.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CLOCK_STEP_US = 20000 };

static int64_t wall_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

size_t soak_begin_action(soak_run *run, soak_kind kind, unsigned member)
{
    if (run->actions_count == SOAK_FAULTS_MAX) {
        (void)fprintf(stderr, "soak: the log of faults is full\n");
        exit(1);
    }
    run->actions[run->actions_count++] =
        (soak_action){ .kind    = kind,
                       .member  = member,
                       .pid     = member < SOAK_MEMBERS_MAX ? run->pids[member] : 0,
                       .from_us = soak_now_us(),
                       .to_us   = INT64_MAX,
                       .wall_us = wall_us() };
    run->counts[kind]++;
    return run->actions_count;
}

void soak_end_action(soak_run *run, size_t action)
{
    run->actions[action - 1].to_us = soak_now_us();
}

void soak_check_clock(soak_run *run)
{
    int64_t before_us = soak_now_us();
    int64_t ahead_us  = wall_us() - before_us;
    int64_t step_us   = ahead_us - run->wall_ahead_us;

    if (soak_now_us() - before_us > CLOCK_STEP_US / 2)
        return; /* interrupted between the two readings */
    if (run->wall_ahead_us != 0 && (step_us > CLOCK_STEP_US || step_us < -CLOCK_STEP_US)) {
        size_t action = soak_begin_action(run, SOAK_CLOCK, SOAK_ALL_MEMBERS);
        soak_end_action(run, action);
        (void)printf("the wall clock was set by %ld us\n", step_us);
    }
    if (run->wall_ahead_us == 0 || step_us > CLOCK_STEP_US || step_us < -CLOCK_STEP_US)
        run->wall_ahead_us = ahead_us;
}

/* ---- processes ------------------------------------------------------------------------------ */

_Noreturn static void become_member(const soak_run *run, unsigned member)
{
    static const char *const modes[] = {
        [SOAK_LIBRARY] = "--work", [SOAK_COMMAND] = "--inside", [SOAK_FOREIGN] = "--stray"
    };

    const soak_member *me   = &run->journal->members[member];
    const soak_lock   *lock = &run->journal->locks[me->lock];
    const char        *mode = modes[me->part];
    char               number[16], lease[16];

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)snprintf(number, sizeof number, "%u", member);
    (void)snprintf(lease, sizeof lease, "%ums", lock->lease_ms);
    if (me->part != SOAK_COMMAND)
        (void)execl(run->program, run->program, mode, run->journal_path, number, (char *)NULL);
    else if (lock->lease_ms != 0)
        (void)execl(run->bowline, run->bowline, "run", "--quiet", "--wait", "4s", "--lease", lease,
                    "--url", me->url, lock->name, run->program, mode, run->journal_path, number,
                    (char *)NULL);
    else
        (void)execl(run->bowline, run->bowline, "run", "--quiet", "--wait", "4s", "--url", me->url,
                    lock->name, run->program, mode, run->journal_path, number, (char *)NULL);
    _exit(127);
}

void soak_start_member(soak_run *run, unsigned member)
{
    run->pids[member] = fork();
    if (run->pids[member] == 0)
        become_member(run, member);
    assert_true(run->pids[member] > 0);
    run->stopped_by[member] = 0;
}

/* Whether the exit status is an error: not for a lock that was busy or lost, or without a
 * server. */
static bool is_error(soak_part part, int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

    if (part == SOAK_COMMAND)
        return code != 0 && code != 123 && code != 124 && code != 125;
    return code != 0;
}

void soak_restart_ended(soak_run *run)
{
    for (unsigned i = 0; i < run->journal->members_count; i++) {
        int status = 0;
        if (run->pids[i] == 0 || waitpid(run->pids[i], &status, WNOHANG) != run->pids[i])
            continue;
        soak_part part = run->journal->members[i].part;
        if (is_error(part, status)) {
            (void)fprintf(stderr, "soak: member %u ended with %x\n", i, (unsigned)status);
            run->wrong_exits++;
        }
        if (part == SOAK_COMMAND && WIFEXITED(status) && WEXITSTATUS(status) == 0)
            atomic_fetch_add(&run->journal->members[i].tallies[0].holds, 1);
        run->pids[i] = 0;
        if (!atomic_load(&run->journal->ends))
            soak_start_member(run, i);
    }
}

static void kill_member(soak_run *run, unsigned member)
{
    size_t action = soak_begin_action(run, SOAK_KILL, member);

    assert_int_equal(kill(run->pids[member], SIGKILL), 0);
    assert_int_equal(waitpid(run->pids[member], NULL, 0), run->pids[member]);
    soak_end_action(run, action);
    if (run->stopped_by[member] != 0)
        soak_end_action(run, run->stopped_by[member]);
    soak_start_member(run, member);
}

static void stop_member(soak_run *run, unsigned who, soak_kind kind, int64_t ms)
{
    run->stopped_by[who]  = soak_begin_action(run, kind, who);
    run->continue_ms[who] = clock_ms() + ms;
    assert_int_equal(kill(run->pids[who], SIGSTOP), 0);
}

static void continue_member(soak_run *run, unsigned who)
{
    (void)kill(run->pids[who], SIGCONT);
    soak_end_action(run, run->stopped_by[who]);
    run->stopped_by[who] = 0;
}

void soak_continue(soak_run *run, bool all)
{
    for (unsigned who = 0; who < SOAK_MEMBERS_MAX; who++)
        if (run->stopped_by[who] != 0 && (all || clock_ms() >= run->continue_ms[who]))
            continue_member(run, who);
}

/* ---- the plan ------------------------------------------------------------------------------- */

static bool is_possible_victim(const soak_run *run, unsigned member, soak_kind kind)
{
    const soak_member *m = &run->journal->members[member];

    switch (kind) {
    case SOAK_KILL: return m->is_killable && m->part != SOAK_FOREIGN && run->pids[member] != 0;
    case SOAK_STOP_SHORT:
    case SOAK_STOP_LONG:
        return m->part != SOAK_FOREIGN && run->stopped_by[member] == 0 && run->pids[member] != 0;
    default: return true;
    }
}

static bool is_inside(const soak_run *run, unsigned member)
{
    const soak_journal *journal = run->journal;
    unsigned            visit   = journal->inside[journal->members[member].lock];

    return visit != 0 && journal->visits[visit - 1].member == member &&
           journal->visits[visit - 1].left_us == 0;
}

/* Every other fault prefers a member that holds a lock. SOAK_MEMBERS_MAX: none. */
static unsigned victim_of(const soak_run *run, soak_fault fault)
{
    unsigned count = run->journal->members_count;

    for (unsigned round = fault.victim / count % 2; round < 2; round++)
        for (unsigned i = 0; i < count; i++) {
            unsigned member = (fault.victim + i) % count;
            if (is_possible_victim(run, member, fault.kind) &&
                (round == 1 || is_inside(run, member)))
                return member;
        }
    return SOAK_MEMBERS_MAX;
}

static void inject_into_member(soak_run *run, const soak_fault *fault, unsigned victim)
{
    int64_t lease_ms = run->journal->locks[run->journal->members[victim].lock].lease_ms;

    if (lease_ms == 0)
        lease_ms = 1000;
    switch ((unsigned)fault->kind) {
    case SOAK_STOP_SHORT:
        stop_member(run, victim, fault->kind, 1 + soak_share(fault, lease_ms / 2));
        return;
    case SOAK_STOP_LONG:
        stop_member(run, victim, fault->kind, lease_ms + soak_share(fault, 2 * lease_ms));
        return;
    case SOAK_KILL: kill_member(run, victim); return;
    default: return;
    }
}

void soak_inject(soak_run *run, soak_fault fault)
{
    if (soak_fault_of_server(fault.kind)) {
        soak_server_fault_begin(run, fault);
        return;
    }
    unsigned victim = victim_of(run, fault);
    if (victim < SOAK_MEMBERS_MAX && run->server_fault.phase != SOAK_REPAIRED)
        inject_into_member(run, &fault, victim);
}
