/*
 * real_server.h -- a private redis-server: on a socket in a private directory, without a port and
 * without persistence.  It ends with bwl_real_server_stop or with this program.
 */
#pragma once

#include "lab/base/say.h"
#include "engine/redis/wire/commands.h"
#include "engine/redis/wire/steps.h"
#include <stdbool.h>
#include <sys/types.h>

/* A connection to a real server: sends a command, waits for its reply. */

enum { BWL_LINE_ROOM = 4096 };

typedef struct bwl_real_connection {
    int    fd;   /* -1: closed */
    size_t size; /* bytes received and not parsed */
    char   bytes[BWL_LINE_ROOM];
} bwl_real_connection;

/* False: reterr has the reason. */
bool bwl_real_connection_open(bwl_real_connection *ret_connection, const char *socket_path,
                              bwl_text *reterr);
void bwl_real_connection_close(bwl_real_connection *connection);

/* Sends a command of the protocol, in the bytes that bowline sends, and reads the reply; sends the
 * script's text if the server does not know its hash.  `ret_said` is the reply as text. */
bool bwl_real_connection_ask(bwl_real_connection          *connection,
                             const bwl_redis_command_args *question, bwl_redis_reply *ret_reply,
                             bwl_text *ret_said, bwl_text *reterr);

/* Sends a command, or a transaction, of a lock file. */
bool bwl_real_connection_step(bwl_real_connection *connection, const bwl_step_args *args,
                              bwl_redis_reply *ret_reply, bwl_text *ret_said, bwl_text *reterr);

/* Sends any command: words with blanks between them, and one more argument, of any bytes;
 * `extra_size` 0: none.  `ret_said` is the reply as text. */
bool bwl_real_connection_say(bwl_real_connection *connection, const char *command,
                             const char *extra, size_t extra_size, bwl_text *ret_said,
                             bwl_text *reterr);

/* Reads the value of the key by GET, or the first field of a hash, or the first member of a sorted
 * set except __write__.  `ret_size` SIZE_MAX: no key.  False also on a server error, with
 * reterr. */
bool bwl_real_connection_get(bwl_real_connection *connection, const char *key, char *ret_bytes,
                             size_t capacity, size_t *ret_size, bwl_text *reterr);

typedef struct bwl_real_server {
    pid_t    pid; /* 0: not running */
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
