/*
 * bowline.h -- a lock by name: between threads, between processes, between machines.
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
 * CAVEATS, before anything else.
 *
 *   - A lock with a lease is a promise about time.  Whoever is paused for longer than the lease
 *     has lost the lock and does not know it yet.  What makes that harmless is the fence: a
 *     number that grows with every holder, checked by the resource that you protect.
 *     docs/guarantees.md says what each engine promises, and when it does not.
 *   - The hold is the owner, not the thread and not the process.  Taking a name twice from one
 *     thread is BUSY, or waits, like any other second taking.
 *   - After fork the child must not use what it inherited: every call there answers
 *     BOWLINE_FORKED and nothing is sent.  The child opens a client of its own.
 *
 * CONVENTIONS, for every function below.
 *
 *   - A function that can fail returns a status: 0, or below 0.  Treat an unknown negative number
 *     as a failure.
 *   - What a function creates comes first, is named ret_..., and is written only on success.
 *   - `reterr` may be NULL.  It is for people; decide on the status.
 *   - Strings end in NUL, are copied on the way in, and borrowed on the way out until the object
 *     they came from is freed.
 *   - Options may be NULL: every zero field means its default.  Use the macros BOWLINE_OPTIONS and
 *     BOWLINE_ACQUIRE in C; in C++ write `bowline_options o = { sizeof o }; o.url = ...`.
 *   - Times are in milliseconds, durations are counted on a clock that counts suspend.
 *   - The library writes to no terminal, reads no environment, installs no signal handler, raises
 *     no SIGPIPE and never ends the process (a failed assertion, a bug of ours, apart).
 *   - No call is a cancellation point: a thread that is to end (pthread_cancel) comes back from its
 *     call first, with the result.  Deferred cancelling, that is, the default.  bowline_cancel ends
 *     a wait.
 *   - The thread word ends each comment.  "Any thread.": at any time, from any thread.
 *     "One thread.": calls on the same object must not overlap.
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

/* "BUSY", and "someone else holds the lock".  Never NULL, also for numbers that are no status.
 * Any thread. */
BOWLINE_API const char *bowline_status_name(int status);
BOWLINE_API const char *bowline_status_words(int status);

/* ---- the whole simple use -------------------------------------------------------------------- */

typedef struct bowline_client bowline_client; /* a way to reach a store        */
typedef struct bowline_hold   bowline_hold;   /* a lock while it is ours       */

enum {
    BOWLINE_NAME_MAX     = 200, /* bytes in a name                       */
    BOWLINE_LEASE_MIN_MS = 100,
    BOWLINE_LEASE_MAX_MS = 86400000, /* one day                               */
    BOWLINE_WAIT_MAX_MS  = 2147483647,
};

/* Every wait_ms has one of these values, or 1 .. BOWLINE_WAIT_MAX_MS. */
#define BOWLINE_NO_WAIT 0    /* do not wait                                                 */
#define BOWLINE_FOREVER (-1) /* wait without a limit                                        */
#define BOWLINE_DEFAULT (-2) /* wait as long as the URL says (wait=); by default 0          */

/* bowline_options.flags */
enum {
    BOWLINE_NO_RENEW  = 1 << 0, /* never renew: a hold ends with its lease                     */
    BOWLINE_NO_THREAD = 1 << 1, /* start no renewal thread: the caller dispatches (async.h)    */
    BOWLINE_NO_SPIN   = 1 << 2, /* sleep at once when waiting for the reply of a server        */
};

enum {
    BOWLINE_LOG_INFO    = 1, /* connected; redirected to another node of a cluster               */
    BOWLINE_LOG_WARNING = 2, /* not connected, connection lost, not renewed; what
                                bowline_client_warning returns                                   */
    BOWLINE_LOG_ERROR   = 3, /* a hold is lost                                                   */
};

/* Called in a thread of the caller, inside a call of the library, shortly before it returns; never
 * from two threads at once.  What happens between calls is told in the next one: up to 64 messages
 * are kept, then the oldest are dropped and counted.  The text is one line, without a password, and
 * lives until the function returns.  The function may call the library, except bowline_close of the
 * same client.  It must return (no longjmp, no exception). */
typedef void (*bowline_log)(int level, const char *text, void *data);

typedef struct bowline_options {
    size_t size; /* set by BOWLINE_OPTIONS */

    /* NULL: "file:", locks between the processes of the effective user on this machine; those of
     * other users are others.  "file:///run/lock/bowline": of all users.  Else
     *     thread:    file:[DIRECTORY]    redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]
     *     unix:///SOCKET                 rediss://... (TLS)
     *     redis+sentinel://HOST[:PORT][,HOST[:PORT]]/SERVICE[/DB]    rediss+sentinel://... (TLS)
     *     redis+cluster://HOST[:PORT][,HOST[:PORT]]    rediss+cluster://... (TLS)
     *     redlock://HOST[:PORT],HOST[:PORT],HOST[:PORT]...[/DB]      redlocks://... (TLS)
     * each with options behind a question mark, ?lease=30s&wait=1m; see bowline(7). */
    const char *url;

    /* BOWLINE_NO_RENEW, BOWLINE_NO_THREAD, BOWLINE_NO_SPIN or any sum of them. */
    uint32_t flags;

    /* How long a dead holder blocks the others, on engines with a lease.  0: the URL's lease=, or
     * else that of its profile or protocol, or else 30000. */
    uint32_t lease_ms;

    /* How long a server may be silent before its connection counts as broken.  0: the URL's
     * timeout=, or else 5000, or a third of the lease if that is less. */
    uint32_t reply_ms;

    /* A hold ends after this time, renewed or not.  0: the URL's max-hold=, or else no end. */
    int64_t max_hold_ms;

    /* What others see who ask for the holder (at most 63 bytes).  NULL: the name of the process. */
    const char *program;

    /* Receives messages of the library; NULL: there are none.  log_data is passed to it. */
    bowline_log on_log;
    void       *log_data;
} bowline_options;

typedef struct bowline_acquire_options {
    size_t   size;        /* set by BOWLINE_ACQUIRE                                             */
    int64_t  wait_ms;     /* how long to wait for the lock; BOWLINE_DEFAULT: set by the macro   */
    int64_t  max_hold_ms; /* 0: the client's                                                    */
    uint32_t lease_ms;    /* 0: the client's.  BOWLINE_LEASE_MIN_MS .. _MAX_MS; at redlock://
                             at most the client's, or USAGE, but with restart-wait=off          */
    uint32_t reserved;    /* 0                                                                  */
} bowline_acquire_options;

/* clang-format off */
/* Options in an argument; a field that is not named has its default.  In C:
 *     bowline_acquire(&hold, client, "x", BOWLINE_ACQUIRE(.wait_ms = 5000), &error);
 * In C and C++, for options in a variable:
 *     bowline_acquire_options o = BOWLINE_ACQUIRE_INIT; */
#define BOWLINE_OPTIONS_INIT { sizeof(bowline_options), NULL, 0, 0, 0, 0, NULL, NULL, NULL }
#define BOWLINE_ACQUIRE_INIT { sizeof(bowline_acquire_options), BOWLINE_DEFAULT, 0, 0, 0 }
#define BOWLINE_OPTIONS(...) (&(bowline_options){ sizeof(bowline_options), __VA_ARGS__ })
#define BOWLINE_ACQUIRE(...) \
    BOWLINE_WITH_DEFAULTS(bowline_acquire_options, .wait_ms = BOWLINE_DEFAULT, __VA_ARGS__)

/* The default is written first and the caller's value over it, which -Wextra warns of elsewhere. */
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

/* Makes a client.  Nothing is sent and no name is looked up yet: the store is reached by the first
 * call that needs it.  USAGE (the URL or an option; the text says which; also a protocol or profile
 * with a fault, unless the URL says accept-risk=1), UNSUPPORTED (a scheme, an option, a protocol or
 * a profile that this build has not, or TLS on a system without OpenSSL 3), REFUSED (a directory, a
 * password file, a certificate or a key that cannot be trusted or used), SYSTEM, NOMEM.
 * Free with bowline_close.  Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int
bowline_open(bowline_client **ret_client, const bowline_options *options, bowline_error *reterr);

/* What is wrong with the protocol or the profile that the URL asks for, in one line without a
 * secret, if the URL accepts that (accept-risk=1); or that its drift= is short.  NULL: nothing that
 * is known.  Lives as long as the client.  Any thread. */
BOWLINE_API const char *bowline_client_warning(const bowline_client *client);

/* Takes the lock `name`: 1 .. BOWLINE_NAME_MAX bytes, none of them a control character.
 * BUSY (tried once; or as many wait as may, by queue-max= of the URL), TIMEOUT (waited), UNKNOWN
 * (the server fell silent with our question in its hands; if it took the lock for us, that ends
 * with the lease), UNREACHABLE, REFUSED (it answered with an error; see the text), USAGE,
 * UNSUPPORTED, NOMEM, SYSTEM, FORKED.
 * Blocks for the wait, and for one answer of the server (timeout= of the URL) on top, also when the
 * server cannot be reached or is silent.  With `reterr`, BUSY and TIMEOUT ask the server one more
 * question, who holds the lock, in what is left of that time.  Free with bowline_release.
 * Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_acquire(bowline_hold **ret_hold, bowline_client *client,
                                                   const char                    *name,
                                                   const bowline_acquire_options *options,
                                                   bowline_error                 *reterr);

/* From now on the lease is lease_ms (0: as it is), counted from this call.  Never shortens what is
 * already promised.  LOST, UNKNOWN (no answer yet; the hold lasts as long as bowline_hold_left_ms
 * says), UNREACHABLE (nothing could be sent) and REFUSED (likewise), UNSUPPORTED (a protocol whose
 * locks are never renewed: they end with the lease they were acquired with; see bowline(7)), USAGE
 * (also a lease that an acquire could not have), FORKED.  On engines without a lease: OK, nothing
 * changes.  One thread. */
BOWLINE_API int bowline_extend(bowline_hold *hold, uint32_t lease_ms, bowline_error *reterr);

/* Gives the lock back and frees `hold`, whatever it returns.  LOST: it was no longer ours to give,
 * somebody else may have held it meanwhile.  UNKNOWN: no answer; it ends with the lease at the
 * latest.  UNREACHABLE, NOMEM: it could not be sent; REFUSED: the store would not; likewise.
 * FORKED.  NULL is OK.  Where another thread of this client waits for the name, it has it then, and
 * the store may not have been asked: see turns= in bowline(7).  One thread. */
BOWLINE_API int bowline_release(bowline_hold *hold, bowline_error *reterr);

/* As bowline_release, without waiting for the answer: OK also means that the release is on its way,
 * and bowline_flush_releases then tells what became of it.  Until it has arrived the lock is taken:
 * an acquire that does not wait may be BUSY, also by this client over another connection.
 *
 * What is known at once is returned at once, on thread: and file: always.  The answer is read by
 * whoever uses the connection next, or by the keeper after 50 ms; without a keeper, by the next
 * call that waits or dispatches.  A release that a connection has lost is sent again.  This waits
 * only when 1000 are on their way over the same connection already, and then as bowline_release
 * does.
 *
 * Frees `hold`, whatever it returns.  LOST, UNKNOWN, UNREACHABLE, NOMEM, REFUSED, FORKED.  NULL is
 * OK.  One thread. */
BOWLINE_API int bowline_release_nowait(bowline_hold *hold, bowline_error *reterr);

/* How the releases came out that were on their way when bowline_release_nowait returned.  Waits
 * until none is any more, or one has gone wrong, for wait_ms (0: not at all; BOWLINE_FOREVER).
 * OK: all have ended, and well.  TIMEOUT: some are on their way still, and there is nothing to tell
 * of others.  LOST, UNKNOWN, UNREACHABLE, NOMEM, REFUSED: so bowline_release would have ended, for
 * the hold that the text names; told once, so ask again until it is OK.  Of each connection 64 are
 * kept to be told one by one; of more it tells how many, as LOST if one of them was lost.  USAGE,
 * SYSTEM, FORKED.  Any thread. */
BOWLINE_API int bowline_flush_releases(bowline_client *client, int64_t wait_ms,
                                       bowline_error *reterr);

/* Gives the lock to who has waited longest, and waits until it is ours again, behind all who wait
 * now; with nobody waiting it stays ours.  With the protocol queue, which is what Redis locks by,
 * that is one command; on file: and thread: a release and a place in line; with other protocols a
 * release and an acquire, and whoever asks first gets it.  What the lock protects must not be
 * touched before this returns OK: then `hold` is ours as after an acquire, with its lease and a
 * max_hold from now on, and with a fence of its own.
 *
 * wait_ms: BOWLINE_FOREVER, 1 .. BOWLINE_WAIT_MAX_MS, or 0: the URL's wait=, or else for ever.
 * TIMEOUT, BUSY, UNKNOWN, UNREACHABLE, REFUSED, NOMEM, SYSTEM, as of an acquire, and LOST (it was
 * not ours any more when it was to be given): the hold is over, bowline_release frees it.  USAGE
 * (also while something else is being done with the hold), FORKED: nothing has changed.
 *
 * Not of a hold that was released, waited for or not: that is gone.  A release while this is under
 * way, of either kind, ends it and is told LOST.  One thread. */
BOWLINE_API int bowline_yield(bowline_hold *hold, int64_t wait_ms, bowline_error *reterr);

/* Releases what is still held through the client, without waiting for answers, and frees the
 * client with all its holds and operations, which must not be used afterwards.  In a child after
 * fork: frees, sends nothing; and leaves alone, until the child ends or calls exec, what another
 * thread was changing at that moment.  NULL is a no-op.  One thread, and no other in the client.
 *
 * Does not block when every operation has ended and every hold was released before, those of
 * bowline_release_nowait being so when bowline_flush_releases is OK.  Else it hands the releases to
 * the server, and gives up when that takes nothing for 100 ms, or has not read all within 200 ms;
 * what did not arrive ends with its lease. */
BOWLINE_API void bowline_close(bowline_client *client);

/* ---- questions about a hold ------------------------------------------------------------------ */

/* How long the lock is surely ours from now on: 0 when it is not, INT64_MAX where nothing but
 * release ends it.  While the store keeps what it gave, what was said stays true also when the hold
 * is lost meanwhile, until it is released.  Any thread. */
BOWLINE_API int64_t bowline_hold_left_ms(bowline_hold *hold);

/* OK: nothing has gone wrong since the hold was won, or renewed last.  UNREACHABLE, UNKNOWN (no
 * answer), REFUSED: it is ours still, for as long as bowline_hold_left_ms says, but the last
 * attempt at renewing it has failed; more will follow unless renewal is off.  LOST: it is not ours
 * any more. The text says why.  USAGE, FORKED.  Asks nobody, never blocks.  Any thread. */
BOWLINE_API int bowline_hold_check(bowline_hold *hold, bowline_error *reterr);

/* Grows with every holder of the name; 0 where the engine has none.  Any thread. */
BOWLINE_API uint64_t bowline_hold_fence(const bowline_hold *hold);

/* Lives as long as the hold.  Any thread. */
BOWLINE_API const char *bowline_hold_name(const bowline_hold *hold);

enum { BOWLINE_HOLD_INHERIT_FDS_MAX = 2 };

/* The file descriptors that keep the lock taken as long as any copy of them is open in any
 * process: pass them to a child (clear FD_CLOEXEC there) and the lock survives the death of this
 * process until the child ends.  Returns how many, 0 on engines whose locks are not descriptors.
 * Do not close them.  One thread. */
BOWLINE_API int bowline_hold_inherit_fds(bowline_hold *hold,
                                         int           ret_fds[BOWLINE_HOLD_INHERIT_FDS_MAX]);

/* ---- questions about a name ------------------------------------------------------------------ */

enum { BOWLINE_HOLDER_TEXT_MAX = 64 };

/* Who holds a name, as far as the store knows: fields that it does not know are 0 or "". */
typedef struct bowline_holder {
    size_t   size;     /* set by the caller: sizeof(bowline_holder)                             */
    int32_t  held;     /* 1: somebody holds it                                                  */
    int32_t  foreign;  /* 1: not by bowline, or not in a form that it knows                     */
    int64_t  left_ms;  /* of the lease; INT64_MAX: nothing ends it by itself                    */
    int64_t  since_ms; /* how long it has been held                                             */
    int64_t  pid;
    uint64_t fence;
    uint64_t id; /* tells this hold from every other of the name, for bowline_break; 0: it
                          cannot be broken, or not be told from others                          */
    char     user[BOWLINE_HOLDER_TEXT_MAX];
    char     host[BOWLINE_HOLDER_TEXT_MAX];
    char     program[BOWLINE_HOLDER_TEXT_MAX];
    char     note[BOWLINE_HOLDER_TEXT_MAX]; /* what is odd: "the key is a list" */
} bowline_holder;

/* Looks, and changes nothing.  UNREACHABLE, UNKNOWN, REFUSED, USAGE, NOMEM, SYSTEM, FORKED.  Blocks
 * for one answer of the server.  Any thread. */
BOWLINE_API int bowline_who(bowline_client *client, const char *name, bowline_holder *ret_holder,
                            bowline_error *reterr);

/* Reaches the store now, or says why it cannot be reached.  thread: OK.  file: opens the directory,
 * creating it as the first lock would.  Servers: looks at a name that nobody takes; redlock: OK if
 * most of the servers answer; cluster: asks the node that this name belongs to.
 *
 * wait_ms: for how long to try again while the status would be UNREACHABLE or UNKNOWN.  0: one try,
 * which blocks for one reply (timeout= of the URL).  UNREACHABLE, UNKNOWN, REFUSED (the server's
 * error, or a directory that cannot be trusted), USAGE, NOMEM, SYSTEM, FORKED.  Any thread. */
BOWLINE_API int bowline_ping(bowline_client *client, int64_t wait_ms, bowline_error *reterr);

/* For administrators: ends somebody else's hold, the very one that bowline_who has shown by this
 * `id`; the next in line has the lock then, as after a release.  Whoever held it learns so at his
 * next renewal, a third of his lease later at most, and works on until then: two are at work for
 * that time, which only a fence makes harmless.  With the protocol queue the text of its LOST says
 * "broken by USER@HOST": a note that is written first, and expires with what is known of a session.
 * The holder of a lock that is never renewed (stamps, and other locks of articles) learns nothing
 * and works on until its lease ends.  So may another program, if the lock is shared by a profile.
 *
 * BUSY: that hold has ended by itself, and nothing was changed; the text says whether somebody else
 * has the lock by now.  UNKNOWN (no answer: ask who holds it), UNREACHABLE, REFUSED (the text says
 * why; also a value that is none of the protocol's, whatever the id), UNSUPPORTED (thread: and
 * file:, where a lock ends with its process; redlock://, where it ends with its lease), USAGE (also
 * an id of 0), NOMEM, SYSTEM, FORKED.
 * Blocks for two answers of the server, or more where many who waited are dead.  Any thread. */
BOWLINE_API int bowline_break(bowline_client *client, const char *name, uint64_t id,
                              bowline_error *reterr);

/* ---- the rest -------------------------------------------------------------------------------- */

/* "250ms", "30s", "5m", "2h", "1d", "1m30s", as in URLs and on the command line, into
 * milliseconds.  A number without a unit, a fraction, a sign, or more than 2^53 ms is USAGE.
 * Any thread. */
BOWLINE_API int bowline_duration_parse(int64_t *ret_ms, const char *text, bowline_error *reterr);

/* What is loaded, as against the macros above.  Any thread. */
BOWLINE_API int         bowline_version(void);
BOWLINE_API const char *bowline_version_string(void);

#ifdef __cplusplus
}
#endif

#endif
