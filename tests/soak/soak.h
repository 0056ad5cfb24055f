/*
 * soak.h -- many processes share some locks while faults of every kind befall them and the servers.
 *
 * The supervisor (soak.c) starts the servers of a topology (topology.h) and the members (cast.c):
 * programs of the library, commands under `bowline run`, and foreign programs that say SET NX.  A
 * plan that is drawn from a seed (plan.c) says which fault comes next; torment.c carries it out on
 * members, trouble.c on the servers, one at a time.  All faults are in a log.  Each member writes
 * in a journal, a file that all map, when it was inside a lock.  Afterwards judge.c compares the
 * journal with the log; meanwhile watch.c looks for a lock that is free while a live waiter is in
 * its queue.
 *
 * Members are started by fork and exec: they inherit nothing.
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
    SOAK_NODES_MAX  = 6,
    SOAK_PATH_MAX   = 48,
};

/* ---- who takes part ------------------------------------------------------------------------- */

typedef enum soak_part {
    SOAK_LIBRARY = 1, /* a program of the library, with one thread or two                     */
    SOAK_COMMAND,     /* a command under `bowline run`, again and again                       */
    SOAK_STRANGER,    /* SET NX PX, and a DEL of its own value                                */
} soak_part;

enum { RED, GREEN, BLUE, GREY, WOOD };

typedef struct soak_lock {
    char     name[12];     /* "": this topology has none                                       */
    char     protocol[10]; /* "file": it has no server                                         */
    uint32_t lease_ms;     /* 0: none                                                          */
} soak_lock;

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
    bool       has_line;  /* it reaches the servers through proxies of its own                 */
    char       url[256];
    soak_tally tallies[SOAK_THREADS];
    /* The least that was in use after a release, in each quarter of the time; 0: none yet. */
    _Atomic uint64_t blocks_bytes[SOAK_QUARTERS];
    _Atomic uint64_t descriptors[SOAK_QUARTERS];
} soak_member;

/* ---- the journal ---------------------------------------------------------------------------- */

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
    uint64_t        seed;
    soak_lock       locks[SOAK_LOCKS];
    char            socket[96]; /* of the server that strangers know                              */
    char            witnesses[SOAK_LOCKS][SOAK_PATH_MAX];
    atomic_bool     ends;
    atomic_bool     is_calm; /* nobody hurries back to a lock that knows no order              */
    atomic_uint     quarter;
    atomic_uint     forgets; /* how often the server has lost what it had acknowledged            */
    atomic_uint     inside[SOAK_LOCKS]; /* the number of the visit that has the flock             */
    _Atomic int64_t entered_us[SOAK_LOCKS]; /* the latest visit                               */
    atomic_uint     strays[SOAK_LOCKS]; /* how often a stranger had it, met somebody there or not */
    unsigned        cast_count;
    soak_member     cast[SOAK_CAST_MAX];
    atomic_uint     visits_count;
    soak_visit      visits[SOAK_VISITS_MAX];
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

/* ---- the cast ------------------------------------------------------------------------------- */

int soak_work(soak_journal *journal, unsigned member);   /* a library's process                */
int soak_inside(soak_journal *journal, unsigned member); /* the command of a `bowline run`     */
int soak_stray(soak_journal *journal, unsigned member);  /* a stranger                         */

/* ---- the plan of faults --------------------------------------------------------------------- */

/* What becomes of what the servers had acknowledged. */
typedef enum soak_harm {
    SOAK_KEEPS = 1, /* it is there                                                             */
    SOAK_RENEWS,    /* it is there, in another process: holders give it up                      */
    SOAK_FORGETS,   /* some of it is gone                                                      */
    SOAK_LOSES,     /* another server takes over, perhaps without the latest                   */
    SOAK_SPLITS,    /* likewise, and for a while the old one does not know                      */
} soak_harm;

/* Of members: what is done to them.  Of servers: see the topologies. */
#define SOAK_FAULT_MAP(X)                                                     \
    X(NOTHING, KEEPS, "nothing")                                              \
    X(STOP_SHORT, KEEPS, "stopped for less than a lease")                     \
    X(STOP_LONG, KEEPS, "stopped for longer")                                 \
    X(KILL, KEEPS, "killed")                                                  \
    X(CUT, KEEPS, "connections cut")                                          \
    X(HOLD_SHORT, KEEPS, "lines stalled for a moment")                        \
    X(HOLD_LONG, KEEPS, "lines stalled for long")                             \
    X(LATE, KEEPS, "answers later than a claim")                              \
    X(CLIENT_KILL, KEEPS, "all connections killed")                           \
    X(SCRIPT_FLUSH, KEEPS, "all scripts forgotten")                           \
    X(SERVER_SHORT, KEEPS, "server stopped for a moment")                     \
    X(SERVER_LONG, KEEPS, "server stopped for longer than a lease")           \
    X(RESTART_KEPT, RENEWS, "server restarted with everything kept")          \
    X(RESTART_TAIL, FORGETS, "server restarted without the latest")           \
    X(RESTART_EMPTY, FORGETS, "server restarted with nothing kept")           \
    X(FEW_EMPTY, KEEPS, "fewer than half restarted with nothing kept")        \
    X(FEW_KILLED, KEEPS, "fewer than half dead until it was held")            \
    X(FEW_STOPPED, KEEPS, "fewer than half stopped until it was held")        \
    X(FEW_CUT, KEEPS, "links to fewer than half cut")                         \
    X(FEW_STALLED, KEEPS, "links to fewer than half stalled")                 \
    X(REPLICA_KILLED, KEEPS, "a replica killed")                              \
    X(SENTINEL_KILLED, KEEPS, "a sentinel killed")                            \
    X(PRIMARY_SHORT, KEEPS, "primary stopped for a moment")                   \
    X(SWITCH, SPLITS, "another primary by hand")                              \
    X(PRIMARY_KILLED, LOSES, "primary killed")                                \
    X(PRIMARY_LOST, LOSES, "primary killed, its latest not replicated")       \
    X(PRIMARY_STOPPED, SPLITS, "primary stopped until another was there")     \
    X(SWITCHED, SPLITS, "another primary by itself")                          \
    X(PRIMARY_CUT, KEEPS, "links to the primary cut")                         \
    X(PRIMARY_STALLED, KEEPS, "links to the primary stalled for a moment")    \
    X(PRIMARY_AWAY, SPLITS, "links to the primary stalled until another was") \
    X(SLOT_MOVED, KEEPS, "a slot moved to another node")                      \
    X(PLACES, KEEPS, "a primary and its replica changed places")              \
    X(CLOCK, KEEPS, "time of day set (by nobody here)")

typedef enum soak_kind {
    SOAK_FAULT_NONE,
#define X(name, harm, words) SOAK_##name,
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

/* The next of the plan, of kinds that are as frequent as they weigh, within so long.  The seed is
 * its state, and not 0. */
soak_fault soak_draw(uint64_t *seed, const unsigned weights[SOAK_KINDS_END], unsigned pause_ms);

uint64_t    soak_random(uint64_t *seed);
const char *soak_fault_words(soak_kind kind);
soak_harm   soak_fault_harm(soak_kind kind);
bool        soak_fault_of_servers(soak_kind kind); /* else of a member                         */

/* ---- the torment ---------------------------------------------------------------------------- */

/* Whom a fault of the servers befalls. */
enum { SOAK_EVERYBODY = SOAK_CAST_MAX };

typedef struct soak_deed { /* what was done, and when */
    soak_kind kind;
    unsigned  member;
    pid_t     pid;
    int64_t   from_us;
    int64_t   to_us;   /* INT64_MAX: it lasts                                               */
    int64_t   wall_us; /* a restart: what the server's clock showed before                  */
    int64_t   gone_us; /* when a server that another replaces could give no more; 0: it lasts  */
} soak_deed;

typedef enum soak_phase {
    SOAK_WELL = 1,
    SOAK_STRUCK, /* it is not mended yet                                                       */
    SOAK_MENDED, /* not every lock has been held since                                         */
} soak_phase;

typedef struct soak_trouble {
    soak_phase phase;
    soak_fault fault;
    size_t     deed;
    unsigned   nodes;    /* a bit for each that suffers                                       */
    unsigned   stage;    /* the topology's own                                                */
    int64_t    from_us;  /* this phase                                                        */
    int64_t    until_ms; /* the topology's own: when the next stage may be                    */
    unsigned   withheld; /* faults that came too early                                        */
    unsigned   for_ever; /* after which nobody held a lock again                              */
} soak_trouble;

typedef struct soak_topology soak_topology;

typedef struct soak_run { /* what the supervisor knows */
    const soak_topology *topology;
    soak_journal        *journal;
    char                 journal_path[SOAK_PATH_MAX];
    const char          *program; /* this one                                                  */
    const char          *bowline; /* the command; NULL: there is none                          */
    unsigned             nodes_count;
    server              *nodes[SOAK_NODES_MAX];
    char                 who[SOAK_LOCKS][40]; /* where it is said who a session is             */
    proxy               *lines[SOAK_CAST_MAX][SOAK_NODES_MAX];
    pid_t                pids[SOAK_CAST_MAX];
    size_t               asleep[SOAK_CAST_MAX]; /* the deed, from 1                            */
    int64_t              wakes_ms[SOAK_CAST_MAX];
    soak_trouble         trouble;
    int64_t              wall_ahead_us; /* of the clock since boot                             */
    unsigned             counts[SOAK_KINDS_END];
    unsigned             odd_exits; /* members that ended as they should not                   */
    size_t               deeds_count;
    soak_deed            deeds[SOAK_FAULTS_MAX];
} soak_run;

/* Makes the members of the journal, and starts their processes. */
void soak_engage(soak_run *run);

/* Starts the process of a member. */
void soak_hire(soak_run *run, unsigned member);

void soak_strike(soak_run *run, soak_fault fault);

/* Notes a deed before it is done; it lasts until it is said to have ended. */
size_t soak_begin_deed(soak_run *run, soak_kind kind, unsigned member);
void   soak_end_deed(soak_run *run, size_t deed);

/* Notes it when the time of day of this machine was set. */
void soak_look_at_clock(soak_run *run);

/* Who has slept for long enough goes on; `all`: everybody, and every line. */
void soak_wake(soak_run *run, bool all);

/* Commands that have ended are started again, unless the end has come. */
void soak_tend(soak_run *run);

/* Nothing passes on a line, either way, for so long. */
void soak_hold_line(proxy *line, int64_t ms);

/* ---- one trouble of the servers at a time --------------------------------------------------- */

void soak_trouble_strike(soak_run *run, soak_fault fault);

/* It has befallen them without us, not more than so long ago. */
void soak_trouble_came(soak_run *run, soak_kind kind, int64_t ago_us);

/* One step on the way to where all is well. */
void soak_trouble_step(soak_run *run);

/* Has every lock that the servers have been taken by somebody since, or renewed? */
bool soak_held_since(const soak_run *run, int64_t since_us);

/* The longest lease of all. */
int64_t soak_lease_max_us(const soak_run *run);

/* ---- the watch ------------------------------------------------------------------------------ */

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

/* ---- the judge ------------------------------------------------------------------------------ */

typedef struct soak_verdict {
    unsigned visits;
    unsigned overlaps;  /* two were told that the lock is surely theirs, for the same moment    */
    unsigned forgotten; /* holders to whom that happened as the server had forgotten them       */
    unsigned given_up;  /* ... as it was started anew, and they had not asked since             */
    unsigned changed;   /* ... as another server had taken over within a lease                  */
    unsigned
        unjudged;  /* ... as the time of day was set; or whose fence was older, likewise       */
    unsigned slow; /* found somebody inside who was stopped, or was stopped himself        */
    unsigned restarted; /* found somebody inside whose server was another one meanwhile         */
    unsigned late;      /* found somebody inside without such a reason                          */
    unsigned fences;    /* how many were compared                                               */
    unsigned backward;
    unsigned excused; /* backward, while two servers believed to be the one                     */
} soak_verdict;

/* When nobody is inside any more. */
void soak_judge(soak_run *run, soak_verdict verdicts[SOAK_LOCKS]);

/* ---- what must be so ------------------------------------------------------------------------ */

/* Says it, and counts. */
__attribute__((format(printf, 2, 3))) void soak_check(bool holds, const char *format, ...);

unsigned soak_holds_of(const soak_member *m);

/* Of those who lived through it all; and of the servers, at once or after a minute. */
void soak_check_members(const soak_run *run);
void soak_check_servers(const soak_run *run, bool waits);

#endif
