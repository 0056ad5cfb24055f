/*
 * scenario.h -- what is explored: who takes part, what may go wrong and how often, what must hold.
 *
 * Faults are budgets.  SLOW pays for time that passes while somebody has something to do: with none
 * of it the world is synchronous, with ANY of it nothing is known about how long things take.  The
 * smallest budget that breaks a law is what the protocol assumes.
 */
#ifndef BWL_LAB_SCENARIO_H
#define BWL_LAB_SCENARIO_H

#include "core/core.h"
#include "hold/hold.h"
#include "lab/law.h"
#include "lab/twist.h"

typedef enum bwl_budget {
    BWL_SLOW = 1, /* time passes although a message or an alarm is due                          */
    BWL_LOSS,     /* a connection breaks; what was written may still be carried out later       */
    BWL_CRASH,    /* a client is gone, with all it knew                                         */
    BWL_DENIAL,   /* the server answers LATER                                                   */
    BWL_REFUSAL,  /* the server answers REFUSED                                                 */
    BWL_RESTART,  /* the server comes back empty                                                */
    BWL_JUMP,     /* the server's clock steps                                                   */
    BWL_CANCEL,   /* not a fault: the caller cancels                                            */
    BWL_EXTEND_BY_CALLER,
    BWL_BUDGETS_COUNT,
} bwl_budget;

enum { BWL_CLIENTS_MAX = 3, BWL_ANY = 255 };

/* In the table, 0 stands for what is usual; it is replaced by that before anything is explored. */
typedef struct bwl_scenario {
    const char         *name;
    const char         *story;
    const bwl_protocol *protocol;  /* token                                                       */
    bwl_terms           terms;     /* lease 30, answer 15, no end; `renews` unless never_renews   */
    bwl_ms              wait_ms;   /* how long an acquire waits (45); NEVER: for ever             */
    bwl_ms              extend_ms; /* what a caller who extends asks for (20)                     */
    bwl_ms              jump_ms;   /* how far the server's clock steps                            */
    unsigned server_pace;          /* hundredths of a ms of the server's in one of ours (100)     */
    unsigned clients;              /* 2 .. CLIENTS_MAX (2)                                        */
    unsigned rounds;               /* how often each acquires (1); ANY: for ever                  */
    unsigned twists;               /* flags of bwl_twist                                          */
    unsigned laws;                 /* flags of bwl_law (all but LIVE and NO_OVERLAP)              */
    bool     tries_once;           /* instead of waiting                                          */
    bool     never_renews;
    bool     fine;   /* also stop one millisecond before each instant of interest                 */
    bool    chances; /* pauses of two lengths                                                     */
    bool    is_vast; /* only walked at random in a test: too large to visit every state           */
    uint8_t budget[BWL_BUDGETS_COUNT];

    /* What should come out: the law that breaks, and in how many steps; or 0: none.             */
    unsigned breaks;
    unsigned steps;
} bwl_scenario;

size_t bwl_scenarios_count(void);

/* Complete, with everything that is usual. */
bwl_scenario bwl_scenario_at(size_t i);

/* False if there is none of this name. */
bool bwl_scenario_find(const char *name, size_t *ret_i);

#endif
