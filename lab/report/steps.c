#include "lab/report/steps.h"
#include "lab/model/steps.h"
#include "lab/report/names.h"

#include <inttypes.h>
#include <string.h>

enum { MS_PER_SECOND = 1000, NS_PER_MS = 1000000, NEAR_S = 1000000 };

static const bwl_lock_program *program_of(const bwl_world *w)
{
    return w->scenario->options.program;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* True for a number that is a time of day in the unit of the file: the time since the beginning. */
static bool is_time(const bwl_world *w, int64_t number, int64_t *ret_since)
{
    int64_t unit_ns = program_of(w)->rules.unit_ns;
    int64_t start   = BWL_BEGINNING_WALL_MS * NS_PER_MS / unit_ns;
    int64_t reach   = NEAR_S * (INT64_C(1000000000) / unit_ns);

    *ret_since = number - start;
    return *ret_since > -reach && *ret_since < reach;
}

static const char *unit_name(int64_t unit_ns)
{
    return unit_ns == 1000000000 ? "s" : unit_ns == 1000000 ? "ms" : unit_ns == 1000 ? "us" : "ns";
}

bwl_text bwl_value_words(const bwl_world *w, int64_t value)
{
    uint16_t             token;
    const bwl_lock_text *text = bwl_model_text_of(program_of(w), value, &token);
    int64_t              since;

    if (value >= BWL_MODEL_FOREIGN_VALUE)
        return bwl_say("of a foreign lock");
    if (text != NULL)
        return bwl_say("\"%s\"", text->bytes);
    if (token != 0)
        return bwl_token_name(token);
    if (is_time(w, value, &since))
        return bwl_say("t%+" PRId64 "%s", since, unit_name(program_of(w)->rules.unit_ns));
    return bwl_say("%" PRId64, value);
}

/* ---- commands -------------------------------------------------------------------------------- */

static bwl_text arg_words(const bwl_world *w, const bwl_message *message, const bwl_call_arg *arg)
{
    const bwl_lock_program *program = program_of(w);

    switch ((bwl_call_arg_kind)arg->kind) {
    case BWL_ARG_KEY: return bwl_say("key");
    case BWL_ARG_TOKEN: return bwl_token_name(message->token);
    case BWL_ARG_LEASE_S:
        return bwl_say("%d", (int)(message->lease_ms + MS_PER_SECOND - 1) / MS_PER_SECOND);
    case BWL_ARG_LEASE_MS: return bwl_say("%d", (int)message->lease_ms);
    case BWL_ARG_NUMBER: return bwl_say("%" PRId64, arg->number);
    case BWL_ARG_TEXT:
        return strchr(program->texts[arg->number].bytes, ' ') != NULL
                   ? bwl_say("SCRIPT")
                   : bwl_say("%s", program->texts[arg->number].bytes);
    case BWL_ARG_COMPUTED: return bwl_value_words(w, message->timestamp);
    case BWL_ARG_KEYWORD: return bwl_say("%s", bwl_set_word_name((bwl_set_word)arg->number));
    }
    bwl_unreachable("no such argument");
}

static bwl_text call_words(const bwl_world *w, const bwl_message *message, const bwl_call *call)
{
    bwl_text said = bwl_say("%s", bwl_call_word_name((bwl_call_word)call->word));

    for (unsigned i = 0; i < call->args_count; i++)
        said = bwl_say("%s %s", said.of, arg_words(w, message, &call->args[i]).of);
    return said;
}

bwl_text bwl_step_words(const bwl_world *w, const bwl_message *message)
{
    const bwl_lock_program *program = program_of(w);
    const bwl_lock_op      *op      = &program->ops[message->step];
    bwl_text                said    = bwl_say("%s", op->is_transaction ? "MULTI, " : "");

    for (unsigned i = 0; i < op->calls_count; i++)
        said = bwl_say("%s%s%s", said.of, call_words(w, message, &program->calls[op->call + i]).of,
                       op->is_transaction ? ", " : "");
    return op->is_transaction ? bwl_say("%sEXEC", said.of) : said;
}

bwl_text bwl_step_reply_words(const bwl_world *w, const bwl_message *message)
{
    if (message->answer != BWL_YES)
        return bwl_say("%s", bwl_answer_name(message->answer));
    switch ((bwl_reply_kind)message->reply_kind) {
    case BWL_REPLY_NIL: return bwl_say("nil");
    case BWL_REPLY_OK: return bwl_say("OK");
    case BWL_REPLY_VALUE: return bwl_value_words(w, message->timestamp);
    case BWL_REPLY_ERROR:
    case BWL_REPLY_DOWN: break;
    }
    bwl_unreachable("no such reply");
}
