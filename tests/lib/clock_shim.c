/*
 * clock_shim.c -- a wall clock that the test sets, for a server: loaded before the C library
 * (LD_PRELOAD), it replaces gettimeofday, time and clock_gettime(CLOCK_REALTIME).
 *
 * The setting is in a file that the test and the server both map: the offset of the clock, and by
 * how many millionths it runs too fast, from some time on.  The path is in BOWLINE_CLOCK_FILE.  The
 * other clocks are unchanged: a server's timers use those.
 */
#include "tests/lib/clock_shim.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static clock_setting *setting;
static int            looked_for;

/* Called for the first time perhaps before main: so it calls nothing that may read the clock or
 * allocate memory. */
static const clock_setting *find_setting(void)
{
    if (looked_for)
        return setting;
    looked_for       = 1;
    const char *path = getenv("BOWLINE_CLOCK_FILE");
    if (path == NULL)
        return NULL;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    void *at = mmap(NULL, sizeof *setting, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (at != MAP_FAILED)
        setting = at;
    return setting;
}

static long long now_us(void)
{
    const clock_setting *s      = find_setting();
    struct timespec      t      = { 0 };
    long long            stands = s != NULL ? __atomic_load_n(&s->stands_us, __ATOMIC_ACQUIRE) : 0;

    if (stands != 0)
        return stands;
    (void)syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
    long long us = (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
    if (s == NULL)
        return us;
    long long since = us - __atomic_load_n(&s->since_us, __ATOMIC_ACQUIRE);
    us += __atomic_load_n(&s->offset_us, __ATOMIC_ACQUIRE);
    return us + since / 1000 * __atomic_load_n(&s->too_fast_ppm, __ATOMIC_ACQUIRE) / 1000;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict t,
                                                        void *restrict zone)
{
    long long us = now_us();

    (void)zone;
    *t = (struct timeval){ .tv_sec = us / 1000000, .tv_usec = us % 1000000 };
    return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *ret_time)
{
    time_t seconds = (time_t)(now_us() / 1000000);

    if (ret_time != NULL)
        *ret_time = seconds;
    return seconds;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
        return (int)syscall(SYS_clock_gettime, clock, t);
    long long us = now_us();
    *t           = (struct timespec){ .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };
    return 0;
}
