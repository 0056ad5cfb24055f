/*
 * file.c -- the engine file: locks between the processes of one machine.
 *
 * It uses the kernel's file locks alone: there is no server process and no lease.  A lock ends with
 * the process that holds it, however that ends.
 *
 * A holder has two things, taken in this order:
 *
 *   1. the first node in the queue of a file that the engine writes (kernel_queue.h): it gives the
 *      order and the fence
 *   2. flock(2) on the file: it excludes flock(1) and other programs that lock so.  In a shared
 *      directory, the name lock goes with it (lock_path.h)
 *
 * It then writes its owner record into the file (owner_record.h).  A bare name has both on one file
 * of the lock directory.  A name that is a path has the flock on that file, and the queue in the
 * file beside it (lock_path.h).
 *
 *      join   the queue is empty: lock it, flock, done.  Otherwise enqueue, watch the file
 *             (watch.h), and try once, because the lock may have become free meanwhile
 *      try    at the head and the flock is free: the lock is ours if the name still leads to this
 *             file
 *      leave  unlocks both explicitly, because a child may still have the file open; if others are
 *             in the queue, touches the file, which wakes them even then
 *
 * A waiter that is stopped in its turn (by SIGSTOP, a debugger, a frozen container) delays only
 * itself: the others overtake it.  They do so when no ticket has held the lock for
 * OVERTAKE_AFTER_MS, and the flock was then found free OVERTAKE_CHECKS times for each node in
 * front, OVERTAKE_CHECK_MS apart.  That is safe, because the flock excludes.  The fence still
 * grows, because tickets below the last granted one are void: the waiter that was overtaken joins
 * again when it continues.
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
 * process on it are gone.  There is no order among users of flock(1), or between them and bowline.
 * A process that is stopped in the microseconds in which it holds the latch keeps others from
 * joining.
 */
#include "engine/file/file.h"
#include "engine/engine.h"
#include "protocol/local_lock.h"
#include "protocol/store/local.h"
#include "base/clock.h"
#include "base/fault.h"
#include "engine/file/holder.h"
#include "engine/file/kernel_queue.h"
#include "engine/file/listing.h"
#include "engine/file/lock_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

enum {
    OVERTAKE_AFTER_MS = 1000,
    OVERTAKE_CHECKS   = 4,
    OVERTAKE_CHECK_MS = 250,
    COUNTED_MAX       = 64, /* nodes in front that are counted one by one */
};

typedef struct node {
    bwl_engine_lock *lock;
    bwl_file_store  *store;
    bwl_file_path    path;
    bool             may_wait;
    bool             queued;
    bool             flocked;
    bool             name_locked;
    uint64_t         ticket;
    uint64_t         wakeup;         /* of a waiter: LOCAL_WILL_PUSH or LOCAL_WILL_NOT         */
    uint64_t         idle_ticket;    /* the ticket granted last, whose node is gone ...        */
    bwl_ms           idle_since;     /* ... since this check at the latest; 0: its node exists */
    unsigned         free_checks;    /* how often the flock was free since then                */
    bwl_ms           free_at;        /* when it was last found free                            */
    bool             flock_was_busy; /* at the last check; one extra check follows soon        */
    bwl_file_waiter  queue_waiter;
    bwl_file_waiter  named_waiter;
} node;

/* ---- leaving --------------------------------------------------------------------------------- */

static void stop_waiting(node *n)
{
    bwl_file_watch_remove(&n->store->watcher, &n->queue_waiter);
    bwl_file_watch_remove(&n->store->watcher, &n->named_waiter);
}

static int flock_fd(const node *n)
{
    return n->path.named.fd >= 0 ? n->path.named.fd : n->path.queue.fd;
}

/* The name lock first: a waiter that the flock wakes finds both free. */
static void release_flock(node *n)
{
    if (n->name_locked)
        bwl_file_name_lock_release(&n->path.name_lock);
    n->name_locked = false;
    if (n->flocked)
        (void)flock(flock_fd(n), LOCK_UN); /* cannot fail for a lock that we have */
    n->flocked = false;
}

static void leave(node *n)
{
    release_flock(n);
    if (n->queued && bwl_file_queue_leave(n->path.queue.fd))
        (void)futimens(n->path.queue.fd, NULL); /* if it fails, they poll */
    n->queued = false;
    stop_waiting(n);
    bwl_file_path_close(&n->path);
}

/* ---- refusing -------------------------------------------------------------------------------- */

static bwl_answer refused(node *n, const bwl_fault *why)
{
    bwl_host_set_fault(n->lock, why);
    leave(n);
    return BWL_REFUSED;
}

static bwl_answer refused_file(node *n, const char *why)
{
    char      shown[BWL_FILE_SHOWN_MAX];
    bwl_fault fault;

    bwl_file_path_show(&n->path, shown);
    (void)bwl_fail(&fault, BWL_STATUS_REFUSED, "%s %s", shown, why);
    return refused(n, &fault);
}

static bwl_answer refused_errno(node *n, const char *what, int error)
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

static bwl_answer start_over(node *n, const char *why)
{
    bwl_host_set_error(n->lock, "%s", why);
    leave(n);
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

static int open_once(node *n, bwl_fault *fault)
{
    int status = n->path.path == NULL ? bwl_file_store_open(n->store, true, fault) : BWL_OK;

    return status < 0 ? status : bwl_file_path_open(&n->path, true, fault);
}

static int open_files(node *n, bwl_fault *fault)
{
    bwl_file_directory *d      = &n->store->directory;
    int                 status = n->path.queue.fd >= 0 ? BWL_OK : open_once(n, fault);
    struct stat         st;

    if (status == BWL_OK || n->path.path != NULL || d->fd < 0 || fstat(d->fd, &st) != 0 ||
        st.st_nlink != 0)
        return status;
    /* The directory was removed while it was open here: other processes use a new one already. */
    bwl_file_directory_close(d);
    return open_once(n, fault);
}

/* ---- the flock ------------------------------------------------------------------------------- */

/* On a network file system a flock may be a lock on the whole file (NFS, SMB), which conflicts with
 * the queue nodes of others.  There the queue alone excludes. */
static bool needs_no_flock(const node *n)
{
    return n->path.named.fd < 0 && n->store->directory.is_remote;
}

/* NFS requires a file that is open for writing; flock(1) does the same. */
static bool reopen_for_writing(node *n)
{
    char path[32];

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", n->path.named.fd);
    int fd = bwl_file_open_at(AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return false;
    (void)close(n->path.named.fd); /* was read only */
    n->path.named.fd = fd;
    return true;
}

/* While another process holds the name by a file that was removed, the flock of this one means
 * nothing. */
static bwl_file_lock_state acquire_name_lock(node *n)
{
    bwl_file_lock_state state = bwl_file_name_lock_acquire(&n->path.name_lock);

    n->name_locked = state == BWL_FILE_FREE;
    if (state == BWL_FILE_BUSY)
        release_flock(n);
    return state;
}

static bwl_file_lock_state acquire_flock(node *n)
{
    if (needs_no_flock(n))
        return BWL_FILE_FREE;
    int status = flock(flock_fd(n), LOCK_EX | LOCK_NB);
    if (status != 0 && errno == EBADF && n->path.named.fd >= 0 && reopen_for_writing(n))
        status = flock(n->path.named.fd, LOCK_EX | LOCK_NB);
    n->flocked = status == 0;
    if (status != 0)
        return errno == EWOULDBLOCK ? BWL_FILE_BUSY : BWL_FILE_FAILED;
    return acquire_name_lock(n);
}

/* ---- taking ---------------------------------------------------------------------------------- */

static const bwl_file_identity *identity(node *n)
{
    if (n->store->self.size == 0)
        bwl_file_identity_read(&n->store->self, n->lock->host->program);
    return &n->store->self;
}

/* The lock was granted: it is ours if the name still leads to these files. */
static bwl_answer confirm(node *n, uint64_t *ret_number)
{
    bool      are_current;
    bwl_fault fault;

    if (bwl_file_path_check(&n->path, &are_current, &fault) < 0)
        return refused(n, &fault);
    if (!are_current)
        return start_over(n, "the lock file is replaced again and again");
    stop_waiting(n);
    *ret_number = n->ticket;
    return BWL_YES;
}

/* After a wait, with the flock. */
static bwl_answer grant(node *n, uint64_t *ret_number)
{
    bwl_file_head head;
    int           error = bwl_file_read_head(n->path.queue.fd, &head);

    if (error != 0)
        return refused_errno(n, "read", error);
    if (head.granted >= n->ticket) /* we were stopped since the last check */
        return start_over(n, "overtaken again and again");
    error = bwl_file_write(n->path.queue.fd, n->ticket, false, true, identity(n));
    if (error != 0)
        return refused_errno(n, "write", error);
    return confirm(n, ret_number);
}

/* At the head of the queue.  A holder of the flock is then not in the queue: it may unlock without
 * closing the file, which is no event. */
static bwl_answer try_head(node *n, uint64_t *ret_number)
{
    switch (acquire_flock(n)) {
    case BWL_FILE_FREE: return grant(n, ret_number);
    case BWL_FILE_BUSY: *ret_number = LOCAL_WILL_NOT; return BWL_NO;
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(n, "lock", errno);
}

/* True if no ticket has held the lock for so long that the waiters in front may be stopped. */
static bool is_idle(node *n, uint64_t granted, bwl_ms now)
{
    bool nobody = bwl_file_queue_test_head(n->path.queue.fd, granted, granted + 1) == BWL_FILE_FREE;

    if (!nobody || n->idle_since == 0 || n->idle_ticket != granted) {
        n->idle_ticket = granted;
        n->idle_since  = nobody ? now : 0;
        n->free_checks = 0;
    }
    return nobody && now - n->idle_since >= OVERTAKE_AFTER_MS;
}

/* A holder of the flock alone also keeps the waiters in front waiting, so we may wait for events.
 * But it may be a waiter behind us that checks at this moment, and would get ahead if our next
 * check were late: so the next one comes soon, once. */
static bwl_answer flock_busy(node *n, uint64_t *ret_number)
{
    if (!n->flock_was_busy)
        *ret_number = LOCAL_WILL_NOT;
    n->flock_was_busy = true;
    return BWL_NO;
}

/* Others are in front.  If none of them holds the lock, they are about to take it, or are
 * stopped. */
static bwl_answer try_overtake(node *n, uint64_t granted, uint64_t *ret_number)
{
    bwl_ms now = bwl_clock_now();

    if (needs_no_flock(n) || !is_idle(n, granted, now))
        return BWL_NO;
    if (n->free_checks > 0 && now - n->free_at < OVERTAKE_CHECK_MS) {
        *ret_number = LOCAL_WILL_NOT;
        return BWL_NO;
    }
    switch (acquire_flock(n)) {
    case BWL_FILE_FREE: n->flock_was_busy = false; break;
    case BWL_FILE_BUSY: return flock_busy(n, ret_number);
    case BWL_FILE_FAILED: return refused_errno(n, "lock", errno);
    }
    unsigned before = bwl_file_queue_count(n->path.queue.fd, granted, n->ticket, COUNTED_MAX);
    n->free_at      = now;
    if (++n->free_checks >= OVERTAKE_CHECKS * before)
        return grant(n, ret_number);
    release_flock(n);
    *ret_number = LOCAL_WILL_NOT;
    return BWL_NO;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool watch_file(node *n, bwl_file_waiter *waiter, int fd)
{
    waiter->lock   = n->lock;
    waiter->ticket = n->ticket;
    return !bwl_file_is_remote(fd) && bwl_file_watch_add(&n->store->watcher, waiter, fd);
}

/* Sets how the waiter is woken.  A watch that fails is tried again at every check. */
static uint64_t watch_files(node *n)
{
    if (n->wakeup == LOCAL_WILL_PUSH || !n->may_wait)
        return n->wakeup;
    bool queue_watched = watch_file(n, &n->queue_waiter, n->path.queue.fd);
    bool named_watched = n->path.named.fd < 0 || watch_file(n, &n->named_waiter, n->path.named.fd);
    return queue_watched && named_watched ? LOCAL_WILL_PUSH : LOCAL_WILL_NOT;
}

/* Watches first and checks then, so every change after the check is an event. */
static bwl_answer try(node *n, uint64_t *ret_number)
{
    bwl_file_head head;

    assert(n->queued);
    n->wakeup   = watch_files(n);
    *ret_number = n->wakeup;
    int error   = bwl_file_read_head(n->path.queue.fd, &head);
    if (error != 0)
        return refused_errno(n, "read", error);
    if (head.granted >= n->ticket)
        return start_over(n, "overtaken again and again");
    switch (bwl_file_queue_test_head(n->path.queue.fd, head.granted, n->ticket)) {
    case BWL_FILE_FREE: return try_head(n, ret_number);
    case BWL_FILE_BUSY: return try_overtake(n, head.granted, ret_number);
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(n, "lock", errno);
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Draws a ticket, with the latch or the whole queue locked. */
static bwl_answer draw(node *n)
{
    bwl_file_head head;
    int           error = bwl_file_read_head(n->path.queue.fd, &head);

    if (error != 0)
        return refused_errno(n, "read", error);
    n->ticket = bwl_file_next_ticket(&head, bwl_clock_wall_us());
    if (n->ticket == 0)
        return refused_file(n, "has a broken counter: remove it while nobody uses it");
    n->wakeup         = LOCAL_WILL_NOT;
    n->flock_was_busy = false;
    return BWL_YES;
}

/* How a lock enters the queue, and what is locked at that moment. */
typedef enum entry {
    TAKES = 1,   /* the whole queue and the flock: the lock is free              */
    WAITS_FIRST, /* the whole queue: another process has the flock               */
    WAITS_LAST,  /* the latch: others are in the queue                           */
} entry;

static bwl_answer enter(node *n, entry as, uint64_t *ret_number)
{
    bwl_file_lock_state state  = BWL_FILE_FREE;
    int                 error  = 0;
    bwl_answer          answer = draw(n);

    if (answer != BWL_YES)
        return answer;
    if (as == WAITS_LAST)
        state = bwl_file_queue_enqueue(n->path.queue.fd, &n->ticket);
    if (state == BWL_FILE_FREE)
        error = bwl_file_write(n->path.queue.fd, n->ticket, true, as == TAKES, identity(n));
    if (error != 0)
        return refused_errno(n, "write", error);
    if (state == BWL_FILE_FREE && as == TAKES)
        state = bwl_file_queue_keep(n->path.queue.fd, n->ticket);
    else if (state == BWL_FILE_FREE && as == WAITS_FIRST)
        state = bwl_file_queue_keep_waiting(n->path.queue.fd, n->ticket);
    else if (state == BWL_FILE_FREE)
        state = bwl_file_queue_unlatch(n->path.queue.fd);
    if (state != BWL_FILE_FREE)
        return refused_errno(n, "join the queue of", errno);
    return as == TAKES ? confirm(n, ret_number) : try(n, ret_number);
}

static bwl_answer join_empty(node *n, uint64_t *ret_number)
{
    n->queued = true;
    switch (acquire_flock(n)) {
    case BWL_FILE_FREE: return enter(n, TAKES, ret_number);
    case BWL_FILE_BUSY: return n->may_wait ? enter(n, WAITS_FIRST, ret_number) : BWL_NO;
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(n, "lock", errno);
}

/* True if all nodes belong to waiters that were overtaken: none is in front. */
static bool all_overtaken(const node *n)
{
    bwl_file_head head;

    return bwl_file_read_head(n->path.queue.fd, &head) == 0 &&
           head.granted <= BWL_FILE_TICKET_MAX &&
           bwl_file_queue_test_from(n->path.queue.fd, head.granted) == BWL_FILE_FREE;
}

/* Behind the others in the queue. */
static bwl_answer join_last(node *n, uint64_t *ret_number)
{
    switch (bwl_file_queue_latch(n->path.queue.fd)) {
    case BWL_FILE_FREE: n->queued = true; return enter(n, WAITS_LAST, ret_number);
    case BWL_FILE_BUSY: return BWL_RETRYABLE;
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(n, "lock", errno);
}

static bwl_answer join_queue(node *n, uint64_t *ret_number)
{
    switch (bwl_file_queue_lock_empty(n->path.queue.fd)) {
    case BWL_FILE_FREE: return join_empty(n, ret_number);
    case BWL_FILE_BUSY: return n->may_wait || all_overtaken(n) ? join_last(n, ret_number) : BWL_NO;
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(n, "lock", errno);
}

static bwl_answer join(node *n, bool may_wait, uint64_t *ret_number)
{
    bwl_fault fault;

    assert(!n->queued && !n->flocked);
    n->may_wait = may_wait;
    if (open_files(n, &fault) < 0)
        return refused(n, &fault);
    (void)identity(n); /* takes too long to be done with the latch */
    bwl_answer answer = join_queue(n, ret_number);
    if (answer == BWL_NO && !may_wait)
        leave(n);
    return answer;
}

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
    node           *n     = lock->part;
    bwl_file_store *store = lock->host->store;

    *n = (node){ .lock = lock, .store = store };
    return bwl_file_path_init(&n->path, &store->directory, lock->name, lock->name_size, fault);
}

static bool file_send(bwl_engine_lock *lock, const bwl_send *send, bwl_event *ret_reply)
{
    node *n = lock->part;

    switch ((bwl_local_command)send->command) {
    case LOCAL_JOIN: ret_reply->answer = join(n, true, &ret_reply->number); break;
    case LOCAL_JOIN_OR_LEAVE: ret_reply->answer = join(n, false, &ret_reply->number); break;
    case LOCAL_TRY: ret_reply->answer = try(n, &ret_reply->number); break;
    case LOCAL_LEAVE:
        leave(n);
        ret_reply->answer = BWL_YES;
        break;
    }
    return true;
}

/* In a forked child, where the locks and watches are the parent's, only closes. */
static void file_forget(bwl_engine_lock *lock)
{
    node *n = lock->part;

    bwl_file_list_end(lock);
    if (bwl_forked(&lock->host->guard))
        bwl_file_path_close(&n->path);
    else
        leave(n);
    bwl_file_path_free(&n->path);
}

static void file_woken(bwl_host *client)
{
    bwl_file_store *store = client->store;

    bwl_file_watcher_close_idle(&store->watcher);
}

static int file_who(bwl_engine_lock *lock, bwl_holder *ret_holder, bwl_fault *fault)
{
    bwl_file_store *store   = lock->host->store;
    node           *n       = lock->part;
    bool            is_bare = n->path.path == NULL;
    int             status  = is_bare ? bwl_file_store_open(store, false, fault) : BWL_OK;
    bwl_file_path   asked   = n->path; /* this lock may be held: the query opens its own files */

    *ret_holder = (bwl_holder){ .held = false };
    if (status < 0 || (is_bare && store->directory.fd < 0))
        return status; /* no directory, no locks */
    asked.queue_path = NULL;
    asked.queue = asked.named = (bwl_file){ .fd = -1 };
    asked.name_lock           = (bwl_file_name_lock){ .fd = 0 };
    status                    = bwl_file_path_open(&asked, false, fault);
    if (status < 0)
        return status;
    bwl_file_find_holder(&asked.queue, is_bare ? &asked.queue : &asked.named,
                         bwl_file_name_lock_test(&asked.name_lock) == BWL_FILE_BUSY, ret_holder);
    bwl_file_path_close(&asked);
    return BWL_OK;
}

static int file_reach(bwl_host *host, bwl_fault *fault)
{
    return bwl_file_store_open(host->store, true, fault);
}

/* If it fails, the command is not shown. */
static void file_command(bwl_engine_lock *lock, int64_t pid)
{
    const node *n = lock->part;

    (void)bwl_file_write_command(n->path.queue.fd, n->ticket, pid);
}

static int file_fds(bwl_engine_lock *lock, int ret_fds[2])
{
    const node *n     = lock->part;
    int         count = 0;

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
    .protocol     = &bwl_ticket,
    .lock_size    = sizeof(node),
    .open         = file_open,
    .close        = file_close,
    .reach        = file_reach,
    .prepare      = file_prepare,
    .send         = file_send,
    .forget       = file_forget,
    .woken        = file_woken,
    .view.who     = file_who,
    .view.list    = bwl_file_list,
    .view.command = file_command,
    .fds          = file_fds,
};
