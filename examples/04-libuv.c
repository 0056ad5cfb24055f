/*
 * 04-libuv.c -- a lock in a libuv program: its loop waits, renews and releases.
 *
 *      04-libuv [URL [TICKS]]
 *
 * A timer of the loop ticks all the time.  At first another client holds the lock; it releases the
 * lock at the third tick.  Then this client holds it for TICKS ticks, renewed by the loop, and
 * releases it.  Results and losses come as events: try file:?max-hold=300ms to see a loss.
 */
#include "adapters/bowline_uv.h"

#include <bowline/async.h>
#include <bowline/bowline.h>

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

enum { TICK_MS = 50, TICKS_OF_WAITING = 3 };

typedef struct program {
    uv_timer_t         ticker;
    bowline_uv         attached;
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
    fprintf(stderr, "04-libuv: %s\n", error->text);
    exit(1);
}

static void release(program *p)
{
    bowline_error error;

    need(bowline_release_start(&p->releasing, p->hold, &error), &error);
    p->hold = NULL; /* the operation owns it now, and its end is an event */
}

static void ended(program *p, bowline_operation *op)
{
    bowline_error error;

    if (op == p->acquiring) {
        need(bowline_acquire_finish(&p->hold, op, &error), &error);
        p->acquiring = NULL;
        puts("ours");
    } else if (op == p->releasing) {
        p->status    = bowline_finish(op, &error);
        p->releasing = NULL;
        printf("release: %s\n", bowline_status_name(p->status));
        bowline_uv_detach(&p->attached);
        uv_close((uv_handle_t *)&p->ticker, NULL); /* the loop has nothing left to do, and ends */
    }
}

/* Takes the events.  After every dispatch. */
static void look(void *arg)
{
    program      *p     = arg;
    bowline_event event = { .size = sizeof event };
    bowline_error error;

    while (bowline_next_event(p->client, &event, &error) == 1) {
        if (event.kind == BOWLINE_EVENT_ENDED) {
            ended(p, event.operation);
        } else if (event.kind == BOWLINE_EVENT_LOST) {
            puts("lost: the work is stopped");
            release(p); /* returns LOST, and frees it */
        } else if (event.kind == BOWLINE_EVENT_NOT_RENEWED) {
            (void)bowline_hold_check(event.hold, &error);
            fprintf(stderr, "04-libuv: %s\n", error.text);
        }
    }
}

static void tick(uv_timer_t *ticker)
{
    program *p = ticker->data;

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
    const char     *url  = argc > 1 ? argv[1] : "file:";
    uv_loop_t      *loop = uv_default_loop();
    program         p    = { .left = argc > 2 ? atoi(argv[2]) : 10 };
    bowline_client *rival;
    bowline_error   error;

    need(bowline_open(&rival, BOWLINE_OPTIONS(.url = url), &error), &error);
    need(bowline_open(&p.client, BOWLINE_OPTIONS(.url = url, .flags = BOWLINE_NO_THREAD), &error),
         &error);
    need(bowline_acquire(&p.theirs, rival, "04-libuv", NULL, &error), &error);
    if (bowline_uv_attach(&p.attached, loop, p.client, look, &p) != 0)
        return 1;
    p.ticker.data = &p;
    uv_timer_init(loop, &p.ticker);
    uv_timer_start(&p.ticker, tick, TICK_MS, TICK_MS);

    need(bowline_acquire_start(&p.acquiring, p.client, "04-libuv",
                               BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error),
         &error);
    look(&p); /* the first call turns events on; the operation may have ended at once */
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
    bowline_close(p.client);
    bowline_close(rival);
    return p.status == BOWLINE_OK ? 0 : 1;
}
