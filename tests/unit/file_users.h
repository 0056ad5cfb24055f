/*
 * file_users.h -- several users of one lock of file: in one process, through the public API.  Each
 * user is a client with its own descriptors, so the users exclude each other as processes do.
 *
 * The clock is stopped: only pass() advances it.  A user runs only in start_acquire(), run_user(),
 * once() and leave(), so a user that is not run is a stopped process.  A user that gets the lock
 * without a pass() before it was woken by an event and did not poll.
 *
 * The system calls of the engine go through the functions below.  A test counts them, runs a
 * function before one of them, or makes some of them fail.
 */
#pragma once

#include "file_fixture.h"
#include "tests/lib/suite.h"

#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>

/* ---- system calls ---------------------------------------------------------------------------- */

typedef enum call {
    SET_LOCK = 1, /* fcntl(F_OFD_SETLK) */
    GET_LOCK,     /* fcntl(F_OFD_GETLK) */
    FLOCK,
    READ,
    WRITE,
    OPEN,
    LOOK_UP, /* fstatat */
    INOTIFY, /* inotify_init1 */
    CALLS,
} call;

/* What the next calls of one kind do. */
static struct disturbance {
    call     of;    /* 0: any */
    unsigned after; /* this many calls succeed first */
    unsigned fails; /* then this many fail ... */
    int      error; /* ... with this error                                                     */
    void (*before)(void); /* runs once, before the first call after `after` */
} disturbance;

static unsigned calls[CALLS];
static int64_t  passed_ms;
static bool     is_remote; /* the file system says that it is NFS                              */
static size_t   write_max; /* no pwrite writes more at once; 0: no limit                       */
static unsigned marks_set; /* read locks of the directory, see name_lock.h */
static short    lock_type; /* of the latest SET_LOCK, with its offset                           */
static off_t    lock_start;

/* Returns true if the call fails; errno has the reason. */
static bool disturbed(call of)
{
    void (*before)(void) = disturbance.before;

    calls[of]++;
    if (disturbance.of != of && (disturbance.of != 0 || before == NULL))
        return false;
    if (disturbance.after > 0) {
        disturbance.after--;
        return false;
    }
    if (before != NULL) {
        disturbance.before = NULL;
        before();
    }
    if (disturbance.fails == 0)
        return false;
    disturbance.fails--;
    errno = disturbance.error;
    return true;
}

int fcntl(int fd, int command, ...)
{
    va_list rest;

    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (command == F_OFD_SETLK) {
        lock_type  = ((struct flock *)argument)->l_type;
        lock_start = ((struct flock *)argument)->l_start;
        marks_set += lock_type == F_RDLCK;
        if (disturbed(SET_LOCK))
            return -1;
    }
    if (command == F_OFD_GETLK && disturbed(GET_LOCK))
        return -1;
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

int flock(int fd, int operation)
{
    return disturbed(FLOCK) ? -1 : (int)syscall(SYS_flock, fd, operation);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
    return disturbed(READ) ? -1 : syscall(SYS_pread64, fd, bytes, size, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    if (disturbed(WRITE))
        return -1;
    return syscall(SYS_pwrite64, fd, bytes, write_max > 0 && size > write_max ? write_max : size,
                   at);
}

int openat(int at, const char *path, int flags, ...)
{
    va_list rest;

    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return disturbed(OPEN) ? -1 : (int)syscall(SYS_openat, at, path, flags, mode);
}

int fstatat(int at, const char *path, struct stat *ret_st, int flags)
{
    return disturbed(LOOK_UP) ? -1 : (int)syscall(SYS_newfstatat, at, path, ret_st, flags);
}

int fstatfs(int fd, struct statfs *ret_system)
{
    int status = (int)syscall(SYS_fstatfs, fd, ret_system);

    if (is_remote)
        ret_system->f_type = NFS_SUPER_MAGIC;
    return status;
}

int inotify_init1(int flags)
{
    return disturbed(INOTIFY) ? -1 : (int)syscall(SYS_inotify_init1, flags);
}

int clock_gettime(clockid_t id, struct timespec *ret_now)
{
    static struct timespec frozen[CLOCK_TAI + 1];

    if (id > CLOCK_TAI)
        return (int)syscall(SYS_clock_gettime, id, ret_now);
    if (frozen[id].tv_sec == 0)
        (void)syscall(SYS_clock_gettime, id, &frozen[id]);
    *ret_now = frozen[id];
    ret_now->tv_sec += passed_ms / 1000;
    ret_now->tv_nsec += passed_ms % 1000 * 1000000;
    ret_now->tv_sec += ret_now->tv_nsec / 1000000000;
    ret_now->tv_nsec %= 1000000000;
    return 0;
}

static inline void pass(int64_t ms)
{
    passed_ms += ms;
}

/* ---- users ----------------------------------------------------------------------------------- */

enum { USERS = 4, PENDING = 1 };

typedef struct user {
    bowline_client    *client;
    bowline_operation *acquiring;
    bowline_hold      *hold;
} user;

static user          users[USERS];
static bowline_error error;
static char          url[PATH_SIZE];
static char          lock_name[PATH_SIZE];

/* The lock of a case: the name "n", or the file "x"; and the kind of its directory. */
typedef struct kind {
    const char *of;
    const char *leaf;
    mode_t      mode;
    bool        is_remote;
    uint32_t    permits; /* that all users ask for; 0: exclusive holds                         */
} kind;

static const kind name        = { "name", "n", 0700, false, 0 };
static const kind path        = { "path", "x", 0700, false, 0 };
static const kind shared      = { "shared", "n", 01777, false, 0 };
static const kind shared_path = { "shared_path", "x", 01777, false, 0 };
static const kind remote      = { "remote", "n", 0700, true, 0 };
static const kind remote_path = { "remote_path", "x", 0700, true, 0 };
static const kind permit = { "permit", "n", 0700, false, 1 }; /* of one: it excludes others, too */
static const kind permit_path = { "permit_path", "x", 0700, false, 1 };

/* What each user asks for.  0 permits: exclusive; limit 0: shared. */
static struct {
    uint32_t permits;
    uint32_t limit;
} asks[USERS];

static inline int begin(void **state)
{
    const kind *k = *state;

    (void)make_directory(state);
    assert_int_equal(chmod(directory, k->mode), 0);
    is_remote = k->is_remote;
    (void)snprintf(url, sizeof url, "file:%s", directory);
    (void)snprintf(lock_name, sizeof lock_name, "%s", k->leaf[0] == 'n' ? "n" : in(k->leaf));
    for (unsigned i = 0; i < USERS; i++) {
        users[i]        = (user){ .client = must_open(url) };
        asks[i].permits = asks[i].limit = k->permits;
        assert_true(bowline_fd(users[i].client) >= 0); /* opens the descriptors of its loop */
    }
    return 0;
}

static inline int end(void **state)
{
    disturbance = (struct disturbance){ 0 };
    write_max   = 0;
    memset(calls, 0, sizeof calls);
    for (unsigned i = 0; i < USERS; i++)
        bowline_close(users[i].client);
    is_remote = false;
    (void)umask(022);
    return remove_directory(state);
}

/* Runs what is due for a user.  Returns the status of its acquire, or PENDING. */
static inline int run_user(unsigned i)
{
    user *u = &users[i];

    for (unsigned n = 0; n < 3; n++)
        (void)bowline_dispatch(u->client, 0, NULL);
    if (bowline_operation_done(u->acquiring) == 0)
        return PENDING;
    bowline_operation *ended = u->acquiring;
    u->acquiring             = NULL;
    return bowline_acquire_finish(&u->hold, ended, &error);
}

static inline bowline_acquire_options options_of(unsigned i, int64_t wait_ms)
{
    bowline_acquire_options o = BOWLINE_ACQUIRE_INIT;

    o.wait_ms = wait_ms;
    o.mode    = asks[i].permits == 0 ? BOWLINE_EXCLUSIVE : BOWLINE_SHARED + (asks[i].limit > 0);
    o.permits = asks[i].limit > 0 ? asks[i].permits : 0;
    o.limit   = asks[i].limit;
    return o;
}

/* Starts to wait for the lock. */
static inline int start_acquire(unsigned i)
{
    bowline_acquire_options o = options_of(i, BOWLINE_FOREVER);
    int status = bowline_acquire_start(&users[i].acquiring, users[i].client, lock_name, &o, &error);

    assert_status(BOWLINE_OK, status, &error);
    return run_user(i);
}

/* Tries once without waiting, and releases the lock if it was acquired. */
static inline int once(unsigned i)
{
    bowline_acquire_options o      = options_of(i, BOWLINE_NO_WAIT);
    bowline_hold           *hold   = NULL;
    int                     status = bowline_acquire(&hold, users[i].client, lock_name, &o, &error);

    if (status == BOWLINE_OK)
        assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
    return status;
}

static inline uint64_t fence_of(unsigned i)
{
    return bowline_hold_fence(users[i].hold);
}

static inline uint64_t takes(unsigned i)
{
    int status = start_acquire(i);

    assert_status(BOWLINE_OK, status, &error);
    return fence_of(i);
}

static inline void waits(unsigned i)
{
    assert_int_equal(start_acquire(i), PENDING);
}

static inline uint64_t gets(unsigned i)
{
    int status = run_user(i);

    assert_int_not_equal(status, PENDING);
    assert_status(BOWLINE_OK, status, &error);
    return fence_of(i);
}

static inline void still_waits(unsigned i)
{
    assert_int_equal(run_user(i), PENDING);
}

/* Runs the user every 128 ms until it has the lock.  Returns the time that this took. */
static inline int64_t gets_eventually(unsigned i)
{
    int64_t began = passed_ms;
    int     status;

    while ((status = run_user(i)) == PENDING) {
        assert_true(passed_ms - began < 20000);
        pass(128);
    }
    assert_status(BOWLINE_OK, status, &error);
    return passed_ms - began;
}

/* Releases the lock, or cancels the wait. */
static inline void leave(unsigned i)
{
    user *u = &users[i];

    if (u->acquiring != NULL) {
        bowline_cancel(u->acquiring);
        assert_int_equal(bowline_acquire_finish(&u->hold, u->acquiring, NULL), BOWLINE_CANCELLED);
    } else {
        assert_status(BOWLINE_OK, bowline_release(u->hold, &error), &error);
    }
    u->acquiring = NULL;
    u->hold      = NULL;
}

static inline void expect_refused(int status, const char *word)
{
    assert_status(BOWLINE_REFUSED, status, &error);
    if (strstr(error.text, word) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.text, word);
}

/* The open descriptors, without those that a client keeps for its next wait. */
static inline unsigned count_descriptors_later(void)
{
    pass(100);
    for (unsigned i = 0; i < USERS; i++)
        for (unsigned n = 0; n < 3; n++)
            (void)bowline_dispatch(users[i].client, 0, NULL);
    return count_descriptors();
}

/* A test of each of these kinds: the kind is its state. */
#define TEST_OF(name, ...)                                                                     \
    static void                              test_##name(void **state);                        \
    __attribute__((constructor)) static void add_##name(void)                                  \
    {                                                                                          \
        static const kind *const kinds[] = { __VA_ARGS__ };                                    \
        static char              labels[COUNT_OF(kinds)][120];                                 \
        for (size_t i = 0; i < COUNT_OF(kinds); i++) {                                         \
            (void)snprintf(labels[i], sizeof labels[i], "test_%s of %s", #name, kinds[i]->of); \
            suite_add_row(labels[i], test_##name, kinds[i]);                                   \
        }                                                                                      \
    }                                                                                          \
    static void test_##name(void **state)
