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
 * How it works.  The client's descriptor is watched, one timer rings when bowline_timeout_ms is
 * over, and both do the same: bowline_dispatch, then look().  The time-out changes with every
 * dispatch and with every start and finish that the program makes in whatever callback, so the
 * timer is set anew before each wait of the loop, which is what a uv_prepare_t is for.
 *
 * An operation can have ended when its start returns: then nothing happens that the loop could see,
 * and look() is for the program to call.
 */
#ifndef BOWLINE_UV_H
#define BOWLINE_UV_H

#include <bowline/async.h>

#include <uv.h>

typedef struct bowline_uv {
    uv_poll_t       poll;
    uv_timer_t      timer;
    uv_prepare_t    prepare;
    bowline_client *client;
    void (*look)(void *arg);
    void *arg;
} bowline_uv;

/* Sets the timer to what the client wants now. */
static inline void bowline_uv_rearm(bowline_uv *b)
{
    int64_t ms = bowline_timeout_ms(b->client);

    if (ms == BOWLINE_FOREVER)
        uv_timer_stop(&b->timer);
    else /* the loop's clock may be behind: it rings too early then, and is set again */
        uv_timer_start(&b->timer, b->timer.timer_cb, (uint64_t)ms, 0);
}

static inline void bowline_uv_dispatch(bowline_uv *b)
{
    /* SYSTEM (no descriptor is left) and FORKED: whoever waits for an operation is told as well. */
    (void)bowline_dispatch(b->client, 0, NULL);
    b->look(b->arg);
}

static inline void bowline_uv_on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    bowline_uv_dispatch((bowline_uv *)poll->data);
}

static inline void bowline_uv_on_timer(uv_timer_t *timer)
{
    bowline_uv_dispatch((bowline_uv *)timer->data);
}

static inline void bowline_uv_on_prepare(uv_prepare_t *prepare)
{
    bowline_uv_rearm((bowline_uv *)prepare->data);
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
    b->poll.data = b->timer.data = b->prepare.data = b;
    int status                                     = uv_poll_init(loop, &b->poll, fd);
    if (status < 0)
        return status;
    (void)uv_timer_init(loop, &b->timer); /* these cannot fail */
    (void)uv_prepare_init(loop, &b->prepare);
    (void)uv_timer_start(&b->timer, bowline_uv_on_timer, 0, 0);
    (void)uv_prepare_start(&b->prepare, bowline_uv_on_prepare);
    return uv_poll_start(&b->poll, UV_READABLE, bowline_uv_on_poll);
}

/* The client may be closed at once; `b` must live until the loop has closed its handles, as
 * uv_close says. */
static inline void bowline_uv_detach(bowline_uv *b)
{
    uv_close((uv_handle_t *)&b->poll, NULL);
    uv_close((uv_handle_t *)&b->timer, NULL);
    uv_close((uv_handle_t *)&b->prepare, NULL);
}

#endif
