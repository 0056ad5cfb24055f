/*
 * command.h -- the commands of bowline except `run` (cli/run/job.h), `lab` and `help` (main.c).
 *
 * In NAME_main, argv[0] is the name of the command; it returns the exit code.
 */
#pragma once

#include "cli/settings/options.h"

int acl_main(int argc, char **argv);
int break_main(int argc, char **argv);
int caps_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int fence_main(int argc, char **argv);
int ls_main(int argc, char **argv);
int observe_main(int argc, char **argv);
int top_main(int argc, char **argv);
int watch_main(int argc, char **argv);
int who_main(int argc, char **argv);

extern const option_table acl_table;
extern const option_table break_table;
extern const option_table caps_table;
extern const option_table doctor_table;
extern const option_table fence_table;
extern const option_table ls_table;
extern const option_table observe_table;
extern const option_table top_table;
extern const option_table watch_table;
extern const option_table who_table;
