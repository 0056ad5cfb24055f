/*
 * protocol.h -- RESP: reads one request from the bytes of a link, an array of bulk strings or a
 * line, and writes the elements of replies.
 *
 * The texts of a request are in the bytes, or, of a line, in the scratch of the parser; both live
 * until the next call.
 */
#pragma once

#include "sim/redis/data/bytes.h"

typedef struct model_parser {
    model_text *argv;
    size_t      argc;
    size_t      room;
    model_bytes scratch;
    char        error[96]; /* when MODEL_PARSE_BROKEN */
} model_parser;

enum { MODEL_PARSE_BROKEN = -1, MODEL_PARSE_MORE = 0, MODEL_PARSE_DONE = 1 };

/* DONE: *ret_used bytes were a request; argc may be 0, which is no command.  MORE: it is not
 * complete. */
int  model_parse(model_parser *parser, model_text bytes, bool is_trusted, size_t *ret_used);
void model_parser_free(model_parser *parser);

/* An integer behind a type and before a line end: the head of an array, for example. */
void model_write_head(model_bytes *out, char type, int64_t number);
void model_write_bulk(model_bytes *out, model_text text);
