/*
 * fake_server.h -- a server that says what the test wants: liars, the old, the silent.
 *
 * It listens on a free port of the loopback interface, in a thread.  One connection at a time: it
 * takes commands apart, and asks the test's function for what is to be said to each.  What it was
 * asked is written down.
 */
#ifndef TEST_FAKE_SERVER_H
#define TEST_FAKE_SERVER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fake_server fake_server;

/* One command, as it came: words[0] is its name. */
typedef struct fake_command {
    int         count;
    const char *words[16];
    int         nth;        /* of its connection, from 0 */
    int         connection; /* from 0                    */
} fake_command;

/* Says what is to be answered, with fake_say and fake_hang_up; nothing: silence.  In the thread
 * of the server. */
typedef void fake_answer(fake_server *s, const fake_command *cmd, void *arg);

/* Fails the test if it cannot listen.  Free with fake_stop. */
fake_server *fake_start(fake_answer *answer, void *arg);
void         fake_stop(fake_server *s); /* also NULL */

const char *fake_url(fake_server *s); /* redis://127.0.0.1:PORT */

/* For the answering function. */
void fake_say(fake_server *s, const char *text);
void fake_say_bytes(fake_server *s, const char *bytes, size_t size);
void fake_hang_up(fake_server *s);

/* A good answer to HELLO 3, of this version. */
void fake_say_hello(fake_server *s, const char *version);

/* The answer to INFO server, with a run_id of forty of the same digit.  INFO is answered by itself,
 * with "a"s, and is neither counted nor written down: it is a part of every greeting. */
void fake_say_info(fake_server *s, char digit);

#endif
