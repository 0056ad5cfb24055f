/*
 * testing.h -- what every test of the whole library says the same way: cmocka, the public headers,
 * and clients and holds that must come about.
 */
#ifndef TESTING_H
#define TESTING_H

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

/* The statuses are the same.  Says both by name, and the text, when they are not. */
#define assert_status(expected, actual, error) \
    assert_status_at((expected), (actual), (error), __FILE__, __LINE__)

/* A client that must come about, and a lock that must be free.  (A machine that stands still for
 * longer than a time-out is outlasted; somebody who has it is not.) */
#define must_open(url)                must_open_at((url), 0, __FILE__, __LINE__)
#define must_open_without_keeper(url) must_open_at((url), BOWLINE_NO_THREAD, __FILE__, __LINE__)
#define must_open_url(...)            must_open_url_at(__FILE__, __LINE__, __VA_ARGS__)
#define must_acquire(client, name)    must_acquire_at((client), (name), __FILE__, __LINE__)
#define must_release(hold)            must_release_at((hold), __FILE__, __LINE__)

/* Takes it and gives it back, where the lease may be so short that it ends meanwhile. */
#define must_be_free(client, name) must_be_free_at((client), (name), __FILE__, __LINE__)

/* Waits for it, twenty seconds at a time; gives back what may have ended already. */
#define acquire_in_the_end(ret_hold, client, name) \
    acquire_in_the_end_at((ret_hold), (client), (name), __FILE__, __LINE__)
#define give_back_or_lose(hold) give_back_or_lose_at((hold), __FILE__, __LINE__)

void assert_status_at(int expected, int actual, const bowline_error *error, const char *file,
                      int line);
bowline_client *must_open_at(const char *url, uint32_t flags, const char *file, int line);
__attribute__((format(printf, 3, 4))) bowline_client *must_open_url_at(const char *file, int line,
                                                                       const char *format, ...);
bowline_hold *must_acquire_at(bowline_client *client, const char *name, const char *file, int line);
void          must_release_at(bowline_hold *hold, const char *file, int line);
void          must_be_free_at(bowline_client *client, const char *name, const char *file, int line);

void acquire_in_the_end_at(bowline_hold **ret_hold, bowline_client *client, const char *name,
                           const char *file, int line);
void give_back_or_lose_at(bowline_hold *hold, const char *file, int line);

/* Nobody has it: but the answer came later than a short lease, or a short time-out, allows. */
bool came_too_late(int status, const bowline_error *error);

/* Tries once; gives back at once what it has won. */
int try_once(bowline_client *client, const char *name);

/* As BOWLINE_ACQUIRE, for callers that have nothing but the wait to say. */
int acquire_within(bowline_hold **ret_hold, bowline_client *client, const char *name,
                   int64_t wait_ms, bowline_error *reterr);

/* A thread that acquires, and then keeps what it has won. */
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

/* When it returns, the thread is about to ask. */
void waiter_start(waiter *w, bowline_client *client, const char *name, int64_t wait_ms);
int  waiter_join(waiter *w); /* its status */

/* Does it end within ten seconds?  (It stays to be joined.) */
bool waiter_ends(waiter *w);

/* Milliseconds on the clock that the library uses. */
int64_t clock_ms(void);
void    sleep_ms(int64_t ms);

/* A connection that was silent for so long is looked at before it is used. */
enum { IDLE_MS = 10 };

/* Which bytes of a conversation have their turn: first, first + step, ... */
typedef struct byte_steps {
    int64_t first;
    int64_t step;
} byte_steps;

/* Every `step`th one, from a random first one on, which is told; all if BOWLINE_THOROUGH=1. */
byte_steps some_bytes(int64_t step);

/* How many descriptors, and threads, this process has. */
unsigned count_descriptors(void);
unsigned count_threads(void);
bool     descriptor_closes_on_exec(int fd);

/* Carries out `body` in a child, which then ends; what body returned, or 128 and the signal.  The
 * child must not use cmocka: it reports by the number. */
int in_child(int (*body)(void *arg), void *arg);

/* In a child: false is said on stderr and remembered. */
void child_expects(int *failed, bool holds, const char *what);

#endif
