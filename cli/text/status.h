/*
 * status.h -- reports events to a program: one JSON object per line on --status-fd.
 *
 *      {"bowline":1,"event":"acquired","name":"nightly","fence":"7","waited_ms":12}
 *
 * "bowline" is the version of the format; new fields may be added. A fence is a string, because
 * many JSON readers keep only 53 of its 64 bits. Each byte of broken UTF-8 becomes U+FFFD. If the
 * reader has no space for a line, the line is dropped: a slow reader must not keep bowline from
 * watching the lock.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { STATUS_LINE_MAX = 4096 };

typedef struct status_line {
    int    fd; /* below 0: no reader */
    size_t size;
    char   text[STATUS_LINE_MAX];
} status_line;

/* Begins a line about `name` (or NULL). Add fields, then send it. */
void status_begin(status_line *ret_line, int fd, const char *event, const char *name);
void status_add_number(status_line *line, const char *key, int64_t number);
void status_add_text(status_line *line, const char *key, const char *text);
void status_send(status_line *line);
