/*
 * frozen.c -- see frozen.h, and clock_shim.c.
 */
#include "tests/lib/frozen.h"
#include "tests/lib/clock_shim.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { US_PER_MS = 1000, MS_PER_S = 1000, PATIENCE_MS = 20000 };

static clock_setting *setting;
static server        *frozen;

void frozen_set(int64_t now_ms)
{
    __atomic_store_n(&setting->stands_us, now_ms * US_PER_MS, __ATOMIC_SEQ_CST);
}

void frozen_await(server *s)
{
    int64_t   now_ms = __atomic_load_n(&setting->stands_us, __ATOMIC_SEQ_CST) / US_PER_MS;
    long long seconds, us;

    for (int64_t end = clock_ms() + PATIENCE_MS; clock_ms() < end;)
        if (sscanf(server_ask(s, "TIME"), "%lld %lld", &seconds, &us) == 2 &&
            seconds * MS_PER_S + us / US_PER_MS == now_ms)
            return;
    fail_msg("the server does not see the new time");
}

server *frozen_start(int64_t now_ms)
{
    char        path[] = "/tmp/bowline-clock-XXXXXX";
    int         fd;
    const char *shim      = getenv("BOWLINE_CLOCK_SHIM");
    const char *preload   = getenv("LD_PRELOAD");
    char        kept[400] = "";

    server_needed();
    fd = mkstemp(path);
    assert_non_null(shim);
    assert_null(setting);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof *setting), 0);
    setting = mmap(NULL, sizeof *setting, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(setting != MAP_FAILED);
    (void)close(fd);
    frozen_set(now_ms);
    if (preload != NULL)
        (void)snprintf(kept, sizeof kept, "%s", preload);
    assert_int_equal(setenv("LD_PRELOAD", shim, 1), 0);
    assert_int_equal(setenv("BOWLINE_CLOCK_FILE", path, 1), 0);
    /* The allocator's thread waits on a stopped clock, so it would never wait. */
    frozen = server_start(server_is_new() ? "--enable-debug-command yes --jemalloc-bg-thread no"
                                          : "--jemalloc-bg-thread no");
    /* Redis 8 deletes expired keys a millisecond before it would hide them. */
    assert_string_equal(server_ask(frozen, "DEBUG SET-ACTIVE-EXPIRE 0"), "OK");
    (void)unlink(path); /* the server has it in memory */
    (void)unsetenv("BOWLINE_CLOCK_FILE");
    if (preload != NULL)
        assert_int_equal(setenv("LD_PRELOAD", kept, 1), 0);
    else
        (void)unsetenv("LD_PRELOAD");
    return frozen;
}

int frozen_stop(void **state)
{
    server_stop(frozen);
    if (setting != NULL)
        (void)munmap(setting, sizeof *setting);
    setting = NULL;
    return 0;
}
