/*
 * model_wire.c -- see model_wire.h.
 */
#include "tests/lib/model_wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- commands as bytes ----------------------------------------------------------------------- */

static const char *text_of(int64_t value)
{
    static char text[24];

    if (value >= BWL_MODEL_TEXT)
        (void)snprintf(text, sizeof text, "t%05d", (int)(value - BWL_MODEL_TEXT));
    else
        (void)snprintf(text, sizeof text, "%" PRId64, value);
    return text;
}

static const char *name_of(char kind, unsigned number)
{
    static char name[8];

    (void)snprintf(name, sizeof name, "%c%u", kind, number % 100);
    return name;
}

static void write_set(bwl_resp_writer *out, const bwl_model_command *cmd)
{
    static const struct {
        unsigned    flag;
        const char *text;
        bool        timed;
    } options[] = {
        { BWL_SET_NX, "NX", false },    { BWL_SET_XX, "XX", false },
        { BWL_SET_GET, "GET", false },  { BWL_SET_KEEPTTL, "KEEPTTL", false },
        { BWL_SET_EX, "EX", true },     { BWL_SET_PX, "PX", true },
        { BWL_SET_PXAT, "PXAT", true },
    };
    uint32_t count = 3;

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if ((cmd->flags & options[i].flag) != 0)
            count += options[i].timed ? 2 : 1;
    bwl_resp_write_array(out, count);
    bwl_resp_write_text(out, "SET");
    bwl_resp_write_text(out, name_of('k', cmd->key));
    bwl_resp_write_text(out, text_of(cmd->value));
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if ((cmd->flags & options[i].flag) == 0)
            continue;
        bwl_resp_write_text(out, options[i].text);
        if (options[i].timed)
            bwl_resp_write_integer(out, cmd->time);
    }
}

/* The arguments of a command, one letter each: k key, c channel, v value, t time, m member, z "0
 * -1" */
static const char *const shapes[BWL_OPS_END] = {
    [BWL_OP_EXISTS] = "k",    [BWL_OP_DEL] = "k",         [BWL_OP_EXPIRE] = "kt",
    [BWL_OP_PEXPIRE] = "kt",  [BWL_OP_PEXPIREAT] = "kt",  [BWL_OP_TTL] = "k",
    [BWL_OP_PTTL] = "k",      [BWL_OP_GET] = "k",         [BWL_OP_SETNX] = "kv",
    [BWL_OP_GETSET] = "kv",   [BWL_OP_INCR] = "k",        [BWL_OP_ZADD] = "kvm",
    [BWL_OP_ZREM] = "km",     [BWL_OP_ZSCORE] = "km",     [BWL_OP_ZRANK] = "km",
    [BWL_OP_ZCARD] = "k",     [BWL_OP_ZPOPMIN] = "k",     [BWL_OP_ZRANGE] = "kz",
    [BWL_OP_HSET] = "kmv",    [BWL_OP_HGET] = "km",       [BWL_OP_HDEL] = "km",
    [BWL_OP_HLEN] = "k",      [BWL_OP_WATCH] = "k",       [BWL_OP_UNWATCH] = "",
    [BWL_OP_MULTI] = "",      [BWL_OP_EXEC] = "",         [BWL_OP_DISCARD] = "",
    [BWL_OP_SUBSCRIBE] = "c", [BWL_OP_UNSUBSCRIBE] = "c", [BWL_OP_PUBLISH] = "cv",
    [BWL_OP_TIME] = "",       [BWL_OP_NONSENSE] = "",
};

void model_write(bwl_resp_writer *out, const bwl_model_command *cmd)
{
    const char *format = shapes[cmd->op];
    uint32_t    count  = 1;

    if (cmd->op == BWL_OP_SET) {
        write_set(out, cmd);
        return;
    }
    for (const char *c = format; *c != '\0'; c++)
        count += *c == 'z' ? 2 : 1;
    bwl_resp_write_array(out, count);
    bwl_resp_write_text(out, bwl_model_op_text((bwl_model_op)cmd->op));
    for (const char *c = format; *c != '\0'; c++) {
        switch (*c) {
        case 'k': bwl_resp_write_text(out, name_of('k', cmd->key)); break;
        case 'c': bwl_resp_write_text(out, name_of('c', cmd->key)); break;
        case 'm': bwl_resp_write_text(out, name_of('m', cmd->member)); break;
        case 'v': bwl_resp_write_text(out, text_of(cmd->value)); break;
        case 't': bwl_resp_write_integer(out, cmd->time); break;
        default: bwl_resp_write_text(out, "0"); bwl_resp_write_text(out, "-1");
        }
    }
}

/* ---- replies compared ------------------------------------------------------------------------ */

static bool is_same_number(const bwl_resp_value *v, int64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRId64, number);
    return bwl_resp_text_is(v, text);
}

static bool is_same_part(const bwl_resp_value *v, const bwl_model_part *part)
{
    const char *error;

    switch ((bwl_model_part_kind)part->kind) {
    case BWL_PART_NIL: return v->type == '_';
    case BWL_PART_OK: return v->type == '+' && bwl_resp_text_is(v, "OK");
    case BWL_PART_QUEUED: return v->type == '+' && bwl_resp_text_is(v, "QUEUED");
    case BWL_PART_INTEGER: return v->type == ':' && v->integer == part->number;
    case BWL_PART_VALUE: return v->type == '$' && bwl_resp_text_is(v, text_of(part->number));
    case BWL_PART_MEMBER:
        return v->type == '$' && bwl_resp_text_is(v, name_of('m', (unsigned)part->number));
    case BWL_PART_SCORE: return v->type == ',' && is_same_number(v, part->number);
    case BWL_PART_ARRAY: return v->type == '*' && v->count == part->number;
    case BWL_PART_ERROR:
        error = bwl_model_error_text((bwl_model_error)part->number);
        return v->type == '-' && v->size >= strlen(error) &&
               memcmp(v->text, error, strlen(error)) == 0;
    }
    return false;
}

bool model_is_reply(bwl_resp_cursor cursor, const model_expectation *e)
{
    bwl_resp_value v;

    for (unsigned i = 0; i < e->reply.parts_count; i++)
        if (!bwl_resp_next(&cursor, &v) || !is_same_part(&v, &e->reply.parts[i]))
            return false;
    return !bwl_resp_next(&cursor, &v);
}

/* ["message", channel, value], or ["subscribe", channel, how many]. */
bool model_is_push(bwl_resp_cursor cursor, const model_expectation *e)
{
    bool           is_message = e->cmd.op == BWL_OP_PUBLISH;
    const char    *kind       = e->cmd.op == BWL_OP_SUBSCRIBE ? "subscribe" : "unsubscribe";
    bwl_resp_value v;

    return bwl_resp_next(&cursor, &v) && v.type == '>' && v.count == 3 &&
           bwl_resp_next(&cursor, &v) && bwl_resp_text_is(&v, is_message ? "message" : kind) &&
           bwl_resp_next(&cursor, &v) && bwl_resp_text_is(&v, name_of('c', e->cmd.key)) &&
           bwl_resp_next(&cursor, &v) && is_same_part(&v, &e->reply.parts[0]);
}
