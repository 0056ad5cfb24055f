/*
 * watch.c -- is anybody left in line for a lock that is free: see soak.h.
 *
 * A look is one script, so what it sees was so at one moment: is there a holder, and if not, who
 * stands in line and when was each heard of last.  Whoever is heard of while the lock is free is
 * given it, or the one before him is, in that same step: so a lock must not be free for two looks,
 * with nobody gone from the line between them, if one of them was heard of since the first.  That
 * is a wake-up that was lost, and no time is needed to see it.
 *
 * And who lives is heard of, every two seconds at most: so a lock must not be free for so many
 * looks, with nobody gone from the line, while somebody stands there whom nothing was done to.
 */
#include "tests/soak/topology.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LINE_MAX    = SOAK_CAST_MAX * SOAK_THREADS * 4,
    VALUE_MAX   = 64,
    LOOKS_MAX   = 35, /* a tenth of a second each: a beat, two seconds, and a margin            */
    RECOVERY_US = 2000000,
};

typedef struct standing {
    char    value[VALUE_MAX];
    int64_t heard_ms; /* by the server's clock                                                 */
    pid_t   pid;      /* 0: not known                                                           */
} standing;

typedef struct line_seen {
    bool     is_free;
    int64_t  now_ms; /* the server's clock                                                     */
    unsigned count;
    standing members[LINE_MAX];
} line_seen;

struct soak_watch {
    soak_seen result;
    line_seen first[SOAK_LOCKS]; /* since which nobody has gone from the line                   */
    int64_t   first_us[SOAK_LOCKS];
    unsigned  inside[SOAK_LOCKS]; /* the latest visit before that                               */
    unsigned  strays[SOAK_LOCKS]; /* and how many of strangers                                 */
    unsigned  looks[SOAK_LOCKS];  /* since then                                                 */
    line_seen now;
};

static const char look[] =
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

static void read_line(line_seen *seen, const char *answer)
{
    int size = 0;

    seen->count   = 0;
    seen->is_free = sscanf(answer, "free %ld%n", &seen->now_ms, &size) == 1;
    while (seen->is_free && seen->count < LINE_MAX) {
        standing *s = &seen->members[seen->count];
        long      pid;
        int       more;
        answer += size;
        if (sscanf(answer, " %63s %ld %ld%n", s->value, &s->heard_ms, &pid, &more) != 3)
            return;
        s->pid = (pid_t)pid;
        size   = more;
        seen->count++;
    }
}

static const standing *find(const line_seen *seen, const char *value)
{
    for (unsigned i = 0; i < seen->count; i++)
        if (strcmp(seen->members[i].value, value) == 0)
            return &seen->members[i];
    return NULL;
}

/* Has nobody gone since? */
static bool is_same(const line_seen *first, const line_seen *now)
{
    if (!first->is_free || !now->is_free || first->count == 0)
        return false;
    for (unsigned i = 0; i < first->count; i++)
        if (find(now, first->members[i].value) == NULL)
            return false;
    return true;
}

static bool is_heard(const line_seen *first, const line_seen *now)
{
    for (unsigned i = 0; i < now->count; i++)
        if (now->members[i].heard_ms > first->now_ms)
            return true;
    return false;
}

/* Was anything done to it, or to all, since then or shortly before? */
static bool is_disturbed(const soak_run *run, unsigned member, int64_t since_us)
{
    for (size_t i = run->deeds_count; i > 0; i--) {
        const soak_deed *d = &run->deeds[i - 1];
        if (d->to_us + (d->to_us < INT64_MAX ? RECOVERY_US : 0) > since_us &&
            (d->member == member || d->member == SOAK_EVERYBODY))
            return true;
    }
    return false;
}

static bool is_left_waiting(const soak_run *run, const line_seen *now, int64_t since_us)
{
    for (unsigned i = 0; i < now->count; i++)
        for (unsigned m = 0; m < run->journal->cast_count; m++)
            if (run->pids[m] != 0 && run->pids[m] == now->members[i].pid &&
                !is_disturbed(run, m, since_us))
                return true;
    return false;
}

static void tell(const soak_run *run, unsigned lock, const line_seen *now, const char *what)
{
    (void)fprintf(stderr, "soak: %s is free, and %s:\n", run->journal->locks[lock].name, what);
    for (unsigned i = 0; i < now->count; i++)
        (void)fprintf(stderr, "soak:   %s of %d, heard of %ld ms ago\n", now->members[i].value,
                      (int)now->members[i].pid, now->now_ms - now->members[i].heard_ms);
}

/* A stranger may have come and gone: he is nobody's in line. */
static bool was_visited(const soak_watch *w, const soak_run *run, unsigned lock)
{
    return atomic_load(&run->journal->inside[lock]) != w->inside[lock] ||
           atomic_load(&run->journal->strays[lock]) != w->strays[lock];
}

static void look_at(soak_watch *w, soak_run *run, unsigned lock, server *keeper)
{
    const char *name   = run->journal->locks[lock].name;
    int64_t     now_us = soak_now_us();
    unsigned    inside = atomic_load(&run->journal->inside[lock]);
    unsigned    strays = atomic_load(&run->journal->strays[lock]);
    const char *answer =
        server_ask(keeper, "EVAL '%s' 3 bowline:{%s} bowline:{%s}:bwl.q bowline:{%s}:bwl.b", look,
                   name, name, name);

    w->result.looks++;
    read_line(&w->now, answer);
    if (!is_same(&w->first[lock], &w->now) || was_visited(w, run, lock)) {
        w->first[lock]    = w->now;
        w->inside[lock]   = inside;
        w->strays[lock]   = strays;
        w->first_us[lock] = now_us;
        w->looks[lock]    = 0;
        return;
    }
    w->looks[lock]++;
    if (is_heard(&w->first[lock], &w->now)) {
        w->result.beaten++;
        tell(run, lock, &w->now, "one in line was heard of and did not get it");
    } else if (w->looks[lock] >= LOOKS_MAX && is_left_waiting(run, &w->now, w->first_us[lock])) {
        w->result.silent++;
        tell(run, lock, &w->now, "one in line who lives is not heard of");
    } else {
        return;
    }
    w->first[lock].is_free = false; /* told once */
}

void soak_look(soak_watch *w, soak_run *run)
{
    for (unsigned lock = 0; lock < SOAK_LOCKS; lock++) {
        if (strcmp(run->journal->locks[lock].protocol, "queue") != 0)
            continue;
        server *keeper = run->topology->keeper(run, lock);
        if (keeper == NULL)
            w->first[lock].is_free = false; /* the next look is a first one */
        else
            look_at(w, run, lock, keeper);
    }
}

soak_seen soak_watch_result(const soak_watch *w)
{
    return w->result;
}
