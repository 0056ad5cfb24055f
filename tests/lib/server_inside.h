/*
 * server_inside.h -- what the two files of server.h share.
 */
#ifndef TEST_SERVER_INSIDE_H
#define TEST_SERVER_INSIDE_H

#include "tests/lib/server.h"

enum { SERVER_PATIENCE_MS = 10000, SERVER_WORDS_MAX = 64 };

/* Takes a line apart, in place: words between spaces, 'in quotes they may hold some'.  How many; a
 * NULL follows them. */
int server_split(char *words[SERVER_WORDS_MAX], char *text);

/* A connection to a socket in the files; -1: nobody listens. */
int server_connect(const char *path);

/* Fails the test: what the server does not do, whether it has ended, and the end of its log. */
void server_fails(server *s, const char *what);

#endif
