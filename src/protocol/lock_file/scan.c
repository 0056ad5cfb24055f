#include "protocol/lock_file/scan.h"
#include "core/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_in_word(char c)
{
    return is_letter(c) || is_digit(c) || c == '_' || c == '-';
}

/* ---- errors ---------------------------------------------------------------------------------- */

const char *bwl_lock_scan_tr(const bwl_lock_scan *s, const char *english)
{
    return s->error->translate != NULL ? s->error->translate(english) : english;
}

bool bwl_lock_scan_fail(bwl_lock_scan *s, const bwl_lock_token *at, const char *format, ...)
{
    va_list args;

    if (s->error->line == 0) {
        va_start(args, format);
        (void)vsnprintf(s->error->text, sizeof s->error->text, bwl_lock_scan_tr(s, format), args);
        va_end(args);
        s->error->line   = at->line;
        s->error->column = at->column;
    }
    s->at    = s->end;
    s->token = (bwl_lock_token){ .kind = BWL_LT_END, .at = s->end, .line = s->line, .column = 1 };
    return false;
}

bool bwl_lock_scan_expected(bwl_lock_scan *s, const char *what)
{
    enum { SHOWN_MAX = 30 };
    bwl_lock_token token = s->token;
    int            size  = (int)(token.size < SHOWN_MAX ? token.size : SHOWN_MAX);

    what = bwl_lock_scan_tr(s, what);
    if (token.kind == BWL_LT_END)
        return bwl_lock_scan_fail(s, &token, "expected %s, but the file ends here", what);
    if (token.kind == BWL_LT_LINE)
        return bwl_lock_scan_fail(s, &token, "expected %s, but the line ends here", what);
    return bwl_lock_scan_fail(s, &token, "expected %s, not %.*s", what, size, token.at);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void begin_line(bwl_lock_scan *s)
{
    s->line++;
    s->line_start = s->at;
    s->has_said   = false;
}

static void skip_comment(bwl_lock_scan *s)
{
    static const char zh[]    = "zh ";
    bwl_lock_comment  comment = { s->at + 1, 0 };
    bwl_lock_comment *first   = &s->comment;

    while (s->at < s->end && *s->at != '\n')
        s->at++;
    while (comment.at < s->at && (*comment.at == ' ' || *comment.at == '#'))
        comment.at++;
    comment.size = (size_t)(s->at - comment.at);
    while (comment.size > 0 && is_blank(comment.at[comment.size - 1]))
        comment.size--;
    if (comment.size >= sizeof zh && memcmp(comment.at, zh, sizeof zh - 1) == 0) {
        comment.at += sizeof zh - 1;
        comment.size -= sizeof zh - 1;
        first = &s->zh;
    }
    if (first->at == NULL && comment.size > 0)
        *first = comment;
}

static void accept(bwl_lock_scan *s, bwl_lock_token_kind kind, size_t size)
{
    s->token.kind = kind;
    s->token.size = size;
    s->at += size;
    s->has_said = true;
}

static void scan_number(bwl_lock_scan *s)
{
    enum { NUMBER_MAX = 1000000000 };
    size_t   size = 1;
    uint64_t number;
    bool     is_plain = true;

    for (; s->at + size < s->end && (is_digit(s->at[size]) || is_letter(s->at[size])); size++)
        is_plain = is_plain && is_digit(s->at[size]);
    accept(s, is_plain ? BWL_LT_NUMBER : BWL_LT_DURATION, size);
    if (is_plain && bwl_number_parse(&number, s->token.at, size, NUMBER_MAX))
        s->token.number = (int64_t)number;
    else if (is_plain)
        (void)bwl_lock_scan_fail(s, &s->token, "a number is at most %d, without leading zeros",
                                 NUMBER_MAX);
    else if (!bwl_duration_parse(&s->token.number, s->token.at, size) ||
             s->token.number > NUMBER_MAX)
        (void)bwl_lock_scan_fail(s, &s->token,
                                 "a duration is a number and ms, s, m, h or d: 100ms, 1m30s");
}

/* A text in `` may have several lines. */
static void scan_text(bwl_lock_scan *s)
{
    char        quote = *s->at++;
    const char *from  = s->at;
    const char *line  = s->line_start;
    unsigned    lines = 0;

    for (; s->at < s->end && *s->at != quote && (*s->at != '\n' || quote == '`'); s->at++)
        if (*s->at == '\n') {
            line = s->at + 1;
            lines++;
        }
    if (s->at == s->end || *s->at != quote) {
        (void)bwl_lock_scan_fail(s, &s->token,
                                 "the text that begins here has no end: %c is missing", quote);
        return;
    }
    s->token.at   = from;
    s->token.kind = BWL_LT_TEXT;
    s->token.size = (size_t)(s->at - from);
    s->at++;
    s->line += lines;
    s->line_start = line;
    s->has_said   = true;
}

/* The sign that a Chinese keyboard has written in its double width, U+FF01 to U+FF5E; 0: none. */
static char wide_sign(const bwl_lock_scan *s)
{
    const unsigned char *byte = (const unsigned char *)s->at;

    if (s->end - s->at < 3 || byte[0] != 0xef || (byte[1] != 0xbc && byte[1] != 0xbd))
        return '\0';
    return (char)(0x20 + (byte[1] - 0xbc) * 0x40 + (byte[2] & 0x3f));
}

static void scan_sign(bwl_lock_scan *s)
{
    static const char *const signs[] = { "->", "<=", ">=", "!=", "?", ":", "|",
                                         ",",  "=",  "<",  ">",  "+", "-" };

    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        size_t size = strlen(signs[i]);
        if ((size_t)(s->end - s->at) >= size && memcmp(s->at, signs[i], size) == 0) {
            accept(s, BWL_LT_SIGN, size);
            return;
        }
    }
    if (wide_sign(s) != '\0')
        (void)bwl_lock_scan_fail(s, &s->token, "this sign is of double width: write %c",
                                 wide_sign(s));
    else if (*s->at > ' ' && *s->at < 0x7f)
        (void)bwl_lock_scan_fail(s, &s->token, "%c means nothing here", *s->at);
    else
        (void)bwl_lock_scan_fail(s, &s->token, "the byte 0x%02x means nothing here",
                                 (unsigned)(unsigned char)*s->at);
}

static bool continues(const bwl_lock_token *last)
{
    static const char *const signs[] = { "->", "?", ":", "|", ",", "=", "+", "-" };

    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (last->kind == BWL_LT_SIGN && last->size == strlen(signs[i]) &&
            memcmp(last->at, signs[i], last->size) == 0)
            return true;
    return false;
}

/* Skips blanks, comments, and the ends of lines without tokens.  A line that ends with a sign goes
 * on. */
static void skip(bwl_lock_scan *s)
{
    for (; s->at < s->end; s->at++) {
        if (*s->at == '#')
            skip_comment(s);
        if (s->at == s->end)
            return;
        if (*s->at == '\n' && s->has_said && !continues(&s->token))
            return;
        if (*s->at == '\n') {
            s->at++;
            begin_line(s);
            s->at--;
        } else if (!is_blank(*s->at)) {
            return;
        }
    }
}

void bwl_lock_scan_next(bwl_lock_scan *s)
{
    size_t size = 1;

    skip(s);
    s->token = (bwl_lock_token){ .kind   = BWL_LT_END,
                                 .at     = s->at,
                                 .line   = s->line,
                                 .column = (unsigned)(s->at - s->line_start) + 1 };
    if (s->at == s->end && s->has_said) {
        s->token.kind = BWL_LT_LINE;
        s->has_said   = false;
        return;
    }
    if (s->at == s->end)
        return;
    if (*s->at == '\n') {
        s->token.kind = BWL_LT_LINE;
        s->at++;
        begin_line(s);
    } else if (is_letter(*s->at)) {
        while (s->at + size < s->end && is_in_word(s->at[size]) &&
               !(s->at[size] == '-' && s->at + size + 1 < s->end && s->at[size + 1] == '>'))
            size++;
        accept(s, BWL_LT_WORD, size);
    } else if (is_digit(*s->at)) {
        scan_number(s);
    } else if (*s->at == '"' || *s->at == '`') {
        scan_text(s);
    } else {
        scan_sign(s);
    }
}

void bwl_lock_scan_begin(bwl_lock_scan *s, const char *bytes, size_t size,
                         bwl_lock_file_error *error)
{
    *error = (bwl_lock_file_error){ .translate = error->translate };
    *s     = (bwl_lock_scan){
            .at = bytes, .end = bytes + size, .line_start = bytes, .line = 1, .error = error
    };
    bwl_lock_scan_next(s);
}

bool bwl_lock_scan_is(const bwl_lock_scan *s, const char *text)
{
    return (s->token.kind == BWL_LT_WORD || s->token.kind == BWL_LT_SIGN) &&
           s->token.size == strlen(text) && memcmp(s->token.at, text, s->token.size) == 0;
}

bool bwl_lock_scan_take(bwl_lock_scan *s, const char *text)
{
    bool is_so = bwl_lock_scan_is(s, text);

    if (is_so)
        bwl_lock_scan_next(s);
    return is_so;
}
