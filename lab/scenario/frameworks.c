/*
 * frameworks.c -- RLock of Redisson and RedisStore of Symfony, as in
 * src/protocol/token.c: the invariants that hold, and the purpose of each of their rules.
 *
 * A scenario that breaks differs from one that holds only by the omitted rule.
 */
#include "lab/mutant/mutant.h"
#include "lab/scenario/tables.h"
#include "protocol/token_lock.h"

enum { AHEAD_MS = 40 }; /* more than a lease */

/* With the tokens of the lab. */
static const bwl_compat_rules fenced = { .value = BWL_VALUE_TOKEN, .counts_fences = true };

#define RLOCK   OF(redisson), BY_RULES(token)
#define FENCED  OF(redisson), .options.rules = &fenced
#define SYMFONY OF(symfony), BY_RULES(token)

/* The key has a value of another kind. */
#define FINDS_FOREIGN_LOCK                                                                 \
    .invariants = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_FOREIGN | BWL_INVARIANT_REPORTED | \
                  BWL_INVARIANT_HEEDS_NO,                                                  \
    SLOW(1), FOREIGN_LOCK(1)

static const bwl_scenario table[] = {
    ROW("redisson-calm", "nothing goes wrong", RLOCK, .rounds = 2),
    ROW("redisson-loss", "a connection breaks, and its requests may be executed much later", RLOCK,
        SLOW(2), LOSS(1)),
    ROW("redisson-crash", "a client dies at any moment, and restarts", RLOCK, .rounds = 2, SLOW(1),
        CRASH(1)),
    ROW("redisson-denial",
        "the server returns a temporary error, or no permission, in place of any reply", RLOCK,
        SLOW(1), LOSS(1), DENIAL(1), REFUSAL(1)),
    ROW("redisson-foreign", "another program sets the key to a value of another kind", RLOCK,
        FINDS_FOREIGN_LOCK),
    ROW("redisson-fenced", "a holder that was stopped writes: the resource rejects it by the fence",
        FENCED, .invariants = BWL_INVARIANT_FENCE, SLOW(3), WRITE(2)),

    /* ---- what breaks without a rule ---------------------------------------------------------- */
    ROW("redisson-release-blind", "a release deletes the key without looking for its field", RLOCK,
        PLANTED(DELETE_BLIND), SLOW(2), LOSS(1), BREAKS_ONLY(OWN_KEY, 8)),
    ROW("redisson-release-blind-two", "... and a third client comes in beside the second", RLOCK,
        PLANTED(DELETE_BLIND), .clients = 3, SLOW(2), LOSS(1), BREAKS_ONLY(ONE_HOLDER, 12)),
    ROW("redisson-extend-blind", "a renewal lengthens the key without looking for its field", RLOCK,
        PLANTED(EXTEND_BLIND),
        .invariants = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_HEEDS_NO | BWL_INVARIANT_ONE_HOLDER,
        SLOW(2), LOSS(1), BREAKS(OWN_KEY, 12)),
    ROW("redisson-late-write",
        "without the counter of RFencedLock, the write of a holder that was stopped is taken",
        RLOCK, SLOW(4), WRITE(2), BREAKS_ONLY(FENCE, 11)),
    ROW("redisson-fence-forgotten",
        "a server restarts empty and counts from 1: a stale holder's write is accepted", FENCED,
        .rounds = 2, RESTART(1), WRITE(2), BREAKS_ONLY(FENCE, 9)),
    ROW("redisson-enters", "an acquire takes a key that has another's field", RLOCK,
        PLANTED(SET_OVERWRITES), BREAKS_ONLY(ONE_HOLDER, 6)),
    ROW("redisson-lasts",
        "an acquire without PEXPIRE: a holder dies, and no client ever gets the lock again", RLOCK,
        PLANTED(SET_LASTS), FOR_EVER, CRASH(1), BREAKS_ONLY(LIVE, 3)),

    ROW("symfony-calm", "nothing goes wrong", SYMFONY, .rounds = 2),
    ROW("symfony-loss", "a connection breaks, and its requests may be executed much later", SYMFONY,
        SLOW(2), LOSS(1)),
    ROW("symfony-crash", "a client dies at any moment, and restarts", SYMFONY, .rounds = 2, SLOW(1),
        CRASH(1)),
    ROW("symfony-denial",
        "the server returns a temporary error, or no permission, in place of any reply", SYMFONY,
        SLOW(1), LOSS(1), DENIAL(1), REFUSAL(1)),
    ROW("symfony-foreign", "another program sets the key to a value of another kind", SYMFONY,
        FINDS_FOREIGN_LOCK),
    ROW("symfony-clock",
        "the clock of one client is ahead by more than a lease: scores are the server's", SYMFONY,
        AHEAD(AHEAD_MS), .invariants = BWL_INVARIANT_ONE_HOLDER, SLOW(1)),

    /* ---- what breaks without a rule ---------------------------------------------------------- */
    ROW("symfony-clock-of-clients",
        "the same clocks, and scores by the client's: it removes a member that has not ended",
        OF(mutant_symfony_clock), BY_RULES(token), AHEAD(AHEAD_MS), SLOW(1),
        BREAKS_ONLY(ONE_HOLDER, 6)),
    ROW("symfony-release-blind", "a release deletes the key without looking for its member",
        SYMFONY, PLANTED(DELETE_BLIND), SLOW(2), LOSS(1), BREAKS_ONLY(OWN_KEY, 8)),
    ROW("symfony-release-blind-two", "... and a third client comes in beside the second", SYMFONY,
        PLANTED(DELETE_BLIND), .clients = 3, SLOW(2), LOSS(1), BREAKS_ONLY(ONE_HOLDER, 12)),
    ROW("symfony-enters", "an acquire adds its member beside another's", SYMFONY,
        PLANTED(SET_OVERWRITES), BREAKS_ONLY(ONE_HOLDER, 6)),
    ROW("symfony-late-write", "there is no fence: the write of a holder that was stopped is taken",
        SYMFONY, SLOW(4), WRITE(2), BREAKS_ONLY(FENCE, 11)),
};

const bwl_scenario_table bwl_scenarios_of_frameworks = { table, sizeof table / sizeof table[0] };
