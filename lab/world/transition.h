/*
 * transition.h -- the steps by which one world becomes another.
 */
#ifndef BWL_LAB_WORLD_TRANSITION_H
#define BWL_LAB_WORLD_TRANSITION_H

#include "core/core.h"

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
    BWL_CHOICE_HALT, /* the server carries nothing out                                           */
    BWL_CHOICE_GO_ON,
    BWL_CHOICE_TIME_OUT, /* an answer is late: the engine breaks the connection                  */
} bwl_choice_kind;

typedef struct bwl_choice {
    uint8_t kind; /* a bwl_choice_kind                                                          */
    uint8_t client;
    uint8_t which;
    uint8_t server : 4;
    uint8_t chance : 4; /* the random bits that come with the event                              */
} bwl_choice;

/* SERVE: the server does not know the script. */
enum { BWL_WHICH_NOSCRIPT = 7 };

enum { BWL_CHOICES_MAX = 96 };

typedef struct bwl_choices {
    unsigned   count;
    bwl_choice list[BWL_CHOICES_MAX];
} bwl_choices;

static inline void bwl_choices_add(bwl_choices *choices, bwl_choice_kind kind, unsigned client,
                                   unsigned which)
{
    assert(choices->count < BWL_CHOICES_MAX);
    choices->list[choices->count++] = (bwl_choice){
        .kind   = (uint8_t)kind,
        .client = (uint8_t)client,
        .which  = (uint8_t)which,
    };
}

#endif
