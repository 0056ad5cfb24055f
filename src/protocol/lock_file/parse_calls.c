/*
 * parse_calls.c -- see parser.h: names, numbers, and commands with their arguments.
 */
#include "protocol/lock_file/parser.h"
#include "core/nearest.h"
#include "core/text.h"

#include <string.h>

enum { WORD_MAX = 32, MS_PER_S = 1000, NS_PER_MS = 1000000 };

bool bwl_parse_expected(bwl_parser *p, const char *what)
{
    return bwl_lock_scan_expected(&p->scan, what);
}

bool bwl_parse_is_at(const bwl_parser *p, bwl_lock_token_kind kind)
{
    return p->scan.token.kind == kind;
}

bool bwl_parse_is_word(const bwl_lock_token *token, const char *text)
{
    return token->kind == BWL_LT_WORD && token->size == strlen(text) &&
           memcmp(token->at, text, token->size) == 0;
}

/* The index of the present word in a list; `count` if it is none. */
size_t bwl_parse_find(const bwl_parser *p, const char *const *list, size_t count)
{
    size_t i = 0;

    while (i < count && !(list[i] != NULL && bwl_parse_is_word(&p->scan.token, list[i])))
        i++;
    return i;
}

/* Reports that the present word is in no list, with the nearest one of it. */
bool bwl_parse_unknown(bwl_parser *p, const char *what, const char *const *list, size_t count)
{
    char           word[WORD_MAX];
    bwl_lock_token token = p->scan.token;
    size_t         size  = token.size < sizeof word ? token.size : sizeof word - 1;
    const char    *nearest;

    if (token.kind != BWL_LT_WORD)
        return bwl_parse_expected(p, what);
    memcpy(word, token.at, size);
    word[size] = '\0';
    nearest    = bwl_nearest(word, list, count);
    if (nearest == NULL)
        return bwl_parse_expected(p, what);
    return bwl_lock_scan_fail(&p->scan, &token, "expected %s, not %s: did you mean %s?",
                              bwl_lock_scan_tr(&p->scan, what), word, nearest);
}

const char *bwl_parse_keep(bwl_parser *p, const char *bytes, size_t size)
{
    char *kept = p->text;

    if (size > 0)
        memcpy(kept, bytes, size);
    kept[size] = '\0';
    p->text += size + 1;
    return kept;
}

bool bwl_parse_take_duration(bwl_parser *p, bwl_ms *ret_ms)
{
    if (!bwl_parse_is_at(p, BWL_LT_DURATION))
        return bwl_parse_expected(p, "a duration, such as 100ms or 10s");
    *ret_ms = p->scan.token.number;
    bwl_lock_scan_next(&p->scan);
    return true;
}

bool bwl_parse_take_number(bwl_parser *p, int64_t max, int64_t *ret_number)
{
    if (!bwl_parse_is_at(p, BWL_LT_NUMBER) || p->scan.token.number > max)
        return bwl_lock_scan_fail(&p->scan, &p->scan.token, "expected a number, at most %d",
                                  (int)max);
    *ret_number = p->scan.token.number;
    bwl_lock_scan_next(&p->scan);
    return true;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* NULL: there is no room. */
bwl_lock_op *bwl_parse_add(bwl_parser *p, bwl_lock_op_kind kind)
{
    bwl_lock_program *program = p->program;

    if (program->ops_count == BWL_LOCK_FILE_OPS_MAX) {
        (void)bwl_lock_scan_fail(&p->scan, &p->scan.token, "the file is too long: %d operations",
                                 BWL_LOCK_FILE_OPS_MAX);
        return NULL;
    }
    bwl_lock_op *op = &program->ops[program->ops_count++];
    *op             = (bwl_lock_op){ .kind = (uint8_t)kind, .line = (uint16_t)p->scan.token.line };
    return op;
}

uint8_t bwl_parse_here(const bwl_parser *p)
{
    return p->program->ops_count;
}

bool bwl_parse_add_end(bwl_parser *p, bwl_outcome_kind outcome)
{
    bwl_lock_op *op = bwl_parse_add(p, BWL_OP_END);

    if (op != NULL)
        op->outcome = (uint8_t)outcome;
    p->falls = false;
    return op != NULL;
}

/* Its target is set later. */
bool bwl_parse_add_go(bwl_parser *p, uint8_t *ret_at)
{
    *ret_at = bwl_parse_here(p);
    return bwl_parse_add(p, BWL_OP_GO) != NULL;
}

/* ---- names and sums -------------------------------------------------------------------------- */

static const char *const reserved[] = {
    "key",   "token", "lease",   "lease_s",  "lease_ms", "now",   "nil",   "OK", "error",
    "down",  "held",  "busy",    "released", "gone",     "retry", "sleep", "go", "next",
    "MULTI", "EXEC",  "acquire", "release",  "renew",    "lab",   "or",
};

enum { RESERVED = sizeof reserved / sizeof reserved[0] };

bool bwl_parse_is_reserved(const bwl_parser *p)
{
    return bwl_parse_find(p, reserved, RESERVED) < RESERVED;
}

/* The index of the present word among the names; names_count if it is new. */
unsigned bwl_parse_find_name(const bwl_parser *p)
{
    return (unsigned)bwl_parse_find(p, p->program->names, p->program->names_count);
}

bool bwl_parse_take_new_name(bwl_parser *p, bool is_reply, uint8_t *ret_name)
{
    bwl_lock_program *program = p->program;
    unsigned          name    = bwl_parse_find_name(p);
    uint8_t           bit     = (uint8_t)(1u << name);

    if (bwl_parse_is_reserved(p))
        return bwl_parse_expected(p, "a name of your own");
    if (name == program->names_count) {
        if (name == BWL_LOCK_FILE_NAMES_MAX)
            return bwl_lock_scan_fail(&p->scan, &p->scan.token, "a file has at most %d names",
                                      BWL_LOCK_FILE_NAMES_MAX);
        program->names[program->names_count++] =
            bwl_parse_keep(p, p->scan.token.at, p->scan.token.size);
        p->is_reply |= (uint8_t)(is_reply ? bit : 0);
    } else if (((p->is_reply & bit) != 0) != is_reply) {
        return bwl_lock_scan_fail(
            &p->scan, &p->scan.token,
            "%s is a reply in one place and a time in another: take two names",
            program->names[name]);
    }
    *ret_name = (uint8_t)name;
    bwl_lock_scan_next(&p->scan);
    return true;
}

static int64_t in_units(const bwl_parser *p, int64_t ms)
{
    return ms * NS_PER_MS / p->unit_ns;
}

static bool take_term(bwl_parser *p, int sign, bwl_lock_sum *sum)
{
    bwl_lock_token token = p->scan.token;
    unsigned       name  = bwl_parse_find_name(p);

    if (bwl_parse_is_word(&token, "now") && sign > 0 && sum->now == 0) {
        sum->now = 1;
    } else if (bwl_parse_is_word(&token, "lease") && sum->lease == 0) {
        sum->lease = (int8_t)sign;
    } else if (token.kind == BWL_LT_NUMBER) {
        sum->units += sign * token.number;
    } else if (token.kind == BWL_LT_DURATION) {
        if (in_units(p, token.number) * p->unit_ns != token.number * NS_PER_MS)
            return bwl_lock_scan_fail(&p->scan, &token,
                                      "this is no whole number of the unit of the file");
        sum->units += sign * in_units(p, token.number);
    } else if (token.kind == BWL_LT_WORD && name < p->program->names_count && sign > 0 &&
               sum->name == 0) {
        sum->name = (uint8_t)(name + 1);
    } else {
        return bwl_parse_expected(
            p, "a value: token, \"text\", a number, a duration, now, lease, or a "
               "name that was set before");
    }
    bwl_lock_scan_next(&p->scan);
    return true;
}

bool bwl_parse_take_sum(bwl_parser *p, bwl_lock_sum *ret_sum)
{
    int first = bwl_lock_scan_take(&p->scan, "-") ? -1 : 1;

    *ret_sum = (bwl_lock_sum){ 0 };
    if (!take_term(p, first, ret_sum))
        return false;
    while (bwl_lock_scan_is(&p->scan, "+") || bwl_lock_scan_is(&p->scan, "-")) {
        int sign = bwl_lock_scan_is(&p->scan, "+") ? 1 : -1;
        bwl_lock_scan_next(&p->scan);
        if (!take_term(p, sign, ret_sum))
            return false;
    }
    return true;
}

/* ---- commands -------------------------------------------------------------------------------- */

static const char *const call_names[BWL_CALL_WORDS_END] = {
#define X(name, fewest, most) [BWL_CALL_##name] = #name,
    BWL_CALL_WORDS(X)
#undef X
};

static const uint8_t args_min[BWL_CALL_WORDS_END] = {
#define X(name, fewest, most) [BWL_CALL_##name] = (fewest),
    BWL_CALL_WORDS(X)
#undef X
};

static const uint8_t args_max[BWL_CALL_WORDS_END] = {
#define X(name, fewest, most) [BWL_CALL_##name] = (most),
    BWL_CALL_WORDS(X)
#undef X
};

static const char *const set_names[] = {
    [BWL_SET_NX] = "NX",     [BWL_SET_XX] = "XX",           [BWL_SET_GET] = "GET",
    [BWL_SET_EX] = "EX",     [BWL_SET_PX] = "PX",           [BWL_SET_EXAT] = "EXAT",
    [BWL_SET_PXAT] = "PXAT", [BWL_SET_KEEPTTL] = "KEEPTTL",
};

enum { SET_WORDS = sizeof set_names / sizeof set_names[0] };

const char *bwl_call_word_name(bwl_call_word word)
{
    return word < BWL_CALL_WORDS_END && word != BWL_CALL_NONE ? call_names[word] : "?";
}

bool bwl_call_has_args(const bwl_call *call)
{
    return call->args_count >= args_min[call->word] && call->args_count <= args_max[call->word];
}

const char *bwl_set_word_name(bwl_set_word word)
{
    return (unsigned)word < SET_WORDS && set_names[word] != NULL ? set_names[word] : "?";
}

bwl_ms bwl_set_word_unit_ms(bwl_set_word word)
{
    switch (word) {
    case BWL_SET_EX:
    case BWL_SET_EXAT: return MS_PER_S;
    case BWL_SET_PX:
    case BWL_SET_PXAT: return 1;
    case BWL_SET_NX:
    case BWL_SET_XX:
    case BWL_SET_GET:
    case BWL_SET_KEEPTTL: return 0;
    }
    bwl_unreachable("no such option");
}

/* The option of SET that is the last argument so far; 0: another argument is. */
static bwl_set_word last_option(const bwl_call *call)
{
    const bwl_call_arg *last = call->args_count > 0 ? &call->args[call->args_count - 1] : NULL;

    return last != NULL && last->kind == BWL_ARG_KEYWORD ? (bwl_set_word)last->number : 0;
}

static bool is_end(bwl_set_word word)
{
    return word == BWL_SET_EXAT || word == BWL_SET_PXAT;
}

bwl_ms bwl_calls_end_unit_ms(const bwl_call *calls, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 1; k < calls[i].args_count; k++)
            if (calls[i].args[k].kind == BWL_ARG_END)
                return bwl_set_word_unit_ms((bwl_set_word)calls[i].args[k - 1].number);
    return 0;
}

static bool takes_key(bwl_call_word word)
{
    return word != BWL_CALL_UNWATCH && word != BWL_CALL_PUBLISH && word != BWL_CALL_EVAL;
}

bool bwl_parse_take_text(bwl_parser *p, bwl_call_arg *ret_arg)
{
    bwl_lock_program *program = p->program;

    if (program->texts_count == BWL_LOCK_FILE_TEXTS_MAX)
        return bwl_lock_scan_fail(&p->scan, &p->scan.token, "a file has at most %d texts",
                                  BWL_LOCK_FILE_TEXTS_MAX);
    *ret_arg = (bwl_call_arg){ BWL_ARG_TEXT, program->texts_count };
    program->texts[program->texts_count++] =
        (bwl_lock_text){ bwl_parse_keep(p, p->scan.token.at, p->scan.token.size),
                         p->scan.token.size, bwl_hash(p->scan.token.at, p->scan.token.size),
                         p->scan.token.line };
    bwl_lock_scan_next(&p->scan);
    return true;
}

/* The unit of the next argument, if it is a time that something lasts; 0: it is none. */
static bwl_ms unit_of_next(const bwl_call *call)
{
    bwl_set_word option = last_option(call);

    if (call->args_count == 1 && call->word == BWL_CALL_EXPIRE)
        return MS_PER_S;
    if (call->args_count == 1 && call->word == BWL_CALL_PEXPIRE)
        return 1;
    return option != 0 && !is_end(option) ? bwl_set_word_unit_ms(option) : 0;
}

static bool is_same_sum(const bwl_lock_sum *a, const bwl_lock_sum *b)
{
    return a->now == b->now && a->lease == b->lease && a->name == b->name && a->units == b->units;
}

/* A number that the client computes: a command has room for one. */
static bool take_computed(bwl_parser *p, bwl_lock_op *op, bwl_call_arg *ret_arg)
{
    bwl_lock_token token = p->scan.token;
    bwl_lock_sum   sum;

    if (!bwl_parse_take_sum(p, &sum))
        return false;
    if (sum.name != 0 && (p->is_reply >> (sum.name - 1) & 1) != 0)
        return bwl_lock_scan_fail(&p->scan, &token,
                                  "a reply cannot be sent, it can only be compared");
    if (sum.now == 0 && sum.lease == 0 && sum.name == 0) {
        *ret_arg = (bwl_call_arg){ BWL_ARG_NUMBER, sum.units };
        return true;
    }
    if (op->number != 0 && !is_same_sum(&op->sum, &sum))
        return bwl_lock_scan_fail(&p->scan, &token,
                                  "a command can send one computed number, and this is another");
    op->sum    = sum;
    op->number = 1; /* there is one */
    *ret_arg   = (bwl_call_arg){ BWL_ARG_COMPUTED, 0 };
    return true;
}

/* The lease, durations and numbers, in the unit of the command. */
static bool take_length(bwl_parser *p, bwl_ms unit_ms, bwl_call_arg *ret_arg)
{
    bool    has_lease = false;
    int64_t units     = 0;
    int     sign      = 1;

    while (sign != 0) {
        bwl_lock_token token = p->scan.token;
        if (token.kind == BWL_LT_DURATION && token.number % unit_ms != 0)
            return bwl_lock_scan_fail(&p->scan, &token, "this command has whole seconds");
        if (token.kind == BWL_LT_DURATION)
            units += sign * token.number / unit_ms;
        else if (token.kind == BWL_LT_NUMBER)
            units += sign * token.number;
        else if (bwl_parse_is_word(&token, "lease") && sign > 0 && !has_lease)
            has_lease = true;
        else
            return bwl_parse_expected(p, "lease, once, a duration or a number");
        bwl_lock_scan_next(&p->scan);
        sign = bwl_lock_scan_take(&p->scan, "+") ? 1 : bwl_lock_scan_take(&p->scan, "-") ? -1 : 0;
    }
    uint8_t lease = unit_ms == 1 ? BWL_ARG_LEASE_MS : BWL_ARG_LEASE_S;
    *ret_arg      = (bwl_call_arg){ has_lease ? lease : BWL_ARG_NUMBER, units };
    return true;
}

static bool take_time(bwl_parser *p, bwl_lock_op *op, bwl_ms unit_ms, bwl_call_arg *ret_arg)
{
    bool is_length =
        bwl_parse_is_at(p, BWL_LT_DURATION) || bwl_parse_is_word(&p->scan.token, "lease");

    return is_length ? take_length(p, unit_ms, ret_arg) : take_computed(p, op, ret_arg);
}

/* A time of day, behind EXAT and PXAT. */
static bool take_end(bwl_parser *p, bwl_lock_op *op, bwl_call_arg *ret_arg)
{
    bwl_lock_token token = p->scan.token;

    if (!take_computed(p, op, ret_arg))
        return false;
    if (ret_arg->kind != BWL_ARG_COMPUTED || (op->sum.now == 0 && op->sum.name == 0))
        return bwl_lock_scan_fail(&p->scan, &token,
                                  "expected a time of day: a sum with now, or a name");
    ret_arg->kind = BWL_ARG_END;
    return true;
}

static bool take_arg(bwl_parser *p, bwl_lock_op *op, bwl_call *call, bwl_call_arg *ret_arg)
{
    static const bwl_call_arg_kind kinds[] = { BWL_ARG_KEY, BWL_ARG_TOKEN, BWL_ARG_LEASE_S,
                                               BWL_ARG_LEASE_MS };
    static const char *const       words[] = { "key", "token", "lease_s", "lease_ms" };
    size_t                         word = bwl_parse_find(p, words, sizeof words / sizeof words[0]);
    size_t                         set  = call->word == BWL_CALL_SET && call->args_count >= 2
                                              ? bwl_parse_find(p, set_names, SET_WORDS)
                                              : SET_WORDS;
    bwl_ms                         unit_ms = unit_of_next(call);

    if (unit_ms != 0)
        return take_time(p, op, unit_ms, ret_arg);
    if (is_end(last_option(call)))
        return take_end(p, op, ret_arg);
    if (bwl_parse_is_at(p, BWL_LT_TEXT))
        return bwl_parse_take_text(p, ret_arg);
    if (word == sizeof words / sizeof words[0] && set == SET_WORDS) {
        if (call->word == BWL_CALL_SET && call->args_count >= 2)
            return bwl_parse_unknown(p, "NX, XX, GET, EX, PX, EXAT, PXAT or KEEPTTL", set_names + 1,
                                     SET_WORDS - 1);
        return take_computed(p, op, ret_arg);
    }
    *ret_arg = set < SET_WORDS ? (bwl_call_arg){ BWL_ARG_KEYWORD, (int64_t)set }
                               : (bwl_call_arg){ (uint8_t)kinds[word], 0 };
    bwl_lock_scan_next(&p->scan);
    return true;
}

static bool ends_args(const bwl_parser *p)
{
    static const char *const ends[] = { "->", ",", "|", ":" };

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (bwl_lock_scan_is(&p->scan, ends[i]))
            return true;
    return bwl_parse_is_at(p, BWL_LT_LINE) || bwl_parse_is_at(p, BWL_LT_END);
}

/* What the arguments of a command must be. */
static bool check_call(bwl_parser *p, const bwl_lock_token *at, const bwl_call *call)
{
    const bwl_call_arg *args = call->args;
    const char         *name = call_names[call->word];
    unsigned            set  = 0;
    unsigned            ends = 0; /* those of them that say when the key ends */

    if (call->args_count < args_min[call->word])
        return bwl_lock_scan_fail(&p->scan, at, "%s has at least %u arguments", name,
                                  args_min[call->word]);
    if (takes_key((bwl_call_word)call->word) && args[0].kind != BWL_ARG_KEY)
        return bwl_lock_scan_fail(&p->scan, at,
                                  "the first argument of %s is key: a lock file uses "
                                  "no other key",
                                  name);
    if (call->word == BWL_CALL_EVAL &&
        (args[0].kind != BWL_ARG_TEXT || args[1].kind != BWL_ARG_NUMBER || args[1].number != 1 ||
         args[2].kind != BWL_ARG_KEY))
        return bwl_lock_scan_fail(&p->scan, at,
                                  "EVAL is followed by a script in quotes, 1 and key");
    for (unsigned i = call->word == BWL_CALL_EVAL ? 3 : 1; i < call->args_count; i++) {
        if (args[i].kind == BWL_ARG_KEY && call->word != BWL_CALL_PUBLISH)
            return bwl_lock_scan_fail(&p->scan, at, "%s has one key, as its first argument", name);
        set |= args[i].kind == BWL_ARG_KEYWORD ? 1u << args[i].number : 0;
    }
    ends              = set & ~(1u << BWL_SET_NX | 1u << BWL_SET_XX | 1u << BWL_SET_GET);
    bwl_set_word last = last_option(call);
    if (last != 0 && bwl_set_word_unit_ms(last) != 0)
        return bwl_lock_scan_fail(&p->scan, at, "the time behind %s is missing",
                                  bwl_set_word_name(last));
    if ((set >> BWL_SET_NX & set >> BWL_SET_XX & 1) != 0 || (ends & (ends - 1)) != 0)
        return bwl_lock_scan_fail(&p->scan, at, "these options of SET exclude each other");
    return true;
}

static bool take_call(bwl_parser *p, bwl_lock_op *op)
{
    bwl_lock_program *program = p->program;
    bwl_lock_token    at      = p->scan.token;
    size_t            word    = bwl_parse_find(p, call_names, BWL_CALL_WORDS_END);

    if (word == BWL_CALL_WORDS_END)
        return bwl_parse_unknown(p, "a command, such as GET or SET", call_names + 1,
                                 BWL_CALL_WORDS_END - 1);
    if (program->calls_count == BWL_LOCK_FILE_CALLS_MAX)
        return bwl_lock_scan_fail(&p->scan, &at, "a file has at most %d commands",
                                  BWL_LOCK_FILE_CALLS_MAX);
    bwl_call *call = &program->calls[program->calls_count++];
    *call          = (bwl_call){ .word = (uint8_t)word };
    bwl_lock_scan_next(&p->scan);
    while (!ends_args(p)) {
        bwl_call_arg arg;
        if (call->args_count == args_max[word])
            return bwl_lock_scan_fail(&p->scan, &p->scan.token, "%s has at most %u arguments",
                                      call_names[word], args_max[word]);
        if (!take_arg(p, op, call, &arg))
            return false;
        call->args[call->args_count++] = arg;
    }
    op->calls_count++;
    return check_call(p, &at, call);
}

/* MULTI, COMMAND ..., EXEC */
static bool take_transaction(bwl_parser *p, bwl_lock_op *op)
{
    op->is_transaction = true;
    if (!bwl_lock_scan_take(&p->scan, ","))
        return bwl_parse_expected(p, "a comma behind MULTI");
    while (!bwl_lock_scan_take(&p->scan, "EXEC")) {
        bwl_lock_token at = p->scan.token;
        if (bwl_parse_is_word(&at, "WATCH") || bwl_parse_is_word(&at, "UNWATCH") ||
            bwl_parse_is_word(&at, "MULTI"))
            return bwl_parse_expected(p, "a command that a transaction can have, or EXEC");
        if (!take_call(p, op))
            return false;
        if (!bwl_lock_scan_take(&p->scan, ","))
            return bwl_parse_expected(p, "a comma and the next command, or EXEC");
    }
    if (op->calls_count == 0)
        return bwl_parse_expected(p, "a command between MULTI and EXEC");
    return true;
}

/* A command or a transaction; returns the index of its operation. */
bool bwl_parse_take_command(bwl_parser *p, uint8_t *ret_at)
{
    bwl_lock_op *op = bwl_parse_add(p, BWL_OP_CALL);
    bwl_lock_op  made;

    if (op == NULL)
        return false;
    *ret_at   = (uint8_t)(bwl_parse_here(p) - 1);
    made      = *op;
    made.call = p->program->calls_count;
    if (bwl_lock_scan_take(&p->scan, "MULTI") ? !take_transaction(p, &made) : !take_call(p, &made))
        return false;
    p->program->ops[*ret_at] = made;
    return true;
}

bool bwl_parse_is_command(const bwl_parser *p)
{
    return bwl_parse_find(p, call_names, BWL_CALL_WORDS_END) < BWL_CALL_WORDS_END ||
           bwl_lock_scan_is(&p->scan, "MULTI");
}

bool bwl_parse_not_a_step(bwl_parser *p)
{
    return bwl_parse_unknown(p,
                             "a command, NAME = ..., held, busy, released, gone, go, retry, sleep "
                             "or next",
                             call_names + 1, BWL_CALL_WORDS_END - 1);
}
