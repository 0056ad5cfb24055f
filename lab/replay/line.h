/*
 * line.h -- a connection to a real server: send a command, wait for its answer.
 */
#pragma once

#include "lab/base/say.h"
#include "engine/redis/wire/words.h"

enum { BWL_LINE_ROOM = 4096 };

typedef struct bwl_line {
    int    fd;   /* -1: there is none */
    size_t size; /* bytes received and not parsed */
    char   bytes[BWL_LINE_ROOM];
} bwl_line;

/* False: then reterr says why. */
bool bwl_line_open(bwl_line *ret_line, const char *socket_path, bwl_text *reterr);
void bwl_line_close(bwl_line *line);

/* What the server answers to a word of bowline's, in the bytes that bowline sends; by the text of a
 * script, if the server does not know its hash.  `ret_said` shows the reply itself. */
bool bwl_line_ask(bwl_line *line, const bwl_redis_question *question, bwl_redis_reply *ret_reply,
                  bwl_text *ret_said, bwl_text *reterr);

/* Any command: words with blanks between them.  `ret_said` is the reply as text. */
bool bwl_line_say(bwl_line *line, const char *command, bwl_text *ret_said, bwl_text *reterr);

/* The same with one more word, which may be any bytes.  An `extra_size` of 0: there is none. */
bool bwl_line_say_with(bwl_line *line, const char *command, const char *extra, size_t extra_size,
                       bwl_text *ret_said, bwl_text *reterr);

/* The bytes of the key, as GET has them, or those of the first field of a hash, or of the first
 * member of a sorted set but __write__; false also if the server failed: then reterr says so.
 * `ret_size` SIZE_MAX: there is no key. */
bool bwl_line_get(bwl_line *line, const char *key, char *ret_bytes, size_t capacity,
                  size_t *ret_size, bwl_text *reterr);
