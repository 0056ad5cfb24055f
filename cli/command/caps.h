/*
 * caps.h -- `bowline caps`: what a lock at a URL gives.
 */
#ifndef BOWLINE_CLI_COMMAND_CAPS_H
#define BOWLINE_CLI_COMMAND_CAPS_H

#include <stdio.h>

/* argv[0] is "caps".  Returns the exit code. */
int caps_main(int argc, char **argv);

void caps_help(FILE *out);

#endif
