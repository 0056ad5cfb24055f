#include "lab/search/partial_order.h"

/* Faults that affect every client at once. */
static bool may_all_be_disturbed(const bwl_world *w)
{
    static const bwl_budget of_all[] = { BWL_SLOW,    BWL_CRASH,    BWL_WALL,   BWL_STOP,
                                         BWL_RESTART, BWL_FAILOVER, BWL_RESTORE };

    for (unsigned i = 0; i < sizeof of_all / sizeof of_all[0]; i++)
        if (w->left[of_all[i]] > 0)
            return true;
    return false;
}

static bool has_messages_to_lose(const bwl_link *link)
{
    for (unsigned i = 0; i < link->count; i++)
        if (link->messages[i].kind != BWL_MESSAGE_CUT_OFF)
            return true;
    return false;
}

/* The invariants compare the result of a release with the server. */
static bool may_remove(bwl_redis_command command)
{
    return bwl_redis_command_releases(command) || command == REDIS_DELETE ||
           command == REDIS_EXPIRE_NOW || command == REDIS_DELETE_WATCHED ||
           command == REDIS_DROP_TIMESTAMP;
}

/* True if no step of another client or the server can add to or remove from what the client can
 * do now. */
static bool is_alone(const bwl_world *w, unsigned client)
{
    const bwl_lab_client *c    = &w->clients[client];
    const bwl_link       *link = &w->servers[BWL_ONLY].links[client];

    if (!c->is_running || c->caller.is_working || bwl_world_believes(w, client) > 0)
        return false;
    if (c->hold.state == BWL_HOLD_REVOKED)
        return false; /* its caller may release it, or its time may end */
    if (w->left[BWL_CANCEL] > 0 && bwl_hold_is_acquiring(&c->hold))
        return false;
    if (w->left[BWL_LOSS] > 0 && has_messages_to_lose(link))
        return false;
    if (link->count > 0 && link->answered == 0)
        return false;
    return link->count == 0 || !may_remove((bwl_redis_command)link->messages[0].command);
}

static bool is_local(bwl_transition transition, unsigned client)
{
    return transition.client == client &&
           (transition.kind == BWL_TRANSITION_DELIVER || transition.kind == BWL_TRANSITION_ALARM);
}

bool bwl_reduce(const bwl_world *w, const bwl_transitions *all, bwl_transitions *ret_some,
                bwl_transitions *ret_rest)
{
    if (may_all_be_disturbed(w) || w->scenario->protocol->uses_push || w->scenario->servers > 1)
        return false; /* a push may come by the step of another client */
    for (unsigned client = 0; client < w->scenario->clients; client++) {
        ret_some->count = ret_rest->count = 0;
        if (!is_alone(w, client))
            continue;
        for (unsigned i = 0; i < all->count; i++) {
            bwl_transitions *list     = is_local(all->list[i], client) ? ret_some : ret_rest;
            list->list[list->count++] = all->list[i];
        }
        if (ret_some->count > 0 && ret_rest->count > 0)
            return true;
    }
    return false;
}
