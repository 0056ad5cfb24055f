/*
 * owner.h -- the callbacks of a session to its owner: the only calls from a session upwards.
 */
#pragma once

#include "engine/redis/session/request.h"
#include "engine/redis/wire/queue.h"

enum { BWL_REDIS_RUN_ID_SIZE = 40, BWL_REDIS_VERSION_ROOM = 24 };

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

/* What has to precede a request, see bwl_session_slots.prepare. */
typedef enum bwl_session_prepared {
    BWL_PREPARED_NOTHING = 1, /* nothing has to come before the request */
    BWL_PREPARED_WAIT,        /* it was written; write the request after its replies */
    BWL_PREPARED_NO_ROOM,
} bwl_session_prepared;

/* What depends on the servers beside this one. */
typedef struct bwl_session_traits {
    bool        sends_to_several; /* the commands of a lock go to several servers at once */
    bool        needs_hello;      /* a server without HELLO could be a replica */
    const char *tls_scheme;       /* of the same URL with TLS: "rediss" */
    const char *tls_note;         /* what else speaks TLS there; NULL: nothing else */
} bwl_session_traits;

/* A server with hash slots.  Keys in one command need the same slot, and a slot may have come from
 * another server, which granted its locks. */
typedef struct bwl_session_slots {
    /* Writes the commands that must precede this request. */
    bwl_session_prepared (*prepare)(bwl_session *session, bwl_request *request);

    /* Reads one frame of their replies, for the oldest request. */
    void (*on_prepared)(bwl_session *session, const char *bytes, size_t size);

    /* Whether they are about one slot, and nothing has to precede them: they may be one command. */
    bool (*may_share)(const bwl_session *session, const bwl_request *a, const bwl_request *b);

    /* While closing: write the request without its preparation? */
    bool (*skips_preparation)(const bwl_session *session, const bwl_request *request);
} bwl_session_slots;

/* The callbacks of a session.  A function whose comment names a default may be NULL. */
typedef struct bwl_session_owner {
    bwl_session_traits       traits;
    const bwl_session_slots *slots; /* NULL: no hash slots */

    /* ---- where the server is */

    /* Finds the server's address: bwl_session_found or bwl_session_not_found will be called, or was
     * called already.  Default: the address is fixed. */
    void (*discover)(bwl_session *session);

    /* The discovered server cannot be used: discovers another one before `until`.  False, and the
     * default: there is none. */
    bool (*discover_next)(bwl_session *session, bwl_ms until);

    /* Whether another server can take a request.  Default: no. */
    bool (*has_alternative)(const bwl_session *session);

    /* ---- the handshake */

    /* Whether this server may be used.  OK; REFUSED: permanent error; UNREACHABLE: temporary.
     * Default of check_info: OK. */
    int (*check_hello)(bwl_session *session, const bwl_hello *hello, bwl_fault *fault);
    int (*check_info)(bwl_session *session, const char *info, size_t size, bwl_fault *fault);

    /* One command of the owner in the handshake: writes it if needed; reads its reply, NULL if the
     * connection broke.  Default: not needed. */
    bool (*write_query)(bwl_session *session, bwl_resp_writer *writer); /* NULL: write nothing */
    void (*on_query)(bwl_session *session, const char *bytes, size_t size);

    /* Writes session->push.id.  False: no random bits.  Called for sessions that use pushes. */
    bool (*name_client)(bwl_session *session);

    /* Writes one command that publishes this client's info; its reply is 1.  `tag` is the hash tag
     * of a slot, or "".  Called for sessions that use pushes. */
    void (*write_client_info)(bwl_session *session, bwl_resp_writer *writer, const char *tag);

    /* ---- state changes */

    void (*on_ready)(bwl_session *session);     /* the next phase is READY */
    void (*on_restarted)(bwl_session *session); /* new process, perhaps loading */
    void (*on_pushes_lost)(bwl_session *session);
    void (*on_down)(bwl_session *session);   /* all requests are completed */
    void (*on_change)(bwl_session *session); /* the deadline or the phase may have changed */

    /* Whether a connection is needed without a submitted request. */
    bool (*is_needed)(const bwl_session *session);

    /* Moves a request that was certainly not executed to another server.  Default: no. */
    bool (*on_not_sent)(bwl_session *session, const bwl_request *request);

    /* ---- requests and replies */

    /* Handles this reply to the oldest request (a redirect, a lost slot).  True: it was handled.
     * Default: false. */
    bool (*on_reply)(bwl_session *session, const char *bytes, size_t size);

    /* Whether this error means that the server is no longer a primary.  Default: no. */
    bool (*is_demoted)(const bwl_session *session, const char *bytes, size_t size);

    /* Adds advice to the text of an error. */
    void (*explain)(const bwl_session *session, char *ret_text, size_t capacity, const char *bytes,
                    size_t size);

    void (*on_push)(bwl_session *session, const bwl_queue_push *push);
    void (*on_other_push)(bwl_session *session, const char *bytes, size_t size);

    /* Writes the commands that delete this client's data at the server. */
    void (*write_goodbye)(bwl_session *session);
} bwl_session_owner;
