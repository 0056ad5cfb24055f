/*
 * doctor.h -- `bowline doctor`: what is wrong, or could go wrong, with the locks at a URL.
 */
#ifndef BOWLINE_CLI_COMMAND_DOCTOR_H
#define BOWLINE_CLI_COMMAND_DOCTOR_H

#include <stdio.h>

/* argv[0] is "doctor".  Returns the exit code. */
int doctor_main(int argc, char **argv);

void doctor_help(FILE *out);

#endif
