/*
 * bowline_glib.h -- a bowline client in a GLib main context.  Copy it: it is no part of the
 * library.
 *
 *      GSource *source = bowline_glib_attach(context, client, look, &program);
 *      ... bowline_acquire_start, and in look(): bowline_operation_done, bowline_acquire_finish ...
 *      bowline_glib_detach(source);
 *      bowline_close(client);
 *
 * Open the client with flags = BOWLINE_NO_THREAD, and use it in the thread of the context only.
 *
 * How it works.  The client is a source of events of its own.  GLib polls the client's descriptor,
 * which is readable when something has arrived or a timer is due.  Then: bowline_dispatch, and
 * look().
 *
 * An operation can have ended when its start returns.  Then the descriptor does not become
 * readable: call look() yourself.
 */
#ifndef BOWLINE_GLIB_H
#define BOWLINE_GLIB_H

#include <bowline/async.h>

#include <glib-unix.h>
#include <glib.h>

typedef struct bowline_glib {
    GSource         source; /* first: GLib allocates it */
    bowline_client *client;
    gpointer        readable; /* the tag of the descriptor */
    void (*look)(void *arg);
    void *arg;
} bowline_glib;

static inline gboolean bowline_glib_check(GSource *source)
{
    return g_source_query_unix_fd(source, ((bowline_glib *)source)->readable) != 0;
}

static inline gboolean bowline_glib_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    bowline_glib *b = (bowline_glib *)source;

    (void)callback; /* look() is ours, with no result */
    (void)data;
    /* Its errors, SYSTEM (no descriptor is left) and FORKED, come back from finish as well. */
    (void)bowline_dispatch(b->client, 0, NULL);
    b->look(b->arg);
    return G_SOURCE_CONTINUE;
}

/* Calls look(arg) after each dispatch, until detached.  NULL: there is no descriptor for it.  A
 * context of NULL is the default one. */
static inline GSource *bowline_glib_attach(GMainContext *context, bowline_client *client,
                                           void (*look)(void *arg), void         *arg)
{
    static GSourceFuncs functions = { NULL, bowline_glib_check, bowline_glib_dispatch, NULL, NULL,
                                      NULL };
    int                 fd        = bowline_fd(client);

    if (fd < 0)
        return NULL;
    GSource      *source = g_source_new(&functions, sizeof(bowline_glib));
    bowline_glib *b      = (bowline_glib *)source;
    b->client            = client;
    b->look              = look;
    b->arg               = arg;
    b->readable          = g_source_add_unix_fd(source, fd, G_IO_IN);
    (void)g_source_attach(source, context); /* its number is not needed to remove it */
    return source;
}

/* The client may be closed at once.  Also from look(). */
static inline void bowline_glib_detach(GSource *source)
{
    g_source_destroy(source);
    g_source_unref(source);
}

#endif
