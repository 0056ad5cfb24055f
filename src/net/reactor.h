/*
 * reactor.h -- waits for descriptors, and can be woken by other threads: an epoll descriptor with
 * an eventfd in it.  The epoll descriptor can itself be polled, so a client fits into any event
 * loop.
 *
 * One thread at a time waits; any thread may watch, forget and wake meanwhile.  A source must live
 * as long as the reactor: an event for it may already have been fetched when it is forgotten.
 */
#pragma once

#include "core/status.h"

#include <stdatomic.h>

typedef struct bwl_source {
    int fd;
    void (*ready)(struct bwl_source *, uint32_t events); /* EPOLLIN, EPOLLOUT, ... */
} bwl_source;

typedef struct bwl_reactor {
    int         epoll_fd; /* -1: not opened yet, as not every client needs it */
    int         wake_fd;
    atomic_bool is_woken; /* and not read since: writing once is enough */
} bwl_reactor;

#define BWL_REACTOR_CLOSED            \
    {                                 \
        .epoll_fd = -1, .wake_fd = -1 \
    }

/* Opens it if it is closed.  SYSTEM. */
int  bwl_reactor_open(bwl_reactor *reactor, bwl_fault *fault);
void bwl_reactor_close(bwl_reactor *reactor);

/* Starts to watch source->fd for `events`; rewatch changes the events.  SYSTEM. */
int  bwl_reactor_watch(bwl_reactor *reactor, bwl_source *source, uint32_t events, bwl_fault *fault);
void bwl_reactor_rewatch(bwl_reactor *reactor, bwl_source *source, uint32_t events);
void bwl_reactor_forget(bwl_reactor *reactor, bwl_source *source);

/* Ends the current wait, or the next one.  Async-signal-safe, any thread. */
void bwl_reactor_wake(bwl_reactor *reactor);

typedef struct bwl_ready {
    bwl_source *source; /* NULL: a wake */
    uint32_t    events;
} bwl_ready;

enum { BWL_READY_MAX = 64 };

/* Waits for at most wait_ms (BWL_NEVER: no limit).  Returns the number of entries written. */
int bwl_reactor_wait(bwl_reactor *reactor, bwl_ms wait_ms, bwl_ready ret_ready[BWL_READY_MAX]);
