/*
 * budget.c -- the names of the budgets.  See budget.h.
 */
#include "lab/world/budget.h"
#include "core/core.h"
#include <stddef.h>

typedef struct budget_text {
    const char *label;
    const char *sentence;
} budget_text;

static const budget_text texts[BWL_BUDGETS_COUNT] = {
#define X(name, label, sentence) [BWL_##name] = { label, sentence },
    BWL_BUDGETS(X)
#undef X
};

const char *bwl_budget_label(bwl_budget budget)
{
    assert(budget > BWL_BUDGET_NONE);
    assert(budget < BWL_BUDGETS_COUNT);
    return texts[budget].label;
}

const char *bwl_budget_sentence(bwl_budget budget)
{
    assert(budget > BWL_BUDGET_NONE);
    assert(budget < BWL_BUDGETS_COUNT);
    return texts[budget].sentence;
}

bool bwl_budget_wants_one_server(bwl_budget budget)
{
    switch (budget) {
    case BWL_SLOW:
    case BWL_LOSS:
    case BWL_CRASH:
    case BWL_DENIAL:
    case BWL_REFUSAL:
    case BWL_RESTART:
    case BWL_JUMP:
    case BWL_CANCEL:
    case BWL_EXTEND_BY_CALLER:
    case BWL_RATE:
    case BWL_STOP: return false;
    case BWL_RESTORE:
    case BWL_FAILOVER:
    case BWL_EVICTION:
    case BWL_STRANGER:
    case BWL_WALL:
    case BWL_WRITE:
    case BWL_LOST_PUSH:
    case BWL_NOSCRIPT:
    case BWL_BORROWER:
    case BWL_SILENCE:
    case BWL_YIELD: return true;
    case BWL_BUDGET_NONE:
    case BWL_BUDGETS_COUNT: break;
    }
    bwl_unreachable("no such budget");
}
