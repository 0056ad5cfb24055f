/* json.h -- answers as JSON on standard output: one line, which ends with its object.  The form is
 * that of the status lines (status.h): no blanks between the parts, "bowline" first, which is the
 * version of the format; a key whose value is not known, or that does not apply, is left out;
 * times are whole numbers of milliseconds, with _ms at the end of their keys.  Keys are ours and
 * plain; values may come from anywhere.  They are escaped here, and the password of a URL in one
 * is written as ***. */
#ifndef BOWLINE_CLI_TEXT_JSON_H
#define BOWLINE_CLI_TEXT_JSON_H

#include <stdbool.h>
#include <stdint.h>

/* '{' or '[', with the commas that are needed; key NULL: in a list, or the outermost, which is an
 * object and begins with "bowline". */
void json_open(const char *key, char bracket);
void json_close(char bracket);

void json_text(const char *key, const char *text); /* NULL: left out */
void json_number(const char *key, int64_t number);
void json_flag(const char *key, bool is);

#endif
