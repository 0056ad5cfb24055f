/* json.h -- writes answers as JSON to standard output: one object on one line.
 *
 * The format is that of the status lines (status.h): no blanks; "bowline" first, the version of the
 * format; a key without a value is left out; times are whole milliseconds, in keys that end in _ms.
 * Keys are constants. Values are escaped, and the password of a URL becomes ***. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* '{' or '['. `key` is NULL in a list and for the outermost object, which begins with "bowline". */
void json_open(const char *key, char bracket);
void json_close(char bracket);

void json_text(const char *key, const char *text); /* NULL: left out */
void json_number(const char *key, int64_t number);
void json_flag(const char *key, bool is);
