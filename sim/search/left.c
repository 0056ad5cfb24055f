#include "sim/search/left.h"

#include <inttypes.h>
#include <string.h>

enum {
    PERIOD_MS   = 1000,
    PATIENCE_MS = 4000, /* beside what an operation takes: pauses, heartbeats, provisional grants */
    LONG_MS     = 600000, /* a longer world has long leases: it is looked at more rarely */
};

/* A lock on a server. */
typedef struct left_lock {
    uint64_t value; /* a hash */
    int64_t  since; /* it stays, and no process relies on it */
} left_lock;

static struct {
    sim_deploy *servers;
    unsigned    clients;
    int64_t     period_ns;
    int64_t     patience_ns;
    left_lock   locks[SIM_SERVERS_MAX][CHECK_NAMES_MAX];
} w;

/* Breaks of connections do no harm, but that a client which closes then leaves its locks. */
static bool is_calm(int64_t since)
{
    bool has_closed = check_has_closed(since - w.period_ns);

    for (unsigned i = 0; i < w.clients; i++) {
        if (!check_is_calm(i, since, has_closed))
            return false;
    }
    return true;
}

/* `key`: that of a lock, bowline:{a}. */
static void look_at(void *arg, unsigned server, const char *key, uint64_t value)
{
    static const char before[] = "bowline:{";
    unsigned          name     = (unsigned char)key[0] == 'b' ? (unsigned)key[9] - 'a' : 0;

    (void)arg;
    if (strlen(key) != sizeof before + 1 || strncmp(key, before, sizeof before - 1) != 0 ||
        name >= CHECK_NAMES_MAX)
        return;
    left_lock *lock = &w.locks[server][name];
    if (lock->value != value || check_is_relied_on(name) || !check_is_name_calm(name, lock->since))
        *lock = (left_lock){ value, sim_now() };
    else if (sim_now() - lock->since > w.patience_ns && is_calm(lock->since))
        check_fail("left: no process has relied on lock %u for %" PRId64
                   " ms, and server %u keeps it",
                   name, (sim_now() - lock->since) / SIM_MS, server);
}

static void look(void *arg)
{
    sim_deploy_each_value(w.servers, look_at, NULL);
    (void)sim_at(sim_now() + w.period_ns, look, arg);
}

void sim_left_begin(sim_deploy *servers, const sim_plan *plan)
{
    int64_t period_ms = plan->length_ms > LONG_MS ? 4 * PERIOD_MS : PERIOD_MS;

    memset(&w, 0, sizeof w);
    w.servers     = servers;
    w.clients     = plan->clients_count;
    w.period_ns   = period_ms * SIM_MS;
    w.patience_ns = (PATIENCE_MS + (int64_t)plan->clients[0].load.calm_ms) * SIM_MS;
    look(NULL);
}
