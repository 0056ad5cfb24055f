/*
 * judge.c -- compares the journal with the log of the faults: see soak.h.
 *
 * A holder is sure from the first moment at which the library reported the lock as held, until the
 * reported end or its release. Two such times of one lock must not overlap, whatever faults
 * occurred: a stopped or killed holder stays sure, because no other client may acquire the lock
 * before the lease is over. The documentation has two exceptions, which are counted separately:
 *
 * given up: the server was restarted. The holder is LOST when its client has connected again, and
 * the lock is granted to the next client. So the holder is sure only until its last check.
 *
 * forgotten: the server was restarted without the lock. Until the client connects again, both are
 * sure.
 *
 * Whether a grant came before or after a restart follows from its fence: it is at least the clock
 * of the server when the holder connected, and at most that clock when it was granted. Without a
 * fence, the time decides.
 *
 * The witness, which uses no clock, reports a holder that is still inside when the next one enters.
 * That may be a process that could not leave because it or its server was stopped: the log of the
 * faults decides, not the report of the member.
 */
#include "tests/soak/soak.h"

#include <stdio.h>
#include <stdlib.h>

enum { FENCES_PER_US = 1024, PRINTED_MAX = 6 };

static int64_t lease_us(const soak_run *run, const soak_visit *v)
{
    return (int64_t)run->journal->locks[v->lock].lease_ms * 1000;
}

static bool is_restart(const soak_action *d)
{
    soak_harm harm = soak_fault_harm(d->kind);

    return harm == SOAK_RENEWS || harm == SOAK_FORGETS;
}

static bool forgets(const soak_action *d)
{
    return soak_fault_harm(d->kind) == SOAK_FORGETS;
}

/* Whether the server granted it before this restart. */
static bool is_of_before(const soak_run *run, const soak_visit *v, const soak_action *restart)
{
    if (v->fence != 0)
        return (int64_t)(v->fence / FENCES_PER_US) < restart->wall_us;
    return v->entered_us < restart->to_us + soak_lease_max_us(run->journal);
}

/* The end of the time in which it was sure. */
static int64_t end_of(const soak_run *run, const soak_visit *v)
{
    bool    is_file = strcmp(run->journal->locks[v->lock].protocol, "file") == 0;
    int64_t end     = v->left_us != 0 && v->left_us < v->until_us ? v->left_us : v->until_us;

    for (size_t i = 0; is_file && i < run->actions_count; i++) {
        const soak_action *d = &run->actions[i];
        if (d->kind == SOAK_KILL && d->pid == v->pid && d->from_us < end)
            end = d->from_us; /* the kernel releases it */
    }
    return end;
}

/* Whether its server restarted, so that it may have learned of that before `at_us`. */
static bool is_restarted(const soak_run *run, const soak_visit *v, int64_t at_us)
{
    for (size_t i = 0; i < run->actions_count; i++) {
        const soak_action *d = &run->actions[i];
        if (is_restart(d) && d->from_us < at_us && is_of_before(run, v, d))
            return true;
    }
    return false;
}

/* Whether the server lost the older hold. */
static bool is_forgotten(const soak_run *run, const soak_visit *a, const soak_visit *b)
{
    const soak_visit *later   = a->from_us > b->from_us ? a : b;
    const soak_visit *earlier = later == a ? b : a;

    for (size_t i = 0; i < run->actions_count; i++) {
        const soak_action *d = &run->actions[i];
        if (!forgets(d) || later->from_us < d->from_us)
            continue;
        if (a->fence != 0 && b->fence != 0 ? is_of_before(run, a, d) != is_of_before(run, b, d)
                                           : is_of_before(run, earlier, d))
            return true;
    }
    return false;
}

/* Whether the server had lost the hold before the client learned of the grant, because the client
 * or its connection was stopped. Such a hold ends within a lease, as no renewal succeeds. */
static bool is_stale(const soak_run *run, const soak_visit *v)
{
    for (size_t i = 0; i < run->actions_count; i++) {
        const soak_action *d = &run->actions[i];
        if (forgets(d) && d->to_us < v->from_us && is_of_before(run, v, d) &&
            v->until_us <= d->from_us + lease_us(run, v))
            return true;
    }
    return false;
}

/* The server uses the wall clock of the machine: when that is set, leases end at other times. */
static bool was_clock_set(const soak_run *run, const soak_visit *v)
{
    for (size_t i = 0; i < run->actions_count; i++)
        if (run->actions[i].kind == SOAK_CLOCK &&
            run->actions[i].from_us > v->from_us - 2 * soak_lease_max_us(run->journal) &&
            run->actions[i].from_us < v->from_us + soak_lease_max_us(run->journal))
            return true;
    return false;
}

/* Whether a process was stopped or, if it was killed, is still being ended: not all of its
 * descriptors are closed yet. */
static bool was_stopped(const soak_run *run, const soak_visit *v, int64_t from_us, int64_t to_us)
{
    for (size_t i = 0; i < run->actions_count; i++) {
        const soak_action *d         = &run->actions[i];
        bool               is_stop   = d->kind == SOAK_STOP_SHORT || d->kind == SOAK_STOP_LONG;
        bool               is_orphan = d->kind == SOAK_KILL && v->part == SOAK_COMMAND;
        bool               is_dying = d->kind == SOAK_KILL && d->pid == v->pid && d->to_us >= to_us;
        if (d->member == v->member && (is_stop || is_orphan || is_dying) && d->from_us <= to_us &&
            d->to_us >= from_us)
            return true;
    }
    return false;
}

/* The earliest start of the stop of a process that is late here: a command does not notice a stop
 * of the bowline process above it. */
static int64_t could_begin(const soak_run *run, const soak_visit *v)
{
    return v->entered_us - (v->part == SOAK_COMMAND ? soak_lease_max_us(run->journal) : 0);
}

/* Decides by the log of the faults, not by what the members report. */
static bool is_slow(const soak_run *run, const soak_visit *v, const soak_visit *met)
{
    bool entered_late = v->from_us == 0; /* never sure of the lock, or a command */
    bool was_late     = met->from_us == 0;

    return was_stopped(run, met, could_begin(run, met), v->entered_us) ||
           (was_late && was_stopped(run, met, met->entered_us - soak_lease_max_us(run->journal),
                                    v->entered_us)) ||
           (entered_late &&
            was_stopped(run, v, v->entered_us - soak_lease_max_us(run->journal), v->entered_us)) ||
           is_forgotten(run, v, met);
}

static int by_time(const void *a, const void *b)
{
    const soak_visit *one = *(const soak_visit *const *)a;
    const soak_visit *two = *(const soak_visit *const *)b;

    return (one->from_us > two->from_us) - (one->from_us < two->from_us);
}

static void print_pair(const soak_run *run, const char *what, const soak_visit *a,
                       const soak_visit *b)
{
    const soak_visit *both[]  = { a, b };
    const int64_t     zero_us = run->journal->visits[0].entered_us;
    static unsigned   printed;

    if (printed++ >= PRINTED_MAX)
        return; /* only counted */
    (void)fprintf(stderr, "soak: %s of %s, in us from the first visit:\n", what,
                  run->journal->locks[a->lock].name);
    for (size_t i = 0; i < 2; i++)
        (void)fprintf(stderr,
                      "    member %u, pid %d, fence %lu: entered %ld, sure from %ld to "
                      "%ld, until %ld, left %ld\n",
                      both[i]->member, (int)both[i]->pid, both[i]->fence,
                      both[i]->entered_us - zero_us, both[i]->from_us - zero_us,
                      both[i]->sure_us - zero_us, both[i]->until_us - zero_us,
                      both[i]->left_us - zero_us);
    for (size_t i = 0; i < run->actions_count; i++) {
        const soak_action *d = &run->actions[i];
        if ((d->member == a->member || d->member == b->member || d->member == SOAK_ALL_MEMBERS) &&
            d->from_us < b->entered_us + soak_lease_max_us(run->journal) &&
            d->to_us > a->entered_us - soak_lease_max_us(run->journal))
            (void)fprintf(stderr, "    fault to %u: %s, from %ld to %ld\n", d->member,
                          soak_fault_description(d->kind), d->from_us - zero_us,
                          d->to_us - zero_us);
    }
}

/* How two holders of one lock relate; the worst last. */
typedef enum relation { APART = 1, FORGOTTEN, GIVEN_UP, OVERLAP } relation;

static relation compare_pair(const soak_run *run, const soak_visit *earlier, const soak_visit *now)
{
    if (now->from_us >= end_of(run, earlier) || end_of(run, now) <= now->from_us)
        return APART;
    if (is_forgotten(run, earlier, now))
        return FORGOTTEN;
    if (earlier->sure_us < now->from_us && is_restarted(run, earlier, now->from_us))
        return GIVEN_UP;
    return OVERLAP;
}

/* A holder that no other one overlaps. `above`: the one with the largest fence before it. */
static void check_fence(const soak_run *run, const soak_visit *above, const soak_visit *now,
                        soak_verdict *v)
{
    bool is_older = above != NULL && now->fence <= above->fence;

    if (now->fence == 0)
        return;
    if (is_older && was_clock_set(run, now)) {
        v->unjudged++;
    } else if (is_older && is_stale(run, now)) {
        v->forgotten++;
    } else {
        v->fences++;
        v->backward += is_older;
        if (is_older)
            print_pair(run, "Fence that is not larger", above, now);
    }
}

static void count_overlap(const soak_run *run, relation worst, const soak_visit *with,
                          const soak_visit *now, soak_verdict *v)
{
    if (was_clock_set(run, now)) {
        v->unjudged++;
        return;
    }
    v->forgotten += worst == FORGOTTEN;
    v->given_up += worst == GIVEN_UP;
    v->overlaps += worst == OVERLAP;
    if (worst == OVERLAP)
        print_pair(run, "Overlap", with, now);
}

/* `visits` of one lock in the order of time, all sure at some time: changes the array. */
static void compare(const soak_run *run, soak_visit **visits, size_t count, soak_verdict *v)
{
    const soak_visit *above      = NULL; /* has the largest fence */
    size_t            sure_count = 0;    /* those that are still sure come first in the array */

    for (size_t i = 0; i < count; i++) {
        soak_visit       *now   = visits[i];
        const soak_visit *with  = NULL;
        relation          worst = APART;
        size_t            kept  = 0;
        for (size_t j = 0; j < sure_count; j++) {
            relation this = compare_pair(run, visits[j], now);
            if (this > worst)
                with = visits[j];
            worst = this > worst ? this : worst;
            if (end_of(run, visits[j]) > now->from_us)
                visits[kept++] = visits[j];
        }
        visits[kept] = now;
        sure_count   = kept + 1;
        if (worst == APART)
            check_fence(run, above, now, v);
        else
            count_overlap(run, worst, with, now, v);
        if (now->fence != 0 && (above == NULL || now->fence > above->fence))
            above = now;
    }
}

static void judge_collision(const soak_run *run, const soak_visit *v, soak_verdict *verdict)
{
    if (v->other_inside == 0)
        return;
    const soak_visit *met = &run->journal->visits[v->other_inside - 1];
    if (is_slow(run, v, met)) {
        verdict->slow++;
    } else if (is_restarted(run, met, v->entered_us)) {
        verdict->restarted++;
    } else {
        verdict->late++;
        print_pair(run, "Two inside, neither of them stopped,", met, v);
    }
}

void soak_judge(soak_run *run, soak_verdict verdicts[SOAK_LOCKS])
{
    unsigned     count = atomic_load(&run->journal->visits_count);
    soak_visit **sure  = calloc(count + 1, sizeof *sure);

    assert_non_null(sure);
    for (unsigned lock = 0; lock < SOAK_LOCKS; lock++) {
        size_t sure_count = 0;
        verdicts[lock]    = (soak_verdict){ 0 };
        for (unsigned i = 0; i < count; i++) {
            soak_visit *v = &run->journal->visits[i];
            if (v->lock != lock)
                continue;
            verdicts[lock].visits++;
            judge_collision(run, v, &verdicts[lock]);
            if (v->from_us != 0)
                sure[sure_count++] = v;
        }
        qsort(sure, sure_count, sizeof(soak_visit *), by_time);
        compare(run, sure, sure_count, &verdicts[lock]);
    }
    free(sure);
}
