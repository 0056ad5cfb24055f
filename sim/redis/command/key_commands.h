/*
 * key_commands.h -- the tables of the commands that work on keys.
 */
#pragma once

#include "sim/redis/core/keyspace.h"

extern const model_command model_commands_strings[];
extern const model_command model_commands_keys[];
extern const model_command model_commands_hashes[];
extern const model_command model_commands_zsets[];
extern const model_command model_commands_zset_ranges[];
extern const model_command model_commands_lists[];

void model_refuse_expiry(model_call *call); /* strings.c */
