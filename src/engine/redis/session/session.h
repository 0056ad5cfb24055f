/*
 * session.h -- one Redis server: its connection, the handshake, the pipeline of requests.
 *
 * A session knows one server.  For what depends on other servers, or on the locks of the client, it
 * calls its owner (bwl_session_owner).  Time and random bits come from the host; bytes go through
 * net/stream and net/dialer.  It calls no system function itself.
 *
 *      DOWN --submit--> BACKOFF --> RESOLVING --> CONNECTING --> HANDSHAKE --all answered--> READY
 *        ^                                                                                    |
 *        +------------------- any fault: every request is completed --------------------------+
 *
 * If the owner finds the server's address (discover), DISCOVERING comes before RESOLVING.
 *
 * The session connects when a request is submitted, and at once after a lost connection if the
 * owner needs one.  BACKOFF is the pause after an attempt that failed.
 *
 * A reply without a request in flight closes the connection: otherwise later replies would be
 * matched to the wrong requests.
 *
 *      session.c    submit, flush, receive, break       connect.c       dial, time limits, goodbye
 *      handshake.c  HELLO to READY                      push_channel.c  subscription, pushes
 *      request.c    requests in flight                  error_text.c    errors as texts
 *      transaction.c, batch.c                           requests that share a state or a command
 */
#pragma once

#include "engine/redis/session/config.h"
#include "engine/redis/session/owner.h"
#include "engine/redis/session/resp_stream.h"
#include "net/dialer.h"
#include "net/spin.h"

typedef enum bwl_session_phase {
    BWL_SESSION_DOWN = 1,
    BWL_SESSION_BACKOFF,
    BWL_SESSION_DISCOVERING,
    BWL_SESSION_RESOLVING,
    BWL_SESSION_CONNECTING, /* with TLS: until the end of its handshake */
    BWL_SESSION_HANDSHAKE,
    BWL_SESSION_READY,
} bwl_session_phase;

/* The next expected reply, in this order. */
typedef enum bwl_handshake_step {
    BWL_HANDSHAKE_HELLO = 1,
    BWL_HANDSHAKE_AUTH, /* on a server without HELLO */
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

/* The subscription through which a server pushes grants to waiters. */
typedef struct bwl_push_channel {
    bool     is_per_slot;     /* cluster: the owner subscribes for each slot */
    bool     without_shards;  /* the server reported that it has no SSUBSCRIBE */
    bool     is_wrong;        /* subscribed with the command of the other server version */
    bool     was_heard;       /* the test message that we publish has arrived */
    unsigned scripts_missing; /* at the server: bit 1 << i for script i */
    bwl_ms   info_sent_at;    /* when the client info was last published; 0: never */
    char     id[BWL_QUEUE_SESSION_SIZE + 1];      /* the client's id, for all its sessions */
    char     channel[BWL_QUEUE_CHANNEL_SIZE + 1]; /* of this connection                    */
} bwl_push_channel;

/* The server's address. */
typedef struct bwl_endpoint {
    char    *host; /* NULL: a Unix socket, whose path the dialer has */
    uint16_t port;
    char     text[128]; /* for messages: "127.0.0.1:6379" */
} bwl_endpoint;

typedef struct bwl_session_link {
    bwl_resp_stream conn; /* first: the reactor points to its source */
    bwl_dialer      dialer;
    bwl_spin        spin;
    bwl_ms          heard_at;     /* when the connection last received bytes */
    uint64_t        opened;       /* connections so far */
    bool            has_answered; /* this connection has answered a request */
} bwl_session_link;

/* The server process at the other end. */
typedef struct bwl_server_info {
    char     run_id[BWL_REDIS_RUN_ID_SIZE + 1]; /* "": unknown, INFO is forbidden */
    uint64_t restarts;                          /* how often the run_id has changed */
    bool     was_restarted; /* restarted after the holds were granted; cleared by the owner */
    bool     is_replica;    /* according to its latest handshake */
    bool     is_resp2;      /* it does not support HELLO: see handshake.c */
    bool     tracks_keys;   /* CLIENT TRACKING is on for this connection */
    int64_t  connection_id; /* 0: unknown */
    int64_t  to_be_killed;  /* id of a lost connection that had requests in flight; 0: none */
} bwl_server_info;

/* The current connection attempt, and the backoff after one that failed. */
typedef struct bwl_session_attempt {
    bwl_fault refusal;   /* an error that needs correction; status 0: none */
    bwl_fault candidate; /* what is wrong with the discovered server; status 0: nothing */
    bwl_ms    until;     /* time limit for discovering another server */
    unsigned  failures;  /* failed attempts in a row */
    bwl_ms    backoff_until;
    bwl_fault broke; /* why the last connection was lost */
} bwl_session_attempt;

enum { BWL_COMMANDS_MAX = 64 }; /* as many as `unknown` has bits */

/* Which scripts the server has. */
typedef struct bwl_script_cache {
    uint64_t unknown;     /* commands whose script may be unknown: bit 1 << command */
    uint64_t sent_at_end; /* while closing: commands whose script's text was sent */
    uint64_t release;     /* number of the connection on which the release script was sent */
    uint64_t shown_hold;  /* the same of queue_show_hold */
    uint64_t text_at[BWL_COMMANDS_MAX]; /* where the text was last sent on this connection; 0 */
} bwl_script_cache;

/* One WATCH, or one WAIT, of the connection at a time. */
typedef struct bwl_session_transaction {
    bwl_engine_lock *owner;    /* WATCH: the lock whose transaction is open; NULL: none */
    unsigned         out;      /* WAIT: requests in flight that share it */
    bwl_pipeline     deferred; /* until the current one has ended */
} bwl_session_transaction;

struct bwl_session {
    bwl_session_link         link; /* first, for its stream */
    bwl_host                *host;
    bwl_redis_config        *config; /* one reference */
    const bwl_session_owner *owner;
    void                    *owner_data;
    bwl_session             *next;   /* the owner's list */
    unsigned                 number; /* the owner's: in a cluster, which node */
    void                    *node;   /* the owner's data about this session; NULL */
    bwl_endpoint             endpoint;
    bwl_session_phase        phase;
    bwl_ms                   phase_began_at;
    bwl_ms                   phase_ends_at; /* unused in READY: requests have deadlines */
    bwl_handshake            handshake;
    bwl_push_channel         push;
    bwl_server_info          server;
    bwl_pipeline             pipeline;
    bwl_script_cache         scripts;
    bwl_session_transaction  watch;   /* see transaction.c */
    bwl_session_transaction  barrier; /* see batch.c */
    bwl_session_attempt      attempt;
    unsigned                 held_back;       /* requests held back since the last write */
    unsigned                 batches_refused; /* in a row, on this connection */
    bool                     reply_is_off;    /* while closing: the server sends no replies */
    bool                     has_replies;     /* while closing: replies are expected */
    bool                     said_goodbye;    /* while closing: everything is sent */
};

/* Takes a reference to the config.  Starts disconnected, without an endpoint.  NULL: out of
 * memory. */
bwl_session *bwl_session_new(bwl_host *host, bwl_redis_config *config,
                             const bwl_session_owner *owner, void *owner_data);
void         bwl_session_free(bwl_session *session); /* also NULL */

/* Sets the server's address, and forgets what was known of a server before; the session must not be
 * connected.  NOMEM. */
int bwl_session_set_endpoint(bwl_session *session, const char *host, uint16_t port);

/* The result of a discovery: an address, which may have changed; or an error. */
void bwl_session_found(bwl_session *session, const bwl_endpoint *endpoint);
void bwl_session_not_found(bwl_session *session, const bwl_fault *fault);

/* Whether the protocol of the client uses pushes; and whether it takes locks with it. */
static inline bool bwl_host_has_queue(const bwl_host *host)
{
    const bwl_protocol *chosen = host->settings.protocol;

    return (chosen != NULL ? chosen : host->engine->protocol)->uses_push;
}

static inline bool bwl_session_uses_push(const bwl_session *session)
{
    return !session->host->takes_no_locks && bwl_host_has_queue(session->host);
}

/* Whether the last attempt to connect failed. */
bool bwl_session_may_be_dead(const bwl_session *session);

/* Why a request was not sent before the end of a wait. */
void bwl_session_explain_silence(const bwl_session *session, bwl_fault *ret_why);

/* Connects without a request, unless a connection is open or being opened.  False: in backoff. */
bool bwl_session_open(bwl_session *session);

/* The server may have closed an idle connection: a request sent on it would be uncertain.  Breaks
 * it then.  A submit begins with this. */
void bwl_session_check_for_end(bwl_session *session);

/* Submits a request, and connects if necessary.  False: out of memory. */
bool bwl_session_submit(bwl_session *session, const bwl_request *request);

/* Sends what was held back. */
void bwl_session_flush(bwl_session *session);

/* Whether this request of the latest command of the lock's machine was not written. */
bool bwl_session_may_withdraw(const bwl_request *request, const bwl_engine_lock *lock);

/* Removes unwritten requests of the latest command of the lock's machine, at most `max`.  Returns
 * their number. */
unsigned bwl_session_withdraw(bwl_session *session, const bwl_engine_lock *lock,
                              bwl_request *ret_requests, unsigned max);

/* When bwl_session_woken is due; BWL_NEVER: no deadline.  Call that also after a lookup. */
bwl_ms bwl_session_deadline(const bwl_session *session);
void   bwl_session_woken(bwl_session *session);

/* Blocks on the socket until the next reply, see bwl_engine.await. */
bool bwl_session_await(bwl_session *session, bwl_ms until);

/* Closes the connection and completes all requests.  `refused`: a new connection would fail the
 * same way. */
void bwl_session_break(bwl_session *session, const bwl_fault *fault, bool refused);

/* The client closes: sends goodbye without blocking.  Call finish until it returns true, or for
 * patience_ms.  If a reply has been missing for that long, the server is not waited for. */
void bwl_session_say_goodbye(bwl_session *session, bwl_ms patience_ms);
bool bwl_session_finish_goodbye(bwl_session *session); /* true: done */

/* The server's error as text for users; only its code if it repeats a part of the password. */
void bwl_session_error_text(const bwl_redis_config *config, char *ret_text, size_t capacity,
                            const char *bytes, size_t size);

/* Sets the lock's error text from the server's error. */
void bwl_session_set_error(bwl_session *session, const bwl_request *request, bwl_answer answer,
                           const char *bytes, size_t size);

/* Whether this reply to HELLO shows that the server does not support it. */
bool bwl_redis_knows_no_hello(const char *bytes, size_t size);

/* The text after `mark`, such as "\nrun_id:", in the reply to INFO, up to the end of its line.
 * NULL: it is missing. */
const char *bwl_redis_info_field(const char *info, size_t size, const char *mark, size_t *ret_size);

/* Writes `size` characters made from 128 random bits.  False: no random bits. */
bool bwl_redis_draw(bwl_session *session, char *ret_text, size_t size);
