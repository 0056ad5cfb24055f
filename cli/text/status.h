/*
 * status.h -- what happens, told to a program: one JSON object per line on --status-fd.
 *
 *      {"bowline":1,"event":"acquired","name":"nightly","fence":"7","waited_ms":12}
 *
 * "bowline" is the version of this format; new fields may come, none changes its meaning.  A fence
 * is a string, because it has 64 bits and many readers of JSON keep 53.  Texts that are no UTF-8
 * have U+FFFD in place of each byte that is none.  A line that the reader has no room for now is
 * dropped: nobody who does not read may keep us from watching the lock.
 */
#ifndef BOWLINE_CLI_TEXT_STATUS_H
#define BOWLINE_CLI_TEXT_STATUS_H

#include <stddef.h>
#include <stdint.h>

enum { STATUS_LINE_MAX = 4096 };

typedef struct status_line {
    int    fd; /* below 0: nobody wants to know */
    size_t size;
    char   text[STATUS_LINE_MAX];
} status_line;

/* Begins a line about `name`; add to it; send it.  `name` may be NULL. */
void status_begin(status_line *ret_line, int fd, const char *event, const char *name);
void status_add_number(status_line *line, const char *key, int64_t number);
void status_add_text(status_line *line, const char *key, const char *text);
void status_send(status_line *line);

#endif
