/*
 * inside.h -- who waits inside a client: for tests that act only when another thread or operation
 * waits.
 */
#pragma once

#include "tests/lib/testing.h"

typedef struct inside {
    unsigned threads;       /* one waits for events, the others for that one         */
    unsigned locks;         /* of the name: in the queue, or between two attempts    */
    unsigned idle_renewals; /* renewal threads that do nothing until a timer is due */
} inside;

/* `name` may be NULL. */
inside look_inside(bowline_client *client, const char *name);

/* Waits, ten seconds at most, until there are at least so many. */
bool inside_comes_to(bowline_client *client, const char *name, inside least);
bool threads_wait(bowline_client *client, unsigned count);

/* Runs the loops of the client until every request has its reply, or has ended without one, after
 * timeout= of the URL. */
void inside_await_replies(bowline_client *client);
