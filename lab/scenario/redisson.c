/*
 * redisson.c -- RLock of Redisson as src/protocol/redisson.c has it: what holds, and what
 * each of its rules is there for.
 *
 * A scenario that breaks differs from one that holds by the rule that is left out alone.
 */
#include "core/compat_rules.h"
#include "lab/scenario/tables.h"
#include "protocol/framework_lock.h"

/* With the tokens that the lab hands out. */
static const bwl_compat_rules rlock  = { .value = BWL_VALUE_TOKEN };
static const bwl_compat_rules fenced = { .value = BWL_VALUE_TOKEN, .counts_fences = true };

#define REDISSON(RULES) .protocol = &bwl_redisson, .terms = { .rules = (RULES) }

static const bwl_scenario table[] = {
    ROW("redisson-calm", "nothing goes wrong", REDISSON(&rlock), .rounds = 2),
    ROW("redisson-loss", "a connection breaks, and what was written may be carried out much later",
        REDISSON(&rlock), .budget = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 }),
    ROW("redisson-crash", "a client dies at any moment, and begins anew", REDISSON(&rlock),
        .rounds = 2, .budget = { [BWL_SLOW] = 1, [BWL_CRASH] = 1 }),
    ROW("redisson-denial", "the server says not now, or no permission, in place of any answer",
        REDISSON(&rlock),
        .budget = { [BWL_SLOW] = 1, [BWL_LOSS] = 1, [BWL_DENIAL] = 1, [BWL_REFUSAL] = 1 }),
    ROW("redisson-stranger", "another program sets the key to a value of another kind",
        REDISSON(&rlock),
        .invariants = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_FOREIGN | BWL_INVARIANT_TOLD |
                      BWL_INVARIANT_HEEDS_NO,
        .budget = { [BWL_SLOW] = 1, [BWL_STRANGER] = 1 }),
    ROW("redisson-fenced", "a holder that was stopped writes: what is protected tells by the fence",
        REDISSON(&fenced), .invariants = BWL_INVARIANT_FENCE,
        .budget = { [BWL_SLOW] = 3, [BWL_WRITE] = 2 }),

    /* ---- what breaks without a rule ---------------------------------------------------------- */
    ROW("redisson-release-blind", "a release deletes the key without looking for its field",
        REDISSON(&rlock), .mutations = BWL_MUTATION_DELETE_BLIND,
        .budget = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 }, BREAKS_ONLY(OWN_KEY, 8)),
    ROW("redisson-release-blind-two", "... and a third client comes in beside the second",
        REDISSON(&rlock), .mutations = BWL_MUTATION_DELETE_BLIND, .clients = 3,
        .budget = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 }, BREAKS_ONLY(ONE_HOLDER, 12)),
    ROW("redisson-extend-blind", "a renewal lengthens the key without looking for its field",
        REDISSON(&rlock), .mutations = BWL_MUTATION_EXTEND_BLIND,
        .invariants = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_HEEDS_NO | BWL_INVARIANT_ONE_HOLDER,
        .budget     = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 }, BREAKS(OWN_KEY, 12)),
    ROW("redisson-late-write",
        "without the counter of RFencedLock, the write of a holder that was stopped is taken",
        REDISSON(&rlock), .budget = { [BWL_SLOW] = 4, [BWL_WRITE] = 2 }, BREAKS_ONLY(FENCE, 11)),
    ROW("redisson-fence-forgotten",
        "a server restarts empty and counts anew: an old holder's write is taken",
        REDISSON(&fenced), .rounds = 2, .budget = { [BWL_RESTART] = 1, [BWL_WRITE] = 2 },
        BREAKS_ONLY(FENCE, 9)),
    ROW("redisson-enters", "an acquire takes a key that has another's field", REDISSON(&rlock),
        .mutations = BWL_MUTATION_SET_OVERWRITES, BREAKS_ONLY(ONE_HOLDER, 6)),
    ROW("redisson-lasts",
        "an acquire without PEXPIRE: a holder dies, and nobody gets the lock ever again",
        REDISSON(&rlock), .mutations = BWL_MUTATION_SET_LASTS, .tries_once = true,
        .rounds = BWL_ANY, .budget = { [BWL_CRASH] = 1 }, BREAKS_ONLY(LIVE, 3)),
};

const bwl_scenario_table bwl_scenarios_of_redisson = { table, sizeof table / sizeof table[0] };
