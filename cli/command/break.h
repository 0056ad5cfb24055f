/*
 * break.h -- `bowline break`: an administrator ends somebody else's hold of a lock.
 */
#ifndef BOWLINE_CLI_COMMAND_BREAK_H
#define BOWLINE_CLI_COMMAND_BREAK_H

#include <stdio.h>

/* argv[0] is "break".  Returns the exit code. */
int break_main(int argc, char **argv);

void break_help(FILE *out);

#endif
