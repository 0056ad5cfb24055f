#include "sim/search/run.h"

#include "sim/kernel/descriptor.h"
#include "sim/kernel/names.h"
#include "lab/base/dice.h"
#include "sim/kernel/say.h"
#include "sim/load/periods.h"
#include "sim/load/elections.h"
#include "sim/load/tickets.h"
#include "sim/search/connections.h"
#include "sim/search/epoch.h"
#include "sim/search/gates.h"
#include "sim/search/left.h"
#include "sim/search/picture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLIENT_HOST  = SIM_SERVERS_MAX, /* of the first client; servers are on host 0, 1, ... */
    CALM_MS      = 600000,          /* after the last fault, everything ends in this time */
    ENDED_MS     = 5000,            /* and what was released at the end arrives */
    REST_MS      = 120000,          /* and then leases and client info expire */
    REFUSED_MAX  = 100,             /* connects, of one client in a second */
    LOOKS_MAX_MS = 600000,          /* the connections are not looked at in longer worlds */
    STEADY_MS    = 20000,           /* for so long the programs go on without faults */
};

/* 2026-01-01: any time after the fences' minimum will do. */
#define WALL_NS (INT64_C(1767225600) * SIM_S)

typedef struct world {
    const sim_plan *plan;
    sim_deploy     *servers;
    load_client    *clients[PLAN_CLIENTS_MAX];
    uint64_t        seeds[PLAN_CLIENTS_MAX]; /* of the next process of each client */
    load_counts     counts;
    bool            kills;    /* a process, now */
    unsigned        restarts; /* steps of the present one in a row */
} world;

static world w; /* the only one; what ends a fault has one number as its argument */

/* ---- clients --------------------------------------------------------------------------------- */

static void start_client(unsigned number)
{
    const plan_client *client = &w.plan->clients[number];
    load_plan          load   = client->load;
    char               name[16];

    (void)snprintf(name, sizeof name, "client-%u", number);
    load.url          = client->url;
    load.seed         = bwl_dice_draw(&w.seeds[number]);
    w.clients[number] = load_client_new(
        &load, name,
        (sim_clocks){ .boot_ns  = client->boot_ms * SIM_MS + sim_now(),
                      .wall_ns  = WALL_NS + client->wall_offset_ms * SIM_MS + sim_now(),
                      .rate_ppm = client->rate_ppm },
        &w.counts);
    sim_process_host(load_client_process(w.clients[number]), CLIENT_HOST + number);
}

/* Its last thread has returned: a lookup of a host may outlive its client. */
static void check_what_is_left(const sim_process *process)
{
    size_t   blocks      = sim_heap_blocks(process);
    unsigned descriptors = sim_descriptors_count(process);

    if (blocks != 0)
        check_fail("memory: %s: %zu blocks are left", sim_process_name(process), blocks);
    if (descriptors != 0)
        check_fail("descriptors: %s: %u are left", sim_process_name(process), descriptors);
}

static void process_ended(sim_process *process)
{
    if (!w.kills)
        check_what_is_left(process);
    check_killed(process);
    sim_descriptors_close(process);
}

static void kill_client(unsigned number)
{
    w.kills = true;
    sim_process_kill(load_client_process(w.clients[number]));
    w.kills = false;
    load_client_free(w.clients[number]);
    w.clients[number] = NULL;
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void cut(const plan_fault *fault, bool up, bool down, bool is_cut)
{
    if (up)
        sim_way_cut(CLIENT_HOST + fault->target, fault->server, is_cut);
    if (down)
        sim_way_cut(fault->server, CLIENT_HOST + fault->target, is_cut);
}

/* What the fault cuts off has no way to this server. */
static bool loses_way_to(const plan_fault *fault, unsigned other)
{
    if (other == fault->server)
        return false;
    if ((fault->amount & PLAN_CUT_PAIR) != 0)
        return other != fault->target;
    return other == fault->target || (fault->amount & PLAN_CUT_ALL) != 0;
}

static void cut_from_others(unsigned server, const plan_fault *fault, bool is_cut)
{
    for (unsigned i = 0; i < sim_deploy_count(&w.plan->servers); i++) {
        if (!loses_way_to(fault, i))
            continue;
        if ((fault->amount & PLAN_CUT_FROM) != 0)
            sim_way_cut(server, i, is_cut);
        if ((fault->amount & PLAN_CUT_TO) != 0)
            sim_way_cut(i, server, is_cut);
    }
}

static void cut_servers(const plan_fault *fault, bool is_cut)
{
    cut_from_others(fault->server, fault, is_cut);
    if ((fault->amount & PLAN_CUT_PAIR) != 0)
        cut_from_others(fault->target, fault, is_cut);
}

static void move_slot(const plan_fault *fault)
{
    char key[2] = { (char)('a' + fault->amount), '\0' }; /* of lock_name in sim/load */

    sim_deploy_move_slot(w.servers, key, fault->server);
}

static void command_all(const char *command)
{
    for (unsigned i = 0; i < sim_deploy_count(&w.plan->servers); i++)
        sim_deploy_command(w.servers, i, command);
}

static void take_lock(const plan_fault *fault)
{
    char command[80];

    (void)snprintf(command, sizeof command, "SET bowline:{%c} foreign PX %" PRId64,
                   'a' + (char)fault->amount, fault->length_ms);
    command_all(command);
}

/* All keys but those that begin with that of the lock. */
static void deny_lock(const plan_fault *fault, bool is_denied)
{
    char command[80];

    (void)snprintf(command, sizeof command,
                   is_denied ? "ACL SETUSER default resetkeys ~bowline:[^{]* ~bowline:{[^%c]*"
                             : "ACL SETUSER default allkeys",
                   'a' + (char)fault->amount);
    command_all(command);
}

/* A failover has no old primary to come back if another fault killed it. */
static void start_all(void)
{
    for (unsigned i = 0; i < sim_deploy_count(&w.plan->servers); i++)
        sim_deploy_start(w.servers, i);
}

static void change_clock(const plan_fault *fault)
{
    if (w.clients[fault->target] != NULL)
        sim_clock_change(load_client_process(w.clients[fault->target]), (int32_t)fault->amount,
                         fault->amount * SIM_MS);
}

static void pause_client(const plan_fault *fault, bool suspends)
{
    if (w.clients[fault->target] != NULL)
        sim_process_pause(load_client_process(w.clients[fault->target]), suspends);
}

static void reset(const plan_fault *fault)
{
    unsigned count = sim_connections_count();

    if (count > 0)
        sim_connection_reset(sim_connection_at(fault->target % count), (size_t)fault->amount);
}

static void slow_down(bool is_slow)
{
    sim_network_settings slow = w.plan->network;

    if (is_slow) {
        slow.delay_max_ns += 300 * SIM_MS;
        slow.slow_in = 20;
    }
    sim_network_change(&slow);
}

/* Servers stop and start one after the other, so that one at most is down. */
static void restart_next(void *arg)
{
    const plan_fault *fault = arg;
    unsigned          count = sim_deploy_count(&w.plan->servers);
    int64_t           slice = fault->length_ms * SIM_MS / (2 * (int64_t)count) + 1;

    if (w.restarts % 2 == 0)
        sim_deploy_kill(w.servers, w.restarts / 2, false);
    else
        sim_deploy_start(w.servers, w.restarts / 2);
    if (++w.restarts < 2 * count)
        (void)sim_at(sim_now() + slice, restart_next, arg);
}

/* It breaks connections only: see check_fault. */
static bool is_mild(plan_fault_kind kind)
{
    return kind == FAULT_RESET || kind == FAULT_SCRIPTS_FLUSHED || kind == FAULT_CLIENT_CLOCK;
}

/* The client, or all of them. */
static unsigned disturbed(const plan_fault *fault)
{
    switch (fault->kind) {
    case FAULT_CLIENT_STOPPED:
    case FAULT_CLIENT_SUSPENDED:
    case FAULT_CLIENT_KILLED:
    case FAULT_CLIENT_CLOCK:
    case FAULT_CUT_TO_SERVER:
    case FAULT_CUT_FROM_SERVER:
    case FAULT_CUT: return fault->target;
    default: return CHECK_EVERY_CLIENT;
    }
}

/* One lock, and not the clients. */
static bool is_of_lock(plan_fault_kind kind)
{
    return kind == FAULT_LOCK_TAKEN || kind == FAULT_LOCK_DENIED;
}

/* Whom it disturbs; see check.h. */
static void tell_check(const plan_fault *fault, bool begins)
{
    if (is_of_lock(fault->kind))
        check_fault_of_name((unsigned)fault->amount, begins);
    else
        check_fault(disturbed(fault), is_mild(fault->kind), begins);
}

static void tell_whether_it_answers(void)
{
    if (w.plan->servers.topology == SIM_SINGLE)
        check_server(sim_deploy_answers(w.servers, 0));
}

static void end_fault(void *arg)
{
    const plan_fault *fault = arg;

    sim_say_of(SIM_SAID_FAULT, 0, "FAULT ENDS %s", sim_fault_name(fault->kind));
    tell_check(fault, false);
    switch (fault->kind) {
    case FAULT_CLIENT_STOPPED:
    case FAULT_CLIENT_SUSPENDED:
        if (w.clients[fault->target] != NULL)
            sim_process_resume(load_client_process(w.clients[fault->target]));
        break;
    case FAULT_CLIENT_KILLED:
        if (w.clients[fault->target] == NULL && !w.plan->clients[fault->target].is_absent)
            start_client(fault->target);
        break;
    case FAULT_CUT_TO_SERVER: cut(fault, true, false, false); break;
    case FAULT_CUT_FROM_SERVER: cut(fault, false, true, false); break;
    case FAULT_CUT: cut(fault, true, true, false); break;
    case FAULT_SLOW: slow_down(false); break;
    case FAULT_MEMORY_FULL:
        sim_deploy_command(w.servers, fault->server, "CONFIG SET maxmemory 0");
        break;
    case FAULT_NAME_SERVER: sim_deploy_names(w.servers, true); break;
    case FAULT_SERVER_STOPPED: sim_deploy_pause(w.servers, fault->server, false); break;
    case FAULT_SERVER_KILLED:
    case FAULT_SERVER_POWER: sim_deploy_start(w.servers, fault->server); break;
    case FAULT_SERVERS_CUT: cut_servers(fault, false); break;
    case FAULT_FAILOVER:
    case FAULT_RESTARTS: start_all(); break;
    case FAULT_LOCK_DENIED: deny_lock(fault, false); break;
    case FAULT_LOCK_TAKEN:
    case FAULT_SLOT_MOVED:
    case FAULT_CLIENT_CLOCK:
    case FAULT_RESET:
    case FAULT_SERVER_CLOCK:
    case FAULT_SERVER_CLOCK_FORWARD:
    case FAULT_SCRIPTS_FLUSHED:
    case FAULT_DATA_FLUSHED:
    case FAULT_KINDS_END: break;
    }
    tell_whether_it_answers();
}

static void begin_fault(void *arg)
{
    const plan_fault *fault = arg;

    sim_say_of(
        SIM_SAID_FAULT, 0, "FAULT %s for %" PRId64 " ms, target %u, server %u, amount %" PRId64,
        sim_fault_name(fault->kind), fault->length_ms, fault->target, fault->server, fault->amount);
    tell_check(fault, true);
    if (w.plan->servers.topology == SIM_SINGLE && !w.plan->servers.forbids_info &&
        (fault->kind == FAULT_SERVER_KILLED || fault->kind == FAULT_SERVER_POWER))
        check_restart();
    switch (fault->kind) {
    case FAULT_CLIENT_STOPPED: pause_client(fault, false); break;
    case FAULT_CLIENT_SUSPENDED: pause_client(fault, true); break;
    case FAULT_CLIENT_KILLED:
        if (w.clients[fault->target] != NULL)
            kill_client(fault->target);
        break;
    case FAULT_CLIENT_CLOCK: change_clock(fault); break;
    case FAULT_RESET: reset(fault); break;
    case FAULT_CUT_TO_SERVER: cut(fault, true, false, true); break;
    case FAULT_CUT_FROM_SERVER: cut(fault, false, true, true); break;
    case FAULT_CUT: cut(fault, true, true, true); break;
    case FAULT_SLOW: slow_down(true); break;
    case FAULT_NAME_SERVER: sim_deploy_names(w.servers, false); break;
    case FAULT_SERVER_STOPPED: sim_deploy_pause(w.servers, fault->server, true); break;
    case FAULT_SERVER_KILLED: sim_deploy_kill(w.servers, fault->server, false); break;
    case FAULT_SERVER_POWER: sim_deploy_kill(w.servers, fault->server, true); break;
    case FAULT_SERVER_CLOCK:
        sim_deploy_clock(w.servers, fault->server, -fault->amount * SIM_MS);
        break;
    case FAULT_SERVER_CLOCK_FORWARD:
        sim_deploy_clock(w.servers, fault->server, fault->amount * SIM_MS);
        break;
    case FAULT_SERVERS_CUT: cut_servers(fault, true); break;
    case FAULT_FAILOVER: sim_deploy_failover(w.servers, fault->server, fault->amount != 0); break;
    case FAULT_SLOT_MOVED: move_slot(fault); break;
    case FAULT_LOCK_TAKEN: take_lock(fault); break;
    case FAULT_LOCK_DENIED: deny_lock(fault, true); break;
    case FAULT_RESTARTS:
        if (w.restarts == 0 || w.restarts == 2 * sim_deploy_count(&w.plan->servers)) {
            w.restarts = 0;
            restart_next(arg);
        }
        break;
    case FAULT_SCRIPTS_FLUSHED: sim_deploy_command(w.servers, fault->server, "SCRIPT FLUSH"); break;
    case FAULT_MEMORY_FULL:
        sim_deploy_command(w.servers, fault->server, "CONFIG SET maxmemory 1");
        break;
    case FAULT_DATA_FLUSHED: sim_deploy_command(w.servers, fault->server, "FLUSHALL"); break;
    case FAULT_KINDS_END: break;
    }
    tell_whether_it_answers();
    (void)sim_at(sim_now() + fault->length_ms * SIM_MS, end_fault, arg);
}

/* What the servers keep is what a hold may rely on, if they lose nothing. */
static int64_t left_ns(unsigned name)
{
    char key[16];

    (void)snprintf(key, sizeof key, "bowline:{%s}", load_lock_name(name));
    return sim_deploy_key_left_ns(w.servers, key, sim_plan_copies(w.plan));
}

/* ---- the run --------------------------------------------------------------------------------- */

static sim_process *process_of(unsigned client)
{
    return w.clients[client] != NULL ? load_client_process(w.clients[client]) : NULL;
}

/* A client may break a lock that it holds itself, and what a cluster redirects arrives late: then
 * it names what it has released. */
static void complain(const char *text)
{
    bool is_excused = w.plan->has_breaks || w.plan->servers.topology == SIM_CLUSTER;

    if (!is_excused || strncmp(text, "token", 5) != 0)
        check_fail("%s", text);
}

static void begin(const sim_plan *plan)
{
    memset(&w, 0, sizeof w);
    w.plan = plan;
    sim_schedule_begin();
    sim_processes_begin();
    sim_network_begin(&plan->network);
    sim_names_begin();
    sim_process_on_end(process_ended);
    sim_clock_on_change(sim_descriptors_clock_changed);
    check_rules rules = sim_plan_rules(plan);
    if (sim_plan_copies(plan) > 0) {
        rules.left_ns = left_ns;
        rules.shares  = sim_gates_shares;
    }
    check_begin(rules);
    load_tickets_begin();
    load_periods_begin();
    load_elections_begin();
    sim_deploy_plan servers = plan->servers;
    servers.wall_ns         = WALL_NS;
    servers.complain        = complain;
    w.servers               = sim_deploy_new(&servers);
    for (unsigned i = 0; i < plan->clients_count; i++) {
        w.seeds[i] = plan->clients[i].load.seed;
        if (!plan->clients[i].is_absent)
            start_client(i);
    }
    if (rules.grace_ns != SIM_NEVER && !plan->has_breaks && !plan->servers.forbids_info)
        sim_left_begin(w.servers, plan);
    if (rules.grace_ns != SIM_NEVER && plan->length_ms <= LOOKS_MAX_MS)
        sim_connections_begin(plan, process_of);
    if (plan->clients[0].load.shares.limit > 0)
        sim_gates_begin(w.servers, plan);
    sim_picture_run(plan, CLIENT_HOST, process_of);
    if (plan->servers.topology == SIM_SENTINEL)
        sim_epoch_begin(w.servers, sim_deploy_count(&servers), plan->clients_count, process_of);
    for (unsigned i = 0; i < plan->faults_count; i++) {
        if (plan->faults[i].is_absent || plan->faults[i].at_ms >= plan->length_ms)
            continue;
        (void)sim_at(plan->faults[i].at_ms * SIM_MS, begin_fault, (void *)&plan->faults[i]);
    }
}

/* Keys live for so much longer than their TTL.  An expiry is a time of the server's clock, and its
 * replica, whose clock has not jumped forward, has the same one. */
static int64_t clock_went_back_ms(void)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < w.plan->faults_count; i++) {
        const plan_fault *fault = &w.plan->faults[i];
        bool              goes_back =
            fault->kind == FAULT_SERVER_CLOCK ||
            (fault->kind == FAULT_SERVER_CLOCK_FORWARD && w.plan->servers.replicas > 0);
        if (goes_back && !fault->is_absent)
            sum += fault->amount;
    }
    return sum;
}

static bool run_until(int64_t until)
{
    while (sim_step(until)) {
        if (!check_step())
            return false;
    }
    return true;
}

static bool all_have_ended(void)
{
    for (unsigned i = 0; i < w.plan->clients_count; i++) {
        if (w.clients[i] != NULL && !sim_process_has_ended(load_client_process(w.clients[i])))
            return false;
    }
    return true;
}

/* No more faults and no more acquires: everything that was begun must end. */
static void calm(void)
{
    int64_t calm_ms = CALM_MS + sim_plan_grace_ms(w.plan) + clock_went_back_ms();
    int64_t until   = sim_now() + calm_ms * SIM_MS;

    for (unsigned i = 0; i < w.plan->clients_count; i++) {
        if (w.clients[i] != NULL)
            load_client_stop(w.clients[i]);
    }
    while (!all_have_ended()) {
        if (!sim_step(until)) {
            check_fail("progress: not everything ended within %" PRId64 " s after the last fault",
                       calm_ms / 1000);
            return;
        }
        if (!check_step())
            return;
    }
}

/* `arg`: the name of the check.  The counter of the fences stays. */
static void name_what_is_left(void *arg, unsigned server, const char *key, int64_t left_ms)
{
    static const char counter[] = "bowline:f";

    if (strncmp(key, counter, sizeof counter - 1) != 0)
        check_fail("%s: the key %s is left on server %u, with %" PRId64 " ms", (const char *)arg,
                   key, server, left_ms);
}

/* In a cluster, client info that was published over a connection that broke ends with its lease; so
 * does that of a client whose hold was broken, because it says by whom. */
static void name_what_is_not_released(void *arg, unsigned server, const char *key, int64_t left_ms)
{
    static const char info[] = "bowline:who";

    bool may_stay = left_ms > 0 && (w.plan->servers.topology == SIM_CLUSTER || w.plan->has_breaks);

    if (!may_stay || strncmp(key, info, sizeof info - 1) != 0)
        name_what_is_left(arg, server, key, left_ms);
}

/* No lock, queue or client info outlives the clients, if no fault has kept a release back.  What
 * was exported and not imported ends with its lease, and a rest with its period. */
static void check_keys_are_released(void)
{
    for (unsigned i = 0; i < w.plan->clients_count; i++) {
        if (!check_is_calm(i, sim_now(), true) || !check_is_name_calm(CHECK_EVERY_NAME, sim_now()))
            return;
    }
    int64_t from = sim_now();
    from         = load_tickets_end_at() > from ? load_tickets_end_at() : from;
    from         = load_periods_end_at() > from ? load_periods_end_at() : from;
    if (clock_went_back_ms() == 0 && run_until(from + ENDED_MS * SIM_MS))
        sim_deploy_each_key(w.servers, name_what_is_not_released, "released");
}

static int64_t last_fault_ends_ms(const sim_plan *plan)
{
    int64_t last = plan->length_ms;

    for (unsigned i = 0; i < plan->faults_count; i++) {
        if (plan->faults[i].is_absent || plan->faults[i].at_ms >= plan->length_ms)
            continue;
        int64_t ends = plan->faults[i].at_ms + plan->faults[i].length_ms;
        last         = ends > last ? ends : last;
    }
    return last + 1;
}

static void end(void)
{
    for (unsigned i = 0; i < w.plan->clients_count; i++) {
        if (w.clients[i] != NULL)
            kill_client(i);
    }
    sim_deploy_free(w.servers);
    sim_network_end();
    check_end();
    sim_schedule_end();
}

void sim_run(const sim_plan *plan, sim_result *ret_result)
{
    int64_t rest_ms   = REST_MS + sim_plan_grace_ms(plan);
    bool    is_steady = sim_plan_rules(plan).grace_ns != SIM_NEVER;
    int64_t steady_ms = is_steady ? sim_plan_grace_ms(plan) + STEADY_MS : 0;

    begin(plan);
    if (run_until((last_fault_ends_ms(plan) + steady_ms) * SIM_MS)) {
        calm();
        if (check_failure() == NULL)
            check_keys_are_released();
        if (check_failure() == NULL &&
            run_until(sim_now() + (rest_ms + clock_went_back_ms()) * SIM_MS))
            sim_deploy_each_key(w.servers, name_what_is_left, "end");
    }
    if (sim_connections_most_refused() > REFUSED_MAX)
        check_fail("storm: %u connects that were refused within a second",
                   sim_connections_most_refused());
    *ret_result = (sim_result){
        .failed     = check_failure() != NULL,
        .virtual_ns = sim_now(),
        .trace      = sim_trace_hash(),
        .steps      = sim_steps(),
        .grants     = check_grants(),
        .counts     = w.counts,
    };
    if (ret_result->failed)
        (void)snprintf(ret_result->failure, sizeof ret_result->failure, "%s", check_failure());
    end();
}
