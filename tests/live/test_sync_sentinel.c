/*
 * test_sync_sentinel.c -- sync=K with sentinels: the primary is killed during handoffs, and each
 * hold that a client was granted exists on the new primary.
 *
 * There is one replica, so no lock is granted until the old primary is back as a replica.
 */
#include "tests/lib/judged.h"
#include "tests/lib/sentinels.h"
#include "tests/lib/suite.h"

#include <stdio.h>

enum { RIVALS = 4, VISITS = 5 };

static service *sentinel_service;
static witness *judge;
static char     url[320];

static int begin(void **state)
{
    server_needed();
    sentinel_service = service_start(2, NULL);
    judge            = witness_new();
    (void)snprintf(url, sizeof url, "%s?lease=3s&timeout=1s&sync=1", sentinel_service->url);
    return 0;
}

static int end(void **state)
{
    service_stop(sentinel_service);
    judge_dismiss(judge);
    sentinel_service = NULL;
    judge            = NULL;
    return 0;
}

static void wait_for_visits_of_all(rival *const rivals[RIVALS])
{
    for (unsigned i = 0; i < RIVALS; i++)
        for (unsigned visit = 0; visit < VISITS; visit++)
            assert_true(rival_await_hold(rivals[i]));
}

FIXTURE(begin, end)

/* The queue makes no progress until the killed node is back. */
TEST(sync_has_one_holder_when_the_primary_is_killed)
{
    rival *rivals[RIVALS];

    for (unsigned i = 0; i < RIVALS; i++)
        rivals[i] = rival_start_queued(judge, url, "x");
    wait_for_visits_of_all(rivals);
    server_kill(sentinel_service->nodes[0]);
    server *now = service_primary(sentinel_service, sentinel_service->nodes[0]);
    server_start_again(sentinel_service->nodes[0]);
    service_await_replicas(sentinel_service, now);
    wait_for_visits_of_all(rivals);
    for (unsigned i = 0; i < RIVALS; i++)
        rival_stop(rivals[i]);
    assert_one_at_a_time(judge);
}
