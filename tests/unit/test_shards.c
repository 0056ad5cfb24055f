/*
 * test_shards.c -- which connection a call uses.
 *
 * No test connects: a shard is busy or idle by the calls that have entered it.  The last case is a
 * call that opens a connection; its store is a fake that refuses.
 */
#include "api/handles.h"
#include "api/engines.h"
#include "base/clock.h"
#include "protocol/store/redis.h"
#include "runtime/shards.h"
#include "tests/lib/suite.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"

#include <stdio.h>
#include <stdlib.h>

static bwl_shards lanes;

static bwl_shard *client_of_url(const char *url, bool keeps)
{
    bwl_shard   *client = NULL;
    bwl_settings asked  = { .keeps = keeps };
    bwl_fault    fault  = { 0 };

    int status = bwl_shard_open(&client, bwl_engines, &asked, false, url, &fault);
    assert_int_equal(status, BWL_OK);
    return client;
}

static bwl_shard *open_lanes(const char *url, bool keeps)
{
    bwl_shard *first = client_of_url(url, keeps);

    bwl_shards_init(&lanes, first);
    return first;
}

static bwl_shard *lane(unsigned place)
{
    return atomic_load(&lanes.shards[place]);
}

TEST(lanes_every_call_gets_one_of_its_own_while_there_are)
{
    bwl_shard *in[BWL_SHARDS_MAX];

    (void)open_lanes("redis://127.0.0.1:1", true);
    for (unsigned i = 0; i < BWL_SHARDS_MAX; i++) {
        in[i] = bwl_shards_enter(&lanes);
        assert_ptr_equal(in[i], lane(i));
        for (unsigned j = 0; j < i; j++)
            assert_ptr_not_equal(in[i], in[j]);
    }
    bwl_shard_leave(in[2]); /* the one that is empty is taken before any is shared */
    assert_ptr_equal(bwl_shards_enter(&lanes), in[2]);
    for (unsigned i = 0; i < BWL_SHARDS_MAX; i++)
        bwl_shard_leave(in[i]);
    bwl_shards_close(&lanes);
}

TEST(lanes_are_shared_two_and_two_when_all_are_busy)
{
    enum { CALLS = 16 };

    (void)open_lanes("redis://127.0.0.1:1", true);
    for (unsigned i = 0; i < CALLS; i++)
        (void)bwl_shards_enter(&lanes);
    assert_int_equal(atomic_load(&lane(0)->callers), 7);
    assert_int_equal(atomic_load(&lane(1)->callers), 7);
    assert_int_equal(atomic_load(&lane(2)->callers), 1);
    assert_int_equal(atomic_load(&lane(3)->callers), 1);
    bwl_shards_close(&lanes);
}

TEST(lanes_a_call_about_a_lock_makes_its_lane_busy)
{
    bwl_shard *first = open_lanes("redis://127.0.0.1:1", true);

    bwl_shard_enter(first);
    bwl_shard *second = bwl_shards_enter(&lanes);
    assert_ptr_not_equal(second, first);
    bwl_shard_leave(first);
    assert_ptr_equal(bwl_shards_enter(&lanes), first);
    bwl_shards_close(&lanes);
}

TEST(lanes_who_want_a_name_meet_while_it_is_in_use)
{
    bwl_shard   *first  = open_lanes("redis://127.0.0.1:1", true);
    atomic_uint *met[3] = { NULL };
    atomic_uint *other  = NULL;

    bwl_shard_enter(first);
    bwl_shard *second = bwl_shards_enter_for(&lanes, "x", &met[0]);
    assert_ptr_equal(second, lane(1));
    bwl_shard_leave(first); /* empty as it is: */
    assert_ptr_equal(bwl_shards_enter_for(&lanes, "x", &met[1]), second);
    assert_ptr_equal(bwl_shards_enter_for(&lanes, "y", &other), first);
    assert_ptr_equal(met[0], met[1]);
    assert_ptr_not_equal(met[0], other);
    assert_int_equal(atomic_load(&second->callers), 2);
    bwl_name_unpin(met[0]);
    bwl_shard_leave(first);
    assert_ptr_equal(bwl_shards_enter_for(&lanes, "x", &met[2]), second);
    bwl_name_pin_move_to_first(met[2]); /* that lane is of no use */
    assert_ptr_equal(bwl_shards_enter_for(&lanes, "x", &met[0]), first);
    for (int i = 0; i < 3; i++)
        bwl_name_unpin(met[i]);
    bwl_name_unpin(NULL);
    bwl_name_pin_move_to_first(NULL);
    assert_int_equal(atomic_load(met[0]) >> 8, 0);
    bwl_shards_close(&lanes);
}

TEST(lanes_an_event_loop_has_the_first_and_no_other)
{
    bwl_shard *first = open_lanes("redis://127.0.0.1:1", true);

    assert_ptr_equal(bwl_shards_enter(&lanes), first);
    assert_ptr_not_equal(bwl_shards_enter(&lanes), first);
    bwl_shards_use_first_only(&lanes);
    for (unsigned i = 0; i < 3; i++)
        assert_ptr_equal(bwl_shards_enter(&lanes), first);
    assert_null(lane(2));
    bwl_shards_close(&lanes);
}

/* Who has no keeper drives by being inside a call: of every lock that he has. */
TEST(lanes_without_a_keeper_there_is_one)
{
    bwl_shard *first = open_lanes("redis://127.0.0.1:1", false);

    assert_ptr_equal(bwl_shards_enter(&lanes), first);
    assert_ptr_equal(bwl_shards_enter(&lanes), first);
    bwl_shards_close(&lanes);
}

/* A server that lets us have no more connections: those that work are shared. */
TEST(lanes_one_that_cannot_connect_is_left_alone)
{
    bwl_shard *first = open_lanes("redis://127.0.0.1:1", true);

    assert_ptr_equal(bwl_shards_enter(&lanes), first);
    bwl_shard *second = bwl_shards_enter(&lanes);
    bwl_shard_leave(second);
    bwl_shards_use_first_only(&lanes);
    atomic_store(&lanes.usable, 2);
    atomic_store(&second->unhealthy_until, bwl_clock_now() + 60000);
    assert_ptr_equal(bwl_shards_enter(&lanes), first);
    assert_ptr_equal(bwl_shards_enter(&lanes), first);
    atomic_store(&second->unhealthy_until, 0);
    assert_ptr_equal(bwl_shards_enter(&lanes), second);
    bwl_shards_close(&lanes);
}

TEST(lanes_are_opened_as_the_first_was)
{
    bwl_shard *first = open_lanes("redis://127.0.0.1:1?lease=7s&timeout=2s&key=x:%25s", true);

    (void)snprintf(first->host.program, sizeof first->host.program, "backup");
    (void)bwl_shards_enter(&lanes);
    bwl_shard *second = bwl_shards_enter(&lanes);
    assert_ptr_equal(second->host.engine, first->host.engine);
    assert_int_equal(second->host.settings.lease_ms, 7000);
    assert_int_equal(second->host.settings.answer_ms, 2000);
    assert_string_equal(second->host.program, "backup");
    bwl_shards_close(&lanes);
}

/* ---- in a lane that is opened for the call --------------------------------------------------- */

enum { WORDS_MAX = 8 };

static unsigned asked;
static unsigned words[WORDS_MAX]; /* the first ones that were asked */
static unsigned connects;         /* how often the engine was to connect */
static bool     can_connect;

static int share_nothing(bwl_host *host, const bwl_host *first)
{
    (void)first;
    host->store = malloc(1);
    return host->store != NULL ? BWL_OK : BWL_STATUS_NOMEM;
}

static int prepare_nothing(bwl_engine_lock *lock, bwl_fault *fault)
{
    (void)lock;
    (void)fault;
    return BWL_OK;
}

static void forget_nothing(bwl_engine_lock *lock)
{
    (void)lock;
}

/* An answer connects the shard, if it is not connected yet: as a server's would. */
static bool say_no(bwl_engine_lock *lock, const bwl_send *ask, bwl_event *ret_reply)
{
    if (asked < WORDS_MAX)
        words[asked] = ask->command;
    asked++;
    bwl_host_connected(lock->host, true);
    ret_reply->answer = ask->command == REDIS_QUEUE_JOIN ? BWL_REFUSED : BWL_NO;
    return true;
}

static bool connect_or_fail(bwl_host *host)
{
    connects++;
    bwl_host_connected(host, can_connect);
    return can_connect;
}

/* One acquire while somebody is in the first shard, with a server at which the name is held. */
static int acquire_beside_a_call(const bwl_protocol *protocol, int64_t wait_ms, bool *ret_is_open)
{
    bowline_client *one  = NULL;
    bowline_hold   *hold = NULL;

    assert_int_equal(bowline_open(&one, BOWLINE_OPTIONS(.url = "thread:"), NULL), BOWLINE_OK);
    bwl_shard *inner           = one->first;
    bwl_engine engine          = *inner->host.engine;
    asked                      = 0;
    connects                   = 0;
    engine.protocol            = protocol;
    engine.has_lease           = true;
    engine.share               = share_nothing;
    engine.connect             = connect_or_fail;
    engine.prepare             = prepare_nothing;
    engine.send                = say_no;
    engine.forget              = forget_nothing;
    inner->host.engine         = &engine;
    inner->host.settings.keeps = true;
    atomic_store(&one->shards.usable, 2);
    bwl_shard_enter(inner);
    int status = bowline_acquire(&hold, one, "n", BOWLINE_ACQUIRE(.wait_ms = wait_ms), NULL);
    bwl_shard_leave(inner);
    *ret_is_open = bwl_shard_at(one, 1) != NULL && atomic_load(&bwl_shard_at(one, 1)->is_connected);
    bowline_close(one); /* before its engine is gone */
    return status;
}

TEST(lanes_acquire_without_waiting_asks_once_in_a_new_lane)
{
    bool is_open;

    can_connect = true;
    assert_int_equal(acquire_beside_a_call(&bwl_token, BOWLINE_NO_WAIT, &is_open), BOWLINE_BUSY);
    assert_true(is_open);
    assert_int_equal(connects, 1);
    assert_int_equal(asked, 1);
}

/* To try first, and to join the queue afterwards, would let others go before. */
TEST(lanes_acquire_that_waits_joins_the_queue_with_its_first_command)
{
    bool is_open;

    can_connect = true;
    assert_int_equal(acquire_beside_a_call(&bwl_queue, 20000, &is_open), BOWLINE_REFUSED);
    assert_true(is_open);
    assert_int_equal(asked, 1);
    assert_int_equal(words[0], REDIS_QUEUE_JOIN);
}

TEST(lanes_acquire_goes_to_the_first_lane_when_a_new_one_cannot_connect)
{
    bool is_open;

    can_connect = false;
    assert_int_equal(acquire_beside_a_call(&bwl_token, BOWLINE_NO_WAIT, &is_open), BOWLINE_BUSY);
    assert_false(is_open);
    assert_int_equal(connects, 1);
    assert_int_equal(asked, 1);
}
