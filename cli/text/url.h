/*
 * url.h -- as much of a URL as the command must understand by itself: is a secret in it, and which
 * settings does it bring.  What it means is the library's to say.
 */
#ifndef BOWLINE_CLI_TEXT_URL_H
#define BOWLINE_CLI_TEXT_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/text/say.h"

enum { URL_MAX = 2048 }; /* bytes; the library takes no more */

/* True if there is a password in it, or what could be meant as one. */
bool url_has_password(const char *url);

/* True if the option `key` is among those behind the '?'. */
bool url_says(const char *url, const char *key);

/* The same URL without its password, so that whoever uses it is refused by the server, loudly. */
void url_without_password(char ret_url[URL_MAX + 1], const char *url);

/* The first password of a URL in a text that is shown to people or programs: where it begins, and
 * *ret_size bytes; it is written as "***".  NULL: there is none.  It ends with the last '@' of a
 * run without blanks and quotes. */
const char *url_secret_in(const char *text, size_t *ret_size);

/* True if the text is a URL of an engine that locks on a server: it stands where something else is
 * meant, such as the name of a lock. */
bool url_is_of_server(const char *text);

/* The text, for a message, unless there is what may be a password in it: a URL that stands in the
 * wrong place. */
words url_shown(const char *text);

#endif
