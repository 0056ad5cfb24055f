/*
 * fleet.c -- one process of a fleet in which an older bowline and this one take the same lock.
 * tools/mixed-fleet compiles it against both (OLDER: only exclusive holds) and starts several of each.
 *
 *      fleet URL SEED ROUNDS FILE        FILE: memory that all processes share
 *
 * Ends with 1 at the first fault: two that exclude each other hold the lock, permits beyond the
 * limit, a fence that goes back or is given twice, or an acquire that is not served.
 */
#include <bowline/bowline.h>

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 4, LIMIT = 4, SERVED_MS = 60000, EXCLUSIVE = 0, SHARED, PERMITS };

typedef struct board {
    pthread_mutex_t mutex;
    unsigned        used[PERMITS + 1]; /* by the holders of each mode */
    uint64_t        fence;             /* the greatest */
} board;

static board      *all;
static const char *url;
static unsigned    rounds;

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

static void leave(unsigned mode, unsigned weight)
{
    (void)pthread_mutex_lock(&all->mutex);
    all->used[mode] -= weight;
    (void)pthread_mutex_unlock(&all->mutex);
}

static bowline_acquire_options request(unsigned mode, unsigned weight, unsigned wait_ms)
{
    bowline_acquire_options options = BOWLINE_ACQUIRE_INIT;

    options.wait_ms = wait_ms;
#ifndef OLDER
    options.mode    = mode;
    options.permits = mode == PERMITS ? weight : 0;
    options.limit   = mode == PERMITS ? LIMIT : 0;
#else
    (void)mode, (void)weight;
#endif
    return options;
}

/* Some try, some wait for a short time, and most wait until they are served. */
static unsigned draw_wait(unsigned *seed)
{
    unsigned kind = (unsigned)rand_r(seed) % 8;

    return kind == 0 ? 0 : kind == 1 ? 1 + (unsigned)rand_r(seed) % 20 : SERVED_MS;
}

static void once(bowline_client *client, unsigned *seed)
{
#ifdef OLDER
    unsigned mode = EXCLUSIVE;
#else
    unsigned mode = (unsigned)rand_r(seed) % (PERMITS + 1);
#endif
    unsigned                weight  = mode == PERMITS ? 1 + (unsigned)rand_r(seed) % 3 : 1;
    unsigned                wait_ms = draw_wait(seed);
    bowline_acquire_options options = request(mode, weight, wait_ms);
    bowline_hold           *hold;
    bowline_error           error;
    int                     status = bowline_acquire(&hold, client, "x", &options, &error);

    if (status < 0) {
        if (wait_ms == SERVED_MS)
            fail("acquire", error.text);
        return;
    }
    enter(mode, weight, bowline_hold_fence(hold));
    for (int commands = rand_r(seed) % 4; commands > 0; commands--)
        if (bowline_extend(hold, 0, &error) < 0)
            fail("extend", error.text);
    leave(mode, weight);
    if (bowline_release(hold, &error) < 0)
        fail("release", error.text);
}

static void *run(void *arg)
{
    unsigned        seed = (unsigned)(uintptr_t)arg;
    bowline_client *client;
    bowline_error   error;

    if (bowline_open(&client, BOWLINE_OPTIONS(.url = url), &error) < 0)
        fail("open", error.text);
    for (unsigned i = 0; i < rounds; i++)
        once(client, &seed);
    bowline_close(client);
    return NULL;
}

/* The first process makes it: the others are started when it says so. */
static void map_board(const char *file)
{
    int  fd     = open(file, O_RDWR | O_CREAT, 0600);
    bool is_new = fd >= 0 && lseek(fd, 0, SEEK_END) == 0;

    if (fd < 0 || (is_new && ftruncate(fd, sizeof *all) != 0))
        exit(EXIT_FAILURE);
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (all == MAP_FAILED)
        exit(EXIT_FAILURE);
    if (is_new) {
        pthread_mutexattr_t shared;
        (void)pthread_mutexattr_init(&shared);
        (void)pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
        (void)pthread_mutex_init(&all->mutex, &shared);
    }
    (void)puts("ready");
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    if (argc != 5)
        return 2;
    url    = argv[1];
    rounds = (unsigned)strtoul(argv[3], NULL, 10);
    map_board(argv[4]);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run,
                           (void *)(strtoul(argv[2], NULL, 10) * THREADS + i)) != 0)
            fail("thread", "cannot be started");
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    return EXIT_SUCCESS;
}
