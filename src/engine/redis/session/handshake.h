/*
 * handshake.h -- prepares a new connection for requests.  See handshake.c.
 */
#pragma once

#include "core/status.h"
#include "engine/redis/session/config.h"
#include "engine/redis/wire/resp.h"

typedef struct bwl_session bwl_session;

enum { BWL_REDIS_RUN_ID_SIZE = 40, BWL_REDIS_VERSION_ROOM = 24 };

/* The next expected reply, in this order. */
typedef enum bwl_handshake_step {
    BWL_HANDSHAKE_HELLO = 1,
    BWL_HANDSHAKE_AUTH, /* on a server without HELLO: handshake_resp2.c */
    BWL_HANDSHAKE_INFO, /* identifies the server process */
    BWL_HANDSHAKE_SELECT,
    BWL_HANDSHAKE_QUERY,     /* the owner's command */
    BWL_HANDSHAKE_SUBSCRIBE, /* this step and the next four: push_channel.c */
    BWL_HANDSHAKE_PUBLISH,
    BWL_HANDSHAKE_SCRIPTS,
    BWL_HANDSHAKE_FENCE,
    BWL_HANDSHAKE_LOAD,
    BWL_HANDSHAKE_ID,   /* as AUTH */
    BWL_HANDSHAKE_KILL, /* kills the previous connection */
    BWL_HANDSHAKE_DONE,
} bwl_handshake_step;

typedef struct bwl_handshake {
    bwl_handshake_step step;
    uint8_t            replies_to_skip;
    bool               is_put_off; /* the server is busy or loading: back off */
} bwl_handshake;

/* The server's reply to HELLO.  Borrowed from the frame. */
typedef struct bwl_hello {
    char           version[BWL_REDIS_VERSION_ROOM];
    int64_t        protocol;
    int64_t        id;
    bwl_resp_value role; /* "master", "replica"                 */
    bwl_resp_value mode; /* "standalone", "sentinel", "cluster" */
} bwl_hello;

/* The first number of a version: 7 of "7.2.4". */
long bwl_redis_major(const char *version);

/* Writes the first commands.  Below 0: the connection is broken. */
int bwl_handshake_begin(bwl_session *session, bwl_fault *fault);

/* Reads the next reply.  OK; REFUSED: permanent; UNREACHABLE: temporary; the fault has the
 * reason. */
int bwl_handshake_on_reply(bwl_session *session, const char *bytes, size_t size, bwl_fault *fault);

/* Adds the likely cause to a fault before READY.  is_silent: a time limit, not an event of the
 * connection.  True: the fault is final (REFUSED), and no request was sent. */
bool bwl_handshake_add_hint(const bwl_session *session, bool is_silent, bwl_fault *fault);

/* Writes INFO, SELECT and the owner's command, which every handshake has. */
void bwl_handshake_write_rest(bwl_session *session, bwl_resp_writer *writer);

/* The server replied with this error.  REFUSED or UNREACHABLE. */
int bwl_handshake_turned_away(bwl_session *session, const char *bytes, size_t size,
                              bwl_fault *fault);

/* OK; REFUSED: the server is older than bowline's minimum version. */
int bwl_redis_check_age(const char *where, const char *version, bwl_fault *fault);

/* ---- handshake_resp2.c */

/* Whether this reply to HELLO shows that the server does not support it. */
bool bwl_redis_knows_no_hello(const char *bytes, size_t size);

/* Starts again without HELLO.  REFUSED: this protocol or topology needs HELLO. */
int bwl_handshake_begin_resp2(bwl_session *session, bwl_fault *fault);

/* Read the replies to AUTH, to CLIENT ID (0: unknown) and to INFO (OK, or REFUSED). */
bool    bwl_redis_is_ok(const char *bytes, size_t size);
int64_t bwl_redis_id_of(const char *bytes, size_t size);
int bwl_redis_check_version(const char *where, const char *bytes, size_t size, bwl_fault *fault);
