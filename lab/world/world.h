/*
 * world.h -- everything that there is, at one moment: the clients with their machines, the server,
 * what is under way between them, and which faults may still happen.
 *
 * A world is plain data.  It is copied before each transition, so that every other transition can
 * be tried from the same moment.
 *
 * Each client has one connection.  Its messages are kept in the order in which they were asked; the
 * first of them, `answered`, have been carried out and their answers are on the way back, or have
 * been cut off and the client is yet to hear of it.  When a connection breaks, what was written and
 * not carried out becomes `late`: the server may carry it out at any later time, and nobody hears
 * of it.  That is where a lock is found that nobody remembers to have asked for.
 */
#ifndef BWL_LAB_WORLD_WORLD_H
#define BWL_LAB_WORLD_WORLD_H

#include "lock/machine.h"
#include "lab/base/token_number.h"
#include "lab/world/client_clock.h"
#include "lab/world/server.h"
#include "lab/world/transition.h"
#include "lab/world/waiting_state.h"
#include "protocol/store/redis.h"
#include <string.h>

enum {
    BWL_BEGINNING_MS = 1000000, /* far from 0, so that no moment is confused with "never set" */
};

/* The true time of day at the beginning. */
#define BWL_BEGINNING_WALL_MS INT64_C(1700000000000)

/* What the caller of a client does and was told. */
typedef struct bwl_lab_caller {
    bool   is_working;   /* it does what the lock is for */
    bool   is_told_end;  /* it knows how it ended */
    bool   extends;      /* it has asked for an extension */
    bool   releases;     /* it has released */
    bool   cancels;      /* it has cancelled */
    bool   yields;       /* it has given the lock on, and waits to have it again */
    bwl_ms due_by;       /* when it must know, if time has not passed too soon */
    bwl_ms extended_at;  /* when it asked for an extension */
    bwl_ms trusts_until; /* what it was told of a hold that is lost; 0: nothing, or given back */
    bwl_ms held_since;   /* when it was told that it has the lock */
} bwl_lab_caller;

/* What no program knows, and an invariant asks, of one round of a client. */
typedef struct bwl_lab_book {
    bool     was_slow;   /* it works, and did not look when its time was over */
    bool     was_kept;   /* time passed although somebody had something to do */
    bool     is_removed; /* a release has removed the key */
    bool     is_of_old;  /* it holds what the server gave before it was started anew */
    uint8_t  asked_now;  /* at this very moment, and not because the caller wanted something */
    uint32_t came;       /* the how many-eth whose acquire reached the server; 0: none did */
    uint32_t turn;       /* the how many-eth to whom the server gave the lock; 0: it did not */
    uint32_t fence;      /* that the server gave it with the lock; 0: none */
} bwl_lab_book;

typedef struct bwl_lab_client {
    bwl_hold       hold;
    bwl_lab_clock  clock;
    bwl_lab_caller caller;
    bwl_lab_book   book;
    bwl_ms         wake_at;
    uint16_t       tokens; /* drawn so far */
    uint8_t        rounds_left;
    uint8_t        round;
    bool           is_running; /* there is a hold */
    bool           is_unaware; /* the server was started anew, and it has not connected since */
} bwl_lab_client;

/* What the lock protects, which looks at the fence if there is one. */
typedef struct bwl_resource {
    uint64_t fence; /* the highest that it took */
    uint32_t turn;  /* of whom it last took a write */
} bwl_resource;

typedef struct bwl_world {
    const bwl_scenario *scenario;
    bwl_ms              now;      /* the true time: a client has a clock of its own */
    bwl_model_data      saved;    /* what the server will come back with: RESTORE */
    bwl_model_data      previous; /* before the last change: FAILOVER */
    bwl_resource        resource;
    uint32_t            arrivals; /* so far: see `came` */
    uint32_t            turns;    /* so far: see `turn` */
    uint32_t            fences;   /* so far, by the server's count */
    bool                got_lock; /* in the last step, somebody got the lock */
    unsigned            broken;   /* invariants that the last step broke */
    uint8_t             left[BWL_BUDGETS_COUNT];
    bwl_lab_client      clients[BWL_CLIENTS_MAX];
    bwl_lab_waiting     waiting; /* where the protocol listens; otherwise not there */
    bwl_server          servers[BWL_SERVERS_MAX];
} bwl_world;

void bwl_world_start(bwl_world *w, const bwl_scenario *s);

/* The only server of a world that has one. */
enum { BWL_ONLY = 0 };

/* The parts of a world that a scenario uses: the rest is what it was at the start. */
enum { BWL_PARTS_OF_WORLD_MAX = 2 + BWL_SERVERS_MAX };

typedef struct bwl_world_part {
    size_t offset;
    size_t size;
} bwl_world_part;

typedef struct bwl_world_layout {
    unsigned       count;
    bwl_world_part parts[BWL_PARTS_OF_WORLD_MAX];
} bwl_world_layout;

bwl_world_layout bwl_world_layout_of(const bwl_scenario *s);

static inline void bwl_world_copy(bwl_world *to, const bwl_world *from,
                                  const bwl_world_layout *layout)
{
    for (unsigned i = 0; i < layout->count; i++)
        memcpy((uint8_t *)to + layout->parts[i].offset,
               (const uint8_t *)from + layout->parts[i].offset, layout->parts[i].size);
}

/* ---- what may happen next -------------------------------------------------------------------- */

void bwl_world_transitions(const bwl_world *w, bwl_transitions *ret_transitions);

/* Performs one of them.  Sets w->broken to what the step itself broke. */
void bwl_world_perform(bwl_world *w, bwl_transition transition);

/* What pays for the transition; NONE if it is free. */
bwl_budget bwl_transition_budget(const bwl_world *w, bwl_transition transition);

/* True if the transition is one that a budget pays for. */
bool bwl_transition_is_fault(const bwl_world *w, bwl_transition transition);

/* When something changes by the passing of time alone; NEVER if nothing does. */
bwl_ms bwl_world_next_instant(const bwl_world *w);

/* True if an answer to the oldest question is overdue.  Only where a server may stop: elsewhere the
 * budget LOSS says how often a connection breaks. */
bool bwl_world_is_overdue(const bwl_world *w, const bwl_link *link);

/* True if somebody has something to do at this very moment. */
bool bwl_world_is_urgent(const bwl_world *w);

/* ---- questions about a world ----------------------------------------------------------------- */

/* The invariants that this world breaks, with those that the last step broke. */
unsigned bwl_world_broken_invariants(const bwl_world *w);

/* For a world in which nothing may happen any more. */
bool bwl_world_ended_clean(const bwl_world *w);

/* The client's time of day; 0 if its protocol does not look at it. */
int64_t bwl_world_wall_ns(const bwl_world *w, unsigned client);

/* True if no client's time of day lies behind the true one, or can come to. */
bool bwl_world_has_no_clock_behind(const bwl_world *w);

/* How long the client believes that the lock is surely its own. */
static inline bwl_ms bwl_world_believes(const bwl_world *w, unsigned client)
{
    const bwl_lab_client *c = &w->clients[client];

    return c->is_running ? bwl_hold_left(&c->hold, c->clock.now) : 0;
}

/* The number of a token of ours (see bwl_token_number in base/token_number.h), for the client's
 * claim. */
uint16_t bwl_world_token_of(const bwl_world *w, unsigned client);

/* On how many servers the key has this token, and was not set by a question from a broken
 * connection. */
unsigned bwl_world_votes(const bwl_world *w, uint16_t token);

/* True if the client has asked something and not heard the answer. */
bool bwl_world_awaits(const bwl_world *w, unsigned client);

/* True if a fault of this kind has happened. */
bool bwl_world_used(const bwl_world *w, bwl_budget budget);

#endif
