/*
 * url.h -- the parts of a URL that the command must understand: secrets, and which options are set.
 * The library parses the rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/text/say.h"

enum { URL_MAX = 2048 }; /* bytes; the limit of the library */

/* True if the URL contains a password, or text that may be one. */
bool url_has_password(const char *url);

/* True if the option `key` is set after the '?'. */
bool url_says(const char *url, const char *key);

/* The URL without its password: a server refuses it with an error. */
void url_without_password(char ret_url[URL_MAX + 1], const char *url);

/* Finds the first password of a URL in a text to be shown; it becomes "***". Returns its position
 * and *ret_size, or NULL. It ends at the last '@' before a blank or a quote. */
const char *url_secret_in(const char *text, size_t *ret_size);

/* True if the text is a URL of an engine with a server, found where something else belongs, such as
 * the name of a lock. */
bool url_is_of_server(const char *text);

/* The text for a message, or "(not shown)" if it may contain a password. */
words url_shown(const char *text);
