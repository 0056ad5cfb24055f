/*
 * handshake.h -- from a fresh connection to one that takes requests.  See handshake.c.
 */
#pragma once

#include "core/status.h"
#include "engine/redis/session/config.h"
#include "engine/redis/wire/resp.h"

typedef struct bwl_session bwl_session;

enum { BWL_REDIS_RUN_ID_SIZE = 40, BWL_REDIS_VERSION_ROOM = 24 };

/* The reply that comes next, in this order. */
typedef enum bwl_handshake_step {
    BWL_HANDSHAKE_HELLO = 1,
    BWL_HANDSHAKE_AUTH, /* without HELLO: see handshake_resp2.c            */
    BWL_HANDSHAKE_INFO, /* which process this is                           */
    BWL_HANDSHAKE_SELECT,
    BWL_HANDSHAKE_QUERY,     /* the owner's own command                         */
    BWL_HANDSHAKE_SUBSCRIBE, /* this one and the next four: see push_channel.c  */
    BWL_HANDSHAKE_PUBLISH,
    BWL_HANDSHAKE_SCRIPTS,
    BWL_HANDSHAKE_FENCE,
    BWL_HANDSHAKE_LOAD,
    BWL_HANDSHAKE_ID,   /* as AUTH                                         */
    BWL_HANDSHAKE_KILL, /* of the connection before this one               */
    BWL_HANDSHAKE_DONE,
} bwl_handshake_step;

typedef struct bwl_handshake {
    bwl_handshake_step step;
    uint8_t            replies_to_skip;
    bool               is_put_off; /* the server cannot serve now: the next attempt waits */
} bwl_handshake;

/* What the server says of itself in reply to HELLO.  Borrowed from the frame. */
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

/* Reads the next reply.  OK; REFUSED: for good; UNREACHABLE: not now; the fault says why. */
int bwl_handshake_on_reply(bwl_session *session, const char *bytes, size_t size, bwl_fault *fault);

/* Adds to a fault before READY what its cause may be.  is_silent: a time limit, not an event of the
 * connection.  True: the fault is final (REFUSED), and no request was sent. */
bool bwl_handshake_add_hint(const bwl_session *session, bool is_silent, bwl_fault *fault);

/* INFO, SELECT and the owner's command, of every handshake. */
void bwl_handshake_write_rest(bwl_session *session, bwl_resp_writer *writer);

/* Does not serve us, with this error. */
int bwl_handshake_turned_away(bwl_session *session, const char *bytes, size_t size,
                              bwl_fault *fault);

/* OK; REFUSED: it is older than what bowline needs. */
int bwl_redis_check_age(const char *where, const char *version, bwl_fault *fault);

/* ---- handshake_resp2.c */

/* Is this reply to HELLO that of a server that does not know it? */
bool bwl_redis_knows_no_hello(const char *bytes, size_t size);

/* Begins anew without HELLO.  REFUSED: this protocol or topology needs it. */
int bwl_handshake_begin_resp2(bwl_session *session, bwl_fault *fault);

/* The replies to AUTH, to CLIENT ID (0: not known), to INFO (OK, or REFUSED). */
bool    bwl_redis_is_ok(const char *bytes, size_t size);
int64_t bwl_redis_id_of(const char *bytes, size_t size);
int bwl_redis_check_version(const char *where, const char *bytes, size_t size, bwl_fault *fault);
