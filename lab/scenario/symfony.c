/*
 * symfony.c -- RedisStore of Symfony as src/protocol/symfony.c has it: what holds, and
 * what each of its rules is there for.
 *
 * A scenario that breaks differs from one that holds by the rule that is left out alone.
 */
#include "core/rules.h"
#include "lab/mutant/symfony.h"
#include "lab/scenario/tables.h"
#include "protocol/protocol.h"

enum { AHEAD_MS = 40 }; /* more than a lease */

/* With the tokens that the lab hands out. */
static const bwl_rules rules = { .value = BWL_VALUE_TOKEN };

#define SYMFONY .protocol = &bwl_symfony, .terms = { .rules = &rules }

static const bwl_scenario table[] = {
    { .name = "symfony-calm", .story = "nothing goes wrong", SYMFONY, .rounds = 2 },
    { .name  = "symfony-loss",
      .story = "a connection breaks, and what was written may be carried out much later",
      SYMFONY,
      .budget = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 } },
    { .name  = "symfony-crash",
      .story = "a client dies at any moment, and begins anew",
      SYMFONY,
      .rounds = 2,
      .budget = { [BWL_SLOW] = 1, [BWL_CRASH] = 1 } },
    { .name  = "symfony-denial",
      .story = "the server says not now, or no permission, in place of any answer",
      SYMFONY,
      .budget = { [BWL_SLOW] = 1, [BWL_LOSS] = 1, [BWL_DENIAL] = 1, [BWL_REFUSAL] = 1 } },
    { .name  = "symfony-stranger",
      .story = "another program sets the key to a value of another kind",
      SYMFONY,
      .invariants = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_FOREIGN | BWL_INVARIANT_TOLD |
                    BWL_INVARIANT_HEEDS_NO,
      .budget = { [BWL_SLOW] = 1, [BWL_STRANGER] = 1 } },
    { .name  = "symfony-clock",
      .story = "the clock of one client is ahead by more than a lease: scores are the server's",
      SYMFONY,
      .clocks.skew_ms = { 0, AHEAD_MS },
      .invariants     = BWL_INVARIANT_ONE_HOLDER,
      .budget         = { [BWL_SLOW] = 1 } },

    /* ---- what breaks without a rule ---------------------------------------------------------- */
    { .name = "symfony-clock-of-clients",
      .story =
          "the same clocks, and scores by the client's: it removes a member that has not ended",
      .protocol       = &bwl_mutant_symfony_clock,
      .terms          = { .rules = &rules },
      .clocks.skew_ms = { 0, AHEAD_MS },
      .invariants     = BWL_INVARIANT_ONE_HOLDER,
      .budget         = { [BWL_SLOW] = 1 },
      .breaks         = BWL_INVARIANT_ONE_HOLDER,
      .steps          = 6 },
    { .name  = "symfony-release-blind",
      .story = "a release deletes the key without looking for its member",
      SYMFONY,
      .mutations  = BWL_MUTATION_DELETE_BLIND,
      .invariants = BWL_INVARIANT_OWN_KEY,
      .budget     = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 },
      .breaks     = BWL_INVARIANT_OWN_KEY,
      .steps      = 8 },
    { .name  = "symfony-release-blind-two",
      .story = "... and a third client comes in beside the second",
      SYMFONY,
      .mutations  = BWL_MUTATION_DELETE_BLIND,
      .invariants = BWL_INVARIANT_ONE_HOLDER,
      .clients    = 3,
      .budget     = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 },
      .breaks     = BWL_INVARIANT_ONE_HOLDER,
      .steps      = 12 },
    { .name  = "symfony-enters",
      .story = "an acquire adds its member beside another's",
      SYMFONY,
      .mutations  = BWL_MUTATION_SET_OVERWRITES,
      .invariants = BWL_INVARIANT_ONE_HOLDER,
      .breaks     = BWL_INVARIANT_ONE_HOLDER,
      .steps      = 6 },
    { .name  = "symfony-late-write",
      .story = "there is no fence: the write of a holder that was stopped is taken",
      SYMFONY,
      .invariants = BWL_INVARIANT_FENCE,
      .budget     = { [BWL_SLOW] = 4, [BWL_WRITE] = 2 },
      .breaks     = BWL_INVARIANT_FENCE,
      .steps      = 11 },
};

const bwl_scenario_table bwl_scenarios_of_symfony = { table, sizeof table / sizeof table[0] };
