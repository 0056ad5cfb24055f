/*
 * queue.h -- the words of protocol/store/queue.h as commands; answers and pushes as what they say.
 * Pure.
 *
 * docs/wire.md has the keys, the values and the messages in full.  Beside the lock's key L there is
 * its queue, L:bwl.q, the beats of those who wait, L:bwl.b, and for all locks of a database, or in
 * a cluster of a slot, the count of fences.  If L has no hash tag (a template without braces),
 * these have L as theirs: {L}:bwl.q.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_QUEUE_H
#define BWL_ENGINE_REDIS_WIRE_QUEUE_H

#include "engine/redis/wire/key.h"
#include "engine/redis/wire/resp.h"
#include "engine/redis/wire/commands.h"

#define BWL_QUEUE_FENCES_KEY "bowline:f"
#define BWL_QUEUE_LINE       ":bwl.q"       /* behind the key of a lock: its queue                */
#define BWL_QUEUE_HEARTBEATS ":bwl.b"       /* the same: when its waiters were last heard of */
#define BWL_QUEUE_WHO        "bowline:who:" /* and the session                                 */
#define BWL_QUEUE_CHANNEL    "bowline:i:"   /* and 22 characters: the name of an inbox */

enum {
    BWL_QUEUE_VERSION      = 1,  /* "b1:", before every value                                   */
    BWL_QUEUE_BITS_SIZE    = 22, /* characters of 128 random bits                               */
    BWL_QUEUE_SESSION_SIZE = 9,  /* of 54: it means somebody, and protects nothing              */
    BWL_QUEUE_TOKEN_SIZE   = 16, /* of 96: so much of a token is in a value                     */
    BWL_QUEUE_CHANNEL_SIZE = sizeof BWL_QUEUE_CHANNEL - 1 + BWL_QUEUE_BITS_SIZE,
    BWL_QUEUE_VALUE_SIZE   = 3 + BWL_QUEUE_SESSION_SIZE + BWL_QUEUE_TOKEN_SIZE,
    BWL_QUEUE_TAG_MAX      = 8, /* "{109757}", which lies in the slot of a cluster              */
    BWL_QUEUE_CHANNEL_MAX  = BWL_QUEUE_CHANNEL_SIZE + 1 + BWL_QUEUE_TAG_MAX,
    BWL_QUEUE_NONCE_MAX    = 40,
    BWL_QUEUE_KEY_MAX      = BWL_KEY_MAX + 16,
    BWL_QUEUE_CHANNELS     = 3, /* through which we may be reached, as far as the queue knows */
};

/* So many are kept in one piece of 48 bytes, and one more is not: docs/design/bytes.md. */
_Static_assert((int)BWL_QUEUE_VALUE_SIZE == 28, "3 for the version, and 25");

/* Counts of the server are below: it computes in floating point. */
#define BWL_QUEUE_COUNT_MAX (INT64_C(1) << 53)

/* A fence is such a count times this: what lies between is for turns taken without the server. */
#define BWL_QUEUE_HANDOFFS 1024u

/* Who asks, beside what the question says.  The inboxes: of the connection that this is written to;
 * and those by which we may stand in the queue still, "" for none. */
struct bwl_queue_self {
    bool     uses_sharded_pubsub; /* SPUBLISH; else PUBLISH */
    bool     is_patient; /* the slot may have just come to its node: in small letters         */
    uint32_t slot;       /* the nonce ...                                                     */
    uint64_t generation; /* ... in two parts                                                  */
    bwl_ms   provisional_ttl_ms;
    uint32_t queue_max; /* JOIN: how many may wait at most; 0: any number                    */
    char     session[BWL_QUEUE_SESSION_SIZE + 1];
    char     tag[BWL_QUEUE_TAG_MAX + 1]; /* of the lock's slot; "": there are none              */
    char     push_channels[BWL_QUEUE_CHANNELS][BWL_QUEUE_CHANNEL_MAX + 1];
};

bool bwl_queue_is(bwl_redis_command command);

/* The room that such a command takes, at most. */
size_t bwl_queue_size_max(size_t key_size);

void bwl_queue_write(bwl_resp_writer *writer, const bwl_redis_command_args *args);

bwl_redis_verdict bwl_queue_read(const bwl_redis_command_args *args, const char *bytes, size_t size,
                                 bwl_redis_reply *ret_reply);

/* The value of L that a token makes, with a NUL; of a longer token, its beginning. */
void bwl_queue_value_write(char ret_value[BWL_QUEUE_VALUE_SIZE + 1], const char *session,
                           const char *token);

/* As bwl_redis_write_holder_query, and who the session of the value is; read by
 * bwl_redis_read_holder_query. */
void bwl_queue_write_holder_query(bwl_resp_writer *writer, const char *key, size_t key_size,
                                  const char *tag, bool use_eval);

/* Does somebody of this protocol seem to have written it?  And is it, to the letter, a session and
 * a token? */
bool bwl_queue_is_value(const char *text);
bool bwl_queue_is_whole_value(const char *bytes, size_t size);

/* Of which version of this protocol, this one or another, a value says that it is ("b2:" says 2);
 * 0: of none. */
unsigned bwl_queue_version(const char *text);

/* ---- greeting -------------------------------------------------------------------------------- */

/* Who a session is, for people.  Borrowed. */
typedef struct bwl_queue_client_info {
    const char *session;
    char        tag[BWL_QUEUE_TAG_MAX + 1]; /* as of bwl_queue_self                              */
    int64_t     uid;
    int64_t     pid;
    bwl_ms      kept_ms;
    char        host[BWL_HOLDER_REPLY_TEXT_MAX];
    char        program[BWL_HOLDER_REPLY_TEXT_MAX];
} bwl_queue_client_info;

enum { BWL_QUEUE_SCRIPTS = 8, BWL_QUEUE_HANDSHAKE_SIZE_MAX = 3072, BWL_QUEUE_LOAD_SIZE_MAX = 4096 };

/* (S)SUBSCRIBE inbox, answered by a push; (S)PUBLISH inbox H, by a number and a push. */
void bwl_queue_write_channel(bwl_resp_writer *writer, bool by_shard, const char *push_channel);

/* SCRIPT EXISTS, of each of them, answered by an array of 0 and 1; and what sees to it that fences
 * are above the server's time from now on, and says who we are, answered by 1. */
void bwl_queue_write_scripts(bwl_resp_writer *writer);
void bwl_queue_write_fence_minimum(bwl_resp_writer *writer, const bwl_queue_client_info *info);

/* Which are not there: 1 << i.  False: that is no answer to it. */
bool bwl_queue_read_scripts(const char *bytes, size_t size, unsigned *ret_missing);

void bwl_queue_write_load(bwl_resp_writer *writer, unsigned nth);

/* A note beside what a session says of itself: its hold by this token was ended by `who`.  Expires
 * with the rest; nothing is written where the session says nothing.  Answered by one frame. */
void bwl_queue_write_broken(bwl_resp_writer *writer, const char *tag, const char *session,
                            const char *token, const char *who);

/* Asks for that note, of one's own hold.  Answered by a text, or by nothing. */
void bwl_queue_write_ask_broken(bwl_resp_writer *writer, const char *tag, const char *session,
                                const char *token);

enum { BWL_QUEUE_BROKEN_SIZE_MAX = 640 }; /* for one of them */

/* Nobody wants to know any more who this session was. */
void bwl_queue_write_leave(bwl_resp_writer *writer, const char *tag, const char *session);

/* ---- pushes ---------------------------------------------------------------------------------- */

typedef enum bwl_queue_push_kind {
    BWL_PUSH_OTHER = 1, /* none of ours                                                        */
    BWL_PUSH_SUBSCRIBED,
    BWL_PUSH_UNSUBSCRIBED, /* nobody asked for that: the slot has gone elsewhere                */
    BWL_PUSH_HELLO, /* what we have said ourselves                                             */
    BWL_PUSH_GRANT,
} bwl_queue_push_kind;

typedef struct bwl_queue_push {
    bwl_queue_push_kind kind;
    uint32_t            slot; /* GRANT: of the nonce; and the rest of it                        */
    uint64_t            generation;
    uint64_t            fence;
    int64_t             server_us;
    bwl_bytes           tag; /* what was behind the inbox; its size is 0: nothing              */
} bwl_queue_push;

/* What a push says that came through this inbox, or through one that is this, a colon and a tag. */
bwl_queue_push bwl_queue_read_push(const char *push_channel, const char *bytes, size_t size);

#endif
