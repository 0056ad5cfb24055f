/*
 * table.c -- the commands: the tables of the files in this folder, one behind the other.
 */
#include "sim/redis/command/key_commands.h"
#include "sim/redis/command/server_commands.h"

const model_command *const model_command_tables[] = {
    model_commands_strings,
    model_commands_keys,
    model_commands_hashes,
    model_commands_zsets,
    model_commands_zset_ranges,
    model_commands_lists,
    model_commands_transactions,
    model_commands_channels,
    model_commands_scripts,
    model_commands_connection,
    model_commands_client,
    model_commands_acl,
    model_commands_admin,
    model_commands_info,
    model_commands_cluster,
    model_commands_sentinel,
    NULL,
};
