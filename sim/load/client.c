#include "sim/load/client.h"

#include "lab/base/dice.h"
#include "lab/base/memory.h"
#include "sim/load/loop.h"
#include "sim/load/threads.h"

#include <stdlib.h>

struct load_client {
    load_program program; /* the only field: a handle for those who do not write programs */
};

static void *run(void *arg)
{
    load_client *client = arg;

    client->program.process = sim_self_process();
    if (client->program.plan.threads > 0)
        load_threads(&client->program);
    else
        load_loop(&client->program);
    return NULL;
}

load_client *load_client_new(const load_plan *plan, const char *name, sim_clocks clocks,
                             load_counts *counts)
{
    load_client  *client  = bwl_room_for(1, sizeof *client);
    load_program *program = &client->program;

    *program         = (load_program){ .plan = *plan, .seed = plan->seed, .counts = counts };
    program->fork_at = sim_now() + plan->fork_ms * SIM_MS;
    program->process = sim_process_start(name, bwl_dice_draw(&program->seed), clocks, run, client);
    return client;
}

sim_process *load_client_process(const load_client *client)
{
    return client->program.process;
}

void load_client_stop(load_client *client)
{
    client->program.stops = true;
    sim_process_wake(client->program.process);
}

void load_client_free(load_client *client)
{
    if (client == NULL)
        return;
    sim_process_free(client->program.process);
    free(client->program.state);
    free(client);
}
