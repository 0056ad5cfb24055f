/*
 * effects.h -- the log of what has changed.  See server.h: replicas and disks read it.
 *
 * The changes of one command, with all that a script or a transaction in it did, are pending until
 * it ends; several of them become one MULTI ... EXEC.  Each such piece begins and ends in database
 * 0, so a replica may begin with any of them.
 */
#pragma once

#include "sim/redis/data/bytes.h"
#include "sim/redis/server.h"

typedef struct model_call model_call; /* call.h */

void model_effects_begin(model_server *server, uint64_t offset); /* an empty log */
void model_effects_free(model_server *server);
void model_effects_add(model_server *server, unsigned database, const model_text *argv,
                       size_t argc);
void model_effects_add_own(model_server *server, unsigned database);
void model_effects_end(model_server *server); /* of a command, with all inside it */
/* While effects of the primary are carried out, nothing is added; then its log is copied. */
void model_effects_silence(model_server *server, bool is_silent);
void model_effects_copy(model_server *server, model_text log);

/* ---- of a call ------------------------------------------------------------------------------- */

/* What is logged in place of the command: count items, each by one of the functions below. */
void model_effect_begin(model_call *call, size_t count);
void model_effect_add(model_call *call, model_text text);
void model_effect_add_text(model_call *call, const char *text);
void model_effect_add_integer(model_call *call, int64_t number);
