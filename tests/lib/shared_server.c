/*
 * shared_server.c -- see shared_server.h.
 */
#include "tests/lib/shared_server.h"

#include <stddef.h>

server *redis;

int start_server(void **state)
{
    server_needed();
    redis = server_start(NULL);
    return 0;
}

int stop_server(void **state)
{
    server_stop(redis);
    redis = NULL;
    return 0;
}

int empty_server(void **state)
{
    (void)server_ask(redis, "FLUSHALL");
    return 0;
}

int nothing_is_left(void **state)
{
    return server_becomes_empty(redis) ? 0 : -1;
}
