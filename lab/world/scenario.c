#include "lab/world/scenario.h"
#include "lab/base/lang.h"
#include "core/nearest.h"

#include <string.h>

/* Where a fault may happen. */
typedef enum worlds { SERVERS, ONE_SERVER } worlds;

typedef struct budget_text {
    const char *label;
    const char *sentence;
    worlds      worlds;
} budget_text;

static const budget_text budgets[BWL_BUDGETS_COUNT] = {
#define X(name, worlds, label, sentence) [BWL_##name] = { label, sentence, worlds },
    BWL_BUDGETS(X)
#undef X
};

static const budget_text *budget_of(bwl_budget budget)
{
    assert(budget > BWL_BUDGET_NONE);
    assert(budget < BWL_BUDGETS_COUNT);
    return &budgets[budget];
}

const char *bwl_budget_label(bwl_budget budget)
{
    return budget_of(budget)->label;
}

const char *bwl_budget_sentence(bwl_budget budget)
{
    return bwl_tr(budget_of(budget)->sentence);
}

bool bwl_budget_wants_one_server(bwl_budget budget)
{
    return budget_of(budget)->worlds == ONE_SERVER;
}

typedef struct invariant_text {
    const char *label;
    const char *sentence;
} invariant_text;

static const invariant_text invariants[] = {
#define X(name, label, sentence) { label, sentence },
    BWL_INVARIANTS(X)
#undef X
};

static const invariant_text *invariant_of(unsigned flags)
{
    size_t number = 0;

    assert(flags != 0);
    assert(flags >> BWL_INVARIANTS_COUNT == 0);
    while ((flags >> number & 1) == 0)
        number++;
    return &invariants[number];
}

const char *bwl_invariant_label(unsigned flags)
{
    return invariant_of(flags)->label;
}

const char *bwl_invariant_sentence(unsigned flags)
{
    return bwl_tr(invariant_of(flags)->sentence);
}

unsigned bwl_budget_named(const char *name)
{
    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++)
        if (strcmp(bwl_budget_label((bwl_budget)i), name) == 0)
            return i;
    return 0;
}

unsigned bwl_invariant_named(const char *label)
{
    for (unsigned i = 0; i < BWL_INVARIANTS_COUNT; i++)
        if (strcmp(bwl_invariant_label(1u << i), label) == 0)
            return 1u << i;
    return 0;
}

const char *bwl_invariant_nearest(const char *label)
{
    const char *labels[BWL_INVARIANTS_COUNT];

    for (unsigned i = 0; i < BWL_INVARIANTS_COUNT; i++)
        labels[i] = bwl_invariant_label(1u << i);
    return bwl_nearest(label, labels, BWL_INVARIANTS_COUNT);
}

void bwl_scenario_start(bwl_scenario *s, const char *value)
{
    bool is_value = strcmp(value, "stale") != 0 && strcmp(value, "nothing") != 0;

    s->server.stale = strcmp(value, "stale") == 0;
    s->server.start = is_value ? value : NULL;
}

void bwl_scenario_check(bwl_scenario *s, unsigned flags)
{
    s->invariants = flags;
    if (flags != BWL_INVARIANT_LIVE)
        return;
    s->rounds     = BWL_ANY;
    s->tries_once = true;
    s->wait_ms    = 0;
}
