#include "engine/file/queue_node.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/calls.h"
#include "engine/file/kernel_queue.h"
#include "protocol/store/local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

enum { COUNTED_MAX = 64 }; /* nodes in front that are counted one by one */

/* ---- leaving --------------------------------------------------------------------------------- */

static void stop_waiting(bwl_file_node *n)
{
    bwl_file_watch_remove(&n->store->watcher, &n->queue_waiter);
    bwl_file_watch_remove(&n->store->watcher, &n->named_waiter);
}

static int flock_fd(const bwl_file_node *n)
{
    return n->named.fd >= 0 ? n->named.fd : n->queue.fd;
}

/* The name lock first: a waiter that the flock wakes finds both free. */
static void release_flock(bwl_file_node *n)
{
    if (n->name_locked)
        bwl_file_name_lock_release(&n->path.name_lock);
    n->name_locked = false;
    if (n->flocked)
        (void)flock(flock_fd(n), LOCK_UN); /* cannot fail for a lock that we have */
    n->flocked = false;
}

void bwl_file_node_leave(bwl_file_node *n)
{
    release_flock(n);
    if (n->queued && bwl_file_queue_leave(n->queue.fd))
        (void)futimens(n->queue.fd, NULL); /* if it fails, they poll */
    n->queued = false;
    stop_waiting(n);
    bwl_file_close(&n->queue);
    bwl_file_close(&n->named);
    bwl_file_name_lock_close(&n->path.name_lock);
}

/* ---- refusing -------------------------------------------------------------------------------- */

static bwl_answer refused(bwl_file_node *n, const bwl_fault *why)
{
    bwl_host_set_fault(n->lock, why);
    bwl_file_node_leave(n);
    return BWL_REFUSED;
}

static bwl_answer refused_file(bwl_file_node *n, const char *why)
{
    char      shown[BWL_FILE_SHOWN_MAX];
    bwl_fault fault;

    bwl_file_path_show(&n->path, shown);
    (void)bwl_fail(&fault, BWL_STATUS_REFUSED, "%s %s", shown, why);
    return refused(n, &fault);
}

static bwl_answer refused_errno(bwl_file_node *n, const char *what, int error)
{
    char      shown[BWL_FILE_SHOWN_MAX];
    bwl_fault fault;

    if (error == EBADMSG)
        return refused_file(n, "is not a lock file, though it has the name of one: not touched");
    if (error == EINVAL || error == ENOSYS || error == EOPNOTSUPP)
        return refused_file(n, "cannot be locked: this system or file system has not the locks "
                               "that are needed (F_OFD_SETLK, flock)");
    bwl_file_path_show(&n->path, shown);
    errno = error;
    (void)bwl_fail_errno(&fault, "cannot %s %s", what, shown);
    return refused(n, &fault);
}

static bwl_answer start_over(bwl_file_node *n, const char *why)
{
    bwl_host_set_error(n->lock, "%s", why);
    bwl_file_node_leave(n);
    return BWL_RETRYABLE;
}

/* ---- opening --------------------------------------------------------------------------------- */

int bwl_file_store_open(bwl_file_store *store, bool make, bwl_fault *fault)
{
    bwl_file_directory *d = &store->directory;

    if (d->fd >= 0)
        return BWL_OK;
    if (store->parent != NULL)
        return bwl_file_directory_open_own(d, store->parent, make, fault);
    return bwl_file_directory_open(d, d->path, fault);
}

static int open_bare(bwl_file_node *n, bwl_fault *fault)
{
    int status = bwl_file_store_open(n->store, true, fault);

    return status < 0 ? status : bwl_file_path_open(&n->path, &n->queue, &n->named, fault);
}

static int open_files(bwl_file_node *n, bwl_fault *fault)
{
    bwl_file_directory *d = &n->store->directory;

    if (n->queue.fd >= 0)
        return BWL_OK;
    if (n->path.path != NULL)
        return bwl_file_path_open(&n->path, &n->queue, &n->named, fault);
    int status = open_bare(n, fault);
    if (status == BWL_OK || d->fd < 0 || !bwl_file_directory_is_gone(d))
        return status;
    /* It was removed while it was open here: other processes use the new one already. */
    bwl_file_directory_close(d);
    return open_bare(n, fault);
}

/* ---- the flock ------------------------------------------------------------------------------- */

/* On a network file system a flock may be a lock on the whole file (NFS, SMB), which conflicts with
 * the queue nodes of others.  There the queue alone excludes. */
static bool needs_no_flock(const bwl_file_node *n)
{
    return n->named.fd < 0 && n->store->directory.is_remote;
}

/* NFS requires a file that is open for writing; flock(1) does the same. */
static bool reopen_for_writing(bwl_file_node *n)
{
    char path[32];

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", n->named.fd);
    int fd = bwl_file_above_standard(
        bwl_file_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0));
    if (fd < 0)
        return false;
    (void)close(n->named.fd); /* was read only */
    n->named.fd = fd;
    return true;
}

/* While another process holds the name by a file that was removed, the flock of this one means
 * nothing. */
static bwl_file_lock_state acquire_name_lock(bwl_file_node *n)
{
    bwl_file_lock_state state = bwl_file_name_lock_acquire(&n->path.name_lock);

    n->name_locked = state == BWL_FILE_FREE;
    if (state == BWL_FILE_BUSY)
        release_flock(n);
    return state;
}

static bwl_file_lock_state acquire_flock(bwl_file_node *n)
{
    if (needs_no_flock(n))
        return BWL_FILE_FREE;
    int status = flock(flock_fd(n), LOCK_EX | LOCK_NB);
    if (status != 0 && errno == EBADF && n->named.fd >= 0 && reopen_for_writing(n))
        status = flock(n->named.fd, LOCK_EX | LOCK_NB);
    n->flocked = status == 0;
    if (status != 0)
        return errno == EWOULDBLOCK ? BWL_FILE_BUSY : BWL_FILE_FAILED;
    return acquire_name_lock(n);
}

/* ---- taking ---------------------------------------------------------------------------------- */

static const bwl_file_identity *identity(bwl_file_node *n)
{
    if (n->store->self.size == 0)
        bwl_file_identity_read(&n->store->self, n->lock->host->program);
    return &n->store->self;
}

/* The lock was granted: it is ours if the name still leads to these files. */
static bwl_answer confirm(bwl_file_node *n, uint64_t *ret_number)
{
    bool      are_current;
    bwl_fault fault;

    if (bwl_file_path_check(&n->path, &n->queue, &n->named, &are_current, &fault) < 0)
        return refused(n, &fault);
    if (!are_current)
        return start_over(n, "the lock file is replaced again and again");
    stop_waiting(n);
    *ret_number = n->ticket;
    return BWL_YES;
}

/* After a wait, with the flock. */
static bwl_answer grant(bwl_file_node *n, uint64_t *ret_number)
{
    bwl_file_head head;
    int           error = bwl_file_read_head(n->queue.fd, &head);

    if (error != 0)
        return refused_errno(n, "read", error);
    if (head.granted >= n->ticket) /* we were stopped since the last check */
        return start_over(n, "overtaken again and again");
    error = bwl_file_write_granted(n->queue.fd, n->ticket, identity(n), bwl_clock_now());
    if (error != 0)
        return refused_errno(n, "write", error);
    return confirm(n, ret_number);
}

/* At the head of the queue.  A holder of the flock is then not in the queue: it may unlock without
 * closing the file, which is no event. */
static bwl_answer try_head(bwl_file_node *n, uint64_t *ret_number)
{
    switch (acquire_flock(n)) {
    case BWL_FILE_FREE: return grant(n, ret_number);
    case BWL_FILE_BUSY: *ret_number = LOCAL_WILL_NOT; return BWL_NO;
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(n, "lock", errno);
}

/* True if no ticket has held the lock for so long that the waiters in front may be stopped. */
static bool is_idle(bwl_file_node *n, uint64_t granted, bwl_ms now)
{
    bool nobody = bwl_file_queue_test_head(n->queue.fd, granted, granted + 1) == BWL_FILE_FREE;

    if (!nobody || n->idle_since == 0 || n->idle_ticket != granted) {
        n->idle_ticket = granted;
        n->idle_since  = nobody ? now : 0;
        n->free_checks = 0;
    }
    return nobody && now - n->idle_since >= BWL_FILE_OVERTAKE_AFTER_MS;
}

/* A holder of the flock alone also keeps the waiters in front waiting, so we may wait for events.
 * But it may be a waiter behind us that checks at this moment, and would get ahead if our next
 * check were late: so the next one comes soon, once. */
static bwl_answer flock_busy(bwl_file_node *n, uint64_t *ret_number)
{
    if (!n->flock_was_busy)
        *ret_number = LOCAL_WILL_NOT;
    n->flock_was_busy = true;
    return BWL_NO;
}

/* Others are in front.  If none of them holds the lock, they are about to take it, or are
 * stopped. */
static bwl_answer try_overtake(bwl_file_node *n, uint64_t granted, uint64_t *ret_number)
{
    bwl_ms now = bwl_clock_now();

    if (needs_no_flock(n) || !is_idle(n, granted, now))
        return BWL_NO;
    if (n->free_checks > 0 && now - n->free_at < BWL_FILE_OVERTAKE_CHECK_MS) {
        *ret_number = LOCAL_WILL_NOT;
        return BWL_NO;
    }
    switch (acquire_flock(n)) {
    case BWL_FILE_FREE: n->flock_was_busy = false; break;
    case BWL_FILE_BUSY: return flock_busy(n, ret_number);
    case BWL_FILE_FAILED: return refused_errno(n, "lock", errno);
    }
    unsigned before = bwl_file_queue_count(n->queue.fd, granted, n->ticket, COUNTED_MAX);
    n->free_at      = now;
    if (++n->free_checks >= BWL_FILE_OVERTAKE_CHECKS * before)
        return grant(n, ret_number);
    release_flock(n);
    *ret_number = LOCAL_WILL_NOT;
    return BWL_NO;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool watch_file(bwl_file_node *n, bwl_file_waiter *waiter, int fd)
{
    waiter->lock   = n->lock;
    waiter->ticket = n->ticket;
    return !bwl_file_is_remote(fd) && bwl_file_watch_add(&n->store->watcher, waiter, fd);
}

/* Sets how the waiter is woken.  A watch that fails is tried again at every check. */
static uint64_t watch_files(bwl_file_node *n)
{
    if (n->wakeup == LOCAL_WILL_PUSH || !n->may_wait)
        return n->wakeup;
    bool queue_watched = watch_file(n, &n->queue_waiter, n->queue.fd);
    bool named_watched = n->named.fd < 0 || watch_file(n, &n->named_waiter, n->named.fd);
    return queue_watched && named_watched ? LOCAL_WILL_PUSH : LOCAL_WILL_NOT;
}

/* Watches first and checks then, so every change after the check is an event. */
bwl_answer bwl_file_node_try(bwl_file_node *n, uint64_t *ret_number)
{
    bwl_file_head head;

    assert(n->queued);
    n->wakeup   = watch_files(n);
    *ret_number = n->wakeup;
    int error   = bwl_file_read_head(n->queue.fd, &head);
    if (error != 0)
        return refused_errno(n, "read", error);
    if (head.granted >= n->ticket)
        return start_over(n, "overtaken again and again");
    switch (bwl_file_queue_test_head(n->queue.fd, head.granted, n->ticket)) {
    case BWL_FILE_FREE: return try_head(n, ret_number);
    case BWL_FILE_BUSY: return try_overtake(n, head.granted, ret_number);
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(n, "lock", errno);
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Draws a ticket, with the latch or the whole queue locked. */
static bwl_answer draw(bwl_file_node *n)
{
    bwl_file_head head;
    int           error = bwl_file_read_head(n->queue.fd, &head);

    if (error != 0)
        return refused_errno(n, "read", error);
    n->ticket = bwl_file_next_ticket(&head, bwl_clock_wall_us());
    if (n->ticket == 0)
        return refused_file(n, "has a broken counter: remove it while nobody uses it");
    n->wakeup         = LOCAL_WILL_NOT;
    n->flock_was_busy = false;
    return BWL_YES;
}

/* Others are in the queue: joins at its end. */
static bwl_answer wait_last(bwl_file_node *n, uint64_t *ret_number)
{
    bwl_file_lock_state state = bwl_file_queue_latch(n->queue.fd);
    if (state == BWL_FILE_BUSY)
        return BWL_RETRYABLE;
    if (state == BWL_FILE_FAILED)
        return refused_errno(n, "lock", errno);
    n->queued         = true;
    bwl_answer answer = draw(n);
    if (answer != BWL_YES)
        return answer;
    if (bwl_file_queue_enqueue(n->queue.fd, &n->ticket) != BWL_FILE_FREE)
        return refused_errno(n, "join the queue of", errno);
    int error = bwl_file_write_drawn(n->queue.fd, n->ticket);
    if (error != 0)
        return refused_errno(n, "write", error);
    if (bwl_file_queue_unlatch(n->queue.fd) != BWL_FILE_FREE)
        return refused_errno(n, "join the queue of", errno);
    return bwl_file_node_try(n, ret_number);
}

/* The whole queue is locked, and the file is flocked. */
static bwl_answer take(bwl_file_node *n, uint64_t *ret_number)
{
    bwl_answer answer = draw(n);
    if (answer != BWL_YES)
        return answer;
    int error = bwl_file_write_both(n->queue.fd, n->ticket, identity(n), bwl_clock_now());
    if (error != 0)
        return refused_errno(n, "write", error);
    if (bwl_file_queue_keep(n->queue.fd, n->ticket) != BWL_FILE_FREE)
        return refused_errno(n, "join the queue of", errno);
    return confirm(n, ret_number);
}

/* The whole queue is locked, but another process has the flock: waits at the head. */
static bwl_answer wait_first(bwl_file_node *n, uint64_t *ret_number)
{
    bwl_answer answer = draw(n);
    if (answer != BWL_YES)
        return answer;
    int error = bwl_file_write_drawn(n->queue.fd, n->ticket);
    if (error != 0)
        return refused_errno(n, "write", error);
    if (bwl_file_queue_keep_waiting(n->queue.fd, n->ticket) != BWL_FILE_FREE)
        return refused_errno(n, "join the queue of", errno);
    return bwl_file_node_try(n, ret_number);
}

static bwl_answer join_empty(bwl_file_node *n, uint64_t *ret_number)
{
    n->queued = true;
    switch (acquire_flock(n)) {
    case BWL_FILE_FREE: return take(n, ret_number);
    case BWL_FILE_BUSY: return n->may_wait ? wait_first(n, ret_number) : BWL_NO;
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(n, "lock", errno);
}

/* True if all nodes belong to waiters that were overtaken: none is in front. */
static bool all_overtaken(const bwl_file_node *n)
{
    bwl_file_head head;

    return bwl_file_read_head(n->queue.fd, &head) == 0 && head.granted <= BWL_FILE_TICKET_MAX &&
           bwl_file_queue_test_from(n->queue.fd, head.granted) == BWL_FILE_FREE;
}

static bwl_answer join_queue(bwl_file_node *n, uint64_t *ret_number)
{
    switch (bwl_file_queue_lock_empty(n->queue.fd)) {
    case BWL_FILE_FREE: return join_empty(n, ret_number);
    case BWL_FILE_BUSY:
        if (!n->may_wait && !all_overtaken(n))
            return BWL_NO;
        return wait_last(n, ret_number);
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(n, "lock", errno);
}

bwl_answer bwl_file_node_join(bwl_file_node *n, bool may_wait, uint64_t *ret_number)
{
    bwl_fault fault;

    assert(!n->queued && !n->flocked);
    n->may_wait = may_wait;
    if (open_files(n, &fault) < 0)
        return refused(n, &fault);
    (void)identity(n); /* takes too long to be done with the latch */
    bwl_answer answer = join_queue(n, ret_number);
    if (answer == BWL_NO && !may_wait)
        bwl_file_node_leave(n);
    return answer;
}

/* ---- the node itself ------------------------------------------------------------------------- */

int bwl_file_node_init(bwl_file_node *n, bwl_engine_lock *lock, bwl_file_store *store,
                       bwl_fault *fault)
{
    *n = (bwl_file_node){
        .lock = lock, .store = store, .queue = { .fd = -1 }, .named = { .fd = -1 }
    };
    return bwl_file_path_init(&n->path, &store->directory, lock->name, lock->name_size, fault);
}

void bwl_file_node_free(bwl_file_node *n)
{
    if (bwl_forked(&n->lock->host->guard)) {
        bwl_file_close(&n->queue);
        bwl_file_close(&n->named);
        bwl_file_name_lock_close(&n->path.name_lock);
    } else {
        bwl_file_node_leave(n);
    }
    bwl_file_path_free(&n->path);
}
