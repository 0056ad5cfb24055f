/*
 * main.c -- bowline-sim: the library in simulated worlds, from seeds.
 */
#include "sim/search/run.h"

#include "lab/base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_result(const sim_plan *plan, const sim_result *r)
{
    (void)printf("seed %" PRIu64 ": %s; %.1f virtual s, %" PRIu64 " steps, %" PRIu64
                 " acquires, %" PRIu64 " grants, trace %016" PRIx64 "\n",
                 plan->seed, r->failed ? r->failure : "ok", (double)r->virtual_ns / 1e9, r->steps,
                 r->counts.acquires, r->grants, r->trace);
}

int main(int argc, char **argv)
{
    uint64_t first   = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t count   = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    uint64_t failed  = 0;
    uint64_t ops     = 0;
    double virtual   = 0;
    double     began = bwl_seconds();
    sim_plan   plan;
    sim_result result;

    for (uint64_t seed = first; seed < first + count; seed++) {
        sim_plan_draw(&plan, seed);
        if (argc > 3)
            sim_plan_print(&plan, stdout);
        sim_run(&plan, &result);
        failed += result.failed;
        ops += result.counts.acquires;
        virtual += (double)result.virtual_ns / 1e9;
        if (result.failed || count < 20)
            print_result(&plan, &result);
    }
    (void)printf("%" PRIu64 " worlds, %.2f virtual h, %" PRIu64 " acquires, %.1f s; %" PRIu64
                 " failed\n",
                 count, virtual / 3600, ops, bwl_seconds() - began, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
