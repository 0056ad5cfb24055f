/*
 * seat.c -- see seat.h.
 */
#include "engine/file/seat.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/calls.h"
#include "engine/file/ticket.h"
#include "protocol/store/local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { SLEEPERS_MAX = 64 }; /* whom we would count one by one */

/* ---- leaving --------------------------------------------------------------------------------- */

static void close_file(bwl_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd); /* what was written there is in the page cache, which is enough */
    *file = (bwl_file){ .fd = -1 };
}

static void stop_waiting(bwl_file_seat *s)
{
    bwl_file_watch_remove(&s->store->watcher, &s->waits_for_queue);
    bwl_file_watch_remove(&s->store->watcher, &s->waits_for_named);
}

static int flock_fd(const bwl_file_seat *s)
{
    return s->named.fd >= 0 ? s->named.fd : s->queue.fd;
}

/* The mark first: who is told of the flock finds both free. */
static void give_flock(bwl_file_seat *s)
{
    if (s->marked)
        bwl_file_mark_give(&s->place.mark);
    s->marked = false;
    if (s->flocked)
        (void)flock(flock_fd(s), LOCK_UN); /* fails for no lock of ours */
    s->flocked = false;
}

void bwl_file_seat_leave(bwl_file_seat *s)
{
    give_flock(s);
    if (s->queued && bwl_file_quit(s->queue.fd))
        (void)futimens(s->queue.fd, NULL); /* else they find out by looking */
    s->queued = false;
    stop_waiting(s);
    close_file(&s->queue);
    close_file(&s->named);
    bwl_file_mark_close(&s->place.mark);
}

/* ---- refusing -------------------------------------------------------------------------------- */

static bwl_answer refused(bwl_file_seat *s, const bwl_fault *why)
{
    bwl_lock_says_fault(s->lock, why);
    bwl_file_seat_leave(s);
    return BWL_REFUSED;
}

static bwl_answer refused_file(bwl_file_seat *s, const char *why)
{
    char      shown[BWL_FILE_SHOWN_MAX];
    bwl_fault fault;

    bwl_file_place_show(&s->place, shown);
    (void)bwl_fail(&fault, BWL_STATUS_REFUSED, "%s %s", shown, why);
    return refused(s, &fault);
}

static bwl_answer refused_errno(bwl_file_seat *s, const char *what, int error)
{
    char      shown[BWL_FILE_SHOWN_MAX];
    bwl_fault fault;

    if (error == EBADMSG)
        return refused_file(s, "is not a lock file, though it has the name of one: not touched");
    if (error == EINVAL || error == ENOSYS || error == EOPNOTSUPP)
        return refused_file(s, "cannot be locked: this system or file system has not the locks "
                               "that are needed (F_OFD_SETLK, flock)");
    bwl_file_place_show(&s->place, shown);
    errno = error;
    (void)bwl_fail_errno(&fault, "cannot %s %s", what, shown);
    return refused(s, &fault);
}

static bwl_answer start_over(bwl_file_seat *s, const char *why)
{
    bwl_lock_says(s->lock, "%s", why);
    bwl_file_seat_leave(s);
    return BWL_LATER;
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

static int open_bare(bwl_file_seat *s, bwl_fault *fault)
{
    int status = bwl_file_store_open(s->store, true, fault);

    return status < 0 ? status : bwl_file_place_open(&s->place, &s->queue, &s->named, fault);
}

static int open_files(bwl_file_seat *s, bwl_fault *fault)
{
    bwl_file_directory *d = &s->store->directory;

    if (s->queue.fd >= 0)
        return BWL_OK;
    if (s->place.path != NULL)
        return bwl_file_place_open(&s->place, &s->queue, &s->named, fault);
    int status = open_bare(s, fault);
    if (status == BWL_OK || d->fd < 0 || !bwl_file_directory_is_gone(d))
        return status;
    /* Somebody has removed it while we had it open: others already use the new one. */
    bwl_file_directory_close(d);
    return open_bare(s, fault);
}

/* ---- the flock ------------------------------------------------------------------------------- */

/* On a network file system a flock may be a lock on the whole file (NFS, SMB), and so be in the
 * way of the places of others.  There the queue alone excludes those who stand in it. */
static bool does_without_flock(const bwl_file_seat *s)
{
    return s->named.fd < 0 && s->store->directory.is_remote;
}

/* NFS asks for a file that is open for writing, as flock(1) knows too. */
static bool reopen_for_writing(bwl_file_seat *s)
{
    char path[32];

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", s->named.fd);
    int fd = bwl_file_above_standard(
        bwl_file_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0));
    if (fd < 0)
        return false;
    (void)close(s->named.fd); /* was only looked at */
    s->named.fd = fd;
    return true;
}

/* While somebody holds the name by a file that was removed, the flock of this one means nothing. */
static bwl_file_luck take_mark(bwl_file_seat *s)
{
    bwl_file_luck luck = bwl_file_mark_take(&s->place.mark);

    s->marked = luck == BWL_FILE_OURS;
    if (luck == BWL_FILE_OTHERS)
        give_flock(s);
    return luck;
}

static bwl_file_luck take_flock(bwl_file_seat *s)
{
    if (does_without_flock(s))
        return BWL_FILE_OURS;
    int status = flock(flock_fd(s), LOCK_EX | LOCK_NB);
    if (status != 0 && errno == EBADF && s->named.fd >= 0 && reopen_for_writing(s))
        status = flock(s->named.fd, LOCK_EX | LOCK_NB);
    s->flocked = status == 0;
    if (status != 0)
        return errno == EWOULDBLOCK ? BWL_FILE_OTHERS : BWL_FILE_FAILED;
    return take_mark(s);
}

/* ---- taking ---------------------------------------------------------------------------------- */

static const bwl_file_self *self(bwl_file_seat *s)
{
    if (s->store->self.size == 0)
        bwl_file_self_learn(&s->store->self, s->lock->client->program);
    return &s->store->self;
}

/* What was granted to us is ours. */
static bwl_answer ours(bwl_file_seat *s, uint64_t *ret_number)
{
    if (!bwl_file_place_is_still(&s->place, &s->queue, &s->named))
        return start_over(s, "the lock file is replaced again and again");
    stop_waiting(s);
    *ret_number = s->ticket;
    return BWL_YES;
}

/* We have waited, and have the flock now. */
static bwl_answer grant(bwl_file_seat *s, uint64_t *ret_number)
{
    bwl_file_head head;
    int           error = bwl_file_read_head(s->queue.fd, &head);

    if (error != 0)
        return refused_errno(s, "read", error);
    if (head.granted >= s->ticket) /* we slept since we last looked */
        return start_over(s, "overtaken again and again");
    error = bwl_file_write_granted(s->queue.fd, s->ticket, self(s), bwl_clock_now());
    if (error != 0)
        return refused_errno(s, "write", error);
    return ours(s, ret_number);
}

/* At the head of the queue.  Who has the flock is not in it: he may unlock without closing, and
 * nobody would tell. */
static bwl_answer try_head(bwl_file_seat *s, uint64_t *ret_number)
{
    switch (take_flock(s)) {
    case BWL_FILE_OURS: return grant(s, ret_number);
    case BWL_FILE_OTHERS: *ret_number = LOCAL_WILL_NOT; return BWL_NO;
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(s, "lock", errno);
}

/* True when no ticket has held the lock for so long that those before us may sleep. */
static bool is_idle(bwl_file_seat *s, uint64_t granted, bwl_ms now)
{
    bool nobody = bwl_file_head_of(s->queue.fd, granted, granted + 1) == BWL_FILE_OURS;

    if (!nobody || s->idle_since == 0 || s->idle_after != granted) {
        s->idle_after = granted;
        s->idle_since = nobody ? now : 0;
        s->free_seen  = 0;
    }
    return nobody && now - s->idle_since >= BWL_FILE_PATIENCE_MS;
}

/* For who holds by flock alone those before us wait as well, and so may we.  But it may be somebody
 * behind us who looks at this very moment, and would get ahead if our next look were late. */
static bwl_answer met_others(bwl_file_seat *s, uint64_t *ret_number)
{
    if (!s->met_others)
        *ret_number = LOCAL_WILL_NOT;
    s->met_others = true;
    return BWL_NO;
}

/* Others are before us.  If nobody holds, they are about to take it, or they sleep. */
static bwl_answer try_to_overtake(bwl_file_seat *s, uint64_t granted, uint64_t *ret_number)
{
    bwl_ms now = bwl_clock_now();

    if (does_without_flock(s) || !is_idle(s, granted, now))
        return BWL_NO;
    if (s->free_seen > 0 && now - s->free_at < BWL_FILE_SIGHTING_MS) {
        *ret_number = LOCAL_WILL_NOT;
        return BWL_NO;
    }
    switch (take_flock(s)) {
    case BWL_FILE_OURS: s->met_others = false; break;
    case BWL_FILE_OTHERS: return met_others(s, ret_number);
    case BWL_FILE_FAILED: return refused_errno(s, "lock", errno);
    }
    unsigned before = bwl_file_count(s->queue.fd, granted, s->ticket, SLEEPERS_MAX);
    s->free_at      = now;
    if (++s->free_seen >= BWL_FILE_SIGHTINGS * before)
        return grant(s, ret_number);
    give_flock(s);
    *ret_number = LOCAL_WILL_NOT;
    return BWL_NO;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool have_file_watched(bwl_file_seat *s, bwl_file_waiter *waiter, int fd)
{
    waiter->lock   = s->lock;
    waiter->ticket = s->ticket;
    return !bwl_file_is_remote(fd) && bwl_file_watch_add(&s->store->watcher, waiter, fd);
}

/* How we shall learn of our turn.  What cannot be watched now is tried again with every look. */
static uint64_t have_watched(bwl_file_seat *s)
{
    if (s->tells == LOCAL_WILL_PUSH || !s->may_wait)
        return s->tells;
    bool queue_told = have_file_watched(s, &s->waits_for_queue, s->queue.fd);
    bool named_told = s->named.fd < 0 || have_file_watched(s, &s->waits_for_named, s->named.fd);
    return queue_told && named_told ? LOCAL_WILL_PUSH : LOCAL_WILL_NOT;
}

/* First watched, then looked: whatever happens after the look is told. */
bwl_answer bwl_file_seat_try(bwl_file_seat *s, uint64_t *ret_number)
{
    bwl_file_head head;

    assert(s->queued);
    s->tells    = have_watched(s);
    *ret_number = s->tells;
    int error   = bwl_file_read_head(s->queue.fd, &head);
    if (error != 0)
        return refused_errno(s, "read", error);
    if (head.granted >= s->ticket)
        return start_over(s, "overtaken again and again");
    switch (bwl_file_head_of(s->queue.fd, head.granted, s->ticket)) {
    case BWL_FILE_OURS: return try_head(s, ret_number);
    case BWL_FILE_OTHERS: return try_to_overtake(s, head.granted, ret_number);
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(s, "lock", errno);
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Draws our ticket, with the latch or the whole queue in our hands. */
static bwl_answer draw(bwl_file_seat *s)
{
    bwl_file_head head;
    int           error = bwl_file_read_head(s->queue.fd, &head);

    if (error != 0)
        return refused_errno(s, "read", error);
    s->ticket = bwl_file_next_ticket(&head, bwl_clock_wall_us());
    if (s->ticket == 0)
        return refused_file(s, "has a broken counter: remove it while nobody uses it");
    s->tells      = LOCAL_WILL_NOT;
    s->idle_since = 0;
    s->met_others = false;
    return BWL_YES;
}

/* Others are there: we go to the end. */
static bwl_answer stand_last(bwl_file_seat *s, uint64_t *ret_number)
{
    bwl_file_luck luck = bwl_file_latch(s->queue.fd);
    if (luck == BWL_FILE_OTHERS)
        return BWL_LATER;
    if (luck == BWL_FILE_FAILED)
        return refused_errno(s, "lock", errno);
    s->queued         = true;
    bwl_answer answer = draw(s);
    if (answer != BWL_YES)
        return answer;
    if (bwl_file_stand(s->queue.fd, &s->ticket) != BWL_FILE_OURS)
        return refused_errno(s, "stand in the queue of", errno);
    int error = bwl_file_write_drawn(s->queue.fd, s->ticket);
    if (error != 0)
        return refused_errno(s, "write", error);
    if (bwl_file_unlatch(s->queue.fd) != BWL_FILE_OURS)
        return refused_errno(s, "stand in the queue of", errno);
    return bwl_file_seat_try(s, ret_number);
}

/* The whole queue is ours, and so is the flock. */
static bwl_answer take(bwl_file_seat *s, uint64_t *ret_number)
{
    bwl_answer answer = draw(s);
    if (answer != BWL_YES)
        return answer;
    int error = bwl_file_write_both(s->queue.fd, s->ticket, self(s), bwl_clock_now());
    if (error != 0)
        return refused_errno(s, "write", error);
    if (bwl_file_keep(s->queue.fd, s->ticket) != BWL_FILE_OURS)
        return refused_errno(s, "stand in the queue of", errno);
    return ours(s, ret_number);
}

/* The whole queue is ours, but somebody has the flock: we stand first in it. */
static bwl_answer stand_first(bwl_file_seat *s, uint64_t *ret_number)
{
    bwl_answer answer = draw(s);
    if (answer != BWL_YES)
        return answer;
    int error = bwl_file_write_drawn(s->queue.fd, s->ticket);
    if (error != 0)
        return refused_errno(s, "write", error);
    if (bwl_file_keep_only(s->queue.fd, s->ticket) != BWL_FILE_OURS)
        return refused_errno(s, "stand in the queue of", errno);
    return bwl_file_seat_try(s, ret_number);
}

static bwl_answer sit_down(bwl_file_seat *s, uint64_t *ret_number)
{
    s->queued = true;
    switch (take_flock(s)) {
    case BWL_FILE_OURS: return take(s, ret_number);
    case BWL_FILE_OTHERS: return s->may_wait ? stand_first(s, ret_number) : BWL_NO;
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(s, "lock", errno);
}

/* Those who are there have been overtaken: they are before nobody. */
static bool all_sleep(const bwl_file_seat *s)
{
    bwl_file_head head;

    return bwl_file_read_head(s->queue.fd, &head) == 0 && head.granted <= BWL_FILE_TICKET_MAX &&
           bwl_file_rest_of(s->queue.fd, head.granted) == BWL_FILE_OURS;
}

static bwl_answer find_a_seat(bwl_file_seat *s, uint64_t *ret_number)
{
    switch (bwl_file_seize(s->queue.fd)) {
    case BWL_FILE_OURS: return sit_down(s, ret_number);
    case BWL_FILE_OTHERS:
        if (!s->may_wait && !all_sleep(s))
            return BWL_NO;
        return stand_last(s, ret_number);
    case BWL_FILE_FAILED: break;
    }
    return refused_errno(s, "lock", errno);
}

bwl_answer bwl_file_seat_join(bwl_file_seat *s, bool may_wait, uint64_t *ret_number)
{
    bwl_fault fault;

    assert(!s->queued && !s->flocked);
    s->may_wait = may_wait;
    if (open_files(s, &fault) < 0)
        return refused(s, &fault);
    (void)self(s); /* it takes longer than anybody should have to wait for the latch */
    bwl_answer answer = find_a_seat(s, ret_number);
    if (answer == BWL_NO && !may_wait)
        bwl_file_seat_leave(s);
    return answer;
}

/* ---- the seat itself ------------------------------------------------------------------------- */

int bwl_file_seat_init(bwl_file_seat *s, bwl_lock *lock, bwl_file_store *store, bwl_fault *fault)
{
    *s = (bwl_file_seat){
        .lock = lock, .store = store, .queue = { .fd = -1 }, .named = { .fd = -1 }
    };
    return bwl_file_place_init(&s->place, &store->directory, lock->name, lock->name_size, fault);
}

void bwl_file_seat_free(bwl_file_seat *s)
{
    if (bwl_forked(&s->lock->client->guard)) {
        close_file(&s->queue);
        close_file(&s->named);
        bwl_file_mark_close(&s->place.mark);
    } else {
        bwl_file_seat_leave(s);
    }
    bwl_file_place_free(&s->place);
}
