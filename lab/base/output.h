/*
 * output.h -- files that are written whole or not at all, and a check of standard output.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum { BWL_PATH_MAX = 4096 };

/* A temporary file beside the one that it will replace. */
typedef struct bwl_output {
    FILE *out;
    char  path[BWL_PATH_MAX];
    char  beside[BWL_PATH_MAX + 8];
} bwl_output;

/* False on failure, with a message. */
bool bwl_output_open(bwl_output *ret_output, const char *path);

/* Renames it into place.  False if a write failed: then the old file stays. */
bool bwl_output_close(bwl_output *output);

/* False, with a message, if a write to standard output failed. */
bool bwl_output_done(void);
