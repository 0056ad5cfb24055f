/*
 * symfony.c -- RedisStore of Symfony as src/protocol/symfony.c has it: what holds, and
 * what each of its rules is there for.
 *
 * A scenario that breaks differs from one that holds by the rule that is left out alone.
 */
#include "core/compat_rules.h"
#include "lab/mutant/symfony.h"
#include "lab/scenario/tables.h"
#include "protocol/framework_lock.h"

enum { AHEAD_MS = 40 }; /* more than a lease */

/* With the tokens that the lab hands out. */
static const bwl_compat_rules rules = { .value = BWL_VALUE_TOKEN };

#define SYMFONY .protocol = &bwl_symfony, .terms = { .rules = &rules }

static const bwl_scenario table[] = {
    ROW("symfony-calm", "nothing goes wrong", SYMFONY, .rounds = 2),
    ROW("symfony-loss", "a connection breaks, and what was written may be carried out much later",
        SYMFONY, .budget = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 }),
    ROW("symfony-crash", "a client dies at any moment, and begins anew", SYMFONY, .rounds = 2,
        .budget = { [BWL_SLOW] = 1, [BWL_CRASH] = 1 }),
    ROW("symfony-denial", "the server says not now, or no permission, in place of any answer",
        SYMFONY, .budget = { [BWL_SLOW] = 1, [BWL_LOSS] = 1, [BWL_DENIAL] = 1, [BWL_REFUSAL] = 1 }),
    ROW("symfony-stranger", "another program sets the key to a value of another kind", SYMFONY,
        .invariants = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_FOREIGN | BWL_INVARIANT_TOLD |
                      BWL_INVARIANT_HEEDS_NO,
        .budget = { [BWL_SLOW] = 1, [BWL_STRANGER] = 1 }),
    ROW("symfony-clock",
        "the clock of one client is ahead by more than a lease: scores are the server's", SYMFONY,
        .clocks.skew_ms = { 0, AHEAD_MS }, .invariants = BWL_INVARIANT_ONE_HOLDER,
        .budget = { [BWL_SLOW] = 1 }),

    /* ---- what breaks without a rule ---------------------------------------------------------- */
    ROW("symfony-clock-of-clients",
        "the same clocks, and scores by the client's: it removes a member that has not ended",
        .protocol = &bwl_mutant_symfony_clock, .terms = { .rules = &rules },
        .clocks.skew_ms = { 0, AHEAD_MS }, .budget = { [BWL_SLOW] = 1 },
        BREAKS_ONLY(ONE_HOLDER, 6)),
    ROW("symfony-release-blind", "a release deletes the key without looking for its member",
        SYMFONY, .mutations = BWL_MUTATION_DELETE_BLIND,
        .budget = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 }, BREAKS_ONLY(OWN_KEY, 8)),
    ROW("symfony-release-blind-two", "... and a third client comes in beside the second", SYMFONY,
        .mutations = BWL_MUTATION_DELETE_BLIND, .clients = 3,
        .budget = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 }, BREAKS_ONLY(ONE_HOLDER, 12)),
    ROW("symfony-enters", "an acquire adds its member beside another's", SYMFONY,
        .mutations = BWL_MUTATION_SET_OVERWRITES, BREAKS_ONLY(ONE_HOLDER, 6)),
    ROW("symfony-late-write", "there is no fence: the write of a holder that was stopped is taken",
        SYMFONY, .budget = { [BWL_SLOW] = 4, [BWL_WRITE] = 2 }, BREAKS_ONLY(FENCE, 11)),
};

const bwl_scenario_table bwl_scenarios_of_symfony = { table, sizeof table / sizeof table[0] };
