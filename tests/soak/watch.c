/*
 * watch.c -- checks that no waiter is left in the queue of a free lock: see soak.h.
 *
 * A check is one script, so its result is consistent: whether there is a holder, and if not, the
 * waiters and the time of their last heartbeat. A heartbeat of a waiter while the lock is free
 * grants the lock, to it or to one in front, in the same step. So a lost wake-up is visible without
 * a clock: the lock is free in two checks, no waiter has left the queue between them, and one has
 * sent a heartbeat since the first.
 *
 * A live waiter sends a heartbeat every two seconds: so a lock must not be free for so many checks,
 * while no waiter leaves the queue, if one of the waiters is alive and undisturbed.
 */
#include "tests/soak/soak.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    ENTRIES_MAX = SOAK_MEMBERS_MAX * SOAK_THREADS * 4,
    VALUE_MAX   = 64,
    CHECKS_MAX  = 35, /* a tenth of a second each: a heartbeat, two seconds, and a margin */
    RECOVERY_US = 2000000,
};

typedef struct queue_entry {
    char    value[VALUE_MAX];
    int64_t heartbeat_ms; /* by the server's clock */
    pid_t   pid;          /* 0: not known */
} queue_entry;

typedef struct queue_state {
    bool        is_free;
    int64_t     now_ms; /* the server's clock */
    unsigned    count;
    queue_entry members[ENTRIES_MAX];
} queue_state;

struct soak_watch {
    soak_seen   result;
    queue_state first[SOAK_LOCKS]; /* since then no waiter has left the queue */
    int64_t     first_us[SOAK_LOCKS];
    unsigned    inside[SOAK_LOCKS];         /* the latest visit before that */
    unsigned    foreign_visits[SOAK_LOCKS]; /* and the number of foreign visits */
    unsigned    checks[SOAK_LOCKS];         /* since then */
    queue_state now;
};

static const char queue_script[] =
    "if redis.call(\"EXISTS\", KEYS[1]) == 1 then return \"held\" end "
    "local t = redis.call(\"TIME\") "
    "local said = string.format(\"free %.0f\", t[1] * 1000 + math.floor(t[2] / 1000)) "
    "for _, member in ipairs(redis.call(\"ZRANGE\", KEYS[2], 0, 30)) do "
    "local value = string.match(member, \"^%S+\") "
    "local pid = redis.call(\"HGET\", ARGV[1] .. string.sub(value, 4, 25), \"pid\") "
    "said = said .. \" \" .. value .. \" \" .. (redis.call(\"HGET\", KEYS[3], value) or 0) "
    ".. \" \" .. (pid or 0) end return said";

soak_watch *soak_watch_new(void)
{
    return calloc(1, sizeof(soak_watch));
}

void soak_watch_free(soak_watch *w)
{
    free(w);
}

static void read_queue_state(queue_state *seen, const char *answer)
{
    int size = 0;

    seen->count   = 0;
    seen->is_free = sscanf(answer, "free %ld%n", &seen->now_ms, &size) == 1;
    while (seen->is_free && seen->count < ENTRIES_MAX) {
        queue_entry *s = &seen->members[seen->count];
        long         pid;
        int          more;
        answer += size;
        if (sscanf(answer, " %63s %ld %ld%n", s->value, &s->heartbeat_ms, &pid, &more) != 3)
            return;
        s->pid = (pid_t)pid;
        size   = more;
        seen->count++;
    }
}

static const queue_entry *find(const queue_state *seen, const char *value)
{
    for (unsigned i = 0; i < seen->count; i++)
        if (strcmp(seen->members[i].value, value) == 0)
            return &seen->members[i];
    return NULL;
}

/* Whether no waiter has left since. */
static bool has_same_waiters(const queue_state *first, const queue_state *now)
{
    if (!first->is_free || !now->is_free || first->count == 0)
        return false;
    for (unsigned i = 0; i < first->count; i++)
        if (find(now, first->members[i].value) == NULL)
            return false;
    return true;
}

static bool has_heartbeat(const queue_state *first, const queue_state *now)
{
    for (unsigned i = 0; i < now->count; i++)
        if (now->members[i].heartbeat_ms > first->now_ms)
            return true;
    return false;
}

/* Whether a fault of this member or of the servers occurred since then, or shortly before. */
static bool is_disturbed(const soak_run *run, unsigned member, int64_t since_us)
{
    for (size_t i = run->actions_count; i > 0; i--) {
        const soak_action *d = &run->actions[i - 1];
        if (d->to_us + (d->to_us < INT64_MAX ? RECOVERY_US : 0) > since_us &&
            (d->member == member || d->member == SOAK_ALL_MEMBERS))
            return true;
    }
    return false;
}

static bool is_left_waiting(const soak_run *run, const queue_state *now, int64_t since_us)
{
    for (unsigned i = 0; i < now->count; i++)
        for (unsigned m = 0; m < run->journal->members_count; m++)
            if (run->pids[m] != 0 && run->pids[m] == now->members[i].pid &&
                !is_disturbed(run, m, since_us))
                return true;
    return false;
}

static void print_queue(const soak_run *run, unsigned lock, const queue_state *now,
                        const char *what)
{
    (void)fprintf(stderr, "soak: %s is free, and %s:\n", run->journal->locks[lock].name, what);
    for (unsigned i = 0; i < now->count; i++)
        (void)fprintf(stderr, "soak:   %s of %d, last heartbeat %ld ms ago\n",
                      now->members[i].value, (int)now->members[i].pid,
                      now->now_ms - now->members[i].heartbeat_ms);
}

/* A foreign program may have had the lock meanwhile: it is not in the queue. */
static bool was_visited(const soak_watch *w, const soak_run *run, unsigned lock)
{
    return atomic_load(&run->journal->inside[lock]) != w->inside[lock] ||
           atomic_load(&run->journal->foreign_visits[lock]) != w->foreign_visits[lock];
}

static void check_lock(soak_watch *w, soak_run *run, unsigned lock)
{
    const char *name           = run->journal->locks[lock].name;
    int64_t     now_us         = soak_now_us();
    unsigned    inside         = atomic_load(&run->journal->inside[lock]);
    unsigned    foreign_visits = atomic_load(&run->journal->foreign_visits[lock]);
    const char *answer =
        server_ask(run->server, "EVAL '%s' 3 bowline:{%s} bowline:{%s}:bwl.q bowline:{%s}:bwl.b",
                   queue_script, name, name, name);

    w->result.checks++;
    read_queue_state(&w->now, answer);
    if (!has_same_waiters(&w->first[lock], &w->now) || was_visited(w, run, lock)) {
        w->first[lock]          = w->now;
        w->inside[lock]         = inside;
        w->foreign_visits[lock] = foreign_visits;
        w->first_us[lock]       = now_us;
        w->checks[lock]         = 0;
        return;
    }
    w->checks[lock]++;
    if (has_heartbeat(&w->first[lock], &w->now)) {
        w->result.not_granted++;
        print_queue(run, lock, &w->now, "a heartbeat of a waiter did not grant it");
    } else if (w->checks[lock] >= CHECKS_MAX && is_left_waiting(run, &w->now, w->first_us[lock])) {
        w->result.no_heartbeat++;
        print_queue(run, lock, &w->now, "a live waiter sends no heartbeat");
    } else {
        return;
    }
    w->first[lock].is_free = false; /* print it once */
}

void soak_watch_check(soak_watch *w, soak_run *run)
{
    for (unsigned lock = 0; lock < SOAK_LOCKS; lock++) {
        if (strcmp(run->journal->locks[lock].protocol, "queue") != 0)
            continue;
        if (run->server_fault.phase == SOAK_FAULTY)
            w->first[lock].is_free = false; /* the next check starts again */
        else
            check_lock(w, run, lock);
    }
}

soak_seen soak_watch_result(const soak_watch *w)
{
    return w->result;
}
