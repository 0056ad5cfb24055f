#include "sim/search/connections.h"

#include "sim/kernel/network.h"
#include "sim/load/check.h"

#include <inttypes.h>

enum { PERIOD_MS = 1000, UNREAD_MAX_MS = 1000 };

static struct {
    const sim_plan *plan;
    sim_process *(*process_of)(unsigned client);
    int64_t since[CHECK_CLIENTS_MAX]; /* it has a lock and no connection; SIM_NEVER */
} w;

/* Of the connections of a host: how many, and since when bytes lie in one unread, or SIM_NEVER. */
static unsigned count_connections(sim_host host, int64_t *ret_unread_since)
{
    unsigned count = 0;

    *ret_unread_since = SIM_NEVER;
    for (unsigned i = 0; i < sim_connections_count(); i++) {
        const sim_connection *connection = sim_connection_at(i);
        if (sim_connection_client(connection) != host)
            continue;
        count++;
        int64_t since = sim_connection_unread_since(connection);
        if (since < *ret_unread_since)
            *ret_unread_since = since;
    }
    return count;
}

static void look_at(unsigned client)
{
    const sim_process *process = w.process_of(client);
    int64_t            unread_since;

    if (process == NULL) {
        w.since[client] = SIM_NEVER;
        return;
    }
    unsigned count = count_connections(sim_host_of(process), &unread_since);
    if (count > 0 || !check_relies(process))
        w.since[client] = SIM_NEVER;
    else if (w.since[client] == SIM_NEVER)
        w.since[client] = sim_now();
    else if (w.plan->servers.topology == SIM_SINGLE &&
             check_is_calm(client, w.since[client], false))
        check_fail("alone: %s has a lock and no connection for %" PRId64 " ms",
                   sim_process_name(process), (sim_now() - w.since[client]) / SIM_MS);
    if (w.plan->clients[client].load.threads == 0 && unread_since != SIM_NEVER &&
        sim_now() - unread_since > UNREAD_MAX_MS * SIM_MS &&
        check_is_calm(client, unread_since, true))
        check_fail("unread: %s has not read a reply for %" PRId64 " ms", sim_process_name(process),
                   (sim_now() - unread_since) / SIM_MS);
}

static void look(void *arg)
{
    for (unsigned i = 0; i < w.plan->clients_count; i++)
        look_at(i);
    (void)sim_at(sim_now() + PERIOD_MS * SIM_MS, look, arg);
}

void sim_connections_begin(const sim_plan *plan, sim_process *(*process_of)(unsigned client))
{
    w.plan       = plan;
    w.process_of = process_of;
    for (unsigned i = 0; i < CHECK_CLIENTS_MAX; i++)
        w.since[i] = SIM_NEVER;
    look(NULL);
}
