/*
 * fake_server.c -- see fake_server.h.
 */
#include "tests/lib/fake_server.h"
#include "tests/lib/testing.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IN_MAX = 65536 };

struct fake_server {
    pthread_t    thread;
    fake_answer *answer;
    void        *arg;
    int          listener;
    int          stops[2]; /* a pipe: its far end is closed to stop the server */
    atomic_int   talk;     /* -1: no client is connected */
    int          nth;
    char         last; /* last byte sent on this connection; 0: none */
    int          connections;
    char         url[64];
    char         in[IN_MAX];
    size_t       in_size;
};

/* ---- sending --------------------------------------------------------------------------------- */

void fake_say_bytes(fake_server *s, const char *bytes, size_t size)
{
    if (size > 0)
        s->last = bytes[size - 1];
    while (size > 0 && s->talk >= 0) {
        ssize_t sent = send(s->talk, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* closed: found when reading */
        bytes += sent;
        size -= (size_t)sent;
    }
}

void fake_say(fake_server *s, const char *text)
{
    fake_say_bytes(s, text, strlen(text));
}

void fake_hang_up(fake_server *s)
{
    if (s->talk >= 0)
        (void)close(s->talk);
    s->talk = -1;
}

void fake_say_hello(fake_server *s, const char *version)
{
    char text[256];

    (void)snprintf(text, sizeof text,
                   "%%3\r\n$7\r\nversion\r\n$%zu\r\n%s\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:7\r\n",
                   strlen(version), version);
    fake_say(s, text);
}

void fake_say_info(fake_server *s, char digit)
{
    char run_id[41];
    char text[128];

    memset(run_id, digit, sizeof run_id - 1);
    run_id[sizeof run_id - 1] = '\0';
    (void)snprintf(text, sizeof text, "=63\r\ntxt:# Server\r\nrun_id:%s\r\n\r\n", run_id);
    fake_say(s, text);
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* A decimal number that ends in CR LF, after `mark`; -1: it is not there yet. */
static long take_number(char **at, const char *end, char mark)
{
    char *line = memchr(*at, '\n', (size_t)(end - *at));

    if (line == NULL)
        return -1;
    if (**at != mark)
        abort(); /* the client does not speak RESP */
    long number = strtol(*at + 1, NULL, 10);
    *at         = line + 1;
    return number;
}

/* Parses the first whole command received; returns its size in bytes, 0: none yet. */
static size_t take_command(fake_server *s, fake_command *ret_cmd)
{
    char       *at  = s->in;
    const char *end = s->in + s->in_size;

    ret_cmd->count = 0;
    if (s->in_size == 0)
        return 0;
    long count = take_number(&at, end, '*');
    for (long i = 0; i < count; i++) {
        long size = at < end ? take_number(&at, end, '$') : -1;
        if (size < 0 || end - at < size + 2)
            return 0;
        if (ret_cmd->count < 16)
            ret_cmd->words[ret_cmd->count++] = at;
        at[size] = '\0'; /* over the CR */
        at += size + 2;
    }
    return count < 0 ? 0 : (size_t)(at - s->in);
}

static void hear(fake_server *s)
{
    char         whole[IN_MAX];
    fake_command cmd;
    size_t       size;
    ssize_t      got = recv(s->talk, s->in + s->in_size, sizeof s->in - s->in_size, 0);

    if (got <= 0) {
        fake_hang_up(s);
        return;
    }
    s->in_size += (size_t)got;
    memcpy(whole, s->in, s->in_size); /* an incomplete command must stay unchanged */
    while (s->talk >= 0 && (size = take_command(s, &cmd)) > 0) {
        cmd.connection = s->connections - 1;
        if (strcmp(cmd.words[0], "INFO") == 0) {
            if (s->last == '\n') /* otherwise the reply before it is incomplete */
                fake_say_info(s, 'a');
        } else {
            cmd.nth = s->nth++;
            s->answer(s, &cmd, s->arg);
        }
        memmove(whole, whole + size, s->in_size - size);
        s->in_size -= size;
        memcpy(s->in, whole, s->in_size);
    }
    memcpy(s->in, whole, s->in_size);
}

static void take_connection(fake_server *s)
{
    int one = 1;

    s->talk = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
    if (s->talk < 0)
        return;
    (void)setsockopt(s->talk, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    s->in_size = 0;
    s->nth     = 0;
    s->last    = '\0';
    s->connections++;
}

static void *serve(void *arg)
{
    fake_server *s = arg;

    for (;;) {
        struct pollfd fds[] = { { .fd = s->stops[0], .events = POLLIN },
                                { .fd = s->talk >= 0 ? s->talk : s->listener, .events = POLLIN } };
        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[0].revents != 0)
            break;
        if (fds[1].revents == 0)
            continue;
        if (s->talk >= 0)
            hear(s);
        else
            take_connection(s);
    }
    fake_hang_up(s);
    return NULL;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

fake_server *fake_start(fake_answer *answer, void *arg)
{
    struct sockaddr_in at   = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof at;
    fake_server       *s    = calloc(1, sizeof *s);

    assert_non_null(s);
    s->answer   = answer;
    s->arg      = arg;
    s->talk     = -1;
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s->listener >= 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(s->listener, 16), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&at, &size), 0);
    (void)snprintf(s->url, sizeof s->url, "redis://127.0.0.1:%d", ntohs(at.sin_port));
    assert_int_equal(pipe2(s->stops, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
    return s;
}

void fake_stop(fake_server *s)
{
    if (s == NULL)
        return;
    (void)close(s->stops[1]);
    (void)pthread_join(s->thread, NULL);
    (void)close(s->stops[0]);
    (void)close(s->listener);
    free(s);
}

const char *fake_url(fake_server *s)
{
    return s->url;
}
