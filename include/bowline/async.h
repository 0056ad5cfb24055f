/*
 * async.h -- the calls of bowline.h, started now and finished later; and a client on an event loop.
 *
 *      bowline_operation *op;
 *      bowline_event      event = { sizeof event };
 *      bowline_acquire_start(&op, client, "nightly", BOWLINE_ACQUIRE(.wait_ms = 5000), NULL);
 *      ... poll bowline_fd(client) for reading, then
 *          bowline_dispatch(client, 0, &error);
 *          while (bowline_next_event(client, &event, &error) == 1)
 *              ... event.operation has ended, or event.hold is lost ...
 *      status = bowline_acquire_finish(&hold, op, &error);
 *
 * Rules.
 *   - An operation ends exactly once, perhaps before its start returns.  Its finish returns the
 *     result and frees it, except with USAGE or FORKED, which leave it as it is.
 *   - There are no callbacks.  After dispatching, ask each operation and hold
 *     (bowline_operation_done, bowline_hold_left_ms) or take events (bowline_next_event).
 *   - Any thread may call bowline_cancel while another waits.  An operation that has already ended
 *     keeps its result: finish says whether the lock was acquired.
 *   - The descriptor is all that an event loop needs: it also becomes readable when a timer is due,
 *     and when another thread ends an operation.
 *   - From its first call of this header on, a client takes new locks over one connection, that of
 *     bowline_fd.  Blocking calls of several threads can otherwise open up to four (redis://).
 *   - A command that is started while a reply is awaited can be kept back for a millisecond, to go
 *     out together with the next; not on a client with a descriptor for a loop.
 *   - A hold is renewed by any thread that dispatches, and by the renewal thread if no thread does
 *     (unless BOWLINE_NO_THREAD).
 *   - These calls block: those of bowline.h that say so, bowline_operation_wait and
 *     bowline_dispatch for wait_ms, a finish before its operation has ended, and bowline_close as
 *     it says.
 */
#ifndef BOWLINE_ASYNC_H
#define BOWLINE_ASYNC_H

#include <bowline/bowline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An acquire, extend, downgrade, upgrade, yield, release, who or holders under way. */
typedef struct bowline_operation bowline_operation;

/* ---- start and finish ------------------------------------------------------------------------ */

/* As bowline_acquire, returning at once: USAGE, NOMEM, SYSTEM, FORKED.  Free with
 * bowline_acquire_finish.  Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_acquire_start(bowline_operation **ret_op,
                                                         bowline_client *client, const char *name,
                                                         const bowline_acquire_options *options,
                                                         bowline_error                 *reterr);

/* As bowline_acquire_all, returning at once: USAGE, NOMEM, SYSTEM, FORKED.  bowline_cancel releases
 * what it has so far.  Free with bowline_acquire_all_finish.  Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int
bowline_acquire_all_start(bowline_operation **ret_op, bowline_client *client,
                          const char *const names[], size_t count,
                          const bowline_acquire_options *options, bowline_error *reterr);

/* As bowline_extend, returning at once.  A second one on the same hold is USAGE until the first has
 * been finished.  Free with bowline_finish.  One thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_extend_start(bowline_operation **ret_op,
                                                        bowline_hold *hold, uint32_t lease_ms,
                                                        bowline_error *reterr);

/* As bowline_downgrade and bowline_upgrade, returning at once: USAGE, UNSUPPORTED, UNKNOWN, NOMEM,
 * FORKED.  bowline_cancel ends the operation and not the change: it goes on, and bowline_hold_mode
 * has its result.  Free with bowline_finish.  One thread. */
BOWLINE_API BOWLINE_MUST_CHECK int
bowline_downgrade_start(bowline_operation **ret_op, bowline_hold *hold, bowline_error *reterr);
BOWLINE_API BOWLINE_MUST_CHECK int bowline_upgrade_start(bowline_operation **ret_op,
                                                         bowline_hold *hold, bowline_error *reterr);

/* As bowline_release, returning at once.  From here on the hold belongs to the operation and must
 * not be used, unless this fails with NOMEM or FORKED.  Free with bowline_finish.  One thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_release_start(bowline_operation **ret_op,
                                                         bowline_hold *hold, bowline_error *reterr);

/* As bowline_yield, returning at once; here NOMEM changes nothing.  The hold owns the lock again
 * when bowline_finish returns OK, and is over when it returns anything else.  Meanwhile
 * bowline_hold_lost_fd is not readable.  bowline_cancel ends the operation and the hold.  Free with
 * bowline_finish.  One thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_yield_start(bowline_operation **ret_op,
                                                       bowline_hold *hold, int64_t wait_ms,
                                                       bowline_error *reterr);

/* As bowline_who, returning at once: USAGE, NOMEM, SYSTEM, FORKED.  Free with bowline_who_finish.
 * Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_who_start(bowline_operation **ret_op,
                                                     bowline_client *client, const char *name,
                                                     bowline_error *reterr);

/* As bowline_holders, returning at once: USAGE, NOMEM, SYSTEM, FORKED.  Free with
 * bowline_holders_finish.  Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_holders_start(bowline_operation **ret_op,
                                                         bowline_client *client, const char *name,
                                                         bowline_error *reterr);

/* 1: the operation has ended, and finish does not block; 0: not yet.  Any thread. */
BOWLINE_API int bowline_operation_done(bowline_operation *op);

/* Whether an acquire or yield in flight has reached the store.  UNREACHABLE: at least one attempt
 * has ended, and none has reached it; the text says why the last one failed.  More attempts follow
 * until the wait is over: bowline_cancel ends it earlier.  OK: the store has answered, or no
 * attempt has ended yet, or the operation has ended, or is another one, or waits behind another
 * thread of this client.  USAGE, FORKED.  Sends nothing and never blocks.  Any thread. */
BOWLINE_API int bowline_operation_check(bowline_operation *op, bowline_error *reterr);

/* Waits for the end for wait_ms, running the event loop of the client (0: dispatches what is
 * ready).  OK: it has ended.  TIMEOUT: not yet.  USAGE, SYSTEM, FORKED.  Any thread. */
BOWLINE_API int bowline_operation_wait(bowline_operation *op, int64_t wait_ms,
                                       bowline_error *reterr);

/* Ends an acquire, yield, extend, downgrade, upgrade, who or holders soon, with CANCELLED unless it
 * has ended before.  No effect on a release.  Do not call it after finish.  Any thread. */
BOWLINE_API void bowline_cancel(bowline_operation *op);

/* Waits for the end if necessary, writes the hold on OK, and frees the operation.  Statuses of
 * bowline_acquire, and CANCELLED; USAGE: not an acquire.  One thread. */
BOWLINE_API BOWLINE_MUST_CHECK int
bowline_acquire_finish(bowline_hold **ret_hold, bowline_operation *op, bowline_error *reterr);

/* The same for bowline_acquire_all_start: on OK writes as many holds as it had names.  One
 * thread. */
BOWLINE_API BOWLINE_MUST_CHECK int
bowline_acquire_all_finish(bowline_hold *ret_holds[], bowline_operation *op, bowline_error *reterr);

/* The same for extend, downgrade, upgrade, yield and release.  Their statuses, and CANCELLED.  One
 * thread. */
BOWLINE_API int bowline_finish(bowline_operation *op, bowline_error *reterr);

/* The same for who.  Statuses of bowline_who, and CANCELLED.  thread: and file: query now; the
 * other engines have queried at some time since the start.  One thread. */
BOWLINE_API int bowline_who_finish(bowline_holder *ret_holder, bowline_operation *op,
                                   bowline_error *reterr);

/* The same for all holders: returns how many there are, as bowline_holders, or CANCELLED.  After
 * USAGE the operation is as before; otherwise it is freed.  One thread. */
BOWLINE_API int bowline_holders_finish(bowline_holder ret[], size_t max, bowline_operation *op,
                                       bowline_error *reterr);

/* ---- on an event loop ------------------------------------------------------------------------ */

/* A descriptor that becomes readable when bowline_dispatch has something to do, also when a timer
 * is due.  It may be readable with nothing to do.  It is an epoll descriptor, which poll, select
 * and epoll accept.  Poll it; do not read or close it.  Below 0: a status (SYSTEM, NOMEM, FORKED).
 * Any thread. */
BOWLINE_API int bowline_fd(bowline_client *client);

/* How long until the next timer is due, in milliseconds: for loops that do not poll the descriptor.
 * 0: dispatch now; BOWLINE_FOREVER: there is no timer.  Ask after every dispatch and after every
 * call that started or finished something.  Any thread. */
BOWLINE_API int64_t bowline_timeout_ms(bowline_client *client);

/* Does what is due, waiting for it for at most wait_ms.  OK, USAGE, SYSTEM, FORKED.  Returns at
 * once if another thread runs the event loop of the client.  Any thread. */
BOWLINE_API int bowline_dispatch(bowline_client *client, int64_t wait_ms, bowline_error *reterr);

/* The read end of a pipe, in place of bowline_fd, for loops that poll only pipes and sockets
 * (Node.js).  It becomes readable with bowline_fd, and stays so until bowline_dispatch empties it.
 * You may read it, the bytes mean nothing; do not close it.  The first call starts a thread of the
 * library that writes to the pipe: it sleeps in poll, dispatches nothing, calls nothing of yours,
 * blocks all signals, and ends in bowline_close.  Below 0: a status (USAGE, SYSTEM, NOMEM, FORKED).
 * Any thread. */
BOWLINE_API int bowline_wakeup_fd(bowline_client *client, bowline_error *reterr);

/* ---- events ---------------------------------------------------------------------------------- */

enum {
    BOWLINE_EVENT_ENDED       = 1, /* an operation has ended: finish it                       */
    BOWLINE_EVENT_LOST        = 2, /* a hold is lost: stop the work, then release it          */
    BOWLINE_EVENT_NOT_RENEWED = 3, /* a renewal has failed, the hold is still ours: see
                                      bowline_hold_check                                      */
};

typedef struct bowline_event {
    size_t             size;      /* set by the caller: sizeof(bowline_event)                 */
    int32_t            kind;      /* BOWLINE_EVENT_...; ignore an unknown one                 */
    int32_t            reserved;  /* 0                                                        */
    bowline_operation *operation; /* NULL: the event is about a hold                          */
    bowline_hold      *hold;      /* NULL: the event is about an operation                    */
    void              *data;      /* that of the operation or hold, see below                 */
} bowline_event;

/* Takes the next event.  1: written; 0: there is no more; below 0: USAGE, FORKED.  Never blocks.
 * Take all events after each dispatch: only later ones make the descriptors readable again.  From
 * the first call on, every event does, also that of an operation that ends in its start.
 * No event is dropped: it is a mark on its object and needs no room in a queue.  ENDED and LOST
 * come once for an object.  NOT_RENEWED comes each time that renewals begin to fail, unless they
 * succeed again, or the hold is lost, before it is taken.  There is no event about an object that
 * has been finished or released, nor about an operation that a blocking call waits for.  Any
 * thread. */
BOWLINE_API int bowline_next_event(bowline_client *client, bowline_event *ret_event,
                                   bowline_error *reterr);

/* A pointer of the caller, at first NULL, which the library returns and does not use.  A hold
 * begins with that of the operation that acquired it; an extend, yield or release begins with that
 * of its hold.  Any thread, while the object exists. */
BOWLINE_API void  bowline_operation_set_data(bowline_operation *op, void *data);
BOWLINE_API void *bowline_operation_data(const bowline_operation *op);
BOWLINE_API void  bowline_hold_set_data(bowline_hold *hold, void *data);
BOWLINE_API void *bowline_hold_data(const bowline_hold *hold);

/* A descriptor that becomes readable, and stays so, when the hold is lost: as soon as that is
 * known, and at the latest when bowline_hold_left_ms is 0, also if no thread dispatches (it is a
 * timerfd).  Poll it; do not read or close it.  A release of the hold, also bowline_release_start,
 * and bowline_close close it: remove it from your loop before.  Every call returns the same
 * descriptor.  Below 0: a status (USAGE, SYSTEM, NOMEM, FORKED).  One thread. */
BOWLINE_API int bowline_hold_lost_fd(bowline_hold *hold, bowline_error *reterr);

#ifdef __cplusplus
}
#endif

#endif
