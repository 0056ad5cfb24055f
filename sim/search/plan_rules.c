/*
 * plan_rules.c -- what a plan promises.
 */
#include "sim/search/plan.h"

#include <string.h>

enum {
    SYNC_BACKLOG = 1 << 16,
    SYNC_LAG_MS  = 10,    /* a replica that is never later acknowledges every lock in time */
    GRACE_MS     = 30000, /* pauses between attempts to connect; a failover */
    SCRIPTS      = 8,     /* of a connection */
    SCRIPT_SIZE  = 8192,  /* at most */
    MESSAGES     = 10,    /* of a handshake, beside the scripts */
};

bool sim_plan_has(const sim_plan *plan, plan_fault_kind kind)
{
    for (unsigned i = 0; i < plan->faults_count; i++) {
        if (plan->faults[i].kind == kind)
            return true;
    }
    return false;
}

uint32_t sim_plan_longest_lease_ms(const sim_plan *plan)
{
    uint32_t longest = 0;

    for (unsigned i = 0; i < plan->clients_count; i++) {
        if (plan->clients[i].load.lease_ms > longest)
            longest = plan->clients[i].load.lease_ms;
    }
    return longest;
}

int64_t sim_plan_answer_ns(const sim_plan *plan)
{
    return 40 * plan->network.delay_max_ns + 200 * SIM_MS + 2 * plan->servers.lag_ns;
}

/* They go to a node that has none of them, with as many bytes under way as there is room for. */
static int64_t scripts_ns(const sim_plan *plan, int64_t count)
{
    int64_t room = plan->network.send_room;

    return (count * SCRIPT_SIZE + room - 1) / room * plan->network.delay_max_ns;
}

static int64_t shortest_timeout_ns(const sim_plan *plan)
{
    int64_t shortest = SIM_NEVER;

    for (unsigned i = 0; i < plan->clients_count; i++) {
        int64_t reply_ns = plan->clients[i].load.reply_ms * SIM_MS;
        shortest         = reply_ns < shortest ? reply_ns : shortest;
    }
    return shortest;
}

/* From the call to the arrival of its request, which has a place in the queue from then on.  A
 * handshake that has lasted for timeout= begins again, after half of that at most, with the scripts
 * that are missing.  If its messages and one script take half of timeout= at most, a third of the
 * time is left for the scripts; otherwise they may never be there. */
static int64_t order_ns(const sim_plan *plan)
{
    int64_t timeout_ns  = shortest_timeout_ns(plan);
    int64_t messages_ns = MESSAGES * plan->network.delay_max_ns;
    int64_t nodes       = plan->servers.topology == SIM_CLUSTER ? 2 : 1; /* the first redirects */
    int64_t all_ns      = nodes * scripts_ns(plan, SCRIPTS);

    if (messages_ns + scripts_ns(plan, 1) > timeout_ns / 2)
        return SIM_NEVER;
    if (messages_ns + scripts_ns(plan, SCRIPTS) > timeout_ns)
        all_ns *= 3;
    return sim_plan_answer_ns(plan) + all_ns;
}

/* WAIT may end so late. */
static int64_t late_ns(const sim_plan *plan)
{
    return plan->sync > 0 ? PLAN_WAIT_LATE_MS * SIM_MS : 0;
}

/* The new primary has every lock: all replicas have it, or the best of them, which was chosen by an
 * administrator who sees them all. */
static bool survives_failover(const sim_plan *plan)
{
    bool all_run = plan->servers.topology == SIM_SYNC && !sim_plan_has(plan, FAULT_SERVER_KILLED) &&
                   !sim_plan_has(plan, FAULT_SERVER_POWER) &&
                   !sim_plan_has(plan, FAULT_SERVER_STOPPED);

    return plan->sync > 0 && (plan->sync == plan->servers.replicas || all_run) &&
           !sim_plan_has(plan, FAULT_SERVER_CLOCK) && plan->servers.disk == SIM_DISK_ALWAYS;
}

static bool may_fail_over(const sim_plan *plan)
{
    bool by_itself =
        sim_plan_has(plan, FAULT_SERVER_KILLED) || sim_plan_has(plan, FAULT_SERVER_POWER) ||
        sim_plan_has(plan, FAULT_SERVER_STOPPED) || sim_plan_has(plan, FAULT_SERVERS_CUT);

    switch (plan->servers.topology) {
    case SIM_SYNC: return sim_plan_has(plan, FAULT_FAILOVER);
    case SIM_SENTINEL: return by_itself || sim_plan_has(plan, FAULT_FAILOVER);
    case SIM_CLUSTER: /* a failover by hand loses nothing, but the clocks must agree */
        return (plan->servers.replicas > 0 && by_itself) || sim_plan_has(plan, FAULT_SERVER_CLOCK);
    case SIM_SINGLE:
    case SIM_REDLOCK:
    case SIM_TOPOLOGIES_END: break;
    }
    return false;
}

/* What the servers acknowledged is lost. */
static bool loses(const sim_plan *plan)
{
    bool restarts =
        sim_plan_has(plan, FAULT_SERVER_KILLED) || sim_plan_has(plan, FAULT_SERVER_POWER);

    if (sim_plan_has(plan, FAULT_DATA_FLUSHED))
        return true;
    if (may_fail_over(plan) && !survives_failover(plan))
        return true;
    /* A restarted server has no vote for a lease. */
    return restarts && plan->servers.disk != SIM_DISK_ALWAYS &&
           plan->servers.topology != SIM_REDLOCK;
}

/* A server that has lost its data, or a new primary, draws fences from its clock: they grow also
 * then.  But two primaries may grant locks for a while. */
static bool keeps_fences(const sim_plan *plan)
{
    if (plan->has_breaks || sim_plan_has(plan, FAULT_SERVER_CLOCK))
        return false;
    switch (plan->servers.topology) {
    case SIM_SINGLE: return true;
    case SIM_SYNC: return !sim_plan_has(plan, FAULT_SERVER_CLOCK_FORWARD);
    case SIM_CLUSTER:
        return plan->servers.replicas == 0 && !sim_plan_has(plan, FAULT_SERVER_CLOCK_FORWARD);
    case SIM_SENTINEL:
    case SIM_REDLOCK:
    case SIM_TOPOLOGIES_END: break;
    }
    return false;
}

/* Without faults no reply is late, and no replica later than WAIT allows.  A replica whose backlog
 * is shorter than what a closing client writes at once is away for a second (seed 296). */
static bool is_steady(const sim_plan *plan)
{
    return plan->network.slow_in == 0 && plan->servers.replicas_min == 0 &&
           (plan->sync == 0 || (plan->servers.lag_ns <= SYNC_LAG_MS * SIM_MS &&
                                plan->servers.backlog >= SYNC_BACKLOG));
}

int64_t sim_plan_grace_ms(const sim_plan *plan)
{
    return GRACE_MS + 3 * (int64_t)sim_plan_longest_lease_ms(plan);
}

check_rules sim_plan_rules(const sim_plan *plan)
{
    bool have_fences  = true;
    bool is_calm      = plan->faults_count == 0 && plan->network.slow_in == 0;
    bool is_cut_short = plan->has_breaks || sim_plan_has(plan, FAULT_SERVER_CLOCK);

    for (unsigned i = 0; i < plan->clients_count; i++)
        have_fences = have_fences && plan->clients[i].has_fence;
    return (check_rules){
        .excludes =
            !loses(plan) && !sim_plan_has(plan, FAULT_SERVER_CLOCK_FORWARD) && !plan->has_breaks,
        .has_fences = have_fences,
        .are_kept   = have_fences && keeps_fences(plan),
        .order_ns   = is_calm && have_fences && plan->sync == 0 ? order_ns(plan) : SIM_NEVER,
        .woken_ns =
            have_fences && !is_cut_short ? sim_plan_answer_ns(plan) + late_ns(plan) : SIM_NEVER,
        .request_ns = sim_plan_answer_ns(plan),
        .grace_ns   = is_steady(plan) ? sim_plan_grace_ms(plan) * SIM_MS : SIM_NEVER,
        .turns      = strstr(plan->clients[0].url, "turns=1") != NULL ? 0 : 64 * PLAN_CLIENTS_MAX,
    };
}

unsigned sim_plan_copies(const sim_plan *plan)
{
    bool is_kept = !loses(plan) && !may_fail_over(plan) &&
                   !sim_plan_has(plan, FAULT_SERVER_CLOCK) &&
                   !sim_plan_has(plan, FAULT_SERVER_CLOCK_FORWARD) && !plan->has_breaks;

    if (!is_kept || plan->servers.disk != SIM_DISK_ALWAYS ||
        plan->servers.topology == SIM_CLUSTER || strstr(plan->clients[0].url, "profile=") != NULL)
        return 0;
    return plan->servers.topology == SIM_REDLOCK ? plan->servers.primaries / 2 + 1 : 1 + plan->sync;
}
