/*
 * protocol.c -- see protocol.h.
 */
#include "sim/redis/core/protocol.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_MAX_SIZE   = 64 * 1024,
    ARGS_MAX        = 1024 * 1024,
    BULK_MAX        = 512 * 1024 * 1024,
    STRANGERS_ARGS  = 10, /* before AUTH */
    STRANGERS_BULK  = 16384,
    ARGS_ROOM_FIRST = 16,
};

static int broken(model_parser *parser, const char *why)
{
    (void)snprintf(parser->error, sizeof parser->error, "ERR Protocol error: %s", why);
    return MODEL_PARSE_BROKEN;
}

static void add(model_parser *parser, model_text text)
{
    if (parser->argc == parser->room) {
        parser->room = parser->room == 0 ? ARGS_ROOM_FIRST : parser->room * 2;
        parser->argv = model_resize(parser->argv, parser->room * sizeof *parser->argv);
    }
    parser->argv[parser->argc++] = text;
}

/* The line at the start, without its end; used counts the end as well. */
static bool find_line(model_text bytes, model_text *ret_line, size_t *ret_used)
{
    const char *end = bytes.size != 0 ? memchr(bytes.at, '\r', bytes.size) : NULL;

    if (end == NULL || (size_t)(end - bytes.at) + 2 > bytes.size)
        return false;
    *ret_line = (model_text){ bytes.at, (size_t)(end - bytes.at) };
    *ret_used = ret_line->size + 2;
    return true;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static int parse_bulk(model_parser *parser, model_text bytes, bool is_trusted, size_t *at)
{
    model_text rest = { bytes.at + *at, bytes.size - *at };
    model_text line;
    size_t     used;
    int64_t    size;

    if (!find_line(rest, &line, &used))
        return rest.size > LINE_MAX_SIZE ? broken(parser, "too big bulk count string")
                                         : MODEL_PARSE_MORE;
    if (line.size == 0 || line.at[0] != '$') {
        char why[]          = "expected '$', got '?'";
        why[sizeof why - 3] = line.size != 0 ? line.at[0] : '\r';
        return broken(parser, why);
    }
    line = (model_text){ line.at + 1, line.size - 1 };
    if (!model_text_integer(line, &size) || size < 0 || size > BULK_MAX)
        return broken(parser, "invalid bulk length");
    if (!is_trusted && size > STRANGERS_BULK)
        return broken(parser, "unauthenticated bulk length");
    if (rest.size - used < (size_t)size + 2)
        return MODEL_PARSE_MORE;
    add(parser, (model_text){ rest.at + used, (size_t)size });
    *at += used + (size_t)size + 2;
    return MODEL_PARSE_DONE;
}

static int parse_array(model_parser *parser, model_text bytes, bool is_trusted, size_t *ret_used)
{
    model_text line;
    size_t     at;
    int64_t    count;

    if (!find_line(bytes, &line, &at))
        return bytes.size > LINE_MAX_SIZE ? broken(parser, "too big mbulk count string")
                                          : MODEL_PARSE_MORE;
    if (!model_text_integer((model_text){ line.at + 1, line.size - 1 }, &count) || count > ARGS_MAX)
        return broken(parser, "invalid multibulk length");
    if (!is_trusted && count > STRANGERS_ARGS)
        return broken(parser, "unauthenticated multibulk length");
    for (int64_t i = 0; i < count; i++) {
        int result = parse_bulk(parser, bytes, is_trusted, &at);
        if (result != MODEL_PARSE_DONE)
            return result;
    }
    *ret_used = at;
    return MODEL_PARSE_DONE;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static unsigned hex_of(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : tolower((unsigned char)c) - 'a' + 10);
}

/* A character behind a backslash in double quotes.  Returns how many were read. */
static size_t unescape(model_text rest, char *ret_char)
{
    if (rest.size >= 4 && rest.at[1] == 'x' && isxdigit((unsigned char)rest.at[2]) &&
        isxdigit((unsigned char)rest.at[3])) {
        *ret_char = (char)(hex_of(rest.at[2]) * 16 + hex_of(rest.at[3]));
        return 4;
    }
    switch (rest.at[1]) {
    case 'n': *ret_char = '\n'; break;
    case 'r': *ret_char = '\r'; break;
    case 't': *ret_char = '\t'; break;
    case 'b': *ret_char = '\b'; break;
    case 'a': *ret_char = '\a'; break;
    default: *ret_char = rest.at[1];
    }
    return 2;
}

/* One word; its text goes to the scratch, which has room for the whole line.  False: unbalanced
 * quotes. */
static bool parse_word(model_parser *parser, model_text line, size_t *at)
{
    char  *to    = parser->scratch.at + parser->scratch.size;
    char  *start = to;
    char   quote = '\0';
    size_t i     = *at;

    for (; i < line.size; i++) {
        char c = line.at[i];
        if (quote == '\0' && isspace((unsigned char)c))
            break;
        if (quote == '\0' && (c == '"' || c == '\'')) {
            quote = c;
        } else if (quote != '\0' && c == quote) {
            if (i + 1 < line.size && !isspace((unsigned char)line.at[i + 1]))
                return false;
            quote = '\0';
        } else if (quote == '"' && c == '\\' && i + 1 < line.size) {
            i += unescape((model_text){ line.at + i, line.size - i }, to++) - 1;
        } else if (quote == '\'' && c == '\\' && i + 1 < line.size && line.at[i + 1] == '\'') {
            *to++ = '\'';
            i++;
        } else {
            *to++ = c;
        }
    }
    parser->scratch.size += (size_t)(to - start);
    add(parser, (model_text){ start, (size_t)(to - start) });
    *at = i;
    return quote == '\0';
}

static int parse_line(model_parser *parser, model_text bytes, size_t *ret_used)
{
    const char *end = memchr(bytes.at, '\n', bytes.size);

    if (end == NULL)
        return bytes.size > LINE_MAX_SIZE ? broken(parser, "too big inline request")
                                          : MODEL_PARSE_MORE;
    model_text line = { bytes.at, (size_t)(end - bytes.at) };
    *ret_used       = line.size + 1;
    if (line.size != 0 && line.at[line.size - 1] == '\r')
        line.size--;
    parser->scratch.size = 0;
    (void)model_bytes_reserve(&parser->scratch, line.size + 1);
    for (size_t at = 0; at < line.size;) {
        if (isspace((unsigned char)line.at[at]))
            at++;
        else if (!parse_word(parser, line, &at))
            return broken(parser, "unbalanced quotes in request");
    }
    return MODEL_PARSE_DONE;
}

int model_parse(model_parser *parser, model_text bytes, bool is_trusted, size_t *ret_used)
{
    parser->argc = 0;
    if (bytes.size == 0)
        return MODEL_PARSE_MORE;
    return bytes.at[0] == '*' ? parse_array(parser, bytes, is_trusted, ret_used)
                              : parse_line(parser, bytes, ret_used);
}

void model_parser_free(model_parser *parser)
{
    free(parser->argv);
    model_bytes_free(&parser->scratch);
    *parser = (model_parser){ .argc = 0 };
}

/* ---- elements -------------------------------------------------------------------------------- */

void model_write_head(model_bytes *out, char type, int64_t number)
{
    model_bytes_add(out, &type, 1);
    model_bytes_add_integer(out, number);
    model_bytes_add(out, "\r\n", 2);
}

void model_write_bulk(model_bytes *out, model_text text)
{
    model_write_head(out, '$', (int64_t)text.size);
    model_bytes_add(out, text.at, text.size);
    model_bytes_add(out, "\r\n", 2);
}
