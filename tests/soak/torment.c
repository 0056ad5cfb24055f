/*
 * torment.c -- carries out the plan, and keeps the log of it: see soak.h.
 *
 * A victim is looked for from the number that the plan gives, among those to whom the fault can be
 * done: so the plan is the same whatever became of them.  Each deed is noted with a moment before
 * it began and one after it was over.
 */
#include "tests/soak/topology.h"

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

size_t soak_begin_deed(soak_run *run, soak_kind kind, unsigned member)
{
    if (run->deeds_count == SOAK_FAULTS_MAX) {
        (void)fprintf(stderr, "soak: the log of faults is full\n");
        exit(1);
    }
    run->deeds[run->deeds_count++] =
        (soak_deed){ .kind    = kind,
                     .member  = member,
                     .pid     = member < SOAK_CAST_MAX ? run->pids[member] : 0,
                     .from_us = soak_now_us(),
                     .to_us   = INT64_MAX,
                     .wall_us = wall_us() };
    run->counts[kind]++;
    return run->deeds_count;
}

void soak_end_deed(soak_run *run, size_t deed)
{
    run->deeds[deed - 1].to_us = soak_now_us();
}

void soak_look_at_clock(soak_run *run)
{
    int64_t before_us = soak_now_us();
    int64_t ahead_us  = wall_us() - before_us;
    int64_t step_us   = ahead_us - run->wall_ahead_us;

    if (soak_now_us() - before_us > CLOCK_STEP_US / 2)
        return; /* we were interrupted between the two */
    if (run->wall_ahead_us != 0 && (step_us > CLOCK_STEP_US || step_us < -CLOCK_STEP_US)) {
        size_t deed = soak_begin_deed(run, SOAK_CLOCK, SOAK_EVERYBODY);
        soak_end_deed(run, deed);
        (void)printf("the time of day was set by %ld us\n", step_us);
    }
    if (run->wall_ahead_us == 0 || step_us > CLOCK_STEP_US || step_us < -CLOCK_STEP_US)
        run->wall_ahead_us = ahead_us;
}

/* ---- processes ------------------------------------------------------------------------------ */

_Noreturn static void become_member(const soak_run *run, unsigned member)
{
    static const char *const modes[] = {
        [SOAK_LIBRARY] = "--work", [SOAK_COMMAND] = "--inside", [SOAK_STRANGER] = "--stray"
    };

    const soak_member *me   = &run->journal->cast[member];
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

void soak_hire(soak_run *run, unsigned member)
{
    run->pids[member] = fork();
    if (run->pids[member] == 0)
        become_member(run, member);
    assert_true(run->pids[member] > 0);
    run->asleep[member] = 0;
}

/* Who may go on: the lock was not acquired, it was lost, or there is no server. */
static bool is_odd(soak_part part, int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

    if (part == SOAK_COMMAND)
        return code != 0 && code != 123 && code != 124 && code != 125;
    return code != 0;
}

void soak_tend(soak_run *run)
{
    for (unsigned i = 0; i < run->journal->cast_count; i++) {
        int status = 0;
        if (run->pids[i] == 0 || waitpid(run->pids[i], &status, WNOHANG) != run->pids[i])
            continue;
        soak_part part = run->journal->cast[i].part;
        if (is_odd(part, status)) {
            (void)fprintf(stderr, "soak: member %u ended with %x\n", i, (unsigned)status);
            run->odd_exits++;
        }
        if (part == SOAK_COMMAND && WIFEXITED(status) && WEXITSTATUS(status) == 0)
            atomic_fetch_add(&run->journal->cast[i].tallies[0].holds, 1);
        run->pids[i] = 0;
        if (!atomic_load(&run->journal->ends))
            soak_hire(run, i);
    }
}

static void kill_member(soak_run *run, unsigned member)
{
    size_t deed = soak_begin_deed(run, SOAK_KILL, member);

    assert_int_equal(kill(run->pids[member], SIGKILL), 0);
    assert_int_equal(waitpid(run->pids[member], NULL, 0), run->pids[member]);
    soak_end_deed(run, deed);
    if (run->asleep[member] != 0)
        soak_end_deed(run, run->asleep[member]);
    soak_hire(run, member);
}

static void put_to_sleep(soak_run *run, unsigned who, soak_kind kind, int64_t ms)
{
    run->asleep[who]   = soak_begin_deed(run, kind, who);
    run->wakes_ms[who] = clock_ms() + ms;
    assert_int_equal(kill(run->pids[who], SIGSTOP), 0);
}

static void wake(soak_run *run, unsigned who)
{
    (void)kill(run->pids[who], SIGCONT);
    soak_end_deed(run, run->asleep[who]);
    run->asleep[who] = 0;
}

void soak_hold_line(proxy *line, int64_t ms)
{
    proxy_hold_back(line, true, 0, ms);
    proxy_hold_back(line, false, 0, ms);
}

void soak_wake(soak_run *run, bool all)
{
    for (unsigned who = 0; who < SOAK_CAST_MAX; who++)
        if (run->asleep[who] != 0 && (all || clock_ms() >= run->wakes_ms[who]))
            wake(run, who);
    for (unsigned i = 0; all && i < run->journal->cast_count; i++)
        for (unsigned node = 0; node < SOAK_NODES_MAX; node++)
            if (run->lines[i][node] != NULL)
                soak_hold_line(run->lines[i][node], 0);
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* One of a member's lines, or all. */
static bool is_meant(const soak_run *run, unsigned member, const soak_fault *fault, unsigned node)
{
    unsigned which = (fault->victim >> 16) % (2 * run->nodes_count);

    return run->lines[member][node] != NULL && (which >= run->nodes_count || which == node);
}

static void hold_back(soak_run *run, unsigned member, const soak_fault *fault, int64_t ms)
{
    size_t deed = soak_begin_deed(run, fault->kind, member);

    for (unsigned node = 0; node < run->nodes_count; node++)
        if (is_meant(run, member, fault, node))
            soak_hold_line(run->lines[member][node], ms);
    run->deeds[deed - 1].to_us = soak_now_us() + ms * 1000;
}

/* What the server says comes later than a claim lasts, and what is said to that later still. */
static void make_late(soak_run *run, unsigned member, const soak_fault *fault, int64_t ms)
{
    size_t deed = soak_begin_deed(run, SOAK_LATE, member);

    for (unsigned node = 0; node < run->nodes_count; node++) {
        if (!is_meant(run, member, fault, node))
            continue;
        proxy_hold_back(run->lines[member][node], true, 0, ms);
        proxy_hold_back(run->lines[member][node], false, ms / 2, ms / 2 + SOAK_MOMENT_MS);
    }
    run->deeds[deed - 1].to_us = soak_now_us() + (ms + SOAK_MOMENT_MS) * 1000;
}

static void cut(soak_run *run, unsigned member, const soak_fault *fault)
{
    size_t deed = soak_begin_deed(run, SOAK_CUT, member);

    for (unsigned node = 0; node < run->nodes_count; node++)
        if (is_meant(run, member, fault, node))
            proxy_cut(run->lines[member][node]);
    soak_end_deed(run, deed);
}

/* ---- the plan ------------------------------------------------------------------------------- */

static bool can_suffer(const soak_run *run, unsigned member, soak_kind kind)
{
    const soak_member *m = &run->journal->cast[member];

    switch (kind) {
    case SOAK_KILL: return m->is_mortal && m->part != SOAK_STRANGER && run->pids[member] != 0;
    case SOAK_STOP_SHORT:
    case SOAK_STOP_LONG:
        return m->part != SOAK_STRANGER && run->asleep[member] == 0 && run->pids[member] != 0;
    case SOAK_CUT:
    case SOAK_HOLD_SHORT:
    case SOAK_HOLD_LONG:
    case SOAK_LATE: return m->has_line;
    default: return true;
    }
}

static bool is_inside(const soak_run *run, unsigned member)
{
    const soak_journal *journal = run->journal;
    unsigned            visit   = journal->inside[journal->cast[member].lock];

    return visit != 0 && journal->visits[visit - 1].member == member &&
           journal->visits[visit - 1].left_us == 0;
}

/* Every other fault looks first for one who is inside.  SOAK_CAST_MAX: nobody. */
static unsigned victim_of(const soak_run *run, soak_fault fault)
{
    unsigned count = run->journal->cast_count;

    for (unsigned round = fault.victim / count % 2; round < 2; round++)
        for (unsigned i = 0; i < count; i++) {
            unsigned member = (fault.victim + i) % count;
            if (can_suffer(run, member, fault.kind) && (round == 1 || is_inside(run, member)))
                return member;
        }
    return SOAK_CAST_MAX;
}

static int64_t provisional_ttl_ms(int64_t lease_ms)
{
    return lease_ms < 2000 ? lease_ms : 2000;
}

static void strike_member(soak_run *run, const soak_fault *fault, unsigned victim)
{
    int64_t lease_ms = run->journal->locks[run->journal->cast[victim].lock].lease_ms;

    if (lease_ms == 0)
        lease_ms = 1000;
    switch ((unsigned)fault->kind) {
    case SOAK_STOP_SHORT:
        put_to_sleep(run, victim, fault->kind, 1 + soak_share(fault, lease_ms / 2));
        return;
    case SOAK_STOP_LONG:
        put_to_sleep(run, victim, fault->kind, lease_ms + soak_share(fault, 2 * lease_ms));
        return;
    case SOAK_KILL: kill_member(run, victim); return;
    case SOAK_CUT: cut(run, victim, fault); return;
    case SOAK_HOLD_SHORT:
        hold_back(run, victim, fault, 1 + soak_share(fault, SOAK_MOMENT_MS));
        return;
    case SOAK_HOLD_LONG: hold_back(run, victim, fault, soak_share(fault, 2 * lease_ms)); return;
    case SOAK_LATE:
        make_late(run, victim, fault,
                  provisional_ttl_ms(lease_ms) + soak_share(fault, provisional_ttl_ms(lease_ms)));
        return;
    default: return;
    }
}

void soak_strike(soak_run *run, soak_fault fault)
{
    if (soak_fault_of_servers(fault.kind)) {
        soak_trouble_strike(run, fault);
        return;
    }
    unsigned victim = victim_of(run, fault);
    if (victim < SOAK_CAST_MAX && run->trouble.phase != SOAK_MENDED)
        strike_member(run, &fault, victim);
}
