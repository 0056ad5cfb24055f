/*
 * request.h -- an operation that a thread of its own runs to its end: without heartbeats for three
 * seconds a waiter would count as dead.
 */
#pragma once

#include "tests/lib/testing.h"

#include <pthread.h>

typedef struct request {
    bowline_operation *op;
    pthread_t          thread;
} request;

/* r->op has been started. */
void request_run(request *r);

/* Returns when it has ended. */
void request_join(request *r);

/* The same, of an acquire that must be OK. */
#define request_granted(r) request_granted_at((r), __FILE__, __LINE__)
bowline_hold *request_granted_at(request *r, const char *file, int line);
