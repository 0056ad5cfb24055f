/*
 * witness.c -- see witness.h.
 */
#include "tests/lib/witness.h"
#include "tests/lib/testing.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { RECORDS_MAX = 1 << 17 };

/* The file has no name, so that a process that dies leaves none.  A flock belongs to an open file,
 * so each visit opens the file again. */
struct witness {
    int            fd;
    char           path[32];
    atomic_size_t  count;
    witness_record records[RECORDS_MAX];
};

witness *witness_new(void)
{
    witness *w = mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(w != MAP_FAILED);
    w->fd = memfd_create("witness", MFD_CLOEXEC);
    assert_true(w->fd >= 0);
    (void)snprintf(w->path, sizeof w->path, "/proc/self/fd/%d", w->fd);
    return w;
}

void witness_free(witness *w)
{
    if (w == NULL)
        return;
    (void)close(w->fd);
    (void)munmap(w, sizeof *w);
}

int64_t witness_now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

bool witness_enter(witness *w, witness_visit *ret_visit, uint64_t fence)
{
    size_t n = atomic_fetch_add(&w->count, 1);

    if (n >= RECORDS_MAX)
        abort(); /* the test is longer than planned */
    ret_visit->record = &w->records[n];
    ret_visit->fd     = open(w->path, O_RDWR | O_CLOEXEC);
    *ret_visit->record =
        (witness_record){ .pid = getpid(), .fence = fence, .entered_us = witness_now_us() };
    ret_visit->record->collided = flock(ret_visit->fd, LOCK_EX | LOCK_NB) != 0;
    return !ret_visit->record->collided;
}

void witness_sure(witness_visit *visit, int64_t at_us)
{
    if (at_us > visit->record->sure_us)
        visit->record->sure_us = at_us;
}

void witness_leave(witness_visit *visit)
{
    (void)flock(visit->fd, LOCK_UN); /* a child that was just forked has a copy, until it execs */
    (void)close(visit->fd);
    visit->record->left_us = witness_now_us();
}

static int by_entrance(const void *a, const void *b)
{
    const witness_record *one = a;
    const witness_record *two = b;

    return (one->entered_us > two->entered_us) - (one->entered_us < two->entered_us);
}

void witness_taint(witness *w, pid_t pid, bool is_gone)
{
    size_t count = atomic_load(&w->count);

    for (size_t i = 0; i < count; i++) {
        witness_record *r = &w->records[i];
        if (r->pid != pid || r->left_us != 0)
            continue;
        r->tainted = true;
        if (is_gone)
            r->left_us = witness_now_us();
    }
}

/* Whether one of the two could not know yet that its lock was lost.  That holds for the late comer
 * if it never was sure: its lock had ended before it entered. */
static bool is_excused(const witness *w, size_t count, const witness_record *late_comer)
{
    if (late_comer->sure_us == 0)
        return true;
    for (size_t i = 0; i < count; i++) {
        const witness_record *r = &w->records[i];
        bool was_there          = r->entered_us <= late_comer->entered_us && r != late_comer &&
                         (r->left_us == 0 || r->left_us >= late_comer->entered_us);
        if (was_there && r->tainted)
            return true;
    }
    return false;
}

witness_verdict witness_judge(witness *w)
{
    witness_verdict verdict = { .visits = atomic_load(&w->count) };
    int64_t         sure_us = 0;
    uint64_t        fence   = 0;

    qsort(w->records, verdict.visits, sizeof w->records[0], by_entrance);
    for (size_t i = 0; i < verdict.visits; i++) {
        const witness_record *r = &w->records[i];
        verdict.collisions += r->collided;
        verdict.unexcused += r->collided && !is_excused(w, verdict.visits, r);
        verdict.overlaps += r->entered_us < sure_us && r->sure_us >= r->entered_us;
        verdict.fences_backward += i > 0 && r->fence <= fence;
        fence = r->fence;
        if (r->sure_us > sure_us)
            sure_us = r->sure_us;
    }
    return verdict;
}
