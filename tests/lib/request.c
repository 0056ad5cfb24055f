/*
 * request.c -- see request.h.
 */
#include "tests/lib/request.h"

enum { FOR_EVER = 60000 };

static void *run(void *arg)
{
    bowline_operation *op = arg;

    while (bowline_operation_wait(op, FOR_EVER, NULL) == BOWLINE_TIMEOUT)
        continue;
    return NULL;
}

void request_run(request *r)
{
    assert_int_equal(pthread_create(&r->thread, NULL, run, r->op), 0);
}

void request_join(request *r)
{
    assert_int_equal(pthread_join(r->thread, NULL), 0);
}

bowline_hold *request_granted_at(request *r, const char *file, int line)
{
    bowline_hold *hold  = NULL;
    bowline_error error = { 0 };

    request_join(r);
    assert_status_at(BOWLINE_OK, bowline_acquire_finish(&hold, r->op, &error), &error, file, line);
    return hold;
}
