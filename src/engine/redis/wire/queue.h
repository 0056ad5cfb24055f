/*
 * queue.h -- writes the commands of protocol/store/queue.h, and reads their replies and pushes.
 * No I/O.
 *
 * docs/reference/wire.md has all keys, values and messages.  Beside the key L of the lock there are
 * its queue, L:bwl.q, the heartbeats of its waiters, L:bwl.b, who shares it, L:bwl.h, what its
 * holder announces, L:bwl.v (election.h), and one counter of fences for all locks of a database, or
 * of a slot of a cluster.  If L has no hash tag (a template without braces), L is the hash tag of
 * these keys: {L}:bwl.q.
 */
#pragma once

#include "engine/redis/wire/commands.h"
#include "engine/redis/wire/key.h"

#define BWL_QUEUE_FENCES_KEY   "bowline:f"
#define BWL_QUEUE_WAITERS      ":bwl.q"       /* appended to the key of a lock: its queue */
#define BWL_QUEUE_HEARTBEATS   ":bwl.b"       /* appended to it: the heartbeats of its waiters */
#define BWL_QUEUE_SHARERS      ":bwl.h"       /* appended to it: who shares it */
#define BWL_QUEUE_ANNOUNCEMENT ":bwl.v"       /* appended to it: what its holder announces */
#define BWL_QUEUE_WHO          "bowline:who:" /* a session follows: its client info */
#define BWL_QUEUE_CHANNEL      "bowline:i:"   /* 22 characters follow: a push channel */

enum {
    BWL_QUEUE_VERSION      = 1,  /* "b1:", before every value */
    BWL_QUEUE_BITS_SIZE    = 22, /* characters of 128 random bits */
    BWL_QUEUE_SESSION_SIZE = 9,  /* of 54 bits: identifies a client, and is not a secret */
    BWL_QUEUE_TOKEN_SIZE   = 16, /* of 96 bits: this much of a token is in a value */
    BWL_QUEUE_CHANNEL_SIZE = sizeof BWL_QUEUE_CHANNEL - 1 + BWL_QUEUE_BITS_SIZE,
    BWL_QUEUE_VALUE_SIZE   = 3 + BWL_QUEUE_SESSION_SIZE + BWL_QUEUE_TOKEN_SIZE,
    BWL_QUEUE_TAG_MAX      = 8, /* "{109757}", a hash tag of the slot */
    BWL_QUEUE_CHANNEL_MAX  = BWL_QUEUE_CHANNEL_SIZE + 1 + BWL_QUEUE_TAG_MAX,
    BWL_QUEUE_NONCE_MAX    = 40,
    BWL_QUEUE_CHANNELS     = 3, /* push channels that a queue entry may have */
    BWL_QUEUE_MEMBER_MAX =
        BWL_QUEUE_VALUE_SIZE + BWL_QUEUE_NONCE_MAX + BWL_QUEUE_CHANNEL_MAX + 24, /* an entry */
};

/* Redis keeps 28 bytes in one allocation of 48, and 29 in a larger one: docs/design/bytes.md. */
_Static_assert((int)BWL_QUEUE_VALUE_SIZE == 28, "3 for the version, and 25");

/* Counters of the server are below this: Lua computes in floating point. */
#define BWL_QUEUE_COUNT_MAX (INT64_C(1) << 53)

/* A fence is a counter times this.  The numbers between are for handoffs without the server. */
#define BWL_QUEUE_HANDOFFS 1024u

/* The waiter.  push_channels[0] is that of the connection on which the command is sent; the others
 * are those that its entry in the queue may still have; "": none. */
struct bwl_queue_self {
    bool     uses_sharded_pubsub; /* SPUBLISH; else PUBLISH */
    bool     is_patient; /* the slot may have just moved to this node: no waiter counts as dead */
    uint32_t slot;       /* with generation: the nonce */
    uint64_t generation;
    bwl_ms   provisional_ttl_ms;
    uint32_t queue_max; /* JOIN: the longest queue; 0: no limit */
    char     session[BWL_QUEUE_SESSION_SIZE + 1];
    char     tag[BWL_QUEUE_TAG_MAX + 1]; /* of the lock's slot; "": no cluster */
    char     push_channels[BWL_QUEUE_CHANNELS][BWL_QUEUE_CHANNEL_MAX + 1];
};

/* A key, as text: the counter of fences; the client info of a session ("": the beginning of all
 * these keys).  tag: of the slot; "": no cluster. */
typedef struct bwl_queue_key {
    char text[sizeof BWL_QUEUE_WHO + BWL_QUEUE_TAG_MAX + 1 + BWL_QUEUE_SESSION_SIZE];
} bwl_queue_key;

bwl_queue_key bwl_queue_fences_key(const char *tag);
bwl_queue_key bwl_queue_who_key(const char *tag, const char *session);

/* The keys of a command, with their number: L, Q, B and F; and H behind them.  L, Q and B without a
 * number. */
void bwl_queue_write_keys(bwl_resp_writer *writer, const bwl_redis_command_args *args);
void bwl_queue_write_sharing_keys(bwl_resp_writer *writer, const bwl_redis_command_args *args);
void bwl_queue_write_keys_of_lock(bwl_resp_writer *writer, const bwl_redis_command_args *args);

/* H alone. */
void bwl_queue_write_sharers_key(bwl_resp_writer *writer, const bwl_redis_command_args *args);

/* The key of the queue of a lock.  Returns its size. */
size_t bwl_queue_waiters_key(char ret_key[BWL_KEY_BESIDE_MAX], const char *key, size_t key_size);

/* The command that publishes.  In lower case, the script counts no waiter as dead: see
 * queue_serve.lua. */
void bwl_queue_write_publish(bwl_resp_writer *writer, const bwl_queue_self *self);

/* Our entry in the queue.  And all that we may have there: one for each push channel; returns their
 * number.  writer NULL: writes nothing. */
void     bwl_queue_write_member(bwl_resp_writer *writer, const bwl_redis_command_args *args);
unsigned bwl_queue_write_members(bwl_resp_writer *writer, const bwl_redis_command_args *args);

/* Reads a reply that is not an error; the cursor is after its first value. */
bwl_redis_verdict bwl_queue_read(bwl_redis_command command, bwl_resp_cursor *cursor,
                                 const bwl_resp_value *value, bwl_redis_reply *ret_reply);

/* Writes the value with this session and token, and a NUL.  Uses the first BWL_QUEUE_TOKEN_SIZE
 * characters of the token. */
void bwl_queue_value_write(char ret_value[BWL_QUEUE_VALUE_SIZE + 1], const char *session,
                           const char *token);

/* is_value: the text has the beginning of a value of this protocol.  is_whole_value: it is exactly
 * a session and a token. */
bool bwl_queue_is_value(const char *text);
bool bwl_queue_is_whole_value(const char *bytes, size_t size);

/* A rest: "b1:=", what follows "b1:" in the value of its holder, the ms that were left when it
 * began, and the user and host of the holder. */
enum { BWL_REST_WHO_MAX = 110 };

typedef struct bwl_queue_rest {
    bwl_ms      began_with_ms;
    const char *user; /* user_size bytes, in the text that was read */
    size_t      user_size;
    const char *host; /* ends in NUL */
} bwl_queue_rest;

/* Reads a rest.  False: the text is none. */
bool bwl_queue_read_rest(bwl_queue_rest *ret_rest, const char *text);

/* The protocol version in a value, this one or another ("b2:" is 2); 0: none. */
unsigned bwl_queue_version(const char *text);

/* ---- handshake ------------------------------------------------------------------------------- */

/* The client info: what users see about a session.  Borrowed. */
typedef struct bwl_queue_client_info {
    const char *session;
    char        tag[BWL_QUEUE_TAG_MAX + 1]; /* as in bwl_queue_self */
    int64_t     uid;
    int64_t     pid;
    bwl_ms      kept_ms; /* until it expires */
    char        host[BWL_HOLDER_REPLY_TEXT_MAX];
    char        program[BWL_HOLDER_REPLY_TEXT_MAX];
} bwl_queue_client_info;

enum { BWL_QUEUE_SCRIPTS = 8, BWL_QUEUE_HANDSHAKE_SIZE_MAX = 3072 };

/* (S)SUBSCRIBE channel; its reply is a push.  (S)PUBLISH channel H; its reply is a number, and a
 * push follows. */
void bwl_queue_write_channel(bwl_resp_writer *writer, bool by_shard, const char *push_channel);

/* scripts: SCRIPT EXISTS for each script; the reply is an array of 0 and 1.  fence_minimum: makes
 * all later fences greater than the server's time, and publishes the client info; the reply is
 * 1. */
void bwl_queue_write_scripts(bwl_resp_writer *writer);
void bwl_queue_write_fence_minimum(bwl_resp_writer *writer, const bwl_queue_client_info *info);

/* Reads the reply to SCRIPT EXISTS.  Bit i of *ret_missing: script i is missing.  False:
 * malformed. */
bool bwl_queue_read_scripts(const char *bytes, size_t size, unsigned *ret_missing);

/* SCRIPT LOAD, and how many bytes that takes at most. */
void   bwl_queue_write_load(bwl_resp_writer *writer, unsigned nth);
size_t bwl_queue_load_size_max(unsigned nth);

/* Writes a note into the client info of a session: `who` has force-released the hold with this
 * token. The note expires with the client info; without client info nothing is written.  The reply
 * is one frame. */
void bwl_queue_write_broken(bwl_resp_writer *writer, const char *tag, const char *session,
                            const char *token, const char *who);

/* Reads that note for a hold of this session.  The reply is a text or null. */
void bwl_queue_write_ask_broken(bwl_resp_writer *writer, const char *tag, const char *session,
                                const char *token);

/* The note in that reply, up to a NUL.  size 0: none, or an error. */
bwl_bytes bwl_queue_read_broken(const char *bytes, size_t size);

enum { BWL_QUEUE_BROKEN_SIZE_MAX = 640 }; /* of either command */

/* What people see of a hold. */
typedef struct bwl_queue_shown_hold {
    const char *token;
    bwl_ms      since_ms; /* since the grant */
    uint64_t    fence;
    int64_t     command_pid; /* 0: none */
    uint32_t    limit;       /* of its permits; 0: none */
} bwl_queue_shown_hold;

/* Publishes a hold in the client info of its session, which is written with it; the reply is 1.
 * Deletes that; the reply is a number. */
void bwl_queue_write_hold(bwl_resp_writer *writer, const bwl_queue_client_info *info,
                          const bwl_queue_shown_hold *hold, bool use_eval);
void bwl_queue_write_hold_end(bwl_resp_writer *writer, const char *tag, const char *session,
                              const char *token, uint32_t limit);

enum { BWL_QUEUE_HOLD_SIZE_MAX = 2048 }; /* of either command */

/* ---- pushes ---------------------------------------------------------------------------------- */

typedef enum bwl_queue_push_kind {
    BWL_PUSH_OTHER = 1, /* not of this protocol */
    BWL_PUSH_SUBSCRIBED,
    BWL_PUSH_UNSUBSCRIBED, /* not on request of the client: the slot has moved to another node */
    BWL_PUSH_HELLO,        /* the client's own message of the handshake */
    BWL_PUSH_GRANT,
} bwl_queue_push_kind;

typedef struct bwl_queue_push {
    bwl_queue_push_kind kind;
    uint32_t            slot; /* GRANT: the nonce, with generation */
    uint64_t            generation;
    uint64_t            fence;
    int64_t             server_us;
    bwl_bytes           tag; /* after the channel name; size 0: none */
} bwl_queue_push;

/* Reads a push of this channel, or of the channel with a colon and a tag added. */
bwl_queue_push bwl_queue_read_push(const char *push_channel, const char *bytes, size_t size);
