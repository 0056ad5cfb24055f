/*
 * main.c -- bowline-lab: explores what a lock does in the worst schedule.
 */
#include "lab/options.h"
#include "lab/base/output.h"
#include "lab/verbs.h"
#include <stdlib.h>

int main(int argc, char **argv)
{
    bwl_lab_options set;
    int             status = bwl_options_read(&set, argc, argv);

    if (status != 0)
        return status;
    if (set.wants_help) {
        bwl_options_help(stdout);
        return bwl_output_done() ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    switch (set.command) {
    case BWL_COMMAND_LIST: return bwl_verb_list(&set);
    case BWL_COMMAND_TRY: return bwl_verb_try(&set);
    case BWL_COMMAND_REPLAY: return bwl_verb_replay(&set);
    case BWL_COMMAND_MATRIX: return bwl_verb_matrix(&set);
    case BWL_COMMAND_SERVERS: return bwl_verb_servers(&set);
    case BWL_COMMAND_RUN:
    case BWL_COMMAND_WALK: return bwl_verb_run(&set);
    case BWL_COMMANDS_COUNT: break;
    }
    bwl_unreachable("no such command");
}
