/*
 * transaction.c -- WATCH, MULTI, EXEC.  See redis.h.
 *
 * A connection that watches a key is dirty as soon as any client writes it, or it expires; then
 * EXEC executes nothing. EXEC and DISCARD end every watch of the connection.
 *
 *      PLAIN --MULTI--> IN MULTI --EXEC, DISCARD--> PLAIN
 */
#include "lab/model/inside.h"

static void end(bwl_model_connection *c)
{
    *c = (bwl_model_connection){ .channels = c->channels };
}

static void exec(bwl_model_redis *r, unsigned connection, bwl_model_frame *reply)
{
    bwl_model_connection past = r->connections[connection];

    if (!past.in_multi) {
        bwl_model_say_error(reply, BWL_ERROR_EXEC_ALONE);
        return;
    }
    end(&r->connections[connection]);
    if (past.is_aborted) {
        bwl_model_say_error(reply, BWL_ERROR_EXECABORT);
        return;
    }
    if (past.is_dirty) {
        bwl_model_say(reply, BWL_PART_NIL, 0);
        return;
    }
    bwl_model_say(reply, BWL_PART_ARRAY, past.queue_count);
    for (unsigned i = 0; i < past.queue_count; i++)
        bwl_model_carry_out(r, connection, &past.queue[i], reply);
}

static void queue(bwl_model_connection *c, const bwl_model_command *cmd, bwl_model_frame *reply)
{
    if (cmd->op == BWL_OP_NONSENSE) {
        c->is_aborted = true;
        bwl_model_say_error(reply, BWL_ERROR_UNKNOWN);
        return;
    }
    assert(c->queue_count < BWL_MODEL_QUEUE_MAX);
    c->queue[c->queue_count++] = *cmd;
    bwl_model_say(reply, BWL_PART_QUEUED, 0);
}

/* True for commands that are executed at once between MULTI and EXEC. */
static bool is_immediate(bwl_model_op op)
{
    return op == BWL_OP_MULTI || op == BWL_OP_EXEC || op == BWL_OP_DISCARD || op == BWL_OP_WATCH;
}

static void immediate(bwl_model_redis *r, unsigned connection, const bwl_model_command *cmd,
                      bwl_model_frame *reply)
{
    bwl_model_connection *c = &r->connections[connection];

    if (cmd->op == BWL_OP_EXEC) {
        exec(r, connection, reply);
        return;
    }
    if (cmd->op == BWL_OP_DISCARD && !c->in_multi) {
        bwl_model_say_error(reply, BWL_ERROR_DISCARD_ALONE);
        return;
    }
    if (cmd->op != BWL_OP_DISCARD && c->in_multi) {
        bwl_model_say_error(reply,
                            cmd->op == BWL_OP_MULTI ? BWL_ERROR_NESTED : BWL_ERROR_WATCH_INSIDE);
        return;
    }
    bwl_model_say(reply, BWL_PART_OK, 0);
    if (cmd->op == BWL_OP_DISCARD)
        end(c);
    else if (cmd->op == BWL_OP_MULTI)
        c->in_multi = true;
    else
        c->watched |= (uint8_t)(1u << cmd->key);
}

void bwl_model_unwatch(bwl_model_redis *r, unsigned connection, bwl_model_frame *reply)
{
    bwl_model_connection *c = &r->connections[connection];

    c->watched  = 0;
    c->is_dirty = false;
    bwl_model_say(reply, BWL_PART_OK, 0);
}

bool bwl_model_do_transaction(bwl_model_redis *r, unsigned connection, const bwl_model_command *cmd,
                              bwl_model_frame *reply)
{
    bwl_model_connection *c = &r->connections[connection];

    if (is_immediate((bwl_model_op)cmd->op)) {
        immediate(r, connection, cmd, reply);
        return true;
    }
    if (c->in_multi) {
        queue(c, cmd, reply);
        return true;
    }
    return false;
}
