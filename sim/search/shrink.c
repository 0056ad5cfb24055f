#include "sim/search/shrink.h"

#include <string.h>

sim_rest sim_rest_all(void)
{
    sim_rest all = { .faults = UINT64_MAX, .clients = UINT32_MAX, .length_ms = INT64_MAX };

    for (unsigned i = 0; i < PLAN_CLIENTS_MAX; i++)
        all.activities[i] = UINT32_MAX;
    return all;
}

void sim_plan_leave(sim_plan *plan, const sim_rest *rest)
{
    for (unsigned i = 0; i < plan->faults_count; i++)
        plan->faults[i].is_absent = (rest->faults >> i & 1) == 0;
    for (unsigned i = 0; i < plan->clients_count; i++) {
        load_plan *load            = &plan->clients[i].load;
        plan->clients[i].is_absent = (rest->clients >> i & 1) == 0;
        if (load->activities > rest->activities[i])
            load->activities = rest->activities[i];
    }
    if (plan->length_ms > rest->length_ms)
        plan->length_ms = rest->length_ms;
    if (rest->is_plain) {
        plan->network.slow_in      = 0;
        plan->network.split_in     = 0;
        plan->network.short_in     = 0;
        plan->network.send_room    = 1u << 17;
        plan->network.delay_max_ns = plan->network.delay_min_ns;
    }
}

typedef struct shrinking {
    uint64_t    seed;
    sim_topology only;
    sim_rest    best;
    sim_result *result; /* of the best */
    unsigned    runs_left;
} shrinking;

static bool is_same(const char *a, const char *b)
{
    size_t size = strcspn(a, ":");

    return strcspn(b, ":") == size && memcmp(a, b, size) == 0;
}

/* True: it fails in the same way, and is the best now. */
static bool try(shrinking *s, const sim_rest *rest)
{
    sim_plan   plan;
    sim_result result;

    if (s->runs_left == 0)
        return false;
    s->runs_left--;
    sim_plan_draw(&plan, s->seed, s->only);
    sim_plan_leave(&plan, rest);
    sim_run(&plan, &result);
    if (!result.failed || !is_same(result.failure, s->result->failure))
        return false;
    s->best    = *rest;
    *s->result = result;
    return true;
}

/* Nothing happens after the failure. */
static bool shorten(shrinking *s)
{
    sim_rest rest  = s->best;
    int64_t  until = s->result->virtual_ns / SIM_MS + 1;

    if (until >= s->best.length_ms)
        until = s->best.length_ms - s->best.length_ms / 4 - 1;
    if (until < 1)
        return false;
    rest.length_ms = until;
    return try(s, &rest);
}

/* Leaves out groups of faults, of half their number at first. */
static bool leave_faults(shrinking *s, unsigned count)
{
    bool found = false;

    for (unsigned size = (count + 1) / 2; size > 0; size = size > 1 ? (size + 1) / 2 : 0) {
        for (unsigned first = 0; first < count; first += size) {
            sim_rest rest = s->best;
            for (unsigned i = first; i < first + size && i < count; i++)
                rest.faults &= ~(UINT64_C(1) << i);
            if (rest.faults != s->best.faults && try(s, &rest))
                found = true;
        }
        if (size == 1)
            break;
    }
    return found;
}

static bool leave_clients(shrinking *s, const sim_plan *plan)
{
    bool found = false;

    for (unsigned i = 0; i < plan->clients_count; i++) {
        sim_rest rest = s->best;
        rest.clients &= ~(1u << i);
        if (rest.clients != s->best.clients && try(s, &rest)) {
            found = true;
            continue;
        }
        rest               = s->best;
        unsigned now       = rest.activities[i] < plan->clients[i].load.activities
                                 ? rest.activities[i]
                                 : plan->clients[i].load.activities;
        rest.activities[i] = now / 2 > 0 ? now / 2 : 1;
        if ((rest.clients >> i & 1) != 0 && rest.activities[i] < now && try(s, &rest))
            found = true;
    }
    return found;
}

sim_rest sim_shrink(uint64_t seed, sim_topology only, sim_result *result, unsigned runs)
{
    shrinking s = { .seed      = seed,
                    .only      = only,
                    .best      = sim_rest_all(),
                    .result    = result,
                    .runs_left = runs };
    sim_plan  plan;
    sim_rest  plain = s.best;
    bool      found = true;

    sim_plan_draw(&plan, seed, only);
    s.best.faults &= plan.faults_count < 64 ? (UINT64_C(1) << plan.faults_count) - 1 : UINT64_MAX;
    s.best.clients &= (1u << plan.clients_count) - 1;
    plain          = s.best;
    plain.is_plain = true;
    (void)try(&s, &plain);
    while (found && s.runs_left > 0) {
        found = shorten(&s);
        found = leave_faults(&s, plan.faults_count) || found;
        found = leave_clients(&s, &plan) || found;
    }
    return s.best;
}
