/*
 * caps.h -- what a lock behind a URL gives: order, fence, how one is woken, how a loss is learned
 * of, what a crash costs.
 *
 * It is known from the URL alone, because bowline never changes the protocol behind somebody's
 * back: a server that cannot keep what the protocol gives is refused.  Whether it is such a server
 * is for doctor.h to find out.
 */
#ifndef DOCTOR_CAPS_H
#define DOCTOR_CAPS_H

#include <stdbool.h>
#include <stdint.h>

enum { CAPS_TEXT_MAX = 320 };

/* One row of the table; every text is a constant. */
typedef struct caps_row {
    const char *engine;   /* "thread", "file", "redis", "cluster", "redlock"                   */
    const char *protocol; /* NULL: the engine has only one                                    */
    const char *variant;  /* NULL; "remote", "server": see caps.c                             */
    bool        renews;
    const char *wake;  /* "handed": by who releases; "kernel"; "push": by the server; "poll"    */
    const char *loss;  /* "none": it cannot be; "told": at the next renewal or connection;
                        * "clock": nobody tells, it ends by the holder's own clock              */
    const char *crash; /* "freed": at once; "lease": when that is over; "never"; "process": when
                        * the process ends                                                      */
    const char *excludes_words;
    const char *order_words; /* NULL: it keeps no order                                        */
    const char *fence_words; /* NULL: it gives no fence                                        */
    const char *wake_words;
    const char *loss_words;
    const char *crash_words;
} caps_row;

typedef struct caps {
    const caps_row *row;
    char            place[CAPS_TEXT_MAX]; /* the URL, without user, password and options        */
    char            profile[48];          /* "": none                                           */
    char            risk[CAPS_TEXT_MAX];  /* what is wrong, and was accepted; "": nothing known */
    bool            is_default;           /* nobody has named the protocol                      */
    bool            renews;               /* the row's, unless the URL says renew=off           */
    int64_t         lease_ms;             /* 0: there is none                                   */
    int64_t         wait_ms;   /* of whoever does not say: 0: one try; INT64_MAX: for ever        */
    unsigned        tries_max; /* 0: as many as the wait has time for                */
    unsigned        replicas;  /* that must have it before it counts                 */
} caps;

/* lease_ms as in bowline_options.  Below 0: such a URL cannot be opened, and ret_why says why in a
 * sentence without a secret. */
int caps_find(caps *ret_caps, const char *url, uint32_t lease_ms, char ret_why[CAPS_TEXT_MAX]);

#endif
