/*
 * update.h -- changes the value of a Redis key without a lock: read it, compute, and write only if
 * no client has changed it meanwhile; otherwise try again.  This is the optimistic locking of
 * Redis, WATCH with MULTI and EXEC (redis.io/docs/latest/develop/using-commands/transactions).
 *
 *      static int add_one(bowline_change *change, void *context)
 *      {
 *          char     *text  = context;
 *          long long count = change->old_value != NULL ? atoll(change->old_value) : 0;
 *
 *          change->value_size = (size_t)sprintf(text, "%lld", count + 1);
 *          change->value      = text;
 *          return BOWLINE_UPDATE_WRITE;
 *      }
 *      ...
 *      char text[24];
 *      status = bowline_update(client, "visits", add_one, text, NULL, &error);
 *
 * Read this first.
 *
 *   - The key is the Redis key itself, byte for byte, in the database of the URL.  It is data of
 *     yours and not the name of a lock: no template, prefix or profile applies.
 *   - The function is called again after every conflict, so it must only compute.  Anything it
 *     sends, prints or counts happens once for each try, and the update may fail in the end.
 *   - UNKNOWN: the write may have been executed, or may be later.  The library does not try it
 *     again, because a counter would count twice.
 *   - An update is safe from every other write of any program.  A program that reads the key and
 *     writes it later with SET is not safe from the update.
 *   - With many writers of one key most tries are wasted.  docs/how-to/update.md says when a
 *     lock, or one command such as INCR, is better.
 *
 * Each update under way has a connection of its own, up to sixteen in one client; they are kept for
 * later updates.  A seventeenth update waits until another has ended.
 */
#ifndef BOWLINE_UPDATE_H
#define BOWLINE_UPDATE_H

#include <bowline/bowline.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BOWLINE_KEY_MAX   = 1024,  /* bytes in a key; no NUL inside                                */
    BOWLINE_VALUE_MAX = 65536, /* bytes in a value, read or written                            */
    BOWLINE_TRIES     = 16,    /* if neither tries_max nor wait_ms is set                      */
};

/* What the function returns.  A number below 0 stops the update. */
enum {
    BOWLINE_UPDATE_LEAVE  = 0, /* leave the key as it is                                       */
    BOWLINE_UPDATE_WRITE  = 1, /* write `value`                                                */
    BOWLINE_UPDATE_DELETE = 2, /* delete the key, if it exists                                 */
};

/* What the function receives, and what it fills in. */
typedef struct bowline_change {
    size_t      size;      /* set by the library: its sizeof(bowline_change)                   */
    const char *old_value; /* NULL: the key does not exist.  Lives until the function returns;
                              followed by a NUL, which old_size does not count                 */
    size_t      old_size;
    uint32_t    tries;    /* the number of this try: 1, 2, ...                                 */
    uint32_t    reserved; /* 0                                                                 */

    /* For WRITE: memory of the caller, unchanged until the function is called again or
     * bowline_update returns.  NULL only with size 0. */
    const char *value;
    size_t      value_size; /* 0 .. BOWLINE_VALUE_MAX */

    /* For WRITE: when the key expires.  0: keeps the expiry that it has; BOWLINE_FOREVER: never;
     * 1 .. BOWLINE_WAIT_MAX_MS: so long after the write. */
    int64_t lasts_ms;
} bowline_change;

/* Computes the new value from the old one, and from nothing else.  Called in the thread of
 * bowline_update between reading and writing, without a mutex of the library, so it may take its
 * time.  It may call any function except bowline_update on the same client.  It must return: no
 * longjmp, no exception. */
typedef int (*bowline_compute)(bowline_change *change, void *context);

typedef struct bowline_update_options {
    size_t    size;          /* set by BOWLINE_UPDATE                                          */
    int64_t   wait_ms;       /* no try begins later than this after the call; 0: one try;
                                BOWLINE_DEFAULT: as tries_max says (wait= of the URL is about
                                locks).  BOWLINE_UPDATE: BOWLINE_DEFAULT                       */
    uint32_t  tries_max;     /* 0: BOWLINE_TRIES if wait_ms is BOWLINE_DEFAULT, else no limit  */
    uint32_t  reserved;      /* 0                                                              */
    uint32_t *ret_conflicts; /* NULL, or receives the number of conflicts, whatever the status */
} bowline_update_options;

/* clang-format off */
#define BOWLINE_UPDATE_INIT { sizeof(bowline_update_options), BOWLINE_DEFAULT, 0, 0, NULL }
#define BOWLINE_UPDATE(...) \
    BOWLINE_WITH_DEFAULTS(bowline_update_options, .wait_ms = BOWLINE_DEFAULT, __VA_ARGS__)
/* clang-format on */

/* Reads the key under WATCH, calls the function, and writes with MULTI and EXEC, which have no
 * effect if the key was written, deleted, expired or given another expiry meanwhile.  That is a
 * conflict, and there is another try: the first at once, the others after a random pause of 5 to
 * 100 ms.
 *
 * OK: written, deleted or left, as the function returned.
 * BUSY: a conflict at each of tries_max tries.  TIMEOUT: conflicts for all of wait_ms, or sixteen
 * other updates were under way for all of it.
 * UNKNOWN: the write was sent and no reply came.  Read the key.
 * CANCELLED: the function returned a number below 0.
 * UNREACHABLE: no server, or the connection broke more than once.
 * REFUSED: the server answers with an error (a user without permission for WATCH, GET, MULTI, EXEC,
 * DISCARD, SET or DEL; a replica; no memory), or the key is not a string.
 * UNSUPPORTED: thread: and file:, which have no keys; redis+cluster:// and redlock://; a value of
 * more than BOWLINE_VALUE_MAX bytes.
 * USAGE: a wrong argument; the function filled in something wrong or called bowline_update.
 * NOMEM, SYSTEM, FORKED.
 * Nothing is written unless the status is OK or UNKNOWN.
 *
 * Blocks for the tries and then for one reply.  To end it early, let the function return a number
 * below 0; bowline_cancel is for operations.  Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_update(bowline_client *client, const char *key,
                                                  bowline_compute compute, void *context,
                                                  const bowline_update_options *options,
                                                  bowline_error                *reterr);

#ifdef __cplusplus
}
#endif

#endif
