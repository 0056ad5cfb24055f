/*
 * getset.c -- setnx-getset, with the parameters of each article, and with the server's clock.
 *
 * The leases are short, in the unit of the protocol.  A stale key is left from a former holder, and
 * has expired when the world begins.
 */
#include "lab/scenario/tables.h"
#include "protocol/articles.h"
#include "protocol/protocol.h"

#define IN_SECONDS(RULES) .options.rules = &bwl_compat_rules_##RULES, .terms.lease_ms = 2000
#define IN_MS(RULES)      .options.rules = &bwl_compat_rules_##RULES

#define GETSET(NAME, STORY, TERMS, ...) \
    ROW("getset-" NAME, STORY, .protocol = &bwl_setnx_getset, TERMS, __VA_ARGS__)

/* The same rows for each set of rules: the invariants that hold when nothing is late, the size of
 * clock steps, and the number of steps in which a late DEL breaks the lock. */
#define FAMILY(NAME, TERMS, CALM, STEP_MS, LATE_STEPS)                                             \
    GETSET(NAME "-calm", "each once, and nothing is late", TERMS, .invariants = CALM),             \
        GETSET(NAME "-stale", "one client takes over an expired key", TERMS,                       \
               .invariants = INVARIANTS_EXCLUSION, .server.stale = true),                          \
        GETSET(NAME "-stale-three", "... of three", TERMS, .invariants = INVARIANTS_EXCLUSION,     \
               .clients = 3, .tries_once = true, .server.stale = true),                            \
        GETSET(NAME "-moved", "a loser has moved the winner's stamp", TERMS, .server.stale = true, \
               BREAKS_ONLY(HONEST, 17)),                                                           \
        GETSET(NAME "-skew", "a client whose clock is ahead takes a lock that is held", TERMS,     \
               .invariants = INVARIANTS_EXCLUSION, .clocks.skew_ms = { 0, STEP_MS },               \
               BREAKS(ONE_HOLDER, 12)),                                                            \
        GETSET(NAME "-wall", "... or one whose clock steps", TERMS,                                \
               .invariants = INVARIANTS_EXCLUSION, .clocks.wall_ms = STEP_MS, WALL(1),             \
               BREAKS(ONE_HOLDER, 13)),                                                            \
        GETSET(NAME "-late", "a late DEL removes the next holder's lock", TERMS, SLOW(2),          \
               BREAKS_ONLY(OWN_KEY, LATE_STEPS)),                                                  \
        GETSET(NAME "-crash", "a holder dies, and another gets the lock later", TERMS,             \
               .invariants = BWL_INVARIANT_LIVE, .tries_once = true, .rounds = BWL_ANY, CRASH(1))

static const bwl_scenario table[] = {
    FAMILY("seconds", IN_SECONDS(seconds), INVARIANTS_CALM, 3000, 15),
    FAMILY("buffers", IN_MS(buffers), INVARIANTS_EXCLUSION | BWL_INVARIANT_OWN_KEY, 40, 29),
    FAMILY("jedis", IN_MS(jedis), INVARIANTS_CALM, 40, 27),
    FAMILY("lock-foo", IN_MS(lock_foo), INVARIANTS_CALM, 40, 27),

    /* ---- setnx-getset by the server's clock: our own variant --------------------------------- */
    GETSET("server-slow", "nothing is moved, nobody else's is removed, however late",
           IN_SECONDS(server),
           .invariants = INVARIANTS_EXCLUSION | BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_HONEST |
                         BWL_INVARIANT_TOLD,
           .rounds = 2, SLOW(2)),
    GETSET("server-stale", "a key that others have left is taken over by one", IN_SECONDS(server),
           .invariants = INVARIANTS_EXCLUSION | BWL_INVARIANT_HONEST, .server.stale = true,
           SLOW(1)),
    GETSET("server-skew", "the clients' clocks do not matter", IN_SECONDS(server),
           .invariants     = INVARIANTS_EXCLUSION | BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_HONEST,
           .clocks.skew_ms = { 0, 3000 }, SLOW(1)),
    GETSET("server-loss", "a connection breaks, and what was written comes later",
           IN_SECONDS(server),
           .invariants = INVARIANTS_EXCLUSION | BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_HONEST,
           SLOW(1), LOSS(1)),
};

const bwl_scenario_table bwl_scenarios_of_getset = { table, sizeof table / sizeof table[0] };
