/*
 * wire.c -- see wire.h.
 */
#include "tests/lib/wire.h"
#include "tests/lib/testing.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE_S = 10 };

void wire_open(wire *w, const char *socket_path)
{
    const struct timeval patience = { .tv_sec = PATIENCE_S };
    struct sockaddr_un   at       = { .sun_family = AF_UNIX };

    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", socket_path);
    w->fd    = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    w->out   = (bwl_resp_writer){ .bytes = w->out_bytes, .capacity = WIRE_ROOM };
    w->begin = w->end = 0;
    assert_true(w->fd >= 0);
    assert_int_equal(setsockopt(w->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(connect(w->fd, (const struct sockaddr *)&at, sizeof at), 0);
}

void wire_close(wire *w)
{
    assert_int_equal(close(w->fd), 0);
    w->fd = -1;
}

void wire_flush(wire *w)
{
    size_t done = 0;

    assert_false(w->out.overflowed);
    while (done < w->out.size) {
        ssize_t n = send(w->fd, w->out.bytes + done, w->out.size - done, MSG_NOSIGNAL);
        assert_true(n > 0);
        done += (size_t)n;
    }
    w->out.size = 0;
}

static void read_more(wire *w)
{
    ssize_t n;

    if (w->begin > 0) {
        memmove(w->in_bytes, w->in_bytes + w->begin, w->end - w->begin);
        w->end -= w->begin;
        w->begin = 0;
    }
    assert_true(w->end < WIRE_ROOM);
    do
        n = recv(w->fd, w->in_bytes + w->end, WIRE_ROOM - w->end, 0);
    while (n < 0 && errno == EINTR); /* a process that was stopped and goes on */
    if (n < 0 && errno == EAGAIN)
        fail_msg("the server does not answer");
    assert_true(n > 0);
    w->end += (size_t)n;
}

bwl_resp_cursor wire_next(wire *w)
{
    for (;;) {
        bwl_resp_scan   scan   = { 0 };
        const char     *bytes  = w->in_bytes + w->begin;
        bwl_resp_status status = bwl_resp_scan_bytes(&scan, bytes, w->end - w->begin);

        assert_true(status == BWL_RESP_OK || status == BWL_RESP_MORE);
        if (status == BWL_RESP_OK) {
            w->begin += scan.size;
            return bwl_resp_begin(bytes, scan.size);
        }
        read_more(w);
    }
}

void wire_say(wire *w, const char *words)
{
    uint32_t count = 1;

    for (const char *c = words; *c != '\0'; c++)
        count += *c == ' ';
    bwl_resp_write_array(&w->out, count);
    for (uint32_t i = 0; i < count; i++) {
        size_t size = strcspn(words, " ");
        bwl_resp_write_bulk(&w->out, words, size);
        words += size + (words[size] == ' ');
    }
}

bwl_resp_cursor wire_ask(wire *w, const char *words)
{
    wire_say(w, words);
    wire_flush(w);
    return wire_next(w);
}
