/*
 * parse_steps.c -- see parser.h: what follows a reply, and the sections.
 *
 * A list of cases becomes TESTs and GOs:
 *
 *      COMMAND -> a ? x | b ? y : z          CALL; a: X; GO 1; X: x; GO end;
 *                                            1: b: Y; GO 2; Y: y; GO end; 2: z; end:
 */
#include "protocol/lock_file/lock_file.h"
#include "protocol/lock_file/parser.h"
#include "core/nearest.h"
#include "core/text.h"

#include <string.h>

/* ---- what follows a reply -------------------------------------------------------------------- */

static bool take_test_of_number(bwl_parser *p, bwl_lock_test test, bwl_lock_op *op)
{
    bwl_lock_token at = p->scan.token;

    op->test = (uint8_t)test;
    if (!bwl_parse_take_sum(p, &op->sum))
        return false;
    if (op->sum.name != 0 && (p->is_reply >> (op->sum.name - 1) & 1) != 0)
        return bwl_lock_scan_fail(&p->scan, &at, "a reply can only be compared with = and !=");
    return true;
}

static bool is_decimal(const bwl_lock_text *text, int64_t *ret_number)
{
    uint64_t number;
    bool     is_so = bwl_number_parse(&number, text->bytes, text->size, INT64_MAX);

    *ret_number = is_so ? (int64_t)number : 0;
    return is_so;
}

/* Behind = or !=. */
static bool take_equal(bwl_parser *p, bwl_lock_op *op)
{
    unsigned     name = bwl_parse_find_name(p);
    bwl_call_arg text;

    if (bwl_lock_scan_take(&p->scan, "token")) {
        op->test = BWL_TEST_TOKEN;
    } else if (bwl_parse_is_at(p, BWL_LT_TEXT)) {
        op->test = BWL_TEST_TEXT;
        if (!bwl_parse_take_text(p, &text))
            return false;
        op->number = text.number;
        if (is_decimal(&p->program->texts[text.number], &op->sum.units))
            op->test = BWL_TEST_EQUAL; /* as the reply of a server is */
    } else if (name < p->program->names_count && (p->is_reply >> name & 1) != 0) {
        op->test = BWL_TEST_SAME;
        op->name = (uint8_t)name;
        bwl_lock_scan_next(&p->scan);
    } else {
        return take_test_of_number(p, BWL_TEST_EQUAL, op);
    }
    return true;
}

/* Adds the test; its target is set later. */
static bool take_test(bwl_parser *p, bwl_lock_op *call)
{
    static const char *const   signs[]    = { "<=", "<", ">=", ">" };
    static const bwl_lock_test of_signs[] = { BWL_TEST_LESS_OR_EQUAL, BWL_TEST_LESS,
                                              BWL_TEST_MORE_OR_EQUAL, BWL_TEST_MORE };
    static const char *const   words[]    = { "nil", "OK", "error", "down" };
    static const bwl_lock_test of_words[] = { BWL_TEST_NIL, BWL_TEST_OK, BWL_TEST_ERROR,
                                              BWL_TEST_DOWN };
    size_t                     word       = bwl_parse_find(p, words, 4);
    bwl_lock_op               *op         = bwl_parse_add(p, BWL_OP_TEST);

    if (op == NULL)
        return false;
    if (word < 4) {
        op->test            = (uint8_t)of_words[word];
        call->handles_error = call->handles_error || op->test == BWL_TEST_ERROR;
        call->handles_down  = call->handles_down || op->test == BWL_TEST_DOWN;
        bwl_lock_scan_next(&p->scan);
        return true;
    }
    for (unsigned i = 0; i < 4; i++)
        if (bwl_lock_scan_take(&p->scan, signs[i]))
            return take_test_of_number(p, of_signs[i], op);
    op->is_negated = bwl_lock_scan_is(&p->scan, "!=");
    if (bwl_lock_scan_take(&p->scan, "=") || bwl_lock_scan_take(&p->scan, "!="))
        return take_equal(p, op);
    if (bwl_parse_is_at(p, BWL_LT_NUMBER) || bwl_lock_scan_is(&p->scan, "-"))
        return take_test_of_number(p, BWL_TEST_EQUAL, op);
    return bwl_parse_expected(
        p, "a test: nil, OK, error, down, a number, or =, !=, <, <=, >, >= and a value");
}

static const char *const section_names[BWL_SECTIONS_COUNT] = { "acquire", "release", "renew" };

static const char *const results[] = { "held", "busy", "released", "gone" };

/* The result in this section; PENDING: it has no meaning there. */
static bwl_outcome_kind result_of(bwl_lock_section s, size_t word)
{
    static const bwl_outcome_kind of[BWL_SECTIONS_COUNT][4] = {
        [BWL_SECTION_ACQUIRE] = { BWL_HELD, BWL_BUSY, BWL_PENDING, BWL_PENDING },
        [BWL_SECTION_RELEASE] = { BWL_PENDING, BWL_PENDING, BWL_RELEASED, BWL_LOST },
        [BWL_SECTION_RENEW]   = { BWL_HELD, BWL_PENDING, BWL_PENDING, BWL_LOST },
    };

    return of[s][word];
}

static bool take_result(bwl_parser *p, size_t word)
{
    static const char *const of_sections[BWL_SECTIONS_COUNT] = { "held or busy", "released or gone",
                                                                 "held or gone" };
    bwl_outcome_kind         outcome                         = result_of(p->section, word);

    if (outcome == BWL_PENDING)
        return bwl_lock_scan_fail(&p->scan, &p->scan.token, "%s is no result of %s: %s",
                                  results[word], section_names[p->section],
                                  bwl_lock_scan_tr(&p->scan, of_sections[p->section]));
    bwl_lock_scan_next(&p->scan);
    return bwl_parse_add_end(p, outcome);
}

static bool take_go(bwl_parser *p)
{
    if (!bwl_parse_is_at(p, BWL_LT_WORD))
        return bwl_parse_expected(p, "a label");
    if (p->labels_count == BWL_LABELS_MAX)
        return bwl_lock_scan_fail(&p->scan, &p->scan.token, "too many labels");
    p->labels[p->labels_count++] = (bwl_lock_label){ p->scan.token, bwl_parse_here(p), true };
    bwl_lock_scan_next(&p->scan);
    p->falls = false;
    return bwl_parse_add(p, BWL_OP_GO) != NULL;
}

static bool take_retry(bwl_parser *p)
{
    bwl_lock_op *op = bwl_parse_add(p, BWL_OP_RETRY);

    if (op == NULL)
        return false;
    if (!bwl_parse_is_at(p, BWL_LT_NUMBER)) {
        p->falls = false;
        return true;
    }
    if (p->scan.token.number == 0)
        return bwl_parse_expected(p, "a number of tries, at least 1");
    return bwl_parse_take_number(p, BWL_LOCK_FILE_TRIES_MAX, &op->number);
}

/* NAME = SUM, or NAME = COMMAND. */
static bool take_assignment(bwl_parser *p, uint8_t *ret_call)
{
    bwl_lock_scan ahead = p->scan;
    uint8_t       name  = 0;
    bwl_lock_op  *op;

    bwl_lock_scan_next(&ahead); /* = */
    bwl_lock_scan_next(&ahead);
    bwl_parser after = *p;
    after.scan       = ahead;
    bool is_called   = bwl_parse_is_command(&after);
    if (!bwl_parse_take_new_name(p, is_called, &name) || !bwl_lock_scan_take(&p->scan, "="))
        return false;
    if (is_called && !bwl_parse_take_command(p, ret_call))
        return false;
    op = bwl_parse_add(p, is_called ? BWL_OP_SAVE : BWL_OP_LET);
    if (op == NULL)
        return false;
    op->name = name;
    return is_called || bwl_parse_take_sum(p, &op->sum);
}

/* A word is present, and the sign behind it.  An error there is not reported yet. */
static bool is_word_before(const bwl_parser *p, const char *sign)
{
    bwl_lock_scan ahead = p->scan;

    if (ahead.token.kind != BWL_LT_WORD)
        return false;
    bwl_lock_scan_next(&ahead);
    return bwl_lock_scan_is(&ahead, sign);
}

static bool is_assignment(const bwl_parser *p)
{
    return is_word_before(p, "=");
}

/* One thing to do.  *ret_call: its command; NO_SECTION: it has none. */
static bool take_step(bwl_parser *p, uint8_t *ret_call)
{
    size_t       result = bwl_parse_find(p, results, 4);
    bwl_lock_op *op;

    *ret_call = BWL_LOCK_FILE_NO_SECTION;
    if (!p->falls)
        return bwl_lock_scan_fail(&p->scan, &p->scan.token, "nothing leads to this step");
    if (bwl_parse_is_command(p))
        return bwl_parse_take_command(p, ret_call);
    if (is_assignment(p))
        return take_assignment(p, ret_call);
    if (result < 4)
        return take_result(p, result);
    if (bwl_lock_scan_take(&p->scan, "go"))
        return take_go(p);
    if (bwl_lock_scan_take(&p->scan, "retry"))
        return take_retry(p);
    if (bwl_lock_scan_take(&p->scan, "next"))
        return true;
    if (bwl_lock_scan_take(&p->scan, "sleep")) {
        op = bwl_parse_add(p, BWL_OP_SLEEP);
        return op != NULL && bwl_parse_take_duration(p, &op->number);
    }
    return bwl_parse_not_a_step(p);
}

/* Steps with commas.  Then the first step behind all cases follows, unless a result does. */
static bool take_steps(bwl_parser *p, uint8_t *ret_end_go)
{
    uint8_t call;

    *ret_end_go = BWL_LOCK_FILE_NO_SECTION;
    p->falls    = true;
    do {
        if (!take_step(p, &call))
            return false;
        if (bwl_lock_scan_is(&p->scan, "->"))
            return bwl_lock_scan_fail(&p->scan, &p->scan.token,
                                      "a command within cases has none of its own: put it on a "
                                      "line with a label, and go there");
    } while (bwl_lock_scan_take(&p->scan, ","));
    return !p->falls || bwl_parse_add_go(p, ret_end_go);
}

/* TEST or TEST ? STEPS.  Its tests go to the steps, and the GO behind them to the next case. */
static bool take_case(bwl_parser *p, uint8_t call, uint8_t *ret_end_go)
{
    uint8_t first = bwl_parse_here(p);
    uint8_t over;

    do {
        if (!take_test(p, &p->program->ops[call]))
            return false;
    } while (bwl_lock_scan_take(&p->scan, "or"));
    if (!bwl_lock_scan_take(&p->scan, "?"))
        return bwl_parse_expected(p, "? or another test behind or");
    if (!bwl_parse_add_go(p, &over))
        return false;
    for (uint8_t i = first; i < over; i++)
        p->program->ops[i].target = bwl_parse_here(p);
    if (!take_steps(p, ret_end_go))
        return false;
    p->program->ops[over].target = bwl_parse_here(p);
    return true;
}

/* Behind ->: cases, and what else happens. */
static bool take_cases(bwl_parser *p, uint8_t call)
{
    enum { CASES_MAX = 16 };
    uint8_t  ends[CASES_MAX + 1];
    unsigned count = 0;
    bool     falls = true;

    if (bwl_parse_is_command(p) || is_assignment(p) || bwl_parse_find(p, results, 4) < 4 ||
        bwl_lock_scan_is(&p->scan, "go") || bwl_lock_scan_is(&p->scan, "retry") ||
        bwl_lock_scan_is(&p->scan, "sleep") || bwl_lock_scan_is(&p->scan, "next")) {
        if (!take_steps(p, &ends[0]))
            return false;
        count = 1;
        falls = false;
    } else {
        do {
            if (count == CASES_MAX)
                return bwl_lock_scan_fail(&p->scan, &p->scan.token, "at most %d cases", CASES_MAX);
            if (!take_case(p, call, &ends[count++]))
                return false;
        } while (bwl_lock_scan_take(&p->scan, "|"));
        if (bwl_lock_scan_take(&p->scan, ":")) {
            if (!take_steps(p, &ends[count++]))
                return false;
            falls = false;
        }
    }
    for (unsigned i = 0; i < count; i++)
        if (ends[i] != BWL_LOCK_FILE_NO_SECTION) {
            p->program->ops[ends[i]].target = bwl_parse_here(p);
            falls                           = true;
        }
    p->falls = falls;
    return true;
}

/* ---- sections -------------------------------------------------------------------------------- */

bool bwl_parse_is_label(const bwl_parser *p)
{
    return is_word_before(p, ":");
}

/* The section that the file does not have yet and that the present word, no section, is meant to
 * be; NULL: none. */
static const char *section_meant(const bwl_parser *p)
{
    static const char *const other_names[BWL_SECTIONS_COUNT] = { "lock", "unlock", "extend" };
    enum { WORD_MAX = 12 };
    char        word[WORD_MAX + 1] = "";
    const char *meant;

    if (p->scan.token.size <= WORD_MAX)
        memcpy(word, p->scan.token.at, p->scan.token.size);
    meant = bwl_nearest(word, section_names, BWL_SECTIONS_COUNT);
    for (unsigned i = 0; i < BWL_SECTIONS_COUNT; i++) {
        if (bwl_parse_is_word(&p->scan.token, other_names[i]))
            meant = section_names[i];
        if (meant == section_names[i] && p->program->sections[i] != BWL_LOCK_FILE_NO_SECTION)
            return NULL;
    }
    return meant;
}

static bool take_label(bwl_parser *p)
{
    const char *meant = section_meant(p);

    if (meant != NULL)
        return bwl_lock_scan_fail(&p->scan, &p->scan.token,
                                  "%.*s: is no section: did you mean %s:? (a label needs another "
                                  "name)",
                                  (int)p->scan.token.size, p->scan.token.at, meant);
    if (bwl_parse_is_word(&p->scan.token, "lab"))
        return bwl_lock_scan_fail(&p->scan, &p->scan.token,
                                  "lab: comes before the first section, as all settings do");
    if (bwl_parse_is_reserved(p) || bwl_parse_is_command(p))
        return bwl_parse_expected(p, "a label of your own");
    for (unsigned i = 0; i < p->labels_count; i++)
        if (!p->labels[i].is_go && p->labels[i].token.size == p->scan.token.size &&
            memcmp(p->labels[i].token.at, p->scan.token.at, p->scan.token.size) == 0)
            return bwl_parse_expected(p, "a label that the section does not have yet");
    if (p->labels_count == BWL_LABELS_MAX)
        return bwl_lock_scan_fail(&p->scan, &p->scan.token, "too many labels");
    p->labels[p->labels_count++] = (bwl_lock_label){ p->scan.token, bwl_parse_here(p), false };
    p->falls                     = true;
    bwl_lock_scan_next(&p->scan);
    bwl_lock_scan_next(&p->scan); /* the colon */
    return true;
}

bool bwl_parse_lacks_colon(bwl_parser *p)
{
    if (bwl_parse_find(p, section_names, BWL_SECTIONS_COUNT) == BWL_SECTIONS_COUNT ||
        bwl_parse_is_label(p) || is_assignment(p))
        return false;
    bwl_lock_scan_next(&p->scan);
    return !bwl_parse_expected(p, ":");
}

static bool take_statement(bwl_parser *p)
{
    uint8_t call;

    if (bwl_parse_lacks_colon(p))
        return false;
    if (bwl_parse_is_label(p) && !take_label(p))
        return false;
    if (!take_step(p, &call))
        return false;
    while (call == BWL_LOCK_FILE_NO_SECTION && bwl_lock_scan_take(&p->scan, ","))
        if (!take_step(p, &call))
            return false;
    if (call != BWL_LOCK_FILE_NO_SECTION && bwl_lock_scan_take(&p->scan, "->") &&
        !take_cases(p, call))
        return false;
    if (bwl_parse_is_at(p, BWL_LT_END))
        return p->scan.error->line == 0;
    if (!bwl_parse_is_at(p, BWL_LT_LINE))
        return bwl_parse_expected(p, call == BWL_LOCK_FILE_NO_SECTION
                                         ? "the end of the line"
                                         : "-> or the end of the line");
    bwl_lock_scan_next(&p->scan);
    return true;
}

static bool resolve_labels(bwl_parser *p)
{
    for (unsigned i = 0; i < p->labels_count; i++) {
        const bwl_lock_label *go    = &p->labels[i];
        bool                  found = !go->is_go;
        for (unsigned j = 0; j < p->labels_count && !found; j++) {
            const bwl_lock_label *to = &p->labels[j];
            found                    = !to->is_go && to->token.size == go->token.size &&
                    memcmp(to->token.at, go->token.at, go->token.size) == 0;
            if (found)
                p->program->ops[go->op].target = to->op;
        }
        if (!found)
            return bwl_lock_scan_fail(&p->scan, &go->token, "the %s section has no label %.*s",
                                      section_names[p->section], (int)go->token.size, go->token.at);
    }
    p->labels_count = 0;
    return true;
}

/* What the end of a section means. */
static bool end_section(bwl_parser *p, const bwl_lock_token *at)
{
    static const bwl_outcome_kind ends[BWL_SECTIONS_COUNT] = { BWL_PENDING, BWL_RELEASED,
                                                               BWL_HELD };

    if (!resolve_labels(p))
        return false;
    if (p->section == BWL_SECTION_ACQUIRE && p->falls)
        return bwl_lock_scan_fail(
            &p->scan, at, "this section can end without a result: end it with held or busy");
    return bwl_parse_add_end(p, p->falls ? ends[p->section] : BWL_BUSY);
}

bool bwl_parse_take_section(bwl_parser *p)
{
    bwl_lock_token at = p->scan.token;

    p->section = (bwl_lock_section)bwl_parse_find(p, section_names, BWL_SECTIONS_COUNT);
    if (p->section == BWL_SECTIONS_COUNT) {
        const char *meant = section_meant(p);
        return meant == NULL
                   ? bwl_parse_expected(p, "acquire:, release: or renew:")
                   : bwl_lock_scan_fail(&p->scan, &at, "%.*s: is no section: did you mean %s:?",
                                        (int)at.size, at.at, meant);
    }
    if (p->program->sections[p->section] != BWL_LOCK_FILE_NO_SECTION)
        return bwl_parse_expected(p, "a section that the file does not have yet");
    bwl_lock_scan_next(&p->scan);
    if (!bwl_lock_scan_take(&p->scan, ":"))
        return bwl_parse_expected(p, ":");
    p->program->sections[p->section] = bwl_parse_here(p);
    p->falls                         = true;
    while (!bwl_parse_is_at(p, BWL_LT_END) &&
           !(bwl_parse_is_label(p) &&
             bwl_parse_find(p, section_names, BWL_SECTIONS_COUNT) < BWL_SECTIONS_COUNT))
        if (!take_statement(p))
            return false;
    return end_section(p, &at);
}
