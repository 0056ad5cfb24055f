/*
 * machine.c -- see machine.h.
 */
#include "bench/base/machine.h"
#include "base/cpus.h"
#include "core/core.h"

#include <assert.h>
#include <dirent.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>

/* Load of other processes below which the machine counts as quiet. */
#define BUSY_MAX 0.10

enum { QUIET_SECONDS = 2 };

const char *bench_regime_name(bench_regime regime)
{
    switch (regime) {
    case BENCH_SAME: return "S";
    case BENCH_CROSS: return "X";
    case BENCH_PROXY: return "P";
    case BENCH_FREE: return "free";
    }
    bwl_unreachable("a regime outside of its enum");
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void read_model(char ret_model[BENCH_FACT_MAX])
{
    char  line[256];
    FILE *in = fopen("/proc/cpuinfo", "re");

    (void)snprintf(ret_model, BENCH_FACT_MAX, "unknown CPU");
    while (in != NULL && fgets(line, sizeof line, in) != NULL) {
        char *value = strchr(line, ':');
        if (value == NULL || strncmp(line, "model name", 10) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        (void)snprintf(ret_model, BENCH_FACT_MAX, "%.*s", BENCH_FACT_MAX - 1, value + 2);
        break;
    }
    if (in != NULL)
        (void)fclose(in);
}

int bench_machine_read(bench_machine *ret_machine, bench_failure *reterr)
{
    bench_machine  m = { .cpus_count = 0 };
    struct utsname is;
    cpu_set_t      allowed;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || uname(&is) != 0)
        return bench_fail_errno(reterr, bench_text_of("cannot ask the system about itself"));
    for (size_t cpu = 0; cpu < CPU_SETSIZE && m.cpus_count < BENCH_CPUS_MAX; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            m.cpus[m.cpus_count++] = cpu;
    assert(m.cpus_count >= 1);
    /* The library keeps its first count.  It shall be that of a process which is not pinned: regime
     * X measures a client and a server that the scheduler has put on two CPUs. */
    (void)bwl_cpus_usable();
    read_model(m.model);
    (void)snprintf(m.kernel, sizeof m.kernel, "%.20s %.70s", is.sysname, is.release);
    *ret_machine = m;
    return 0;
}

const char *bench_file_system(const char *path)
{
    /* Magic numbers of statfs(2). */
    static const struct {
        unsigned long number;
        const char   *name;
    } known[] = {
        { 0x01021994, "tmpfs" }, { 0xef53, "ext4" },          { 0x58465342, "xfs" },
        { 0x9123683e, "btrfs" }, { 0x2fc12fc1, "zfs" },       { 0xf2f52010, "f2fs" },
        { 0x6969, "nfs" },       { 0x794c7630, "overlayfs" },
    };
    struct statfs is;

    if (statfs(path, &is) == 0)
        for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
            if (known[i].number == (unsigned long)is.f_type)
                return known[i].name;
    return "another file system";
}

/* ---- placing --------------------------------------------------------------------------------- */

static void pin_process(pid_t process, const cpu_set_t *where)
{
    char           path[64];
    struct dirent *entry;

    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *tasks = opendir(path);
    if (tasks == NULL)
        return;
    while ((entry = readdir(tasks)) != NULL)
        if (entry->d_name[0] != '.')
            (void)sched_setaffinity((pid_t)atoi(entry->d_name), sizeof *where, where);
    (void)closedir(tasks);
}

void bench_place(const bench_machine *machine, bench_regime regime, pid_t server)
{
    cpu_set_t ours, theirs;
    bool      is_pinned = regime == BENCH_SAME || regime == BENCH_CROSS;

    CPU_ZERO(&ours);
    CPU_ZERO(&theirs);
    for (unsigned i = 0; i < machine->cpus_count; i++) {
        if (!is_pinned || i == (regime == BENCH_CROSS ? 1u : 0u))
            CPU_SET(machine->cpus[i], &ours);
        if (!is_pinned || i == 0)
            CPU_SET(machine->cpus[i], &theirs);
    }
    assert(CPU_COUNT(&ours) >= 1);
    (void)sched_setaffinity(0, sizeof ours, &ours);
    if (server != 0)
        pin_process(server, &theirs);
}

/* ---- time ------------------------------------------------------------------------------------ */

int64_t bench_now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void bench_sleep_ms(int64_t ms)
{
    struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    (void)nanosleep(&t, NULL); /* (void): every signal that can come ends the process */
}

void bench_sleep_us(int64_t us)
{
    struct timespec t = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

    (void)nanosleep(&t, NULL);
}

/* ---- quiet ----------------------------------------------------------------------------------- */

typedef struct ticks {
    uint64_t idle;
    uint64_t all;
} ticks;

/* CPU time since boot. Time stolen by a hypervisor counts as busy. */
static bool read_ticks(ticks *ret_ticks)
{
    uint64_t v[8] = { 0 };
    FILE    *in   = fopen("/proc/stat", "re");

    if (in == NULL)
        return false;
    int found = fscanf(in,
                       "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                       " %" SCNu64 " %" SCNu64,
                       &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]);
    (void)fclose(in);
    if (found < 4)
        return false;
    ticks t = { .idle = v[3] + v[4] };
    for (unsigned i = 0; i < 8; i++)
        t.all += v[i];
    *ret_ticks = t;
    return true;
}

/* Load during one second; 0 if unknown. */
static double busy_for_a_second(void)
{
    ticks before, after;

    bool was_read = read_ticks(&before);
    bench_sleep_ms(1000);
    if (!was_read || !read_ticks(&after) || after.all <= before.all)
        return 0;
    return 1 - (double)(after.idle - before.idle) / (double)(after.all - before.all);
}

bench_quiet bench_wait_for_quiet(unsigned most_s)
{
    bench_quiet quiet       = { .was_asked = most_s > 0 };
    int64_t     began       = bench_now_ns();
    unsigned    quiet_for_s = 0;

    for (unsigned s = 0; s < most_s && quiet_for_s < QUIET_SECONDS; s++) {
        quiet.busy  = busy_for_a_second();
        quiet_for_s = quiet.busy <= BUSY_MAX ? quiet_for_s + 1 : 0;
        bench_progress("waiting for quiet: %.0f %% busy, %u s of at most %u s", quiet.busy * 100,
                       s + 1, most_s);
    }
    quiet.is_quiet = quiet_for_s == QUIET_SECONDS;
    quiet.waited_s = (double)(bench_now_ns() - began) / 1e9;
    return quiet;
}
