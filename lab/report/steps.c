#include "lab/report/steps.h"
#include "lab/model/steps.h"
#include "lab/report/names.h"

#include <inttypes.h>
#include <string.h>

enum { MS_PER_SECOND = 1000, NEAR_S = 1000000 };

enum { NS_PER_US = 1000, NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

static const bwl_lock_program *program_of(const bwl_world *w)
{
    return w->scenario->options.program;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int64_t unit_ns_of(const bwl_world *w)
{
    return w->scenario->options.rules != NULL ? w->scenario->options.rules->unit_ns : 0;
}

/* True for a number that is a time of day in the unit of the lock: the time since the beginning. */
static bool is_time(const bwl_world *w, int64_t number, int64_t *ret_since)
{
    int64_t unit_ns = unit_ns_of(w);

    if (unit_ns == 0)
        return false;
    int64_t reach = NEAR_S * ((int64_t)NS_PER_S / unit_ns);
    *ret_since    = number - BWL_BEGINNING_WALL_MS * NS_PER_MS / unit_ns;
    return *ret_since > -reach && *ret_since < reach;
}

const char *bwl_unit_name(const bwl_world *w)
{
    switch (unit_ns_of(w)) {
    case NS_PER_S: return "s";
    case NS_PER_MS: return "ms";
    case NS_PER_US: return "us";
    }
    return "ns";
}

bwl_text bwl_time_words(const bwl_world *w, int64_t number)
{
    int64_t since;

    if (is_time(w, number, &since))
        return bwl_say("t%+" PRId64 "%s", since, bwl_unit_name(w));
    return bwl_say("%" PRId64, number);
}

bool bwl_value_is_time(const bwl_world *w, int64_t value)
{
    int64_t since;

    return value < BWL_MODEL_TEXT && is_time(w, value, &since);
}

/* A token, a time, or both. */
static bwl_text value_by_rules(const bwl_world *w, int64_t value)
{
    const bwl_compat_rules *rules = w->scenario->options.rules;
    bwl_text                token = bwl_token_name(bwl_model_token_of(rules, value));
    bwl_text                time  = bwl_time_words(w, bwl_model_timestamp_of(rules, value));

    if (value < BWL_MODEL_TEXT)
        return bwl_time_words(w, value);
    return unit_ns_of(w) == 0 ? token : bwl_say("%s %s", token.of, time.of);
}

bwl_text bwl_value_words(const bwl_world *w, int64_t value)
{
    const bwl_lock_text *text;
    uint16_t             token;

    if (value >= BWL_MODEL_FOREIGN_VALUE)
        return bwl_say("of a foreign lock");
    if (program_of(w) == NULL)
        return value_by_rules(w, value);
    text = bwl_model_text_of(program_of(w), value, &token);
    if (text != NULL)
        return bwl_say("\"%s\"", text->bytes);
    return token != 0 ? bwl_token_name(token) : bwl_time_words(w, value);
}

/* ---- commands -------------------------------------------------------------------------------- */

static bwl_text arg_words(const bwl_world *w, const bwl_message *message, const bwl_call_arg *arg)
{
    const bwl_lock_program *program = program_of(w);

    switch ((bwl_call_arg_kind)arg->kind) {
    case BWL_ARG_KEY: return bwl_say("key");
    case BWL_ARG_TOKEN: return bwl_token_name(message->token);
    case BWL_ARG_LEASE_S:
        return bwl_say("%d", (int)(message->lease_ms + MS_PER_SECOND - 1) / MS_PER_SECOND +
                                 (int)arg->number);
    case BWL_ARG_LEASE_MS: return bwl_say("%d", (int)message->lease_ms + (int)arg->number);
    case BWL_ARG_NUMBER: return bwl_say("%" PRId64, arg->number);
    case BWL_ARG_TEXT:
        return strchr(program->texts[arg->number].bytes, ' ') != NULL
                   ? bwl_say("SCRIPT")
                   : bwl_say("%s", program->texts[arg->number].bytes);
    case BWL_ARG_COMPUTED:
    case BWL_ARG_END: return bwl_value_words(w, message->timestamp);
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
