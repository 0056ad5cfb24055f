#include "sim/load/check.h"

#include "lab/base/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDING_MS = 1 };

struct check_hold {
    check_hold  *next;
    unsigned     name;
    sim_process *process;
    uint64_t     fence;
    int64_t      until; /* by its boot clock */
    int64_t      ends;  /* the latest time by that clock */
};

struct check_wait {
    check_wait  *next;
    unsigned     name;
    sim_process *process;
    int64_t      since; /* by the world's clock */
    int64_t      until;
    unsigned     overtaken;
};

static struct {
    check_rules rules;
    check_wait *waits;
    check_hold *holds[CHECK_NAMES_MAX];
    uint64_t    fences[CHECK_NAMES_MAX]; /* the last one of each name */
    uint64_t    grants;
    char        failure[512]; /* "": none */
} check;

void check_begin(check_rules rules)
{
    memset(&check, 0, sizeof check);
    check.rules = rules;
}

static void forget(check_wait *wait)
{
    check_wait **link = &check.waits;

    while (*link != wait)
        link = &(*link)->next;
    *link = wait->next;
    free(wait);
}

void check_end(void)
{
    for (unsigned i = 0; i < CHECK_NAMES_MAX; i++) {
        while (check.holds[i] != NULL)
            check_over(check.holds[i]);
    }
    while (check.waits != NULL)
        forget(check.waits);
}

void check_fail(const char *format, ...)
{
    va_list arguments;

    if (check.failure[0] != '\0')
        return;
    va_start(arguments, format);
    (void)vsnprintf(check.failure, sizeof check.failure, format, arguments);
    va_end(arguments);
}

const char *check_failure(void)
{
    return check.failure[0] != '\0' ? check.failure : NULL;
}

uint64_t check_grants(void)
{
    return check.grants;
}

/* ---- the order ------------------------------------------------------------------------------- */

check_wait *check_waits(unsigned name, sim_process *process, int64_t wait_ms)
{
    check_wait *wait = bwl_room_for(1, sizeof *wait);

    *wait       = (check_wait){ .next    = check.waits,
                                .name    = name,
                                .process = process,
                                .since   = sim_now(),
                                .until   = wait_ms < 0 ? SIM_NEVER : sim_now() + wait_ms * SIM_MS };
    check.waits = wait;
    return wait;
}

static void overtake(const check_wait *granted)
{
    for (check_wait *w = check.waits; w != NULL; w = w->next) {
        if (w->name != granted->name || w->process == granted->process ||
            w->since + check.rules.order_ns >= granted->since ||
            w->until - check.rules.order_ns <= sim_now())
            continue;
        if (++w->overtaken > check.rules.turns)
            check_fail("order: lock %u, %s has waited for %" PRId64 " ms, and %s for %" PRId64
                       " ms was served before it",
                       w->name, sim_process_name(w->process), (sim_now() - w->since) / SIM_MS,
                       sim_process_name(granted->process), (sim_now() - granted->since) / SIM_MS);
    }
}

void check_wait_over(check_wait *wait, bool is_granted)
{
    if (is_granted && check.rules.order_ns != SIM_NEVER)
        overtake(wait);
    forget(wait);
}

/* ---- claims ---------------------------------------------------------------------------------- */

static bool relies(const check_hold *hold)
{
    return sim_clock_read(hold->process, SIM_CLOCK_BOOT) < hold->until;
}

/* While two hold the lock, because the server has lost the first grant, the first may be the second
 * to learn of its grant, and may hand the lock on to other threads of its client.  Then the order
 * in which grants are learned of says nothing. */
static void compare_fence(unsigned name, const sim_process *process, uint64_t fence)
{
    if (check.rules.has_fences && check.rules.excludes && fence <= check.fences[name])
        check_fail("fence: lock %u, %s got %" PRIu64 " after %" PRIu64, name,
                   sim_process_name(process), fence, check.fences[name]);
    if (fence > check.fences[name])
        check.fences[name] = fence;
}

check_hold *check_granted(unsigned name, sim_process *process, uint64_t fence, int64_t until)
{
    check_hold *hold = bwl_room_for(1, sizeof *hold);

    *hold             = (check_hold){ .next    = check.holds[name],
                                      .name    = name,
                                      .process = process,
                                      .fence   = fence,
                                      .ends    = SIM_NEVER,
                                      .until   = until };
    check.holds[name] = hold;
    check.grants++;
    /* A grant that has ended before the process learns of it is no claim. */
    if (relies(hold))
        compare_fence(name, process, fence);
    sim_trace(10, name, fence);
    return hold;
}

void check_longest(check_hold *hold, int64_t max_ms)
{
    if (max_ms > 0)
        hold->ends =
            sim_clock_read(hold->process, SIM_CLOCK_BOOT) + (max_ms + ROUNDING_MS) * SIM_MS;
    check_until(hold, hold->until);
}

void check_until(check_hold *hold, int64_t until)
{
    hold->until = until;
    if (relies(hold) && until > hold->ends)
        check_fail("max-hold: lock %u, %s relies on it for %" PRId64 " us more than it may",
                   hold->name, sim_process_name(hold->process), (until - hold->ends) / SIM_US);
}

void check_over(check_hold *hold)
{
    check_hold **link = &check.holds[hold->name];

    while (*link != hold)
        link = &(*link)->next;
    *link = hold->next;
    free(hold);
}

void check_killed(const sim_process *process)
{
    for (check_wait *wait = check.waits, *next; wait != NULL; wait = next) {
        next = wait->next;
        if (wait->process == process)
            forget(wait);
    }
    for (unsigned i = 0; i < CHECK_NAMES_MAX; i++) {
        for (check_hold *hold = check.holds[i], *next; hold != NULL; hold = next) {
            next = hold->next;
            if (hold->process == process)
                check_over(hold);
        }
    }
}

/* At most one claim to each name. */
static void compare(unsigned name)
{
    const check_hold *first = NULL;

    for (const check_hold *hold = check.holds[name]; hold != NULL; hold = hold->next) {
        if (!relies(hold))
            continue;
        if (first != NULL) {
            check_fail("mutual exclusion: lock %u is held by %s (fence %" PRIu64
                       ") and by %s (fence %" PRIu64 ")",
                       name, sim_process_name(first->process), first->fence,
                       sim_process_name(hold->process), hold->fence);
            return;
        }
        first = hold;
    }
}

bool check_step(void)
{
    for (unsigned i = 0; check.rules.excludes && i < CHECK_NAMES_MAX; i++) {
        if (check.holds[i] != NULL && check.holds[i]->next != NULL)
            compare(i);
    }
    return check.failure[0] == '\0';
}
