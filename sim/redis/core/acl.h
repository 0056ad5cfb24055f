/*
 * acl.h -- users and their permissions: commands, keys, channels.
 *
 * A user is the list of its rules, carried out in order.  Selectors are not modelled.
 */
#pragma once

#include "sim/redis/core/command.h"
#include "sim/redis/data/table.h"

typedef struct model_user model_user;

typedef enum model_acl_answer {
    MODEL_ACL_YES = 1,
    MODEL_ACL_NOT_COMMAND,
    MODEL_ACL_NOT_KEY,
    MODEL_ACL_NOT_CHANNEL,
} model_acl_answer;

/* The user default has all permissions. */
void model_acl_begin(model_server *server);
void model_acl_end(model_server *server);
/* The user of a new link; NULL: a password is needed. */
model_user *model_acl_first_user(model_server *server);
model_user *model_acl_find(const model_server *server, model_text name);
const char *model_acl_name(const model_user *user);
/* NULL: wrong name or password. */
model_user *model_acl_authenticate(const model_server *server, model_text name,
                                   model_text password);
bool        model_acl_needs_password(const model_server *server);
/* Carries out all rules, or none.  NULL: done; otherwise why not, and *ret_nth says which. */
const char *model_acl_set(model_server *server, model_text name, const model_text *rules,
                          size_t count, size_t *ret_nth);
/* requirepass: the password of the user default. */
void model_acl_set_password(model_server *server, model_text password);
/* By name. */
const model_table *model_acl_users(const model_server *server);
bool               model_acl_delete(model_server *server, model_text name);
void               model_acl_show(model_call *call, const model_user *user);
model_acl_answer   model_acl_check(const model_user *user, const model_command *command,
                                   const model_text *argv, size_t argc);
