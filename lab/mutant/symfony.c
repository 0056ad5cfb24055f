/*
 * symfony.c -- Symfony on a server whose scripts may not write after TIME: each PHP host uses its
 * own clock.  `symfony` itself, but its commands have the client's wall time, which the model
 * server uses as its own.
 */
#include "lab/mutant/symfony.h"
#include "protocol/token_lock.h"
#include "protocol/store/redis.h"

enum { NS_IN_MS = 1000000, STATE_SIZE = 32 };

static void clock_init(void *state, unsigned nodes)
{
    assert(bwl_symfony.state_size <= STATE_SIZE);
    bwl_symfony.init(state, nodes);
}

static void clock_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                          bwl_effects *fx)
{
    bwl_symfony.command(state, request, cmd, fx);
    fx->sends[fx->send_count - 1].args[REDIS_ARG_TIMESTAMP] = cmd->wall_ns / NS_IN_MS;
}

static void clock_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                        bwl_effects *fx)
{
    bwl_symfony.event(state, request, ev, fx);
}

const bwl_protocol bwl_mutant_symfony_clock = {
    .name             = "symfony by the clock of each client",
    .state_size       = STATE_SIZE,
    .uses_token       = true,
    .uses_wall        = true,
    .extends          = true,
    .can_verify_owner = true,
    .retries_on_push  = true,
    .init             = clock_init,
    .command          = clock_command,
    .event            = clock_event,
};
