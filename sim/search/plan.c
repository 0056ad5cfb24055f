#include "sim/search/plan.h"

#include "lab/base/dice.h"

#include <inttypes.h>
#include <string.h>

static const char *const fault_names[FAULT_KINDS_END] = {
    [FAULT_CLIENT_STOPPED]       = "client-stopped",
    [FAULT_CLIENT_SUSPENDED]     = "client-suspended",
    [FAULT_CLIENT_KILLED]        = "client-killed",
    [FAULT_CLIENT_CLOCK]         = "client-clock",
    [FAULT_RESET]                = "reset",
    [FAULT_CUT_TO_SERVER]        = "cut-to-server",
    [FAULT_CUT_FROM_SERVER]      = "cut-from-server",
    [FAULT_CUT]                  = "cut",
    [FAULT_SLOW]                 = "slow",
    [FAULT_NAME_SERVER]          = "name-server",
    [FAULT_SERVER_STOPPED]       = "server-stopped",
    [FAULT_SERVER_KILLED]        = "server-killed",
    [FAULT_SERVER_POWER]         = "server-power",
    [FAULT_SERVER_CLOCK]         = "server-clock-back",
    [FAULT_SCRIPTS_FLUSHED]      = "scripts-flushed",
    [FAULT_MEMORY_FULL]          = "memory-full",
    [FAULT_DATA_FLUSHED]         = "data-flushed",
    [FAULT_SERVER_CLOCK_FORWARD] = "server-clock-forward",
    [FAULT_SERVERS_CUT]          = "servers-cut",
    [FAULT_FAILOVER]             = "failover",
    [FAULT_SLOT_MOVED]           = "slot-moved",
    [FAULT_RESTARTS]             = "restarts",
    [FAULT_LOCK_TAKEN]           = "lock-taken",
    [FAULT_LOCK_DENIED]          = "lock-denied",
};

const char *sim_fault_name(plan_fault_kind kind)
{
    return fault_names[kind];
}

enum {
    SYNC_LEASE_MS = 900, /* with sync=, a reply may take 250 ms at least */

    BACKLOG_MAX = 1 << 20,

    QUIET_MS     = 30000,  /* see make_quiet */
    QUIET_MAX_MS = 600000, /* a longer world stays as it is; so do draw_tickets, draw_periods */

    PERIOD_MIN_MS   = 300,
    PERIOD_MAX_MS   = 20000,
    SHARE_LIMIT_MAX = 6,
    CROWD_LEASE_MS  = 3000,
    CROWD_HOLD_MS   = 1200000,
    CROWD_PAUSE_MS  = 8000,

    WAITED_MAX_MS = 240000, /* by all that wait for a lock with a period, one after the other */
};

/* Any numbers. */
#define FORKS   UINT64_C(0x666f726b)
#define TICKETS UINT64_C(0x7469636b)
#define PERIODS UINT64_C(0x70657269)
#define SHARES  UINT64_C(0x73686172)
#define SEVERAL UINT64_C(0x73657665)
#define ELECTS  UINT64_C(0x656c6563)

static uint64_t draw(uint64_t *seed, uint64_t below)
{
    return below == 0 ? 0 : bwl_dice_draw(seed) % below;
}

static int64_t between(uint64_t *seed, int64_t least, int64_t most)
{
    return least + (int64_t)draw(seed, (uint64_t)(most - least + 1));
}

/* Small values as often as large ones. */
static int64_t spread(uint64_t *seed, int64_t least, int64_t most)
{
    int64_t bits = 0;

    while (bits < 62 && INT64_C(1) << bits < most / (least > 0 ? least : 1))
        bits++;
    int64_t high = least << draw(seed, (uint64_t)bits + 1);
    return between(seed, least, high > most ? most : high < least ? least : high);
}

static void draw_network(sim_network_settings *ret_network, uint64_t *seed)
{
    int64_t delay = spread(seed, 20 * SIM_US, 5 * SIM_MS);

    *ret_network = (sim_network_settings){
        .seed         = bwl_dice_draw(seed),
        .delay_min_ns = delay,
        .delay_max_ns = delay + spread(seed, 10 * SIM_US, 5 * SIM_MS),
        .slow_in      = draw(seed, 2) == 0 ? 0 : (uint32_t)spread(seed, 20, 5000),
        .slow_ns      = spread(seed, SIM_MS, 400 * SIM_MS),
        .split_in     = draw(seed, 2) == 0 ? 0 : (uint32_t)spread(seed, 2, 200),
        .short_in     = draw(seed, 2) == 0 ? 0 : (uint32_t)spread(seed, 2, 200),
        .send_room    = (uint32_t)spread(seed, 512, 128 * 1024),
    };
}

/* Hours of a few locks, with long leases: what needs time, and nothing else. */
static void slow_down(sim_plan *plan, uint64_t *seed)
{
    plan->length_ms = spread(seed, 600000, INT64_C(80) * 3600 * 1000);
    for (unsigned i = 0; i < plan->clients_count; i++) {
        load_plan *load  = &plan->clients[i].load;
        load->activities = load->activities > 2 ? 2 : load->activities;
        load->threads    = load->threads > 2 ? 2 : load->threads;
        load->pause_ms   = spread(seed, 10000, 1800000);
        load->hold_ms    = spread(seed, 1, 120000);
        load->lease_ms   = (uint32_t)spread(seed, 5000, 120000);
        load->reply_ms   = load->lease_ms / 3;
    }
}

static void draw_client(sim_plan *plan, plan_client *ret_client, uint64_t *seed)
{
    bool has_many    = draw(seed, 6) == 0;
    ret_client->load = (load_plan){
        .seed        = bwl_dice_draw(seed),
        .number      = plan->clients_count,
        .activities  = (unsigned)between(seed, 1, has_many ? LOAD_ACTIVITIES_MAX : 6),
        .names       = (unsigned)spread(seed, 1, CHECK_NAMES_MAX),
        .pause_ms    = spread(seed, 1, 4000),
        .hold_ms     = spread(seed, 1, 8000),
        .lease_ms    = (uint32_t)spread(seed, 400, 20000),
        .threads     = draw(seed, 4) == 0 ? (unsigned)between(seed, 1, 6) : 0,
        .max_hold_ms = draw(seed, 4) == 0 ? spread(seed, 1, 20000) : 0,
        .closes_in   = draw(seed, 4) == 0 ? (unsigned)spread(seed, 20, 2000) : 0,
        .no_renewal  = draw(seed, 8) == 0,
    };
    ret_client->boot_ms        = spread(seed, 1, INT64_C(1) << 36);
    ret_client->wall_offset_ms = between(seed, -3600000, 3600000);
    ret_client->rate_ppm       = (int32_t)between(seed, -4000, 4000);
    if (ret_client->load.names > plan->clients[0].load.names && plan->clients_count > 0)
        ret_client->load.names = plan->clients[0].load.names;
}

static void cut_pair(plan_fault *ret_fault, const sim_plan *plan, uint64_t *seed)
{
    unsigned servers = sim_deploy_count(&plan->servers) - plan->servers.sentinels;

    if (draw(seed, 2) == 0)
        ret_fault->server = (unsigned)draw(seed, servers);
    else
        ret_fault->server = 0; /* the primary at first */
    ret_fault->length_ms = between(seed, 10000, 60000);
    ret_fault->target    = servers + (unsigned)draw(seed, plan->servers.sentinels);
    ret_fault->amount    = PLAN_CUT_FROM | PLAN_CUT_TO | PLAN_CUT_PAIR;
}

static void draw_fault(const sim_plan *plan, plan_fault *ret_fault, plan_fault_kind kind,
                       uint64_t *seed)
{
    *ret_fault = (plan_fault){
        .kind      = kind,
        .target    = (unsigned)draw(seed, plan->clients_count),
        .server    = (unsigned)draw(seed, sim_deploy_count(&plan->servers)),
        .at_ms     = (int64_t)draw(seed, (uint64_t)plan->length_ms),
        .length_ms = spread(seed, 1, 30000),
    };
    switch (kind) {
    case FAULT_CLIENT_CLOCK: ret_fault->amount = between(seed, -4000, 4000); break;
    case FAULT_RESET:
        ret_fault->target = (unsigned)draw(seed, 64);
        ret_fault->amount = (int64_t)draw(seed, 2) * spread(seed, 1, 4096);
        break;
    case FAULT_SERVER_CLOCK:
    case FAULT_SERVER_CLOCK_FORWARD: ret_fault->amount = spread(seed, 1, 3600000); break;
    case FAULT_SERVERS_CUT:
        ret_fault->target = (unsigned)draw(seed, sim_deploy_count(&plan->servers));
        ret_fault->amount = between(seed, 1, 3) | (draw(seed, 2) == 0 ? PLAN_CUT_ALL : 0);
        if (plan->servers.topology == SIM_SENTINEL && draw(seed, 2) == 0)
            cut_pair(ret_fault, plan, seed);
        break;
    case FAULT_LOCK_TAKEN:
    case FAULT_LOCK_DENIED:
    case FAULT_SLOT_MOVED: ret_fault->amount = between(seed, 0, CHECK_NAMES_MAX - 1); break;
    case FAULT_FAILOVER: ret_fault->amount = between(seed, 0, 1); break; /* its host lost power */
    case FAULT_CLIENT_STOPPED:
    case FAULT_CLIENT_SUSPENDED:
    case FAULT_CLIENT_KILLED:
    case FAULT_CUT_TO_SERVER:
    case FAULT_CUT_FROM_SERVER:
    case FAULT_CUT:
    case FAULT_SLOW:
    case FAULT_NAME_SERVER:
    case FAULT_SERVER_STOPPED:
    case FAULT_SERVER_KILLED:
    case FAULT_SERVER_POWER:
    case FAULT_SCRIPTS_FLUSHED:
    case FAULT_MEMORY_FULL:
    case FAULT_DATA_FLUSHED:
    case FAULT_RESTARTS:
    case FAULT_KINDS_END: break;
    }
}

static void sort_faults(sim_plan *plan)
{
    for (unsigned i = 1; i < plan->faults_count; i++) {
        plan_fault fault = plan->faults[i];
        unsigned   at    = i;
        for (; at > 0 && plan->faults[at - 1].at_ms > fault.at_ms; at--)
            plan->faults[at] = plan->faults[at - 1];
        plan->faults[at] = fault;
    }
}

/* Of several servers, some fail more often; with replicas a jump of a clock breaks a lock. */
static unsigned one_in(const sim_plan *plan, plan_fault_kind kind)
{
    bool has_replicas = plan->servers.replicas > 0;

    switch (kind) {
    case FAULT_DATA_FLUSHED:
    case FAULT_SERVER_CLOCK_FORWARD: return 16;
    case FAULT_SERVER_CLOCK: return has_replicas ? 16 : 4;
    case FAULT_SERVERS_CUT:
    case FAULT_FAILOVER: return has_replicas ? 2 : 0;
    case FAULT_SLOT_MOVED: return plan->servers.topology == SIM_CLUSTER ? 2 : 0;
    case FAULT_RESTARTS: return plan->servers.topology == SIM_REDLOCK ? 4 : 0;
    case FAULT_LOCK_TAKEN:
    case FAULT_LOCK_DENIED: return 0; /* see harm_locks */
    case FAULT_SERVER_STOPPED:
    case FAULT_SERVER_KILLED:
    case FAULT_SERVER_POWER: return sim_deploy_count(&plan->servers) > 1 ? 2 : 4;
    case FAULT_MEMORY_FULL:
    case FAULT_CLIENT_STOPPED:
    case FAULT_CLIENT_SUSPENDED:
    case FAULT_CLIENT_KILLED:
    case FAULT_CLIENT_CLOCK:
    case FAULT_RESET:
    case FAULT_CUT_TO_SERVER:
    case FAULT_CUT_FROM_SERVER:
    case FAULT_CUT:
    case FAULT_SLOW:
    case FAULT_NAME_SERVER:
    case FAULT_SCRIPTS_FLUSHED:
    case FAULT_KINDS_END: break;
    }
    return 4;
}

/* Each kind is in this world or not; so a rare combination is not drowned by the others. */
static void draw_faults(sim_plan *plan, uint64_t *seed)
{
    plan_fault_kind kinds[FAULT_KINDS_END];
    unsigned        kinds_count = 0;

    for (plan_fault_kind k = FAULT_CLIENT_STOPPED; k < FAULT_KINDS_END; k++) {
        unsigned chances = one_in(plan, k);
        if (chances > 0 && draw(seed, chances) == 0)
            kinds[kinds_count++] = k;
    }
    if (kinds_count == 0)
        return;
    plan->faults_count = (unsigned)spread(seed, 1, PLAN_FAULTS_MAX);
    for (unsigned i = 0; i < plan->faults_count; i++)
        draw_fault(plan, &plan->faults[i], kinds[draw(seed, kinds_count)], seed);
    sort_faults(plan);
}

static bool has_only(const sim_plan *plan, plan_fault_kind kind)
{
    for (unsigned i = 0; i < plan->faults_count; i++) {
        if (plan->faults[i].kind != kind)
            return false;
    }
    return plan->faults_count > 0;
}

/* A world for faults that are noticed only while nothing else disturbs the clients: they come when
 * the effects of the start are over, until the end of the world. */
static void make_quiet(sim_plan *plan)
{
    plan->faults_count    = 0;
    plan->network.slow_in = 0;
    plan->length_ms       = sim_plan_grace_ms(plan) + QUIET_MS;
}

static plan_fault *add_fault(sim_plan *plan, plan_fault_kind kind, uint64_t *seed)
{
    plan_fault *fault = &plan->faults[plan->faults_count++];

    draw_fault(plan, fault, kind, seed);
    fault->at_ms = plan->length_ms - 1 - fault->at_ms % QUIET_MS;
    return fault;
}

/* Nothing but broken connections, and long leases: what a missing reply leaves behind would stay
 * for long.  The programs are busy, or they hold their locks. */
static void break_only(sim_plan *plan, uint64_t *seed)
{
    bool is_busy = draw(seed, 4) != 0;

    for (unsigned i = 0; i < plan->clients_count; i++) {
        load_plan *load = &plan->clients[i].load;
        load->lease_ms  = (uint32_t)spread(seed, 8000, 20000);
        load->pause_ms  = spread(seed, 50, 1000);
        load->hold_ms   = is_busy ? spread(seed, 1, 100) : spread(seed, 10000, 60000);
        if (!is_busy || load->activities > 2)
            load->activities = is_busy ? 2 : 1;
        if (load->closes_in > 0)
            load->closes_in *= 4;
    }
    make_quiet(plan);
    for (unsigned count = PLAN_FAULTS_MAX; count > 0; count--)
        (void)add_fault(plan, FAULT_RESET, seed);
}

/* Faults of one lock, which the others of the same client must not notice.  So the first client has
 * many of them, and their renewals share a call.  A foreign value stays for longer than a lease:
 * nobody gets the lock before its holder has noticed. */
static void harm_locks(sim_plan *plan, uint64_t *seed)
{
    load_plan *load = &plan->clients[0].load;

    load->activities  = 24;
    load->threads     = 0;
    load->names       = CHECK_NAMES_MAX;
    load->pause_ms    = load->lease_ms;
    load->hold_ms     = 4 * (int64_t)load->lease_ms;
    load->step_ms     = load->lease_ms;
    load->max_hold_ms = 0;
    load->closes_in   = 0;
    load->no_renewal  = false;
    make_quiet(plan);
    for (unsigned count = 16; count > 0; count--) {
        bool        is_taken = draw(seed, 2) == 0;
        plan_fault *fault = add_fault(plan, is_taken ? FAULT_LOCK_TAKEN : FAULT_LOCK_DENIED, seed);
        fault->length_ms = sim_plan_longest_lease_ms(plan) * (is_taken ? 9 : 4) / 8 + SYNC_LEASE_MS;
        /* A foreign value in a lock that the others want, too; the other locks stay calm. */
        fault->amount = fault->amount % 2 + (is_taken ? 0 : CHECK_NAMES_MAX / 2);
    }
}

/* Some worlds have these faults alone. */
static void draw_quiet_faults(sim_plan *plan, uint64_t *seed)
{
    uint64_t kind = plan->length_ms > QUIET_MAX_MS ? 0 : draw(seed, 16);

    if (kind == 1)
        break_only(plan, seed);
    else if (kind == 2 && strstr(plan->clients[0].url, "profile=") == NULL)
        harm_locks(plan, seed);
    sort_faults(plan);
}

/* A server that does not identify its process cannot be seen to restart. */
static void forbid_info(sim_plan *plan, uint64_t *seed)
{
    plan->servers.forbids_info = plan->servers.topology == SIM_SINGLE && draw(seed, 12) == 0;
}

/* A restart without data, after the fences were lost once before: they come from the clock then. */
static void add_flushes(sim_plan *plan, uint64_t *seed)
{
    bool forgets =
        plan->servers.disk != SIM_DISK_ALWAYS &&
        (plan->servers.topology == SIM_SINGLE || plan->servers.topology == SIM_SYNC) &&
        (sim_plan_has(plan, FAULT_SERVER_KILLED) || sim_plan_has(plan, FAULT_SERVER_POWER));

    if (!forgets || plan->faults_count == PLAN_FAULTS_MAX)
        return;
    draw_fault(plan, &plan->faults[plan->faults_count], FAULT_DATA_FLUSHED, seed);
    plan->faults[plan->faults_count++].at_ms /= 4; /* early */
    sort_faults(plan);
}

static void draw_servers(sim_deploy_plan *ret_servers, uint64_t *seed, sim_topology only)
{
    /* A waiter of a redlock asks all its servers again and again: such a world is slow. */
    static const sim_topology often[]  = { SIM_SINGLE,  SIM_SINGLE, SIM_SINGLE,   SIM_REDLOCK,
                                           SIM_SYNC,    SIM_SYNC,   SIM_SENTINEL, SIM_SENTINEL,
                                           SIM_CLUSTER, SIM_CLUSTER };
    sim_topology              topology = often[draw(seed, sizeof often / sizeof often[0])];

    *ret_servers = (sim_deploy_plan){
        .topology  = only != 0 ? only : topology,
        .primaries = 1,
        .version   = (model_version)between(seed, MODEL_REDIS_6_2, MODEL_VALKEY_9),
        .disk      = SIM_DISK_ALWAYS,
        .seed      = bwl_dice_draw(seed),
    };
    bool forgets = draw(seed, 4) == 0;
    if (ret_servers->topology == SIM_REDLOCK) {
        ret_servers->primaries       = draw(seed, 2) == 0 ? 3 : 5;
        ret_servers->wall_differs_ns = 60 * SIM_S;
        forgets                      = draw(seed, 2) == 0; /* they may */
    }
    if (ret_servers->topology >= SIM_SENTINEL)
        ret_servers->down_after_ns = spread(seed, 500 * SIM_MS, 10 * SIM_S);
    if (ret_servers->topology == SIM_SENTINEL)
        ret_servers->sentinels = 3;
    if (ret_servers->topology == SIM_CLUSTER)
        ret_servers->primaries = 3;
    if (ret_servers->topology >= SIM_SYNC) {
        bool is_cluster       = ret_servers->topology == SIM_CLUSTER;
        ret_servers->replicas = (unsigned)between(seed, is_cluster ? 0 : 1, is_cluster ? 1 : 2);
        ret_servers->lag_ns   = spread(seed, 50 * SIM_US, SIM_S);
        ret_servers->backlog  = (size_t)spread(seed, 1024, BACKLOG_MAX);
        if (draw(seed, 4) == 0 && ret_servers->replicas > 0) {
            ret_servers->replicas_min = 1;
            ret_servers->backlog      = BACKLOG_MAX; /* a replica that is dropped stops writes */
        }
    }
    if (draw(seed, 3) == 0)
        ret_servers->password = LOAD_SECRET;
    if (forgets)
        ret_servers->disk = (sim_disk)between(seed, SIM_DISK_SECOND, SIM_DISK_NONE);
}

/* What the clients take their locks with. */
typedef enum plan_mix {
    MIX_QUEUE = 1,
    MIX_TURNS,  /* each thread has its own place in the queue */
    MIX_STICKY, /* a released lock stays with its client */
    MIX_TOKEN,
    MIX_QUEUE_AND_TOKEN,
    MIX_REDISSON,
    MIX_SYMFONY,
    MIX_END,
} plan_mix;

static const char *option_of(plan_mix mix, unsigned client)
{
    switch (mix) {
    case MIX_QUEUE: return "protocol=queue";
    case MIX_TURNS: return "turns=1";
    case MIX_STICKY: return client % 3 == 2 ? "protocol=queue" : "sticky=1s";
    case MIX_TOKEN: return "protocol=token";
    case MIX_QUEUE_AND_TOKEN: return client % 2 == 0 ? "protocol=queue" : "protocol=token";
    case MIX_REDISSON: return "profile=redisson";
    case MIX_SYMFONY: return "profile=symfony";
    case MIX_END: break;
    }
    return "";
}

static plan_mix draw_mix(const sim_plan *plan, uint64_t *seed)
{
    plan_mix last = plan->sync > 0 ? MIX_QUEUE_AND_TOKEN : MIX_END - 1;

    /* Protocol queue needs 7.0 there. */
    if (plan->servers.topology == SIM_CLUSTER && plan->servers.version == MODEL_REDIS_6_2)
        return MIX_TOKEN;
    return draw(seed, 2) == 0 ? MIX_QUEUE : (plan_mix)between(seed, MIX_QUEUE, last);
}

static void draw_urls(sim_plan *plan, uint64_t *seed)
{
    plan_mix mix        = draw_mix(plan, seed);
    bool     is_redlock = plan->servers.topology == SIM_REDLOCK;
    char     base[PLAN_URL_MAX - 64];

    sim_deploy_url(&plan->servers, base, sizeof base);
    for (unsigned i = 0; i < plan->clients_count; i++) {
        plan_client *client   = &plan->clients[i];
        char         sync[24] = "";
        if (plan->sync > 0)
            (void)snprintf(sync, sizeof sync, "&sync=%u", plan->sync);
        (void)snprintf(client->url, sizeof client->url, "%s%s%s%s", base, is_redlock ? "" : "?",
                       is_redlock ? "" : option_of(mix, i), sync);
        client->load.is_beside = mix == MIX_QUEUE_AND_TOKEN;
        client->has_fence      = !is_redlock && mix <= MIX_STICKY;
    }
}

/* What a topology asks of the programs. */
static void adapt_clients(sim_plan *plan)
{
    for (unsigned i = 0; i < plan->clients_count; i++) {
        load_plan *load = &plan->clients[i].load;
        if (plan->servers.topology == SIM_REDLOCK) {
            load->lease_ms = plan->clients[0].load.lease_ms; /* or a restarted server may vote */
        }
        if (plan->sync > 0 && load->lease_ms < SYNC_LEASE_MS)
            load->lease_ms = SYNC_LEASE_MS;
        if (plan->sync > 0)
            load->late_ms = PLAN_WAIT_LATE_MS;
        load->reply_ms   = load->lease_ms / 3;
        load->calm_ms    = (uint32_t)(sim_plan_answer_ns(plan) / SIM_MS);
        load->has_breaks = plan->has_breaks;
    }
}

/* From dice of their own: no other draw depends on them. */
static void draw_forks(sim_plan *plan)
{
    uint64_t dice = plan->seed ^ FORKS;

    for (unsigned i = 0; i < plan->clients_count; i++) {
        if (draw(&dice, 4) == 0)
            plan->clients[i].load.fork_ms = spread(&dice, 100, plan->length_ms);
    }
}

/* Likewise.  Programs that act together in steps do not block, and redlock has no tickets.  What an
 * import without a reply has done shows where nothing but connections breaks. */
static void draw_tickets(sim_plan *plan)
{
    uint64_t dice     = plan->seed ^ TICKETS;
    uint32_t shortest = sim_plan_longest_lease_ms(plan);
    bool     breaks   = has_only(plan, FAULT_RESET);

    for (unsigned i = 0; i < plan->clients_count; i++) {
        if (plan->clients[i].load.lease_ms < shortest)
            shortest = plan->clients[i].load.lease_ms;
    }
    if (draw(&dice, breaks ? 2 : 4) != 0 || plan->clients[0].load.step_ms > 0 ||
        plan->servers.topology == SIM_REDLOCK || plan->length_ms > QUIET_MAX_MS)
        return;
    for (unsigned i = 0; i < plan->clients_count; i++) {
        plan->clients[i].load.ticket_ms    = 1 + shortest / (breaks ? 16 : 2);
        plan->clients[i].load.ticket_break = breaks ? 2 * plan->network.delay_max_ns : 0;
    }
}

/* Likewise, of the first locks.  All that wait for one of them get it one after the other.  A long
 * world stays as it is: its programs would do little else than wait. */
static void draw_periods(sim_plan *plan)
{
    uint64_t dice    = plan->seed ^ PERIODS;
    unsigned waiters = 0;
    bool     may     = draw(&dice, 4) == 0 && plan->length_ms <= QUIET_MAX_MS &&
               plan->servers.topology != SIM_REDLOCK && !plan->has_breaks &&
               !sim_plan_has(plan, FAULT_SERVER_CLOCK) &&
               !sim_plan_has(plan, FAULT_SERVER_CLOCK_FORWARD);

    for (unsigned i = 0; i < plan->clients_count; i++) {
        const load_plan *load = &plan->clients[i].load;
        waiters += load->threads > 0 ? load->threads : load->activities;
        may = may && plan->clients[i].has_fence && load->step_ms == 0 && load->ticket_ms == 0;
    }
    int64_t most_ms = WAITED_MAX_MS / waiters;
    int64_t period_ms =
        between(&dice, PERIOD_MIN_MS, most_ms > PERIOD_MAX_MS ? PERIOD_MAX_MS : most_ms);
    for (unsigned i = 0; may && i < plan->clients_count; i++)
        plan->clients[i].load.period_ms = period_ms;
}

/* All want permits of one lock and keep them for long, so its gate stays open for minutes without a
 * release.  The first client is killed early: its permits end, and make room for a waiter.
 * The others begin at times that differ, so that the check knows the first waiter. */
static void make_crowd(sim_plan *plan, uint64_t *seed)
{
    unsigned others = plan->clients_count - 1;
    uint32_t limit  = (uint32_t)between(seed, 2, SHARE_LIMIT_MAX);

    for (unsigned i = 0; i < plan->clients_count; i++) {
        load_plan *load   = &plan->clients[i].load;
        load->shares      = (load_shares){ .limit = limit, .is_crowd = true };
        load->names       = 1;
        load->threads     = 0;
        load->activities  = i == 0 ? 1 : 1 + limit / others;
        load->pause_ms    = i == 0 ? 1 : CROWD_PAUSE_MS;
        load->hold_ms     = CROWD_HOLD_MS;
        load->max_hold_ms = 0;
        load->closes_in   = 0;
        load->ticket_ms   = 0;
        load->period_ms   = 0;
        load->step_ms     = 0;
        load->no_renewal  = false;
        if (load->lease_ms > CROWD_LEASE_MS)
            load->lease_ms = CROWD_LEASE_MS;
        load->reply_ms = load->lease_ms / 3;
    }
    plan->has_breaks = false;
    make_quiet(plan);
    plan_fault *fault = add_fault(plan, FAULT_CLIENT_KILLED, seed);
    fault->target     = 0;
    fault->at_ms      = CROWD_PAUSE_MS;
    fault->length_ms  = 1000;
}

/* Likewise.  All clients have a protocol that shares. */
static void draw_shares(sim_plan *plan)
{
    uint64_t dice  = plan->seed ^ SHARES;
    bool     may   = draw(&dice, 4) == 0 && plan->servers.topology != SIM_REDLOCK;
    uint32_t limit = (uint32_t)between(&dice, 1, SHARE_LIMIT_MAX);

    for (unsigned i = 0; i < plan->clients_count; i++)
        may = may && plan->clients[i].has_fence;
    for (unsigned i = 0; may && i < plan->clients_count; i++)
        plan->clients[i].load.shares.limit = limit;
    if (may && plan->clients_count > 1 && draw(&dice, 2) == 0 && plan->length_ms <= QUIET_MAX_MS)
        make_crowd(plan, &dice);
}

/* Likewise.  Programs with threads do it, and the others of their world feel it. */
static void draw_several(sim_plan *plan)
{
    uint64_t dice = plan->seed ^ SEVERAL;
    bool     may  = draw(&dice, 4) == 0;

    for (unsigned i = 0; may && i < plan->clients_count; i++)
        plan->clients[i].load.takes_several = plan->clients[i].load.threads > 0;
}

/* Likewise.  All clients have a protocol with an election. */
static void draw_elections(sim_plan *plan)
{
    uint64_t dice = plan->seed ^ ELECTS;
    bool     may  = draw(&dice, 4) == 0 && plan->servers.topology != SIM_REDLOCK;

    for (unsigned i = 0; i < plan->clients_count; i++)
        may = may && plan->clients[i].has_fence;
    for (unsigned i = 0; may && i < plan->clients_count; i++)
        plan->clients[i].load.elects = plan->clients[i].load.threads == 0;
}

void sim_plan_draw(sim_plan *ret_plan, uint64_t seed, sim_topology only)
{
    uint64_t dice = seed;
    uint64_t more = ~seed; /* what was added later: the others stay as they were */

    memset(ret_plan, 0, sizeof *ret_plan);
    ret_plan->seed = seed;
    draw_servers(&ret_plan->servers, &dice, only);
    ret_plan->length_ms = spread(&dice, 5000, 600000);
    draw_network(&ret_plan->network, &dice);
    unsigned count = (unsigned)between(&dice, 1, PLAN_CLIENTS_MAX);
    for (unsigned i = 0; i < count; i++) {
        draw_client(ret_plan, &ret_plan->clients[i], &dice);
        ret_plan->clients_count++;
    }
    if (ret_plan->servers.topology == SIM_SYNC ||
        (ret_plan->servers.topology == SIM_SENTINEL && draw(&dice, 2) == 0))
        ret_plan->sync = (unsigned)between(&dice, 1, (int64_t)ret_plan->servers.replicas);
    draw_urls(ret_plan, &dice);
    ret_plan->has_breaks = ret_plan->servers.topology != SIM_REDLOCK && draw(&dice, 16) == 0;
    if (draw(&dice, 4) == 0)
        slow_down(ret_plan, &dice);
    if (draw(&dice, 2) == 0)
        ret_plan->network.slow_in = 0;
    if (draw(&dice, 8) != 0)
        draw_faults(ret_plan, &dice);
    else
        ret_plan->network.slow_in = 0;
    draw_quiet_faults(ret_plan, &more);
    add_flushes(ret_plan, &more);
    forbid_info(ret_plan, &more);
    adapt_clients(ret_plan);
    draw_forks(ret_plan);
    draw_tickets(ret_plan);
    draw_periods(ret_plan);
    draw_shares(ret_plan);
    draw_several(ret_plan);
    draw_elections(ret_plan);
}
