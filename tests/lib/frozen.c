/*
 * frozen.c -- see frozen.h, and clock_shim.c for how it is done: a clock that goes too slow by all
 * of a million millionths.  It still goes round within its millisecond, which nobody reads.
 */
#include "tests/lib/frozen.h"
#include "tests/lib/clock_shim.h"
#include "tests/lib/testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { US_PER_MS = 1000, STANDS_STILL = -1000000 };

static clock_setting *setting;

static void begin(int64_t now_ms)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    setting->since_us     = (long long)t.tv_sec * 1000000;
    setting->too_fast_ppm = STANDS_STILL;
    frozen_set(now_ms);
}

void frozen_set(int64_t now_ms)
{
    __atomic_store_n(&setting->offset_us, now_ms * US_PER_MS - setting->since_us, __ATOMIC_SEQ_CST);
}

server *frozen_start(const char *options, int64_t now_ms)
{
    char        path[]    = "/tmp/bowline-clock-XXXXXX";
    int         fd        = mkstemp(path);
    const char *shim      = getenv("BOWLINE_CLOCK_SHIM");
    const char *preload   = getenv("LD_PRELOAD");
    char        kept[400] = "";
    server     *s;

    assert_non_null(shim);
    assert_null(setting);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof *setting), 0);
    setting = mmap(NULL, sizeof *setting, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(setting != MAP_FAILED);
    (void)close(fd);
    begin(now_ms);
    if (preload != NULL)
        (void)snprintf(kept, sizeof kept, "%s", preload);
    assert_int_equal(setenv("LD_PRELOAD", shim, 1), 0);
    assert_int_equal(setenv("BOWLINE_CLOCK_FILE", path, 1), 0);
    s = server_start(options);
    (void)unlink(path); /* the server has it in memory */
    (void)unsetenv("BOWLINE_CLOCK_FILE");
    if (preload != NULL)
        assert_int_equal(setenv("LD_PRELOAD", kept, 1), 0);
    else
        (void)unsetenv("LD_PRELOAD");
    return s;
}

void frozen_stop(server *s)
{
    server_stop(s);
    if (setting != NULL)
        (void)munmap(setting, sizeof *setting);
    setting = NULL;
}
