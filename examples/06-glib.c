/*
 * 06-glib.c -- a lock in a GLib program: its loop waits, renews and releases.
 *
 *      06-glib [URL [TICKS]]
 *
 * A timer of the loop ticks all the time.  At first another client holds the lock; it releases the
 * lock at the third tick.  Then this client holds it for TICKS ticks, renewed by the loop, and
 * releases it.  Each tick checks the hold: try file:?max-hold=300ms to see a loss.
 */
#include "adapters/bowline_glib.h"

#include <bowline/async.h>
#include <bowline/bowline.h>

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

enum { TICK_MS = 50, TICKS_OF_WAITING = 3 };

typedef struct program {
    GMainLoop         *loop;
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
    fprintf(stderr, "06-glib: %s\n", error->text);
    exit(1);
}

/* Finishes what has ended.  After every dispatch, and after every start. */
static void look(void *arg)
{
    program      *p = arg;
    bowline_error error;

    if (p->acquiring != NULL && bowline_operation_done(p->acquiring)) {
        need(bowline_acquire_finish(&p->hold, p->acquiring, &error), &error);
        p->acquiring = NULL;
        puts("ours");
    }
    if (p->releasing != NULL && bowline_operation_done(p->releasing)) {
        p->status    = bowline_finish(p->releasing, &error);
        p->releasing = NULL;
        printf("release: %s\n", bowline_status_name(p->status));
        g_main_loop_quit(p->loop);
    }
}

static void release(program *p)
{
    bowline_error error;

    need(bowline_release_start(&p->releasing, p->hold, &error), &error);
    p->hold = NULL; /* the operation owns it now */
    look(p);
}

static gboolean tick(void *arg)
{
    program *p = arg;

    if (p->acquiring != NULL) {
        puts("tick: waiting");
        if (++p->waited == TICKS_OF_WAITING)
            bowline_release(p->theirs, NULL); /* its result does not matter here */
    } else if (p->hold != NULL && bowline_hold_left_ms(p->hold) == 0) {
        puts("lost: the work is stopped");
        release(p); /* returns LOST, and frees it */
    } else if (p->hold != NULL) {
        puts("tick: working");
        if (--p->left <= 0)
            release(p);
    }
    return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
    const char     *url = argc > 1 ? argv[1] : "file:";
    program         p   = { .left = argc > 2 ? atoi(argv[2]) : 10 };
    bowline_client *rival;
    bowline_error   error;

    need(bowline_open(&rival, BOWLINE_OPTIONS(.url = url), &error), &error);
    need(bowline_open(&p.client, BOWLINE_OPTIONS(.url = url, .flags = BOWLINE_NO_THREAD), &error),
         &error);
    need(bowline_acquire(&p.theirs, rival, "06-glib", NULL, &error), &error);
    p.loop            = g_main_loop_new(NULL, FALSE);
    GSource *attached = bowline_glib_attach(NULL, p.client, look, &p);
    if (attached == NULL)
        return 1;
    guint ticker = g_timeout_add(TICK_MS, tick, &p);

    need(bowline_acquire_start(&p.acquiring, p.client, "06-glib",
                               BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error),
         &error);
    look(&p); /* it may have ended at once */
    g_main_loop_run(p.loop);
    g_source_remove(ticker);
    bowline_glib_detach(attached);
    g_main_loop_unref(p.loop);
    bowline_close(p.client);
    bowline_close(rival);
    return p.status == BOWLINE_OK ? 0 : 1;
}
