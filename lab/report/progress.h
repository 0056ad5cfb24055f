/*
 * progress.h -- the progress of a search, on one terminal line.
 */
#pragma once

#include "lab/search/explore.h"

typedef struct bwl_meter {
    bool        is_on; /* standard error is a terminal, without --quiet */
    bool        is_drawn;
    const char *what; /* what is being searched */
} bwl_meter;

bwl_meter bwl_meter_start(bool quiet);

/* A bwl_on_progress; arg is the meter. */
void bwl_meter_show(const bwl_progress *progress, void *arg);

/* Before anything else is written, and at the end. */
void bwl_meter_wipe(bwl_meter *meter);
