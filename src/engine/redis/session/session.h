/*
 * session.h -- one Redis server: its connection, the handshake, the pipeline of requests.
 *
 * A session knows one server.  What depends on other servers, or on the locks of the client, it
 * asks of its owner (bwl_session_owner).  Time and random bits come from the host; bytes go through
 * net/stream and net/dialer.  It calls no system function itself.
 *
 *      DOWN --submit--> BACKOFF --> RESOLVING --> CONNECTING --> HANDSHAKE --all answered--> READY
 *        ^                                                                                    |
 *        +------------------- any fault: every request is completed --------------------------+
 *
 * If the owner finds the server's address (discover), DISCOVERING comes before RESOLVING.
 *
 * The session connects when a request is submitted, and at once after a break if the owner needs
 * the connection.  BACKOFF is the pause after an attempt that failed.
 *
 * A connection with a reply that no request waits for is closed: the next reply would be taken for
 * that of another request.
 *
 *      session.c    submit, flush, receive, break       connect.c      dial, back off, time limits
 *      handshake.c  HELLO to READY                      push_channel.c subscription, pushes
 *      pipeline.c   requests in flight                  request.c      what a request is
 *      transaction.c, replication_barrier.c, renewal_batch.c           requests that share a state
 *      await.c      waiting for a reply in the socket itself
 */
#pragma once

#include "engine/redis/session/config.h"
#include "engine/redis/session/handshake.h"
#include "engine/redis/session/owner.h"
#include "engine/redis/session/pipeline.h"
#include "engine/redis/session/push_channel.h"
#include "engine/redis/session/resp_stream.h"
#include "net/dialer.h"
#include "net/spin.h"

typedef enum bwl_session_phase {
    BWL_SESSION_DOWN = 1,
    BWL_SESSION_BACKOFF,
    BWL_SESSION_DISCOVERING,
    BWL_SESSION_RESOLVING,
    BWL_SESSION_CONNECTING, /* with TLS: up to the end of its handshake */
    BWL_SESSION_HANDSHAKE,
    BWL_SESSION_READY,
} bwl_session_phase;

/* Where the server is. */
typedef struct bwl_endpoint {
    char    *host; /* NULL: a Unix socket, whose address the dialer has */
    uint16_t port;
    char     text[128]; /* for people: "127.0.0.1:6379" */
} bwl_endpoint;

typedef struct bwl_session_link {
    bwl_resp_stream conn; /* first: its source is what the reactor knows */
    bwl_dialer      dialer;
    bwl_spin        spin;
    bwl_ms          heard_at;     /* when the connection last had something for us */
    uint64_t        opened;       /* how many connections there have been          */
    bool            has_answered; /* this one, to a request                       */
} bwl_session_link;

/* The process at the other end. */
typedef struct bwl_server_info {
    char     run_id[BWL_REDIS_RUN_ID_SIZE + 1]; /* "": it may not say */
    uint64_t restarts;                          /* how often another process has answered */
    bool     was_restarted; /* since what is held was granted; the owner clears it */
    bool     is_replica;    /* as it said last */
    bool     is_resp2;      /* it does not know HELLO: see handshake_resp2.c */
    bool     tracks_keys;   /* this connection: CLIENT TRACKING is on */
    int64_t  connection_id; /* 0: not known */
    int64_t  to_be_killed;  /* of a connection that broke with requests in flight; 0: none */
} bwl_server_info;

/* The attempt to connect that is under way, and the pause after one that failed. */
typedef struct bwl_session_attempt {
    bwl_fault refusal;   /* what has to be corrected; status 0: nothing                */
    bwl_fault candidate; /* what is wrong with the server that was found; status 0     */
    bwl_ms    until;     /* no other server is looked for after that                    */
    unsigned  failures;  /* attempts in a row                                           */
    bwl_ms    backoff_until;
    bwl_fault broke; /* why the last connection ended                                */
} bwl_session_attempt;

/* Which scripts the server has. */
typedef struct bwl_script_cache {
    uint64_t unknown;     /* commands whose script a new process cannot know yet: 1 << word */
    uint64_t sent_at_end; /* while closing: those whose text was sent                       */
    uint64_t release;     /* the connection over which the release script has gone           */
} bwl_script_cache;

/* One state of the connection at a time: a WATCH, or a WAIT. */
typedef struct bwl_session_transaction {
    bwl_engine_lock *owner;    /* of a WATCH: whose it is; NULL: none is open */
    unsigned         out;      /* of a WAIT: requests in flight that share it */
    bwl_request_list deferred; /* until it has ended */
} bwl_session_transaction;

struct bwl_session {
    bwl_session_link         link; /* first, as its stream is */
    bwl_host                *host;
    bwl_redis_config        *config; /* one reference */
    const bwl_session_owner *owner;
    void                    *owner_data;
    bwl_session             *next;   /* the owner's list */
    unsigned                 number; /* the owner's: in a cluster, which node */
    void                    *node;   /* the owner's: what it keeps for this session; NULL */
    bwl_endpoint             endpoint;
    bwl_session_phase        phase;
    bwl_ms                   phase_began_at;
    bwl_ms                   phase_ends_at; /* but for READY, where each request has its own time */
    bwl_handshake            handshake;
    bwl_push_channel         push;
    bwl_server_info          server;
    bwl_pipeline             pipeline;
    bwl_script_cache         scripts;
    bwl_session_transaction  watch;   /* see transaction.c */
    bwl_session_transaction  barrier; /* see replication_barrier.c */
    bwl_session_attempt      attempt;
    unsigned held_back;       /* requests that timers have submitted since any was written */
    unsigned batches_refused; /* in a row, on this connection */
    bool     reply_is_off;    /* while closing: the server was told not to reply */
    bool     has_replies;     /* while closing: replies are on their way */
    bool     said_goodbye;    /* while closing: all is sent */
};

/* Takes a reference to the config.  Not connected, without an endpoint.  NULL: out of memory. */
bwl_session *bwl_session_new(bwl_host *host, bwl_redis_config *config,
                             const bwl_session_owner *owner, void *owner_data);
void         bwl_session_free(bwl_session *session); /* also NULL */

/* Its server from now on, of which nothing is known yet; not connected.  NOMEM. */
int bwl_session_set_endpoint(bwl_session *session, const char *host, uint16_t port);

/* What was found: the address may have changed.  And: nothing. */
void bwl_session_found(bwl_session *session, const bwl_endpoint *endpoint);
void bwl_session_not_found(bwl_session *session, const bwl_fault *fault);

/* Does the protocol of this client use pushes, and does it lock at all? */
static inline bool bwl_session_uses_push(const bwl_session *session)
{
    const bwl_host     *host   = session->host;
    const bwl_protocol *chosen = host->settings.protocol;

    return !host->takes_no_locks && (chosen != NULL ? chosen : host->engine->protocol)->uses_push;
}

/* Did the last attempt to reach it fail? */
bool bwl_session_may_be_dead(const bwl_session *session);

/* Connects without a request, unless a connection is there or on its way.  False: the session is in
 * a pause after an attempt that failed. */
bool bwl_session_open(bwl_session *session);

/* Submits a request, connecting first if need be.  False: out of memory. */
bool bwl_session_submit(bwl_session *session, const bwl_request *request);

/* Sends what was held back. */
void bwl_session_flush(bwl_session *session);

/* Takes out what the lock's machine has submitted last and is not written; at most `max` of them.
 * How many. */
unsigned bwl_session_withdraw(bwl_session *session, const bwl_engine_lock *lock,
                              bwl_request *ret_requests, unsigned max);

/* When it has to be woken; BWL_NEVER: not by time.  Also when a lookup has come back. */
bwl_ms bwl_session_deadline(const bwl_session *session);
void   bwl_session_woken(bwl_session *session);

/* Waits in the socket for the next reply, see bwl_engine.await. */
bool bwl_session_await(bwl_session *session, bwl_ms until);

/* Ends the connection.  `refused`: the next one would end the same way.  All requests are
 * completed. */
void bwl_session_break(bwl_session *session, const bwl_fault *fault, bool refused);

/* The client closes: says goodbye.  Sends without waiting; then poll until done or `until`. */
void bwl_session_say_goodbye(bwl_session *session);
bool bwl_session_finish_goodbye(bwl_session *session); /* true: nothing is left to do */

/* The server's error for people; only its code if it repeats a part of the password. */
void bwl_session_error_text(const bwl_redis_config *config, char *ret_text, size_t capacity,
                            const char *bytes, size_t size);

/* Makes the error of the server the lock's error text. */
void bwl_session_set_error(bwl_session *session, const bwl_request *request, bwl_answer answer,
                           const char *bytes, size_t size);
