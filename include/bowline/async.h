/*
 * async.h -- the same verbs, started now and finished later; and one client on any event loop.
 *
 * Every blocking call of bowline.h is one of these started and finished at once.
 *
 *      bowline_operation *op;
 *      bowline_acquire_start(&op, client, "nightly", BOWLINE_ACQUIRE(.wait_ms = 5000), NULL);
 *      ... poll bowline_fd(client) for reading, at most bowline_timeout_ms(client), then
 *          bowline_dispatch(client, 0), until bowline_operation_done(op) ...
 *      status = bowline_acquire_finish(&hold, op, &error);
 *
 * Rules.
 *   - An operation ends exactly once, and is freed by its finish, which takes the result (not when
 *     that answers USAGE or FORKED: then it is as it was).  It may have ended when its start
 *     returns.
 *   - Nothing calls back.  What has happened is asked for, after dispatching.
 *   - bowline_cancel may come from any thread while another waits.  An operation that has already
 *     ended keeps its result: after cancelling, finish says whether the lock was won or not.
 *   - Ask bowline_timeout_ms after every call that started or finished something, and after every
 *     dispatch.  When another thread ends an operation, or sets an earlier timer, the descriptor
 *     becomes readable.
 *   - From the first call of these on, a client takes new locks over one connection, the one behind
 *     bowline_fd; blocking calls of several threads may otherwise open up to four (redis://).
 *   - A hold is renewed by whoever dispatches, and by the keeper thread (bowline_options.keeper)
 *     when nobody does.
 */
#ifndef BOWLINE_ASYNC_H
#define BOWLINE_ASYNC_H

#include <bowline/bowline.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bowline_operation bowline_operation; /* an acquire, extend or release under way */

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

/* 1: it has ended, finish will not block.  Any thread. */
BOWLINE_API int bowline_operation_done(bowline_operation *op);

/* Waits for the end, driving the client meanwhile, for wait_ms (0: only dispatches what is ready;
 * BOWLINE_FOREVER).  OK: it has ended.  TIMEOUT: not yet.  SYSTEM, FORKED.  Any thread. */
BOWLINE_API int bowline_operation_wait(bowline_operation *op, int64_t wait_ms,
                                       bowline_error *reterr);

/* Ends an acquire or an extend soon, with CANCELLED unless it was won already.  A release cannot be
 * called back.  The operation must not have been finished.  Any thread. */
BOWLINE_API void bowline_cancel(bowline_operation *op);

/* Waits for the end if need be, writes the hold if it is OK, frees the operation whatever it
 * returns.  Statuses as bowline_acquire, and CANCELLED.  One thread. */
BOWLINE_API BOWLINE_MUST_CHECK int
bowline_acquire_finish(bowline_hold **ret_hold, bowline_operation *op, bowline_error *reterr);

/* The same for extend and release.  Statuses as theirs, and CANCELLED.  One thread. */
BOWLINE_API int bowline_finish(bowline_operation *op, bowline_error *reterr);

/* Becomes readable when bowline_dispatch has something to do.  Poll it, do not read it: an epoll
 * descriptor, which poll, select and epoll accept.  Below 0: a status.  Any thread. */
BOWLINE_API int bowline_fd(bowline_client *client);

/* How long the client may be left alone: 0 now, BOWLINE_FOREVER no timer.  Any thread. */
BOWLINE_API int64_t bowline_timeout_ms(bowline_client *client);

/* Does what is due, waiting for something to do for at most wait_ms (0: not at all).  OK, SYSTEM,
 * FORKED.  Any thread; when another thread is driving the client already it has nothing to do. */
BOWLINE_API int bowline_dispatch(bowline_client *client, int64_t wait_ms, bowline_error *reterr);

#ifdef __cplusplus
}
#endif

#endif
