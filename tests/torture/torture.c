/*
 * torture.c -- plays every scenario on every engine, again and again, with another call failing
 * each time.
 *
 *      torture [SCENARIO[:ENGINE] ...]      TORTURE_SHALLOW=K: at most K points of each
 *
 * Each time is a process of its own, so that a crash is one failure and nothing is left for the
 * next.  It is watched: the end of patience is a hang.  After the scenario nothing fails any more,
 * and it is checked that
 *
 *      - no block and no descriptor is left that an undisturbed run does not leave either, the leak
 *        sanitizer agrees where there is one, and no thread is left
 *      - the witness has never seen two inside
 *      - a new client gets another lock at once
 *      - the lock is free; or, where it has a lease, ends with it
 *
 * tools/torture starts this with the shared object in front of libc.  It speaks TAP: a case is a
 * scenario on an engine in one mode.
 */
#include "tests/torture/torture.h"
#include "tests/lib/server.h"
#include "tests/torture/stage.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_S = 60, LEASE_MAX_MS = 20000, SHOWN_MAX = 5 };

/* Of an undisturbed run: what it leaves. */
typedef struct baseline {
    uint64_t blocks;
    unsigned descriptors;
} baseline;

typedef struct place { /* where the locks of an engine are */
    const char *engine;
    char        url[200];
    bool        has_lease;
    bool        is_path; /* names are paths */
} place;

typedef struct figures {
    uint64_t calls;
    uint64_t points;
    uint64_t runs;
    uint64_t injected;
    uint64_t skipped;
    unsigned failures;
} figures;

static torture_state *state; /* of this process */
static baseline      *usual; /* shared with the children */
static server        *redis;
static char           directory[64];
static uint64_t       shallow;
static unsigned       side_by_side = 6;
static unsigned       cases_count;
static unsigned       cases_failed;

__attribute__((weak)) int __lsan_do_recoverable_leak_check(void);

/* ---- what a scenario says -------------------------------------------------------------------- */

void complain(stage *s, const char *format, ...)
{
    va_list arguments;

    (void)atomic_fetch_add(&s->complaints, 1);
    va_start(arguments, format);
    (void)fprintf(stderr, "#     ");
    (void)vfprintf(stderr, format, arguments);
    (void)fprintf(stderr, "\n");
    va_end(arguments);
}

/* Somebody is said to have the lock, where nobody can: only the kernel's own word makes that
 * true. */
static bool is_a_lie(const stage *s, int status)
{
    bool by_kernel =
        strcmp(state->failed_name, "flock") == 0 || strcmp(state->failed_name, "fcntl") == 0;

    return (status == BOWLINE_BUSY || status == BOWLINE_TIMEOUT) && !s->may_be_busy && !by_kernel;
}

bool goes(stage *s, const char *call, int status, uint32_t may, const bowline_error *error)
{
    if (status == BOWLINE_OK)
        return true;
    const char *name = bowline_status_name(status);
    if (status > 0 || status < -31 || (may & (1u << -status)) == 0)
        complain(s, "%s: %s, which is not documented for it: %s", call, name, error->text);
    else if (s->undisturbed &&
             !(s->may_be_busy && (MAY(BOWLINE_BUSY) | MAY(BOWLINE_CANCELLED)) & (1u << -status)))
        complain(s, "%s: %s although nothing fails: %s", call, name, error->text);
    else if (is_a_lie(s, status))
        complain(s, "%s: %s although nobody has it: %s", call, name, error->text);
    if (error->status != status || error->text[0] == '\0' ||
        strnlen(error->text, sizeof error->text) == sizeof error->text)
        complain(s, "%s: %s with the words of %d: \"%.244s\"", call, name, error->status,
                 error->text);
    return false;
}

void work_inside(stage *s, bowline_hold *hold)
{
    witness_visit visit;
    int64_t       now_us = witness_now_us();

    if (bowline_hold_left_ms(hold) == 0)
        return; /* it says itself that it is no longer ours */
    if (!witness_enter(s->witness, &visit, bowline_hold_fence(hold)))
        complain(s, "two are inside");
    witness_sure(&visit, now_us);
    witness_leave(&visit);
}

/* ---- afterwards ------------------------------------------------------------------------------ */

/* A lookup that nobody waits for any more ends by itself. */
static bool threads_end(void)
{
    for (int i = 0; i < 2000 && count_threads() > 1; i++)
        sleep_ms(5);
    return count_threads() <= 1;
}

static void check_balance(stage *s, unsigned descriptors)
{
    if (!threads_end())
        complain(s, "a thread is left");
    unsigned left = count_descriptors() - descriptors;
    if (s->undisturbed)
        *usual = (baseline){ torture_blocks(), left };
    if (torture_blocks() > usual->blocks)
        complain(s, "%llu blocks are left, an undisturbed run leaves %llu",
                 (unsigned long long)torture_blocks(), (unsigned long long)usual->blocks);
    if (left > usual->descriptors)
        complain(s, "%u descriptors are left", left - usual->descriptors);
    if (__lsan_do_recoverable_leak_check != NULL && __lsan_do_recoverable_leak_check() != 0)
        complain(s, "the leak sanitizer has found something");
}

static void check_works(stage *s)
{
    bowline_client *client = NULL;
    bowline_hold   *hold   = NULL;
    bowline_error   error  = { 0 };
    char            name[300];
    int             status = bowline_open(&client, BOWLINE_OPTIONS(.url = s->url), &error);

    if (status == BOWLINE_UNSUPPORTED)
        return; /* OpenSSL is loaded once per process, and that was what failed */
    (void)snprintf(name, sizeof name, "%s-another", s->name);
    if (status == BOWLINE_OK)
        status = acquire_within(&hold, client, name, 5000, &error);
    if (status == BOWLINE_OK)
        status = bowline_release(hold, &error);
    if (status != BOWLINE_OK)
        complain(s, "afterwards nothing goes: %s: %s", bowline_status_name(status), error.text);
    if (status == BOWLINE_OK && !s->has_lease) {
        status = try_once(client, s->name);
        if (status != BOWLINE_OK)
            complain(s, "the lock is left taken: %s", bowline_status_name(status));
    }
    bowline_close(client);
}

/* What its last words released is gone when the server has read them. */
static void check_lease(stage *s)
{
    long left = strtol(server_ask(redis, "PTTL 'bowline:{%s}'", s->name), NULL, 10);

    if (left == -1 || left > LEASE_MAX_MS)
        complain(s, "the lock is left taken, for %ld ms", left);
    (void)server_ask(redis, "DEL 'bowline:{%s}'", s->name);
}

static void check_witness(stage *s)
{
    witness_verdict verdict = witness_judge(s->witness);

    if (verdict.collisions > 0 || verdict.overlaps > 0)
        complain(s, "%zu collisions, %zu overlaps", verdict.collisions, verdict.overlaps);
}

/* ---- one time -------------------------------------------------------------------------------- */

_Noreturn static void play(const scenario *what, const place *where, torture_mode mode, uint64_t n,
                           unsigned slot)
{
    stage s = {
        .engine      = where->engine,
        .has_lease   = where->has_lease,
        .undisturbed = mode != TORTURE_ONE && mode != TORTURE_REST,
        .wait_ms     = mode == TORTURE_REST ? 200 : 5000,
        .reply_ms    = mode == TORTURE_REST  ? 200
                       : mode == TORTURE_ONE ? 1000
                                             : 5000,
        .witness     = witness_new(),
    };

    (void)snprintf(s.url, sizeof s.url, "%s", where->url);
    /* Each place has names of its own: a place in line that was left stays for a minute. */
    (void)snprintf(s.name, sizeof s.name, "%s%s%s-%s-%d-%llu", where->is_path ? directory : "",
                   where->is_path ? "/" : "", what->name, where->engine, (int)mode,
                   (unsigned long long)n);
    (void)alarm(PATIENCE_S);
    unsigned descriptors = count_descriptors();
    torture_use(slot);
    state = torture_slot(slot);
    atomic_store(&state->n, n);
    atomic_store(&state->calls, 0);
    atomic_store(&state->points, 0);
    atomic_store(&state->injected, 0);
    state->failed_name[0] = '\0';
    atomic_store(&state->mode, (uint64_t)mode);
    what->play(&s);
    atomic_store(&state->mode, 0);
    check_balance(&s, descriptors);
    check_works(&s);
    if (s.has_lease)
        check_lease(&s);
    check_witness(&s);
    _exit(atomic_load(&s.complaints) > 0);
}

/* What goes on side by side. */
typedef struct run {
    pid_t    pid; /* 0: nothing */
    uint64_t n;
} run;

typedef struct runs {
    const scenario *what;
    const place    *where;
    torture_mode    mode;
    run             slots[TORTURE_SLOTS];
    figures        *sum;
    uint64_t        clean_n; /* the first of which nothing was made to fail; 0: none yet     */
} runs;

static void say_ending(const runs *r, unsigned slot, int ended)
{
    const torture_state *after      = torture_slot(slot);
    char                 signal[64] = "";

    if (WIFSIGNALED(ended) && WTERMSIG(ended) == SIGALRM)
        (void)snprintf(signal, sizeof signal, "it hangs, ");
    else if (WIFSIGNALED(ended))
        (void)snprintf(signal, sizeof signal, "it died of signal %d, ", WTERMSIG(ended));
    else if (WEXITSTATUS(ended) != 1)
        (void)snprintf(signal, sizeof signal, "it ended with %d, ", WEXITSTATUS(ended));
    (void)fprintf(stderr, "#   %s:%s mode %d n %llu: %safter %s failed (%s), called from 0x%llx\n",
                  r->what->name, r->where->engine, (int)r->mode,
                  (unsigned long long)r->slots[slot].n, signal, after->failed_name,
                  after->failed_error != 0 ? strerrorname_np((int)after->failed_error) : "short",
                  (unsigned long long)after->failed_address);
}

static void reap(runs *r)
{
    int      ended = 0;
    unsigned slot  = 0;
    pid_t    pid   = wait(&ended);

    while (slot < TORTURE_SLOTS && r->slots[slot].pid != pid)
        slot++;
    if (pid <= 0 || slot == TORTURE_SLOTS)
        return; /* the server, of which it is said elsewhere */
    uint64_t injected = torture_slot(slot)->injected;
    r->sum->runs++;
    r->sum->injected += injected;
    if (injected == 0 && (r->clean_n == 0 || r->slots[slot].n < r->clean_n))
        r->clean_n = r->slots[slot].n;
    if (ended != 0 && ++r->sum->failures <= SHOWN_MAX)
        say_ending(r, slot, ended);
    r->slots[slot].pid = 0;
}

static void begin(runs *r, uint64_t n)
{
    for (;;) {
        for (unsigned slot = 0; slot < side_by_side; slot++) {
            if (r->slots[slot].pid != 0)
                continue;
            (void)fflush(NULL);
            pid_t pid = fork();
            assert_true(pid >= 0);
            if (pid == 0)
                play(r->what, r->where, r->mode, n, slot);
            r->slots[slot] = (run){ pid, n };
            return;
        }
        reap(r);
    }
}

static void await_all(runs *r)
{
    for (unsigned slot = 0; slot < side_by_side; slot++)
        while (r->slots[slot].pid != 0)
            reap(r);
}

/* ---- all the times --------------------------------------------------------------------------- */

static const char *words_of_mode(torture_mode mode)
{
    switch (mode) {
    case TORTURE_COUNT: return "nothing fails";
    case TORTURE_ONE: return "each fails once";
    case TORTURE_REST: return "all fail from one on";
    case TORTURE_EINTR: return "every call is interrupted";
    case TORTURE_BYTES: return "byte by byte";
    }
    return "";
}

/* Every n until nothing failed any more; or, if there are too many, so many evenly spread. */
static void play_all(runs *r)
{
    uint64_t count = r->mode == TORTURE_ONE ? r->sum->points : r->sum->calls;
    uint64_t step  = shallow > 0 && count > shallow ? (count + shallow - 1) / shallow : 1;

    for (uint64_t n = 1; n <= count; n += step)
        begin(r, n);
    await_all(r);
    /* What failed may have led to more calls than an undisturbed run makes. */
    for (uint64_t n = count + 1; step == 1 && n <= count * 2 + 100; n++) {
        r->clean_n = 0;
        begin(r, n);
        await_all(r);
        if (r->clean_n != 0)
            break;
    }
    r->sum->skipped = count - (count + step - 1) / step;
}

static void report(const scenario *what, const place *where, torture_mode mode, const figures *sum)
{
    cases_count++;
    cases_failed += sum->failures > 0;
    (void)printf("%sok %u - %s on %s, %s: %llu calls, %llu points, %llu runs, %llu injected",
                 sum->failures > 0 ? "not " : "", cases_count, what->name, where->engine,
                 words_of_mode(mode), (unsigned long long)sum->calls,
                 (unsigned long long)sum->points, (unsigned long long)sum->runs,
                 (unsigned long long)sum->injected);
    if (sum->skipped > 0)
        (void)printf(", %llu left out", (unsigned long long)sum->skipped);
    (void)printf("\n");
}

static void torture(const scenario *what, const place *where)
{
    static const torture_mode modes[] = { TORTURE_COUNT, TORTURE_EINTR, TORTURE_BYTES, TORTURE_ONE,
                                          TORTURE_REST };
    figures                   first   = { 0 };

    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        figures sum = { .calls = first.calls, .points = first.points };
        runs    r   = { .what = what, .where = where, .mode = modes[i], .sum = &sum };
        if (modes[i] == TORTURE_ONE || modes[i] == TORTURE_REST) {
            play_all(&r);
        } else {
            begin(&r, 0);
            await_all(&r);
        }
        if (modes[i] == TORTURE_COUNT) {
            first.calls  = torture_slot(0)->calls;
            first.points = torture_slot(0)->points;
            sum.calls    = first.calls;
            sum.points   = first.points;
        }
        report(what, where, modes[i], &sum);
    }
}

/* The names of scenarios, or of one on one engine; all but those that begin with "-". */
static bool is_wanted(int argc, char **argv, const scenario *what, const place *where)
{
    char full[64];

    bool wanted = argc == 1 || argv[1][0] == '-';

    (void)snprintf(full, sizeof full, "%s:%s", what->name, where->engine);
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i] + (argv[i][0] == '-');
        if (strcmp(name, what->name) == 0 || strcmp(name, full) == 0)
            wanted = argv[i][0] != '-';
    }
    return wanted;
}

int main(int argc, char **argv)
{
    state = torture_slot != NULL ? torture_slot(0) : NULL;
    if (state == NULL) {
        (void)printf("1..0 # SKIP tools/torture starts this\n");
        return 0;
    }
    const char *limit = getenv("TORTURE_SHALLOW");
    shallow           = limit != NULL ? strtoul(limit, NULL, 10) : 0;
    usual = mmap(NULL, sizeof *usual, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(usual != MAP_FAILED);
    redis = server_start_tls(NULL);
    (void)snprintf(directory, sizeof directory, "%s", redis->directory);

    place places[] = {
        { .engine = "thread", .url = "thread:" }, { .engine = "file" },
        { .engine = "path", .is_path = true },    { .engine = "redis", .has_lease = true },
        { .engine = "host", .has_lease = true },  { .engine = "unix", .has_lease = true },
        { .engine = "tls", .has_lease = true },
    };
    (void)snprintf(places[1].url, sizeof places[1].url, "file:%s", directory);
    (void)snprintf(places[2].url, sizeof places[2].url, "file:%s", directory);
    (void)snprintf(places[3].url, sizeof places[3].url, "%s", redis->tcp_url);
    (void)snprintf(places[4].url, sizeof places[4].url, "redis://localhost:%d", redis->port);
    (void)snprintf(places[5].url, sizeof places[5].url, "%s", redis->unix_url);
    (void)snprintf(places[6].url, sizeof places[6].url, "%s", redis->tls_url);
    size_t places_count = sizeof places / sizeof places[0] - (redis->tls_port == 0);
    if (redis->tls_port == 0)
        (void)printf("# rediss:// is left out: there is no openssl(1), or the server has no TLS\n");
    for (size_t i = 0; i < scenarios_count; i++)
        for (size_t k = 0; k < places_count; k++)
            if ((places[k].has_lease || !scenarios[i].leases_only) &&
                (places[k].is_path || !scenarios[i].paths_only) &&
                is_wanted(argc, argv, &scenarios[i], &places[k]))
                torture(&scenarios[i], &places[k]);
    (void)printf("1..%u\n", cases_count);
    server_stop(redis);
    return cases_failed > 0;
}
