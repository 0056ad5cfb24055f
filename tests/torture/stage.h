/*
 * stage.h -- the context of a scenario, and its checks.
 */
#pragma once

#include "tests/lib/testing.h"

/* The allowed statuses of a call: 1u << -status. */
#define MAY(status_) (1u << -(status_))

enum {
    MAY_ALWAYS  = MAY(BOWLINE_NOMEM) | MAY(BOWLINE_SYSTEM),
    MAY_REACH   = MAY_ALWAYS | MAY(BOWLINE_REFUSED) | MAY(BOWLINE_UNREACHABLE),
    MAY_OPEN    = MAY_REACH | MAY(BOWLINE_UNSUPPORTED), /* without OpenSSL */
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
    atomic_uint inside; /* the holders */
    bool        has_lease;
    int64_t     wait_ms;     /* for the lock */
    uint32_t    reply_ms;    /* for the server                                                   */
    bool        no_faults;   /* no call is made to fail: each operation must succeed */
    bool        may_be_busy; /* another holder is possible */
    atomic_int  failures_count;
} stage;

typedef struct scenario {
    const char *name;
    void (*run_scenario)(stage *s);
    bool leases_only;
    bool paths_only; /* only for names that are paths */
} scenario;

extern const scenario scenarios[];
extern const size_t   scenarios_count;

/* Prints a failed check, and counts it. */
__attribute__((format(printf, 2, 3))) void report_failure(stage *s, const char *format, ...);

/* Checks that the status is 0, or one of `may` with an error text; returns whether it is 0. Clears
 * the error for the next call. */
bool check_status(stage *s, const char *call, int status, uint32_t may, bowline_error *error);

/* Checks that no other holder is inside. */
void visit_lock(stage *s, bowline_hold *hold);
