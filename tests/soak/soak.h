/*
 * soak.h -- many processes share some locks while the supervisor injects faults of all kinds into
 * them and into the server.
 *
 * The supervisor (soak.c) starts a server and the members (cast.c): programs with the library,
 * commands under `bowline run`, and foreign programs that send SET NX. A plan that follows from a
 * seed (plan.c) determines the next fault; torment.c injects it into members, server.c into the
 * server, one at a time. All faults are in a log. Each member records in a journal, a file that all
 * map, when it held a lock. Afterwards judge.c compares the journal with the log. Faults of the
 * network, and of more servers, are in the simulator.
 *
 * Members are started by fork and exec: they inherit nothing.
 */
#pragma once

#include "tests/lib/server.h"
#include "tests/lib/testing.h"

enum {
    SOAK_LOCKS       = 5,
    SOAK_MEMBERS_MAX = 24,
    SOAK_THREADS     = 2,
    SOAK_QUARTERS    = 4,
    SOAK_VISITS_MAX  = 1 << 22,
    SOAK_FAULTS_MAX  = 1 << 18,
    SOAK_PATH_MAX    = 48,
};

/* ---- members --------------------------------------------------------------------------------- */

typedef enum soak_part {
    SOAK_LIBRARY = 1, /* a program with the library, with one thread or two */
    SOAK_COMMAND,     /* a command under `bowline run`, again and again */
    SOAK_FOREIGN,     /* SET NX PX, and a DEL of its own value */
} soak_part;

enum { RED, GREEN, BLUE, GREY, WOOD };

typedef struct soak_lock {
    char     name[12];
    char     protocol[10]; /* "file": without a server */
    uint32_t lease_ms;     /* 0: none                                                          */
} soak_lock;

/* Of one thread of a program with the library, or of one foreign program. */
typedef struct soak_tally {
    atomic_uint holds;
    atomic_uint in_vain; /* BUSY, TIMEOUT                                                      */
    atomic_uint lost;
    atomic_uint unknown; /* UNKNOWN, UNREACHABLE                                               */
    atomic_uint refused; /* by a server that loads, or because it was too late */
    atomic_uint wrong;   /* an impossible status, or the value of a foreign program was changed */
} soak_tally;

typedef struct soak_member {
    soak_part  part;
    unsigned   lock;
    unsigned   threads;
    bool       is_killable; /* else it is never killed, and its memory is checked */
    char       url[256];
    soak_tally tallies[SOAK_THREADS];
    /* The minimum in use after a release, in each quarter of the run; 0: no value. */
    _Atomic uint64_t blocks_bytes[SOAK_QUARTERS];
    _Atomic uint64_t descriptors[SOAK_QUARTERS];
} soak_member;

/* ---- the journal ---------------------------------------------------------------------------- */

typedef struct soak_visit {
    soak_part part;
    unsigned  lock;
    unsigned  member;
    pid_t     pid;
    unsigned  other_inside; /* the number, from 1, of the visit that was inside already; 0: none */
    uint64_t  fence;
    int64_t   entered_us; /* CLOCK_BOOTTIME, as all times below */
    int64_t   from_us;    /* when it was first sure of the lock; 0: never                      */
    int64_t   sure_us;    /* when it last checked and was sure */
    int64_t   until_us;   /* the latest end of the hold that was reported */
    int64_t   left_us;    /* 0: unknown */
} soak_visit;

typedef struct soak_journal {
    uint64_t    seed;
    soak_lock   locks[SOAK_LOCKS];
    char        socket[96]; /* of the server for foreign programs */
    char        witnesses[SOAK_LOCKS][SOAK_PATH_MAX];
    atomic_bool ends;
    atomic_bool is_calm; /* members pause before they compete again for a lock without a queue */
    atomic_uint quarter;
    atomic_uint data_losses;                /* how often the server lost acknowledged writes */
    atomic_uint inside[SOAK_LOCKS];         /* the number of the visit that has the flock */
    _Atomic int64_t entered_us[SOAK_LOCKS]; /* the latest visit                               */
    unsigned        members_count;
    soak_member     members[SOAK_MEMBERS_MAX];
    atomic_uint     visits_count;
    soak_visit      visits[SOAK_VISITS_MAX];
} soak_journal;

/* Creates it, and returns the path by which other processes can map it while this one runs; or maps
 * one. Exits if that fails. */
soak_journal *soak_journal_new(char path[static SOAK_PATH_MAX]);
soak_journal *soak_journal_map(const char *path);

int64_t soak_now_us(void);

/* The longest lease of all locks. */
int64_t soak_lease_max_us(const soak_journal *journal);

/* Call it when the lock is held. */
soak_visit *soak_enter(soak_journal *journal, unsigned member, uint64_t fence, int *ret_fd);

/* The hold is valid for left_ms from `at_us`, a time before that was read. */
void soak_sure(soak_visit *visit, int64_t at_us, int64_t left_ms);

/* Call it before the release. */
void soak_leave(soak_visit *visit, int fd);

/* ---- the processes of members ---------------------------------------------------------------- */

int soak_work(soak_journal *journal, unsigned member);   /* a program with the library */
int soak_inside(soak_journal *journal, unsigned member); /* the command of a `bowline run` */
int soak_foreign_program(soak_journal *journal, unsigned member); /* a foreign program */

/* ---- the plan of faults --------------------------------------------------------------------- */

/* What a fault does to the acknowledged writes of the server. */
typedef enum soak_harm {
    SOAK_KEEPS = 1, /* kept */
    SOAK_RENEWS,    /* kept, in a new process: holders are LOST */
    SOAK_FORGETS,   /* some are lost */
} soak_harm;

#define SOAK_FAULT_MAP(X)                                                \
    X(NOTHING, KEEPS, "nothing")                                         \
    X(STOP_SHORT, KEEPS, "stopped for less than a lease")                \
    X(STOP_LONG, KEEPS, "stopped for longer")                            \
    X(KILL, KEEPS, "killed")                                             \
    X(CLIENT_KILL, KEEPS, "all connections killed")                      \
    X(SCRIPT_FLUSH, KEEPS, "all scripts flushed")                        \
    X(SERVER_SHORT, KEEPS, "server stopped for a moment")                \
    X(SERVER_LONG, KEEPS, "server stopped for longer than a lease")      \
    X(RESTART_KEPT, RENEWS, "server restarted with all data")            \
    X(RESTART_TAIL, FORGETS, "server restarted without the latest data") \
    X(RESTART_EMPTY, FORGETS, "server restarted without data")           \
    X(CLOCK, KEEPS, "wall clock set (not by the test)")

typedef enum soak_kind {
    SOAK_FAULT_NONE,
#define X(name, harm, words) SOAK_##name,
    SOAK_FAULT_MAP(X)
#undef X
        SOAK_KINDS_END
} soak_kind;

typedef struct soak_fault {
    soak_kind kind;
    unsigned  pause_ms; /* before the fault */
    unsigned  victim;   /* a number that selects a possible victim */
    unsigned  share;    /* the duration, in thousandths of the maximum of this kind */
} soak_fault;

/* The next fault of the plan: a kind with a probability by its weight, and a pause up to pause_ms.
 * The seed is the state of the plan, and not 0. */
soak_fault soak_draw(uint64_t *seed, const unsigned weights[SOAK_KINDS_END], unsigned pause_ms);

uint64_t    soak_random(uint64_t *seed);
const char *soak_fault_description(soak_kind kind);
soak_harm   soak_fault_harm(soak_kind kind);
bool        soak_fault_of_server(soak_kind kind); /* else of a member */

/* ---- injection ------------------------------------------------------------------------------- */

/* The member number of a fault of the server. */
enum { SOAK_ALL_MEMBERS = SOAK_MEMBERS_MAX };

typedef struct soak_action { /* an injected fault */
    soak_kind kind;
    unsigned  member;
    pid_t     pid;
    int64_t   from_us;
    int64_t   to_us;   /* INT64_MAX: not over */
    int64_t   wall_us; /* a restart: the clock of the server before it */
} soak_action;

typedef enum soak_phase {
    SOAK_HEALTHY = 1,
    SOAK_FAULTY,   /* not repaired yet */
    SOAK_REPAIRED, /* not every lock was held since */
} soak_phase;

typedef struct soak_server_fault {
    soak_phase phase;
    soak_fault fault;
    size_t     action;
    int64_t    from_us;  /* start of this phase */
    int64_t    until_ms; /* the server is stopped until then; 0: it is not */
    unsigned   skipped;  /* faults that came too early */
    unsigned   stuck;    /* faults after which a lock was not held again */
} soak_server_fault;

typedef struct soak_run { /* the state of the supervisor */
    soak_journal     *journal;
    char              journal_path[SOAK_PATH_MAX];
    const char       *program; /* this program */
    const char       *bowline; /* the command; NULL: none */
    server           *server;
    pid_t             pids[SOAK_MEMBERS_MAX];
    size_t            stopped_by[SOAK_MEMBERS_MAX]; /* the action, from 1 */
    int64_t           continue_ms[SOAK_MEMBERS_MAX];
    soak_server_fault server_fault;
    int64_t           wall_ahead_us; /* of CLOCK_BOOTTIME */
    unsigned          counts[SOAK_KINDS_END];
    unsigned          wrong_exits; /* members that ended with an error */
    size_t            actions_count;
    soak_action       actions[SOAK_FAULTS_MAX];
} soak_run;

/* Creates the members of the journal, and starts their processes. */
void soak_start_members(soak_run *run);

/* Starts the process of a member. */
void soak_start_member(soak_run *run, unsigned member);

void soak_inject(soak_run *run, soak_fault fault);

/* Records an action before it starts; it lasts until its end is recorded. */
size_t soak_begin_action(soak_run *run, soak_kind kind, unsigned member);
void   soak_end_action(soak_run *run, size_t action);

/* Records when the wall clock of this machine was set. */
void soak_check_clock(soak_run *run);

/* Continues the members whose stop is over; `all`: all members. */
void soak_continue(soak_run *run, bool all);

/* Restarts commands that have exited, unless the run is over. */
void soak_restart_ended(soak_run *run);

/* ---- the server, and its faults, one at a time ----------------------------------------------- */

enum { SOAK_MOMENT_MS = 200, SOAK_PAUSE_MS = 80 };

extern const soak_lock soak_locks[SOAK_LOCKS];
extern const unsigned  soak_weights[SOAK_KINDS_END]; /* how frequent each kind of fault is */

void soak_server_start(soak_run *run);

/* Writes the URL of this member into the journal. */
void soak_set_url(soak_run *run, unsigned member);

/* The part of `whole_ms` that the fault lasts. */
int64_t soak_share(const soak_fault *fault, int64_t whole_ms);

void soak_server_fault_begin(soak_run *run, soak_fault fault);

/* One step towards the repair. */
void soak_server_fault_step(soak_run *run);

/* ---- the judge ------------------------------------------------------------------------------ */

typedef struct soak_verdict {
    unsigned visits;
    unsigned overlaps;  /* began while another holder was sure */
    unsigned forgotten; /* the same, because the server had lost the other hold */
    unsigned
        given_up; /* ... because the server restarted, and the other holder had not checked since */
    unsigned unjudged;  /* ... because the wall clock was set; the same for a fence */
    unsigned slow;      /* collided with a stopped process, or was stopped itself */
    unsigned restarted; /* collided with a holder whose server was restarted */
    unsigned late;      /* collided without such a reason */
    unsigned fences;    /* number of compared fences */
    unsigned backward;
} soak_verdict;

/* Call it when no member is inside any more. */
void soak_judge(soak_run *run, soak_verdict verdicts[SOAK_LOCKS]);

/* ---- checks ---------------------------------------------------------------------------------- */

/* Prints and counts the result of a check. */
__attribute__((format(printf, 2, 3))) void soak_check(bool holds, const char *format, ...);

unsigned soak_holds_of(const soak_member *m);

/* Checks the members that were never killed; and the server, at once or after a minute. */
void soak_check_members(const soak_run *run);
void soak_check_server(const soak_run *run, bool waits);
