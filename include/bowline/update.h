/*
 * update.h -- changing the value of a Redis key without a lock: read it, compute, write it only if
 * nobody has touched it meanwhile; else again.  Redis calls this WATCH; it locks out nobody.
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
 * CAVEATS, before anything else.
 *
 *   - The key is the key of Redis itself, byte for byte, in the database of the URL.  It is your
 *     data, not the name of a lock: no template, no prefix, no profile is applied to it.
 *   - The function is called again after every conflict, so it must do nothing but compute: what it
 *     sends, prints or counts happens once for each try, and the update may fail in the end.
 *   - UNKNOWN means what it says: the write may have been carried out, or may be still.  It is
 *     never tried again behind your back, as a counter would count twice.
 *   - Who is safe from whom?  An update from every other write, of whatever program.  A program
 *     that reads the key and writes it with SET afterwards is not safe from the update.
 *   - With many writers on one key most of the work is done in vain.  docs/update.md says when a
 *     lock, and when a single command such as INCR, is the better choice.
 *
 * Each update that is under way has a connection of its own, up to sixteen for one client; they are
 * kept for the next ones.  A seventeenth update waits for the end of another.
 */
#ifndef BOWLINE_UPDATE_H
#define BOWLINE_UPDATE_H

#include <bowline/bowline.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BOWLINE_KEY_MAX   = 1024,  /* bytes in a key, which has no NUL inside                      */
    BOWLINE_VALUE_MAX = 65536, /* bytes in a value, read or written                            */
    BOWLINE_TRIES     = 16,    /* if neither tries_max nor wait_ms is set                      */
};

/* What the function wants: its result.  Below 0: to stop. */
enum {
    BOWLINE_UPDATE_LEAVE  = 0, /* the key as it is                                             */
    BOWLINE_UPDATE_WRITE  = 1, /* value to it                                                  */
    BOWLINE_UPDATE_DELETE = 2, /* no key, whether there is one or not                          */
};

/* What the function is given, and what it fills in. */
typedef struct bowline_change {
    size_t      size;      /* set by the library: sizeof(bowline_change) as it knows it          */
    const char *old_value; /* NULL: there is no such key.  Lives until the function returns; a NUL
                              stands behind it, which old_size does not count                    */
    size_t      old_size;
    uint32_t    tries;    /* this is try 1, 2, ...                                                */
    uint32_t    reserved; /* 0 */

    /* WRITE: yours, and must stay as it is until the function is called again, or bowline_update
     * has returned.  NULL only with size 0. */
    const char *value;
    size_t      value_size; /* 0 .. BOWLINE_VALUE_MAX */

    /* WRITE: when the key ends.  0: when it would have ended anyway, or never.  BOWLINE_FOREVER:
     * never.  1 .. BOWLINE_WAIT_MAX_MS: that long after the write. */
    int64_t lasts_ms;
} bowline_change;

/* Computes what is to become of the key, from the old value and nothing else.  Called in the thread
 * of bowline_update, with no lock of the library held, between reading and writing: it may take its
 * time and call any function but bowline_update on the same client.  It must return (no longjmp, no
 * exception). */
typedef int (*bowline_compute)(bowline_change *change, void *context);

typedef struct bowline_update_options {
    size_t    size;      /* set by BOWLINE_UPDATE                                                */
    int64_t   wait_ms;   /* no try begins later than this after the call; 0: one try;
                            BOWLINE_DEFAULT, set by the macro: as tries_max says; wait= of the
                            URL is about locks and not about updates                           */
    uint32_t  tries_max; /* 0: BOWLINE_TRIES if wait_ms is BOWLINE_DEFAULT, else no limit        */
    uint32_t  reserved;  /* 0 */
    uint32_t *ret_conflicts; /* NULL, or where to write how often somebody came between: whatever
                                bowline_update returns                                           */
} bowline_update_options;

/* clang-format off */
#define BOWLINE_UPDATE_INIT { sizeof(bowline_update_options), BOWLINE_DEFAULT, 0, 0, NULL }
#define BOWLINE_UPDATE(...) \
    BOWLINE_WITH_DEFAULTS(bowline_update_options, .wait_ms = BOWLINE_DEFAULT, __VA_ARGS__)
/* clang-format on */

/* Reads the key under WATCH, calls the function, and writes what that wants with MULTI and EXEC,
 * which do nothing if the key was touched: written, deleted, expired, given another expiry.  That
 * is a conflict, and there is another try: the first at once, those behind it after 5 to 100 ms,
 * part of which is left to chance.
 *
 * OK: written or deleted, or left as it is, as the function wanted.
 * BUSY: a conflict at each of tries_max tries.  TIMEOUT: conflicts until wait_ms was over, or
 * sixteen others were under way all that time.  The text says how many.
 * UNKNOWN: the write was sent, and its answer did not come: it may or may not have been carried
 * out, or may be soon.  Look at the key.
 * CANCELLED: the function has returned a number below 0.
 * UNREACHABLE: no server, or the connection broke more than once.
 * REFUSED: the server answers with an error (a user who may not WATCH, GET, MULTI, EXEC, DISCARD,
 * SET, DEL; a replica; no memory); or the key is no string.
 * UNSUPPORTED: thread: and file:, which have no keys; redis+cluster:// and redlock://; the value is
 * longer than BOWLINE_VALUE_MAX.
 * USAGE: a bad argument; the function has filled in something bad, or called this on the same
 * client.
 * NOMEM, SYSTEM, FORKED.
 * Nothing is written unless it is OK, or UNKNOWN.
 *
 * Blocks for the tries, and for one answer of the server on top.  What ends it from outside is the
 * function's result: bowline_cancel is for operations that were started.  The function is called in
 * the thread that calls this.  Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_update(bowline_client *client, const char *key,
                                                  bowline_compute compute, void *context,
                                                  const bowline_update_options *options,
                                                  bowline_error                *reterr);

#ifdef __cplusplus
}
#endif

#endif
