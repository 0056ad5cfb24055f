/*
 * queue_mutants.h -- faults in the model of the queue's commands: each runs after every request,
 * with the model as it was before the request.  test_model_queue.c has to detect each.
 */
#ifndef TEST_QUEUE_MUTANTS_H
#define TEST_QUEUE_MUTANTS_H

#include "lab/model/queue.h"
#include "lab/model/mutation.h"
#include "tests/conformance/model_run.h"

#define MUTATION_PARAMETERS                                                           \
    bwl_model_redis *r, const bwl_model_redis *before, const bwl_model_queue_args *q, \
        bwl_queue_reply *reply

typedef void mutation(MUTATION_PARAMETERS);

static mutation *mutant;

/* The request is carried out with another value of one argument. */
#define MUTANT_ARGUMENT(name, argument, number)               \
    MUTANT(name)                                              \
    {                                                         \
        bwl_model_queue_args again = *q;                      \
                                                              \
        again.argument = number;                              \
        *r             = *before;                             \
        *reply         = bwl_model_queue_reply(r, &again, 0); \
    }

MUTANT_ARGUMENT(dead_waiters_are_served, dead_ms, 0)
MUTANT_ARGUMENT(no_waiter_is_passed_over, serve_max, 1)
MUTANT_ARGUMENT(a_place_is_lost_with_its_ticket, ticket, 0)
MUTANT_ARGUMENT(the_queue_has_no_bound, queue_max, 0)
MUTANT_ARGUMENT(the_queue_never_expires, keep_ms, 0)

MUTANT(take_overtakes_the_queue)
{
    bwl_model_queue_args again = *q;

    if (q->command != REDIS_QUEUE_TAKE || bwl_model_owner(before) != 0)
        return;
    *r            = *before;
    again.command = REDIS_QUEUE_TAKE;
    *reply        = bwl_model_queue_reply(r, &again, BWL_MUTATION_BARGES);
}

MUTANT(a_heartbeat_keeps_the_push_channel)
{
    bwl_model_queue_args again = *q;

    if (q->command != REDIS_QUEUE_HEARTBEAT || q->old_channels[0] == 0)
        return;
    again.member.push_channel = q->old_channels[0];
    *r                        = *before;
    *reply                    = bwl_model_queue_reply(r, &again, 0);
}

MUTANT(a_ticket_does_not_help_when_the_queue_is_full)
{
    bwl_model_queue_args again = *q;

    if (q->command != REDIS_QUEUE_JOIN || q->ticket == 0)
        return;
    *r           = *before;
    again.ticket = 0;
    *reply       = bwl_model_queue_reply(r, &again, 0);
    if (reply->queue_status.kind == BWL_QUEUE_STATUS_FULL)
        return;
    *r     = *before;
    *reply = bwl_model_queue_reply(r, q, 0);
}

MUTANT(the_count_begins_at_one)
{
    *r     = *before;
    *reply = bwl_model_queue_reply(r, q, BWL_MUTATION_FENCE_BARE);
}

MUTANT(a_closed_push_channel_receives)
{
    if (reply->grant.is_there && reply->grant.connection >= BWL_MODEL_CLIENTS)
        reply->grant.is_there = false;
}

MUTANT(a_yield_keeps_the_first_place)
{
    if (q->command == REDIS_QUEUE_REQUEUE && reply->queue_status.kind == BWL_QUEUE_STATUS_QUEUED)
        reply->queue_status.rank = 0;
}

MUTANT(a_yield_keeps_the_lock)
{
    bwl_model_queue_args again = *q;

    if (q->command != REDIS_QUEUE_REQUEUE || reply->queue_status.kind != BWL_QUEUE_STATUS_QUEUED)
        return;
    again.command = REDIS_QUEUE_JOIN;
    *r            = *before;
    *reply        = bwl_model_queue_reply(r, &again, 0);
}

#endif
