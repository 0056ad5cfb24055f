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
#include "tests/lib/suite.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"

#include <stdio.h>
#include <stdlib.h>

static bwl_client *client;

static bwl_shard *open_shards(const char *url, bool keeps)
{
    bwl_settings asked = { .keeps = keeps };
    bwl_fault    fault = { 0 };

    int status = bwl_client_open(&client, bwl_engines, &asked, false, url, NULL, &fault);
    assert_int_equal(status, BWL_OK);
    return client->first;
}

static bwl_shard *shard_at(unsigned place)
{
    return atomic_load(&client->shards[place]);
}

TEST(shards_are_given_to_one_call_each_while_any_is_idle)
{
    bwl_shard *in[BWL_SHARDS_MAX];

    (void)open_shards("redis://127.0.0.1:1", true);
    for (unsigned i = 0; i < BWL_SHARDS_MAX; i++) {
        in[i] = bwl_shards_enter(client);
        assert_ptr_equal(in[i], shard_at(i));
        for (unsigned j = 0; j < i; j++)
            assert_ptr_not_equal(in[i], in[j]);
    }
    bwl_shard_leave(in[2]); /* an idle shard is taken before any is shared */
    assert_ptr_equal(bwl_shards_enter(client), in[2]);
    for (unsigned i = 0; i < BWL_SHARDS_MAX; i++)
        bwl_shard_leave(in[i]);
    bwl_client_close(client);
}

TEST(shards_are_shared_when_all_are_busy)
{
    enum { CALLS = 16 };

    (void)open_shards("redis://127.0.0.1:1", true);
    for (unsigned i = 0; i < CALLS; i++)
        (void)bwl_shards_enter(client);
    assert_int_equal(atomic_load(&shard_at(0)->callers), 7);
    assert_int_equal(atomic_load(&shard_at(1)->callers), 7);
    assert_int_equal(atomic_load(&shard_at(2)->callers), 1);
    assert_int_equal(atomic_load(&shard_at(3)->callers), 1);
    bwl_client_close(client);
}

TEST(shard_is_busy_during_a_call_about_a_lock)
{
    bwl_shard *first = open_shards("redis://127.0.0.1:1", true);

    bwl_shard_enter(first);
    bwl_shard *second = bwl_shards_enter(client);
    assert_ptr_not_equal(second, first);
    bwl_shard_leave(first);
    assert_ptr_equal(bwl_shards_enter(client), first);
    bwl_client_close(client);
}

TEST(shard_is_the_same_for_a_name_in_use)
{
    bwl_shard   *first   = open_shards("redis://127.0.0.1:1", true);
    atomic_uint *pins[3] = { NULL };
    atomic_uint *other   = NULL;

    bwl_shard_enter(first);
    bwl_shard *second = bwl_shards_enter_for(client, "x", &pins[0]);
    assert_ptr_equal(second, shard_at(1));
    bwl_shard_leave(first); /* although it is idle: */
    assert_ptr_equal(bwl_shards_enter_for(client, "x", &pins[1]), second);
    assert_ptr_equal(bwl_shards_enter_for(client, "y", &other), first);
    assert_ptr_equal(pins[0], pins[1]);
    assert_ptr_not_equal(pins[0], other);
    assert_int_equal(atomic_load(&second->callers), 2);
    bwl_name_unpin(pins[0]);
    bwl_shard_leave(first);
    assert_ptr_equal(bwl_shards_enter_for(client, "x", &pins[2]), second);
    bwl_name_pin_move_to_first(pins[2]); /* the name moves to the first shard */
    assert_ptr_equal(bwl_shards_enter_for(client, "x", &pins[0]), first);
    for (int i = 0; i < 3; i++)
        bwl_name_unpin(pins[i]);
    bwl_name_unpin(NULL);
    bwl_name_pin_move_to_first(NULL);
    assert_int_equal(atomic_load(pins[0]) >> 8, 0);
    bwl_client_close(client);
}

TEST(shard_of_an_event_loop_is_the_first_one)
{
    bwl_shard *first = open_shards("redis://127.0.0.1:1", true);

    assert_ptr_equal(bwl_shards_enter(client), first);
    assert_ptr_not_equal(bwl_shards_enter(client), first);
    bwl_shards_use_first_only(client);
    for (unsigned i = 0; i < 3; i++)
        assert_ptr_equal(bwl_shards_enter(client), first);
    assert_null(shard_at(2));
    bwl_client_close(client);
}

/* Without a renewal thread, a caller runs the loop for all locks of the client. */
TEST(shard_is_the_only_one_without_a_renewal_thread)
{
    bwl_shard *first = open_shards("redis://127.0.0.1:1", false);

    assert_ptr_equal(bwl_shards_enter(client), first);
    assert_ptr_equal(bwl_shards_enter(client), first);
    bwl_client_close(client);
}

/* The server accepts no more connections: the working ones are shared. */
TEST(shard_that_cannot_connect_is_not_used)
{
    bwl_shard *first = open_shards("redis://127.0.0.1:1", true);

    assert_ptr_equal(bwl_shards_enter(client), first);
    bwl_shard *second = bwl_shards_enter(client);
    bwl_shard_leave(second);
    bwl_shards_use_first_only(client);
    atomic_store(&client->usable, 2);
    atomic_store(&second->unhealthy_until, bwl_clock_now() + 60000);
    assert_ptr_equal(bwl_shards_enter(client), first);
    assert_ptr_equal(bwl_shards_enter(client), first);
    atomic_store(&second->unhealthy_until, 0);
    assert_ptr_equal(bwl_shards_enter(client), second);
    bwl_client_close(client);
}

TEST(shards_are_opened_like_the_first)
{
    bwl_shard *first = open_shards("redis://127.0.0.1:1?lease=7s&timeout=2s&key=x:%25s", true);

    (void)snprintf(first->host.program, sizeof first->host.program, "backup");
    (void)bwl_shards_enter(client);
    bwl_shard *second = bwl_shards_enter(client);
    assert_ptr_equal(second->host.engine, first->host.engine);
    assert_int_equal(second->host.settings.lease_ms, 7000);
    assert_int_equal(second->host.settings.answer_ms, 2000);
    assert_string_equal(second->host.program, "backup");
    bwl_client_close(client);
}

/* ---- in a shard that is opened for the call -------------------------------------------------- */

enum { COMMANDS_MAX = 8 };

static unsigned command_count;
static unsigned commands[COMMANDS_MAX]; /* the first commands */
static unsigned connects;               /* how often the engine was to connect */
static bool     can_connect;
static bool     never_connects; /* nor fails */

static int share_nothing(bwl_host *host, const bwl_host *first)
{
    host->store = malloc(1);
    return host->store != NULL ? BWL_OK : BWL_STATUS_NOMEM;
}

static int prepare_nothing(bwl_engine_lock *lock, bwl_fault *fault)
{
    return BWL_OK;
}

static void forget_nothing(bwl_engine_lock *lock)
{
}

/* An answer connects the shard if it is not connected yet, as that of a server would. */
static bool reply_no(bwl_engine_lock *lock, const bwl_send *ask, bwl_event *ret_reply)
{
    if (command_count < COMMANDS_MAX)
        commands[command_count] = ask->command;
    command_count++;
    bwl_host_connected(lock->host, true);
    ret_reply->answer = ask->command == REDIS_QUEUE_JOIN ? BWL_REFUSED : BWL_NO;
    return true;
}

static bool connect_or_fail(bwl_host *host)
{
    connects++;
    if (never_connects)
        return true;
    bwl_host_connected(host, can_connect);
    return can_connect;
}

/* One acquire while another call is in the first shard, with a server on which the name is held. */
static int acquire_beside_a_call(const bwl_protocol *protocol, int64_t wait_ms, bool *ret_is_open)
{
    bowline_client *one  = NULL;
    bowline_hold   *hold = NULL;

    assert_int_equal(bowline_open(&one, BOWLINE_OPTIONS(.url = "thread:"), NULL), BOWLINE_OK);
    bwl_shard *inner           = one->first;
    bwl_engine engine          = *inner->host.engine;
    command_count              = 0;
    connects                   = 0;
    engine.protocol            = protocol;
    engine.has_lease           = true;
    engine.share               = share_nothing;
    engine.connect             = connect_or_fail;
    engine.prepare             = prepare_nothing;
    engine.send                = reply_no;
    engine.forget              = forget_nothing;
    inner->host.engine         = &engine;
    inner->host.settings.keeps = true;
    if (never_connects)
        inner->host.settings.answer_ms = 20;
    atomic_store(&one->usable, 2);
    bwl_shard_enter(inner);
    int status = bowline_acquire(&hold, one, "n", BOWLINE_ACQUIRE(.wait_ms = wait_ms), NULL);
    bwl_shard_leave(inner);
    *ret_is_open = bwl_shard_at(one, 1) != NULL && atomic_load(&bwl_shard_at(one, 1)->is_connected);
    bowline_close(one); /* before its engine is gone */
    return status;
}

TEST(acquire_sends_one_command_in_a_new_shard_or_without_it_in_the_first)
{
    static const struct {
        const bwl_protocol *protocol;
        int64_t             wait_ms;
        bool                can_connect;
        int                 status;
    } rows[] = {
        { &bwl_token, BOWLINE_NO_WAIT, true, BOWLINE_BUSY },
        { &bwl_token, BOWLINE_NO_WAIT, false, BOWLINE_BUSY },
        /* If it tried first and joined afterwards, other waiters would come before it. */
        { &bwl_queue, 20000, true, BOWLINE_REFUSED },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bool is_open;
        can_connect = rows[i].can_connect;
        assert_int_equal(acquire_beside_a_call(rows[i].protocol, rows[i].wait_ms, &is_open),
                         rows[i].status);
        assert_int_equal(is_open, can_connect);
        assert_int_equal(connects, 1);
        assert_int_equal(command_count, 1);
        assert_int_equal(commands[0] == REDIS_QUEUE_JOIN, rows[i].protocol == &bwl_queue);
    }
}

TEST(acquire_whose_wait_ends_while_a_new_shard_connects_is_TIMEOUT)
{
    bool is_open;

    never_connects = true;
    int waited     = acquire_beside_a_call(&bwl_token, 5, &is_open);
    int tried      = acquire_beside_a_call(&bwl_token, BOWLINE_NO_WAIT, &is_open);
    never_connects = false;
    assert_int_equal(waited, BOWLINE_TIMEOUT);
    assert_int_equal(tried, BOWLINE_BUSY);
    assert_int_equal(command_count, 1);
}

/* ---- the end of a client --------------------------------------------------------------------- */

static unsigned goodbyes;
static unsigned goodbyes_before_close; /* the first one */
static void (*close_store)(bwl_host *host);

static bool count_goodbye(bwl_host *host, bwl_ms wait_ms)
{
    goodbyes += host->closing && wait_ms == 0 ? 1 : 0;
    return false;
}

static void close_counted(bwl_host *host)
{
    if (goodbyes_before_close == 0)
        goodbyes_before_close = goodbyes;
    close_store(host);
}

enum { TURNS = 3, LINGERERS = 3 };

static bwl_host *lingered[TURNS * LINGERERS];
static unsigned  lingered_count;

/* Each shard has something left for some turns. */
static bool flush_in_turns(bwl_host *host, bwl_ms wait_ms)
{
    unsigned before = 0;

    if (wait_ms == 0)
        return true; /* it begins to close */

    for (unsigned i = 0; i < lingered_count; i++)
        before += lingered[i] == host;
    if (lingered_count == TURNS * LINGERERS)
        return false;
    lingered[lingered_count++] = host;
    return before + 1 < TURNS;
}

/* A server that takes nothing costs the others no time. */
TEST(shards_send_the_last_releases_in_turns)
{
    bwl_shard *first   = open_shards("thread:", true);
    bwl_engine engine  = *first->host.engine;
    lingered_count     = 0;
    engine.share       = share_nothing;
    engine.flush       = flush_in_turns;
    first->host.engine = &engine;
    atomic_store(&client->usable, LINGERERS);
    for (unsigned i = 0; i < LINGERERS; i++)
        (void)bwl_shards_enter(client);
    assert_non_null(shard_at(LINGERERS - 1));
    bwl_client_close(client);
    assert_int_equal(lingered_count, TURNS * LINGERERS);
    for (unsigned i = LINGERERS; i < lingered_count; i++)
        assert_ptr_equal(lingered[i], lingered[i - LINGERERS]);
    assert_ptr_not_equal(lingered[0], lingered[1]);
    assert_ptr_not_equal(lingered[1], lingered[2]);
}

/* What a server has not taken at once is awaited afterwards. */
TEST(shards_begin_the_time_limit_of_a_close_together)
{
    bwl_shard *first      = open_shards("thread:", true);
    bwl_engine engine     = *first->host.engine;
    goodbyes              = 0;
    goodbyes_before_close = 0;
    close_store           = engine.close;
    engine.share          = share_nothing;
    engine.flush          = count_goodbye;
    engine.close          = close_counted;
    first->host.engine    = &engine;
    atomic_store(&client->usable, 3);
    for (unsigned i = 0; i < 3; i++)
        (void)bwl_shards_enter(client);
    assert_non_null(shard_at(2));
    bwl_client_close(client);
    assert_int_equal(goodbyes, 3);
    assert_int_equal(goodbyes_before_close, 3);
}
