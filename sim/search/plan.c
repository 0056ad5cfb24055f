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
};

const char *sim_fault_name(plan_fault_kind kind)
{
    return fault_names[kind];
}

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
        .slow_ns      = spread(seed, SIM_MS, 400 * (int64_t)SIM_MS),
        .split_in     = draw(seed, 2) == 0 ? 0 : (uint32_t)spread(seed, 2, 200),
        .short_in     = draw(seed, 2) == 0 ? 0 : (uint32_t)spread(seed, 2, 200),
        .send_room    = (uint32_t)spread(seed, 512, 128 * 1024),
    };
}

/* Hours of a few locks, with long leases: what needs time, and nothing else. */
static void slow_down(sim_plan *plan, uint64_t *seed)
{
    plan->length_ms = spread(seed, 600000, INT64_C(20) * 3600 * 1000);
    for (unsigned i = 0; i < plan->clients_count; i++) {
        load_plan *load  = &plan->clients[i].load;
        load->activities = load->activities > 2 ? 2 : load->activities;
        load->threads    = load->threads > 2 ? 2 : load->threads;
        load->pause_ms   = spread(seed, 1000, 600000);
        load->hold_ms    = spread(seed, 1, 120000);
        load->lease_ms   = (uint32_t)spread(seed, 5000, 120000);
        load->reply_ms   = load->lease_ms / 3;
    }
}

static void draw_client(sim_plan *plan, plan_client *ret_client, uint64_t *seed)
{
    ret_client->load = (load_plan){
        .seed        = bwl_dice_draw(seed),
        .activities  = (unsigned)between(seed, 1, 6),
        .names       = (unsigned)spread(seed, 1, CHECK_NAMES_MAX),
        .pause_ms    = spread(seed, 1, 4000),
        .hold_ms     = spread(seed, 1, 8000),
        .lease_ms    = (uint32_t)spread(seed, 400, 20000),
        .threads     = draw(seed, 4) == 0 ? (unsigned)between(seed, 1, 6) : 0,
        .max_hold_ms = draw(seed, 4) == 0 ? spread(seed, 1, 20000) : 0,
        .closes_in   = draw(seed, 4) == 0 ? (unsigned)spread(seed, 20, 2000) : 0,
    };
    ret_client->load.reply_ms  = ret_client->load.lease_ms / 3;
    ret_client->boot_ms        = spread(seed, 1, INT64_C(1) << 36);
    ret_client->wall_offset_ms = between(seed, -3600000, 3600000);
    ret_client->rate_ppm       = (int32_t)between(seed, -4000, 4000);
    if (ret_client->load.names > plan->clients[0].load.names && plan->clients_count > 0)
        ret_client->load.names = plan->clients[0].load.names;
}

static void draw_fault(const sim_plan *plan, plan_fault *ret_fault, plan_fault_kind kind,
                       uint64_t *seed)
{
    *ret_fault = (plan_fault){
        .kind      = kind,
        .target    = (unsigned)draw(seed, plan->clients_count),
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

/* Each kind is in this world or not; so a rare combination is not drowned by the others. */
static void draw_faults(sim_plan *plan, uint64_t *seed)
{
    plan_fault_kind kinds[FAULT_KINDS_END];
    unsigned        kinds_count = 0;

    for (plan_fault_kind k = FAULT_CLIENT_STOPPED; k < FAULT_KINDS_END; k++) {
        unsigned one_in = k >= FAULT_DATA_FLUSHED ? 16 : 4;
        if (draw(seed, one_in) == 0)
            kinds[kinds_count++] = k;
    }
    if (kinds_count == 0)
        return;
    plan->faults_count = (unsigned)spread(seed, 1, PLAN_FAULTS_MAX);
    for (unsigned i = 0; i < plan->faults_count; i++)
        draw_fault(plan, &plan->faults[i], kinds[draw(seed, kinds_count)], seed);
    sort_faults(plan);
}

static bool has(const sim_plan *plan, plan_fault_kind kind)
{
    for (unsigned i = 0; i < plan->faults_count; i++) {
        if (plan->faults[i].kind == kind)
            return true;
    }
    return false;
}

void sim_plan_draw(sim_plan *ret_plan, uint64_t seed)
{
    uint64_t dice = seed;

    memset(ret_plan, 0, sizeof *ret_plan);
    ret_plan->seed    = seed;
    ret_plan->version = (model_version)between(&dice, MODEL_REDIS_6_2, MODEL_VALKEY_9);
    ret_plan->disk    = SIM_DISK_ALWAYS;
    if (draw(&dice, 4) == 0)
        ret_plan->disk = (sim_disk)between(&dice, SIM_DISK_SECOND, SIM_DISK_NONE);
    ret_plan->length_ms = spread(&dice, 5000, 600000);
    (void)snprintf(ret_plan->url, sizeof ret_plan->url, "redis://redis-1%s",
                   draw(&dice, 4) == 0 ? "?turns=1" : "");
    draw_network(&ret_plan->network, &dice);
    unsigned count = (unsigned)between(&dice, 1, PLAN_CLIENTS_MAX);
    for (unsigned i = 0; i < count; i++) {
        draw_client(ret_plan, &ret_plan->clients[i], &dice);
        ret_plan->clients_count++;
    }
    if (draw(&dice, 6) == 0)
        slow_down(ret_plan, &dice);
    if (draw(&dice, 8) != 0)
        draw_faults(ret_plan, &dice);
    else
        ret_plan->network.slow_in = 0;
    for (unsigned i = 0; i < count; i++) {
        load_plan *load  = &ret_plan->clients[i].load;
        load->may_fail   = ret_plan->faults_count > 0 || ret_plan->network.slow_in != 0;
        load->may_refuse = load->may_fail;
    }
}

check_rules sim_plan_rules(const sim_plan *plan)
{
    bool restarts = has(plan, FAULT_SERVER_KILLED) || has(plan, FAULT_SERVER_POWER);
    bool loses    = has(plan, FAULT_DATA_FLUSHED) || (restarts && plan->disk != SIM_DISK_ALWAYS);

    bool is_calm = plan->faults_count == 0 && plan->network.slow_in == 0;
    /* A request is sent at once, but the first one of a connection is behind its handshake. */
    int64_t order_ns = 40 * plan->network.delay_max_ns + 200 * (int64_t)SIM_MS;

    return (check_rules){
        .excludes   = !loses && !has(plan, FAULT_SERVER_CLOCK_FORWARD),
        .has_fences = !has(plan, FAULT_SERVER_CLOCK) || !loses,
        .order_ns   = is_calm ? order_ns : SIM_NEVER,
        .turns      = strstr(plan->url, "turns=1") != NULL ? 0 : 64 * PLAN_CLIENTS_MAX,
    };
}

void sim_plan_print(const sim_plan *plan, FILE *out)
{
    const sim_network_settings *n = &plan->network;

    (void)fprintf(out, "seed %" PRIu64 "\nurl %s\nversion %d\ndisk %d\nlength_ms %" PRId64 "\n",
                  plan->seed, plan->url, (int)plan->version, (int)plan->disk, plan->length_ms);
    (void)fprintf(out,
                  "network %" PRId64 "..%" PRId64 " ns, slow 1/%" PRIu32 " %" PRId64
                  " ns, split 1/%" PRIu32 ", short 1/%" PRIu32 ", room %" PRIu32 "\n",
                  n->delay_min_ns, n->delay_max_ns, n->slow_in, n->slow_ns, n->split_in,
                  n->short_in, n->send_room);
    for (unsigned i = 0; i < plan->clients_count; i++) {
        const plan_client *c = &plan->clients[i];
        (void)fprintf(out,
                      "client %u: %u activities, %u names, pause %" PRId64 " ms, hold %" PRId64
                      " ms, lease %" PRIu32 " ms, closes 1/%u, rate %" PRId32 " ppm\n",
                      i, c->load.activities, c->load.names, c->load.pause_ms, c->load.hold_ms,
                      c->load.lease_ms, c->load.closes_in, c->rate_ppm);
    }
    for (unsigned i = 0; i < plan->faults_count; i++) {
        const plan_fault *f = &plan->faults[i];
        (void)fprintf(out,
                      "fault %u: %s at %" PRId64 " ms for %" PRId64 " ms, target %u, %" PRId64 "\n",
                      i, sim_fault_name(f->kind), f->at_ms, f->length_ms, f->target, f->amount);
    }
}
