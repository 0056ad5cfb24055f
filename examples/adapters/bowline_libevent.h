/*
 * bowline_libevent.h -- a bowline client in a libevent base.  Copy it: it is no part of the
 * library.
 *
 *      bowline_libevent attached;
 *      bowline_libevent_attach(&attached, base, client, look, &program);
 *      ... bowline_acquire_start, then bowline_libevent_rearm; and in look():
 *          bowline_operation_done, bowline_acquire_finish ...
 *      bowline_libevent_detach(&attached);
 *      bowline_close(client);
 *
 * Open the client with flags = BOWLINE_NO_THREAD, and use it in the thread of the base only.
 *
 * How it works.  The client's descriptor is watched, one timer rings when bowline_timeout_ms is
 * over, and both do the same: bowline_dispatch, then look(), then the timer is set anew.  The
 * time-out also changes with every start and finish, and libevent 2.1 has no hook before its wait:
 * after a start or finish outside of look() the program calls bowline_libevent_rearm itself.
 * Without it a renewal comes too late, and the lock is lost.
 *
 * An operation can have ended when its start returns: then nothing happens that the base could see,
 * and look() is for the program to call.
 */
#ifndef BOWLINE_LIBEVENT_H
#define BOWLINE_LIBEVENT_H

#include <bowline/async.h>

#include <event2/event.h>

typedef struct bowline_libevent {
    struct event   *readable;
    struct event   *timer;
    bowline_client *client;
    void (*look)(void *arg);
    void *arg;
} bowline_libevent;

/* Sets the timer to what the client wants now: after every start and finish.  0, or -1: no
 * memory. */
static inline int bowline_libevent_rearm(bowline_libevent *b)
{
    int64_t ms = bowline_timeout_ms(b->client);

    if (ms == BOWLINE_FOREVER)
        return evtimer_del(b->timer);
    struct timeval time;
    time.tv_sec  = (time_t)(ms / 1000);
    time.tv_usec = (suseconds_t)(ms % 1000 * 1000);
    return evtimer_add(b->timer, &time);
}

static inline void bowline_libevent_on_event(evutil_socket_t fd, short what, void *arg)
{
    bowline_libevent *b = (bowline_libevent *)arg;

    (void)fd;
    (void)what;
    /* SYSTEM (no descriptor is left) and FORKED: whoever waits for an operation is told as well. */
    (void)bowline_dispatch(b->client, 0, NULL);
    b->look(b->arg);
    if (b->timer != NULL)                /* look() may have detached it                  */
        (void)bowline_libevent_rearm(b); /* no memory: the descriptor still wakes us     */
}

static inline void bowline_libevent_detach(bowline_libevent *b)
{
    if (b->readable != NULL)
        event_free(b->readable);
    if (b->timer != NULL)
        event_free(b->timer);
    b->readable = b->timer = NULL;
}

/* Calls look(arg) after each dispatch, until detached.  0, or -1.  `b` must stay where it is. */
static inline int bowline_libevent_attach(bowline_libevent *b, struct event_base *base,
                                          bowline_client *client, void (*look)(void *arg),
                                          void           *arg)
{
    int fd = bowline_fd(client);

    b->readable = b->timer = NULL;
    b->client              = client;
    b->look                = look;
    b->arg                 = arg;
    if (fd < 0)
        return -1;
    b->readable = event_new(base, fd, EV_READ | EV_PERSIST, bowline_libevent_on_event, b);
    b->timer    = evtimer_new(base, bowline_libevent_on_event, b);
    if (b->readable == NULL || b->timer == NULL || event_add(b->readable, NULL) != 0 ||
        bowline_libevent_rearm(b) != 0) {
        bowline_libevent_detach(b);
        return -1;
    }
    return 0;
}

#endif
