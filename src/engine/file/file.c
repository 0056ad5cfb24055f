/*
 * file.c -- the engine file: locks between the processes of one machine.
 *
 * It uses the kernel's file locks alone: there is no server process and no lease.  A lock ends with
 * the process that holds it, however that ends.  How it is taken: queue_node.h.
 *
 * After a fork the child has the files open as well, and so keeps the lock when the parent dies
 * without a release; bowline_hold_inherit_fds is for that.  A child that frees an inherited client
 * closes the files and unlocks nothing, because that would release the parent's lock.
 *
 * Not promised: a holder that is stopped keeps the lock until it continues or ends.  If a lock file
 * is removed while it is held, in a directory that is not shared, the next process takes a new file
 * (in a shared one: lock_path.h).  Two paths of one file by a bind mount exclude each other, but
 * each has its own queue and fence.  A network file system is as good as its locks.  And as always
 * with file locks by name: when the library closes a file, the record locks (fcntl, lockf) of this
 * process on it are gone.
 */
#include "engine/engine.h"
#include "protocol/local_lock.h"
#include "base/fault.h"
#include "engine/file/queue_node.h"
#include "engine/file/holder.h"
#include "protocol/store/local.h"

#include <stdlib.h>

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

static int file_open(bwl_host *client, const bwl_url *url, bwl_fault *fault)
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
        store->parent =
            default_parent; /* opened when it is needed: a name that is a path needs none */
    else
        status = bwl_file_directory_open(&store->directory, url->path, fault);
    if (status < 0) {
        free(store);
        return status;
    }
    client->store = store;
    return BWL_OK;
}

static void file_close(bwl_host *client)
{
    bwl_file_store *store = client->store;

    bwl_file_watcher_close(&store->watcher);
    bwl_file_directory_close(&store->directory);
    free(store);
}

static int file_prepare(bwl_engine_lock *lock, bwl_fault *fault)
{
    return bwl_file_node_init(lock->part, lock, lock->host->store, fault);
}

static bool file_send(bwl_engine_lock *lock, const bwl_send *send, bwl_event *ret_reply)
{
    bwl_file_node *n = lock->part;

    switch ((bwl_local_command)send->command) {
    case LOCAL_JOIN: ret_reply->answer = bwl_file_node_join(n, true, &ret_reply->number); break;
    case LOCAL_JOIN_OR_LEAVE:
        ret_reply->answer = bwl_file_node_join(n, false, &ret_reply->number);
        break;
    case LOCAL_TRY: ret_reply->answer = bwl_file_node_try(n, &ret_reply->number); break;
    case LOCAL_LEAVE:
        bwl_file_node_leave(n);
        ret_reply->answer = BWL_YES;
        break;
    }
    return true;
}

static void file_forget(bwl_engine_lock *lock)
{
    bwl_file_node_free(lock->part);
}

static void file_woken(bwl_host *client)
{
    bwl_file_store *store = client->store;

    bwl_file_watcher_close_idle(&store->watcher);
}

static int file_who(bwl_engine_lock *lock, bwl_holder *ret_holder, bwl_fault *fault)
{
    bwl_file_store *store   = lock->host->store;
    bwl_file_node  *n       = lock->part;
    bool            is_bare = n->path.path == NULL;
    int             status  = is_bare ? bwl_file_store_open(store, false, fault) : BWL_OK;
    bwl_file        queue;
    bwl_file        named;

    *ret_holder = (bwl_holder){ .held = false };
    if (status < 0 || (is_bare && store->directory.fd < 0))
        return status; /* no directory, no locks */
    status = bwl_file_path_peek(&n->path, &queue, &named, fault);
    if (status < 0)
        return status;
    bwl_file_find_holder(&queue, is_bare ? &queue : &named, ret_holder);
    if (ret_holder->fence == 0 && !ret_holder->foreign && bwl_file_path_is_name_locked(&n->path))
        bwl_file_holder_by_name(ret_holder);
    bwl_file_close(&queue);
    bwl_file_close(&named);
    return BWL_OK;
}

static int file_reach(bwl_host *host, bwl_fault *fault)
{
    return bwl_file_store_open(host->store, true, fault);
}

static int file_fds(bwl_engine_lock *lock, int ret_fds[2])
{
    const bwl_file_node *n     = lock->part;
    int                  count = 0;

    if (n->named.fd >= 0)
        ret_fds[count++] = n->named.fd;
    if (n->queue.fd >= 0)
        ret_fds[count++] = n->queue.fd;
    if (n->name_locked && n->named.fd < 0 && n->path.name_lock.fd != 0)
        ret_fds[count++] = n->path.name_lock.fd; /* a path has two already, which is the maximum */
    return count;
}

const bwl_engine bwl_file_engine = {
    .scheme     = "file",
    .url_prefix = "file:",
    .kind       = BWL_ENGINE_FILE,
    .protocol   = &bwl_ticket,
    .lock_size  = sizeof(bwl_file_node),
    .open       = file_open,
    .close      = file_close,
    .reach      = file_reach,
    .prepare    = file_prepare,
    .send       = file_send,
    .forget     = file_forget,
    .woken      = file_woken,
    .who        = file_who,
    .fds        = file_fds,
};
