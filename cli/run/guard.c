#include "cli/run/guard.h"

#include <assert.h>

enum { MARGIN_MAX_MS = 100 };

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void guard_init(guard *ret_guard, lost_policy policy, int64_t kill_after_ms, int64_t left_ms)
{
    assert(kill_after_ms >= 0);
    assert(left_ms >= 0);
    *ret_guard = (guard){
        .state     = GUARD_WATCHING,
        .policy    = policy,
        .grace_ms  = earlier(kill_after_ms, left_ms / 2),
        .margin_ms = earlier(MARGIN_MAX_MS, left_ms / 10),
    };
}

static guard_order kill_or_warn(guard *g)
{
    g->state = GUARD_DONE;
    return g->policy == LOST_WARN ? GUARD_WARN : GUARD_KILL;
}

guard_order guard_look(guard *g, int64_t left_ms, int64_t now_ms, int64_t *ret_wait_ms)
{
    bool terms = g->policy == LOST_TERM;

    *ret_wait_ms = BOWLINE_FOREVER;
    if (g->state == GUARD_DONE)
        return GUARD_NOTHING;
    if (left_ms <= g->margin_ms || (g->state == GUARD_STOPPING && now_ms >= g->kill_at_ms))
        return kill_or_warn(g);
    if (terms && g->state == GUARD_WATCHING && left_ms <= g->grace_ms) {
        g->state      = GUARD_STOPPING;
        g->kill_at_ms = now_ms + g->grace_ms;
        return GUARD_TERM;
    }
    if (left_ms == INT64_MAX)
        return GUARD_NOTHING;
    *ret_wait_ms = left_ms - g->margin_ms;
    if (terms && g->state == GUARD_WATCHING)
        *ret_wait_ms = left_ms - (g->grace_ms > g->margin_ms ? g->grace_ms : g->margin_ms);
    if (g->state == GUARD_STOPPING)
        *ret_wait_ms = earlier(*ret_wait_ms, g->kill_at_ms - now_ms);
    assert(*ret_wait_ms > 0);
    return GUARD_NOTHING;
}
