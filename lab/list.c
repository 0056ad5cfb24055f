/*
 * list.c -- `bowline-lab list`: protocols, invariants and scenarios.
 */
#include "lab/scenario/redlock.h"
#include "lab/scenario/table.h"
#include "lab/base/output.h"
#include "lab/scenario/subject.h"
#include "lab/verbs.h"
#include <stdlib.h>

int bwl_verb_list(const bwl_lab_options *set)
{
    (void)set;
    (void)printf("protocols, for try and matrix:\n");
    for (size_t i = 0; i < bwl_subjects_count(); i++)
        (void)printf("  %-28s %s\n", bwl_subject_at(i)->name, bwl_subject_at(i)->story);
    (void)printf("\ninvariants:\n");
    for (unsigned i = 0; i < BWL_INVARIANTS_COUNT; i++)
        (void)printf("  %-28s broken when %s\n", bwl_invariant_label(1u << i),
                     bwl_invariant_sentence(1u << i));
    (void)printf("\nof several servers, for servers:\n");
    for (size_t i = 0; i < bwl_redlock_scenarios_count(); i++) {
        bwl_scenario s = bwl_redlock_scenario_at(i);
        (void)printf("  %-28s %s%s\n", s.name, s.breaks == 0 ? "" : "breaks: ", s.story);
    }
    (void)printf("\nscenarios, for run and walk, with the invariant that each has to break:\n");
    for (size_t i = 0; i < bwl_scenarios_count(); i++) {
        bwl_scenario s = bwl_scenario_at(i);
        (void)printf("  %-28s %-15s %s\n", s.name,
                     s.breaks == 0 ? "" : bwl_invariant_label(s.breaks), s.story);
    }
    return bwl_output_done() ? EXIT_SUCCESS : EXIT_FAILURE;
}
