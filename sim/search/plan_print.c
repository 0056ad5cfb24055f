/*
 * plan_print.c -- a plan as text.
 */
#include "sim/search/plan.h"

#include <inttypes.h>

void sim_plan_print(const sim_plan *plan, FILE *out)
{
    const sim_network_settings *n = &plan->network;
    const sim_deploy_plan      *s = &plan->servers;

    (void)fprintf(out,
                  "seed %" PRIu64 "\n%s: %u servers, version %d, disk %d\nlength_ms %" PRId64 "\n",
                  plan->seed, sim_topology_name(s->topology), sim_deploy_count(s), (int)s->version,
                  (int)s->disk, plan->length_ms);
    (void)fprintf(out,
                  "network %" PRId64 "..%" PRId64 " ns, slow 1/%" PRIu32 " %" PRId64
                  " ns, split 1/%" PRIu32 ", short 1/%" PRIu32 ", room %" PRIu32 "\n",
                  n->delay_min_ns, n->delay_max_ns, n->slow_in, n->slow_ns, n->split_in,
                  n->short_in, n->send_room);
    for (unsigned i = 0; i < plan->clients_count; i++) {
        const plan_client *c = &plan->clients[i];
        (void)fprintf(
            out,
            "client %u: %s, %u activities, %u names, pause %" PRId64 " ms, hold %" PRId64
            " ms, lease %" PRIu32 " ms, closes 1/%u, fork %" PRId64 " ms, tickets %" PRId64
            " ms, period %" PRId64 " ms, permits of %" PRIu32 "%s%s%s, rate %" PRId32 " ppm\n",
            i, c->url, c->load.activities, c->load.names, c->load.pause_ms, c->load.hold_ms,
            c->load.lease_ms, c->load.closes_in, c->load.fork_ms, c->load.ticket_ms,
            c->load.period_ms, c->load.shares.limit, c->load.shares.is_crowd ? ", a crowd" : "",
            c->load.takes_several ? ", several names" : "", c->load.elects ? ", elections" : "",
            c->rate_ppm);
    }
    for (unsigned i = 0; i < plan->faults_count; i++) {
        const plan_fault *f = &plan->faults[i];
        (void)fprintf(out,
                      "fault %u: %s at %" PRId64 " ms for %" PRId64
                      " ms, target %u, server %u, %" PRId64 "\n",
                      i, sim_fault_name(f->kind), f->at_ms, f->length_ms, f->target, f->server,
                      f->amount);
    }
}
