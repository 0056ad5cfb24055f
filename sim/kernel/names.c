#include "sim/kernel/names.h"

#include <assert.h>
#include <netdb.h>
#include <string.h>

enum { NAMES_MAX = 32 };

static struct {
    const char *name; /* NULL: unused */
    sim_host    host;
    int64_t     delay_ns;
} names[NAMES_MAX];

void sim_names_begin(void)
{
    memset(names, 0, sizeof names);
}

/* ---- names ----------------------------------------------------------------------------------- */

void sim_name_set(const char *name, sim_host host, int64_t delay_ns)
{
    unsigned i = 0;

    while (i < NAMES_MAX && names[i].name != NULL && strcmp(names[i].name, name) != 0)
        i++;
    assert(i < NAMES_MAX);
    names[i].name     = name;
    names[i].host     = host;
    names[i].delay_ns = delay_ns;
}

int sim_look_up(const char *name, in_addr_t *ret_address)
{
    for (unsigned i = 0; i < NAMES_MAX && names[i].name != NULL; i++) {
        if (strcmp(names[i].name, name) != 0)
            continue;
        int64_t now = sim_clock_read(sim_self_process(), SIM_CLOCK_MONOTONIC);
        (void)sim_block(&names[i], now + names[i].delay_ns);
        if (names[i].host == SIM_NAME_FAILS)
            return EAI_AGAIN;
        *ret_address = sim_host_address(names[i].host);
        return 0;
    }
    return EAI_NONAME;
}
