/*
 * input.h -- what a server reads: requests of its links, and effects of its primary.
 *
 * Input that is not a whole command waits in the link.  A link that is blocked by WAIT keeps its
 * input too.
 */
#pragma once

#include "sim/redis/server.h"

/* The links whose WAIT has ended run the rest of their input. */
void model_waiters_serve(model_server *server);
