/*
 * world.h -- everything that there is, at one moment: the clients with their machines, the server,
 * what is under way between them, and which faults may still happen.
 *
 * A world is plain data.  It is copied before each choice, so that every other choice can be tried
 * from the same moment.
 *
 * Each client has one connection.  Its letters are kept in the order in which they were asked; the
 * first of them, `answered`, have been carried out and their answers are on the way back, or have
 * been cut off and the client is yet to hear of it.  When a connection breaks, what was written and
 * not carried out becomes `late`: the server may carry it out at any later time, and nobody hears
 * of it.  That is where a lock is found that nobody remembers to have asked for.
 */
#ifndef BWL_LAB_WORLD_WORLD_H
#define BWL_LAB_WORLD_WORLD_H

#include "lock/machine.h"
#include "lab/model/redis.h"
#include "lab/world/scenario.h"
#include "protocol/store/redis.h"

enum {
    BWL_LETTERS_MAX  = 8,
    BWL_BEGINNING_MS = 1000000, /* far from 0, so that no moment is confused with "never set"     */
};

/* The true time of day at the beginning. */
#define BWL_BEGINNING_WALL_MS INT64_C(1700000000000)

typedef enum bwl_letter_kind {
    BWL_LETTER_QUESTION = 1,
    BWL_LETTER_ANSWER,
    BWL_LETTER_CUT_OFF, /* the engine will say DOWN                                             */
    BWL_LETTER_PUSH, /* that it is the client's turn: nobody has asked                          */
} bwl_letter_kind;

typedef struct bwl_letter {
    uint8_t  kind;       /* a bwl_letter_kind                                                    */
    uint8_t  word;       /* a bwl_redis_word                                                     */
    uint8_t  answer;     /* ANSWER: a bwl_answer                                                 */
    uint8_t  connection; /* late: those of one connection stay in order                          */
    uint8_t  round;      /* of the client that asked                                             */
    bool     is_settled; /* the client has been told something about this question               */
    bool     acquires;   /* its client was seeking the lock when it asked                       */
    bool     is_mine;    /* ANSWER: the value is what the question would have written            */
    uint16_t token;
    uint16_t former; /* REQUEUE: the token that gives it on; 0: none                             */
    uint8_t place; /* ANSWER, PUSH: what else it says, in w->waiting.places, from 1; 0: nothing   */
    uint8_t inbox; /* by which who waits is reached                                          */
    uint32_t tag;
    int32_t  lease_ms;
    uint16_t claim_ms; /* of who waits                                                          */
    uint8_t  stood_by[2]; /* ... and by which inboxes it may stand in line yet; 0: none           */
    int64_t  stamp; /* QUESTION: that it writes; ANSWER: the value, or the number, that it showed */
} bwl_letter;

typedef struct bwl_lab_client {
    bwl_hold hold;
    bwl_ms   now; /* by its own clock, like all its deadlines                                 */
    bwl_ms   wake_at;
    uint16_t pace;    /* hundredths of a ms of its clock in a true one                           */
    uint8_t  beyond;  /* hundredths of a ms that its clock is past `now`                         */
    bool is_unaware;  /* the server was started anew, and it has not connected since             */
    bool is_of_old;   /* it holds what the server gave before that                               */
    bool is_running;  /* there is a hold                                                        */
    bool is_working;  /* the caller does what the lock is for                                   */
    bool was_slow;    /* ... and did not look when its time was over                            */
    bool is_told_end; /* the caller knows how it ended                                          */
    bool extends;     /* the caller has asked for an extension                                  */
    bool releases;    /* the caller has released                                                */
    bool cancels;     /* the caller has cancelled                                               */
    bool yields;      /* the caller has given it on, and waits to have it again                 */
    bool is_removed; /* a release of this round has removed the key                               */
    uint8_t  rounds_left;
    uint8_t  round;
    uint8_t  letters_count;
    uint8_t  answered;
    uint8_t  late_count;
    uint16_t tokens; /* drawn so far                                                            */
    uint8_t  asked_now; /* at this very moment, and not because the caller wanted something */
    bool     was_kept; /* in this round, time passed although somebody had something to do        */
    bwl_ms   due_by;   /* when the caller must know, if it was not                                */
    bwl_ms   extended_at; /* when the caller asked for an extension                             */
    bwl_ms trusts_until;  /* what the caller had been told of a hold that is lost; 0: nothing, or he
                            has given it back                                                   */
    bwl_ms held_since;    /* when the caller was told that it has the lock                       */
    bwl_ms skew_ms;       /* its time of day is that far ahead of the true one                   */
    uint32_t   came;      /* the how many-eth whose acquire reached the server; 0: none did      */
    uint32_t   turn;      /* the how many-eth to whom the server gave the lock; 0: it did not    */
    uint32_t   fence; /* that the server gave it with the lock; 0: none                           */
    bwl_letter letters[BWL_LETTERS_MAX];
    bwl_letter late[BWL_LETTERS_MAX];
} bwl_lab_client;

/* What the lock protects, which looks at the fence if there is one. */
typedef struct bwl_resource {
    uint64_t fence; /* the highest that it took                                                  */
    uint32_t turn;  /* of whom it last took a write                                              */
} bwl_resource;

enum { BWL_PLACES_MAX = 16 };

/* What a letter says beside yes and no: protocol/store/queue.h. */
typedef struct bwl_lab_place {
    uint8_t  how;
    bool     is_ours;
    bool     ends;
    uint8_t  rank;
    int32_t  left_ms;
    uint64_t ticket;
    int64_t  server_us;
} bwl_lab_place;

/* What the engine knows of a client's place in line. */
typedef struct bwl_lab_seat {
    uint8_t  inbox;       /* of the present connection, from 1                                  */
    bool     is_greeted;  /* ... which the server knows                                         */
    bool     may_kill;    /* ... and it knows the one before                                    */
    bool     was_cut;     /* in this round, a connection has ended, or its place was lost       */
    uint8_t  ghosts;      /* how often the lock may come to be where nobody wants it            */
    uint8_t  half_ghosts; /* ... until the server knows that the connection has ended           */
    uint8_t  stood_by[2]; /* of this token: the last that the server is known to have, and the
                              last one that was written; 0: none                                */
    uint16_t named_token;
    uint16_t named_claim_ms;
    uint32_t latest_tag;
    uint64_t ticket; /* by which it was told to stand in line, in this round; 0: none             */
} bwl_lab_seat;

/* What there is only with a lock that keeps those who wait in line. */
typedef struct bwl_lab_waiting {
    bwl_lab_place places[BWL_PLACES_MAX];
    bwl_lab_seat  seats[BWL_CLIENTS_MAX];
    int64_t       fence; /* the highest that the server has said                                 */
    uint64_t      held_fence; /* the highest that a caller was told                             */
    uint16_t      owner;      /* who has the lock                                               */
    bool          is_ghost;   /* ... and nobody wants it                                        */
    bool          may_be_ghost;
} bwl_lab_waiting;

typedef struct bwl_world {
    const bwl_scenario *scenario;
    bwl_ms now; /* the true time: a client has a clock of its own                               */
    bwl_model_redis redis;
    bwl_model_data  saved;    /* what the server will come back with: RESTORE                     */
    bwl_model_data  previous; /* before the last change: FAILOVER                                 */
    bwl_resource    resource;
    uint32_t        arrivals; /* so far: see `came`                                              */
    uint32_t        turns;    /* so far: see `turn`                                              */
    uint32_t        fences;   /* so far, by the server's count                                   */
    bool key_excused;  /* nobody could have taken this key back: see law TAKEN_BACK              */
    bool key_late;     /* ... because it was set by a question from a broken connection          */
    bool got_lock;     /* in the last step, somebody got the lock                                */
    uint8_t  informed; /* where replicas count: flags 1 << client: whose connection has written
                         since the last change, or made it                                       */
    unsigned broken;   /* laws that the last step broke                                          */
    uint8_t  left[BWL_BUDGETS_COUNT];
    bwl_lab_client clients[BWL_CLIENTS_MAX];
    bwl_lab_waiting
        waiting; /* where the protocol listens; otherwise not there                      */
} bwl_world;

void bwl_world_start(bwl_world *w, const bwl_scenario *s);

/* How much of a world there is: those of its clients that are not there are left out. */
static inline size_t bwl_world_size(const bwl_scenario *s)
{
    return s->protocol->listens
               ? sizeof(bwl_world)
               : offsetof(bwl_world, clients) + s->clients * sizeof(bwl_lab_client);
}

/* ---- what may happen next ------------------------------------------------------------------- */

typedef enum bwl_choice_kind {
    BWL_CHOICE_SERVE = 1,  /* the server carries out the client's next question; which: an answer
                             that it gives instead, or 0                                        */
    BWL_CHOICE_SERVE_LATE, /* ... one that nobody waits for any more; which: its place           */
    BWL_CHOICE_DELIVER,    /* the client hears the next answer                                   */
    BWL_CHOICE_ALARM,
    BWL_CHOICE_START,
    BWL_CHOICE_RELEASE,
    BWL_CHOICE_EXTEND,
    BWL_CHOICE_CANCEL,
    BWL_CHOICE_PASS,  /* time, until the next instant of interest; which: 1: just before it      */
    BWL_CHOICE_BREAK, /* the connection; which: how many questions had not been written          */
    BWL_CHOICE_STOP_WAITING, /* for an answer, and keep the connection: a twist                  */
    BWL_CHOICE_CRASH,
    BWL_CHOICE_RESTART,
    BWL_CHOICE_JUMP,
    BWL_CHOICE_SAVE, /* the server saves what it has; no fault by itself                         */
    BWL_CHOICE_RESTORE,
    BWL_CHOICE_FAILOVER,
    BWL_CHOICE_EVICT,
    BWL_CHOICE_STRANGER,
    BWL_CHOICE_STEP_WALL, /* a client's time of day                                              */
    BWL_CHOICE_WRITE,     /* a client writes to what the lock protects                           */
    BWL_CHOICE_RATE,      /* from now on, a client's clock runs at another rate                  */
    BWL_CHOICE_LEARN, /* a client connects again, and learns that the server was started anew    */
    BWL_CHOICE_LOSE_PUSH,
    BWL_CHOICE_CLOSE,  /* the server learns that a client's connection has ended                 */
    BWL_CHOICE_BORROW, /* another program takes the free lock                                    */
    BWL_CHOICE_GIVE_BACK, /* ... and deletes its key                                            */
    BWL_CHOICE_SILENCE,   /* the first in line counts as dead                                     */
    BWL_CHOICE_YIELD,
} bwl_choice_kind;

typedef struct bwl_choice {
    uint8_t kind; /* a bwl_choice_kind                                                          */
    uint8_t client;
    uint8_t which;
    uint8_t chance; /* the random bits that come with the event                                  */
} bwl_choice;

/* SERVE: the server does not know the script. */
enum { BWL_WHICH_NOSCRIPT = 7 };

enum { BWL_CHOICES_MAX = 96 };

typedef struct bwl_choices {
    unsigned   count;
    bwl_choice list[BWL_CHOICES_MAX];
} bwl_choices;

void bwl_world_choices(const bwl_world *w, bwl_choices *ret_choices);

/* Performs one of them.  Sets w->broken to what the step itself broke. */
void bwl_world_perform(bwl_world *w, bwl_choice choice);

/* What pays for the choice; NONE if it is free. */
bwl_budget bwl_choice_budget(const bwl_world *w, bwl_choice choice);

/* True if the choice is one that a budget pays for. */
bool bwl_choice_is_fault(const bwl_world *w, bwl_choice choice);

/* When something changes by the passing of time alone; NEVER if nothing does. */
bwl_ms bwl_world_next_instant(const bwl_world *w);

/* True if somebody has something to do at this very moment. */
bool bwl_world_is_urgent(const bwl_world *w);

/* ---- questions about a world ----------------------------------------------------------------- */

/* The laws that this world breaks, with those that the last step broke. */
unsigned bwl_world_broken_laws(const bwl_world *w);

/* For a world in which nothing may happen any more. */
bool bwl_world_ended_clean(const bwl_world *w);

/* The client's time of day; 0 if its protocol does not look at it. */
int64_t bwl_world_wall_ns(const bwl_world *w, unsigned client);

/* True if no client's time of day lies behind the true one, or can come to. */
bool bwl_world_has_no_clock_behind(const bwl_world *w);

/* How long the client believes that the lock is surely its own. */
bwl_ms bwl_world_believes(const bwl_world *w, unsigned client);

/* The number of a token of ours (see bwl_token_number in base/token_number.h), for the client's
 * claim. */
uint16_t bwl_world_token_of(const bwl_world *w, unsigned client);

#endif
