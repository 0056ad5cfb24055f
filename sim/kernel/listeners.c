#include "sim/kernel/listeners.h"

#include <assert.h>
#include <string.h>

enum { LISTENERS_MAX = 64 };

static sim_listener listeners[LISTENERS_MAX];

void sim_listeners_begin(void)
{
    memset(listeners, 0, sizeof listeners);
}

const sim_listener *sim_listener_find(sim_host host, uint16_t port)
{
    for (unsigned i = 0; i < LISTENERS_MAX; i++) {
        const sim_listener *l = &listeners[i];
        if (l->service != NULL && l->host == host && l->port == port)
            return l;
    }
    return NULL;
}

void sim_listen(sim_host host, uint16_t port, const sim_service *service, void *arg)
{
    unsigned i = 0;

    assert(sim_listener_find(host, port) == NULL);
    while (i < LISTENERS_MAX && listeners[i].service != NULL)
        i++;
    assert(i < LISTENERS_MAX);
    listeners[i] = (sim_listener){ host, port, service, arg };
}

void sim_unlisten_all(sim_host host)
{
    for (unsigned i = 0; i < LISTENERS_MAX; i++) {
        if (listeners[i].host == host)
            listeners[i].service = NULL;
    }
}
