/*
 * owner.h -- what a session asks of its owner, and tells it: the only way from a session up.
 */
#pragma once

#include "engine/redis/session/handshake.h"
#include "engine/redis/session/push_channel.h"
#include "engine/redis/session/request.h"

/* How a request goes out, see bwl_session_owner.prepare. */
typedef enum bwl_session_prepared {
    BWL_PREPARED_NOTHING = 1, /* nothing has to come before the request */
    BWL_PREPARED_WAIT,        /* it was written; the request is written after its replies */
    BWL_PREPARED_NO_ROOM,
} bwl_session_prepared;

/* What a session asks of its owner, and tells it.  Every function may be NULL: then the answer is
 * the one named last. */
typedef struct bwl_session_owner {
    /* ---- where the server is */

    /* Finds the address: bwl_session_found or bwl_session_not_found is called, or was.  NULL: the
     * address is fixed. */
    void (*discover)(bwl_session *session);

    /* The server that was found does not serve: finds another one until `until`.  False: there is
     * none. */
    bool (*discover_next)(bwl_session *session, bwl_ms until);

    /* Is there another server that a request could go to?  No. */
    bool (*has_alternative)(const bwl_session *session);

    /* ---- the handshake */

    /* May this server be used?  OK; REFUSED: for good; UNREACHABLE: not now.  OK. */
    int (*check_hello)(bwl_session *session, const bwl_hello *hello, bwl_fault *fault);
    int (*check_info)(bwl_session *session, const char *info, size_t size, bwl_fault *fault);

    /* One command of the owner's own: writes it if it is wanted; reads its reply, NULL if the
     * connection broke on it.  Not wanted. */
    bool (*write_query)(bwl_session *session, bwl_resp_writer *writer); /* NULL writer: asks only */
    void (*on_query)(bwl_session *session, const char *bytes, size_t size);

    /* Writes session->push.id.  False: no random bits.  Of a session that uses pushes. */
    bool (*name_client)(bwl_session *session);

    /* What others are shown of this client, as one command with one reply of 1; `tag` is that of a
     * slot, or "".  Likewise. */
    void (*write_client_info)(bwl_session *session, bwl_resp_writer *writer, const char *tag);

    /* ---- life */

    void (*on_ready)(bwl_session *session);     /* the next step is READY */
    void (*on_restarted)(bwl_session *session); /* another process answers, but cannot serve yet */
    void (*on_pushes_lost)(bwl_session *session);
    void (*on_down)(bwl_session *session);   /* all requests are completed */
    void (*on_change)(bwl_session *session); /* deadline or phase may have changed */

    /* Is a connection needed although nothing is submitted?  No. */
    bool (*is_needed)(const bwl_session *session);

    /* Takes a request that was surely not carried out to another server.  No. */
    bool (*on_not_sent)(bwl_session *session, const bwl_request *request);

    /* ---- requests and replies */

    /* Writes what must come before this request.  NOTHING. */
    bwl_session_prepared (*prepare)(bwl_session *session, bwl_request *request);

    /* A frame of that, for the oldest request.  True: it has ended with this reply. */
    void (*on_prepared)(bwl_session *session, const char *bytes, size_t size);

    /* The client closes: write the request without its preparation?  No. */
    bool (*skips_preparation)(const bwl_session *session, const bwl_request *request);

    /* Takes the oldest request on this reply (a redirect, a lost slot).  False: it does not. */
    bool (*on_reply)(bwl_session *session, const char *bytes, size_t size);

    /* Does this error say that the server serves no more?  No. */
    bool (*is_demoted)(const bwl_session *session, const char *bytes, size_t size);

    /* Adds to the text of an error what to do about it. */
    void (*explain)(const bwl_session *session, char *ret_text, size_t capacity, const char *bytes,
                    size_t size);

    void (*on_push)(bwl_session *session, const bwl_queue_push *push);
    void (*on_key_changed)(bwl_session *session, const char *bytes, size_t size);

    /* Writes what ends this client's traces at the server.  Nothing. */
    void (*write_goodbye)(bwl_session *session);
} bwl_session_owner;
