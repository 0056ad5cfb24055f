/* json.h -- writes JSON, one object on one line: the answer of a command to standard output, and
 * the events of `bowline run` to --status-fd.
 *
 *      {"bowline":1,"event":"acquired","name":"nightly","fence":"7","waited_ms":12}
 *
 * No blanks; "bowline" first, the version of the format, to which fields may be added; a key
 * without a value is left out; times are whole milliseconds, in keys that end in _ms.  A fence is a
 * string, because many JSON readers keep only 53 of its 64 bits.  Keys are constants.  Values are
 * escaped, each byte of broken UTF-8 becomes U+FFFD, and the password of a URL becomes ***.
 *
 * If the reader of the events has no space for a line, the line is dropped: a slow reader must not
 * keep bowline from watching the lock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { JSON_EVENT_MAX = 4096 };

/* '{' or '['. `key` is NULL in a list and for the outermost object, which begins with "bowline". */
void json_open(const char *key, char bracket);
void json_close(char bracket);

void json_text(const char *key, const char *text); /* NULL: left out */
void json_number(const char *key, int64_t number);
void json_flag(const char *key, bool is);

/* Begins an event about `name`; add fields, then send it.  A long text is cut off.  `fd` below 0:
 * no reader, everything up to json_send does nothing. */
void json_event(int fd, const char *event, const char *name);
void json_send(void);
