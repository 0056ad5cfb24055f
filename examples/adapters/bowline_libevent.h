/*
 * bowline_libevent.h -- a bowline client in a libevent base.  Copy it: it is no part of the
 * library.
 *
 *      bowline_libevent attached;
 *      bowline_libevent_attach(&attached, base, client, look, &program);
 *      ... bowline_acquire_start, and in look(): bowline_operation_done, bowline_acquire_finish ...
 *      bowline_libevent_detach(&attached);
 *      bowline_close(client);
 *
 * Open the client with flags = BOWLINE_NO_THREAD, and use it in the thread of the base only.
 *
 * How it works.  The base polls the client's descriptor, which is readable when something has
 * arrived or a timer is due.  Then: bowline_dispatch, and look().
 *
 * An operation can have ended when its start returns.  Then the descriptor does not become
 * readable: call look() yourself.
 */
#ifndef BOWLINE_LIBEVENT_H
#define BOWLINE_LIBEVENT_H

#include <bowline/async.h>

#include <event2/event.h>

typedef struct bowline_libevent {
    struct event   *readable;
    bowline_client *client;
    void (*look)(void *arg);
    void *arg;
} bowline_libevent;

static inline void bowline_libevent_on_event(evutil_socket_t fd, short what, void *arg)
{
    bowline_libevent *b = (bowline_libevent *)arg;

    (void)fd;
    (void)what;
    /* Its errors, SYSTEM (no descriptor is left) and FORKED, come back from finish as well. */
    (void)bowline_dispatch(b->client, 0, NULL);
    b->look(b->arg);
}

static inline void bowline_libevent_detach(bowline_libevent *b)
{
    if (b->readable != NULL)
        event_free(b->readable);
    b->readable = NULL;
}

/* Calls look(arg) after each dispatch, until detached.  0, or -1.  `b` must stay where it is. */
static inline int bowline_libevent_attach(bowline_libevent *b, struct event_base *base,
                                          bowline_client *client, void (*look)(void *arg),
                                          void           *arg)
{
    int fd = bowline_fd(client);

    b->readable = NULL;
    b->client   = client;
    b->look     = look;
    b->arg      = arg;
    if (fd < 0)
        return -1;
    b->readable = event_new(base, fd, EV_READ | EV_PERSIST, bowline_libevent_on_event, b);
    if (b->readable != NULL && event_add(b->readable, NULL) == 0)
        return 0;
    bowline_libevent_detach(b);
    return -1;
}

#endif
