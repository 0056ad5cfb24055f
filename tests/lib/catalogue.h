/*
 * catalogue.h -- shared by the tests of other programs' locks: a server, clients by protocol, and
 * the exact commands on the wire (MONITOR).
 */
#pragma once

#include "tests/lib/shared_server.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline void assert_key(const char *key, const char *value)
{
    assert_string_equal(server_ask(redis, "GET %s", key), value);
}

static inline bool is_there(const char *key)
{
    return strcmp(server_ask(redis, "EXISTS %s", key), "1") == 0;
}

/* -1: no TTL, -2: no key. */
static inline long ttl_ms(const char *key)
{
    return atol(server_ask(redis, "PTTL %s", key));
}

static inline int64_t wall_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- commands on the wire -------------------------------------------------------------------- */

static int monitor = -1;

static inline void start_monitor(void)
{
    char ok[5];

    monitor = server_say(redis, "MONITOR");
    for (size_t got = 0; got < sizeof ok;) {
        ssize_t n = read(monitor, ok + got, sizeof ok - got);
        assert_true(n > 0);
        got += (size_t)n;
    }
    assert_memory_equal(ok, "+OK\r\n", 5);
}

/* False for the commands of a handshake, and those inside of scripts. */
static inline bool is_of_interest(const char *line)
{
    static const char *const handshake[] = { "\"HELLO\"", "\"INFO\"", "\"CLIENT\"", "\"SELECT\"" };

    for (size_t i = 0; i < sizeof handshake / sizeof handshake[0]; i++)
        if (strstr(line, handshake[i]) != NULL)
            return false;
    return strstr(line, " lua] ") == NULL;
}

/* The commands since start_monitor, one per line; ends the monitor.  The text is valid until the
 * next call. */
static inline const char *monitored(void)
{
    static char all[65536];
    static char said[65536];
    size_t      size = 0;
    size_t      out  = 0;

    (void)server_ask(redis, "ECHO that-is-all");
    while (size < sizeof all - 1) {
        ssize_t n = read(monitor, all + size, sizeof all - 1 - size);
        assert_true(n > 0);
        size += (size_t)n;
        all[size]  = '\0';
        char *last = strstr(all, "\"that-is-all\"\r\n");
        if (last != NULL)
            break;
    }
    close(monitor);
    for (char *line = strtok(all, "\r\n"); line != NULL; line = strtok(NULL, "\r\n")) {
        char *words = strstr(line, "] ");
        if (words == NULL || !is_of_interest(line) || strstr(line, "that-is-all") != NULL)
            continue;
        out += (size_t)snprintf(said + out, sizeof said - out, "%s\n", words + 2);
    }
    said[out] = '\0';
    return said;
}

__attribute__((format(printf, 1, 2))) static inline void expect_monitored(const char *format, ...)
{
    static char wanted[65536];
    va_list     arguments;

    va_start(arguments, format);
    (void)vsnprintf(wanted, sizeof wanted, format, arguments);
    va_end(arguments);
    assert_string_equal(monitored(), wanted);
}
