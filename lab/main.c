/*
 * main.c -- bowline-lab: explores what a lock does in the worst schedule.
 */
#include "lab/options.h"
#include "lab/base/lang.h"
#include "lab/base/say.h"
#include "lab/report/names.h"
#include "lab/scenario/lock_file.h"
#include "lab/scenario/table.h"
#include <stdlib.h>

static void list_one(const char *name, const char *story)
{
    bwl_put(stdout, "  %-28s %s\n", name, bwl_tr(story));
}

static int list(void)
{
    bwl_put(stdout, "protocols, for try and matrix:\n");
    for (size_t i = 0; i < bwl_subjects_count(); i++)
        list_one(bwl_subject_at(i)->name, bwl_subject_at(i)->story);
    bwl_put(stdout, "\nlock files, for try, matrix and run, where they are installed:\n");
    if (bwl_lock_files_installed(list_one) == 0)
        bwl_put(stdout, "none is installed here\n");
    bwl_put(stdout, "\ninvariants:\n");
    for (unsigned i = 0; i < BWL_INVARIANTS_COUNT; i++)
        bwl_put(stdout, "  %s broken when %s\n", bwl_invariant_column(1u << i, 28).of,
                bwl_invariant_sentence(1u << i));
    bwl_put(stdout, "\nof several servers, for servers:\n");
    for (size_t i = 0; i < bwl_redlock_scenarios_count(); i++) {
        bwl_scenario s = bwl_redlock_scenario_at(i);
        bwl_put(stdout, s.breaks == 0 ? "  %-28s %s\n" : "  %-28s breaks: %s\n", s.name,
                bwl_tr(s.story));
    }
    bwl_put(stdout, "\nscenarios, for run and walk, with the invariant that each has to break:\n");
    for (size_t i = 0; i < bwl_scenarios_count(); i++) {
        bwl_scenario s = bwl_scenario_at(i);
        bwl_put(stdout, "  %-28s %-15s %s\n", s.name,
                s.breaks == 0 ? "" : bwl_invariant_label(s.breaks), bwl_tr(s.story));
    }
    return bwl_output_done() ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    bwl_lab_options set;
    int             status;

    bwl_lang_set_by_environment();
    status = bwl_options_read(&set, argc, argv);

    if (status != 0)
        return status;
    if (set.help != BWL_HELP_NONE) {
        (set.help == BWL_HELP_FORMAT ? bwl_options_help_on_format : bwl_options_help)(stdout);
        return bwl_output_done() ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    switch (set.command) {
    case BWL_COMMAND_LIST: return list();
    case BWL_COMMAND_EXPLAIN: return bwl_verb_explain(&set);
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
