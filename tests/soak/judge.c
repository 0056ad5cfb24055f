/*
 * judge.c -- what the journal and the log of the faults say together: see soak.h.
 *
 * Who is inside is sure from when the library first told him so until it says that it ends, or
 * until he gives it back.  Two such times of one lock must not touch, whatever was done to the
 * two: a holder who is stopped stays sure, and so does one who is killed, for nobody else may come
 * in before the lease is over.  Two things are different, as the documentation says, and counted
 * apart:
 *
 *      given up     The server was started anew: the holder is told LOST when his client has
 *                   connected again, and the lock is given to the next.  So he is sure only until
 *                   he asked last.
 *      forgotten    ... and had forgotten the lock: until he connects again both are sure.
 *      changed      Another server took over, which had not heard of it: both are sure until the
 *                   lease of the old one is over, or he was told LOST.  While the old server does
 *                   not know either, it may give the lock to more, with fences of its own.
 *
 * Which of the two was given the lock before the restart is told by the fence, which is never less
 * than the server's clock was when the holder's connection was made, nor more than when it was
 * given; where there is none, by the time.
 *
 * The witness, which knows no time, sees whoever is still inside when the next one comes.  That
 * may be somebody who could not leave because he was stopped, or his server was; the log says so,
 * not he.
 */
#include "tests/soak/soak.h"

#include <signal.h>
#include <stdlib.h>

enum { FENCE_TURNS = 1024, TOLD_MAX = 6 };

static int64_t lease_us(const soak_run *run, const soak_visit *v)
{
    return (int64_t)run->journal->locks[v->lock].lease_ms * 1000;
}

static bool is_restart(const soak_deed *d)
{
    soak_harm harm = soak_fault_harm(d->kind);

    return harm == SOAK_RENEWS || harm == SOAK_FORGETS;
}

static bool forgets(const soak_deed *d)
{
    return soak_fault_harm(d->kind) == SOAK_FORGETS;
}

/* Was it given by the server that was there before this restart? */
static bool is_of_before(const soak_run *run, const soak_visit *v, const soak_deed *restart)
{
    if (v->fence != 0)
        return (int64_t)(v->fence / FENCE_TURNS) < restart->wall_us;
    return v->entered_us < restart->to_us + soak_lease_max_us(run);
}

/* Until when it was surely its own. */
static int64_t end_of(const soak_run *run, const soak_visit *v)
{
    bool    is_file = strcmp(run->journal->locks[v->lock].protocol, "file") == 0;
    int64_t end     = v->left_us != 0 && v->left_us < v->until_us ? v->left_us : v->until_us;

    for (size_t i = 0; is_file && i < run->deeds_count; i++) {
        const soak_deed *d = &run->deeds[i];
        if (d->kind == SOAK_KILL && d->pid == v->pid && d->from_us < end)
            end = d->from_us; /* the kernel gives it back */
    }
    return end;
}

/* Was its server started anew, of which it may have been told before `at_us`? */
static bool is_restarted(const soak_run *run, const soak_visit *v, int64_t at_us)
{
    for (size_t i = 0; i < run->deeds_count; i++) {
        const soak_deed *d = &run->deeds[i];
        if (is_restart(d) && d->from_us < at_us && is_of_before(run, v, d))
            return true;
    }
    return false;
}

/* Had the server forgotten the older one? */
static bool is_forgotten(const soak_run *run, const soak_visit *a, const soak_visit *b)
{
    const soak_visit *later   = a->from_us > b->from_us ? a : b;
    const soak_visit *earlier = later == a ? b : a;

    for (size_t i = 0; i < run->deeds_count; i++) {
        const soak_deed *d = &run->deeds[i];
        if (!forgets(d) || later->from_us < d->from_us)
            continue;
        if (a->fence != 0 && b->fence != 0 ? is_of_before(run, a, d) != is_of_before(run, b, d)
                                           : is_of_before(run, earlier, d))
            return true;
    }
    return false;
}

/* Was it given by a server that had forgotten it when he heard of it?  It was stopped, or its line
 * was.  What such a server gave ends within a lease, as nobody renews it. */
static bool is_stale(const soak_run *run, const soak_visit *v)
{
    for (size_t i = 0; i < run->deeds_count; i++) {
        const soak_deed *d = &run->deeds[i];
        if (forgets(d) && d->to_us < v->from_us && is_of_before(run, v, d) &&
            v->until_us <= d->from_us + lease_us(run, v))
            return true;
    }
    return false;
}

static bool changes(const soak_deed *d)
{
    soak_harm harm = soak_fault_harm(d->kind);

    return harm == SOAK_LOSES || harm == SOAK_SPLITS;
}

/* When the last lease of this lock was over that a server gave which another has replaced. */
static int64_t end_of_old(const soak_run *run, const soak_deed *d, unsigned lock)
{
    bool    splits = soak_fault_harm(d->kind) == SOAK_SPLITS;
    int64_t end_us = splits || d->gone_us == 0 ? d->to_us : d->gone_us;

    if (end_us == INT64_MAX)
        return INT64_MAX;
    return end_us + (int64_t)run->journal->locks[lock].lease_ms * 1000;
}

/* Did another server take over, within a lease, which may not have heard of the older one?  He was
 * not believed after that. */
static bool is_changed(const soak_run *run, const soak_visit *a, const soak_visit *b)
{
    const soak_visit *later   = a->from_us > b->from_us ? a : b;
    const soak_visit *earlier = later == a ? b : a;

    for (size_t i = 0; i < run->deeds_count; i++) {
        const soak_deed *d      = &run->deeds[i];
        int64_t          end_us = changes(d) ? end_of_old(run, d, a->lock) : 0;
        if (later->from_us > d->from_us && later->from_us < end_us && earlier->until_us <= end_us)
            return true;
    }
    return false;
}

/* The same of two who met, of whom one may never have been sure. */
static bool is_met_by_change(const soak_run *run, const soak_visit *met, const soak_visit *v)
{
    for (size_t i = 0; i < run->deeds_count; i++) {
        const soak_deed *d = &run->deeds[i];
        if (changes(d) && met->entered_us < end_of_old(run, d, v->lock) &&
            v->entered_us > d->from_us && v->entered_us < end_of_old(run, d, v->lock))
            return true;
    }
    return false;
}

/* Was it given by the server that was to be replaced, and heard of late?  Or while there were two,
 * or so shortly after that nobody has connected to the one that stayed and lifted its count? */
static bool is_of_old(const soak_run *run, const soak_visit *v)
{
    for (size_t i = 0; i < run->deeds_count; i++) {
        const soak_deed *d = &run->deeds[i];
        if (!changes(d) || v->from_us < d->from_us)
            continue;
        bool    splits = soak_fault_harm(d->kind) == SOAK_SPLITS;
        int64_t at_us  = splits ? v->from_us : v->until_us;
        if (at_us <= end_of_old(run, d, v->lock))
            return true;
    }
    return false;
}

/* The server goes by the machine's time of day: when that is set, leases end at another time. */
static bool was_clock_set(const soak_run *run, const soak_visit *v)
{
    for (size_t i = 0; i < run->deeds_count; i++)
        if (run->deeds[i].kind == SOAK_CLOCK &&
            run->deeds[i].from_us > v->from_us - 2 * soak_lease_max_us(run) &&
            run->deeds[i].from_us < v->from_us + soak_lease_max_us(run))
            return true;
    return false;
}

/* A process was stopped or, if it was killed, is dying: its descriptors are not all closed yet. */
static bool was_stopped(const soak_run *run, const soak_visit *v, int64_t from_us, int64_t to_us)
{
    for (size_t i = 0; i < run->deeds_count; i++) {
        const soak_deed *d         = &run->deeds[i];
        bool             is_stop   = d->kind == SOAK_STOP_SHORT || d->kind == SOAK_STOP_LONG;
        bool             is_orphan = d->kind == SOAK_KILL && v->part == SOAK_COMMAND;
        bool             is_dying  = d->kind == SOAK_KILL && d->pid == v->pid && d->to_us >= to_us;
        if (d->member == v->member && (is_stop || is_orphan || is_dying) && d->from_us <= to_us &&
            d->to_us >= from_us)
            return true;
    }
    return false;
}

/* When the stop of a process may have begun that is late here: a command does not notice that of
 * the bowline above it. */
static int64_t could_begin(const soak_run *run, const soak_visit *v)
{
    return v->entered_us - (v->part == SOAK_COMMAND ? soak_lease_max_us(run) : 0);
}

/* By the log, not by anybody's own word. */
static bool is_slow(const soak_run *run, const soak_visit *v, const soak_visit *met)
{
    bool came_late = v->from_us == 0; /* it never was sure of it, or it is a command            */
    bool was_late  = met->from_us == 0;

    return was_stopped(run, met, could_begin(run, met), v->entered_us) ||
           (was_late &&
            was_stopped(run, met, met->entered_us - soak_lease_max_us(run), v->entered_us)) ||
           (came_late &&
            was_stopped(run, v, v->entered_us - soak_lease_max_us(run), v->entered_us)) ||
           is_forgotten(run, v, met);
}

static int by_time(const void *a, const void *b)
{
    const soak_visit *one = *(const soak_visit *const *)a;
    const soak_visit *two = *(const soak_visit *const *)b;

    return (one->from_us > two->from_us) - (one->from_us < two->from_us);
}

static void tell(const soak_run *run, const char *what, const soak_visit *a, const soak_visit *b)
{
    const soak_visit *both[]  = { a, b };
    const int64_t     zero_us = run->journal->visits[0].entered_us;
    static unsigned   told;

    if (told++ >= TOLD_MAX)
        return; /* they are counted all the same */
    print_message("%s of %s, in us from the first visit:\n", what,
                  run->journal->locks[a->lock].name);
    for (size_t i = 0; i < 2; i++)
        print_message("    member %u, pid %d, fence %lu: entered %ld, sure from %ld to %ld, "
                      "until %ld, left %ld\n",
                      both[i]->member, (int)both[i]->pid, both[i]->fence,
                      both[i]->entered_us - zero_us, both[i]->from_us - zero_us,
                      both[i]->sure_us - zero_us, both[i]->until_us - zero_us,
                      both[i]->left_us - zero_us);
    for (size_t i = 0; i < run->deeds_count; i++) {
        const soak_deed *d = &run->deeds[i];
        if ((d->member == a->member || d->member == b->member || d->member == SOAK_EVERYBODY) &&
            d->from_us < b->entered_us + soak_lease_max_us(run) &&
            d->to_us > a->entered_us - soak_lease_max_us(run))
            print_message("    fault to %u: %s, from %ld to %ld\n", d->member,
                          soak_fault_words(d->kind), d->from_us - zero_us, d->to_us - zero_us);
    }
}

/* `visits` in the order of time, of one lock, all of them sure at some time. */
static void compare(const soak_run *run, soak_visit **visits, size_t count, soak_verdict *v)
{
    const soak_visit *sure   = NULL; /* whose time ends last                                   */
    const soak_visit *told   = NULL; /* counted apart already                                  */
    int64_t           end_us = 0;
    uint64_t          fence  = 0;

    for (size_t i = 0; i < count; i++) {
        const soak_visit *now     = visits[i];
        int64_t           this_us = end_of(run, now);
        bool              is_both = sure != NULL && now->from_us < end_us && this_us > now->from_us;
        bool              is_older = now->fence != 0 && now->fence <= fence;
        if ((is_both || is_older) && was_clock_set(run, now)) {
            v->unjudged++;
        } else if ((is_both && is_forgotten(run, sure, now)) || (is_older && is_stale(run, now))) {
            v->forgotten += sure != told;
            told = sure;
        } else if (is_both && sure->sure_us < now->from_us &&
                   is_restarted(run, sure, now->from_us)) {
            v->given_up += sure != told;
            told = sure;
        } else if (is_both && is_changed(run, sure, now)) {
            v->changed += sure != told;
            told = sure;
        } else if (is_older && is_of_old(run, now)) {
            v->excused++;
        } else if (is_both) {
            v->overlaps++;
            tell(run, "Overlap", sure, now);
        } else if (now->fence != 0) {
            v->fences++;
            v->backward += is_older;
            if (is_older)
                tell(run, "Fence that is not larger", i > 0 ? visits[i - 1] : now, now);
        }
        if (now->fence > fence)
            fence = now->fence;
        if (this_us > end_us) {
            end_us = this_us;
            sure   = now;
        }
    }
}

static void look_for_met(const soak_run *run, const soak_visit *v, soak_verdict *verdict)
{
    if (v->met == 0)
        return;
    const soak_visit *met = &run->journal->visits[v->met - 1];
    if (is_slow(run, v, met)) {
        verdict->slow++;
    } else if (is_restarted(run, met, v->entered_us) || is_met_by_change(run, met, v)) {
        verdict->restarted++;
    } else {
        verdict->late++;
        tell(run, "Two inside, neither of them stopped,", met, v);
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
            look_for_met(run, v, &verdicts[lock]);
            if (v->from_us != 0)
                sure[sure_count++] = v;
        }
        qsort(sure, sure_count, sizeof(soak_visit *), by_time);
        compare(run, sure, sure_count, &verdicts[lock]);
    }
    free(sure);
}
