/*
 * symfony.c -- RedisStore of Symfony as in src/protocol/token.c: the invariants that hold,
 * and the purpose of each of its rules.
 *
 * A scenario that breaks differs from one that holds only by the omitted rule.
 */
#include "lab/mutant/symfony.h"
#include "lab/scenario/tables.h"
#include "protocol/token_lock.h"

enum { AHEAD_MS = 40 }; /* more than a lease */

#define SYMFONY .protocol = &bwl_symfony, BY_RULES(token)

static const bwl_scenario table[] = {
    ROW("symfony-calm", "nothing goes wrong", SYMFONY, .rounds = 2),
    ROW("symfony-loss", "a connection breaks, and its requests may be executed much later", SYMFONY,
        SLOW(2), LOSS(1)),
    ROW("symfony-crash", "a client dies at any moment, and restarts", SYMFONY, .rounds = 2, SLOW(1),
        CRASH(1)),
    ROW("symfony-denial",
        "the server returns a temporary error, or no permission, in place of "
        "any reply",
        SYMFONY, SLOW(1), LOSS(1), DENIAL(1), REFUSAL(1)),
    ROW("symfony-stranger", "another program sets the key to a value of another kind", SYMFONY,
        .invariants = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_FOREIGN | BWL_INVARIANT_TOLD |
                      BWL_INVARIANT_HEEDS_NO,
        SLOW(1), STRANGER(1)),
    ROW("symfony-clock",
        "the clock of one client is ahead by more than a lease: scores are the server's", SYMFONY,
        .clocks.skew_ms = { 0, AHEAD_MS }, .invariants = BWL_INVARIANT_ONE_HOLDER, SLOW(1)),

    /* ---- what breaks without a rule ---------------------------------------------------------- */
    ROW("symfony-clock-of-clients",
        "the same clocks, and scores by the client's: it removes a member that has not ended",
        .protocol = &bwl_mutant_symfony_clock, BY_RULES(token), .clocks.skew_ms = { 0, AHEAD_MS },
        SLOW(1), BREAKS_ONLY(ONE_HOLDER, 6)),
    ROW("symfony-release-blind", "a release deletes the key without looking for its member",
        SYMFONY, .mutations = BWL_MUTATION_DELETE_BLIND, SLOW(2), LOSS(1), BREAKS_ONLY(OWN_KEY, 8)),
    ROW("symfony-release-blind-two", "... and a third client comes in beside the second", SYMFONY,
        .mutations = BWL_MUTATION_DELETE_BLIND, .clients = 3, SLOW(2), LOSS(1),
        BREAKS_ONLY(ONE_HOLDER, 12)),
    ROW("symfony-enters", "an acquire adds its member beside another's", SYMFONY,
        .mutations = BWL_MUTATION_SET_OVERWRITES, BREAKS_ONLY(ONE_HOLDER, 6)),
    ROW("symfony-late-write", "there is no fence: the write of a holder that was stopped is taken",
        SYMFONY, SLOW(4), WRITE(2), BREAKS_ONLY(FENCE, 11)),
};

const bwl_scenario_table bwl_scenarios_of_symfony = { table, sizeof table / sizeof table[0] };
