/*
 * command.h -- the commands of bowline except `run` (cli/run/run.h).
 *
 * In NAME_main, argv[0] is the name of the command; it returns the exit code.
 */
#pragma once

#include <stdio.h>

int acl_main(int argc, char **argv);
int break_main(int argc, char **argv);
int caps_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int fence_main(int argc, char **argv);

/* Replaces this process by bowline-lab.  Returns only if that fails. */
int lab_main(int argc, char **argv);

void acl_help(FILE *out);
void break_help(FILE *out);
void caps_help(FILE *out);
void doctor_help(FILE *out);
void fence_help(FILE *out);
