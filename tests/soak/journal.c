/*
 * journal.c -- the journal that all members write: see soak.h.
 *
 * Each holder also takes flock(2) on a witness file of the lock, without waiting: that needs no
 * clock, and the kernel releases it when a process dies.
 */
#include "tests/soak/soak.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int64_t soak_now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* In memory: a write to a page of a file may wait for the disk. */
static int new_file(char path[static SOAK_PATH_MAX])
{
    int fd = memfd_create("soak", MFD_CLOEXEC);

    (void)snprintf(path, SOAK_PATH_MAX, "/proc/%d/fd/%d", (int)getpid(), fd);
    return fd;
}

static soak_journal *map(int fd, const char *path)
{
    void *at = MAP_FAILED;

    if (fd >= 0)
        at = mmap(NULL, sizeof(soak_journal), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    return at;
}

soak_journal *soak_journal_new(char path[static SOAK_PATH_MAX])
{
    int           fd = new_file(path);
    soak_journal *journal;

    if (fd >= 0 && ftruncate(fd, sizeof(soak_journal)) != 0)
        fd = -1;
    journal = map(fd, path);
    for (unsigned lock = 0; lock < SOAK_LOCKS; lock++)
        (void)new_file(journal->witnesses[lock]);
    return journal;
}

soak_journal *soak_journal_map(const char *path)
{
    int           fd      = open(path, O_RDWR | O_CLOEXEC);
    soak_journal *journal = map(fd, path);

    (void)close(fd);
    return journal;
}

int64_t soak_lease_max_us(const soak_journal *journal)
{
    int64_t max_ms = 0;

    for (unsigned i = 0; i < SOAK_LOCKS; i++)
        if (journal->locks[i].lease_ms > max_ms)
            max_ms = journal->locks[i].lease_ms;
    return max_ms * 1000;
}

soak_visit *soak_enter(soak_journal *journal, unsigned member, uint64_t fence, int *ret_fd)
{
    unsigned lock = journal->members[member].lock;
    unsigned n    = atomic_fetch_add(&journal->visits_count, 1);

    if (n >= SOAK_VISITS_MAX) {
        (void)fprintf(stderr, "soak: the journal is full\n");
        exit(1);
    }
    *ret_fd             = open(journal->witnesses[lock], O_RDWR | O_CLOEXEC);
    soak_visit *visit   = &journal->visits[n];
    bool        is_ours = flock(*ret_fd, LOCK_EX | LOCK_NB) == 0;
    *visit              = (soak_visit){ .part         = journal->members[member].part,
                                        .lock         = lock,
                                        .member       = member,
                                        .pid          = getpid(),
                                        .fence        = fence,
                                        .other_inside = is_ours ? 0 : journal->inside[lock],
                                        .entered_us   = soak_now_us() };
    atomic_store(&journal->entered_us[lock], visit->entered_us);
    if (is_ours)
        journal->inside[lock] = n + 1;
    return visit;
}

void soak_sure(soak_visit *visit, int64_t at_us, int64_t left_ms)
{
    int64_t until_us = left_ms == INT64_MAX ? INT64_MAX : at_us + left_ms * 1000;

    if (left_ms <= 0)
        return;
    if (visit->from_us == 0)
        visit->from_us = at_us;
    if (until_us > visit->until_us)
        visit->until_us = until_us;
    visit->sure_us = at_us;
}

void soak_leave(soak_visit *visit, int fd)
{
    visit->left_us = soak_now_us();
    (void)close(fd); /* which releases the flock */
}
