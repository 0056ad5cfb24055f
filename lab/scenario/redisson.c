/*
 * redisson.c -- RLock of Redisson as src/protocol/redisson.c has it: what holds, and what
 * each of its rules is there for.
 *
 * A scenario that breaks differs from one that holds by the rule that is left out alone.
 */
#include "core/rules.h"
#include "lab/scenario/tables.h"
#include "protocol/protocol.h"

/* With the tokens that the lab hands out. */
static const bwl_rules rlock  = { .value = BWL_VALUE_TOKEN };
static const bwl_rules fenced = { .value = BWL_VALUE_TOKEN, .counts_fences = true };

#define REDISSON(RULES) .protocol = &bwl_redisson, .terms = { .rules = (RULES) }

static const bwl_scenario table[] = {
    { .name = "redisson-calm", .story = "nothing goes wrong", REDISSON(&rlock), .rounds = 2 },
    { .name  = "redisson-loss",
      .story = "a connection breaks, and what was written may be carried out much later",
      REDISSON(&rlock),
      .budget = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 } },
    { .name  = "redisson-crash",
      .story = "a client dies at any moment, and begins anew",
      REDISSON(&rlock),
      .rounds = 2,
      .budget = { [BWL_SLOW] = 1, [BWL_CRASH] = 1 } },
    { .name  = "redisson-denial",
      .story = "the server says not now, or no permission, in place of any answer",
      REDISSON(&rlock),
      .budget = { [BWL_SLOW] = 1, [BWL_LOSS] = 1, [BWL_DENIAL] = 1, [BWL_REFUSAL] = 1 } },
    { .name  = "redisson-stranger",
      .story = "another program sets the key to a value of another kind",
      REDISSON(&rlock),
      .invariants = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_FOREIGN | BWL_INVARIANT_TOLD |
                    BWL_INVARIANT_HEEDS_NO,
      .budget = { [BWL_SLOW] = 1, [BWL_STRANGER] = 1 } },
    { .name  = "redisson-fenced",
      .story = "a holder that was stopped writes: what is protected tells by the fence",
      REDISSON(&fenced),
      .invariants = BWL_INVARIANT_FENCE,
      .budget     = { [BWL_SLOW] = 3, [BWL_WRITE] = 2 } },

    /* ---- what breaks without a rule ---------------------------------------------------------- */
    { .name  = "redisson-release-blind",
      .story = "a release deletes the key without looking for its field",
      REDISSON(&rlock),
      .mutations  = BWL_MUTATION_DELETE_BLIND,
      .invariants = BWL_INVARIANT_OWN_KEY,
      .budget     = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 },
      .breaks     = BWL_INVARIANT_OWN_KEY,
      .steps      = 8 },
    { .name  = "redisson-release-blind-two",
      .story = "... and a third client comes in beside the second",
      REDISSON(&rlock),
      .mutations  = BWL_MUTATION_DELETE_BLIND,
      .invariants = BWL_INVARIANT_ONE_HOLDER,
      .clients    = 3,
      .budget     = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 },
      .breaks     = BWL_INVARIANT_ONE_HOLDER,
      .steps      = 12 },
    { .name  = "redisson-extend-blind",
      .story = "a renewal lengthens the key without looking for its field",
      REDISSON(&rlock),
      .mutations  = BWL_MUTATION_EXTEND_BLIND,
      .invariants = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_HEEDS_NO | BWL_INVARIANT_ONE_HOLDER,
      .budget     = { [BWL_SLOW] = 2, [BWL_LOSS] = 1 },
      .breaks     = BWL_INVARIANT_OWN_KEY,
      .steps      = 12 },
    { .name = "redisson-late-write",
      .story =
          "without the counter of RFencedLock, the write of a holder that was stopped is taken",
      REDISSON(&rlock),
      .invariants = BWL_INVARIANT_FENCE,
      .budget     = { [BWL_SLOW] = 4, [BWL_WRITE] = 2 },
      .breaks     = BWL_INVARIANT_FENCE,
      .steps      = 11 },
    { .name  = "redisson-fence-forgotten",
      .story = "a server restarts empty and counts anew: an old holder's write is taken",
      REDISSON(&fenced),
      .rounds     = 2,
      .invariants = BWL_INVARIANT_FENCE,
      .budget     = { [BWL_RESTART] = 1, [BWL_WRITE] = 2 },
      .breaks     = BWL_INVARIANT_FENCE,
      .steps      = 9 },
    { .name  = "redisson-enters",
      .story = "an acquire takes a key that has another's field",
      REDISSON(&rlock),
      .mutations  = BWL_MUTATION_SET_OVERWRITES,
      .invariants = BWL_INVARIANT_ONE_HOLDER,
      .breaks     = BWL_INVARIANT_ONE_HOLDER,
      .steps      = 6 },
    { .name  = "redisson-lasts",
      .story = "an acquire without PEXPIRE: a holder dies, and nobody gets the lock ever again",
      REDISSON(&rlock),
      .mutations  = BWL_MUTATION_SET_LASTS,
      .invariants = BWL_INVARIANT_LIVE,
      .tries_once = true,
      .rounds     = BWL_ANY,
      .budget     = { [BWL_CRASH] = 1 },
      .breaks     = BWL_INVARIANT_LIVE,
      .steps      = 3 },
};

const bwl_scenario_table bwl_scenarios_of_redisson = { table, sizeof table / sizeof table[0] };
