/*
 * many.h -- worlds with several servers: what a lock on most of them is tried in.
 *
 * The machines are the ones that run; the servers are small: each has one key, and a clock of its
 * own.  Every client has a line to every server, on which letters stay in order; lines do not wait
 * for each other.  A line that breaks leaves what was written and not carried out behind: the
 * server may carry it out at any later time, and nobody hears of it.
 *
 * As in world.h, a world is plain data, copied before each choice; faults are budgets, and time
 * passes for nothing only when nobody has anything to do.  Clients are interchangeable, and so are
 * servers: worlds that differ by names alone count as one.
 *
 *      many.c            the beginning, and what a choice does
 *      many_choices.c    what may happen next
 *      many_law.c        what must never happen
 *      many_canon.c      which worlds are one
 */
#ifndef BWL_LAB_WORLD_MANY_H
#define BWL_LAB_WORLD_MANY_H

#include "lock/machine.h"
#include "lab/world/world.h"
#include "protocol/quorum.h"

enum {
    BWL_MANY_SERVERS = 5,
    BWL_MANY_CLIENTS = 3,
    BWL_MANY_LETTERS = 6, /* on one line                                                        */
    BWL_MANY_LATE    = 3,
    BWL_MANY_PER_MS  = 100,
};

/* X(NAME, what it is called, what it pays for) */
#define BWL_MANY_BUDGETS(X)                                                           \
    X(SLOW, "slow", "time passes although a message or an alarm is due")              \
    X(LOSS, "loss", "a line breaks; what was written may still be carried out later") \
    X(CRASH, "crash", "a client is gone, with all it knew")                           \
    X(DENIAL, "denial", "a server answers that it cannot now")                        \
    X(RESTART, "restart", "a server comes back empty")                                \
    X(JUMP, "jump", "a server's clock steps forward")                                 \
    X(STOP, "stop", "a server stops, and goes on later: time passes for all others")  \
    X(CANCEL, "cancel", "no fault: the caller cancels")

typedef enum bwl_many_budget {
    BWL_MANY_NO_BUDGET = 0,
#define X(name, label, sentence) BWL_MANY_##name,
    BWL_MANY_BUDGETS(X)
#undef X
        BWL_MANY_BUDGETS_COUNT
} bwl_many_budget;

/* X(NAME, what is said when it breaks) */
#define BWL_MANY_LAWS(X)                                                                 \
    X(ONE_HOLDER, "two clients believe that the lock is surely theirs")                  \
    X(ONE_WORKER, "two clients work under the lock, and neither of them was slow")       \
    X(NO_OVERLAP, "two clients work under the lock")                                     \
    X(OWN_KEY, "a question changed a key that has the token of another client")          \
    X(HONEST, "a client believes in more time than a majority of the servers gives it")  \
    X(TOLD, "a caller was told what cannot be, or was told after the end, or never")     \
    X(UNDONE, "a key is left behind by an attempt that is over, and nothing removes it") \
    X(PAUSES, "a client asks again and again without a pause")                           \
    X(NOT_STUCK, "a client waits for nothing: no question is out, no timer is set")      \
    X(KEEPS, "a holder that renews lost the lock though nothing went wrong")

typedef enum bwl_many_law_number {
#define X(name, sentence) BWL_MANY_LAW_NUMBER_##name,
    BWL_MANY_LAWS(X)
#undef X
        BWL_MANY_LAWS_COUNT
} bwl_many_law_number;

typedef enum bwl_many_law {
#define X(name, sentence) BWL_MANY_LAW_##name = 1u << BWL_MANY_LAW_NUMBER_##name,
    BWL_MANY_LAWS(X)
#undef X
} bwl_many_law;

/* What holds while the timing bounds do: all but NO_OVERLAP, for a lease has no fence. */
enum {
    BWL_MANY_LAWS_USUAL = ((1u << BWL_MANY_LAWS_COUNT) - 1) & ~(unsigned)BWL_MANY_LAW_NO_OVERLAP
};

typedef struct bwl_many_scenario {
    const char         *name;
    const char         *story;
    const bwl_protocol *protocol; /* redlock                                                     */
    unsigned            servers;
    unsigned            clients;
    unsigned            rounds; /* how often each acquires (1)                                   */
    bwl_ms              lease_ms;  /* 30                                                         */
    bwl_ms              wait_ms;   /* 0: tries once                                              */
    bwl_ms              answer_ms; /* 15                                                     */
    bwl_ms              jump_ms;   /* how far a server's clock steps (30)                    */
    unsigned            server_pace;  /* hundredths of a ms in a true one (100)                 */
    uint32_t            drift_ppm;    /* of the clients; 0: the usual allowance                 */
    bool                never_renews; /* and so works no longer than its first lease            */
    bool                is_vast;      /* it has millions of states: only where it is named      */
    bool                young_wait;   /* a server that was started less than a lease ago has no
                                           vote                                                  */
    uint8_t             budget[BWL_MANY_BUDGETS_COUNT];
    unsigned            laws;   /* that are looked at (the usual ones)                           */
    unsigned            breaks; /* the law that is to break; 0: none                             */
    unsigned            steps;  /* in how many, if that is known                                 */
} bwl_many_scenario;

typedef struct bwl_many_letter {
    uint8_t  kind; /* QUESTION, ANSWER, CUT_OFF of bwl_letter_kind                               */
    uint8_t  word;
    uint8_t  answer;
    bool     heals; /* it sets the key while its client holds the lock                          */
    uint16_t token;
    uint16_t tag;
    uint16_t round; /* of the client that asked                                                  */
    uint16_t asked_ms; /* since the beginning                                                   */
} bwl_many_letter;

typedef struct bwl_many_line {
    uint8_t         count;
    uint8_t         answered;
    uint8_t         late_count;
    bwl_many_letter letters[BWL_MANY_LETTERS];
    bwl_many_letter late[BWL_MANY_LATE];
} bwl_many_line;

typedef struct bwl_many_server {
    uint16_t owner; /* a token's number; 0: there is no key                                   */
    bool     is_stopped;
    bool     was_faulty; /* it has been restarted, stepped, denied or stopped                    */
    int32_t  ends_in;   /* hundredths of a ms of its own clock                                    */
    int32_t  young_for; /* hundredths of a ms, until it has run for a lease                      */
} bwl_many_server;

typedef struct bwl_many_client {
    bwl_hold hold;
    bwl_ms   wake_at;
    uint16_t tokens; /* drawn so far                                                             */
    uint16_t round;
    uint8_t  rounds_left;
    uint8_t  asked_now; /* at this very moment                                                  */
    bool     is_running;
    bool     is_working;
    bool     was_slow;
    bool     is_told_end;
    bool     releases;
    bool     cancels;
    bool     is_gone; /* crashed                                                               */
} bwl_many_client;

typedef struct bwl_many_world {
    const bwl_many_scenario *scenario;
    bwl_ms                   now;
    unsigned                 broken;   /* laws that the last step broke                           */
    bool                     got_lock; /* in the last step, somebody did                        */
    bool                     was_lossy; /* a line has broken, or a client crashed               */
    bool                     was_kept;  /* time has passed although something was due            */
    uint8_t                  left[BWL_MANY_BUDGETS_COUNT];
    bwl_many_server          servers[BWL_MANY_SERVERS];
    bwl_many_line            lines[BWL_MANY_CLIENTS][BWL_MANY_SERVERS];
    bwl_many_client          clients[BWL_MANY_CLIENTS];
} bwl_many_world;

/* `client`, and in `which` the server; PASS: neither. */
typedef enum bwl_many_kind {
    BWL_MANY_START = 1,
    BWL_MANY_RELEASE,
    BWL_MANY_GIVE_UP, /* the caller cancels                                                      */
    BWL_MANY_ALARM,
    BWL_MANY_SERVE,
    BWL_MANY_DENY,
    BWL_MANY_SERVE_LATE,
    BWL_MANY_DELIVER,
    BWL_MANY_PASS,
    BWL_MANY_BREAK,
    BWL_MANY_TIME_OUT,  /* the line's answer is late: the engine breaks it                        */
    BWL_MANY_FAIL,      /* CRASH                                                                  */
    BWL_MANY_COME_BACK, /* RESTART                                                               */
    BWL_MANY_STEP_CLOCK,
    BWL_MANY_HALT,
    BWL_MANY_GO_ON,
} bwl_many_kind;

/* ---- many.c ---------------------------------------------------------------------------------- */

void bwl_many_start(bwl_many_world *w, const bwl_many_scenario *s);
void bwl_many_perform(bwl_many_world *w, bwl_choice choice);

/* ---- many_choices.c -------------------------------------------------------------------------- */

void            bwl_many_choices(const bwl_many_world *w, bwl_choices *ret_choices);
bwl_many_budget bwl_many_pays(const bwl_many_world *w, bwl_choice choice);
bool            bwl_many_is_urgent(const bwl_many_world *w);
bwl_ms          bwl_many_next_instant(const bwl_many_world *w); /* NEVER: nothing will           */

/* ---- many_law.c ------------------------------------------------------------------------------ */

/* Of this world, with those that the last step broke. */
unsigned bwl_many_broken(const bwl_many_world *w);

bool bwl_many_believes(const bwl_many_world *w, unsigned client);

/* How many servers have its key. */
unsigned bwl_many_votes(const bwl_many_world *w, uint16_t token);

const char *bwl_many_law_sentence(unsigned laws);

/* ---- many_canon.c ---------------------------------------------------------------------------- */

uint64_t bwl_many_fingerprint(const bwl_many_world *w);

#endif
