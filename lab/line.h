/*
 * line.h -- one connection to a real server: a word is said, and its answer awaited.
 */
#ifndef BWL_LAB_LINE_H
#define BWL_LAB_LINE_H

#include "lab/say.h"
#include "redis/words.h"

typedef struct bwl_line {
    int fd; /* -1: there is none                                                                 */
} bwl_line;

/* False: then reterr says why. */
bool bwl_line_open(bwl_line *ret_line, const char *socket_path, bwl_text *reterr);
void bwl_line_close(bwl_line *line);

/* What the server answers to a word of bowline's, in the bytes that bowline sends; by the text of a
 * script, if the server does not know its hash.  `ret_said` shows the reply itself. */
bool bwl_line_ask(const bwl_line *line, const bwl_redis_question *question, bwl_answer *ret_answer,
                  bwl_text *ret_said, bwl_text *reterr);

/* Any command: words with blanks between them.  `ret_said` is the reply as text. */
bool bwl_line_say(const bwl_line *line, const char *command, bwl_text *ret_said, bwl_text *reterr);

#endif
