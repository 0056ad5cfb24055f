/*
 * own.h -- a protocol of your own, in one file, for the lab: docs/how-to/lab.md walks through it.
 *
 *      const bwl_own bowline_lab_own = {
 *          .layout   = BWL_OWN_LAYOUT,
 *          .story    = "what it does, in a line",
 *          .protocol = { .name = "mine", ... },
 *      };
 */
#pragma once

#include "core/one_request.h"
#include "protocol/store/redis.h"

/* Differs if the sizes of the types shared by a protocol and the lab differ. */
enum {
    BWL_OWN_LAYOUT = sizeof(bwl_protocol) + 3 * sizeof(bwl_lock_request) + 5 * sizeof(bwl_command) +
                     7 * sizeof(bwl_send) + 11 * sizeof(bwl_event) + 13 * sizeof(bwl_effects),
};

typedef struct bwl_own {
    uint32_t     layout; /* BWL_OWN_LAYOUT */
    const char  *story;
    bwl_protocol protocol;
} bwl_own;

extern const bwl_own bowline_lab_own;
