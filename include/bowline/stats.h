/*
 * stats.h -- what a client has done, in numbers: for a metrics page or a log.
 *
 *      bowline_stats stats = BOWLINE_STATS_INIT;
 *
 *      if (bowline_client_stats(client, &stats, &error) == BOWLINE_OK)
 *          printf("%llu locks were lost\n", (unsigned long long)stats.lost);
 */
#ifndef BOWLINE_STATS_H
#define BOWLINE_STATS_H

#include <bowline/bowline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers since bowline_open.  No number ever falls.  Without bowline_update, bowline_who and the
 * like, and without the connections to sentinels.  A yield is a release and an acquire.  The
 * numbers of one connection are of one moment: acquired is at least released + lost + not_released,
 * and the difference is the number of holds. */
typedef struct bowline_stats {
    size_t   size;            /* set by the caller: sizeof(bowline_stats)                         */
    uint64_t acquired;        /* acquires that returned a hold                                    */
    uint64_t not_acquired;    /* acquires that ended with BUSY or TIMEOUT                         */
    uint64_t released;        /* holds that were released                                         */
    uint64_t lost;            /* holds that ended without a release                               */
    uint64_t not_released;    /* holds whose release failed or is unknown: they end with a lease  */
    uint64_t renewals;        /* extensions of a lease, also by bowline_extend                    */
    uint64_t renewals_late;   /* of these: when the reply came, less than a third of the lease was
                                 left.  In time, two thirds are left                              */
    uint64_t renewals_failed; /* extensions that failed while the hold went on                    */
    uint64_t connections;     /* connections that were made, with their handshake                 */
    int64_t  waited_ms;       /* from the start of an acquire to its hold, in total               */
    int64_t  waited_max_ms;   /* the longest of these waits                                       */
    int64_t  held_ms;         /* from the acquire to the end, in total; of holds that have ended.
                                 thread: does not read the clock for it, so this is too little    */
} bowline_stats;

/* clang-format off */
#define BOWLINE_STATS_INIT { sizeof(bowline_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/* clang-format on */

/* Reads the numbers of a client.  Sends nothing and waits for no reply.  USAGE: also for another
 * size; FORKED.  Any thread. */
BOWLINE_API int bowline_client_stats(bowline_client *client, bowline_stats *ret_stats,
                                     bowline_error *reterr);

#ifdef __cplusplus
}
#endif

#endif
