/*
 * fake_server.h -- a server with replies that the test chooses: wrong, outdated or missing.
 *
 * It listens on a free port of the loopback interface, in a thread.  One connection at a time: it
 * parses commands, and calls the test's function for each reply.  It records the commands.
 */
#ifndef TEST_FAKE_SERVER_H
#define TEST_FAKE_SERVER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fake_server fake_server;

/* One command: words[0] is its name. */
typedef struct fake_command {
    int         count;
    const char *words[16];
    int         nth;        /* index in its connection, from 0 */
    int         connection; /* from 0                          */
} fake_command;

/* Replies with fake_say or fake_hang_up; neither: no reply.  In the server's thread. */
typedef void fake_answer(fake_server *s, const fake_command *cmd, void *arg);

/* Fails the test if it cannot listen.  Free with fake_stop. */
fake_server *fake_start(fake_answer *answer, void *arg);
void         fake_stop(fake_server *s); /* also NULL */

const char *fake_url(fake_server *s); /* redis://127.0.0.1:PORT */

/* For the replying function. */
void fake_say(fake_server *s, const char *text);
void fake_say_bytes(fake_server *s, const char *bytes, size_t size);
void fake_hang_up(fake_server *s);

/* A valid reply to HELLO 3, with this version. */
void fake_say_hello(fake_server *s, const char *version);

/* The reply to INFO server, with a run_id of forty equal digits.  Without a call, INFO gets "a"s;
 * it is neither counted nor recorded, as a part of every handshake. */
void fake_say_info(fake_server *s, char digit);

#endif
