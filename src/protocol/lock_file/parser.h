/*
 * parser.h -- the parser of lock files: recursive descent, one operation after the other.  Private.
 *
 * Each function returns false after an error, which it has reported.  After one, the present token
 * is the end of the file.
 */
#pragma once

#include "protocol/lock_file/scan.h"

enum { BWL_LABELS_MAX = 40 };

typedef enum bwl_lock_section {
    BWL_SECTION_ACQUIRE = 0,
    BWL_SECTION_RELEASE,
    BWL_SECTION_RENEW,
    BWL_SECTIONS_COUNT
} bwl_lock_section;

/* A name in front of a statement; or a `go` to one. */
typedef struct bwl_lock_label {
    bwl_lock_token token;
    uint8_t        op;
    bool           is_go;
} bwl_lock_label;

typedef struct bwl_parser {
    bwl_lock_scan     scan;
    bwl_lock_program *program;
    char             *text; /* the next free byte of program->text */
    bwl_lock_section  section;
    bool              falls; /* the step before leads to the next one */
    int64_t           unit_ns;
    uint8_t           is_reply; /* flags 1 << name: a reply, not a time */
    unsigned          labels_count;
    bwl_lock_label    labels[BWL_LABELS_MAX];
} bwl_parser;

/* ---- words ----------------------------------------------------------------------------------- */

bool bwl_parse_is_at(const bwl_parser *p, bwl_lock_token_kind kind);
bool bwl_parse_is_word(const bwl_lock_token *token, const char *text);
/* The index of the present word in a list; `count` if it is none. */
size_t bwl_parse_find(const bwl_parser *p, const char *const *list, size_t count);
bool   bwl_parse_expected(bwl_parser *p, const char *what);
/* Reports that the present word is in no list, with the nearest one of it. */
bool bwl_parse_unknown(bwl_parser *p, const char *what, const char *const *list, size_t count);
const char *bwl_parse_keep(bwl_parser *p, const char *bytes, size_t size);
bool        bwl_parse_take_duration(bwl_parser *p, bwl_ms *ret_ms);
bool        bwl_parse_take_number(bwl_parser *p, int64_t max, int64_t *ret_number);

/* ---- operations ------------------------------------------------------------------------------ */

/* NULL: there is no room. */
bwl_lock_op *bwl_parse_add(bwl_parser *p, bwl_lock_op_kind kind);
uint8_t      bwl_parse_here(const bwl_parser *p); /* the next one */
bool         bwl_parse_add_end(bwl_parser *p, bwl_outcome_kind outcome);
bool         bwl_parse_add_go(bwl_parser *p, uint8_t *ret_at); /* its target is set later */

/* ---- names, numbers, commands ---------------------------------------------------------------- */

unsigned bwl_parse_find_name(const bwl_parser *p); /* names_count: the present word is none */
bool     bwl_parse_is_reserved(const bwl_parser *p);
bool     bwl_parse_take_new_name(bwl_parser *p, bool is_reply, uint8_t *ret_name);
bool     bwl_parse_take_sum(bwl_parser *p, bwl_lock_sum *ret_sum);
bool     bwl_parse_take_text(bwl_parser *p, bwl_call_arg *ret_arg);
bool     bwl_parse_is_command(const bwl_parser *p);
/* Reports that the present token begins no step. */
bool bwl_parse_not_a_step(bwl_parser *p);
/* A command or a transaction, as the operation *ret_at. */
bool bwl_parse_take_command(bwl_parser *p, uint8_t *ret_at);

/* ---- sections -------------------------------------------------------------------------------- */

bool bwl_parse_is_label(const bwl_parser *p);

/* The name of a section without its colon: reports that. */
bool bwl_parse_lacks_colon(bwl_parser *p);
bool bwl_parse_take_section(bwl_parser *p);
