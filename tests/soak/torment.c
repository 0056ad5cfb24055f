/*
 * torment.c -- carries out the plan, and keeps the log of it: see soak.h.
 *
 * A victim is looked for from the number that the plan gives, among those to whom the fault can be
 * done: so the plan is the same whatever became of them.  Each deed is noted with a moment before
 * it began and one after it was over.
 */
#include "tests/soak/soak.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SERVER = SOAK_CAST_MAX, MOMENT_MS = 200, TAIL_BYTES = 40000, CLOCK_STEP_US = 20000 };

static int64_t wall_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Noted before it is done; it lasts until end_deed. */
static size_t begin_deed(soak_run *run, soak_kind kind, unsigned member)
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

static void end_deed(soak_run *run, size_t deed)
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
        size_t deed = begin_deed(run, SOAK_CLOCK, SERVER);
        end_deed(run, deed);
        (void)printf("the time of day was set by %ld us\n", step_us);
    }
    if (run->wall_ahead_us == 0 || step_us > CLOCK_STEP_US || step_us < -CLOCK_STEP_US)
        run->wall_ahead_us = ahead_us;
}

/* ---- processes -------------------------------------------------------------------------------
 * */

_Noreturn static void become_member(const soak_run *run, unsigned member)
{
    static const char *const modes[] = {
        [SOAK_LIBRARY] = "--work", [SOAK_COMMAND] = "--inside", [SOAK_STRANGER] = "--stray"
    };

    const soak_member *me   = &run->journal->cast[member];
    const soak_lock   *lock = &soak_locks[me->lock];
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
    size_t deed = begin_deed(run, SOAK_KILL, member);

    assert_int_equal(kill(run->pids[member], SIGKILL), 0);
    assert_int_equal(waitpid(run->pids[member], NULL, 0), run->pids[member]);
    end_deed(run, deed);
    if (run->asleep[member] != 0)
        end_deed(run, run->asleep[member]);
    soak_hire(run, member);
}

static void put_to_sleep(soak_run *run, unsigned who, soak_kind kind, int64_t ms)
{
    run->asleep[who]   = begin_deed(run, kind, who);
    run->wakes_ms[who] = clock_ms() + ms;
    if (who == SERVER)
        server_signal(run->redis, SIGSTOP);
    else
        assert_int_equal(kill(run->pids[who], SIGSTOP), 0);
}

static void wake(soak_run *run, unsigned who)
{
    if (who == SERVER)
        server_signal(run->redis, SIGCONT);
    else
        (void)kill(run->pids[who], SIGCONT);
    end_deed(run, run->asleep[who]);
    run->asleep[who] = 0;
}

static void hold_both(proxy *line, int64_t ms)
{
    proxy_hold_back(line, true, 0, ms);
    proxy_hold_back(line, false, 0, ms);
}

void soak_wake(soak_run *run, bool all)
{
    for (unsigned who = 0; who <= SERVER; who++)
        if (run->asleep[who] != 0 && (all || clock_ms() >= run->wakes_ms[who]))
            wake(run, who);
    for (unsigned i = 0; all && i < run->journal->cast_count; i++)
        if (run->lines[i] != NULL)
            hold_both(run->lines[i], 0);
}

bool soak_server_sleeps(const soak_run *run)
{
    return run->asleep[SERVER] != 0;
}

/* ---- the server ------------------------------------------------------------------------------
 * */

/* Its log of what was written: gone, or without its end. */
static void spoil(const char *path, const char *file, bool all)
{
    char        full[512];
    struct stat about;
    bool        is_log = strstr(file, ".incr.aof") != NULL;

    (void)snprintf(full, sizeof full, "%s/%s", path, file);
    if (all)
        (void)unlink(full);
    else if (is_log && stat(full, &about) == 0)
        assert_int_equal(
            truncate(full, about.st_size > TAIL_BYTES ? about.st_size - TAIL_BYTES : 0), 0);
}

static void spoil_all(const soak_run *run, bool all)
{
    char           path[128];
    struct dirent *entry;

    (void)snprintf(path, sizeof path, "%s/appendonlydir", run->redis->directory);
    DIR *at = opendir(path);
    while (at != NULL && (entry = readdir(at)) != NULL)
        spoil(path, entry->d_name, all);
    if (at != NULL)
        (void)closedir(at);
}

static void restart(soak_run *run, soak_kind kind)
{
    size_t deed = begin_deed(run, kind, SERVER);

    if (run->asleep[SERVER] != 0)
        wake(run, SERVER);
    if (kind != SOAK_RESTART_KEPT)
        atomic_fetch_add(&run->journal->forgets, 1);
    server_kill(run->redis);
    if (kind != SOAK_RESTART_KEPT)
        spoil_all(run, kind == SOAK_RESTART_EMPTY);
    server_start_again(run->redis);
    end_deed(run, deed);
}

static void tell_server(soak_run *run, soak_kind kind)
{
    if (soak_server_sleeps(run))
        return;
    size_t deed = begin_deed(run, kind, SERVER);
    if (kind == SOAK_SCRIPT_FLUSH) {
        (void)server_ask(run->redis, "SCRIPT FLUSH SYNC");
    } else {
        (void)server_ask(run->redis, "CLIENT KILL TYPE pubsub");
        (void)server_ask(run->redis, "CLIENT KILL TYPE normal SKIPME yes");
    }
    end_deed(run, deed);
}

/* ---- lines -----------------------------------------------------------------------------------
 * */

static void hold_back(soak_run *run, unsigned member, soak_kind kind, int64_t ms)
{
    size_t deed = begin_deed(run, kind, member);

    hold_both(run->lines[member], ms);
    run->deeds[deed - 1].to_us = soak_now_us() + ms * 1000;
}

/* What the server says comes later than a claim lasts, and what is said to that later still. */
static void make_late(soak_run *run, unsigned member, int64_t ms)
{
    size_t deed = begin_deed(run, SOAK_LATE, member);

    proxy_hold_back(run->lines[member], true, 0, ms);
    proxy_hold_back(run->lines[member], false, ms / 2, ms / 2 + MOMENT_MS);
    run->deeds[deed - 1].to_us = soak_now_us() + (ms + MOMENT_MS) * 1000;
}

static void cut(soak_run *run, unsigned member)
{
    size_t deed = begin_deed(run, SOAK_CUT, member);

    proxy_cut(run->lines[member]);
    end_deed(run, deed);
}

/* ---- the plan --------------------------------------------------------------------------------
 * */

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

static int64_t claim_ms(int64_t lease_ms)
{
    return lease_ms < 2000 ? lease_ms : 2000;
}

void soak_strike(soak_run *run, soak_fault fault)
{
    unsigned victim = victim_of(run, fault);
    int64_t  lease_ms =
        victim < SOAK_CAST_MAX ? (int64_t)soak_locks[run->journal->cast[victim].lock].lease_ms : 0;
    int64_t share = fault.share;

    if (lease_ms == 0)
        lease_ms = 1000;
    if (victim == SOAK_CAST_MAX)
        return;
    switch (fault.kind) {
    case SOAK_STOP_SHORT:
        put_to_sleep(run, victim, fault.kind, 1 + lease_ms / 2 * share / 1000);
        return;
    case SOAK_STOP_LONG:
        put_to_sleep(run, victim, fault.kind, lease_ms + 2 * lease_ms * share / 1000);
        return;
    case SOAK_KILL: kill_member(run, victim); return;
    case SOAK_CUT: cut(run, victim); return;
    case SOAK_HOLD_SHORT: hold_back(run, victim, fault.kind, 1 + MOMENT_MS * share / 1000); return;
    case SOAK_HOLD_LONG: hold_back(run, victim, fault.kind, 2 * lease_ms * share / 1000); return;
    case SOAK_LATE: make_late(run, victim, claim_ms(lease_ms) * (1000 + share) / 1000); return;
    case SOAK_CLIENT_KILL:
    case SOAK_SCRIPT_FLUSH: tell_server(run, fault.kind); return;
    case SOAK_SERVER_SHORT:
    case SOAK_SERVER_LONG:
        if (!soak_server_sleeps(run))
            put_to_sleep(run, SERVER, fault.kind,
                         fault.kind == SOAK_SERVER_SHORT
                             ? MOMENT_MS * share / 1000
                             : SOAK_LEASE_MAX / 2 * (1000 + share) / 1000);
        return;
    case SOAK_RESTART_KEPT:
    case SOAK_RESTART_TAIL:
    case SOAK_RESTART_EMPTY: restart(run, fault.kind); return;
    case SOAK_FAULT_NONE:
    case SOAK_NOTHING:
    case SOAK_CLOCK:
    case SOAK_KINDS_END: return;
    }
}
