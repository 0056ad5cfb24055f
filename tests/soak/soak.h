/*
 * soak.h -- a long rain of faults on those who share some locks: who takes part, and what they
 * write down.
 *
 * The supervisor (soak.c) starts a server and a cast of processes: programs of the library,
 * commands under `bowline run`, and strangers that know nothing of bowline and say SET NX.  It
 * torments them by a plan that is drawn from a seed (plan.c, torment.c) and keeps a log of what it
 * did.  Everybody writes down in a journal, a file that all map, when he was inside a lock.
 * Afterwards the judge (judge.c) compares; meanwhile the watch (watch.c) looks at the server for a
 * lock that is free while somebody who lives stands in line for it.
 *
 * Members are programs of their own, started by fork and exec: they inherit nothing.
 */
#ifndef SOAK_H
#define SOAK_H

#include "tests/lib/proxy.h"
#include "tests/lib/server.h"
#include "tests/lib/testing.h"

enum {
    SOAK_LOCKS      = 5,
    SOAK_CAST_MAX   = 24,
    SOAK_THREADS    = 2,
    SOAK_QUARTERS   = 4,
    SOAK_VISITS_MAX = 1 << 22,
    SOAK_FAULTS_MAX = 1 << 18,
    SOAK_LEASE_MAX  = 3000,
    SOAK_PATH_MAX   = 48,
};

/* ---- who takes part --------------------------------------------------------------------------
 * */

typedef enum soak_part {
    SOAK_LIBRARY = 1, /* a program of the library, with one thread or two                     */
    SOAK_COMMAND,     /* a command under `bowline run`, again and again                       */
    SOAK_STRANGER,    /* SET NX PX, and a DEL of its own value                                */
} soak_part;

typedef struct soak_lock {
    const char *name;
    const char *protocol; /* NULL: it is a file                                                */
    uint32_t    lease_ms; /* 0: none                                                           */
} soak_lock;

extern const soak_lock soak_locks[SOAK_LOCKS];

/* Of one thread of the library, or of one stranger. */
typedef struct soak_tally {
    atomic_uint holds;
    atomic_uint in_vain; /* BUSY, TIMEOUT                                                      */
    atomic_uint lost;
    atomic_uint unknown; /* UNKNOWN, UNREACHABLE                                               */
    atomic_uint refused; /* by a server that loads, or because it came too late                */
    atomic_uint wrong;   /* a status that cannot be, or a stranger's value that was touched    */
} soak_tally;

typedef struct soak_member {
    soak_part  part;
    unsigned   lock;
    unsigned   threads;
    bool       is_mortal; /* else it is never killed, and its memory is looked at              */
    bool       has_line;  /* it reaches the server through a proxy of its own                  */
    char       url[256];
    soak_tally tallies[SOAK_THREADS];
    /* The least that was in use after a release, in each quarter of the time; 0: none yet. */
    _Atomic uint64_t blocks_bytes[SOAK_QUARTERS];
    _Atomic uint64_t descriptors[SOAK_QUARTERS];
} soak_member;

/* ---- the journal -----------------------------------------------------------------------------
 * */

typedef struct soak_visit {
    soak_part part;
    unsigned  lock;
    unsigned  member;
    pid_t     pid;
    unsigned  met; /* the number of the visit, from 1, that was inside already; 0: nobody was  */
    uint64_t  fence;
    int64_t   entered_us; /* CLOCK_BOOTTIME, as all below                                      */
    int64_t   from_us;    /* when it was first sure of the lock; 0: never                      */
    int64_t   sure_us;    /* when it last asked and was sure                                   */
    int64_t   until_us;   /* until when it was told that it is surely its own                  */
    int64_t   left_us;    /* 0: it never said                                                  */
} soak_visit;

typedef struct soak_journal {
    uint64_t    seed;
    char        socket[96]; /* of the server                                                  */
    char        witnesses[SOAK_LOCKS][SOAK_PATH_MAX];
    atomic_bool ends;
    atomic_uint quarter;
    atomic_uint forgets; /* how often the server has lost what it had acknowledged            */
    atomic_uint inside[SOAK_LOCKS]; /* the number of the visit that has the flock             */
    atomic_uint strays[SOAK_LOCKS]; /* how often a stranger had it, met somebody there or not */
    unsigned    cast_count;
    soak_member cast[SOAK_CAST_MAX];
    atomic_uint visits_count;
    soak_visit  visits[SOAK_VISITS_MAX];
} soak_journal;

/* Makes it, and says by which path it can be mapped while this process lives; or maps one.  Ends
 * the process if that fails. */
soak_journal *soak_journal_new(char path[static SOAK_PATH_MAX]);
soak_journal *soak_journal_map(const char *path);

int64_t soak_now_us(void);

/* Call it when the lock is ours. */
soak_visit *soak_enter(soak_journal *journal, unsigned member, uint64_t fence, int *ret_fd);

/* It is surely ours for left_ms from `at_us`, taken before that was asked. */
void soak_sure(soak_visit *visit, int64_t at_us, int64_t left_ms);

/* Call it before the lock is given back. */
void soak_leave(soak_visit *visit, int fd);

/* ---- the cast --------------------------------------------------------------------------------
 * */

int soak_work(soak_journal *journal, unsigned member);   /* a library's process                */
int soak_inside(soak_journal *journal, unsigned member); /* the command of a `bowline run`     */
int soak_stray(soak_journal *journal, unsigned member);  /* a stranger                         */

/* ---- the plan of faults ----------------------------------------------------------------------
 * */

#define SOAK_FAULT_MAP(X)                               \
    X(NOTHING, 350, "")                                 \
    X(STOP_SHORT, 120, "stopped for less than a lease") \
    X(STOP_LONG, 60, "stopped for longer")              \
    X(KILL, 60, "killed")                               \
    X(CUT, 100, "connections cut")                      \
    X(HOLD_SHORT, 80, "lines stalled for a moment")     \
    X(HOLD_LONG, 50, "lines stalled for long")          \
    X(LATE, 50, "answers later than a claim")           \
    X(CLIENT_KILL, 8, "times all connections killed")   \
    X(SCRIPT_FLUSH, 10, "times all scripts forgotten")  \
    X(SERVER_SHORT, 8, "times the server stopped")      \
    X(SERVER_LONG, 3, "times for longer than a lease")  \
    X(RESTART_KEPT, 3, "restarts with everything kept") \
    X(RESTART_TAIL, 3, "restarts without the latest")   \
    X(RESTART_EMPTY, 2, "restarts with nothing kept")   \
    X(CLOCK, 0, "times the time of day was set (by nobody here)")

typedef enum soak_kind {
    SOAK_FAULT_NONE,
#define X(name, weight, words) SOAK_##name,
    SOAK_FAULT_MAP(X)
#undef X
        SOAK_KINDS_END
} soak_kind;

typedef struct soak_fault {
    soak_kind kind;
    unsigned  pause_ms; /* before it                                                           */
    unsigned  victim;   /* a number; whoever it names, of those that can be meant              */
    unsigned  share;    /* how long, in thousandths of what this kind may last                 */
} soak_fault;

/* The next of the plan; the seed is its state, and not 0. */
soak_fault soak_draw(uint64_t *seed);

uint64_t    soak_random(uint64_t *seed);
const char *soak_fault_words(soak_kind kind);

/* ---- the torment -----------------------------------------------------------------------------
 * */

typedef struct soak_deed { /* what was done, and when */
    soak_kind kind;
    unsigned  member;
    pid_t     pid;
    int64_t   from_us;
    int64_t   to_us;   /* INT64_MAX: it lasts                                                  */
    int64_t   wall_us; /* a restart: what the server's clock showed before                     */
} soak_deed;

typedef struct soak_run { /* what the supervisor knows */
    server       *redis;
    soak_journal *journal;
    char          journal_path[SOAK_PATH_MAX];
    const char   *program; /* this one                                                         */
    const char   *bowline; /* the command; NULL: there is none                                 */
    proxy        *lines[SOAK_CAST_MAX];
    pid_t         pids[SOAK_CAST_MAX];
    size_t        asleep[SOAK_CAST_MAX + 1]; /* the deed, from 1; the last: the server          */
    int64_t       wakes_ms[SOAK_CAST_MAX + 1];
    int64_t       wall_ahead_us; /* of the clock since boot                                      */
    unsigned      counts[SOAK_KINDS_END];
    unsigned      odd_exits; /* members that ended as they should not                          */
    size_t        deeds_count;
    soak_deed     deeds[SOAK_FAULTS_MAX];
} soak_run;

/* Starts the process of a member. */
void soak_hire(soak_run *run, unsigned member);

void soak_strike(soak_run *run, soak_fault fault);

/* Notes it when the time of day of this machine was set. */
void soak_look_at_clock(soak_run *run);

/* Who has slept for long enough goes on; `all`: everybody, and every line. */
void soak_wake(soak_run *run, bool all);

/* Commands that have ended are started again, unless the end has come. */
void soak_tend(soak_run *run);

bool soak_server_sleeps(const soak_run *run);

/* ---- the watch -------------------------------------------------------------------------------
 * */

typedef struct soak_watch soak_watch;

soak_watch *soak_watch_new(void);
void        soak_watch_free(soak_watch *w);

/* One look at each line of a lock with a queue. */
void soak_look(soak_watch *w, soak_run *run);

typedef struct soak_seen {
    unsigned looks;
    unsigned beaten; /* a free lock, and one in line was heard of without getting it           */
    unsigned silent; /* a free lock, and one in line who lives was not heard of                */
} soak_seen;

soak_seen soak_watch_result(const soak_watch *w);

/* ---- the judge -------------------------------------------------------------------------------
 * */

typedef struct soak_verdict {
    unsigned visits;
    unsigned overlaps;  /* two were told that the lock is surely theirs, for the same moment    */
    unsigned forgotten; /* holders to whom that happened as the server had forgotten them       */
    unsigned given_up;  /* ... as it was started anew, and they had not asked since             */
    unsigned
        unjudged;  /* ... as the time of day was set; or whose fence was older, likewise       */
    unsigned slow; /* found somebody inside who was stopped, or was stopped himself        */
    unsigned restarted; /* found somebody inside whose server was started anew meanwhile        */
    unsigned late;      /* found somebody inside without such a reason                          */
    unsigned fences;    /* how many were compared                                               */
    unsigned backward;
} soak_verdict;

/* When nobody is inside any more. */
void soak_judge(soak_run *run, soak_verdict verdicts[SOAK_LOCKS]);

#endif
