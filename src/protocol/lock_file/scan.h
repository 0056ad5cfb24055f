/*
 * scan.h -- the words of a lock file.  Private to the parser.
 */
#pragma once

#include "core/core.h"
#include "protocol/lock_file/program.h"

typedef enum bwl_lock_token_kind {
    BWL_LT_END = 1,  /* of the file */
    BWL_LT_LINE,     /* the end of a line that says something */
    BWL_LT_WORD,     /* a letter, then letters, digits, - and _ */
    BWL_LT_NUMBER,   /* digits */
    BWL_LT_DURATION, /* digits and units: 1m30s */
    BWL_LT_TEXT,     /* in "", or in `` over several lines */
    BWL_LT_SIGN,     /* -> ? : | , = != < <= > >= + - */
} bwl_lock_token_kind;

typedef struct bwl_lock_token {
    bwl_lock_token_kind kind;
    const char         *at;
    size_t              size;   /* TEXT: without its quotes */
    int64_t             number; /* NUMBER; DURATION: milliseconds */
    unsigned            line;
    unsigned            column;
} bwl_lock_token;

typedef struct bwl_lock_comment {
    const char *at; /* NULL: none yet */
    size_t      size;
} bwl_lock_comment;

typedef struct bwl_lock_scan {
    const char          *at;
    const char          *end;
    const char          *line_start;
    unsigned             line;
    bool                 has_said; /* the line has a token */
    bwl_lock_token       token;    /* the present one */
    bwl_lock_comment     comment;  /* the first */
    bwl_lock_comment     zh;       /* the first that begins with zh */
    bwl_lock_file_error *error;    /* line 0: none yet */
} bwl_lock_scan;

/* Reads the first token. */
void bwl_lock_scan_begin(bwl_lock_scan *s, const char *bytes, size_t size,
                         bwl_lock_file_error *error);
/* Reads the next token.  After an error it is END. */
void bwl_lock_scan_next(bwl_lock_scan *s);

/* The present token is this sign, or this word. */
bool bwl_lock_scan_is(const bwl_lock_scan *s, const char *text);
/* ... and reads the next one if so. */
bool bwl_lock_scan_take(bwl_lock_scan *s, const char *text);

/* In the language of the caller. */
const char *bwl_lock_scan_tr(const bwl_lock_scan *s, const char *english)
    __attribute__((format_arg(2)));

/* Reports an error at a token; only the first one counts.  Returns false. */
bool bwl_lock_scan_fail(bwl_lock_scan *s, const bwl_lock_token *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "expected ..., not `...`", at the present token. */
bool bwl_lock_scan_expected(bwl_lock_scan *s, const char *what);
