/*
 * server_inside.h -- shared by the two files of server.h.
 */
#pragma once

#include "tests/lib/server.h"

enum { SERVER_PATIENCE_MS = 10000, SERVER_WORDS_MAX = 64 };

/* Splits a line in place: words with blanks between them, or 'in quotes, with blanks'.  Returns
 * their number; a NULL follows them. */
int server_split(char *words[SERVER_WORDS_MAX], char *text);

/* Connects to a socket file; -1: no server listens. */
int server_connect(const char *path);

/* Fails the test with: what the server does not do, whether it has ended, and the end of its
 * log. */
void server_fails(server *s, const char *what);
