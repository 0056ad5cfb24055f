/*
 * verbs.h -- the commands of bowline-lab.  Each returns the exit status.
 */
#pragma once

#include "lab/options.h"

int bwl_verb_list(const bwl_lab_options *set);
int bwl_verb_try(const bwl_lab_options *set);
int bwl_verb_replay(const bwl_lab_options *set);
int bwl_verb_matrix(const bwl_lab_options *set);

int bwl_verb_servers(const bwl_lab_options *set);

/* run and walk */
int bwl_verb_run(const bwl_lab_options *set);
