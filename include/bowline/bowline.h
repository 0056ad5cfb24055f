/*
 * bowline.h -- take a lock by name: between threads, processes or machines.
 *
 *      bowline_client *client;
 *      bowline_hold   *hold;
 *      bowline_error   error;
 *
 *      if (bowline_open(&client, BOWLINE_OPTIONS(.url = "redis://127.0.0.1"), &error) < 0)
 *          return complain(error.text);
 *      status = bowline_acquire(&hold, client, "nightly", BOWLINE_ACQUIRE(.wait_ms = 5000),
 *                               &error);
 *      if (status == 0) {
 *          ... work; pass bowline_hold_fence(hold) to whatever you write to ...
 *          bowline_release(hold, &error);
 *      }
 *      bowline_close(client);
 *
 * Read this first.
 *
 *   - A lock with a lease is a promise about time.  A holder that is paused for longer than its
 *     lease has lost the lock and does not know it yet.  The fence makes that harmless: it is a
 *     fencing token, a number that grows with every holder, and the resource that you protect
 *     rejects a number below the greatest that it has seen (M. Kleppmann, "How to do distributed
 *     locking", 2016).  docs/explanation/guarantees.md says what each engine promises.
 *   - The hold is the owner, not the thread and not the process.  A second acquire of the same name
 *     by the same thread is BUSY or waits, like any other.  bowline_hold_ref is for code that needs
 *     a lock that its caller holds already.
 *   - After fork, the child must not use clients of its parent: every call returns FORKED and sends
 *     nothing.  The child opens a client of its own.
 *
 * Conventions of every function.
 *
 *   - A function that can fail returns a status: 0, or a negative number (bowline/error.h).
 *   - What a function creates is its first argument, named ret_..., and is written only on success.
 *   - `reterr` may be NULL.  Read it only after a failure.
 *   - Strings end in NUL.  The library copies a string that it keeps; a string that it returns
 *     lives as long as the object that it came from.
 *   - Options may be NULL, which means all defaults.
 *   - Times are milliseconds.  Durations are measured on a clock that counts suspend
 *     (CLOCK_BOOTTIME).
 *   - The library does not write to a terminal, read the environment, install a signal handler,
 *     raise SIGPIPE or end the process (except by a failed assertion, which is a bug).
 *   - No function is a cancellation point.  A thread with a pending pthread_cancel (deferred, the
 *     default) finishes its call first.  bowline_cancel ends a wait.
 *   - Each comment ends with its thread word.  "Any thread.": at any time, from any thread.  "One
 *     thread.": calls on the same object must not overlap.
 */
#ifndef BOWLINE_H
#define BOWLINE_H

#include <bowline/error.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BOWLINE_API        __attribute__((visibility("default")))
#define BOWLINE_MUST_CHECK __attribute__((warn_unused_result))
#else
#define BOWLINE_API
#define BOWLINE_MUST_CHECK
#endif

#define BOWLINE_VERSION_MAJOR  0
#define BOWLINE_VERSION_MINOR  1
#define BOWLINE_VERSION_PATCH  0
#define BOWLINE_VERSION_STRING "0.1.0"
#define BOWLINE_VERSION_NUMBER \
    (BOWLINE_VERSION_MAJOR * 1000000 + BOWLINE_VERSION_MINOR * 1000 + BOWLINE_VERSION_PATCH)

/* The name ("BUSY") and the meaning ("someone else holds the lock") of a status.  Never NULL, also
 * for a number that is no status.  Any thread. */
BOWLINE_API const char *bowline_status_name(int status);
BOWLINE_API const char *bowline_status_words(int status);

/* ---- options --------------------------------------------------------------------------------- */

typedef struct bowline_client bowline_client; /* a way to reach a store         */
typedef struct bowline_hold   bowline_hold;   /* a lock, from acquire to release */

enum {
    BOWLINE_NAME_MAX     = 200, /* bytes in the name of a lock */
    BOWLINE_LEASE_MIN_MS = 100,
    BOWLINE_LEASE_MAX_MS = 86400000, /* one day */
    BOWLINE_WAIT_MAX_MS  = 2147483647,
};

/* bowline_acquire_options.mode: who else may hold the lock at the same time. */
enum {
    BOWLINE_EXCLUSIVE = 0, /* nobody                                                          */
    BOWLINE_SHARED    = 1, /* others that share it, such as readers                           */
    BOWLINE_PERMITS   = 2, /* others, as long as at most `limit` permits are in use           */
};

enum {
    BOWLINE_PERMITS_MAX = 256, /* of one hold                                                 */
    BOWLINE_LIMIT_MAX   = 1000000,
};

#define BOWLINE_REST_MAX_MS INT64_C(31622400000) /* 366 days, of once_ms and at_least_ms       */

/* A wait_ms is 1 .. BOWLINE_WAIT_MAX_MS, or one of these.  Any other value is USAGE. */
#define BOWLINE_NO_WAIT 0    /* do not wait                                                   */
#define BOWLINE_FOREVER (-1) /* wait without a limit                                          */
#define BOWLINE_DEFAULT (-2) /* wait as long as the URL says (wait=); without wait=, as 0     */

/* bowline_options.flags */
enum {
    BOWLINE_NO_RENEW  = 1 << 0, /* do not renew: a hold ends with its lease                   */
    BOWLINE_NO_THREAD = 1 << 1, /* start no renewal thread: the caller dispatches (async.h)   */
    BOWLINE_NO_SPIN   = 1 << 2, /* do not busy-poll for a reply: sleep at once                */
    BOWLINE_NO_STICKY = 1 << 3, /* keep no released lock, whatever sticky= in the URL says    */
};

enum {
    BOWLINE_LOG_INFO    = 1, /* connected; redirected to another node of a cluster             */
    BOWLINE_LOG_WARNING = 2, /* not connected, connection lost, not renewed; the text of
                                bowline_client_warning                                         */
    BOWLINE_LOG_ERROR   = 3, /* a hold is lost                                                 */
};

/* Called in a thread of the caller, inside a call of the library, shortly before that returns;
 * never by two threads at once.  The next call delivers what happens between calls: 64 messages are
 * kept, then the oldest are dropped and counted.  The text is one line without a password and lives
 * until the function returns.  The function may call the library, except bowline_close of the same
 * client.  It must return: no longjmp, no exception. */
typedef void (*bowline_log)(int level, const char *text, void *data);

typedef struct bowline_options {
    size_t size; /* set by BOWLINE_OPTIONS */

    /* Where the locks are.  NULL: "file:", locks between the processes of one user of one machine;
     * "file:///run/lock/bowline": of all users of the machine.  Else
     *     thread:    file:[DIRECTORY]    redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]
     *     unix:///SOCKET                 rediss://... (TLS)
     *     redis+sentinel://HOST[:PORT][,HOST[:PORT]]/SERVICE[/DB]    rediss+sentinel://... (TLS)
     *     redis+cluster://HOST[:PORT][,HOST[:PORT]]    rediss+cluster://... (TLS)
     *     redlock://HOST[:PORT],HOST[:PORT],HOST[:PORT]...[/DB]      redlocks://... (TLS)
     * each with options after a question mark, ?lease=30s&wait=1m: see bowline(7). */
    const char *url;

    /* BOWLINE_NO_RENEW, BOWLINE_NO_THREAD, BOWLINE_NO_SPIN, BOWLINE_NO_STICKY, or a sum of them. */
    uint32_t flags;

    /* How long a dead holder blocks the others, on engines with a lease: BOWLINE_LEASE_MIN_MS ..
     * BOWLINE_LEASE_MAX_MS.  A hold is renewed after a third of it.  0: the URL's lease=, else that
     * of its profile or protocol, else 30000. */
    uint32_t lease_ms;

    /* How long a server may be silent before its connection counts as broken.  0: the URL's
     * timeout=, else 5000, or a third of the lease if that is less. */
    uint32_t reply_ms;

    /* A hold ends after this time, renewed or not.  0: the URL's max-hold=, else no end. */
    int64_t max_hold_ms;

    /* The program that bowline_who reports, at most 63 bytes.  NULL: the name of the process. */
    const char *program;

    /* Receives the messages of the library; NULL: no messages.  log_data is its last argument. */
    bowline_log on_log;
    void       *log_data;
} bowline_options;

typedef struct bowline_acquire_options {
    size_t   size;        /* set by BOWLINE_ACQUIRE                                             */
    int64_t  wait_ms;     /* how long to wait for the lock; BOWLINE_ACQUIRE: BOWLINE_DEFAULT    */
    int64_t  max_hold_ms; /* 0: that of the client                                              */
    uint32_t lease_ms;    /* 0: that of the client.  redlock://: at most that of the client,
                             unless the URL says restart-wait=off                               */
    uint32_t mode;        /* BOWLINE_EXCLUSIVE, BOWLINE_SHARED, BOWLINE_PERMITS                 */

    /* Once per period: 1 .. BOWLINE_REST_MAX_MS; 0: no.  Who acquires the lock has it to itself for
     * so long, by the server's clock, released or not: until then an acquire of others with once_ms
     * is DONE, and any other one finds the lock taken.  It begins with the acquire, and outlives
     * the process: at most one begins within once_ms, as long as the store keeps its data.  That is
     * at most once, and not exactly once: who dies in the middle has used the period.
     * bowline_hold_drop_rest gives the rest of it back. */
    int64_t once_ms;

    /* The same for an ordinary lock: taken for at least so long.  Others wait, or are BUSY.  Only
     * one of the two may be set: else USAGE.  UNSUPPORTED: thread:, file:, redlock://, and any
     * protocol but queue. */
    int64_t at_least_ms;

    /* BOWLINE_PERMITS: how many permits the hold has, 1 .. BOWLINE_PERMITS_MAX (0: 1), and how many
     * may be in use when it is granted, with its own: 1 .. BOWLINE_LIMIT_MAX.  The limit is that of
     * the request, and the lock has none of its own: all that acquire the name give the same one.
     * A shared hold has one permit of any number.
     * All wait in one queue, in the order of arrival: a request that does not fit keeps those
     * behind it waiting, so neither writers nor requests for many permits starve.
     * The holds of a period without an exclusive one have the same fence: readers present it too,
     * before they read.  With thread:, file: and protocol queue.  UNSUPPORTED: redlock://, and the
     * other protocols.  USAGE: with once_ms or at_least_ms. */
    uint32_t permits;
    uint32_t limit;
} bowline_acquire_options;

/* clang-format off */
/* Options in an argument, in C; a field that is not named has its default:
 *     bowline_acquire(&hold, client, "x", BOWLINE_ACQUIRE(.wait_ms = 5000), &error);
 * Options in a variable, in C and C++:
 *     bowline_acquire_options o = BOWLINE_ACQUIRE_INIT; */
#define BOWLINE_OPTIONS_INIT { sizeof(bowline_options), NULL, 0, 0, 0, 0, NULL, NULL, NULL }
#define BOWLINE_ACQUIRE_INIT \
    { sizeof(bowline_acquire_options), BOWLINE_DEFAULT, 0, 0, 0, 0, 0, 0, 0 }
#define BOWLINE_OPTIONS(...) (&(bowline_options){ sizeof(bowline_options), __VA_ARGS__ })
#define BOWLINE_ACQUIRE(...) \
    BOWLINE_WITH_DEFAULTS(bowline_acquire_options, .wait_ms = BOWLINE_DEFAULT, __VA_ARGS__)

/* Writes the default and then the value of the caller over it; -Wextra would warn about that. */
#if defined(__GNUC__)
#define BOWLINE_WITH_DEFAULTS(type, ...) \
    ((type[1]){ __extension__({ \
        _Pragma("GCC diagnostic push") \
        _Pragma("GCC diagnostic ignored \"-Woverride-init\"") \
        (type){ sizeof(type), __VA_ARGS__ }; \
        _Pragma("GCC diagnostic pop") \
    }) })
#else
#define BOWLINE_WITH_DEFAULTS(type, ...) (&(type){ sizeof(type), __VA_ARGS__ })
#endif
/* clang-format on */

/* ---- clients --------------------------------------------------------------------------------- */

/* Makes a client.  Sends nothing and looks up no host: the first call that needs the store
 * connects.  USAGE: the URL or an option is wrong; also a protocol or profile with a known fault,
 * unless the URL says accept-risk=1.  UNSUPPORTED: a scheme, option, protocol or profile that this
 * build does not have, or TLS without OpenSSL 3 on the system.  REFUSED: a directory, password
 * file, certificate or key that cannot be used or trusted.  SYSTEM, NOMEM.
 * Free with bowline_close.  Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int
bowline_open(bowline_client **ret_client, const bowline_options *options, bowline_error *reterr);

/* What is wrong with the protocol, profile or drift= of the URL, if the URL accepts it
 * (accept-risk=1), in one line.  NULL: nothing known.  Lives as long as the client.  Any thread. */
BOWLINE_API const char *bowline_client_warning(const bowline_client *client);

/* Checks that the store can be reached.  thread: always OK.  file: opens the directory, and creates
 * that of file: alone, as the first lock does.  Servers: queries the holder of a reserved name;
 * redlock: a majority of the servers must reply; cluster: queries the node of that name.  A user
 * without the permission for that query has reached the server: OK.
 * wait_ms: how long to try again while the result is UNREACHABLE or UNKNOWN.  0: one try, which
 * blocks for one reply (timeout= of the URL).
 * UNREACHABLE, UNKNOWN.  REFUSED: the server answers with an error, or the directory cannot be
 * trusted.  USAGE, NOMEM, SYSTEM, FORKED.  Any thread. */
BOWLINE_API int bowline_ping(bowline_client *client, int64_t wait_ms, bowline_error *reterr);

/* Frees the client with all its holds and operations; none of them may be used afterwards.  Holds
 * that are still held are released, without waiting for the replies.
 * Does not block if every operation has ended and every hold has been released (after
 * bowline_release_nowait: if bowline_flush_releases has returned OK).  Otherwise it hands the
 * releases to the server; it gives up when the server has not read all within 200 ms, and at once
 * if an earlier reply has been missing for 200 ms.  A lock whose
 * release did not arrive ends with its lease.
 * In a child after fork: sends nothing and frees what no other thread was changing at the time of
 * the fork.  NULL: no effect.  One thread, and no other call on the client at the same time. */
BOWLINE_API void bowline_close(bowline_client *client);

/* ---- acquire and release --------------------------------------------------------------------- */

/* Takes the lock `name`: 1 .. BOWLINE_NAME_MAX bytes without control characters.
 * BUSY: held by another client, and wait_ms is 0; or the queue is full (queue-max= of the URL).
 * TIMEOUT: held by others for all of wait_ms.  DONE: with once_ms, somebody has held it within the
 * period, and nobody holds it now; a wait ends as soon as that is so.  UNKNOWN: the command was
 * sent and no reply came; if the server took the lock for us, it ends with its lease, or with
 * once_ms or at_least_ms.  UNREACHABLE.  REFUSED: the server or the system answers with an error.
 * USAGE, UNSUPPORTED, NOMEM, SYSTEM, FORKED.
 * Blocks for wait_ms and then for one reply (timeout= of the URL) at most, also if the server is
 * silent; without a connection for wait_ms, or a second if that is longer (wait_ms 0: for one
 * reply).  With sync= up to 250 ms more: the server may be waiting for its replicas then.
 * With `reterr`, BUSY, TIMEOUT and DONE ask who holds the lock, within that time.
 * Free with bowline_release.  Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_acquire(bowline_hold **ret_hold, bowline_client *client,
                                                   const char                    *name,
                                                   const bowline_acquire_options *options,
                                                   bowline_error                 *reterr);

enum { BOWLINE_NAMES_MAX = 64 }; /* of one bowline_acquire_all */

/* Acquires `count` names, 1 to BOWLINE_NAMES_MAX, all or none, with the same options.  On OK
 * ret_holds[i] is the hold of names[i], as one of bowline_acquire: extend, check and release each,
 * or release them with bowline_release_all.  Otherwise nothing is held and nothing is written.
 * Free names are acquired in one step.  If a name is busy, it waits for one after the other, in the
 * order of their bytes, and keeps the names before it, which others then wait for: keep the set
 * small, and hold it briefly.  Without a wait it gives back at once the names that were free; for
 * that moment they may be BUSY for others that do not wait.  All programs that acquire several of
 * the same names must do it by this call, with the same key= in their URLs: then they cannot wait
 * for each other in a circle.  A name that is lost meanwhile (its lease ended) is acquired again,
 * with all others.  max_hold counts from when all are held.
 * The statuses are those of bowline_acquire, and the text names the lock that was not acquired.
 * USAGE also: a name is there twice; once_ms or at_least_ms.  LOST: one was lost at the end of the
 * wait.  Blocks for wait_ms as bowline_acquire.  Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int
bowline_acquire_all(bowline_hold *ret_holds[], bowline_client *client, const char *const names[],
                    size_t count, const bowline_acquire_options *options, bowline_error *reterr);

/* Sets the lease to lease_ms, counted from this call (0: the lease it has).  The hold never
 * ends earlier than promised before.  Without a lease (thread:, file:): OK, no effect.
 * LOST.  UNKNOWN: no reply; bowline_hold_left_ms says how long the hold lasts.  UNREACHABLE:
 * nothing could be sent.  REFUSED.  UNSUPPORTED: the protocol never renews a lock.  USAGE, also for
 * a lease_ms that bowline_acquire would not take.  FORKED.  Blocks as bowline_release.  One
 * thread. */
BOWLINE_API int bowline_extend(bowline_hold *hold, uint32_t lease_ms, bowline_error *reterr);

/* Releases the lock and frees `hold`, whatever the status; if it has other references, only ends
 * this one (bowline_hold_ref).  If another thread of the client waits for the name, it gets the
 * lock, perhaps without a command to the store (turns= in bowline(7)).  With once_ms or at_least_ms
 * nobody gets it before that time is over.
 * LOST: the hold had ended before, and another client may have held the lock; what is left of it in
 * the store is deleted without waiting for the reply.  UNKNOWN: no reply; the lock ends with its
 * lease at the latest.  UNREACHABLE, REFUSED, NOMEM: not released; it ends with its lease.  FORKED:
 * `hold` is not freed.  NULL: OK.
 * Blocks for one reply (timeout= of the URL), and three times as long at most if the connection has
 * to be made again; with sync= up to 250 ms more.  One thread. */
BOWLINE_API int bowline_release(bowline_hold *hold, bowline_error *reterr);

/* Releases any number of holds, and sets each to NULL; those that are NULL are left out.  All
 * releases are sent before the first reply is awaited.  The status and the error are those of the
 * first that was not OK, as bowline_release; the others are released all the same.  FORKED: none is
 * freed.  USAGE.  Blocks as bowline_release.  One thread. */
BOWLINE_API int bowline_release_all(bowline_hold *holds[], size_t count, bowline_error *reterr);

enum { BOWLINE_REFS_MAX = 65535 }; /* references to one hold */

/* One more reference to a hold, for a function or a thread that needs the lock while its caller has
 * it already: sends nothing and returns `hold`.  Each reference needs a release of its own, of any
 * kind.  The release of the last one releases the lock.  A release of another one sends nothing,
 * does not block, and is OK if the lock is ours: it stays held.  Once the lock is lost, each of
 * them is LOST.
 * Lease, fence, data, descriptors and the event of a loss belong to the hold, so the references
 * share them; bowline_extend and bowline_hold_drop_rest apply to all.  What another reference does
 * not expect is USAGE while there is more than one: yield, downgrade, upgrade and export.  A list
 * for bowline_release_all may have the hold once for each reference.
 * Calls that are "One thread." must not overlap on one hold, by whichever reference, except
 * releases: with one reference for each thread, any thread may release its own at any time.
 * NULL: `hold` is NULL, or has BOWLINE_REFS_MAX references, or is being yielded; or this process is
 * a child that forked from the one of the client.  Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK bowline_hold *bowline_hold_ref(bowline_hold *hold);

/* From now on a release of this hold, also by bowline_close, gives the lock to the next at once,
 * whatever once_ms and at_least_ms say: the work failed, and another may do it.  Sends nothing.
 * OK; USAGE, FORKED.  Any thread. */
BOWLINE_API int bowline_hold_drop_rest(bowline_hold *hold, bowline_error *reterr);

/* As bowline_release, without waiting for the reply.  OK: released, or the release is under way,
 * and bowline_flush_releases returns its result.  Until the release arrives the lock is held: an
 * acquire that does not wait can be BUSY, also in this client over another connection.
 * The reply is read by the next thread that uses the connection, or by the renewal thread after
 * 50 ms.  A release whose connection breaks is sent again.  Blocks, as bowline_release does, only
 * if 1000 are under way over the same connection.
 * Frees `hold`, whatever the status: LOST, UNKNOWN, UNREACHABLE, NOMEM, REFUSED, if that is known
 * at once.  FORKED: it is not freed.  NULL: OK.  One thread. */
BOWLINE_API int bowline_release_nowait(bowline_hold *hold, bowline_error *reterr);

/* Waits for wait_ms until the releases of bowline_release_nowait have ended or one has failed.
 * OK: all have ended well.  TIMEOUT: some are under way, and no failure is unreported.  LOST,
 * UNKNOWN, UNREACHABLE, NOMEM, REFUSED: what bowline_release would have returned for the lock that
 * the text names.  Each failure is returned once: call again until OK.  64 failures of a connection
 * are kept one by one; the rest are counted in one text, LOST if one of them was LOST.
 * USAGE, SYSTEM, FORKED.  Any thread. */
BOWLINE_API int bowline_flush_releases(bowline_client *client, int64_t wait_ms,
                                       bowline_error *reterr);

/* Gives the lock to the waiter that has waited longest, and waits until the hold owns it again,
 * behind all waiters.  Without waiters the hold keeps the lock.  One command with protocol queue
 * (the default on Redis); a release and a place in the queue with file: and thread:; a release and
 * an acquire with the other protocols, where the first to ask gets the lock.
 * Do not touch what the lock protects until this returns OK: then the hold is as after an acquire,
 * with a new fence, and lease and max_hold counted from now.
 * wait_ms: BOWLINE_DEFAULT without wait= in the URL waits forever; 0 is USAGE.
 * TIMEOUT, BUSY, UNKNOWN, UNREACHABLE, REFUSED, NOMEM, SYSTEM: as bowline_acquire; LOST: the lock
 * was lost before it could be given.  After these the hold is over, and bowline_release frees it.
 * USAGE (also while another operation on the hold is under way, or with once_ms or at_least_ms),
 * FORKED: nothing has changed.
 * A release of the hold during this call ends it with LOST.  One thread. */
BOWLINE_API int bowline_yield(bowline_hold *hold, int64_t wait_ms, bowline_error *reterr);

/* Makes an exclusive hold one that others may share: BOWLINE_SHARED from now on.  Nobody has the
 * lock alone in between, and clients that wait to share it and are first in the queue get it with
 * the same command.  The fence is a new one, that of all who share.  A hold that is shared already:
 * OK.  The hold lasts for its lease from now, or as long as before if that is longer.
 * LOST.  UNKNOWN: no reply; the hold counts as shared, and the next renewal finds out; call it
 * again, or release the hold.  UNREACHABLE, REFUSED: the hold is exclusive as before.
 * UNSUPPORTED: all but protocol queue and thread:; with sync=.  USAGE: with permits, once_ms or
 * at_least_ms; while another operation on the hold is under way.  NOMEM, FORKED: nothing has
 * changed.  Threads of this client that wait for the name go on waiting, behind the clients that
 * wait in the store.
 * Blocks for one reply (timeout= of the URL), and twice as long at most if the connection ends
 * meanwhile.  One thread. */
BOWLINE_API int bowline_downgrade(bowline_hold *hold, bowline_error *reterr);

/* Makes a shared hold exclusive, if nobody else shares the lock: at once or not at all, also before
 * clients that wait for it.  The fence is a new one, above all before.  A hold that is exclusive
 * already: OK.  The hold lasts as after bowline_downgrade.
 * BUSY: others share it, and the hold is shared as before.  Two that upgrade at once are both BUSY,
 * and neither waits while it holds: to write, release it, acquire it as BOWLINE_EXCLUSIVE, and read
 * again what the lock protects.  UNKNOWN: no reply; the hold counts as shared; if a later renewal
 * finds it upgraded, bowline_hold_mode says so.
 * The other statuses are those of bowline_downgrade.  Blocks as that does.  One thread. */
BOWLINE_API int bowline_upgrade(bowline_hold *hold, bowline_error *reterr);

/* ---- state of a hold ------------------------------------------------------------------------- */

/* BOWLINE_EXCLUSIVE, BOWLINE_SHARED or BOWLINE_PERMITS.  While a change of it has no reply:
 * BOWLINE_SHARED.  Any thread. */
BOWLINE_API int bowline_hold_mode(const bowline_hold *hold);

/* How long the lock is certainly ours from now on.  0: it is not; INT64_MAX: only a release ends
 * it.  A result stays true even if the hold is lost later, as long as the store keeps what it
 * granted and the hold is not released.  Any thread. */
BOWLINE_API int64_t bowline_hold_left_ms(bowline_hold *hold);

/* OK: no failure since the lock was acquired or last renewed.  UNREACHABLE, UNKNOWN, REFUSED: the
 * last renewal failed; the lock is still ours for bowline_hold_left_ms, and is tried again unless
 * renewal is off.  LOST: it is no longer ours.  The text says why.  USAGE, FORKED.  Sends
 * nothing and never blocks.  Any thread. */
BOWLINE_API int bowline_hold_check(bowline_hold *hold, bowline_error *reterr);

/* The fencing token: grows with every holder of the name.  0: the engine or the protocol has none.
 * Any thread. */
BOWLINE_API uint64_t bowline_hold_fence(const bowline_hold *hold);

/* The name of the lock.  Lives as long as the hold.  Any thread. */
BOWLINE_API const char *bowline_hold_name(const bowline_hold *hold);

enum { BOWLINE_HOLD_INHERIT_FDS_MAX = 2 };

/* The descriptors that keep the lock held while a copy of one is open in any process.  A child that
 * inherits them (clear FD_CLOEXEC there) keeps the lock after the death of this process, until the
 * child ends.  Returns their number; 0 on engines other than file:.  Do not close them.  One
 * thread. */
BOWLINE_API int bowline_hold_inherit_fds(bowline_hold *hold,
                                         int           ret_fds[BOWLINE_HOLD_INHERIT_FDS_MAX]);

/* ---- a hold that is passed on ---------------------------------------------------------------- */

enum { BOWLINE_TICKET_MAX = 384 }; /* bytes of a ticket, with the NUL */

/* Ends the hold without a release and writes a ticket: a text by which one other client, also on
 * another machine, takes the hold over.  Extends the lock first, so it lasts for its lease from
 * now; nothing renews it until it is imported.  To give it more time, bowline_extend it before.
 * OK: frees `hold`.  After any other status the hold is as before, or LOST, and bowline_release
 * frees it.
 * The ticket is a secret, like a password: it is the lock, and who has it may release it.  Write it
 * to a file of mode 600, and never to arguments, the environment or a log.
 * With protocol queue and token, also with sync=, on one server, with Sentinel and in a cluster.
 * Other threads of the client that wait for the name go on waiting, for the client that imports it.
 * UNSUPPORTED, with the reason: other engines and protocols, a profile, token=.  USAGE: also while
 * another operation on the hold is under way, and of a shared hold or permits.  LOST, UNKNOWN,
 * UNREACHABLE, REFUSED, FORKED: as bowline_extend, and blocks as that does.  One thread. */
BOWLINE_API BOWLINE_MUST_CHECK int
bowline_hold_export(bowline_hold *hold, char ret_ticket[BOWLINE_TICKET_MAX], bowline_error *reterr);

/* Takes over the hold of a ticket: with its name and its fence, and with the lease of `options`
 * from now.  A ticket is good once: of several imports one succeeds.  `client` is one of the same
 * store, with the same protocol, key= and database.
 * wait_ms: how long to try again while the store cannot be reached; 0: once.
 * LOST: the ticket was used already, or the lock has ended.  UNKNOWN: no reply; if the lock was
 * taken over, it is released, or ends with its lease.  USAGE: the text is no ticket, or one of
 * another place; mode BOWLINE_SHARED or BOWLINE_PERMITS, as the hold is exclusive; once_ms or
 * at_least_ms.  UNSUPPORTED: as bowline_hold_export, or a version of tickets that this build does
 * not know.  UNREACHABLE, REFUSED, NOMEM, SYSTEM, FORKED.  Blocks for wait_ms and then as
 * bowline_acquire.  Free with bowline_release.  Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_hold_import(bowline_hold  **ret_hold,
                                                       bowline_client *client, const char *ticket,
                                                       const bowline_acquire_options *options,
                                                       bowline_error                 *reterr);

/* The name of the lock of a ticket.  Reads the text alone.  USAGE: it is no ticket.  UNSUPPORTED: a
 * version of tickets that this build does not know.  Any thread. */
BOWLINE_API int bowline_ticket_name(char ret_name[BOWLINE_NAME_MAX + 1], const char *ticket,
                                    bowline_error *reterr);

/* ---- holder of a name ------------------------------------------------------------------------ */

enum { BOWLINE_HOLDER_TEXT_MAX = 64 };

/* The holder of a name, as far as the store knows.  An unknown field is 0 or "".  It is a snapshot:
 * a lock that was free is perhaps held by now, so "free" permits nothing.  With protocol queue,
 * since_ms and fence are known from the first renewal of the hold on, after a third of its lease,
 * or from bowline_hold_set_command on; with the other protocols of Redis they are not known. */
typedef struct bowline_holder {
    size_t   size;     /* set by the caller: sizeof(bowline_holder)                             */
    int32_t  held;     /* 1: the lock is held                                                   */
    int32_t  foreign;  /* 1: not a lock of bowline, or in a form that it does not know          */
    int64_t  left_ms;  /* of the lease, or until `done` ends; INT64_MAX: only a release ends it */
    int64_t  since_ms; /* how long the lock has been held; done: how long ago that ended        */
    int64_t  pid;      /* of the program that holds it; with bowline run, of bowline            */
    int64_t  command_pid; /* see bowline_hold_set_command                                       */
    uint64_t fence;
    uint64_t id;      /* of this hold, for bowline_break; 0: it cannot be broken or identified  */
    uint32_t waiting; /* requests in the queue behind the holder; those of dead clients may count */
    int32_t  done;    /* 1: nobody holds it, and it is kept taken for left_ms by once_ms or
                      at_least_ms of its last holder, whom `user` and `host` name               */
    char     name[BOWLINE_NAME_MAX + 1];
    char     user[BOWLINE_HOLDER_TEXT_MAX];
    char     host[BOWLINE_HOLDER_TEXT_MAX];
    char     program[BOWLINE_HOLDER_TEXT_MAX];
    char     note[BOWLINE_HOLDER_TEXT_MAX]; /* what is unusual: "the key is a list"             */
    uint32_t sharers; /* holds of BOWLINE_SHARED and BOWLINE_PERMITS; 0: one exclusive hold, or
                         none.  pid, user and so on are those of the one that ends last; of file:,
                         the first one.  Counted among the last 1000 permits                    */
    uint32_t permits; /* of these holds together                                                */
    uint32_t limit;   /* of bowline_holders: permits of at most so many; 0: none, or not known yet,
                         see since_ms                                                           */
    uint32_t mode;    /* BOWLINE_EXCLUSIVE, BOWLINE_SHARED, BOWLINE_PERMITS: a single permit counts
                         as BOWLINE_SHARED while its limit is not known                         */
} bowline_holder;

/* Reads who holds a name; changes nothing.  UNREACHABLE, UNKNOWN, REFUSED, USAGE, NOMEM, SYSTEM,
 * FORKED.  Blocks as bowline_release.  Any thread. */
BOWLINE_API int bowline_who(bowline_client *client, const char *name, bowline_holder *ret_holder,
                            bowline_error *reterr);

/* Reads all who hold a name; changes nothing.  Returns how many there are, which may be more than
 * `max`, and writes the first `max` of them to `ret`; below 0: an error as of bowline_who.  An
 * exclusive hold is one, as bowline_who shows it; a free name has none.  Of a lock that clients
 * share, each hold is one, in the order in which their leases end: `sharers` is 1, `permits` are
 * its own, `left_ms` is that of its lease, and `fence`, which all have in common, is known at once.
 * `id` is for bowline_break.  `waiting` is the same in all.
 * A snapshot: holds may end and begin before it is read.  Of more than 64 holds it is made in
 * several steps: a hold that lasts during all of them is in it, one that begins or ends meanwhile
 * may be.  At most about 16,000 are read.  Of thread: they are all, and of file: the first 1000
 * (and the holders of flock -s, as foreign ones), in the order of the queue; they have no id.
 * Set the size field of ret[0]; the others get it.  max 0: only counts, `ret` may be NULL.  Blocks
 * as bowline_release, for each step.  Any thread. */
BOWLINE_API int bowline_holders(bowline_client *client, const char *name, bowline_holder ret[],
                                size_t max, bowline_error *reterr);

/* Publishes that the hold works for this process, such as a child of the caller: command_pid of its
 * holder is `pid`.  0: for none.  It is a hint for people.  With protocol queue it is sent without
 * waiting for the reply, published again after a failover, and deleted with the hold.  file: shows
 * only a child of the process that has the lock.  No effect on thread: and with other protocols.
 * LOST: the lock is not held.  USAGE (a pid below 0), FORKED.  Never blocks.  Any thread. */
BOWLINE_API int bowline_hold_set_command(bowline_hold *hold, int64_t pid, bowline_error *reterr);

/* For administrators: ends the hold with this id, which bowline_who or bowline_holders has
 * returned, and no other: of a lock that clients share, one share.
 * The next waiter gets the lock, as after a release.  The old holder finds out at its next renewal,
 * after a third of its lease at most; until then two processes work, which only a fence makes
 * harmless.  With protocol queue the text of its LOST says "broken by USER@HOST": of a release, and
 * of bowline_hold_check a moment after the loss.  The holder of a lock that is never renewed (locks
 * of articles, and of some profiles) works on until its lease ends.
 * A lock that is `done` is freed: its period may begin again.
 * BUSY: that hold has ended; nothing was changed, and the text says whether another client has the
 * lock.  UNKNOWN: no reply; call bowline_who.  UNREACHABLE.  REFUSED: also for a value that is not
 * of the protocol.  UNSUPPORTED: thread: and file:, whose locks end with the process; redlock://,
 * whose locks end with the lease.  USAGE (also for the id 0), NOMEM, SYSTEM, FORKED.
 * Blocks for two replies, or more if many waiters are dead.  Any thread. */
BOWLINE_API int bowline_break(bowline_client *client, const char *name, uint64_t id,
                              bowline_error *reterr);

enum { BOWLINE_BREAKER_MAX = 2 * BOWLINE_HOLDER_TEXT_MAX };

/* By whom bowline_break has ended the hold with this id: "USER@HOST"; "": it has not, or that is
 * not known.  Only protocol queue has a place for it, for about a minute after the lease; not if
 * the client of the old holder was closed before it noticed.  The id must be of one of the last 64
 * holds that bowline_who and bowline_holders of this client have returned.  UNREACHABLE, UNKNOWN,
 * REFUSED, USAGE (also for the id 0), NOMEM, SYSTEM, FORKED.  Blocks as bowline_release.  Any
 * thread. */
BOWLINE_API int bowline_broken_by(bowline_client *client, const char *name, uint64_t id,
                                  char ret_by[BOWLINE_BREAKER_MAX], bowline_error *reterr);

/* ---- held names ------------------------------------------------------------------------------ */

/* The held names of a store, read step by step: a snapshot, in no order.  A name that is held
 * during the whole list is in it, and one that is acquired or released meanwhile may be.  A name
 * comes once (with more than a million of them, perhaps again). */
typedef struct bowline_list bowline_list;

/* Begins a list, and sends nothing yet.  `pattern`: `*` is any text, `?` one character, `[a-z]` and
 * `[!a-z]` one of these and one of the others, `\` takes the next character as it is; NULL: all.
 * Redis: looks at some hundred keys of the server at a time (SCAN), which never blocks it for long,
 * and queries the holder of each match.  An acquire costs nothing for it: there is no index.  In a
 * cluster it looks at every primary; a lock whose slot moves meanwhile may be missing.  redlock:
 * looks at a majority of the servers.  With a key= that is `%s` and nothing else, foreign locks are
 * left out: any key could be one.
 * file: the bare names of the lock directory, not the names that are paths, and not the files that
 * this user cannot open.  thread: the names of this process.
 * USAGE, also for a pattern with a `[` or a `\` that does not end.  NOMEM, SYSTEM, FORKED.
 * Free with bowline_list_free, before bowline_close.  Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_list_start(bowline_list  **ret_list,
                                                      bowline_client *client, const char *pattern,
                                                      bowline_error *reterr);

/* 1: *ret_holder is the next held name, as bowline_who reports it.  0: the end.
 * TIMEOUT: the limit of bowline_list_limit is reached; raise it to go on.  UNREACHABLE, UNKNOWN,
 * REFUSED, SYSTEM: a step failed; call again to repeat it.  USAGE, NOMEM, FORKED.
 * Blocks for the steps until the next match, the limit or the end.  One thread. */
BOWLINE_API int bowline_list_next(bowline_holder *ret_holder, bowline_list *list,
                                  bowline_error *reterr);

/* Stops before a step if `keys` keys or more were looked at.  0, as at first: no limit.  A program
 * that shows the progress, or wants to stop between steps, raises it step by step.  One thread. */
BOWLINE_API void bowline_list_limit(bowline_list *list, uint64_t keys);

/* How many keys were looked at so far, and of about how many; 0: not known.  A store has other keys
 * than those of locks.  ret_total may be NULL.  One thread. */
BOWLINE_API uint64_t bowline_list_progress(const bowline_list *list, uint64_t *ret_total);

/* NULL: no effect.  One thread. */
BOWLINE_API void bowline_list_free(bowline_list *list);

/* ---- the rest -------------------------------------------------------------------------------- */

/* Reads a duration as URLs and the command line have it: "250ms", "30s", "5m", "2h", "1d", "1m30s".
 * USAGE: no unit, a fraction, a sign, or more than 2^53 ms.  Any thread. */
BOWLINE_API int bowline_duration_parse(int64_t *ret_ms, const char *text, bowline_error *reterr);

/* The version of the loaded library; the macros above are that of the header.  Any thread. */
BOWLINE_API int         bowline_version(void);
BOWLINE_API const char *bowline_version_string(void);

#ifdef __cplusplus
}
#endif

#endif
