/*
 * torture.c -- runs each scenario on each engine repeatedly, and makes another call fail each time.
 *
 * torture [SCENARIO[:ENGINE] ...] -- TORTURE_SHALLOW=K: at most K points of each
 *
 * Each run is a process of its own, so that a crash is one failure and does not affect the next
 * run. A run that exceeds the time limit hangs. After the scenario no call fails any more, and the
 * run checks that it leaves no thread, and no block and no descriptor that a run without faults
 * does not leave; that the leak sanitizer, if present, agrees; that there were never two
 * holders; that a new client acquires another lock at once; that the lock is free, or expires with
 * its lease.
 *
 * tools/torture starts this with the shared object in front of libc. The output is TAP: a case is a
 * scenario on an engine in one mode.
 */
#include "tests/torture/torture.h"
#include "tests/lib/server.h"
#include "tests/torture/stage.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_S = 60, LEASE_MAX_MS = 20000, SHOWN_MAX = 5 };

/* What a run without faults leaves. */
typedef struct baseline {
    uint64_t blocks;
    unsigned descriptors;
} baseline;

typedef struct engine_case { /* an engine with its URL */
    const char *engine;
    char        url[200];
    bool        has_lease;
    bool        is_path; /* names are paths */
} engine_case;

typedef struct counts {
    uint64_t calls;
    uint64_t points;
    uint64_t runs;
    uint64_t injected;
    uint64_t skipped;
    unsigned failures;
} counts;

static torture_state *state;    /* of this process */
static baseline      *expected; /* shared with the children */
static server        *redis;
static char           directory[64];
static uint64_t       points_max;
static unsigned       parallel_runs = 6;
static unsigned       cases_count;
static unsigned       cases_failed;

__attribute__((weak)) int __lsan_do_recoverable_leak_check(void);

/* ---- checks of a scenario -------------------------------------------------------------------- */

void report_failure(stage *s, const char *format, ...)
{
    va_list arguments;

    (void)atomic_fetch_add(&s->failures_count, 1);
    va_start(arguments, format);
    (void)fprintf(stderr, "#     ");
    (void)vfprintf(stderr, format, arguments);
    (void)fprintf(stderr, "\n");
    va_end(arguments);
}

/* BUSY or TIMEOUT without another holder: only a failed flock or fcntl of the kernel justifies
 * that. */
static bool is_false_busy(const stage *s, int status)
{
    bool by_kernel =
        strcmp(state->failed_name, "flock") == 0 || strcmp(state->failed_name, "fcntl") == 0;

    return (status == BOWLINE_BUSY || status == BOWLINE_TIMEOUT) && !s->may_be_busy && !by_kernel;
}

bool check_status(stage *s, const char *call, int status, uint32_t may, bowline_error *error)
{
    const bowline_error said = *error;

    *error = (bowline_error){ 0 };
    if (status == BOWLINE_OK)
        return true;
    const char *name = bowline_status_name(status);
    if (status > 0 || status < -31 || (may & (1u << -status)) == 0)
        report_failure(s, "%s: %s, which is not documented for it: %s", call, name, said.text);
    else if (s->no_faults &&
             !(s->may_be_busy && (MAY(BOWLINE_BUSY) | MAY(BOWLINE_CANCELLED)) & (1u << -status)))
        report_failure(s, "%s: %s although no call fails: %s", call, name, said.text);
    else if (is_false_busy(s, status))
        report_failure(s, "%s: %s although the lock is free: %s", call, name, said.text);
    if (said.status != status || said.text[0] == '\0' ||
        strnlen(said.text, sizeof said.text) == sizeof said.text)
        report_failure(s, "%s: %s with the error text of %d: \"%.244s\"", call, name, said.status,
                       said.text);
    return false;
}

void visit_lock(stage *s, bowline_hold *hold)
{
    if (bowline_hold_left_ms(hold) == 0)
        return; /* the hold reports that it has ended */
    if (atomic_fetch_add(&s->inside, 1) > 0 && bowline_hold_left_ms(hold) > 0)
        report_failure(s, "two holders are inside");
    atomic_fetch_sub(&s->inside, 1);
}

/* ---- checks after a scenario ----------------------------------------------------------------- */

static void check_balance(stage *s, unsigned descriptors)
{
    if (!threads_end(1)) /* a name lookup without a waiting caller ends by itself */
        report_failure(s, "a thread remains");
    unsigned left = count_descriptors() - descriptors;
    if (s->no_faults)
        *expected = (baseline){ torture_blocks(), left };
    if (torture_blocks() > expected->blocks)
        report_failure(s, "%llu blocks remain, a run without faults leaves %llu",
                       (unsigned long long)torture_blocks(), (unsigned long long)expected->blocks);
    if (left > expected->descriptors)
        report_failure(s, "%u descriptors remain", left - expected->descriptors);
    if (__lsan_do_recoverable_leak_check != NULL && __lsan_do_recoverable_leak_check() != 0)
        report_failure(s, "the leak sanitizer reports a leak");
}

static void check_works(stage *s)
{
    bowline_client *client = NULL;
    bowline_hold   *hold   = NULL;
    bowline_error   error  = { 0 };
    char            name[300];
    int             status = bowline_open(&client, BOWLINE_OPTIONS(.url = s->url), &error);

    if (status == BOWLINE_UNSUPPORTED)
        return; /* OpenSSL is loaded once per process, and its loading was made to fail */
    (void)snprintf(name, sizeof name, "%s-another", s->name);
    if (status == BOWLINE_OK)
        status = acquire_within(&hold, client, name, 5000, &error);
    if (status == BOWLINE_OK)
        status = bowline_release(hold, &error);
    if (status != BOWLINE_OK)
        report_failure(s, "a new client fails afterwards: %s: %s", bowline_status_name(status),
                       error.text);
    if (status == BOWLINE_OK && !s->has_lease) {
        status = try_once(client, s->name);
        if (status != BOWLINE_OK)
            report_failure(s, "the lock is not free: %s", bowline_status_name(status));
    }
    bowline_close(client);
}

/* The key is gone when the server has read the last requests, or expires. */
static void check_lease(stage *s)
{
    long left = strtol(server_ask(redis, "PTTL 'bowline:{%s}'", s->name), NULL, 10);

    if (left == -1 || left > LEASE_MAX_MS)
        report_failure(s, "the lock is not free, for %ld ms", left);
    (void)server_ask(redis, "DEL 'bowline:{%s}'", s->name);
}

/* ---- one run --------------------------------------------------------------------------------- */

_Noreturn static void run_scenario(const scenario *what, const engine_case *where,
                                   torture_mode mode, uint64_t n, unsigned slot)
{
    stage s = {
        .engine    = where->engine,
        .has_lease = where->has_lease,
        .no_faults = mode != TORTURE_ONE && mode != TORTURE_REST,
        .wait_ms   = mode == TORTURE_REST ? 200 : 5000,
        .reply_ms  = mode == TORTURE_REST  ? 200
                     : mode == TORTURE_ONE ? 1000
                                           : 5000,
    };

    (void)snprintf(s.url, sizeof s.url, "%s", where->url);
    /* Each run has its own names: a left queue entry remains for a minute. */
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
    what->run_scenario(&s);
    atomic_store(&state->mode, 0);
    check_balance(&s, descriptors);
    check_works(&s);
    if (s.has_lease)
        check_lease(&s);
    _exit(atomic_load(&s.failures_count) > 0);
}

/* The runs in parallel. */
typedef struct run {
    pid_t    pid; /* 0: unused */
    uint64_t n;
} run;

typedef struct runs {
    const scenario    *what;
    const engine_case *where;
    torture_mode       mode;
    run                slots[TORTURE_SLOTS];
    counts            *sum;
    uint64_t           clean_n; /* the lowest without an injected fault; 0: none yet */
} runs;

static void print_failure(const runs *r, unsigned slot, int ended)
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
        return; /* the server */
    uint64_t injected = torture_slot(slot)->injected;
    r->sum->runs++;
    r->sum->injected += injected;
    if (injected == 0 && (r->clean_n == 0 || r->slots[slot].n < r->clean_n))
        r->clean_n = r->slots[slot].n;
    if (ended != 0 && ++r->sum->failures <= SHOWN_MAX)
        print_failure(r, slot, ended);
    r->slots[slot].pid = 0;
}

static void begin(runs *r, uint64_t n)
{
    for (;;) {
        for (unsigned slot = 0; slot < parallel_runs; slot++) {
            if (r->slots[slot].pid != 0)
                continue;
            (void)fflush(NULL);
            pid_t pid = fork();
            assert_true(pid >= 0);
            if (pid == 0)
                run_scenario(r->what, r->where, r->mode, n, slot);
            r->slots[slot] = (run){ pid, n };
            return;
        }
        reap(r);
    }
}

static void await_all(runs *r)
{
    for (unsigned slot = 0; slot < parallel_runs; slot++)
        while (r->slots[slot].pid != 0)
            reap(r);
}

/* ---- all runs -------------------------------------------------------------------------------- */

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

/* Runs each n until no fault is injected any more; or, if there are too many, some evenly spread
 * ones. */
static void run_all(runs *r)
{
    uint64_t count = r->mode == TORTURE_ONE ? r->sum->points : r->sum->calls;
    uint64_t step =
        points_max > 0 && count > points_max ? (count + points_max - 1) / points_max : 1;

    for (uint64_t n = 1; n <= count; n += step)
        begin(r, n);
    await_all(r);
    /* A failure may lead to more calls than a run without faults makes. */
    for (uint64_t n = count + 1; step == 1 && n <= count * 2 + 100; n++) {
        r->clean_n = 0;
        begin(r, n);
        await_all(r);
        if (r->clean_n != 0)
            break;
    }
    r->sum->skipped = count - (count + step - 1) / step;
}

static void report(const scenario *what, const engine_case *where, torture_mode mode,
                   const counts *sum)
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

static void torture(const scenario *what, const engine_case *where)
{
    static const torture_mode modes[] = { TORTURE_COUNT, TORTURE_EINTR, TORTURE_BYTES, TORTURE_ONE,
                                          TORTURE_REST };
    counts                    first   = { 0 };

    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        counts sum = { .calls = first.calls, .points = first.points };
        runs   r   = { .what = what, .where = where, .mode = modes[i], .sum = &sum };
        if (modes[i] == TORTURE_ONE || modes[i] == TORTURE_REST) {
            run_all(&r);
        } else {
            begin(&r, 0);
            await_all(&r);
        }
        if (modes[i] == TORTURE_COUNT) {
            first.calls  = torture_slot(0)->calls;
            first.points = torture_slot(0)->points;
            sum.calls    = first.calls;
            sum.points   = first.points;
            sum.failures += first.calls == 0; /* no address range of the code under test */
        }
        report(what, where, modes[i], &sum);
    }
}

/* Arguments are scenarios, or SCENARIO:ENGINE; a leading "-" excludes one. */
static bool is_wanted(int argc, char **argv, const scenario *what, const engine_case *where)
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
    points_max        = limit != NULL ? strtoul(limit, NULL, 10) : 0;
    expected =
        mmap(NULL, sizeof *expected, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(expected != MAP_FAILED);
    redis = server_start_tls(NULL);
    (void)snprintf(directory, sizeof directory, "%s", redis->directory);

    engine_case places[] = {
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
        (void)printf("# rediss:// is left out: no openssl(1), or a server without TLS\n");
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
