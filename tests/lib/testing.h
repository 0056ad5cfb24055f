/*
 * testing.h -- shared by the tests of the whole library: cmocka, the public headers, and clients
 * and holds that the test needs.
 */
#pragma once

#include <bowline/async.h>
#include <bowline/bowline.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Skips the test.  The line before its result gives the reason, and tools/count-tests prints it. */
#define skip_because(reason) (print_message("# skipped: %s\n", (reason)), skip())

/* Fails unless the statuses are equal; prints both by name, and the text. */
#define assert_status(expected, actual, error) \
    assert_status_at((expected), (actual), (error), __FILE__, __LINE__)

/* Opens a client; acquires a free lock.  Fails otherwise, but repeats if the machine was stopped
 * for longer than a time-out. */
#define must_open(url) must_open_at((url), 0, __FILE__, __LINE__)
#define must_open_without_renewal_thread(url) \
    must_open_at((url), BOWLINE_NO_THREAD, __FILE__, __LINE__)
#define must_open_url(...)         must_open_url_at(__FILE__, __LINE__, __VA_ARGS__)
#define must_acquire(client, name) must_acquire_at((client), (name), __FILE__, __LINE__)
#define must_acquire_within(client, name, wait_ms) \
    must_acquire_within_at((client), (name), (wait_ms), __FILE__, __LINE__)
#define must_release(hold) must_release_at((hold), __FILE__, __LINE__)

/* Queries the holder of a lock. */
#define must_who(client, name) must_who_at((client), (name), __FILE__, __LINE__)

/* Starts an acquire; finishes it and returns its hold. */
#define must_start(client, name, wait_ms) \
    must_start_at((client), (name), (wait_ms), __FILE__, __LINE__)
#define must_finish(op) must_finish_at((op), __FILE__, __LINE__)

/* Waits, twenty seconds at most, until the hold has ended. */
#define must_end(hold) must_end_at((hold), __FILE__, __LINE__)

/* Waits for it, twenty seconds at a time; releases a hold that may have ended. */
#define acquire_in_the_end(ret_hold, client, name) \
    acquire_in_the_end_at((ret_hold), (client), (name), __FILE__, __LINE__)
#define give_back_or_lose(hold) give_back_or_lose_at((hold), __FILE__, __LINE__)

void assert_status_at(int expected, int actual, const bowline_error *error, const char *file,
                      int line);
bowline_client *must_open_at(const char *url, uint32_t flags, const char *file, int line);
__attribute__((format(printf, 3, 4))) bowline_client *must_open_url_at(const char *file, int line,
                                                                       const char *format, ...);
bowline_hold *must_acquire_at(bowline_client *client, const char *name, const char *file, int line);
bowline_hold *must_acquire_within_at(bowline_client *client, const char *name, int64_t wait_ms,
                                     const char *file, int line);
void          must_release_at(bowline_hold *hold, const char *file, int line);
void          must_end_at(bowline_hold *hold, const char *file, int line);

bowline_holder must_who_at(bowline_client *client, const char *name, const char *file, int line);

bowline_operation *must_start_at(bowline_client *client, const char *name, int64_t wait_ms,
                                 const char *file, int line);
bowline_hold      *must_finish_at(bowline_operation *op, const char *file, int line);

void acquire_in_the_end_at(bowline_hold **ret_hold, bowline_client *client, const char *name,
                           const char *file, int line);
void give_back_or_lose_at(bowline_hold *hold, const char *file, int line);

/* The lock is free, but the reply exceeded a short lease or a short time-out. */
bool came_too_late(int status, const bowline_error *error);

/* Tries once; releases at once. */
int try_once(bowline_client *client, const char *name);

/* As BOWLINE_ACQUIRE with only the wait. */
int acquire_within(bowline_hold **ret_hold, bowline_client *client, const char *name,
                   int64_t wait_ms, bowline_error *reterr);

/* A thread that acquires, and then keeps the hold. */
typedef struct waiter {
    pthread_t       thread;
    bowline_client *client;
    const char     *name;
    int64_t         wait_ms;
    bowline_hold   *hold;
    int             status;
    bowline_error   error;
    atomic_bool     begun;
    atomic_bool     ended;
} waiter;

/* Returns when the thread is about to acquire. */
void waiter_start(waiter *w, bowline_client *client, const char *name, int64_t wait_ms);
int  waiter_join(waiter *w); /* its status */

/* Waits, ten seconds at most, until it is true; its value. */
bool comes_true(const atomic_bool *flag);

/* Whether it ends within ten seconds.  (It must still be joined.) */
#define waiter_ends(w) comes_true(&(w)->ended)

/* Within ten seconds it acquires; joins it and releases its hold. */
#define waiter_must_release(w) waiter_must_release_at((w), __FILE__, __LINE__)
void waiter_must_release_at(waiter *w, const char *file, int line);

/* Milliseconds on the library's clock. */
int64_t clock_ms(void);
void    sleep_ms(int64_t ms);

/* A connection that was silent for so long is checked before it is used. */
enum { IDLE_MS = 10 };

/* The numbers of descriptors and threads of this process. */
unsigned count_descriptors(void);
unsigned count_threads(void);
bool     threads_end(unsigned count); /* within ten seconds: no more than these are left */
bool     descriptor_closes_on_exec(int fd);

/* Runs `body` in a child, which then ends; returns the result of body, or 128 and the signal.  The
 * child must not use cmocka: it reports by the result. */
int in_child(int (*body)(void *arg), void *arg);

/* In a child: prints `what` on stderr and counts it, if `holds` is false. */
void child_expects(int *failed, bool holds, const char *what);

/* Returns true if a hold that must be kept in this round was kept and then released with OK.
 * False: the machine was too slow (the renewal thread, the server or the caller may stop for a
 * lease): repeat the round, twenty times at most. */
#define keeps_in_round(kept, status, round) \
    keeps_in_round_at((kept), (status), (round), __FILE__, __LINE__)
bool keeps_in_round_at(bool kept, int status, int round, const char *file, int line);
