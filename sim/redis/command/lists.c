/*
 * lists.c -- lists, without the commands that block.
 */
#include "sim/redis/command/key_commands.h"

static void push(model_call *call, bool at_left, bool creates)
{
    model_value *list;

    if (!model_find(call, call->argv[1], MODEL_LIST, &list))
        return;
    if (list == NULL && !creates) {
        model_reply_integer(call, 0);
        return;
    }
    if (list == NULL)
        list = model_create(call, call->argv[1], MODEL_LIST);
    for (size_t i = 2; i < call->argc; i++)
        model_list_push(list, call->argv[i], at_left);
    model_changed(call, call->argv[1], list);
    model_reply_integer(call, (int64_t)model_value_count(list));
}

static void cmd_lpush(model_call *call)
{
    push(call, true, true);
}

static void cmd_rpush(model_call *call)
{
    push(call, false, true);
}

static void cmd_lpushx(model_call *call)
{
    push(call, true, false);
}

static void cmd_rpushx(model_call *call)
{
    push(call, false, false);
}

static void pop(model_call *call, bool at_left)
{
    model_value *list;
    int64_t      count     = 1;
    bool         has_count = call->argc > 2;

    if (call->argc > 3) {
        model_reply_error(call, "ERR wrong number of arguments for '%s' command",
                          call->command->name);
        return;
    }
    if (has_count &&
        (!model_take_integer(call, 2, "value is out of range, must be positive", &count) ||
         count < 0)) {
        if (!call->has_failed)
            model_reply_error(call, "ERR value is out of range, must be positive");
        return;
    }
    if (!model_find(call, call->argv[1], MODEL_LIST, &list))
        return;
    if (list == NULL) {
        if (has_count)
            model_reply_null_array(call);
        else
            model_reply_null(call);
        return;
    }
    size_t there = model_value_count(list);
    size_t taken = (uint64_t)count < there ? (size_t)count : there;
    if (has_count)
        model_reply_array(call, taken);
    for (size_t i = 0; i < taken; i++) {
        model_reply_bulk(call, model_list_at(list, at_left ? 0 : model_value_count(list) - 1));
        model_list_pop(list, at_left);
    }
    if (taken != 0)
        model_changed(call, call->argv[1], list);
}

static void cmd_lpop(model_call *call)
{
    pop(call, true);
}

static void cmd_rpop(model_call *call)
{
    pop(call, false);
}

static void cmd_llen(model_call *call)
{
    model_value *list;

    if (model_find(call, call->argv[1], MODEL_LIST, &list))
        model_reply_integer(call, list != NULL ? (int64_t)model_value_count(list) : 0);
}

/* Items [*ret_first, *ret_end).  False: an error was replied. */
static bool take_range(model_call *call, model_value **ret_list, size_t *ret_first, size_t *ret_end)
{
    int64_t start;
    int64_t stop;

    if (!model_take_integer(call, 2, NULL, &start) || !model_take_integer(call, 3, NULL, &stop) ||
        !model_find(call, call->argv[1], MODEL_LIST, ret_list))
        return false;
    int64_t count = *ret_list != NULL ? (int64_t)model_value_count(*ret_list) : 0;
    start         = start < 0 ? start + count : start;
    stop          = stop < 0 ? stop + count : stop;
    start         = start < 0 ? 0 : start;
    stop          = stop >= count ? count - 1 : stop;
    bool is_empty = start > stop || start >= count;
    *ret_first    = is_empty ? 0 : (size_t)start;
    *ret_end      = is_empty ? 0 : (size_t)stop + 1;
    return true;
}

static void cmd_lrange(model_call *call)
{
    model_value *list;
    size_t       first;
    size_t       end;

    if (!take_range(call, &list, &first, &end))
        return;
    model_reply_array(call, end - first);
    for (size_t i = first; i < end; i++)
        model_reply_bulk(call, model_list_at(list, i));
}

/* The key counts as changed even if nothing is cut off. */
static void cmd_ltrim(model_call *call)
{
    model_value *list;
    size_t       first;
    size_t       end;

    if (!take_range(call, &list, &first, &end))
        return;
    if (list != NULL) {
        while (model_value_count(list) > end)
            model_list_pop(list, false);
        for (size_t i = 0; i < first; i++)
            model_list_pop(list, true);
        model_changed(call, call->argv[1], list);
    }
    model_reply_ok(call);
}

static void cmd_lindex(model_call *call)
{
    model_value *list;
    int64_t      nth;

    if (!model_find(call, call->argv[1], MODEL_LIST, &list))
        return;
    if (list == NULL) {
        model_reply_null(call);
        return;
    }
    if (!model_take_integer(call, 2, NULL, &nth))
        return;
    int64_t count = (int64_t)model_value_count(list);
    nth           = nth < 0 ? nth + count : nth;
    if (nth < 0 || nth >= count)
        model_reply_null(call);
    else
        model_reply_bulk(call, model_list_at(list, (size_t)nth));
}

const model_command model_commands_lists[] = {
    { "lpush", cmd_lpush, -3, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(LIST), NULL },
    { "rpush", cmd_rpush, -3, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(LIST), NULL },
    { "lpushx", cmd_lpushx, -3, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(LIST), NULL },
    { "rpushx", cmd_rpushx, -3, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(LIST), NULL },
    { "lpop", cmd_lpop, -2, 1, 1, 1, CMD(WRITE) | CMD(FAST) | CAT(LIST), NULL },
    { "rpop", cmd_rpop, -2, 1, 1, 1, CMD(WRITE) | CMD(FAST) | CAT(LIST), NULL },
    { "llen", cmd_llen, 2, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(LIST), NULL },
    { "lrange", cmd_lrange, 4, 1, 1, 1, CMD(READ) | CAT(LIST), NULL },
    { "ltrim", cmd_ltrim, 4, 1, 1, 1, CMD(WRITE) | CAT(LIST), NULL },
    { "lindex", cmd_lindex, 3, 1, 1, 1, CMD(READ) | CAT(LIST), NULL },
    { .name = NULL },
};
