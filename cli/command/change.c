#include "cli/command/change.h"

#include <string.h>

enum { PAUSE_MIN_MS = 20 };

/* A fence may be known only after a while. */
bool change_is_same_hold(const bowline_holder *a, const bowline_holder *b)
{
    bool have_ids    = a->id != 0 && b->id != 0;
    bool have_fences = a->fence != 0 && b->fence != 0;

    if (have_ids || have_fences)
        return (!have_ids || a->id == b->id) && (!have_fences || a->fence == b->fence);
    /* Some protocols store nothing that distinguishes two holds; then the process must do. */
    return a->pid == b->pid && strcmp(a->host, b->host) == 0;
}

hold_end change_between(const sight *before, sight *now)
{
    const bowline_holder *was  = &before->holder;
    const bowline_holder *is   = &now->holder;
    bool                  same = was->held != 0 && is->held != 0 && change_is_same_hold(was, is);

    now->longest_ms = is->left_ms;
    if (same && before->longest_ms > now->longest_ms)
        now->longest_ms = before->longest_ms;
    if (was->held == 0 || same)
        return HOLD_GOES_ON;
    if (was->left_ms == INT64_MAX || now->seen_at - before->asked_at < was->left_ms)
        return HOLD_RELEASED;
    /* A holder renews after a third of its lease. */
    return was->left_ms <= before->longest_ms / 2 ? HOLD_LOST : HOLD_ENDED;
}

int64_t change_pause_ms(const sight *now, int64_t every_ms)
{
    int64_t pause_ms = now->holder.held != 0 ? now->holder.left_ms / 3 : every_ms;

    if (pause_ms < PAUSE_MIN_MS)
        pause_ms = PAUSE_MIN_MS;
    return pause_ms < every_ms ? pause_ms : every_ms;
}
