/*
 * budget.c -- what the budgets are called.  See budget.h.
 */
#include "lab/world/budget.h"
#include <assert.h>
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
