/*
 * world.h -- the state of the model: clients, servers, messages, and the remaining fault budget.
 *
 * A world is plain data.  The search copies it before each transition.
 *
 * Each client has one link to each server.  Messages stay in order: the first `answered` are
 * executed, or cut off, and wait for delivery.  When a connection breaks, commands that were
 * written and not executed become `late`: the server may execute them at any later time, and no
 * client receives the answer.  So a lock can appear that no client knows.
 */
#pragma once

#include "lock/machine.h"
#include "lab/base/token_number.h"
#include "lab/world/server.h"
#include "lab/world/transition.h"
#include <string.h>

enum {
    BWL_BEGINNING_MS = 1000000, /* far from 0, which means "not set" */
};

/* The true wall time at the start. */
#define BWL_BEGINNING_WALL_MS INT64_C(1700000000000)

/* ---- a client's monotonic clock, which may run too fast or too slow -------------------------- */

/* The world counts true milliseconds.  A client reads whole milliseconds of its own clock.  Its
 * wall clock runs at the same rate. */

enum { BWL_PACE_TRUE = 100 };

typedef struct bwl_lab_clock {
    bwl_ms   now;     /* the deadlines of the hold are on this clock */
    uint16_t pace;    /* hundredths of a ms per true ms */
    uint8_t  beyond;  /* hundredths of a ms beyond `now` */
    bwl_ms   skew_ms; /* how far its wall clock is ahead */
} bwl_lab_clock;

/* Advances by true milliseconds. */
static inline void bwl_client_clock_passes(bwl_lab_clock *c, bwl_ms by)
{
    bwl_ms hundredths = c->beyond + by * c->pace;

    c->now += hundredths / BWL_PACE_TRUE;
    c->beyond = (uint8_t)(hundredths % BWL_PACE_TRUE);
}

/* The distance to `at`, in hundredths of the clock's own milliseconds. */
static inline int64_t bwl_client_clock_is_off(const bwl_lab_clock *c, bwl_ms at)
{
    if (at == BWL_NEVER)
        return BWL_NEVER;
    return (at - c->now) * BWL_PACE_TRUE - c->beyond;
}

/* The number of whole true milliseconds until the clock reads `at`, which is in the future. */
static inline bwl_ms bwl_client_clock_reads_in(const bwl_lab_clock *c, bwl_ms at)
{
    assert(at > c->now);
    return (bwl_client_clock_is_off(c, at) + c->pace - 1) / c->pace;
}

/* ---- clients, and the world ------------------------------------------------------------------ */

typedef struct bwl_lab_caller {
    bool   is_working;       /* it works under the lock */
    bool   has_final_result; /* nothing may follow it */
    bool   extends;          /* it has called extend */
    bool   releases;         /* it has released */
    bool   cancels;          /* it has cancelled */
    bool   changes;          /* extends: and the extension changes the mode */
    bool   yields;           /* it has yielded and waits */
    bwl_ms due_by;           /* the deadline of its result, if nothing was slow */
    bwl_ms extended_at;      /* when it called extend */
    bwl_ms trusts_until;     /* the end of a lost hold as last reported; 0: none, or released */
    bwl_ms held_since;       /* when it got the lock */
} bwl_lab_caller;

/* Facts about a round that no program knows but invariants need. */
typedef struct bwl_lab_book {
    bool     was_slow;     /* it did not run when it was due */
    bool     was_kept;     /* time passed although a step was due */
    bool     is_removed;   /* a release has removed the key */
    bool     is_of_old;    /* its lock is from before a restart */
    uint8_t  asked_now;    /* commands at this instant without a request of the caller */
    uint32_t came;         /* the order of its arrival at the server; 0: not yet */
    uint32_t grant_number; /* the order of its grant; 0: none */
    uint32_t fence;        /* the fence of its grant; 0: none */
} bwl_lab_book;

typedef struct bwl_lab_client {
    bwl_hold       hold;
    bwl_lab_clock  clock;
    bwl_lab_caller caller;
    bwl_lab_book   book;
    bwl_ms         wake_at;
    uint16_t       tokens; /* used so far */
    uint8_t        rounds_left;
    uint8_t        round;
    bool           is_running; /* there is a hold */
    bool           is_unaware; /* the server restarted, and it has not reconnected */
} bwl_lab_client;

/* The protected resource, which checks the fence if there is one. */
typedef struct bwl_resource {
    uint64_t fence;        /* the highest that it accepted */
    uint32_t grant_number; /* of the holder that wrote last */
} bwl_resource;

typedef struct bwl_world {
    const bwl_scenario *scenario;
    bwl_ms              now;      /* true time: each client has its own clock */
    bwl_model_data      saved;    /* the snapshot: RESTORE */
    bwl_model_data      previous; /* the data before the last change: FAILOVER */
    bwl_resource        resource;
    uint32_t            arrivals;     /* so far: see `came` */
    uint32_t            grants_count; /* so far: see `grant_number` */
    uint32_t            fences;       /* so far, by the server's count */
    bool                got_lock;     /* a client got the lock in the last step */
    bool                is_released;  /* a client has released it in time, and none got it since */
    unsigned            broken;       /* invariants that the last step broke */
    uint8_t             left[BWL_BUDGETS_COUNT];
    bwl_lab_client      clients[BWL_CLIENTS_MAX];
    bwl_lab_waiting     waiting; /* protocols with a queue only */
    bwl_server          servers[BWL_SERVERS_MAX];
} bwl_world;

void bwl_world_start(bwl_world *w, const bwl_scenario *s);

/* The only server of a world with one. */
enum { BWL_ONLY = 0 };

/* The parts of a world that a scenario uses; the rest never changes. */
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

void bwl_world_transitions(const bwl_world *w, bwl_transitions *ret_transitions);

/* Performs a transition.  Sets w->broken to the invariants that the step itself broke. */
void bwl_world_perform(bwl_world *w, bwl_transition transition);

/* The budget that pays for the transition; NONE if it is free. */
bwl_budget bwl_transition_budget(const bwl_world *w, bwl_transition transition);
bwl_actor  bwl_transition_actor(bwl_transition transition);

/* The names in files: "start", "serve", "deliver" ...; 0: no transition has this name. */
const char *bwl_transition_name(unsigned kind);
unsigned    bwl_transition_named(const char *name);

/* What happens; NULL: it depends on the world. */
const char *bwl_transition_sentence(unsigned kind);

/* True if a budget pays for the transition. */
bool bwl_transition_is_fault(const bwl_world *w, bwl_transition transition);

/* The next instant at which time alone changes something; NEVER if there is none. */
bwl_ms bwl_world_next_instant(const bwl_world *w);

/* True if the answer to the oldest command is overdue.  Only where a server may stop: elsewhere the
 * budget LOSS limits how often a connection breaks. */
bool bwl_world_is_overdue(const bwl_world *w, const bwl_link *link);

bool bwl_world_is_urgent(const bwl_world *w);

/* True if messages have a time: where a server may stop, or their delay has a limit. */
static inline bool bwl_world_counts_delays(const bwl_scenario *s)
{
    return s->budget[BWL_STOP] > 0 || s->clocks.delay_ms > 0;
}

/* When the delay of a message under way reaches its limit; NEVER: none has one.  Time does not pass
 * beyond it. */
bwl_ms bwl_world_delay_ends(const bwl_world *w);

unsigned bwl_world_broken_invariants(const bwl_world *w);

/* For a world without transitions: true if nothing is left. */
bool bwl_world_ended_clean(const bwl_world *w);

/* The client's wall time; 0 if its protocol does not read it. */
int64_t bwl_world_wall_ns(const bwl_world *w, unsigned client);

/* True if no client's wall clock is behind the true one or can get there. */
bool bwl_world_has_no_clock_behind(const bwl_world *w);

/* For how long the client believes that it holds the lock. */
static inline bwl_ms bwl_world_believes(const bwl_world *w, unsigned client)
{
    const bwl_lab_client *c = &w->clients[client];

    return c->is_running ? bwl_hold_left(&c->hold, c->clock.now) : 0;
}

/* The token number of the client's current attempt: base/token_number.h. */
uint16_t bwl_world_token_of(const bwl_world *w, unsigned client);

/* The number of servers whose key has this token and was not set by a late command. */
unsigned bwl_world_votes(const bwl_world *w, uint16_t token);

bool bwl_world_awaits(const bwl_world *w, unsigned client);

bool bwl_world_used(const bwl_world *w, bwl_budget budget);

/* The normal form of a world: two worlds with the same fingerprint have the same future.
 *
 * The fingerprint leaves out what cannot matter: absolute time (times count from now; all past
 * times are equal, because a machine only checks whether a time has come), the names of tokens and
 * tags, the order of equal clients and servers, and state that a machine no longer reads.  If a
 * machine did read it, the search could take two different worlds for one and miss the second.
 * `plain` leaves out absolute time and names only: it visits more worlds and must reach the same
 * verdict.  Never 0. */
uint64_t bwl_world_fingerprint(const bwl_world *w, bool plain);
