/*
 * async.h -- the same verbs, started now and finished later; and one client on any event loop.
 *
 * Acquire, extend, yield, release and who of bowline.h are these, started and finished at once.
 *
 *      bowline_operation *op;
 *      bowline_event      event = { sizeof event };
 *      bowline_acquire_start(&op, client, "nightly", BOWLINE_ACQUIRE(.wait_ms = 5000), NULL);
 *      ... poll bowline_fd(client) for reading, at most bowline_timeout_ms(client), then
 *          bowline_dispatch(client, 0, &error);
 *          while (bowline_next_event(client, &event, &error) == 1)
 *              ... event.operation has ended, or event.hold is lost ...
 *      status = bowline_acquire_finish(&hold, op, &error);
 *
 * Rules.
 *   - An operation ends exactly once, and is freed by its finish, which takes the result (not when
 *     that answers USAGE or FORKED: then it is as it was).  It may have ended when its start
 *     returns.
 *   - Nothing calls back.  What has happened is asked for, after dispatching: of each operation and
 *     hold (bowline_operation_done, bowline_hold_left_ms), or as events (bowline_next_event).
 *   - bowline_cancel may come from any thread while another waits.  An operation that has already
 *     ended keeps its result: after cancelling, finish says whether the lock was won or not.
 *   - Ask bowline_timeout_ms after every call that started or finished something, and after every
 *     dispatch.  When another thread ends an operation, or leaves an earlier timer behind, the
 *     descriptor becomes readable.
 *   - From the first call of these on, a client takes new locks over one connection, the one behind
 *     bowline_fd; blocking calls of several threads may otherwise open up to four (redis://).
 *   - What is started while the answer to something else is awaited may go out with what is
 *     started next: when anybody waits, or a millisecond later.  Not once a loop has a descriptor.
 *   - A hold is renewed by whoever dispatches, and by the keeper thread (bowline_options.keeper)
 *     when nobody does.
 *   - What can block: every call without _start in its name that says so, bowline_operation_wait,
 *     bowline_dispatch (for wait_ms; 0: not at all), a finish before bowline_operation_done.
 *     bowline_close says by itself for how long.
 */
#ifndef BOWLINE_ASYNC_H
#define BOWLINE_ASYNC_H

#include <bowline/bowline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An acquire, extend, yield, release or who under way. */
typedef struct bowline_operation bowline_operation;

/* ---- start and finish ------------------------------------------------------------------------ */

/* As bowline_acquire, returning at once.  Free with bowline_acquire_finish.  Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_acquire_start(bowline_operation **ret_op,
                                                         bowline_client *client, const char *name,
                                                         const bowline_acquire_options *options,
                                                         bowline_error                 *reterr);

/* As bowline_extend.  One extend at a time for each hold: a second is USAGE.  Free with
 * bowline_finish.  One thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_extend_start(bowline_operation **ret_op,
                                                        bowline_hold *hold, uint32_t lease_ms,
                                                        bowline_error *reterr);

/* As bowline_release.  The hold belongs to the operation from here on, and must not be used, unless
 * this fails with NOMEM or FORKED.  Free with bowline_finish.  One thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_release_start(bowline_operation **ret_op,
                                                         bowline_hold *hold, bowline_error *reterr);

/* As bowline_yield; but NOMEM changes nothing.  The hold is ours again when bowline_finish says OK,
 * and over when it says anything else.  bowline_hold_lost_fd is silent meanwhile.  bowline_cancel
 * ends it, and with it the hold.  Free with bowline_finish.  One thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_yield_start(bowline_operation **ret_op,
                                                       bowline_hold *hold, int64_t wait_ms,
                                                       bowline_error *reterr);

/* As bowline_who.  Free with bowline_who_finish.  USAGE, NOMEM, SYSTEM, FORKED.  Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_who_start(bowline_operation **ret_op,
                                                     bowline_client *client, const char *name,
                                                     bowline_error *reterr);

/* 1: it has ended, finish will not block.  Any thread. */
BOWLINE_API int bowline_operation_done(bowline_operation *op);

/* Waits for the end, driving the client meanwhile, for wait_ms (0: only dispatches what is ready;
 * BOWLINE_FOREVER).  OK: it has ended.  TIMEOUT: not yet.  SYSTEM, FORKED.  Any thread. */
BOWLINE_API int bowline_operation_wait(bowline_operation *op, int64_t wait_ms,
                                       bowline_error *reterr);

/* Ends an acquire, a yield, an extend or a who soon, with CANCELLED unless it has ended already.  A
 * release cannot be called back.  The operation must not have been finished.  Any thread. */
BOWLINE_API void bowline_cancel(bowline_operation *op);

/* Waits for the end if need be, writes the hold if it is OK, frees the operation whatever it
 * returns.  Statuses as bowline_acquire, and CANCELLED.  One thread. */
BOWLINE_API BOWLINE_MUST_CHECK int
bowline_acquire_finish(bowline_hold **ret_hold, bowline_operation *op, bowline_error *reterr);

/* The same for extend, yield and release.  Statuses as theirs, and CANCELLED.  One thread. */
BOWLINE_API int bowline_finish(bowline_operation *op, bowline_error *reterr);

/* The same for who.  Statuses as bowline_who, and CANCELLED.  The engines thread: and file: look
 * now, the others have looked at some moment since the start.  One thread. */
BOWLINE_API int bowline_who_finish(bowline_holder *ret_holder, bowline_operation *op,
                                   bowline_error *reterr);

/* ---- on an event loop ------------------------------------------------------------------------ */

/* Becomes readable when bowline_dispatch has something to do.  Poll it, do not read it, do not
 * close it: an epoll descriptor, which poll, select and epoll accept.  Below 0: a status (SYSTEM,
 * NOMEM, FORKED).  Any thread. */
BOWLINE_API int bowline_fd(bowline_client *client);

/* How long the client may be left alone: 0 now, BOWLINE_FOREVER no timer.  Any thread. */
BOWLINE_API int64_t bowline_timeout_ms(bowline_client *client);

/* Does what is due, waiting for something to do for at most wait_ms (0: not at all).  OK, SYSTEM,
 * FORKED.  Any thread; when another thread is driving the client already it has nothing to do. */
BOWLINE_API int bowline_dispatch(bowline_client *client, int64_t wait_ms, bowline_error *reterr);

/* For loops that take a pipe or a socket and nothing else (Node.js, say), or cannot set a timer
 * before each wait: the read end of a pipe, in place of bowline_fd and bowline_timeout_ms both.  It
 * becomes readable when a dispatch is due, a timer's too, and stays so until bowline_dispatch,
 * which empties it.  It may be read, the bytes mean nothing; do not close it.  Below 0: a status
 * (USAGE, SYSTEM, NOMEM, FORKED).  Any thread.
 *
 * A pipe is readable when somebody has written to it, so the first call starts a thread of the
 * library which does that, and no more: it sleeps in poll, dispatches nothing, calls nothing of
 * yours, blocks all signals, and ends in bowline_close. */
BOWLINE_API int bowline_wakeup_fd(bowline_client *client, bowline_error *reterr);

/* ---- what has happened ----------------------------------------------------------------------- */

enum {
    BOWLINE_EVENT_ENDED       = 1, /* operation: finish it                                       */
    BOWLINE_EVENT_LOST        = 2, /* hold: stop what it protects, then release it               */
    BOWLINE_EVENT_NOT_RENEWED = 3, /* hold: ours still, but its renewal fails; see hold_check  */
};

typedef struct bowline_event {
    size_t             size;      /* set by the caller: sizeof(bowline_event)                  */
    int32_t            kind;      /* BOWLINE_EVENT_...; ignore one that you do not know        */
    int32_t            reserved;  /* 0                                                         */
    bowline_operation *operation; /* NULL: it is about a hold                                  */
    bowline_hold      *hold;      /* NULL: it is about an operation                            */
    void              *data;      /* what you have tied to it, see below                       */
} bowline_event;

/* The next of what has happened to operations that were started, and to holds: 1, written; 0, there
 * is no more; below 0: USAGE, FORKED.  Never blocks.  Any thread.
 *
 * Take all after each dispatch: only what comes later makes the descriptors readable again.  From
 * the first call on they become so for every event, also for an operation that ends in its start.
 * None is dropped, as an event is a mark on its object, not an entry in a queue: ENDED and LOST
 * come once for each, TROUBLE once each time that renewing begins to fail, unless it is over, or
 * the hold is lost, before you look.  Nothing is told of what was finished or released before you
 * look, nor of an operation that is waited for in a blocking call. */
BOWLINE_API int bowline_next_event(bowline_client *client, bowline_event *ret_event,
                                   bowline_error *reterr);

/* A pointer of yours, NULL at first, which the library hands back and never looks at.  A hold
 * begins with that of the operation that acquired it, and an extend, a yield or a release with that
 * of its hold.  Any thread, while the object exists. */
BOWLINE_API void  bowline_operation_set_data(bowline_operation *op, void *data);
BOWLINE_API void *bowline_operation_data(const bowline_operation *op);
BOWLINE_API void  bowline_hold_set_data(bowline_hold *hold, void *data);
BOWLINE_API void *bowline_hold_data(const bowline_hold *hold);

/* A descriptor that becomes readable, and stays so, when the hold is lost: as soon as that is
 * known, and at the latest when bowline_hold_left_ms is 0, whether or not anybody dispatches (a
 * timer of the kernel's).  Poll it, do not read it.  The library closes it when the hold is
 * released, be it by bowline_release_start, or the client closed: take it out of your loop before.
 * Every call returns the same.  Below 0: a status (USAGE, SYSTEM, NOMEM, FORKED).  One thread. */
BOWLINE_API int bowline_hold_lost_fd(bowline_hold *hold, bowline_error *reterr);

#ifdef __cplusplus
}
#endif

#endif
