/*
 * janitor.c -- see janitor.h.
 */
#include "bench/base/janitor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES_MAX = 16, FDS_MAX = 4096, DEPTH_MAX = 16 };

typedef struct bench_janitor_list {
    _Atomic pid_t processes[PROCESSES_MAX]; /* 0: free slot */
} bench_janitor_list;

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    (void)remove(path); /* (void): the error cannot be reported */
    return 0;
}

static void close_all_but(int keep)
{
    long open_max = sysconf(_SC_OPEN_MAX);
    int  max      = open_max > 0 && open_max < FDS_MAX ? (int)open_max : FDS_MAX;

    for (int fd = 0; fd < max; fd++)
        if (fd != keep && fd != STDERR_FILENO)
            (void)close(fd);
}

void bench_child_alone(pid_t parent, int keep)
{
    close_all_but(keep);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0); /* the parent died before the prctl */
}

/* The body of the janitor process. */
_Noreturn static void sweep(const bench_janitor *janitor, int leash)
{
    char    byte;
    ssize_t got;

    close_all_but(leash);
    (void)setpgid(0, 0);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    do
        got = read(leash, &byte, 1);
    while (got > 0 || (got < 0 && errno == EINTR));

    for (unsigned i = 0; i < PROCESSES_MAX; i++)
        if (janitor->janitor_list->processes[i] != 0)
            (void)kill(janitor->janitor_list->processes[i], SIGKILL);
    (void)nftw(janitor->directory, remove_one, DEPTH_MAX, FTW_DEPTH | FTW_PHYS);
    _exit(0);
}

static int make_directory(bench_janitor *janitor, bench_failure *reterr)
{
    const char *below = getenv("TMPDIR");
    if (below == NULL || below[0] != '/')
        below = "/tmp";
    int size =
        snprintf(janitor->directory, sizeof janitor->directory, "%s/bowline-bench-XXXXXX", below);

    /* The socket of the server is in it, and a socket path has at most 107 bytes. */
    if (size < 0 || size >= BENCH_DIRECTORY_MAX)
        return bench_fail(reterr, (bench_failure){
                                      .what = bench_text_of("TMPDIR is too long"),
                                      .why  = bench_text_of("sockets are made below %s", below),
                                      .type = bench_text_of("type: TMPDIR=/tmp bowline-bench"),
                                  });
    if (mkdtemp(janitor->directory) == NULL)
        return bench_fail_errno(reterr, bench_text_of("cannot make a directory below %s", below));
    return 0;
}

int bench_janitor_hire(bench_janitor *ret_janitor, bench_failure *reterr)
{
    bench_janitor j         = { .leash = -1 };
    int           leash[2]  = { -1, -1 };
    const size_t  page_size = sizeof *j.janitor_list;

    if (make_directory(&j, reterr) < 0)
        return -1;
    j.janitor_list =
        mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (j.janitor_list == MAP_FAILED)
        goto fail;
    if (pipe2(leash, O_CLOEXEC) != 0)
        goto fail;
    j.pid = fork();
    if (j.pid < 0)
        goto fail;
    if (j.pid == 0)
        sweep(&j, leash[0]);
    (void)close(leash[0]);
    j.leash      = leash[1];
    *ret_janitor = j;
    return 0;
fail:
    (void)bench_fail_errno(reterr, bench_text_of("cannot start a process"));
    if (leash[0] >= 0) {
        (void)close(leash[0]);
        (void)close(leash[1]);
    }
    if (j.janitor_list != MAP_FAILED)
        (void)munmap(j.janitor_list, page_size);
    (void)rmdir(j.directory);
    return -1;
}

static void replace(bench_janitor *janitor, pid_t from, pid_t to)
{
    for (unsigned i = 0; i < PROCESSES_MAX; i++)
        if (janitor->janitor_list->processes[i] == from) {
            janitor->janitor_list->processes[i] = to;
            return;
        }
    assert(from != 0); /* there is a slot for every process of a run */
}

void bench_janitor_mind(bench_janitor *janitor, pid_t process)
{
    assert(process > 0);
    replace(janitor, 0, process);
}

void bench_janitor_forget(bench_janitor *janitor, pid_t process)
{
    assert(process > 0);
    replace(janitor, process, 0);
}

void bench_janitor_dismiss(bench_janitor *janitor)
{
    if (janitor->pid == 0)
        return;
    (void)close(janitor->leash);
    (void)waitpid(janitor->pid, NULL, 0);
    (void)munmap(janitor->janitor_list, sizeof *janitor->janitor_list);
    *janitor = (bench_janitor){ .leash = -1 };
}
