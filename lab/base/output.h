/*
 * output.h -- files that are written whole or not at all, and the end of standard output.
 */
#ifndef BWL_LAB_BASE_OUTPUT_H
#define BWL_LAB_BASE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

enum { BWL_PATH_MAX = 4096 };

/* A file in the making, beside the one that it will replace. */
typedef struct bwl_output {
    FILE *out;
    char  path[BWL_PATH_MAX];
    char  beside[BWL_PATH_MAX + 8];
} bwl_output;

/* False if it cannot be: then it has said why. */
bool bwl_output_open(bwl_output *ret_output, const char *path);

/* Puts it in its place.  False if not all of it could be written: then the place is as it was. */
bool bwl_output_close(bwl_output *output);

/* Everything on standard output has got there; otherwise it says why. */
bool bwl_output_done(void);

#endif
