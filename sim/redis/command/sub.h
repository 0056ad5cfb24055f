/*
 * sub.h -- commands with subcommands: CLIENT, CONFIG, SCRIPT and others.
 */
#pragma once

#include "sim/redis/core/call.h"

typedef struct model_sub {
    const char *name;
    int         arity; /* with both names; negative: at least */
    void (*run)(model_call *call);
    bool is_new; /* not in Redis 6.2 */
    bool is_of_valkey;
} model_sub;

/* The last one has no name. */
void model_run_sub(model_call *call, const model_sub *subs);
