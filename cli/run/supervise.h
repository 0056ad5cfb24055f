/*
 * supervise.h -- watches the lock and the command until the command has ended.
 */
#pragma once

#include "cli/run/job.h"

void supervise(job *j);
