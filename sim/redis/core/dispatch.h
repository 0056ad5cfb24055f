/*
 * dispatch.h -- one command of a link, from its words to its reply.
 */
#pragma once

#include "sim/redis/core/call.h"

void model_execute(model_link *link, const model_text *argv, size_t argc);
/* Carries out a command that was accepted: effects, tracking. */
void model_run(model_call *call);
