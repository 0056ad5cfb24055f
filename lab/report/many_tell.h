/*
 * many_tell.h -- a schedule of a world with several servers, in words.
 */
#ifndef BWL_LAB_REPORT_MANY_TELL_H
#define BWL_LAB_REPORT_MANY_TELL_H

#include "lab/world/many.h"

/* The schedule, one line for each step, to `write`. */
void bwl_many_tell(const bwl_many_scenario *s, const bwl_choice *path, unsigned count,
                   void (*write)(const char *line, void *arg), void *arg);

#endif
