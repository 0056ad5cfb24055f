/*
 * run.h -- `bowline run`: runs a command while holding a lock.
 */
#pragma once

/* argv[0] is "run".  Returns the exit code. */
int run_main(int argc, char **argv);
