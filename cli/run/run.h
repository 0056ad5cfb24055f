/*
 * run.h -- `bowline run`: runs a command while holding a lock.
 */
#ifndef BOWLINE_CLI_RUN_RUN_H
#define BOWLINE_CLI_RUN_RUN_H

/* argv[0] is "run".  Returns the exit code. */
int run_main(int argc, char **argv);

#endif
