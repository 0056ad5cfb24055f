#include "sim/load/check.h"

#include "lab/base/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDING_MS      = 1,
    RESTART_SLACK_MS = 100,
    EXPIRED_MS       = 6000, /* two heartbeats, and a grant to a waiter that is gone */
    LOOK_MS          = 20,
};

struct check_hold {
    check_hold  *next;
    unsigned     name;
    sim_process *process;
    check_share  share;
    uint64_t     fence;
    int64_t      since;    /* by the world's clock */
    int64_t      lease_ns; /* of its client */
    int64_t      until;    /* by its boot clock */
    bool         has_ended;
    int64_t      ends; /* the latest time by that clock */
};

/* The greatest fence of a name.  All that share the lock at the same time have the same one. */
typedef struct check_fence {
    uint64_t number;
    bool     is_shared;
} check_fence;

struct check_wait {
    check_wait  *next;
    unsigned     name;
    sim_process *process;
    check_share  share;
    int64_t      since; /* by the world's clock */
    int64_t      until;
    check_fence  fence; /* the greatest that was known when it began */
    bool         is_alone;
    bool         is_late;   /* a release comes first, and its place in the queue after that */
    bool         is_import; /* `fence` is that of the hold */
    bool         is_of_several;
    bool         is_change; /* of the mode of a hold */
    unsigned     overtaken;
    int64_t      due_at; /* overtaken by one that shares: then it has the lock too; 0: was not */
};

/* The first waiter of a name could have the lock. */
typedef struct check_first {
    const check_wait *wait; /* NULL: there is none, or it cannot */
    int64_t           wait_since;
    int64_t           since;
    int64_t expired_until; /* a hold has expired, and may stay on the servers until then */
} check_first;

static struct {
    check_rules rules;
    check_wait *waits;
    check_hold *holds[CHECK_NAMES_MAX];
    check_fence fences[CHECK_NAMES_MAX]; /* the greatest of each name */
    check_first firsts[CHECK_NAMES_MAX];
    int64_t     looked_at; /* at the first waiters */
    int64_t     passed_until[CHECK_NAMES_MAX];
    int64_t     restarted_at;
    int64_t     closed_at;
    uint64_t    grants;
    char        failure[512]; /* "": none */
} check;

void check_begin(check_rules rules)
{
    memset(&check, 0, sizeof check);
    check.rules = rules;
    check_calm_begin(rules.grace_ns);
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

bool check_excludes(void)
{
    return check.rules.excludes;
}

void check_restart(void)
{
    check.restarted_at = sim_now();
}

/* ---- the order ------------------------------------------------------------------------------- */

static bool is_alone(unsigned name, const sim_process *process)
{
    for (const check_wait *wait = check.waits; wait != NULL; wait = wait->next) {
        if (wait->name == name && wait->process == process)
            return false;
    }
    for (const check_hold *hold = check.holds[name]; hold != NULL; hold = hold->next) {
        if (hold->process == process)
            return false;
    }
    return true;
}

check_wait *check_waits(unsigned name, sim_process *process, check_share share, int64_t wait_ms)
{
    check_wait *wait = bwl_room_for(1, sizeof *wait);

    *wait       = (check_wait){ .next     = check.waits,
                                .name     = name,
                                .process  = process,
                                .share    = share,
                                .since    = sim_now(),
                                .until    = wait_ms < 0 ? SIM_NEVER : sim_now() + wait_ms * SIM_MS,
                                .fence    = check.fences[name],
                                .is_alone = is_alone(name, process) };
    check.waits = wait;
    return wait;
}

check_wait *check_yields(unsigned name, sim_process *process, check_share share, int64_t wait_ms)
{
    check_wait *wait = check_waits(name, process, share, wait_ms);

    wait->is_late = share.weight > 0;
    return wait;
}

check_wait *check_imports(unsigned name, sim_process *process, uint64_t fence)
{
    check_wait *wait = check_waits(name, process, (check_share){ .weight = 0 }, 0);

    wait->is_import    = true;
    wait->fence.number = fence;
    return wait;
}

check_wait *check_changes(unsigned name, sim_process *process, check_share share)
{
    check_wait *wait = check_waits(name, process, share, 0);

    wait->is_change = true;
    wait->is_alone  = false;
    return wait;
}

void check_withdrawn(check_wait *wait)
{
    wait->until = 0;
}

void check_of_several(check_wait *wait)
{
    wait->until         = 0;
    wait->is_of_several = true;
}

/* Its process may have the lock, and wait for another one. */
static bool may_be_kept(unsigned name)
{
    for (const check_wait *wait = check.waits; wait != NULL; wait = wait->next) {
        if (wait->name == name && wait->is_of_several)
            return true;
    }
    return false;
}

/* It is in the queue of the servers itself, and not behind other threads of its process. */
static bool has_own_place(const check_wait *wait)
{
    return wait->share.weight > 0 || wait->is_alone || check.rules.turns == 0;
}

/* When the time of a wait is nearly up, its request may be withdrawn already. */
static void overtake(const check_wait *granted)
{
    for (check_wait *w = check.waits; w != NULL; w = w->next) {
        if (w->name == granted->name && w->process == granted->process && !has_own_place(w))
            w->overtaken = 0; /* their place in the queue of the servers is a new one */
        if (w->name != granted->name || w->process == granted->process ||
            w->since + check.rules.order_ns >= granted->since ||
            w->until - check.rules.order_ns <= sim_now())
            continue;
        bool     in_order = has_own_place(w) && has_own_place(granted);
        unsigned most     = in_order ? 0 : check.rules.turns;
        if (++w->overtaken <= most)
            continue;
        /* Its own grant may be on its way. */
        if (w->share.weight > 0 && granted->share.weight > 0) {
            w->due_at = w->due_at == 0 ? sim_now() + check.rules.order_ns : w->due_at;
            continue;
        }
        check_fail("order: lock %u, %s has waited for %" PRId64 " ms, and %s for %" PRId64
                   " ms was served before it",
                   w->name, sim_process_name(w->process), (sim_now() - w->since) / SIM_MS,
                   sim_process_name(granted->process), (sim_now() - granted->since) / SIM_MS);
    }
}

static void look_at_overtaken(void)
{
    for (const check_wait *w = check.waits; w != NULL; w = w->next) {
        if (w->due_at != 0 && sim_now() > w->due_at && w->until > sim_now())
            check_fail("order: lock %u, %s has waited for %" PRId64
                       " ms, and one that came later was served %" PRId64 " ms ago",
                       w->name, sim_process_name(w->process), (sim_now() - w->since) / SIM_MS,
                       (sim_now() - w->due_at + check.rules.order_ns) / SIM_MS);
    }
}

void check_wait_over(check_wait *wait)
{
    forget(wait);
}

/* ---- claims ---------------------------------------------------------------------------------- */

static bool relies(const check_hold *hold)
{
    return sim_clock_read(hold->process, SIM_CLOCK_BOOT) < hold->until;
}

/* A server that loses a grant can have two holders, and the first may be the second to learn of its
 * grant, or hand the lock on to other threads of its process.  Then a process that neither held nor
 * awaited the lock gets a greater fence than those that were known when its acquire began; but not
 * with a share, which has the fence of the gate that the server has found in its older data. */
static void compare_fence(const check_wait *wait, uint64_t fence)
{
    bool        is_strict = check.rules.has_fences && check.rules.excludes;
    bool        is_known  = check.rules.are_kept && wait->is_alone && wait->share.weight == 0;
    check_fence last      = is_strict ? check.fences[wait->name] : wait->fence;
    bool        is_shared = wait->share.weight > 0;

    if (wait->is_import) {
        if (fence != wait->fence.number || (is_strict && fence < last.number))
            check_fail("fence: lock %u, %s imported it with %" PRIu64 ", exported with %" PRIu64
                       ", after %" PRIu64,
                       wait->name, sim_process_name(wait->process), fence, wait->fence.number,
                       last.number);
        return;
    }
    bool is_same = is_shared && last.is_shared && fence == last.number;
    if ((is_strict || is_known) && fence <= last.number && !is_same)
        check_fail("fence: lock %u, %s got %" PRIu64 " after %" PRIu64, wait->name,
                   sim_process_name(wait->process), fence, last.number);
    if (fence > check.fences[wait->name].number)
        check.fences[wait->name] = (check_fence){ .number = fence, .is_shared = is_shared };
}

/* What ends so late was renewed by another process of the server than the one that granted it. */
static void compare_process(const check_hold *hold)
{
    int64_t latest = check.restarted_at + hold->lease_ns + hold->lease_ns / 50;
    int64_t ends   = sim_clock_when(hold->process, SIM_CLOCK_BOOT, hold->until);

    if (hold->since < check.restarted_at && ends != SIM_NEVER && relies(hold) &&
        ends > latest + RESTART_SLACK_MS * SIM_MS)
        check_fail("restart: lock %u, %s has it for %" PRId64
                   " ms more since the server that granted it has died",
                   hold->name, sim_process_name(hold->process),
                   (ends - check.restarted_at) / SIM_MS);
}

static bool has_such_share(const check_hold *hold, const check_hold *other)
{
    return other->process == hold->process && other->share.weight == hold->share.weight &&
           relies(other);
}

/* A claim does not say which share is its own.  So a process has as many shares that end as late as
 * this claim, or later, as it has such claims. */
static void compare_share(const check_hold *hold)
{
    unsigned          count, relied = 0, are_kept = 0;
    const check_kept *shares  = check.rules.shares(hold->name, &count);
    int64_t           ends    = sim_clock_when(hold->process, SIM_CLOCK_BOOT, hold->until);
    int64_t           most_ns = 0;

    for (const check_hold *other = check.holds[hold->name]; other != NULL; other = other->next)
        relied += has_such_share(hold, other) && other->until >= hold->until;
    for (unsigned i = 0; shares != NULL && i < count; i++) {
        const check_kept *share = &shares[i];
        bool              is_own =
            (share->process == 0 || share->process == sim_process_number(hold->process)) &&
            (share->weight == 0 || share->weight == hold->share.weight);
        are_kept += is_own && share->left_ns >= ends - sim_now();
        most_ns = is_own && share->left_ns > most_ns ? share->left_ns : most_ns;
    }
    if (shares != NULL && ends != SIM_NEVER && relied > are_kept)
        check_fail("share: lock %u, %s relies on %u shares of %u for %" PRId64
                   " us, and the servers keep %u for so long, one for %" PRId64 " us",
                   hold->name, sim_process_name(hold->process), relied, hold->share.weight,
                   (ends - sim_now()) / SIM_US, are_kept, most_ns / SIM_US);
}

void check_shares(unsigned name)
{
    if (check.rules.left_ns == NULL || !check_is_name_calm(name, sim_now()))
        return;
    for (const check_hold *hold = check.holds[name]; hold != NULL; hold = hold->next) {
        if (hold->share.weight > 0 && relies(hold))
            compare_share(hold);
    }
}

/* The hold has another end. */
static void compare_lease(const check_hold *hold)
{
    if (check.rules.left_ns == NULL || !relies(hold) || !check_is_name_calm(hold->name, sim_now()))
        return;
    if (hold->share.weight > 0) {
        check_shares(hold->name);
        return;
    }
    int64_t left_ns = check.rules.left_ns(hold->name);
    int64_t ends    = sim_clock_when(hold->process, SIM_CLOCK_BOOT, hold->until);

    if (left_ns != SIM_NEVER && ends != SIM_NEVER && ends - sim_now() > left_ns)
        check_fail("lease: lock %u, %s relies on it for %" PRId64
                   " us, and the servers keep it for %" PRId64 " us",
                   hold->name, sim_process_name(hold->process), (ends - sim_now()) / SIM_US,
                   left_ns / SIM_US);
}

/* What has been in use since before the acquire began was in use when it was granted. */
static void compare_permits(const check_wait *wait)
{
    unsigned used = wait->share.weight;

    for (const check_hold *hold = check.holds[wait->name]; hold != NULL; hold = hold->next) {
        if (relies(hold) && hold->since <= wait->since)
            used += hold->share.weight;
    }
    if (check.rules.excludes && wait->share.limit > 0 && used > wait->share.limit)
        check_fail("permits: lock %u, %s got permits when %u of %u were in use", wait->name,
                   sim_process_name(wait->process), used, wait->share.limit);
}

check_hold *check_granted(check_wait *wait, uint64_t fence, check_left left)
{
    check_hold *hold = bwl_room_for(1, sizeof *hold);

    *hold                   = (check_hold){ .next     = check.holds[wait->name],
                                            .name     = wait->name,
                                            .process  = wait->process,
                                            .share    = wait->share,
                                            .fence    = fence,
                                            .since    = sim_now(),
                                            .lease_ns = left.lease_ns,
                                            .ends     = SIM_NEVER,
                                            .until    = left.until };
    check.holds[wait->name] = hold;
    check.grants++;
    /* A grant that has ended before the process learns of it is no claim. */
    if (relies(hold)) {
        compare_fence(wait, fence);
        compare_permits(wait);
    }
    check.firsts[wait->name].wait = NULL;
    compare_lease(hold);
    if (check.rules.order_ns != SIM_NEVER && !wait->is_import && !wait->is_change)
        overtake(wait);
    sim_trace(10, wait->name, fence);
    forget(wait);
    return hold;
}

void check_counts_as(check_hold *hold, unsigned weight, uint64_t fence)
{
    hold->share = (check_share){ .weight = weight };
    hold->fence = fence;
}

/* The servers keep it for a little longer, and a heartbeat finds that it is over. */
static void note_expiry(const check_hold *hold)
{
    int64_t      stays = hold->lease_ns / 50 + EXPIRED_MS * SIM_MS;
    check_first *first = &check.firsts[hold->name];

    if (!relies(hold) && sim_now() + stays > first->expired_until)
        first->expired_until = sim_now() + stays;
}

void check_longest(check_hold *hold, int64_t max_ms)
{
    if (max_ms > 0)
        hold->ends =
            sim_clock_read(hold->process, SIM_CLOCK_BOOT) + (max_ms + ROUNDING_MS) * SIM_MS;
    check_until(hold, (check_left){ .until = hold->until, .latest = hold->until });
}

void check_until(check_hold *hold, check_left left)
{
    bool relied   = relies(hold);
    bool is_later = left.until > hold->until + ROUNDING_MS * SIM_MS;

    if (relied && left.latest + ROUNDING_MS * SIM_MS < hold->until &&
        left.until > sim_clock_read(hold->process, SIM_CLOCK_BOOT))
        check_fail("until: lock %u, %s may rely on it for %" PRId64 " us less than before",
                   hold->name, sim_process_name(hold->process),
                   (hold->until - left.latest) / SIM_US);
    hold->until = left.until;
    if (is_later)
        compare_lease(hold);
    compare_process(hold);
    if (relies(hold) && hold->has_ended)
        check_fail("until: lock %u, %s holds it again after its end", hold->name,
                   sim_process_name(hold->process));
    hold->has_ended = hold->has_ended || !relies(hold);
    note_expiry(hold);
    if (relies(hold) && left.until > hold->ends)
        check_fail("max-hold: lock %u, %s relies on it for %" PRId64 " us more than it may",
                   hold->name, sim_process_name(hold->process), (left.until - hold->ends) / SIM_US);
}

void check_over(check_hold *hold)
{
    check_hold **link = &check.holds[hold->name];

    note_expiry(hold);
    while (*link != hold)
        link = &(*link)->next;
    *link = hold->next;
    free(hold);
}

void check_passed_on(unsigned name, int64_t least, int64_t most)
{
    bool    is_known = check.rules.left_ns != NULL && check_is_name_calm(name, sim_now());
    int64_t ends     = is_known ? sim_now() + check.rules.left_ns(name) : most;

    if (ends + ROUNDING_MS * SIM_MS < least)
        check_fail("ticket: lock %u was exported, and ends %" PRId64 " us too early", name,
                   (least - ends) / SIM_US);
    if (most > check.passed_until[name])
        check.passed_until[name] = most;
}

void check_rests(unsigned name, int64_t until)
{
    check.passed_until[name] = until;
}

bool check_is_relied_on(unsigned name)
{
    if (sim_now() < check.passed_until[name] || may_be_kept(name))
        return true;
    for (const check_hold *hold = check.holds[name]; hold != NULL; hold = hold->next) {
        if (relies(hold))
            return true;
    }
    return false;
}

unsigned check_permits_since(unsigned name, int64_t since)
{
    unsigned permits = 0;

    for (const check_hold *hold = check.holds[name]; hold != NULL; hold = hold->next) {
        if (relies(hold) && hold->since <= since)
            permits += hold->share.weight > 0 ? hold->share.weight : 1;
    }
    return permits;
}

bool check_relies(const sim_process *process)
{
    for (unsigned i = 0; i < CHECK_NAMES_MAX; i++) {
        for (const check_hold *hold = check.holds[i]; hold != NULL; hold = hold->next) {
            if (hold->process == process && relies(hold))
                return true;
        }
    }
    return false;
}

void check_closes(void)
{
    check.closed_at = sim_now();
}

bool check_has_closed(int64_t since)
{
    return check.closed_at >= since;
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

/* At most one claim to each name, or claims of those that share it, with one fence. */
static void compare(unsigned name)
{
    const check_hold *first = NULL;
    check_share       used  = { 0 };

    for (const check_hold *hold = check.holds[name]; hold != NULL; hold = hold->next) {
        if (!relies(hold))
            continue;
        bool is_shared  = first != NULL && first->share.weight > 0 && hold->share.weight > 0;
        bool has_fences = first != NULL && first->fence != 0 && hold->fence != 0;
        if (is_shared && has_fences && first->fence != hold->fence)
            check_fail("fence: lock %u is shared by %s with %" PRIu64 " and by %s with %" PRIu64,
                       name, sim_process_name(first->process), first->fence,
                       sim_process_name(hold->process), hold->fence);
        if (first != NULL && !is_shared) {
            check_fail("mutual exclusion: lock %u is held by %s (fence %" PRIu64
                       ") and by %s (fence %" PRIu64 ")",
                       name, sim_process_name(first->process), first->fence,
                       sim_process_name(hold->process), hold->fence);
            return;
        }
        first = hold;
        if (hold->share.limit > 0) {
            used.weight += hold->share.weight;
            used.limit = hold->share.limit;
        }
    }
    if (used.weight > used.limit)
        check_fail("permits: lock %u has %u in use, %u at most", name, used.weight, used.limit);
}

/* ---- the first waiter ------------------------------------------------------------------------ */

/* Its place in the queue may be behind that of a waiter that began at that time. */
static bool may_be_behind(const check_wait *wait, int64_t since)
{
    return since < wait->since + (wait->is_late ? check.rules.woken_ns : check.rules.request_ns);
}

/* NULL: there is none, or it may be another one on the servers. */
static const check_wait *find_first(unsigned name)
{
    const check_wait *first  = NULL;
    int64_t           second = SIM_NEVER; /* since then */

    for (const check_wait *wait = check.waits; wait != NULL; wait = wait->next) {
        if (wait->name != name || wait->is_import)
            continue;
        if (!has_own_place(wait))
            return NULL;
        if (wait->until <= wait->since)
            continue;
        if (first == NULL || wait->since <= first->since) {
            second = first != NULL ? first->since : SIM_NEVER;
            first  = wait;
        } else if (wait->since < second) {
            second = wait->since;
        }
    }
    if (first != NULL && may_be_behind(first, second))
        return NULL;
    return first != NULL && first->until - check.rules.woken_ns > sim_now() ? first : NULL;
}

static bool fits(const check_wait *wait)
{
    unsigned used = 0;

    if (sim_now() < check.passed_until[wait->name] || may_be_kept(wait->name))
        return false;
    for (const check_hold *hold = check.holds[wait->name]; hold != NULL; hold = hold->next) {
        if (relies(hold) && (hold->share.weight == 0 || wait->share.weight == 0))
            return false;
        used += relies(hold) ? hold->share.weight : 0;
    }
    return wait->share.limit == 0 || used + wait->share.weight <= wait->share.limit;
}

static bool is_undisturbed(unsigned name, int64_t since)
{
    for (unsigned i = 0; i < CHECK_CLIENTS_MAX; i++) {
        if (!check_is_calm(i, since, true))
            return false;
    }
    return check_is_name_calm(name, since) && since >= check.firsts[name].expired_until &&
           since - check.passed_until[name] > EXPIRED_MS * SIM_MS &&
           since - check.closed_at > EXPIRED_MS * SIM_MS;
}

/* The time does not begin before nothing disturbs: what ends then is waited for. */
static void look_at_first(unsigned name)
{
    check_first      *first = &check.firsts[name];
    const check_wait *wait  = find_first(name);
    bool              may   = wait != NULL && fits(wait) && is_undisturbed(name, sim_now());

    if (!may || wait != first->wait || wait->since != first->wait_since) {
        first->wait       = may ? wait : NULL;
        first->wait_since = may ? wait->since : 0;
        first->since      = sim_now();
    } else if (sim_now() - first->since > check.rules.woken_ns) {
        check_fail("woken: lock %u, %s could have it for %" PRId64 " ms, and waits", name,
                   sim_process_name(wait->process), (sim_now() - first->since) / SIM_MS);
    }
}

static void look_at_waits(void)
{
    if (sim_now() - check.looked_at < LOOK_MS * SIM_MS)
        return;
    check.looked_at = sim_now();
    look_at_overtaken();
    for (unsigned i = 0; check.rules.woken_ns != SIM_NEVER && i < CHECK_NAMES_MAX; i++)
        look_at_first(i);
}

bool check_step(void)
{
    for (unsigned i = 0; check.rules.excludes && i < CHECK_NAMES_MAX; i++) {
        if (check.holds[i] != NULL && check.holds[i]->next != NULL)
            compare(i);
    }
    look_at_waits();
    return check.failure[0] == '\0';
}
