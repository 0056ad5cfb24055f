/*
 * test_sync_sentinel.c -- sync=K of a service with sentinels: its primary is killed in the middle
 * of everything, and what was told to somebody is known to the one that takes its place.
 *
 * There is one replica, so nobody has the lock anew before the old primary is back and follows.
 */
#include "tests/lib/judged.h"
#include "tests/lib/sentinels.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>

enum { RIVALS = 4, TURNS = 5 };

static service *there;
static witness *judge;
static char     url[320];

static int begin(void **state)
{
    server_needed();
    there = service_start(2, NULL);
    judge = witness_new();
    (void)snprintf(url, sizeof url, "%s?lease=3s&timeout=1s&sync=1", there->url);
    return 0;
}

static int end(void **state)
{
    service_stop(there);
    judge_dismiss(judge);
    there = NULL;
    judge = NULL;
    return 0;
}

static void all_have_turns(rival *const rivals[RIVALS])
{
    for (unsigned i = 0; i < RIVALS; i++)
        for (unsigned turn = 0; turn < TURNS; turn++)
            assert_true(rival_await_hold(rivals[i]));
}

FIXTURE(begin, end)

/* The line stands still until the killed one is back, and goes on then. */
TEST(one_at_a_time_when_the_primary_is_killed)
{
    rival *rivals[RIVALS];

    for (unsigned i = 0; i < RIVALS; i++)
        rivals[i] = rival_start_queued(judge, url, "x");
    all_have_turns(rivals);
    server_kill(there->nodes[0]);
    server *now = service_primary(there, there->nodes[0]);
    server_start_again(there->nodes[0]);
    service_settles(there, now);
    all_have_turns(rivals);
    for (unsigned i = 0; i < RIVALS; i++)
        rival_stop(rivals[i]);
    assert_one_at_a_time(judge);
}
