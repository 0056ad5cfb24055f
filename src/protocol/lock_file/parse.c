/*
 * parse.c -- see program.h: the settings of a lock file, and the file as a whole.
 */
#include "protocol/lock_file/lock_file.h"
#include "protocol/lock_file/parser.h"

#include <string.h>

enum { NS_PER_MS = 1000000, LEASE_MS = 10000 };

/* ---- settings -------------------------------------------------------------------------------- */

static const char *const settings[]    = { "lease", "wait", "poll",  "tries",
                                           "token", "unit", "trust", "lab" };
static const char *const units[]       = { "s", "ms", "us", "ns" };
static const char *const trusts[]      = { "lease", "whole", "forever" };
static const int64_t     unit_of_ns[4] = { 1000000000, 1000000, 1000, 1 };

static const char *const tokens[BWL_TOKEN_FORMATS] = {
    [BWL_TOKEN_OURS]        = "bowline",
    [BWL_TOKEN_UUID]        = "uuid",
    [BWL_TOKEN_HEX]         = "hex",
    [BWL_TOKEN_PID_TID]     = "pid-tid",
    [BWL_TOKEN_UUID_BARE]   = "uuid-bare",
    [BWL_TOKEN_UUID1]       = "uuid1",
    [BWL_TOKEN_UUID1_BARE]  = "uuid1-bare",
    [BWL_TOKEN_BASE64]      = "base64",
    [BWL_TOKEN_BASE64_18]   = "base64-18",
    [BWL_TOKEN_ALNUM_16]    = "alnum-16",
    [BWL_TOKEN_ALNUM_20]    = "alnum-20",
    [BWL_TOKEN_ALNUM_22]    = "alnum-22",
    [BWL_TOKEN_DATE_UUID]   = "date-uuid",
    [BWL_TOKEN_BASE64_32]   = "base64-32",
    [BWL_TOKEN_UUID_THREAD] = "uuid-thread",
};

enum { SETTINGS = sizeof settings / sizeof settings[0] };

static bool take_choice(bwl_parser *p, const char *what, const char *const *list, size_t count,
                        size_t *ret_choice)
{
    *ret_choice = bwl_parse_find(p, list, count);
    if (*ret_choice == count)
        return bwl_parse_unknown(p, what, list, count);
    bwl_lock_scan_next(&p->scan);
    return true;
}

/* lab: NAME VALUE ..., which only the lab understands. */
static bool take_lab(bwl_parser *p)
{
    bwl_lock_program *program = p->program;

    if (!bwl_lock_scan_take(&p->scan, ":"))
        return bwl_parse_expected(p, ": behind lab");
    if (program->worlds_count == BWL_LAB_WORLDS_MAX)
        return bwl_lock_scan_fail(&p->scan, &p->scan.token,
                                  "a file has at most %d lines of lab:", BWL_LAB_WORLDS_MAX);
    while (bwl_parse_is_at(p, BWL_LT_WORD)) {
        bwl_lock_token name = p->scan.token;
        bwl_lock_scan_next(&p->scan);
        bool           is_minus = bwl_lock_scan_take(&p->scan, "-");
        bwl_lock_token value    = p->scan.token;
        if (value.kind == BWL_LT_LINE || value.kind == BWL_LT_END || value.kind == BWL_LT_SIGN)
            return bwl_parse_expected(p, "a value");
        if (p->scan.at < p->scan.end && *p->scan.at == '.')
            return bwl_lock_scan_fail(&p->scan, &value,
                                      "a name has no dot here: %.*s, without .lock",
                                      (int)value.size, value.at);
        if (program->settings_count == BWL_LAB_SETTINGS_MAX)
            return bwl_lock_scan_fail(&p->scan, &name, "too many settings");
        const char *start                            = value.at - is_minus;
        program->settings[program->settings_count++] = (bwl_lab_setting){
            .name   = bwl_parse_keep(p, name.at, name.size),
            .value  = bwl_parse_keep(p, start, (size_t)(value.at + value.size - start)),
            .line   = (uint16_t)value.line,
            .column = (uint16_t)value.column,
            .world  = program->worlds_count,
        };
        bwl_lock_scan_next(&p->scan);
    }
    program->worlds_count++;
    return true;
}

static bool take_setting(bwl_parser *p)
{
    bwl_compat_rules *rules = &p->program->rules;
    bwl_lock_token    at    = p->scan.token;
    size_t            which, choice;
    bwl_ms            ms     = 0;
    int64_t           number = 0;

    if (!take_choice(p, "a setting or acquire:", settings, SETTINGS, &which))
        return false;
    switch (which) {
    case 0:
    case 1:
    case 2:
        if (!bwl_parse_take_duration(p, &ms))
            return false;
        *(which == 0 ? &rules->lease_ms : which == 1 ? &rules->wait_ms : &rules->pause_ms) = ms;
        if (ms == 0 && which != 1)
            return bwl_lock_scan_fail(&p->scan, &at, "%s is at least 1ms", settings[which]);
        return true;
    case 3:
        rules->tries_max = 0;
        if (!bwl_parse_take_number(p, INT32_MAX, &number))
            return false;
        rules->tries_max = (unsigned)number;
        return true;
    case 4:
        if (!take_choice(p, "a format of tokens, such as bowline, uuid or hex", tokens,
                         BWL_TOKEN_FORMATS, &choice))
            return false;
        rules->token = (bwl_token_format)choice;
        return true;
    case 5:
        if (!take_choice(p, "s, ms, us or ns", units, 4, &choice))
            return false;
        p->unit_ns = unit_of_ns[choice];
        return true;
    case 6:
        if (!take_choice(p, "lease, whole or forever", trusts, 3, &choice))
            return false;
        p->program->trust = (bwl_lock_trust)choice;
        return true;
    default: return take_lab(p);
    }
}

/* ---- endless programs ------------------------------------------------------------------------ */

typedef enum visit { UNSEEN = 0, OPEN, DONE } visit;

/* Where an operation leads at once, without a command or a pause; returns how many. */
static unsigned next_of(const bwl_lock_program *program, unsigned at, unsigned section,
                        unsigned ret_next[2])
{
    const bwl_lock_op *op    = &program->ops[at];
    unsigned           count = 0;

    if (op->kind == BWL_OP_CALL || op->kind == BWL_OP_SLEEP || op->kind == BWL_OP_END)
        return 0;
    if (op->kind == BWL_OP_TEST || op->kind == BWL_OP_GO)
        ret_next[count++] = op->target;
    if (op->kind == BWL_OP_RETRY && op->number == 0)
        ret_next[count++] = program->sections[section];
    else if (op->kind != BWL_OP_GO)
        ret_next[count++] = at + 1;
    return count;
}

/* The line of a cycle that neither sends a command nor waits; 0: there is none. */
static unsigned cycle_from(const bwl_lock_program *program, unsigned at, unsigned section,
                           visit *seen)
{
    unsigned next[2];
    unsigned count = next_of(program, at, section, next);
    unsigned line  = 0;

    seen[at] = OPEN;
    for (unsigned i = 0; i < count && line == 0; i++) {
        if (seen[next[i]] == OPEN)
            line = program->ops[at].line;
        else if (seen[next[i]] == UNSEEN)
            line = cycle_from(program, next[i], section, seen);
    }
    seen[at] = DONE;
    return line;
}

static bool check_cycles(bwl_parser *p)
{
    for (unsigned section = 0; section < BWL_SECTIONS_COUNT; section++) {
        visit seen[BWL_LOCK_FILE_OPS_MAX] = { UNSEEN };
        if (p->program->sections[section] == BWL_LOCK_FILE_NO_SECTION)
            continue;
        for (unsigned at = p->program->sections[section]; at < p->program->ops_count; at++) {
            unsigned line = seen[at] == UNSEEN ? cycle_from(p->program, at, section, seen) : 0;
            bwl_lock_token there = { .line = line, .column = 1 };
            if (line != 0)
                return bwl_lock_scan_fail(&p->scan, &there,
                                          "this goes round without a command and without a sleep");
        }
    }
    return true;
}

/* ---- watched keys ---------------------------------------------------------------------------- */

/* Follows every path of a section; returns the first line where a path ends while the key is
 * watched, or watches it again.  WATCH is a state of the connection, which many locks share. */
static unsigned watched_end(const bwl_lock_program *program, unsigned at, unsigned section,
                            bool watches, bool seen[][2])
{
    const bwl_lock_op *op   = &program->ops[at];
    unsigned           word = op->kind == BWL_OP_CALL ? program->calls[op->call].word : 0;
    unsigned           next[2];
    unsigned           count = next_of(program, at, section, next);
    unsigned           line  = 0;

    if (seen[at][watches])
        return 0;
    seen[at][watches] = true;
    if (watches && (op->kind == BWL_OP_END || word == BWL_CALL_WATCH))
        return op->line;
    if (word == BWL_CALL_WATCH)
        watches = true;
    else if (word == BWL_CALL_UNWATCH || op->is_transaction)
        watches = false;
    if (op->kind == BWL_OP_CALL || op->kind == BWL_OP_SLEEP)
        next[count++] = at + 1;
    for (unsigned i = 0; i < count && line == 0; i++)
        line = watched_end(program, next[i], section, watches, seen);
    return line;
}

static bool check_watches(bwl_parser *p)
{
    for (unsigned section = 0; section < BWL_SECTIONS_COUNT; section++) {
        bool     seen[BWL_LOCK_FILE_OPS_MAX][2] = { { false } };
        unsigned at                             = p->program->sections[section];
        unsigned line =
            at != BWL_LOCK_FILE_NO_SECTION ? watched_end(p->program, at, section, false, seen) : 0;
        bwl_lock_token there = { .line = line, .column = 1 };
        if (line != 0)
            return bwl_lock_scan_fail(&p->scan, &there,
                                      "the key is still watched here: UNWATCH or MULTI ... EXEC "
                                      "must come first");
    }
    return true;
}

/* ---- a file ---------------------------------------------------------------------------------- */

static bool take_file(bwl_parser *p)
{
    while (bwl_parse_is_at(p, BWL_LT_LINE))
        bwl_lock_scan_next(&p->scan);
    while (!(bwl_parse_is_label(p) && !bwl_lock_scan_is(&p->scan, "lab"))) {
        if (bwl_parse_lacks_colon(p) || !take_setting(p))
            return false;
        while (bwl_parse_is_at(p, BWL_LT_LINE))
            bwl_lock_scan_next(&p->scan);
        if (bwl_parse_is_at(p, BWL_LT_END))
            return bwl_parse_expected(p, "acquire:");
    }
    while (!bwl_parse_is_at(p, BWL_LT_END))
        if (!bwl_parse_take_section(p))
            return false;
    for (unsigned i = BWL_SECTION_ACQUIRE; i <= BWL_SECTION_RELEASE; i++)
        if (p->program->sections[i] == BWL_LOCK_FILE_NO_SECTION && p->scan.error->line == 0)
            return bwl_parse_expected(p, i == BWL_SECTION_ACQUIRE ? "acquire:" : "release:");
    return p->scan.error->line == 0 && check_cycles(p) && check_watches(p);
}

bool bwl_lock_program_parse(bwl_lock_program *ret_program, const char *name, const char *bytes,
                            size_t size, bwl_lock_file_error *reterr)
{
    bwl_parser p = { .program = ret_program, .text = ret_program->room, .unit_ns = NS_PER_MS };

    memset(ret_program, 0, sizeof *ret_program);
    memset(ret_program->sections, BWL_LOCK_FILE_NO_SECTION, sizeof ret_program->sections);
    ret_program->rules    = (bwl_compat_rules){ .value = BWL_VALUE_TOKEN, .lease_ms = LEASE_MS };
    const char *kept_name = bwl_parse_keep(&p, name, strlen(name));
    bwl_lock_scan_begin(&p.scan, bytes, size < BWL_LOCK_FILE_MAX ? size : 0, reterr);
    if (size >= BWL_LOCK_FILE_MAX)
        return bwl_lock_scan_fail(&p.scan, &p.scan.token, "a lock file has less than %d bytes",
                                  BWL_LOCK_FILE_MAX);
    if (!take_file(&p))
        return false;
    ret_program->rules.unit_ns = p.unit_ns;
    ret_program->story         = bwl_parse_keep(&p, p.scan.comment.at, p.scan.comment.size);
    ret_program->story_zh      = bwl_parse_keep(&p, p.scan.zh.at, p.scan.zh.size);
    bwl_lock_file_finish(ret_program, kept_name);
    return true;
}
