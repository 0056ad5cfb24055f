#include "sim/search/alone.h"

#include "sim/kernel/network.h"
#include "sim/load/check.h"

#include <inttypes.h>
#include <string.h>

enum { PERIOD_MS = 1000 };

static struct {
    unsigned clients;
    sim_process *(*process_of)(unsigned client);
    int64_t since[CHECK_CLIENTS_MAX]; /* it has a lock and no connection; SIM_NEVER */
} w;

static bool has_connection(sim_host host)
{
    for (unsigned i = 0; i < sim_connections_count(); i++) {
        if (sim_connection_client(sim_connection_at(i)) == host)
            return true;
    }
    return false;
}

static void look_at(unsigned client)
{
    const sim_process *process = w.process_of(client);

    if (process == NULL || !check_relies(process) || has_connection(sim_host_of(process)))
        w.since[client] = SIM_NEVER;
    else if (w.since[client] == SIM_NEVER)
        w.since[client] = sim_now();
    else if (check_is_calm(client, w.since[client], false))
        check_fail("alone: %s has a lock and no connection for %" PRId64 " ms",
                   sim_process_name(process), (sim_now() - w.since[client]) / SIM_MS);
}

static void look(void *arg)
{
    for (unsigned i = 0; i < w.clients; i++)
        look_at(i);
    (void)sim_at(sim_now() + PERIOD_MS * (int64_t)SIM_MS, look, arg);
}

void sim_alone_begin(unsigned clients, sim_process *(*process_of)(unsigned client))
{
    w.clients    = clients;
    w.process_of = process_of;
    for (unsigned i = 0; i < CHECK_CLIENTS_MAX; i++)
        w.since[i] = SIM_NEVER;
    look(NULL);
}
