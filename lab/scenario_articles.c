/*
 * scenario_articles.c -- the locks that people write about, as they are written: what breaks them,
 * in how few steps; and what does not.
 *
 * Three articles: "Redis的分布式锁 / setnx" (way-...), "Redis实现分布式锁" (guard-...),
 * "Lock / watch与锁 / 分布式锁" (watch-...), "利用redis实现分布式锁" (jedis-...).  A stale key, one
 * that somebody left behind, comes from a client that crashes.
 */
#include "lab/as_written.h"
#include "lab/scenario.h"
#include "core/rules.h"

enum { SECOND_NS = 1000000000, MS_NS = 1000000 };

enum {
    /* Between clients, whatever one of them believes. */
    LAWS_EXCLUSION = BWL_LAW_ONE_HOLDER | BWL_LAW_ONE_WORKER,
    /* What a lock that does without expiry or ownership still has to give. */
    LAWS_CALLER = BWL_LAW_TOLD | BWL_LAW_NOT_STUCK | BWL_LAW_IN_TIME | BWL_LAW_PAUSES,
};

static const bwl_rules seconds      = { .value   = BWL_VALUE_DECIMAL,
                                        .unit_ns = SECOND_NS,
                                        .clock   = BWL_CLOCK_OF_CLIENT };
static const bwl_rules milliseconds = {
    .value = BWL_VALUE_DECIMAL, .unit_ns = MS_NS, .extra_ns = MS_NS, .clock = BWL_CLOCK_OF_CLIENT
};
static const bwl_rules literal = { .value = BWL_VALUE_LITERAL, .literal = "1" };
static const bwl_rules uuid    = { .value = BWL_VALUE_TOKEN, .token = BWL_TOKEN_UUID };

#define WAY(N, RULES) .protocol = &bwl_written_way_##N, .terms = { .rules = &(RULES) }

static const bwl_scenario table[] = {
    /* ---- way 1: SETNX; DEL ------------------------------------------------------------------- */
    { .name  = "way-1-calm",
      .story = "SETNX, DEL: nothing goes wrong",
      WAY(1, literal),
      .rounds = 2,
      .laws   = LAWS_EXCLUSION | LAWS_CALLER | BWL_LAW_OWN_KEY | BWL_LAW_CLEAN_END },
    { .name  = "way-1-crash",
      .story = "SETNX, DEL: the holder dies, and nobody gets the lock ever again",
      WAY(1, literal),
      .tries_once = true,
      .rounds     = BWL_ANY,
      .laws       = BWL_LAW_LIVE,
      .budget     = { [BWL_CRASH] = 1 },
      .breaks     = BWL_LAW_LIVE,
      .steps      = 3 },
    { .name  = "way-1-lost-release",
      .story = "SETNX, DEL: a release that fails is a deadlock",
      WAY(1, literal),
      .tries_once = true,
      .rounds     = BWL_ANY,
      .laws       = BWL_LAW_LIVE,
      .budget     = { [BWL_LOSS] = 1 },
      .breaks     = BWL_LAW_LIVE,
      .steps      = 3 },
};

const bwl_scenario_table bwl_scenarios_of_articles = { table, sizeof table / sizeof table[0] };
