/*
 * queue_state.c -- see queue_state.h.
 */
#include "tests/lib/queue_state.h"

#include <stdio.h>
#include <stdlib.h>

bool queue_await_size(server *s, const char *name, long count)
{
    for (int64_t end = clock_ms() + 10000; clock_ms() < end; sleep_ms(1))
        if (strtol(server_ask(s, "ZCARD bowline:{%s}:bwl.q", name), NULL, 10) == count)
            return true;
    return false;
}

static long left_ms(server *s, const char *name)
{
    return strtol(server_ask(s, "PTTL bowline:{%s}", name), NULL, 10);
}

bool queue_await_renewal(server *s, const char *name)
{
    long left = left_ms(s, name);

    for (int64_t end = clock_ms() + 10000; left > 0 && clock_ms() < end; sleep_ms(1)) {
        long before = left;
        left        = left_ms(s, name);
        if (left > before)
            return true;
    }
    return false;
}

/* True for the counter of fences, and client info. */
static bool is_only_of_clients(const char *keys)
{
    while (*keys != '\0') {
        size_t size = strcspn(keys, " ");
        if (strncmp(keys, "bowline:who:", 12) != 0 && strncmp(keys, "bowline:f", size) != 0)
            return false;
        keys += size + (keys[size] == ' ');
    }
    return true;
}

bool queue_await_no_keys(server *s)
{
    for (int64_t end = clock_ms() + 10000; clock_ms() < end; sleep_ms(2))
        if (is_only_of_clients(server_ask(s, "KEYS *")))
            return true;
    print_error("left over: %s\n", server_ask(s, "KEYS *"));
    return false;
}

long server_command_count(server *s, const char *command)
{
    char        mark[64];
    const char *info = server_ask(s, "INFO commandstats");

    (void)snprintf(mark, sizeof mark, "cmdstat_%s:calls=", command);
    const char *at = strstr(info, mark);
    return at != NULL ? strtol(at + strlen(mark), NULL, 10) : 0;
}

long scripts_run(server *s)
{
    return server_command_count(s, "evalsha") + server_command_count(s, "eval");
}

bool server_comes_to_run(server *s, long count)
{
    for (int64_t end = clock_ms() + 10000; clock_ms() < end; sleep_ms(1))
        if (scripts_run(s) >= count)
            return true;
    return false;
}

bool server_has_sharded_channels(server *s)
{
    const char *mark = "redis_version:";
    const char *at   = strstr(server_ask(s, "INFO server"), mark);

    return at != NULL && strtol(at + strlen(mark), NULL, 10) >= 7;
}

long queue_push_count(server *s)
{
    return server_command_count(s, "spublish") + server_command_count(s, "publish");
}

void queue_await_join(server *s, waiter *w, bowline_client *client, const char *name, long nth)
{
    waiter_start(w, client, name, 60000);
    assert_true(queue_await_size(s, name, nth));
}
