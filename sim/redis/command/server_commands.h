/*
 * server_commands.h -- the tables of the commands about links, scripts and the server itself.
 */
#pragma once

#include "sim/redis/core/call.h"

extern const model_command model_commands_transactions[];
extern const model_command model_commands_channels[];
extern const model_command model_commands_scripts[];
extern const model_command model_commands_connection[];
extern const model_command model_commands_client[];
extern const model_command model_commands_acl[];
extern const model_command model_commands_admin[];
extern const model_command model_commands_info[];
extern const model_command model_commands_cluster[];
extern const model_command model_commands_sentinel[];

void        model_sentinel_role(model_call *call); /* sentinel_command.c */
void        model_sentinel_info(model_bytes *out, const model_server *server);
const char *model_mode_text(const model_server *server);              /* info.c */
const char *model_version_text(model_version version);                /* info.c */
bool        model_client_set_name(model_call *call, model_text name); /* client.c */
