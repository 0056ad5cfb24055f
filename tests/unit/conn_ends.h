/*
 * conn_ends.h -- a connection of ours to a listener of the test on a unix socket.
 */
#pragma once

#include "engine/redis/session/resp_stream.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static bwl_reactor     reactor;
static bwl_resp_stream conn;
static bwl_fault       fault;
static bwl_address     address;
static int             listener;
static int             peer;
static int             last_step; /* result of the latest step */

static inline void step(bwl_source *source, uint32_t events)
{
    assert_ptr_equal(source, &conn.stream.source);
    last_step = bwl_stream_step(&conn.stream, events, &fault);
}

static inline void open_listener(const char *in_directory)
{
    struct sockaddr_un *to = (struct sockaddr_un *)&address.socket;

    address        = (bwl_address){ .size = sizeof *to };
    to->sun_family = AF_UNIX;
    (void)snprintf(to->sun_path, sizeof to->sun_path, "%s/s", in_directory);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)to, sizeof *to), 0);
    assert_int_equal(listen(listener, 8), 0);
    reactor = (bwl_reactor)BWL_REACTOR_CLOSED;
    fault   = (bwl_fault){ 0 };
    assert_int_equal(bwl_reactor_open(&reactor, &fault), BWL_OK);
    bwl_resp_stream_init(&conn, &reactor, step);
    peer      = -1;
    last_step = 1;
}

static inline int open_conn(const bwl_address *to, bwl_fault *ret_fault)
{
    conn.frames = (bwl_frames){ .long_left = 0 };
    return bwl_stream_open(&conn.stream, to, ret_fault);
}

static inline void close_listener(void)
{
    bwl_stream_free(&conn.stream);
    bwl_reactor_close(&reactor);
    if (peer >= 0)
        close(peer);
    close(listener);
    (void)unlink(((struct sockaddr_un *)&address.socket)->sun_path);
}

/* Dispatches the ready events once.  Returns the result of the step, 1 if there was none. */
static inline int dispatch_once(void)
{
    bwl_ready ready[BWL_READY_MAX];

    last_step = 1;
    int count = bwl_reactor_wait(&reactor, 0, ready);
    for (int i = 0; i < count; i++)
        ready[i].source->ready(ready[i].source, ready[i].events);
    return last_step;
}

/* Queues a command of one bulk string of `size` bytes.  Returns the bytes of the command. */
static inline size_t put(size_t size)
{
    bwl_resp_writer writer;
    char           *text = malloc(size);

    assert_non_null(text);
    memset(text, 'x', size);
    assert_true(bwl_resp_stream_reserve(&conn, size + 64, &writer));
    bwl_resp_write_array(&writer, 1);
    bwl_resp_write_bulk(&writer, text, size);
    bwl_resp_stream_commit(&conn, &writer);
    free(text);
    return writer.size;
}
