/*
 * stage.h -- what a scenario has to work with, and how it says what must be true.
 */
#ifndef STAGE_H
#define STAGE_H

#include "tests/lib/testing.h"
#include "tests/lib/witness.h"

/* Which statuses a call may end with: 1u << -status. */
#define MAY(status_) (1u << -(status_))

enum {
    MAY_ALWAYS  = MAY(BOWLINE_NOMEM) | MAY(BOWLINE_SYSTEM),
    MAY_REACH   = MAY_ALWAYS | MAY(BOWLINE_REFUSED) | MAY(BOWLINE_UNREACHABLE),
    MAY_OPEN    = MAY_REACH | MAY(BOWLINE_UNSUPPORTED), /* there is no OpenSSL */
    MAY_ASK     = MAY_REACH | MAY(BOWLINE_UNKNOWN),
    MAY_ACQUIRE = MAY_ASK | MAY(BOWLINE_BUSY) | MAY(BOWLINE_TIMEOUT),
    MAY_EXTEND =
        MAY(BOWLINE_UNKNOWN) | MAY(BOWLINE_REFUSED) | MAY(BOWLINE_LOST) | MAY(BOWLINE_UNREACHABLE),
    MAY_RELEASE = MAY_EXTEND | MAY(BOWLINE_NOMEM),
};

typedef struct stage {
    const char *engine; /* "redis" ...                                                      */
    char        url[256];
    char        name[256];
    witness    *witness;
    bool        has_lease;
    int64_t     wait_ms;     /* for the lock                                                     */
    uint32_t    reply_ms;    /* for the server                                                   */
    bool        undisturbed; /* nothing is made to fail: every call succeeds                    */
    bool        may_be_busy; /* somebody else may have the lock                             */
    atomic_int  complaints;
} stage;

typedef struct scenario {
    const char *name;
    void (*play)(stage *s);
    bool leases_only;
    bool paths_only; /* for names that are paths */
} scenario;

extern const scenario scenarios[];
extern const size_t   scenarios_count;

/* Says what is wrong, and remembers that something is. */
__attribute__((format(printf, 2, 3))) void complain(stage *s, const char *format, ...);

/* The status is 0, or one of `may` with a text that says why; returns whether it is 0. */
bool goes(stage *s, const char *call, int status, uint32_t may, const bowline_error *error);

/* Inside of the lock: the witness sees that nobody else is. */
void work_inside(stage *s, bowline_hold *hold);

#endif
