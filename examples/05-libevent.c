/*
 * 05-libevent.c -- a lock in a libevent program: its loop waits, renews and releases.
 *
 *      05-libevent [URL [TICKS]]
 *
 * A timer of the base ticks all the time.  At first another client holds the lock; it releases the
 * lock at the third tick.  Then this client holds it for TICKS ticks, renewed by the base, and
 * releases it.  The base also polls the descriptor of the hold: try file:?max-hold=300ms to see
 * a loss.
 */
#include "adapters/bowline_libevent.h"

#include <bowline/async.h>
#include <bowline/bowline.h>

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

enum { TICK_MS = 50, TICKS_OF_WAITING = 3 };

typedef struct program {
    struct event_base *base;
    struct event      *loss; /* the descriptor of the hold */
    bowline_libevent   attached;
    bowline_client    *client;
    bowline_operation *acquiring; /* NULL: none; also the next two */
    bowline_hold      *hold;
    bowline_operation *releasing;
    bowline_hold      *theirs; /* of the other client */
    int                waited;
    int                left; /* ticks of work */
    int                status;
} program;

static void need(int status, const bowline_error *error)
{
    if (status == BOWLINE_OK)
        return;
    fprintf(stderr, "05-libevent: %s\n", error->text);
    exit(1);
}

static void look(void *arg);

static void release(program *p)
{
    bowline_error error;

    event_free(p->loss); /* before its descriptor is closed */
    p->loss = NULL;
    need(bowline_release_start(&p->releasing, p->hold, &error), &error);
    p->hold = NULL; /* the operation owns it now */
    look(p);
}

static void lost(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    puts("lost: the work is stopped");
    release(arg); /* returns LOST, and frees it */
}

static void won(program *p)
{
    bowline_error error;
    int           fd = bowline_hold_lost_fd(p->hold, &error);

    need(fd < 0 ? fd : BOWLINE_OK, &error);
    p->loss = event_new(p->base, fd, EV_READ, lost, p);
    if (p->loss == NULL || event_add(p->loss, NULL) != 0)
        exit(1);
    puts("ours");
}

/* Finishes what has ended.  After every dispatch, and after every start. */
static void look(void *arg)
{
    program      *p = arg;
    bowline_error error;

    if (p->acquiring != NULL && bowline_operation_done(p->acquiring)) {
        need(bowline_acquire_finish(&p->hold, p->acquiring, &error), &error);
        p->acquiring = NULL;
        won(p);
    }
    if (p->releasing != NULL && bowline_operation_done(p->releasing)) {
        p->status    = bowline_finish(p->releasing, &error);
        p->releasing = NULL;
        printf("release: %s\n", bowline_status_name(p->status));
        event_base_loopbreak(p->base);
    }
}

static void tick(evutil_socket_t fd, short what, void *arg)
{
    program *p = arg;

    (void)fd;
    (void)what;
    if (p->acquiring != NULL) {
        puts("tick: waiting");
        if (++p->waited == TICKS_OF_WAITING)
            bowline_release(p->theirs, NULL); /* its result does not matter here */
    } else if (p->hold != NULL) {
        puts("tick: working");
        if (--p->left <= 0)
            release(p);
    }
}

int main(int argc, char **argv)
{
    const char     *url    = argc > 1 ? argv[1] : "file:";
    struct timeval  period = { .tv_usec = TICK_MS * 1000 };
    program         p      = { .left = argc > 2 ? atoi(argv[2]) : 10 };
    bowline_client *rival;
    bowline_error   error;

    need(bowline_open(&rival, BOWLINE_OPTIONS(.url = url), &error), &error);
    need(bowline_open(&p.client, BOWLINE_OPTIONS(.url = url, .flags = BOWLINE_NO_THREAD), &error),
         &error);
    need(bowline_acquire(&p.theirs, rival, "05-libevent", NULL, &error), &error);
    p.base = event_base_new();
    if (p.base == NULL || bowline_libevent_attach(&p.attached, p.base, p.client, look, &p) != 0)
        return 1;
    struct event *ticker = event_new(p.base, -1, EV_PERSIST, tick, &p);
    if (ticker == NULL || event_add(ticker, &period) != 0)
        return 1;

    need(bowline_acquire_start(&p.acquiring, p.client, "05-libevent",
                               BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error),
         &error);
    look(&p); /* it may have ended at once */
    event_base_dispatch(p.base);
    bowline_libevent_detach(&p.attached);
    event_free(ticker);
    event_base_free(p.base);
    bowline_close(p.client);
    bowline_close(rival);
    return p.status == BOWLINE_OK ? 0 : 1;
}
