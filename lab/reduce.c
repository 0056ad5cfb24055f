/*
 * reduce.c -- see reduce.h.
 */
#include "lab/reduce.h"

/* Faults that may come between any two steps of a client, and what a caller may do at any time. */
static bool may_be_disturbed(const bwl_world *w)
{
    for (unsigned i = BWL_BUDGET_NONE + 1; i < BWL_BUDGETS_COUNT; i++)
        if (w->left[i] > 0)
            return true;
    return false;
}

/* A step of the client alone, which needs nobody. */
static bool is_local(bwl_choice choice, unsigned client)
{
    return choice.client == client &&
           (choice.kind == BWL_CHOICE_DELIVER || choice.kind == BWL_CHOICE_ALARM);
}

/* All the client's own choices are there now, and no other step can add one: if an answer is under
 * way, the next one has arrived. */
static bool is_alone(const bwl_world *w, unsigned client)
{
    const bwl_lab_client *c = &w->clients[client];

    if (!c->is_running || c->is_working || bwl_world_believes(w, client) > 0)
        return false;
    if (c->letters_count > 0 && c->answered == 0)
        return false;
    /* What is said about a release is compared with what the server has. */
    return c->letters_count == 0 || c->letters[0].word != REDIS_DELETE_IF_MINE;
}

bool bwl_reduce(const bwl_world *w, const bwl_choices *all, bwl_choices *ret_some,
                bwl_choices *ret_rest)
{
    if (may_be_disturbed(w))
        return false;
    for (unsigned client = 0; client < w->scenario->clients; client++) {
        ret_some->count = ret_rest->count = 0;
        if (!is_alone(w, client))
            continue;
        for (unsigned i = 0; i < all->count; i++) {
            bwl_choices *list         = is_local(all->list[i], client) ? ret_some : ret_rest;
            list->list[list->count++] = all->list[i];
        }
        if (ret_some->count > 0 && ret_rest->count > 0)
            return true;
    }
    return false;
}
