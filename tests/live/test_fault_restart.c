/*
 * test_fault_restart.c -- a server that restarts with all data: the lock exists, but it is unknown
 * whether nothing was lost.  The holder is LOST first, then another client may acquire the lock.
 *
 * The simulator loses data in restarts.
 */
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

static bowline_hold *acquire_for(bowline_client *client, uint32_t lease_ms)
{
    bowline_hold *hold = NULL;
    int status = bowline_acquire(&hold, client, "x", BOWLINE_ACQUIRE(.lease_ms = lease_ms), NULL);

    assert_status(BOWLINE_OK, status, NULL);
    return hold;
}

TEST(restart_from_aof_loses_the_hold_before_another_client_acquires)
{
    bowline_hold   *next   = NULL;
    bowline_client *client = must_open(redis->tcp_url);
    bowline_client *other  = must_open(redis->tcp_url);
    bowline_hold   *hold   = acquire_for(client, 600000);

    server_restart(redis);
    must_end(hold);
    assert_status(BOWLINE_LOST, bowline_extend(hold, 0, NULL), NULL);
    assert_status(BOWLINE_BUSY, try_once(other, "x"), NULL); /* the caller has not released it */
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    /* LOST is returned at once: the key is deleted when the new connection is ready */
    assert_status(BOWLINE_OK, acquire_within(&next, other, "x", 20000, NULL), NULL);
    must_release(next);
    bowline_close(other);
    bowline_close(client);
}

/* The caller does not release the lock: its key is deleted when the time that the holder was
 * guaranteed is over. */
TEST(key_of_an_unreleased_lost_hold_is_deleted_after_its_guaranteed_time)
{
    bowline_hold   *next   = NULL;
    bowline_client *client = must_open_url("%s?lease=1h", redis->tcp_url);
    bowline_client *other  = must_open_url("%s?lease=1h", redis->tcp_url);
    bowline_hold   *hold   = acquire_for(client, 2000);
    int64_t         until  = clock_ms() + bowline_hold_left_ms(hold);

    server_restart(redis);
    must_end(hold);
    assert_status(BOWLINE_OK, acquire_within(&next, other, "x", 20000, NULL), NULL);
    assert_true(clock_ms() >= until);
    must_release(next);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    bowline_close(other);
    bowline_close(client);
}

static int own_server_starts(void **state)
{
    redis = server_start("--appendonly yes --appendfsync always");
    return 0;
}

AROUND(own_server_starts, stop_server)
