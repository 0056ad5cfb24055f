/*
 * lab.h -- `bowline lab`: a program of its own, bowline-lab, in the place of this one.
 */
#ifndef BOWLINE_CLI_COMMAND_LAB_H
#define BOWLINE_CLI_COMMAND_LAB_H

/* argv[0] is "lab".  Returns only if it could not be started, with the exit code. */
int lab_main(int argc, char **argv);

#endif
