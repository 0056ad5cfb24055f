/*
 * model_play.c -- see model_play.h.
 */
#include "tests/lib/model_play.h"
#include "tests/lib/frozen.h"
#include "tests/lib/model_wire.h"
#include "tests/lib/testing.h"
#include "tests/lib/wire.h"

#include <inttypes.h>
#include <stdio.h>

enum { EXPECTED_MAX = 64 };

static const int64_t beginning_ms = INT64_C(1700000000000);

static server *redis;

/* ---- both servers ---------------------------------------------------------------------------- */

typedef struct line {
    wire              wire;
    char              id[24];
    model_expectation replies[EXPECTED_MAX];
    unsigned          replies_begin, replies_end;
    model_expectation pushes[EXPECTED_MAX]; /* of a push: cmd is its cause */
    unsigned          pushes_begin, pushes_end;
    unsigned          unread; /* replies to the start of a sequence, which come before all others */
    bool              is_used;        /* it watches, or is in a transaction, or was */
    bool              has_subscribed; /* it may receive pushes */
} line;

bwl_model_redis        play_model;
static bwl_model_data  saved;
static line            lines[PLAY_CONNECTIONS];
static wire            control;
static model_mutation *mutant;
static bool            differs;
static bool            has_old_keys; /* the server has the keys of the last sequence */

static void line_open(line *l)
{
    bwl_resp_cursor cursor;
    bwl_resp_value  value;

    wire_open(&l->wire, redis->socket);
    cursor = wire_ask(&l->wire, "CLIENT ID");
    assert_true(bwl_resp_next(&cursor, &value));
    (void)snprintf(l->id, sizeof l->id, "%" PRId64, value.integer);
    (void)wire_ask(&l->wire, "HELLO 3");
    l->replies_begin = l->replies_end = l->pushes_begin = l->pushes_end = 0;
    l->unread                                                           = 0;
    l->is_used = l->has_subscribed = false;
}

static void lines_open(void)
{
    for (unsigned i = 0; i < PLAY_CONNECTIONS; i++)
        line_open(&lines[i]);
}

static void lines_close(void)
{
    for (unsigned i = 0; i < PLAY_CONNECTIONS; i++)
        wire_close(&lines[i].wire);
}

/* ---- log of the sequence, for a failure ------------------------------------------------------ */

static char   story[16384];
static size_t story_size;

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    va_list list;
    int     n;

    va_start(list, format);
    n = vsnprintf(story + story_size, sizeof story - story_size, format, list);
    va_end(list);
    if (n > 0 && story_size + (size_t)n < sizeof story)
        story_size += (size_t)n;
}

static void tell_bytes(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size && story_size + 1 < sizeof story; i++)
        story[story_size++] = bytes[i] == '\r' || bytes[i] == '\n' ? ' ' : bytes[i];
    story[story_size] = '\0';
    tell("\n");
}

static void found_difference(unsigned connection, bwl_resp_cursor cursor,
                             const model_expectation *e)
{
    differs = true;
    tell("=> connection %u, %s, the server says: ", connection,
         e == NULL ? "unasked" : bwl_model_op_text((bwl_model_op)e->cmd.op));
    tell_bytes(cursor.bytes, cursor.size);
    for (unsigned i = 0; e != NULL && i < e->reply.parts_count; i++)
        tell("   the model: kind %u, number %" PRId64 "\n", e->reply.parts[i].kind,
             e->reply.parts[i].number);
}

/* ---- one step of both servers ---------------------------------------------------------------- */

static void hear(unsigned connection)
{
    line                    *l      = &lines[connection];
    bwl_resp_cursor          cursor = wire_next(&l->wire);
    bool                     pushed = cursor.bytes[0] == '>';
    const model_expectation *e      = NULL;

    if (pushed && l->pushes_begin < l->pushes_end)
        e = &l->pushes[l->pushes_begin++];
    else if (!pushed && l->replies_begin < l->replies_end)
        e = &l->replies[l->replies_begin++];
    if (e == NULL || !(pushed ? model_is_push(cursor, e) : model_is_reply(cursor, e)))
        found_difference(connection, cursor, e);
}

/* Skips the replies to the start of a sequence; no push can come any more. */
static void skip_beginning(unsigned connection)
{
    line *l = &lines[connection];

    if (l->wire.out.size > 0)
        wire_flush(&l->wire);
    for (; l->unread > 0; l->unread--) {
        bwl_resp_cursor cursor = wire_next(&l->wire);
        if (cursor.bytes[0] == '>')
            found_difference(connection, cursor, NULL);
    }
}

/* Sends the buffered commands, and waits for all replies; a last PING shows that no reply comes
 * that the model does not have. */
void play_complete(unsigned connection)
{
    line *l = &lines[connection];

    skip_beginning(connection);
    while (l->replies_begin < l->replies_end)
        hear(connection);
    for (unsigned i = 0; i < PLAY_CONNECTIONS; i++)
        while (!differs && lines[i].pushes_begin < lines[i].pushes_end)
            hear(i);
    l->replies_begin = l->replies_end = 0;
    for (unsigned i = 0; i < PLAY_CONNECTIONS; i++)
        lines[i].pushes_begin = lines[i].pushes_end = 0;
}

static void expect_push(unsigned connection, const bwl_model_command *cmd, unsigned channel,
                        bwl_model_part part)
{
    line              *l = &lines[connection];
    model_expectation *e = &l->pushes[l->pushes_end++];

    assert_true(l->pushes_end < EXPECTED_MAX);
    e->cmd               = *cmd;
    e->cmd.key           = (uint8_t)channel;
    e->reply.parts_count = 1;
    e->reply.parts[0]    = part;
    if (e->cmd.op != BWL_OP_SUBSCRIBE && e->cmd.op != BWL_OP_UNSUBSCRIBE)
        e->cmd.op = BWL_OP_PUBLISH;
}

/* The first command of a sequence deletes the keys of the last one. */
static void remove_old_keys(line *l)
{
    if (!has_old_keys)
        return;
    has_old_keys = false;
    wire_say(&l->wire, "DEL k0 k1 k2 k3");
    l->unread++;
}

static void control_begins(void)
{
    if (has_old_keys)
        (void)wire_ask(&control, "DEL k0 k1 k2 k3");
    has_old_keys = false;
}

static void note_use(line *l, bwl_model_op op)
{
    l->is_used        = l->is_used || op == BWL_OP_WATCH || op == BWL_OP_MULTI;
    l->has_subscribed = l->has_subscribed || op == BWL_OP_SUBSCRIBE;
}

void play_command(unsigned connection, const bwl_model_command *cmd)
{
    line                  *l         = &lines[connection];
    bool                   is_pushed = cmd->op == BWL_OP_SUBSCRIBE || cmd->op == BWL_OP_UNSUBSCRIBE;
    static bwl_model_redis before;
    bwl_model_frame        reply;

    before = play_model;
    bwl_model_redis_do(&play_model, connection, cmd, &reply);
    if (mutant != NULL)
        mutant(&play_model, &before, connection, cmd, &reply);
    remove_old_keys(l);
    note_use(l, (bwl_model_op)cmd->op);
    tell("%u: ", connection);
    size_t from = l->wire.out.size;
    model_write(&l->wire.out, cmd);
    tell_bytes(l->wire.out.bytes + from, l->wire.out.size - from);
    if (is_pushed) {
        expect_push(connection, cmd, cmd->key, reply.parts[0]);
    } else {
        assert_true(l->replies_end < EXPECTED_MAX);
        l->replies[l->replies_end].cmd   = *cmd;
        l->replies[l->replies_end].reply = reply;
        l->replies_end++;
    }
    for (unsigned i = 0; i < reply.pushes_count; i++)
        expect_push(reply.pushes[i].connection, cmd, reply.pushes[i].channel,
                    (bwl_model_part){ BWL_PART_VALUE, reply.pushes[i].value });
}

/* ---- events of both servers ------------------------------------------------------------------ */

/* An expired key must be deleted in the server too, before its clock is set back. */
void play_clock(int64_t by_ms)
{
    control_begins();
    if (by_ms < 0)
        (void)wire_ask(&control, "EXISTS k0 k1 k2 k3");
    tell("-- the clock goes by %" PRId64 " ms\n", by_ms);
    bwl_model_redis_pass(&play_model, by_ms * BWL_MODEL_PER_MS);
    frozen_set(play_model.now / BWL_MODEL_PER_MS);
}

/* Another client deletes a key, as eviction does. */
void play_evict(unsigned key)
{
    char words[16];

    if (play_model.data.keys[key].kind == BWL_KIND_NONE)
        return;
    control_begins();
    tell("-- k%u is evicted\n", key);
    (void)snprintf(words, sizeof words, "DEL k%u", key % BWL_MODEL_KEYS);
    bwl_model_redis_evict(&play_model, key);
    (void)wire_ask(&control, words);
}

void play_cut(unsigned connection)
{
    char words[64];

    control_begins();
    tell("-- connection %u is cut\n", connection);
    (void)snprintf(words, sizeof words, "CLIENT KILL ID %s", lines[connection].id);
    (void)wire_ask(&control, words);
    wire_close(&lines[connection].wire);
    line_open(&lines[connection]);
    bwl_model_redis_drop(&play_model, connection);
}

void play_begin(void)
{
    story_size = 0;
    differs    = false;
    bwl_model_redis_start(&play_model, beginning_ms);
    play_model.grace = BWL_MODEL_PER_MS;
    has_old_keys     = true;
    for (unsigned i = 0; i < PLAY_CONNECTIONS; i++) {
        line *l = &lines[i];
        if (l->is_used || l->has_subscribed) {
            wire_say(&l->wire, "RESET");
            wire_say(&l->wire, "HELLO 3");
            l->unread += 2;
        }
        if (l->has_subscribed)
            skip_beginning(i); /* others could still reach it */
        l->is_used = l->has_subscribed = false;
    }
    frozen_set(beginning_ms);
}

void play_save(void)
{
    bwl_resp_cursor cursor;

    control_begins();
    cursor = wire_ask(&control, "SAVE");
    assert_memory_equal(cursor.bytes, "+OK", 3);
    tell("-- a snapshot\n");
    saved = play_model.data;
}

/* A restarted server has no connections; the model keeps them until it is restarted, too. */
void play_restart(bool is_empty)
{
    bwl_resp_cursor cursor;

    control_begins();
    cursor = wire_ask(&control, is_empty ? "FLUSHALL" : "DEBUG RELOAD NOSAVE");
    assert_memory_equal(cursor.bytes, "+OK", 3);
    for (unsigned i = 0; i < PLAY_CONNECTIONS; i++)
        play_cut(i);
    tell("-- a restart, %s\n", is_empty ? "empty" : "from the snapshot");
    bwl_model_redis_restart(&play_model, is_empty ? NULL : &saved);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

void play_open(void)
{
    redis = frozen_start(beginning_ms);
    wire_open(&control, redis->socket);
    lines_open();
}

void play_close(void)
{
    frozen_stop(redis);
}

void play_again(void)
{
    lines_close();
    lines_open();
}

void play_with(model_mutation *mutation)
{
    mutant = mutation;
}

bool play_differs(void)
{
    return differs;
}

const char *play_story(void)
{
    return story;
}
