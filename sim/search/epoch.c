#include "sim/search/epoch.h"

#include "sim/load/check.h"

#include <inttypes.h>
#include <string.h>

enum {
    PERIOD_MS = 100,
    SETTLE_MS = 3000, /* a connection that was on its way, and an answer of a sentinel */
};

typedef struct epoch_client {
    const sim_process *process;
    uint64_t           newest; /* of the primaries that it has used */
    int64_t            seen_at;
} epoch_client;

static struct {
    const sim_deploy *servers;
    unsigned          count;
    unsigned          clients;
    sim_process *(*process_of)(unsigned client);
    epoch_client all[CHECK_CLIENTS_MAX];
} w;

static epoch_client *client_at(sim_host host)
{
    for (unsigned i = 0; i < w.clients; i++) {
        const sim_process *process = w.process_of(i);
        if (process != NULL && sim_host_of(process) == host)
            return &w.all[i];
    }
    return NULL;
}

static void forget_those_that_ended(void)
{
    for (unsigned i = 0; i < w.clients; i++) {
        epoch_client      *client  = &w.all[i];
        const sim_process *process = w.process_of(i);
        if (client->process != process || check_has_closed(client->seen_at))
            *client = (epoch_client){ .process = process };
    }
}

/* What the client has used first, then what it should not have used. */
static void note(void *arg, sim_host host, int64_t opened_at)
{
    uint64_t      epoch  = *(const uint64_t *)arg;
    epoch_client *client = client_at(host);

    (void)opened_at;
    if (client != NULL && epoch > client->newest) {
        client->newest  = epoch;
        client->seen_at = sim_now();
    }
}

static void compare(void *arg, sim_host host, int64_t opened_at)
{
    uint64_t            epoch  = *(const uint64_t *)arg;
    const epoch_client *client = client_at(host);

    if (client == NULL || epoch >= client->newest)
        return;
    int64_t known = sim_deploy_epoch_since(w.servers, client->newest);
    if (known == SIM_NEVER || opened_at < known + SETTLE_MS * SIM_MS ||
        opened_at < client->seen_at + SETTLE_MS * SIM_MS)
        return;
    check_fail("epoch: %s uses the primary of epoch %" PRIu64 " after that of %" PRIu64,
               sim_process_name(client->process), epoch, client->newest);
}

static void each_user(sim_visit_user *visit)
{
    for (unsigned i = 0; i < w.count; i++) {
        uint64_t epoch = sim_deploy_epoch_of(w.servers, i);
        if (epoch > 0)
            sim_deploy_each_user(w.servers, i, visit, &epoch);
    }
}

static void look(void *arg)
{
    forget_those_that_ended();
    each_user(note);
    each_user(compare);
    (void)sim_at(sim_now() + PERIOD_MS * SIM_MS, look, arg);
}

void sim_epoch_begin(const sim_deploy *servers, unsigned count, unsigned clients,
                     sim_process *(*process_of)(unsigned client))
{
    memset(&w, 0, sizeof w);
    w.servers    = servers;
    w.count      = count;
    w.clients    = clients;
    w.process_of = process_of;
    look(NULL);
}
