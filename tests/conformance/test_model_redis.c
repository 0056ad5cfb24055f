/*
 * test_model_redis.c -- the lab's model server compared with a real one: the same commands in the
 * same order, and every reply compared.
 *
 * Random sequences on three connections and four keys.  The real server's clock is stopped until
 * the sequence advances it, so remaining times are compared to the millisecond.
 */
#include "tests/lib/model_play.h"
#include "lab/base/dice.h"
#include "tests/conformance/model_mutants.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LENGTH_MAX    = 24,
    MEMBERS       = 4,
    CHANNELS      = 2,
    VALUES        = 5,
    EVENTS_ONE_IN = 300,
};

static bool forgets; /* the server restarts sometimes */

/* ---- randomness ------------------------------------------------------------------------------ */

static int64_t some_ms(void)
{
    static const int64_t some[] = { 1, 2, 10, 29, 30, 31, 499, 500, 999, 1000, 1001, 2000 };

    return some[below(COUNT_OF(some))];
}

/* ---- random sequences ------------------------------------------------------------------------ */

static int64_t some_value(void)
{
    return below(3) == 0 ? (int64_t)below(VALUES) : BWL_MODEL_TEXT + below(VALUES);
}

static uint8_t some_flags(void)
{
    static const uint8_t timed[] = { 0, 0, BWL_SET_PX, BWL_SET_PX, BWL_SET_EX, BWL_SET_PXAT };
    uint8_t              flags   = timed[below(sizeof timed)];

    if (below(2) == 0)
        flags |= below(3) == 0 ? BWL_SET_XX : BWL_SET_NX;
    if (below(4) == 0)
        flags |= BWL_SET_GET;
    if (flags < BWL_SET_EX && below(3) == 0)
        flags |= BWL_SET_KEEPTTL;
    return flags;
}

static int64_t time_for(const bwl_model_command *cmd)
{
    int64_t now_ms = play_model.now / BWL_MODEL_PER_MS;
    bool    is_at  = cmd->op == BWL_OP_PEXPIREAT || (cmd->flags & BWL_SET_PXAT) != 0;
    bool    is_s   = cmd->op == BWL_OP_EXPIRE || (cmd->flags & BWL_SET_EX) != 0;
    int64_t length = below(10) == 0 ? -(int64_t)below(2) : some_ms();

    if (is_s)
        length = (int64_t)below(4) - (below(10) == 0);
    return is_at ? now_ms + length : length;
}

static bool has_room(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++)
        count += play_model.data.items[i].is_there;
    for (unsigned i = 0; i < PLAY_CONNECTIONS; i++)
        count += play_model.connections[i].queue_count;
    return count < BWL_MODEL_ITEMS;
}

/* Makes transactions, and keys with an expiry, frequent. */
static bwl_model_op some_op(const bwl_model_connection *c)
{
    static const uint8_t often[] = { BWL_OP_SET,    BWL_OP_SET,     BWL_OP_SET,  BWL_OP_GET,
                                     BWL_OP_PTTL,   BWL_OP_PEXPIRE, BWL_OP_DEL,  BWL_OP_SETNX,
                                     BWL_OP_WATCH,  BWL_OP_MULTI,   BWL_OP_ZADD, BWL_OP_HSET,
                                     BWL_OP_ZPOPMIN };

    if (c->in_multi && below(3) == 0)
        return BWL_OP_EXEC;
    if (c->watched != 0 && !c->in_multi && below(3) == 0)
        return BWL_OP_MULTI;
    if (below(3) == 0)
        return (bwl_model_op)often[below(sizeof often)];
    return (bwl_model_op)(1 + below(BWL_OPS_END - 1));
}

/* The behaviour of a real server for pushes inside a transaction is not specified. */
static bool is_allowed(unsigned connection, bwl_model_op op)
{
    const bwl_model_connection *c        = &play_model.connections[connection];
    bool                        is_sub   = op == BWL_OP_SUBSCRIBE || op == BWL_OP_UNSUBSCRIBE;
    bool                        is_large = op == BWL_OP_ZADD || op == BWL_OP_HSET;
    bool is_now = op == BWL_OP_EXEC || op == BWL_OP_DISCARD || op == BWL_OP_MULTI ||
                  op == BWL_OP_WATCH || op == BWL_OP_NONSENSE;

    if (is_large && !has_room())
        return false;
    if (!c->in_multi || is_now)
        return true;
    if (is_sub || (op == BWL_OP_PUBLISH && c->channels != 0))
        return false;
    return c->queue_count < BWL_MODEL_QUEUE_MAX;
}

static bwl_model_command some_command(unsigned connection)
{
    bwl_model_command cmd = { .op = BWL_OP_NONE };

    do
        cmd.op = (uint8_t)some_op(&play_model.connections[connection]);
    while (!is_allowed(connection, (bwl_model_op)cmd.op));
    cmd.key    = (uint8_t)below(below(2) == 0 ? 1 : BWL_MODEL_KEYS);
    cmd.member = (uint16_t)below(MEMBERS);
    cmd.value  = cmd.op == BWL_OP_ZADD ? (int64_t)below(3) : some_value();
    if (cmd.op >= BWL_OP_SUBSCRIBE)
        cmd.key = (uint8_t)below(CHANNELS);
    if (cmd.op == BWL_OP_SET)
        cmd.flags = some_flags();
    cmd.time = time_for(&cmd);
    return cmd;
}

/* An event of both servers, or none. */
static void some_event(unsigned connection)
{
    unsigned what = below(EVENTS_ONE_IN);

    if (forgets && below(6) == 0) {
        play_complete(connection);
        play_clock(some_ms());
        if (below(2) == 0)
            play_save();
        else
            play_restart(below(4) == 0);
    }
    if (what > 29)
        return;
    play_complete(connection);
    if (what == 0)
        play_cut(below(PLAY_CONNECTIONS));
    else if (what < 3)
        play_evict(below(BWL_MODEL_KEYS));
    else
        play_clock(what == 3 ? -some_ms() : some_ms());
}

/* Returns true if both servers had the same results. */
static bool play_sequence(uint64_t seed)
{
    unsigned connection = 0;

    play_begin();
    random_state = seed;
    if (forgets)
        play_save();
    for (unsigned i = 4 + below(LENGTH_MAX - 3); i > 0 && !play_differs(); i--) {
        bwl_model_command cmd;

        some_event(connection);
        if (below(4) == 0) {
            play_complete(connection);
            connection = below(PLAY_CONNECTIONS);
        }
        cmd = some_command(connection);
        play_command(connection, &cmd);
    }
    play_complete(connection);
    if (!play_differs())
        return true;
    tell("%s", play_story());
    play_again();
    return false;
}

TEST(model_and_server_agree)
{
    must_be_the_same(20000, 1);
}

/* A restarted server has the keys that it saved, with their expiry, and no connections. */
TEST(restarted_model_and_server_have_the_saved_data)
{
    forgets = true;
    must_be_the_same(20000, 100);
    forgets = false;
}

/* ---- setting up ------------------------------------------------------------------------------ */

static int set_up(void **state)
{
    server_needed();
    play_open();
    return 0;
}

static int tear_down(void **state)
{
    play_close();
    return 0;
}

AROUND(set_up, tear_down)
