/*
 * bowline_uv.h -- a bowline client in a libuv loop.  Copy it: it is no part of the library.
 *
 *      bowline_uv attached;
 *      bowline_uv_attach(&attached, loop, client, look, &program);
 *      ... bowline_acquire_start, and in look(): bowline_operation_done, bowline_acquire_finish ...
 *      bowline_uv_detach(&attached);
 *      bowline_close(client);
 *
 * Open the client with flags = BOWLINE_NO_THREAD, and use it in the thread of the loop only.
 *
 * How it works.  The loop polls the client's descriptor, which is readable when something has
 * arrived or a timer is due.  Then: bowline_dispatch, and look().
 *
 * An operation can have ended when its start returns.  Then the descriptor does not become
 * readable: call look() yourself.
 */
#ifndef BOWLINE_UV_H
#define BOWLINE_UV_H

#include <bowline/async.h>

#include <uv.h>

typedef struct bowline_uv {
    uv_poll_t       poll;
    bowline_client *client;
    void (*look)(void *arg);
    void *arg;
} bowline_uv;

static inline void bowline_uv_on_poll(uv_poll_t *poll, int status, int events)
{
    bowline_uv *b = (bowline_uv *)poll->data;

    (void)status;
    (void)events;
    /* Its errors, SYSTEM (no descriptor is left) and FORKED, come back from finish as well. */
    (void)bowline_dispatch(b->client, 0, NULL);
    b->look(b->arg);
}

/* Calls look(arg) after each dispatch, until detached.  0, or libuv's error.  `b` must stay where
 * it is. */
static inline int bowline_uv_attach(bowline_uv *b, uv_loop_t *loop, bowline_client *client,
                                    void (*look)(void *arg), void *arg)
{
    int fd = bowline_fd(client);

    if (fd < 0)
        return UV_EMFILE;
    b->client    = client;
    b->look      = look;
    b->arg       = arg;
    b->poll.data = b;
    int status   = uv_poll_init(loop, &b->poll, fd);
    return status < 0 ? status : uv_poll_start(&b->poll, UV_READABLE, bowline_uv_on_poll);
}

/* The client may be closed at once; `b` must live until the loop has closed its handle, as
 * uv_close says. */
static inline void bowline_uv_detach(bowline_uv *b)
{
    uv_close((uv_handle_t *)&b->poll, NULL);
}

#endif
