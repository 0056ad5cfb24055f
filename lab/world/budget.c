/*
 * budget.c -- the names of the budgets.  See budget.h.
 */
#include "lab/world/budget.h"
#include "core/core.h"

typedef enum worlds { SERVERS, ONE_SERVER } worlds;

typedef struct budget_text {
    const char *label;
    const char *sentence;
    worlds      worlds;
} budget_text;

static const budget_text texts[BWL_BUDGETS_COUNT] = {
#define X(name, worlds, label, sentence) [BWL_##name] = { label, sentence, worlds },
    BWL_BUDGETS(X)
#undef X
};

static const budget_text *text_of(bwl_budget budget)
{
    assert(budget > BWL_BUDGET_NONE);
    assert(budget < BWL_BUDGETS_COUNT);
    return &texts[budget];
}

const char *bwl_budget_label(bwl_budget budget)
{
    return text_of(budget)->label;
}

const char *bwl_budget_sentence(bwl_budget budget)
{
    return text_of(budget)->sentence;
}

bool bwl_budget_wants_one_server(bwl_budget budget)
{
    return text_of(budget)->worlds == ONE_SERVER;
}
