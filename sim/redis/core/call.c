/*
 * call.c -- see call.h: replies in RESP2 and RESP3, and arguments.
 */
#include "sim/redis/core/call.h"
#include "sim/redis/core/protocol.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ERROR_ROOM = 512, DOUBLE_ROOM = 64 };

void model_reply_status(model_call *call, const char *text)
{
    model_bytes_add(call->out, "+", 1);
    model_bytes_add_text(call->out, text);
    model_bytes_add(call->out, "\r\n", 2);
}

void model_reply_ok(model_call *call)
{
    model_reply_status(call, "OK");
}

/* A line end in the text would end the reply. */
void model_reply_error(model_call *call, const char *format, ...)
{
    char    text[ERROR_ROOM];
    va_list args;

    va_start(args, format);
    int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (size < 0)
        return;
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\r' || *c == '\n')
            *c = ' ';
    call->has_failed = true;
    model_bytes_add(call->out, "-", 1);
    model_bytes_add_text(call->out, text);
    model_bytes_add(call->out, "\r\n", 2);
}

void model_reply_syntax_error(model_call *call)
{
    model_reply_error(call, "ERR syntax error");
}

void model_reply_integer(model_call *call, int64_t number)
{
    model_write_head(call->out, ':', number);
}

void model_reply_bulk(model_call *call, model_text text)
{
    model_write_bulk(call->out, text);
}

void model_reply_text(model_call *call, const char *text)
{
    model_write_bulk(call->out, model_text_of(text));
}

void model_reply_verbatim(model_call *call, model_text text)
{
    if (call->resp < 3) {
        model_reply_bulk(call, text);
        return;
    }
    model_write_head(call->out, '=', (int64_t)text.size + 4);
    model_bytes_add(call->out, "txt:", 4);
    model_bytes_add(call->out, text.at, text.size);
    model_bytes_add(call->out, "\r\n", 2);
}

void model_reply_double(model_call *call, double number)
{
    char   text[DOUBLE_ROOM];
    size_t size =
        model_write_double(text, sizeof text, number, call->server->version == MODEL_VALKEY_9);

    if (call->resp < 3) {
        model_reply_bulk(call, (model_text){ text, size });
        return;
    }
    model_bytes_add(call->out, ",", 1);
    model_bytes_add(call->out, text, size);
    model_bytes_add(call->out, "\r\n", 2);
}

void model_reply_null(model_call *call)
{
    model_bytes_add_text(call->out, call->resp < 3 ? "$-1\r\n" : "_\r\n");
}

void model_reply_null_array(model_call *call)
{
    model_bytes_add_text(call->out, call->resp < 3 ? "*-1\r\n" : "_\r\n");
}

void model_reply_array(model_call *call, size_t count)
{
    model_write_head(call->out, '*', (int64_t)count);
}

void model_reply_map(model_call *call, size_t pairs)
{
    model_write_head(call->out, call->resp < 3 ? '*' : '%',
                     (int64_t)(call->resp < 3 ? pairs * 2 : pairs));
}

void model_reply_set(model_call *call, size_t count)
{
    model_write_head(call->out, call->resp < 3 ? '*' : '~', (int64_t)count);
}

/* ---- arguments ------------------------------------------------------------------------------- */

bool model_take_integer(model_call *call, size_t nth, const char *what, int64_t *ret_number)
{
    if (model_text_integer(call->argv[nth], ret_number))
        return true;
    model_reply_error(call, "ERR %s",
                      what != NULL ? what : "value is not an integer or out of range");
    return false;
}

bool model_take_double(model_call *call, size_t nth, const char *what, double *ret_number)
{
    if (model_text_double(call->argv[nth], ret_number))
        return true;
    model_reply_error(call, "ERR %s", what != NULL ? what : "value is not a valid float");
    return false;
}

bool model_arg_is(const model_call *call, size_t nth, const char *word)
{
    return nth < call->argc && model_text_is(call->argv[nth], word);
}
