#include "engine/file/queue_node.h"
#include "protocol/store/local.h"
#include "base/clock.h"
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

enum {
    OVERTAKE_AFTER_MS = 1000,
    OVERTAKE_CHECKS   = 4,
    OVERTAKE_CHECK_MS = 250,
    COUNTED_MAX       = 64, /* nodes in front that are counted one by one */
};

/* ---- leaving --------------------------------------------------------------------------------- */

static void stop_waiting(bwl_file_node *n)
{
    bwl_file_watch_remove(&n->store->watcher, &n->queue_waiter);
    bwl_file_watch_remove(&n->store->watcher, &n->named_waiter);
}

static int flock_fd(const bwl_file_node *n)
{
    return n->path.named.fd >= 0 ? n->path.named.fd : n->path.queue.fd;
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
    if (n->queued && bwl_file_queue_leave(n->path.queue.fd))
        (void)futimens(n->path.queue.fd, NULL); /* if it fails, they poll */
    n->queued = false;
    stop_waiting(n);
    bwl_file_path_close(&n->path);
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

static int open_once(bwl_file_node *n, bwl_fault *fault)
{
    int status = n->path.path == NULL ? bwl_file_store_open(n->store, true, fault) : BWL_OK;

    return status < 0 ? status : bwl_file_path_open(&n->path, true, fault);
}

static int open_files(bwl_file_node *n, bwl_fault *fault)
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
static bool needs_no_flock(const bwl_file_node *n)
{
    return n->path.named.fd < 0 && n->store->directory.is_remote;
}

/* NFS requires a file that is open for writing; flock(1) does the same. */
static bool reopen_for_writing(bwl_file_node *n)
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

static bool shares(const bwl_file_node *n)
{
    return n->place.weight > 0;
}

/* While another process holds the name by a file that was removed, the flock of this one means
 * nothing. */
static bwl_file_lock_state acquire_name_lock(bwl_file_node *n)
{
    bwl_file_lock_state state = bwl_file_name_lock_acquire(&n->path.name_lock, shares(n));

    n->name_locked = state == BWL_FILE_FREE;
    if (state == BWL_FILE_BUSY)
        release_flock(n);
    return state;
}

/* `how`: LOCK_EX or LOCK_SH. */
static bwl_file_lock_state acquire_flock(bwl_file_node *n, int how)
{
    if (needs_no_flock(n))
        return BWL_FILE_FREE;
    int status = flock(flock_fd(n), how | LOCK_NB);
    if (status != 0 && errno == EBADF && n->path.named.fd >= 0 && reopen_for_writing(n))
        status = flock(n->path.named.fd, how | LOCK_NB);
    n->flocked = status == 0;
    if (status != 0)
        return errno == EWOULDBLOCK ? BWL_FILE_BUSY : BWL_FILE_FAILED;
    return acquire_name_lock(n);
}

static int flock_kind(const bwl_file_node *n)
{
    return shares(n) ? LOCK_SH : LOCK_EX;
}

/* ---- taking ---------------------------------------------------------------------------------- */

static const bwl_file_identity *identity(bwl_file_node *n)
{
    if (n->store->self.size == 0)
        bwl_file_identity_read(&n->store->self, n->lock->host->program);
    return &n->store->self;
}

static bwl_file_entry entry_of(bwl_file_node *n)
{
    return (bwl_file_entry){
        .ticket = n->place.ticket,
        .share  = { .weight = n->place.weight, .limit = n->limit },
        .self   = identity(n),
    };
}

/* The lock was granted: it is ours if the name still leads to these files. */
static bwl_answer confirm(bwl_file_node *n, uint64_t *ret_number)
{
    bool      are_current;
    bool      next_may_share = shares(n) && bwl_file_watch_has_next(&n->queue_waiter);
    bwl_fault fault;

    if (bwl_file_path_check(&n->path, &are_current, &fault) < 0)
        return refused(n, &fault);
    if (!are_current)
        return start_over(n, "the lock file is replaced again and again");
    stop_waiting(n);
    if (next_may_share) /* an event was pushed to the first waiter of this client only */
        (void)futimens(n->path.queue.fd, NULL); /* if it fails, the next one polls */
    *ret_number = n->fence;
    return BWL_YES;
}

/* The ticket granted last.  YES, or the answer of the command. */
static bwl_answer read_granted(bwl_file_node *n, uint64_t *ret_granted)
{
    bwl_file_head head;
    int           error = bwl_file_read_head(n->path.queue.fd, &head);

    if (error != 0)
        return refused_errno(n, "read", error);
    if (head.granted >= n->place.ticket) /* we were stopped since the last check */
        return start_over(n, "overtaken again and again");
    *ret_granted = head.granted;
    return BWL_YES;
}

/* After a wait, with the flock. */
static bwl_answer grant(bwl_file_node *n, uint64_t *ret_number)
{
    bwl_file_entry entry = entry_of(n);
    uint64_t       granted;
    bwl_answer     answer = read_granted(n, &granted);

    if (answer != BWL_YES)
        return answer;
    int error = bwl_file_write(n->path.queue.fd, &entry, false, true);
    if (error != 0)
        return refused_errno(n, "write", error);
    n->fence = n->place.ticket;
    return confirm(n, ret_number);
}

/* With the latch: not granted now, but in the queue. */
static bwl_answer not_yet(bwl_file_node *n, uint64_t *ret_number)
{
    release_flock(n);
    (void)bwl_file_queue_unlatch(n->path.queue.fd); /* it unlocks, so it cannot fail */
    *ret_number = LOCAL_WILL_NOT;
    return BWL_NO;
}

/* With the latch and the flock, in a period that goes on or begins. */
static bwl_answer enter_period(bwl_file_node *n, bool begins, uint64_t *ret_number)
{
    int            fd    = n->path.queue.fd;
    bwl_file_entry entry = entry_of(n);
    int            error = begins ? bwl_file_write(fd, &entry, false, true) : 0;

    if (error != 0)
        return refused_errno(n, "write", error);
    n->record = bwl_file_write_share(fd, &entry);
    if (bwl_file_queue_hold_share(fd, n->place) != BWL_FILE_FREE ||
        bwl_file_queue_unlatch(fd) != BWL_FILE_FREE)
        return refused_errno(n, "lock", errno);
    return confirm(n, ret_number);
}

/* With the latch and the flock, so the ticket granted last stays the last: that of those that share
 * the lock, or else the first in the queue begins a period. */
static bwl_answer join_period(bwl_file_node *n, uint64_t *ret_number)
{
    int        fd      = n->path.queue.fd;
    uint64_t   granted = 0;
    bwl_answer answer  = read_granted(n, &granted);

    if (answer != BWL_YES)
        return answer;
    bwl_file_lock_state others = bwl_file_queue_test_shares(fd);
    if (others == BWL_FILE_FAILED)
        return refused_errno(n, "lock", errno);
    bool begins = others == BWL_FILE_FREE;
    if (begins && bwl_file_queue_test_head(fd, granted, n->place.ticket) != BWL_FILE_FREE)
        return not_yet(n, ret_number);
    n->fence = begins ? n->place.ticket : granted;
    return enter_period(n, begins, ret_number);
}

static bwl_file_lock_state test_permits(const bwl_file_node *n)
{
    return n->limit == 0 ? BWL_FILE_FREE
                         : bwl_file_queue_test_permits(n->path.queue.fd, n->place, n->limit);
}

/* At the head of the queue, or behind shares only.  With the latch, because each share counts the
 * permits of those before it, and finds the period that they began. */
static bwl_answer grant_share(bwl_file_node *n, uint64_t *ret_number)
{
    switch (bwl_file_queue_latch(n->path.queue.fd)) {
    case BWL_FILE_FREE: break;
    case BWL_FILE_BUSY: *ret_number = LOCAL_WILL_NOT; return BWL_NO;
    case BWL_FILE_FAILED: return refused_errno(n, "lock", errno);
    }
    bwl_file_lock_state state = test_permits(n);
    if (state == BWL_FILE_FREE)
        state = acquire_flock(n, LOCK_SH);
    switch (state) {
    case BWL_FILE_FREE: return join_period(n, ret_number);
    case BWL_FILE_BUSY: return not_yet(n, ret_number);
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(n, "lock", errno);
}

/* With the flock alone, so nobody shares the lock: begins a period, and shares the flock then.  In
 * between another program may take it, but no bowline: those in front are overtaken. */
static bwl_answer overtake_with_share(bwl_file_node *n, uint64_t *ret_number)
{
    uint64_t granted = 0;

    if (bwl_file_queue_latch(n->path.queue.fd) != BWL_FILE_FREE) {
        release_flock(n);
        *ret_number = LOCAL_WILL_NOT;
        return BWL_NO;
    }
    bwl_answer answer = read_granted(n, &granted);
    if (answer != BWL_YES)
        return answer;
    n->fence = n->place.ticket;
    answer   = enter_period(n, true, ret_number);
    if (answer != BWL_YES || flock(flock_fd(n), LOCK_SH | LOCK_NB) == 0)
        return answer;
    n->flocked = false;
    return start_over(n, "overtaken again and again");
}

/* At the head of the queue.  A holder of the flock is then not in the queue: it may unlock without
 * closing the file, which is no event. */
static bwl_answer try_head(bwl_file_node *n, uint64_t *ret_number)
{
    if (shares(n))
        return grant_share(n, ret_number);
    switch (acquire_flock(n, flock_kind(n))) {
    case BWL_FILE_FREE: return grant(n, ret_number);
    case BWL_FILE_BUSY: *ret_number = LOCAL_WILL_NOT; return BWL_NO;
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(n, "lock", errno);
}

/* True if no ticket has held the lock for so long that the waiters in front may be stopped. */
static bool is_idle(bwl_file_node *n, uint64_t granted, bwl_ms now)
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
    if (n->free_checks > 0 && now - n->free_at < OVERTAKE_CHECK_MS) {
        *ret_number = LOCAL_WILL_NOT;
        return BWL_NO;
    }
    switch (acquire_flock(n, LOCK_EX)) {
    case BWL_FILE_FREE: n->flock_was_busy = false; break;
    case BWL_FILE_BUSY: return flock_busy(n, ret_number);
    case BWL_FILE_FAILED: return refused_errno(n, "lock", errno);
    }
    unsigned before = bwl_file_queue_count(n->path.queue.fd, granted, n->place.ticket, COUNTED_MAX);
    n->free_at      = now;
    if (++n->free_checks >= OVERTAKE_CHECKS * before)
        return shares(n) ? overtake_with_share(n, ret_number) : grant(n, ret_number);
    release_flock(n);
    *ret_number = LOCAL_WILL_NOT;
    return BWL_NO;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool watch_file(bwl_file_node *n, bwl_file_waiter *waiter, int fd)
{
    waiter->lock   = n->lock;
    waiter->ticket = n->place.ticket;
    return !bwl_file_is_remote(fd) && bwl_file_watch_add(&n->store->watcher, waiter, fd);
}

/* Sets how the waiter is woken.  A watch that fails is tried again at every check. */
static uint64_t watch_files(bwl_file_node *n)
{
    if (n->wakeup == LOCAL_WILL_PUSH || !n->may_wait)
        return n->wakeup;
    bool queue_watched = watch_file(n, &n->queue_waiter, n->path.queue.fd);
    bool named_watched = n->path.named.fd < 0 || watch_file(n, &n->named_waiter, n->path.named.fd);
    return queue_watched && named_watched ? LOCAL_WILL_PUSH : LOCAL_WILL_NOT;
}

/* FREE: nobody is in front, or all that are share the lock and leave enough permits. */
static bwl_file_lock_state test_front(const bwl_file_node *n, uint64_t granted)
{
    int fd = n->path.queue.fd;

    if (!shares(n))
        return bwl_file_queue_test_head(fd, granted, n->place.ticket);
    bwl_file_lock_state state = bwl_file_queue_test_shared(fd, granted, n->place.ticket);
    return state == BWL_FILE_FREE ? test_permits(n) : state;
}

/* Watches first and checks then, so every change after the check is an event. */
bwl_answer bwl_file_node_try(bwl_file_node *n, uint64_t *ret_number)
{
    uint64_t granted = 0;

    assert(n->queued);
    n->wakeup         = watch_files(n);
    *ret_number       = n->wakeup;
    bwl_answer answer = read_granted(n, &granted);
    if (answer != BWL_YES)
        return answer;
    switch (test_front(n, granted)) {
    case BWL_FILE_FREE: return try_head(n, ret_number);
    case BWL_FILE_BUSY: return try_overtake(n, granted, ret_number);
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(n, "lock", errno);
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Draws a ticket, with the latch or the whole queue locked. */
static bwl_answer draw(bwl_file_node *n)
{
    bwl_file_head head;
    int           error = bwl_file_read_head(n->path.queue.fd, &head);

    if (error != 0)
        return refused_errno(n, "read", error);
    n->place.ticket = bwl_file_next_ticket(&head, bwl_clock_wall_us(), n->place.weight);
    if (n->place.ticket == 0)
        return refused_file(n, "has a broken counter: remove it while nobody uses it");
    n->wakeup         = LOCAL_WILL_NOT;
    n->flock_was_busy = false;
    return BWL_YES;
}

/* How a lock enters the queue, and what is locked at that moment. */
typedef enum way_in {
    TAKES = 1,   /* the whole queue and the flock: the lock is free              */
    WAITS_FIRST, /* the whole queue: another process has the flock               */
    WAITS_LAST,  /* the latch: others are in the queue                           */
} way_in;

/* Leaves what this entry needs locked.  Others may pass one that waits without a limit. */
static bwl_file_lock_state keep_node(const bwl_file_node *n, way_in as)
{
    int                 fd    = n->path.queue.fd;
    bwl_file_lock_state state = BWL_FILE_FREE;

    if (as == TAKES && !shares(n))
        return bwl_file_queue_keep(fd, n->place.ticket);
    if (as == TAKES)
        state = bwl_file_queue_hold_share(fd, n->place);
    else if (shares(n) && n->limit == 0)
        state = bwl_file_queue_share(fd, n->place);
    if (state != BWL_FILE_FREE)
        return state;
    return as == WAITS_LAST ? bwl_file_queue_unlatch(fd) : bwl_file_queue_keep_only(fd, n->place);
}

static bwl_answer enter(bwl_file_node *n, way_in as, uint64_t *ret_number)
{
    int                 fd     = n->path.queue.fd;
    bwl_file_lock_state state  = BWL_FILE_FREE;
    bwl_answer          answer = draw(n);

    if (answer != BWL_YES)
        return answer;
    if (as == WAITS_LAST)
        state = bwl_file_queue_enqueue(fd, &n->place);
    if (state == BWL_FILE_FREE) {
        bwl_file_entry entry = entry_of(n);
        int            error = bwl_file_write(fd, &entry, true, as == TAKES);
        if (error != 0)
            return refused_errno(n, "write", error);
        if (as == TAKES && shares(n))
            n->record = bwl_file_write_share(fd, &entry);
        state = keep_node(n, as);
    }
    if (state != BWL_FILE_FREE)
        return refused_errno(n, "join the queue of", errno);
    n->fence = n->place.ticket;
    return as == TAKES ? confirm(n, ret_number) : bwl_file_node_try(n, ret_number);
}

static bwl_answer join_empty(bwl_file_node *n, uint64_t *ret_number)
{
    n->queued = true;
    switch (acquire_flock(n, flock_kind(n))) {
    case BWL_FILE_FREE: return enter(n, TAKES, ret_number);
    case BWL_FILE_BUSY: return n->may_wait ? enter(n, WAITS_FIRST, ret_number) : BWL_NO;
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(n, "lock", errno);
}

/* True if no node is in front that an acquire without a wait would have to wait for: all belong to
 * waiters that were overtaken, or share the lock. */
static bool may_fit(bwl_file_node *n)
{
    int           fd = n->path.queue.fd;
    bwl_file_head head;

    if (bwl_file_read_head(fd, &head) != 0 || head.granted > BWL_FILE_TICKET_MAX)
        return false;
    n->place.ticket = BWL_FILE_TICKET_MAX; /* at the end of the queue, for now */
    if (!shares(n))
        return bwl_file_queue_test_from(fd, head.granted) == BWL_FILE_FREE;
    return !bwl_file_queue_is_closed(fd, head.granted) && test_permits(n) == BWL_FILE_FREE;
}

/* Behind the others in the queue. */
static bwl_answer join_last(bwl_file_node *n, uint64_t *ret_number)
{
    switch (bwl_file_queue_latch(n->path.queue.fd)) {
    case BWL_FILE_FREE: n->queued = true; return enter(n, WAITS_LAST, ret_number);
    case BWL_FILE_BUSY: return BWL_RETRYABLE;
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(n, "lock", errno);
}

static bwl_answer join_queue(bwl_file_node *n, uint64_t *ret_number)
{
    switch (bwl_file_queue_lock_empty(n->path.queue.fd)) {
    case BWL_FILE_FREE: return join_empty(n, ret_number);
    case BWL_FILE_BUSY: return n->may_wait || may_fit(n) ? join_last(n, ret_number) : BWL_NO;
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(n, "lock", errno);
}

bwl_answer bwl_file_node_join(bwl_file_node *n, bool may_wait, uint64_t *ret_number)
{
    bwl_share share = n->lock->hold.request.share;
    bwl_fault fault;

    assert(!n->queued && !n->flocked);
    n->may_wait     = may_wait;
    n->place.weight = share.weight;
    n->limit        = share.limit;
    n->record       = BWL_FILE_OWNER;
    if (open_files(n, &fault) < 0)
        return refused(n, &fault);
    (void)identity(n); /* takes too long to be done with the latch */
    bwl_answer answer = join_queue(n, ret_number);
    if (answer == BWL_NO && !may_wait)
        bwl_file_node_leave(n);
    return answer;
}
