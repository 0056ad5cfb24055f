/*
 * supervise.h -- watches the lock and the command until the command has ended.
 */
#ifndef BOWLINE_CLI_RUN_SUPERVISE_H
#define BOWLINE_CLI_RUN_SUPERVISE_H

#include "cli/run/job.h"

void supervise(job *j);

#endif
