/*
 * call.h -- one command that is carried out: its arguments, the link that asks, and where the reply
 * goes.
 *
 * The functions of the tables in command/ take a call.  They find keys with model_find and the like
 * (keyspace.h), call model_changed for each key that they change, and write one reply.
 */
#pragma once

#include "sim/redis/core/command.h"
#include "sim/redis/core/state.h"

typedef enum model_origin {
    MODEL_FROM_LINK = 1,
    MODEL_FROM_EXEC,
    MODEL_FROM_SCRIPT,
    MODEL_FROM_PRIMARY,
} model_origin;

struct model_call {
    model_server        *server;
    model_link          *link;  /* that asks; of a script, its caller */
    const model_call    *outer; /* EVAL, of a command of a script */
    const model_command *command;
    const model_text    *argv;
    size_t               argc;
    model_bytes         *out;
    unsigned            *database; /* the selected one */
    unsigned             resp;
    model_origin         origin;
    unsigned             changes;
    bool                 is_forced;  /* its effect is logged without a change: PUBLISH */
    bool                 has_effect; /* in place of the command itself */
    bool                 has_failed; /* the reply is an error */
};

/* ---- replies --------------------------------------------------------------------------------- */

void model_reply_status(model_call *call, const char *text);
void model_reply_ok(model_call *call);
/* With its code, without the minus. */
void model_reply_error(model_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void model_reply_integer(model_call *call, int64_t number);
void model_reply_bulk(model_call *call, model_text text);
void model_reply_text(model_call *call, const char *text);
void model_reply_verbatim(model_call *call, model_text text);
void model_reply_double(model_call *call, double number);
void model_reply_null(model_call *call);
void model_reply_null_array(model_call *call);
void model_reply_array(model_call *call, size_t count);
void model_reply_map(model_call *call, size_t pairs); /* RESP2: an array */
void model_reply_set(model_call *call, size_t count); /* RESP2: an array */
void model_reply_syntax_error(model_call *call);

/* ---- arguments ------------------------------------------------------------------------------- */

/* False: an error was replied.  what is NULL, or replaces "value is not an integer ...". */
bool model_take_integer(model_call *call, size_t nth, const char *what, int64_t *ret_number);
bool model_take_double(model_call *call, size_t nth, const char *what, double *ret_number);
bool model_arg_is(const model_call *call, size_t nth, const char *word);
