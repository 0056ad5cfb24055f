/*
 * error.h -- how a call ends: a status to decide on, and an error to show or to log.
 *
 * bowline.h includes this header.  The library uses the same two types inside, so the error of a
 * failing call is written where the failure is found and is never copied or translated.
 */
#ifndef BOWLINE_ERROR_H
#define BOWLINE_ERROR_H

#include <stdint.h>

/* Each status needs a different reaction of the caller.  Numbers are never reused; treat an
 * unknown negative number as a failure. */
typedef enum bowline_status {
    BOWLINE_OK          = 0,
    BOWLINE_BUSY        = -1,  /* another client holds the lock                                */
    BOWLINE_TIMEOUT     = -2,  /* the wait is over, and another client still holds the lock    */
    BOWLINE_LOST        = -3,  /* the hold has ended without a release: stop the work          */
    BOWLINE_UNKNOWN     = -4,  /* no answer: the server may or may not have done it            */
    BOWLINE_CANCELLED   = -5,  /* ended by bowline_cancel                                      */
    BOWLINE_UNREACHABLE = -6,  /* the server cannot be reached; nothing was done               */
    BOWLINE_REFUSED     = -7,  /* the server or the system refused; nothing was done           */
    BOWLINE_USAGE       = -8,  /* a wrong argument or a wrong order of calls                   */
    BOWLINE_UNSUPPORTED = -9,  /* this engine, protocol or build cannot do it                  */
    BOWLINE_NOMEM       = -10, /* out of memory                                                */
    BOWLINE_SYSTEM      = -11, /* a system call failed                                         */
    BOWLINE_FORKED      = -12, /* the client was opened before fork and is used in the child   */
    BOWLINE_DONE        = -13, /* somebody has held the lock within once_ms: nothing to do     */
} bowline_status;

enum {
    BOWLINE_SERVER_CODE_MAX = 20,  /* bytes, with the NUL */
    BOWLINE_ERROR_TEXT_MAX  = 240, /* bytes, with the NUL */
};

/* Of LOST: what the server had when it was asked for the lock. */
typedef enum bowline_loss {
    BOWLINE_LOSS_UNKNOWN = 0, /* it was not asked, or does not tell: the lease has ended, the server
                                 was restarted, a command renewed several locks, several servers
                                 vote, or the engine or protocol has no such answer             */
    BOWLINE_LOSS_GONE    = 1, /* no lock: it expired, or was deleted                            */
    BOWLINE_LOSS_TAKEN   = 2, /* another client's                                               */
} bowline_loss;

/* The error of a failed call.  Decide on the status; the rest is for logs and
 * people.  It never contains a password or a token. */
typedef struct bowline_error {
    int32_t status;                               /* a bowline_status                          */
    int32_t system_errno;                         /* errno of the system call that failed; 0:
                                                     the cause is not a system call            */
    char    server_code[BOWLINE_SERVER_CODE_MAX]; /* first word of the server's error reply,
                                                     "NOPERM" for example; "": no such reply   */
    char    text[BOWLINE_ERROR_TEXT_MAX];         /* one sentence; ends in NUL                 */
    int32_t loss;                                 /* of LOST: a bowline_loss; else 0           */
} bowline_error;

#endif
