/*
 * slow_build.h -- was this built with a sanitizer, or to count what is run?  Then every state of
 * the lab takes ten times as long, and what is exhaustive elsewhere is a sample here.
 */
#ifndef SLOW_BUILD_H
#define SLOW_BUILD_H

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

#endif
