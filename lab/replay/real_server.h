/*
 * real_server.h -- a private redis-server: on a socket in a private directory, without a port and
 * without persistence.  It ends with bwl_real_server_stop or with this program.
 */
#pragma once

#include "lab/base/say.h"
#include <stdbool.h>
#include <sys/types.h>

typedef struct bwl_real_server {
    pid_t    pid; /* 0: it does not run */
    bwl_text program;
    bwl_text directory;
    bwl_text socket;
    bwl_text log;
} bwl_real_server;

/* `program` NULL: redis-server in PATH.  False: reterr has the message. */
bool bwl_real_server_start(bwl_real_server *ret_server, const char *program, bwl_text reterr[3]);

/* Kills it and starts an empty one. */
bool bwl_real_server_restart(bwl_real_server *server, bwl_text reterr[3]);

void bwl_real_server_stop(bwl_real_server *server);
