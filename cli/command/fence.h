/*
 * fence.h -- `bowline fence`: a file that refuses the fence of who comes too late.
 */
#ifndef BOWLINE_CLI_COMMAND_FENCE_H
#define BOWLINE_CLI_COMMAND_FENCE_H

#include <stdio.h>

/* argv[0] is "fence".  Returns the exit code. */
int fence_main(int argc, char **argv);

void fence_help(FILE *out);

#endif
