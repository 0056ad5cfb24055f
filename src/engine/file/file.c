/*
 * file.c -- locks between the processes of one machine that use one directory; the default
 * directory is that of one user.
 *
 * The kernel's locks on files, and nothing else: no process that keeps them, no lease.  They end
 * with the process that has them, however it ends.  How they are taken: seat.h.
 *
 * A child of a fork has the files open as well: it keeps the lock alive when we die without
 * leaving, which is what bowline_hold_inherit_fds is for.  When it forgets what it inherited, it
 * closes, and unlocks nothing: that would unlock the parent's.
 *
 * What it does not promise: a holder that is stopped holds until it goes on or ends.  When a lock
 * file is removed while it is held, in a directory that is not shared: who comes then takes the new
 * one (mark.h has the others).  Two names for one file by way of a bind mount: they exclude
 * each other, but each has its queue and its fence.  On a network file system, more than that makes
 * of locks.  And as with any locking of files by name: when we close a file, the record locks
 * (fcntl, lockf) that this process has on it are gone.
 */
#include "runtime/engines.h"
#include "base/fault.h"
#include "engine/file/seat.h"
#include "engine/file/who.h"
#include "protocol/store/local.h"

#include <stdlib.h>
#include <unistd.h>

static const char default_parent[] = "/run/lock";

static int check_url(const bwl_url *url, bwl_fault *fault)
{
    static const char *const known[] = { BWL_SETTINGS_OPTIONS, NULL };
    int                      status  = bwl_url_check_options(url, known, fault);

    if (status < 0)
        return status;
    if (url->user != NULL || url->port != 0 || (url->host != NULL && url->host[0] != '\0'))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "file: takes no host: write file:/DIR or file:///DIR (three slashes)");
    if (url->host != NULL && url->path[0] == '\0')
        return bwl_fail(
            fault, BWL_STATUS_USAGE,
            "file:// names no directory: write file: for the default one, or file:/DIR");
    return BWL_OK;
}

static int file_open(bwl_client *client, const bwl_url *url, bwl_fault *fault)
{
    int status = check_url(url, fault);

    if (status < 0)
        return status;
    bwl_file_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    store->directory.fd = -1;
    bwl_file_watcher_init(&store->watcher, client);
    if (url->path[0] == '\0')
        store->parent = default_parent; /* opened when it is needed: a path does without */
    else
        status = bwl_file_directory_open(&store->directory, url->path, fault);
    if (status < 0) {
        free(store);
        return status;
    }
    client->store = store;
    return BWL_OK;
}

static void file_close(bwl_client *client)
{
    bwl_file_store *store = client->store;

    bwl_file_watcher_close(&store->watcher);
    bwl_file_directory_close(&store->directory);
    free(store);
}

static int file_prepare(bwl_lock *lock, bwl_fault *fault)
{
    return bwl_file_seat_init(lock->part, lock, lock->client->store, fault);
}

static bool file_ask(bwl_lock *lock, const bwl_ask *ask, bwl_event *ret_reply)
{
    bwl_file_seat *s = lock->part;

    switch ((bwl_local_word)ask->word) {
    case LOCAL_JOIN: ret_reply->answer = bwl_file_seat_join(s, true, &ret_reply->number); break;
    case LOCAL_JOIN_OR_LEAVE:
        ret_reply->answer = bwl_file_seat_join(s, false, &ret_reply->number);
        break;
    case LOCAL_TRY: ret_reply->answer = bwl_file_seat_try(s, &ret_reply->number); break;
    case LOCAL_LEAVE:
        bwl_file_seat_leave(s);
        ret_reply->answer = BWL_YES;
        break;
    }
    return true;
}

static void file_forget(bwl_lock *lock)
{
    bwl_file_seat_free(lock->part);
}

static void file_woken(bwl_client *client)
{
    bwl_file_store *store = client->store;

    bwl_file_watcher_rest(&store->watcher);
}

static int file_who(bwl_lock *lock, bwl_holder *ret_holder, bwl_fault *fault)
{
    bwl_file_store *store   = lock->client->store;
    bwl_file_seat  *s       = lock->part;
    bool            is_bare = s->place.path == NULL;
    int             status  = is_bare ? bwl_file_store_open(store, false, fault) : BWL_OK;
    bwl_file        queue;
    bwl_file        named;

    *ret_holder = (bwl_holder){ .held = false };
    if (status < 0 || (is_bare && store->directory.fd < 0))
        return status; /* no directory: no locks */
    status = bwl_file_place_peek(&s->place, &queue, &named, fault);
    if (status < 0)
        return status;
    bwl_file_who(&queue, is_bare ? &queue : &named, ret_holder);
    if (ret_holder->fence == 0 && !ret_holder->foreign && bwl_file_place_is_marked(&s->place))
        bwl_file_who_marked(ret_holder);
    if (queue.fd >= 0)
        (void)close(queue.fd); /* was only looked at */
    if (named.fd >= 0)
        (void)close(named.fd); /* likewise */
    return BWL_OK;
}

static int file_reach(bwl_client *client, bwl_fault *fault)
{
    return bwl_file_store_open(client->store, true, fault);
}

static int file_fds(bwl_lock *lock, int ret_fds[2])
{
    const bwl_file_seat *s     = lock->part;
    int                  count = 0;

    if (s->named.fd >= 0)
        ret_fds[count++] = s->named.fd;
    if (s->queue.fd >= 0)
        ret_fds[count++] = s->queue.fd;
    if (s->marked && s->named.fd < 0 && s->place.mark.fd != 0)
        ret_fds[count++] = s->place.mark.fd; /* beside the two of a path there is no room */
    return count;
}

const bwl_engine bwl_file_engine = {
    .scheme    = "file",
    .kind      = BWL_ENGINE_FILE,
    .protocol  = &bwl_ticket,
    .lock_size = sizeof(bwl_file_seat),
    .open      = file_open,
    .close     = file_close,
    .reach     = file_reach,
    .prepare   = file_prepare,
    .ask       = file_ask,
    .forget    = file_forget,
    .woken     = file_woken,
    .who       = file_who,
    .fds       = file_fds,
};
