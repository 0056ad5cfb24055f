/*
 * redisson.c -- RLock of Redisson as in src/protocol/token.c: the invariants that hold,
 * and the purpose of each of its rules.
 *
 * A scenario that breaks differs from one that holds only by the omitted rule.
 */
#include "lab/scenario/tables.h"
#include "protocol/token_lock.h"

/* With the tokens that the lab hands out. */
static const bwl_compat_rules fenced = { .value = BWL_VALUE_TOKEN, .counts_fences = true };

#define RLOCK  .protocol = &bwl_redisson, BY_RULES(token)
#define FENCED .protocol = &bwl_redisson, .options.rules = &fenced

static const bwl_scenario table[] = {
    ROW("redisson-calm", "nothing goes wrong", RLOCK, .rounds = 2),
    ROW("redisson-loss", "a connection breaks, and its requests may be executed much later", RLOCK,
        SLOW(2), LOSS(1)),
    ROW("redisson-crash", "a client dies at any moment, and restarts", RLOCK, .rounds = 2, SLOW(1),
        CRASH(1)),
    ROW("redisson-denial",
        "the server returns a temporary error, or no permission, in place "
        "of any reply",
        RLOCK, SLOW(1), LOSS(1), DENIAL(1), REFUSAL(1)),
    ROW("redisson-stranger", "another program sets the key to a value of another kind", RLOCK,
        .invariants = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_FOREIGN | BWL_INVARIANT_TOLD |
                      BWL_INVARIANT_HEEDS_NO,
        SLOW(1), STRANGER(1)),
    ROW("redisson-fenced",
        "a holder that was stopped writes: the resource rejects it by the "
        "fence",
        FENCED, .invariants = BWL_INVARIANT_FENCE, SLOW(3), WRITE(2)),

    /* ---- what breaks without a rule ---------------------------------------------------------- */
    ROW("redisson-release-blind", "a release deletes the key without looking for its field", RLOCK,
        .mutations = BWL_MUTATION_DELETE_BLIND, SLOW(2), LOSS(1), BREAKS_ONLY(OWN_KEY, 8)),
    ROW("redisson-release-blind-two", "... and a third client comes in beside the second", RLOCK,
        .mutations = BWL_MUTATION_DELETE_BLIND, .clients = 3, SLOW(2), LOSS(1),
        BREAKS_ONLY(ONE_HOLDER, 12)),
    ROW("redisson-extend-blind", "a renewal lengthens the key without looking for its field", RLOCK,
        .mutations  = BWL_MUTATION_EXTEND_BLIND,
        .invariants = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_HEEDS_NO | BWL_INVARIANT_ONE_HOLDER,
        SLOW(2), LOSS(1), BREAKS(OWN_KEY, 12)),
    ROW("redisson-late-write",
        "without the counter of RFencedLock, the write of a holder that was stopped is taken",
        RLOCK, SLOW(4), WRITE(2), BREAKS_ONLY(FENCE, 11)),
    ROW("redisson-fence-forgotten",
        "a server restarts empty and counts from 1: a stale holder's write is accepted", FENCED,
        .rounds = 2, RESTART(1), WRITE(2), BREAKS_ONLY(FENCE, 9)),
    ROW("redisson-enters", "an acquire takes a key that has another's field", RLOCK,
        .mutations = BWL_MUTATION_SET_OVERWRITES, BREAKS_ONLY(ONE_HOLDER, 6)),
    ROW("redisson-lasts",
        "an acquire without PEXPIRE: a holder dies, and no client ever gets the lock again", RLOCK,
        .mutations = BWL_MUTATION_SET_LASTS, .tries_once = true, .rounds = BWL_ANY, CRASH(1),
        BREAKS_ONLY(LIVE, 3)),
};

const bwl_scenario_table bwl_scenarios_of_redisson = { table, sizeof table / sizeof table[0] };
