/*
 * file.c -- the engine file: locks between the processes of one machine.  How a lock is acquired:
 * queue_node.h.
 */
#include "engine/engine.h"
#include "protocol/local_lock.h"
#include "protocol/store/local.h"
#include "base/fault.h"
#include "engine/file/holder.h"
#include "engine/file/listing.h"
#include "engine/file/queue_node.h"

#include <stdlib.h>

/* ---- the engine ------------------------------------------------------------------------------ */

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
    bwl_file_node  *n     = lock->part;
    bwl_file_store *store = lock->host->store;

    *n = (bwl_file_node){ .lock = lock, .store = store };
    return bwl_file_path_init(&n->path, &store->directory, lock->name, lock->name_size, fault);
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
    case LOCAL_DOWNGRADE:
    case LOCAL_UPGRADE: bwl_unreachable("the protocol of files changes no mode");
    }
    return true;
}

/* In a forked child, where the locks and watches are the parent's, only closes. */
static void file_forget(bwl_engine_lock *lock)
{
    bwl_file_node *n = lock->part;

    bwl_file_list_end(lock);
    if (bwl_forked(&lock->host->guard))
        bwl_file_path_close(&n->path);
    else
        bwl_file_node_leave(n);
    bwl_file_path_free(&n->path);
    free(n->holders);
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
    bwl_file_path   asked   = n->path; /* this lock may be held: the query opens its own files */

    free(n->holders);
    n->holders  = NULL;
    *ret_holder = (bwl_holder){ .held = false };
    if (status < 0 || (is_bare && store->directory.fd < 0))
        return status; /* no directory, no locks */
    asked.queue_path = NULL;
    asked.queue = asked.named = (bwl_file){ .fd = -1 };
    asked.name_lock           = (bwl_file_name_lock){ .fd = 0 };
    status                    = bwl_file_path_open(&asked, false, fault);
    if (status < 0)
        return status;
    n->holders = bwl_file_find_holder(&asked.queue, is_bare ? &asked.queue : &asked.named,
                                      bwl_file_name_lock_test(&asked.name_lock) == BWL_FILE_BUSY,
                                      ret_holder);
    bwl_file_path_close(&asked);
    return BWL_OK;
}

/* The files are read for the first holder. */
static int file_who_nth(bwl_engine_lock *lock, size_t nth, bwl_holder *ret_holder, bwl_fault *fault)
{
    bwl_file_node *n = lock->part;

    if (nth == 0) {
        int status = file_who(lock, ret_holder, fault);
        if (status < 0)
            return status;
        n->holders_count = n->holders != NULL ? ret_holder->sharers : 0;
        if (n->holders == NULL)
            return ret_holder->held;
    }
    if (nth < n->holders_count)
        *ret_holder = n->holders[nth];
    return (int)n->holders_count;
}

static int file_reach(bwl_host *host, bwl_fault *fault)
{
    return bwl_file_store_open(host->store, true, fault);
}

/* If it fails, the command is not shown. */
static void file_command(bwl_engine_lock *lock, int64_t pid)
{
    const bwl_file_node *n = lock->part;

    (void)bwl_file_write_command(n->path.queue.fd, n->record, n->place.ticket, pid);
}

static int file_fds(bwl_engine_lock *lock, int ret_fds[2])
{
    const bwl_file_node *n     = lock->part;
    int                  count = 0;

    if (n->path.named.fd >= 0)
        ret_fds[count++] = n->path.named.fd;
    if (n->path.queue.fd >= 0)
        ret_fds[count++] = n->path.queue.fd;
    if (n->name_locked && n->path.named.fd < 0 && n->path.name_lock.fd != 0)
        ret_fds[count++] = n->path.name_lock.fd; /* a path has two already, which is the maximum */
    return count;
}

const bwl_engine bwl_file_engine = {
    .scheme       = "file",
    .url_prefix   = "file:",
    .kind         = BWL_ENGINE_FILE,
    .protocol     = &bwl_sharing_ticket,
    .lock_size    = sizeof(bwl_file_node),
    .open         = file_open,
    .close        = file_close,
    .reach        = file_reach,
    .prepare      = file_prepare,
    .send         = file_send,
    .forget       = file_forget,
    .woken        = file_woken,
    .view.who     = file_who,
    .view.who_nth = file_who_nth,
    .view.list    = bwl_file_list,
    .view.command = file_command,
    .fds          = file_fds,
};
