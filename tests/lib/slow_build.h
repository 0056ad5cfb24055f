/*
 * slow_build.h -- whether this is a build with a sanitizer or with coverage.  Every state of the
 * lab then takes ten times as long, so exhaustive searches are reduced to samples.
 */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool is_slow_build(void)
{
    const char *sanitize = getenv("BOWLINE_SANITIZE");
    const char *coverage = getenv("BOWLINE_COVERAGE");

    return (sanitize != NULL && strcmp(sanitize, "none") != 0) ||
           (coverage != NULL && strcmp(coverage, "true") == 0);
}
