/*
 * fleet.c -- one process of a fleet in which an older bowline and this one take the same lock.  The
 * older one (-DOLDER) knows exclusive holds only.  See tools/mixed-fleet.
 *
 *      fleet URL SEED ACQUIRES FILE        FILE: memory that all processes share
 *
 * Ends with 1 at the first fault: two that exclude each other hold the lock, permits beyond the
 * limit, a fence that goes back or is given twice, or an acquire that is not served.
 */
#include <bowline/bowline.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 4, LIMIT = 4, SERVED_MS = 60000, EXCLUSIVE = 0, SHARED, PERMITS };

static struct board {
    pthread_mutex_t mutex;
    unsigned        used[PERMITS + 1]; /* by the holders of each mode */
    uint64_t        fence;             /* the greatest */
} * all;

static char **words;

static void fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "%s: %s; exclusive %u, shared %u, permits %u\n", what, why,
                  all->used[EXCLUSIVE], all->used[SHARED], all->used[PERMITS]);
    _exit(EXIT_FAILURE);
}

static void enter(unsigned mode, unsigned weight, uint64_t fence)
{
    const unsigned *used = all->used;

    (void)pthread_mutex_lock(&all->mutex);
    all->used[mode] += weight;
    if (used[EXCLUSIVE] > 1 || (used[EXCLUSIVE] == 1 && used[SHARED] + used[PERMITS] > 0))
        fail("overlap", "another one holds the lock beside an exclusive hold");
    if (used[PERMITS] > LIMIT)
        fail("permits", "more than the limit");
    if (fence < all->fence || (mode == EXCLUSIVE && fence == all->fence))
        fail("fence", "it is not greater than the last one");
    all->fence = fence;
    (void)pthread_mutex_unlock(&all->mutex);
}

/* Some try, some wait for a short time, and most wait until they are served. */
static void once(bowline_client *client, unsigned *seed)
{
    unsigned                mode    = 0;
    unsigned                weight  = 1;
    unsigned                kind    = (unsigned)rand_r(seed) % 8;
    bowline_acquire_options options = BOWLINE_ACQUIRE_INIT;
    bowline_hold           *hold;
    bowline_error           error;

#ifndef OLDER
    mode = options.mode = (unsigned)rand_r(seed) % (PERMITS + 1);
    if (mode == PERMITS) {
        weight = options.permits = 1 + (unsigned)rand_r(seed) % 3;
        options.limit            = LIMIT;
    }
#endif
    options.wait_ms = kind == 0 ? 0 : kind == 1 ? 1 + (unsigned)rand_r(seed) % 20 : SERVED_MS;
    if (bowline_acquire(&hold, client, "x", &options, &error) < 0) {
        if (kind > 1)
            fail("acquire", error.text);
        return;
    }
    enter(mode, weight, bowline_hold_fence(hold));
    for (int commands = rand_r(seed) % 4; commands > 0; commands--)
        if (bowline_extend(hold, 0, &error) < 0)
            fail("extend", error.text);
    (void)pthread_mutex_lock(&all->mutex);
    all->used[mode] -= weight;
    (void)pthread_mutex_unlock(&all->mutex);
    if (bowline_release(hold, &error) < 0)
        fail("release", error.text);
}

static void *run(void *arg)
{
    unsigned        seed = (unsigned)(uintptr_t)arg;
    bowline_client *client;
    bowline_error   error;

    if (bowline_open(&client, BOWLINE_OPTIONS(.url = words[1]), &error) < 0)
        fail("open", error.text);
    for (long left = strtol(words[3], NULL, 10); left > 0; left--)
        once(client, &seed);
    bowline_close(client);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int       fd     = argc == 5 ? open(argv[4], O_RDWR | O_CREAT, 0600) : -1;
    bool      is_new = fd >= 0 && lseek(fd, 0, SEEK_END) == 0;

    words = argv;
    if (fd < 0 || ftruncate(fd, sizeof *all) != 0)
        return 2;
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (all == MAP_FAILED)
        return 2;
    if (is_new) {
        pthread_mutexattr_t shared;
        (void)pthread_mutexattr_init(&shared);
        (void)pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
        (void)pthread_mutex_init(&all->mutex, &shared);
    }
    (void)puts("ready"); /* the next process may be started */
    (void)fflush(stdout);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run,
                           (void *)(strtoul(argv[2], NULL, 10) * THREADS + i)) != 0)
            fail("thread", "cannot be started");
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    return EXIT_SUCCESS;
}
