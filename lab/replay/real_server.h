/*
 * real_server.h -- a redis-server of the lab's own: on a socket in a directory that nobody else
 * uses, on no port, with nothing saved.
 *
 * It ends with bwl_real_server_stop, and also when this program dies in whatever way.
 */
#ifndef BWL_LAB_REPLAY_REAL_SERVER_H
#define BWL_LAB_REPLAY_REAL_SERVER_H

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

/* `program` NULL: redis-server as PATH has it.  False: then reterr says what, why, what to type. */
bool bwl_real_server_start(bwl_real_server *ret_server, const char *program, bwl_text reterr[3]);

/* At once, as when the power goes; and then a new one with nothing in it. */
bool bwl_real_server_restart(bwl_real_server *server, bwl_text reterr[3]);

void bwl_real_server_stop(bwl_real_server *server);

#endif
