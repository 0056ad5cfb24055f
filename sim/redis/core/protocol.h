/*
 * protocol.h -- reads one request from the bytes of a link: an array of bulk strings, or a line.
 *
 * The texts that it finds are in the bytes, or, of a line, in the scratch of the parser; both live
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
