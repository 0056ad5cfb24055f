#include "lab/verbs.h"
int bwl_verb_replay(const bwl_lab_options *set)
{
    (void)set;
    return 0;
}
