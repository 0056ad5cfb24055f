/*
 * driver.c -- see driver.h.
 */
#include "bench/peers/driver.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { PAIRS_MAX = 1000, CROWD_MAX = 4096, STACK_SIZE = 256 * 1024, LINE_MAX_BYTES = 1024 };

typedef struct turn {
    int64_t in_ns;
    int64_t out_ns;
} turn;

typedef struct driver driver;

/* A waiter of the crowd: a thread with its own client. */
typedef struct waiter {
    driver   *driver;
    void     *client;
    pthread_t thread;
    turn     *turns;
    size_t    count;
    size_t    room;
    int       status;
    char      why[PEER_WHY_MAX];
} waiter;

struct driver {
    const peer_ways  *ways;
    const peer_place *place;
    void             *client;
    waiter           *crowd;
    size_t            crowd_count;
    int64_t           end_ns; /* of a contest */
    int64_t           hold_us;
    char              why[PEER_WHY_MAX];
};

int64_t peer_now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void peer_sleep_us(int64_t us)
{
    struct timespec t = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

    (void)nanosleep(&t, NULL);
}

static int usage_failed(char *why, const char *text)
{
    (void)snprintf(why, PEER_WHY_MAX, "%.100s: %.90s", text, strerror(errno));
    return -1;
}

/* ---- alone ----------------------------------------------------------------------------------- */

static int pair(driver *d, long count)
{
    int64_t took[PAIRS_MAX];

    errno = EINVAL;
    if (count < 1 || count > PAIRS_MAX)
        return usage_failed(d->why, "pair");
    for (long i = 0; i < count; i++) {
        int64_t began = peer_now_ns();
        if (d->ways->acquire(d->client, d->why) < 0 || d->ways->release(d->client, d->why) < 0)
            return -1;
        took[i] = peer_now_ns() - began;
    }
    (void)fputs("pair", stdout);
    for (long i = 0; i < count; i++)
        (void)printf(" %" PRId64, took[i]);
    (void)putchar('\n');
    return 0;
}

static int acquire(driver *d)
{
    if (d->ways->acquire(d->client, d->why) < 0)
        return -1;
    (void)printf("held %" PRId64 "\n", peer_now_ns());
    return 0;
}

static int release(driver *d)
{
    int64_t began = peer_now_ns();

    if (d->ways->release(d->client, d->why) < 0)
        return -1;
    (void)printf("released %" PRId64 "\n", began);
    return 0;
}

static int ping(driver *d)
{
    int64_t began = peer_now_ns();

    errno = ENOTSUP;
    if (d->ways->ping == NULL)
        return usage_failed(d->why, "ping");
    if (d->ways->ping(d->client, d->why) < 0)
        return -1;
    (void)printf("ping %" PRId64 "\n", peer_now_ns() - began);
    return 0;
}

/* ---- many ------------------------------------------------------------------------------------ */

static void send_home(driver *d)
{
    for (size_t i = 0; i < d->crowd_count; i++) {
        d->ways->close(d->crowd[i].client);
        free(d->crowd[i].turns);
    }
    free(d->crowd);
    d->crowd       = NULL;
    d->crowd_count = 0;
}

static int gather(driver *d, long count)
{
    send_home(d);
    errno = EINVAL;
    if (count < 1 || count > CROWD_MAX)
        return usage_failed(d->why, "crowd");
    d->crowd = calloc((size_t)count, sizeof *d->crowd);
    if (d->crowd == NULL)
        return usage_failed(d->why, "crowd");
    for (; d->crowd_count < (size_t)count; d->crowd_count++) {
        waiter *w = &d->crowd[d->crowd_count];
        w->driver = d;
        if (d->ways->open(&w->client, d->place, d->why) < 0)
            return -1;
    }
    (void)printf("crowd %ld\n", count);
    return 0;
}

static int note(waiter *w, turn t)
{
    if (w->count == w->room) {
        size_t room  = w->room > 0 ? 2 * w->room : 64;
        turn  *turns = realloc(w->turns, room * sizeof *turns);
        if (turns == NULL)
            return usage_failed(w->why, "turns");
        w->turns = turns;
        w->room  = room;
    }
    w->turns[w->count++] = t;
    return 0;
}

/* Every waiter acquires at least once, however late. */
static void *contend_alone(void *arg)
{
    waiter          *w    = arg;
    const peer_ways *ways = w->driver->ways;

    do {
        turn t;
        w->status = ways->acquire(w->client, w->why);
        if (w->status < 0)
            break;
        t.in_ns = peer_now_ns();
        if (w->driver->hold_us > 0)
            peer_sleep_us(w->driver->hold_us);
        t.out_ns  = peer_now_ns();
        w->status = ways->release(w->client, w->why);
        if (w->status == 0)
            w->status = note(w, t);
    } while (w->status == 0 && peer_now_ns() < w->driver->end_ns);
    return NULL;
}

static int write_turns(driver *d, const char *path)
{
    FILE  *out = fopen(path, "we");
    size_t sum = 0;

    if (out == NULL)
        return usage_failed(d->why, path);
    for (size_t i = 0; i < d->crowd_count; i++) {
        waiter *w = &d->crowd[i];
        for (size_t t = 0; t < w->count; t++)
            (void)fprintf(out, "%zu %" PRId64 " %" PRId64 "\n", i, w->turns[t].in_ns,
                          w->turns[t].out_ns);
        sum += w->count;
    }
    if (fclose(out) != 0)
        return usage_failed(d->why, path);
    (void)printf("done %zu\n", sum);
    return 0;
}

static int contend(driver *d, long ms, long hold_us, const char *path)
{
    pthread_attr_t small;
    size_t         started = 0;
    int            status  = 0;

    d->end_ns  = peer_now_ns() + ms * 1000000;
    d->hold_us = hold_us;
    (void)pthread_attr_init(&small);
    (void)pthread_attr_setstacksize(&small, STACK_SIZE);
    while (started < d->crowd_count && status == 0) {
        waiter *w = &d->crowd[started];
        w->count  = 0;
        errno     = pthread_create(&w->thread, &small, contend_alone, w);
        if (errno != 0)
            status = usage_failed(d->why, "cannot start a thread");
        else
            started++;
    }
    (void)pthread_attr_destroy(&small);
    for (size_t i = 0; i < started; i++) {
        (void)pthread_join(d->crowd[i].thread, NULL);
        if (d->crowd[i].status < 0 && status == 0) {
            status = -1;
            memcpy(d->why, d->crowd[i].why, sizeof d->why);
        }
    }
    return status < 0 ? -1 : write_turns(d, path);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static int obey(driver *d, const char *line)
{
    char word[16], path[512];
    long number = 0, hold_us = 0;

    int found = sscanf(line, "%15s %ld %ld %511s", word, &number, &hold_us, path);
    if (found == 2 && strcmp(word, "pair") == 0)
        return pair(d, number);
    if (found == 1 && strcmp(word, "acquire") == 0)
        return acquire(d);
    if (found == 1 && strcmp(word, "release") == 0)
        return release(d);
    if (found == 1 && strcmp(word, "ping") == 0)
        return ping(d);
    if (found == 2 && strcmp(word, "crowd") == 0)
        return gather(d, number);
    if (found == 4 && strcmp(word, "contend") == 0)
        return contend(d, number, hold_us, path);
    errno = EINVAL;
    return usage_failed(d->why, "not a line of the contract");
}

int peer_serve(const peer_ways *ways, const peer_place *place)
{
    driver        d = { .ways = ways, .place = place };
    char          line[LINE_MAX_BYTES];
    struct rlimit open_files;

    if (getrlimit(RLIMIT_NOFILE, &open_files) == 0) {
        open_files.rlim_cur = open_files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &open_files);
    }
    if (ways->open(&d.client, place, d.why) < 0) {
        (void)fprintf(stderr, "%s\n", d.why);
        return 1;
    }
    (void)puts("ready");
    (void)fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (obey(&d, line) < 0)
            (void)printf("error %s\n", d.why);
        (void)fflush(stdout);
    }
    send_home(&d);
    ways->close(d.client);
    return 0;
}

peer_place peer_place_of(int argc, char **argv)
{
    if (argc < 4) {
        (void)fputs("usage: see bench/peers/README.md\n", stderr);
        exit(2);
    }
    return (peer_place){
        .host = argv[argc - 3],
        .port = (int)strtol(argv[argc - 2], NULL, 10),
        .name = argv[argc - 1],
    };
}
