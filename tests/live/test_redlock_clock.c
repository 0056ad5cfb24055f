/*
 * test_redlock_clock.c -- a lock on the majority of five real servers, two of which have a clock
 * that jumps ahead while the lock is held.
 *
 * Redis stores an expiry as a time of its wall clock, so the jump expires the keys on these two at
 * once. The other three are still a majority: no other client acquires the lock, and the two get
 * the key again. The witness detects two holders: each holder also takes an flock(2).
 */
#include "tests/lib/clock_shim.h"
#include "tests/lib/judged.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SERVERS = 5, MOVED = 2, LEASE_MS = 1500, URL_MAX = 400 };
#define MINUTE_US 60000000LL

static server        *servers[SERVERS]; /* the clock of the first two is set */
static clock_setting *setting;
static witness       *judge;
static char           url[URL_MAX];

static void set_ahead(long long offset_us)
{
    __atomic_store_n(&setting->offset_us, offset_us, __ATOMIC_SEQ_CST);
}

/* Starts two servers that read their clock from the setting, which is 0 at first. */
static void start_moved(void)
{
    char        path[]    = "/tmp/bowline-clock-XXXXXX";
    int         fd        = mkstemp(path);
    const char *shim      = getenv("BOWLINE_CLOCK_SHIM");
    const char *preload   = getenv("LD_PRELOAD");
    char        kept[400] = "";

    assert_non_null(shim);
    if (preload != NULL)
        (void)snprintf(kept, sizeof kept, "%s", preload);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof *setting), 0);
    setting = mmap(NULL, sizeof *setting, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(setting != MAP_FAILED);
    (void)close(fd);
    assert_int_equal(setenv("LD_PRELOAD", shim, 1), 0);
    assert_int_equal(setenv("BOWLINE_CLOCK_FILE", path, 1), 0);
    for (unsigned i = 0; i < MOVED; i++)
        servers[i] = server_start(NULL);
    (void)unsetenv("BOWLINE_CLOCK_FILE");
    if (preload != NULL)
        assert_int_equal(setenv("LD_PRELOAD", kept, 1), 0);
    else
        (void)unsetenv("LD_PRELOAD");
    (void)unlink(path); /* the servers have mapped it */
}

static int begin(void **state)
{
    size_t size = (size_t)snprintf(url, sizeof url, "redlock://");

    start_moved();
    for (unsigned i = 0; i < SERVERS; i++) {
        if (servers[i] == NULL)
            servers[i] = server_start(NULL);
        size += (size_t)snprintf(url + size, sizeof url - size, "%s%s", i == 0 ? "" : ",",
                                 servers[i]->tcp_url + sizeof "redis://" - 1);
    }
    (void)snprintf(url + size, sizeof url - size, "?lease=%dms&restart-wait=off", LEASE_MS);
    judge = witness_new();
    return 0;
}

static int end(void **state)
{
    for (unsigned i = 0; i < SERVERS; i++) {
        server_stop(servers[i]);
        servers[i] = NULL;
    }
    (void)munmap(setting, sizeof *setting);
    judge_dismiss(judge);
    return 0;
}

static long long time_of(server *s)
{
    return atoll(server_ask(s, "TIME"));
}

/* Waits until the moved servers see it: Valkey 9.1 reads the clock once in a millisecond. */
static void await_ahead(int64_t ahead_s)
{
    for (int64_t last = clock_ms() + 10000; clock_ms() < last; sleep_ms(1)) {
        unsigned ahead = 0;
        for (unsigned i = 0; i < MOVED; i++)
            ahead += time_of(servers[i]) > time_of(servers[SERVERS - 1]) + ahead_s - 10;
        if (ahead == MOVED)
            return;
    }
    fail_msg("the servers do not see the new time");
}

/* Waits until so many servers have the token of the last one. False: the lock was lost, because the
 * machine was too slow. */
static bool have_the_key(unsigned count, bowline_hold *hold)
{
    char token[64] = "(nil)";

    for (int64_t last = clock_ms() + 10000; clock_ms() < last; sleep_ms(2)) {
        unsigned have = 0;
        if (strcmp(token, "(nil)") == 0)
            (void)snprintf(token, sizeof token, "%s",
                           server_ask(servers[SERVERS - 1], "GET bowline:{x}"));
        for (unsigned i = 0; i < count; i++)
            have += strcmp(server_ask(servers[i], "GET bowline:{x}"), token) == 0;
        if (bowline_hold_left_ms(hold) == 0)
            return false;
        if (have == count && strcmp(token, "(nil)") != 0)
            return true;
    }
    fail_msg("not all servers have the key");
    return false;
}

FIXTURE(begin, end)

/* The keys on two servers expire at once, and the rival tries all the time. */
TEST(redlock_is_kept_when_two_server_clocks_jump)
{
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = NULL;
    bool            kept;

    for (int round = 1;; round++) {
        acquire_in_the_end(&hold, client, "x");
        kept           = have_the_key(SERVERS, hold);
        lock_holder *b = holder_start(judge, hold);
        rival       *r = rival_start(judge, url, "x");
        set_ahead(round * MINUTE_US);
        await_ahead((int64_t)round * 60);
        kept           = kept && have_the_key(MOVED, hold);
        unsigned holds = rival_hold_count(r);
        kept           = kept && bowline_hold_left_ms(hold) > 0;
        assert_true(!kept || holds == 0);
        assert_true(holder_stop(b) > 0 || !kept);
        kept = keeps_in_round(kept, bowline_release(hold, NULL), round);
        assert_true(rival_await_hold(r));
        rival_stop(r);
        if (kept)
            break;
    }
    bowline_close(client);
    assert_one_at_a_time(judge);
}
