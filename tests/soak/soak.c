/*
 * soak.c -- the supervisor: see soak.h.
 *
 *      soak SECONDS [SEED]        0: a seed of its own.  BOWLINE: the command, if there is one
 *
 * After SECONDS the faults end and everything is healed; whoever waits must then get his lock.
 * When all have ended by themselves it is looked at what is left, here and on the server.  The
 * last line is "N passed, N failed".
 */
#include "tests/soak/soak.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOOK_EVERY_MS = 100,
    PATIENCE_MS   = 30000,
    LEFT_FOR_MS   = 60000, /* what the dead leave behind                                      */
    LONG_RUN_S    = 300,   /* then that is waited for                                          */
    /* Of a connection: it may have been down, or had less to say.  Its room is kept, and is twice
     * what was ever to be said at once: with the texts of the scripts, some 17 kB.  Two threads may
     * come to use two more, with a keeper each. */
    BLOCKS_LINE = 50000,
    BLOCKS_LANE = 100000,
    FILES_LINE  = 3,
    FILES_LANE  = 9,
};

static unsigned passed;
static unsigned failed;

__attribute__((format(printf, 2, 3))) static void check(bool holds, const char *format, ...)
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

/* ---- the cast --------------------------------------------------------------------------------
 * */

enum { RED, GREEN, BLUE, GREY, WOOD };

static const soak_member cast[] = {
    { .part = SOAK_LIBRARY, .lock = RED, .threads = 1, .is_mortal = true, .has_line = true },
    { .part = SOAK_LIBRARY, .lock = RED, .threads = 1, .is_mortal = true, .has_line = true },
    { .part = SOAK_LIBRARY, .lock = RED, .threads = 1, .has_line = true },
    { .part = SOAK_COMMAND, .lock = RED, .is_mortal = true },
    { .part = SOAK_LIBRARY, .lock = GREEN, .threads = 2 },
    { .part = SOAK_LIBRARY, .lock = GREEN, .threads = 2, .is_mortal = true },
    { .part = SOAK_LIBRARY, .lock = GREEN, .threads = 1, .is_mortal = true, .has_line = true },
    { .part = SOAK_STRANGER, .lock = GREEN },
    { .part = SOAK_LIBRARY, .lock = BLUE, .threads = 1, .is_mortal = true, .has_line = true },
    { .part = SOAK_LIBRARY, .lock = BLUE, .threads = 1, .has_line = true },
    { .part = SOAK_LIBRARY, .lock = BLUE, .threads = 2, .is_mortal = true },
    { .part = SOAK_COMMAND, .lock = BLUE, .is_mortal = true, .has_line = true },
    { .part = SOAK_LIBRARY, .lock = GREY, .threads = 1, .is_mortal = true, .has_line = true },
    { .part = SOAK_LIBRARY, .lock = GREY, .threads = 2 },
    { .part = SOAK_STRANGER, .lock = GREY },
    { .part = SOAK_LIBRARY, .lock = WOOD, .threads = 2, .is_mortal = true },
    { .part = SOAK_LIBRARY, .lock = WOOD, .threads = 1 },
    { .part = SOAK_COMMAND, .lock = WOOD, .is_mortal = true },
};

static void engage(soak_run *run)
{
    soak_journal *journal = run->journal;

    for (size_t i = 0; i < sizeof cast / sizeof cast[0]; i++) {
        unsigned         n    = journal->cast_count;
        soak_member     *m    = &journal->cast[n];
        const soak_lock *lock = &soak_locks[cast[i].lock];
        if (cast[i].part == SOAK_COMMAND && run->bowline == NULL)
            continue;
        *m = cast[i];
        if (m->has_line)
            run->lines[n] = proxy_start(run->redis, &(proxy_plan){ .fault = PROXY_NONE });
        if (lock->protocol == NULL)
            (void)snprintf(m->url, sizeof m->url, "file:%s/wood", run->redis->directory);
        else
            (void)snprintf(m->url, sizeof m->url, "%s?protocol=%s",
                           m->has_line ? proxy_url(run->lines[n]) : run->redis->tcp_url,
                           lock->protocol);
        journal->cast_count++;
    }
    for (unsigned i = 0; i < journal->cast_count; i++)
        soak_hire(run, i);
}

/* ---- the rain --------------------------------------------------------------------------------
 * */

static void rain(soak_run *run, soak_watch *watch, int64_t seconds)
{
    uint64_t   plan     = run->journal->seed;
    int64_t    begin_ms = clock_ms(), end_ms = begin_ms + seconds * 1000;
    soak_fault next    = soak_draw(&plan);
    int64_t    next_ms = begin_ms + next.pause_ms;
    int64_t    look_ms = begin_ms;

    for (int64_t now; (now = clock_ms()) < end_ms; sleep_ms(2)) {
        atomic_store(&run->journal->quarter,
                     (unsigned)((now - begin_ms) * SOAK_QUARTERS / (end_ms - begin_ms)));
        soak_look_at_clock(run);
        soak_wake(run, false);
        soak_tend(run);
        if (now >= next_ms) {
            soak_strike(run, next);
            next    = soak_draw(&plan);
            next_ms = now + next.pause_ms;
        }
        if (now >= look_ms) {
            soak_look(watch, run);
            look_ms = now + LOOK_EVERY_MS;
        }
    }
    soak_wake(run, true);
}

static unsigned holds_of(const soak_member *m)
{
    unsigned holds = 0;

    for (unsigned t = 0; t < SOAK_THREADS; t++)
        holds += atomic_load(&m->tallies[t].holds);
    return holds;
}

/* Nothing goes wrong any more: how many threads do not get their lock once more? */
static unsigned starved(soak_run *run, soak_watch *watch)
{
    soak_journal *journal = run->journal;
    unsigned      before[SOAK_CAST_MAX][SOAK_THREADS];
    unsigned      without = 0;
    int64_t       end_ms  = clock_ms() + PATIENCE_MS;

    for (unsigned i = 0; i < journal->cast_count; i++)
        for (unsigned t = 0; t < SOAK_THREADS; t++)
            before[i][t] = atomic_load(&journal->cast[i].tallies[t].holds);
    do {
        without = 0;
        sleep_ms(LOOK_EVERY_MS);
        soak_tend(run);
        soak_look(watch, run);
        for (unsigned i = 0; i < journal->cast_count; i++)
            for (unsigned t = 0; t < journal->cast[i].threads; t++)
                without += atomic_load(&journal->cast[i].tallies[t].holds) == before[i][t];
    } while (without > 0 && clock_ms() < end_ms);
    return without;
}

/* Everybody comes to an end by himself. */
static unsigned await_all(soak_run *run)
{
    int64_t  end_ms = clock_ms() + PATIENCE_MS;
    unsigned there;

    atomic_store(&run->journal->ends, true);
    do {
        there = 0;
        sleep_ms(20);
        soak_tend(run);
        for (unsigned i = 0; i < run->journal->cast_count; i++)
            there += run->pids[i] != 0;
    } while (there > 0 && clock_ms() < end_ms);
    for (unsigned i = 0; i < run->journal->cast_count; i++)
        if (run->pids[i] != 0) {
            (void)kill(run->pids[i], SIGKILL);
            (void)waitpid(run->pids[i], NULL, 0);
        }
    return there;
}

/* ---- what is left ----------------------------------------------------------------------------
 * */

static void check_members(const soak_run *run)
{
    for (unsigned i = 0; i < run->journal->cast_count; i++) {
        const soak_member *m = &run->journal->cast[i];
        if (m->is_mortal || m->part != SOAK_LIBRARY)
            continue;
        unsigned first = m->blocks_bytes[1] != 0 ? 1 : 2, last = SOAK_QUARTERS - 1;
        uint64_t before = m->blocks_bytes[first], after = m->blocks_bytes[last];
        uint64_t files = m->descriptors[first], files_after = m->descriptors[last];
        if (before == 0 || after == 0) {
            (void)printf("        a long-lived holder of %s held it too seldom for a comparison\n",
                         soak_locks[m->lock].name);
            continue;
        }
        unsigned others = m->threads - 1;
        check(after <= before + BLOCKS_LINE + (uint64_t)others * BLOCKS_LANE &&
                  files_after <= files + FILES_LINE + (uint64_t)others * FILES_LANE,
              "what a long-lived holder of %s uses is the same after %u holds: %lu and %lu bytes, "
              "%lu and %lu descriptors",
              soak_locks[m->lock].name, holds_of(m), before, after, files, files_after);
    }
}

/* What is there beside the count of fences; and of that, what is not who a client is. */
static unsigned count_keys(server *s, unsigned *ret_locks)
{
    char     keys[16384];
    unsigned count = 0;

    *ret_locks = 0;
    (void)snprintf(keys, sizeof keys, "%s", server_ask(s, "KEYS *"));
    for (char *key = strtok(keys, " "); key != NULL; key = strtok(NULL, " ")) {
        if (strcmp(key, "bowline:f") == 0)
            continue;
        count++;
        *ret_locks += strncmp(key, "bowline:who:", 12) != 0;
    }
    return count;
}

static unsigned count_endless(server *s)
{
    char     keys[16384];
    unsigned count = 0;

    (void)snprintf(keys, sizeof keys, "%s", server_ask(s, "KEYS bowline:who:*"));
    for (char *key = strtok(keys, " "); key != NULL; key = strtok(NULL, " ")) {
        int64_t left = strtol(server_ask(s, "PTTL %s", key), NULL, 10);
        count += left == -1 || left > LEFT_FOR_MS + SOAK_LEASE_MAX;
    }
    return count;
}

static void check_server(soak_run *run, bool waits)
{
    server  *s = run->redis;
    unsigned locks, keys = count_keys(s, &locks);

    for (int64_t end_ms = clock_ms() + SOAK_LEASE_MAX; locks > 0 && clock_ms() < end_ms;
         sleep_ms(100))
        keys = count_keys(s, &locks);
    check(locks == 0, "of the locks there is nothing left but the count of fences: %u keys", locks);
    check(count_endless(s) == 0, "%u keys say who the dead were, each with an end", keys - locks);
    for (int64_t end_ms = clock_ms() + LEFT_FOR_MS + SOAK_LEASE_MAX;
         waits && keys > 0 && clock_ms() < end_ms; sleep_ms(500))
        keys = count_keys(s, &locks);
    if (waits)
        check(keys == 0, "after a minute there is no other key: %u", keys);
    const char *lines = server_ask(s, "PUBSUB SHARDCHANNELS");
    const char *who   = server_ask(s, "CLIENT LIST");
    check(*lines == '\0' && strstr(who, "\\x0Aid=") == NULL,
          "nobody is connected to the server any more, and nobody listens");
}

/* ---- the report ------------------------------------------------------------------------------
 * */

static void report_faults(const soak_run *run)
{
    (void)printf("faults:");
    for (unsigned kind = SOAK_NOTHING + 1; kind < SOAK_KINDS_END; kind++)
        (void)printf("%s %u %s", kind > SOAK_NOTHING + 1 ? "," : "", run->counts[kind],
                     soak_fault_words((soak_kind)kind));
    (void)printf("\n");
}

static unsigned report_tallies(const soak_run *run)
{
    unsigned wrong = 0;

    for (unsigned lock = 0; lock < SOAK_LOCKS; lock++) {
        unsigned holds = 0, vain = 0, lost = 0, unknown = 0, refused = 0, strangers = 0, runs = 0;
        for (unsigned i = 0; i < run->journal->cast_count; i++) {
            const soak_member *m = &run->journal->cast[i];
            for (unsigned t = 0; m->lock == lock && t < SOAK_THREADS; t++) {
                const soak_tally *tally = &m->tallies[t];
                holds += m->part == SOAK_LIBRARY ? tally->holds : 0;
                strangers += m->part == SOAK_STRANGER ? tally->holds : 0;
                runs += m->part == SOAK_COMMAND ? tally->holds : 0;
                vain += tally->in_vain;
                lost += tally->lost;
                unknown += tally->unknown;
                refused += tally->refused;
                wrong += tally->wrong;
            }
        }
        (void)printf("%s (%s): %u holds, %u by commands, %u by strangers; %u in vain, %u lost, "
                     "%u without an answer, %u refused\n",
                     soak_locks[lock].name,
                     soak_locks[lock].protocol != NULL ? soak_locks[lock].protocol : "file", holds,
                     runs, strangers, vain, lost, unknown, refused);
    }
    return wrong;
}

static void check_verdicts(const soak_verdict verdicts[SOAK_LOCKS])
{
    for (unsigned lock = 0; lock < SOAK_LOCKS; lock++) {
        const soak_verdict *v    = &verdicts[lock];
        const char         *name = soak_locks[lock].name;
        check(v->overlaps == 0 && v->visits > 0,
              "%s: %u visits, %u overlaps; apart from these %u holders whom the server forgot, "
              "%u whose lock was given up after a restart, %u while the clock was set",
              name, v->visits, v->overlaps, v->forgotten, v->given_up, v->unjudged);
        check(v->late == 0,
              "%s: %u found somebody inside who was stopped, %u one whose server was started anew, "
              "%u one without such a reason",
              name, v->slow, v->restarted, v->late);
        if (v->fences > 0)
            check(v->backward == 0, "%s: %u fences, %u not larger than the one before", name,
                  v->fences, v->backward);
    }
}

static void soak(soak_run *run, int64_t seconds)
{
    soak_watch  *watch = soak_watch_new();
    soak_verdict verdicts[SOAK_LOCKS];

    assert_non_null(watch);
    engage(run);
    rain(run, watch, seconds);
    unsigned  hungry = starved(run, watch);
    unsigned  stuck  = await_all(run);
    soak_seen seen   = soak_watch_result(watch);

    report_faults(run);
    unsigned wrong = report_tallies(run);
    soak_judge(run, verdicts);
    check_verdicts(verdicts);
    check(seen.beaten + seen.silent == 0,
          "%u looks at the lines: %u times free and not given to who was heard of, %u times free "
          "and who lives not heard of",
          seen.looks, seen.beaten, seen.silent);
    check(hungry == 0, "when all is well again, everybody gets his lock: %u did not", hungry);
    check(stuck == 0, "everybody comes to an end: %u did not", stuck);
    check(wrong == 0, "every answer is one that can be: %u were not", wrong);
    check(run->odd_exits == 0, "nobody ends as he should not: %u did", run->odd_exits);
    check_members(run);
    check_server(run, seconds >= LONG_RUN_S);
    soak_watch_free(watch);
}

static int supervise(const char *program, int64_t seconds, uint64_t seed)
{
    soak_run *run = calloc(1, sizeof *run);
    char      wood[96];

    assert_non_null(run);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    run->program       = program;
    run->bowline       = getenv("BOWLINE");
    run->redis         = server_start("--appendonly yes --appendfsync no");
    run->journal       = soak_journal_new(run->journal_path);
    run->journal->seed = seed;
    (void)snprintf(wood, sizeof wood, "%s/wood", run->redis->directory);
    assert_int_equal(mkdir(wood, 0700), 0);
    (void)snprintf(run->journal->socket, sizeof run->journal->socket, "%s", run->redis->socket);
    (void)printf("soak: %d s, seed %lu\n", (int)seconds, seed);
    soak(run, seconds);
    for (unsigned i = 0; i < run->journal->cast_count; i++)
        proxy_stop(run->lines[i]);
    server_stop(run->redis);
    free(run);
    (void)printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*play)(soak_journal *journal, unsigned member);
    } parts[] = { { "--work", soak_work }, { "--inside", soak_inside }, { "--stray", soak_stray } };

    for (size_t i = 0; argc == 4 && i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(argv[1], parts[i].name) == 0)
            return parts[i].play(soak_journal_map(argv[2]), (unsigned)strtoul(argv[3], NULL, 10));
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
