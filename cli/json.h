/*
 * json.h -- answers as JSON on standard output: one line, which ends with its object.
 *
 * Keys are ours and plain; values may come from anywhere.  They are escaped here, and the
 * password of a URL in one is written as ***.
 */
#ifndef BOWLINE_CLI_JSON_H
#define BOWLINE_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>

/* '{' or '[', with the commas that are needed; key NULL: in a list, or the outermost. */
void json_open(const char *key, char bracket);
void json_close(char bracket);

void json_text(const char *key, const char *text); /* NULL: null */
void json_number(const char *key, int64_t number);
void json_flag(const char *key, bool is);

#endif
