/*
 * commands.h -- writes the commands of protocol/store/redis.h, and reads their replies.  No I/O.
 */
#pragma once

#include "protocol/format/compat_rules.h"
#include "core/status.h"
#include "engine/redis/wire/resp.h"
#include "protocol/store/queue.h"
#include "protocol/store/redis.h"

typedef struct bwl_queue_self bwl_queue_self; /* engine/redis/wire/queue.h */

/* How DELETE_IF_MINE also wakes the waiters of another program. */
typedef enum bwl_signal_kind {
    BWL_SIGNAL_NONE = 0,
    BWL_SIGNAL_LIST,    /* DEL list; LPUSH list 1; PEXPIRE list 1000 */
    BWL_SIGNAL_EVENT,   /* LPUSH list 1; LTRIM list 0 0 */
    BWL_SIGNAL_CHANNEL, /* PUBLISH channel key; also to a second channel if there is one */
} bwl_signal_kind;

/* The names of a list or a channel, and of a second channel (size 0: none).  Borrowed. */
typedef struct bwl_signal {
    bwl_signal_kind kind;
    bwl_bytes       names[2];
} bwl_signal;

/* Redisson's channel and counter of a key follow: with {} around a key that has no `{`. */
#define BWL_HASH_LOCK_CHANNEL "redisson_lock__channel:" /* a release publishes 0 on it */
#define BWL_HASH_LOCK_COUNTER "redisson_lock_token:"    /* the counter of RFencedLock */

/* The arguments of a command.  Borrowed. */
typedef struct bwl_redis_command_args {
    bwl_redis_command command;
    bool              use_eval; /* send the text of the script: the server may not know its SHA-1 */
    const char       *key;
    size_t            key_size;
    const char       *token;
    const char       *previous_token; /* of QUEUE_REQUEUE; of SHARE_UPGRADE, the new one */
    const char       *previous_value; /* of REDIS_ADOPT */
    bool              is_of_cluster;  /* the server is a node of a cluster */
    const char       *value;          /* this value; NULL: the value of token and rules */
    size_t            value_size;
    bwl_ms            lease_ms; /* REPLICATED: the time limit of the server */
    int64_t
        number; /* the timestamp; QUEUE_JOIN: the ticket; QUEUE_HEARTBEAT: likewise, or 0 so that
                     * it renews the expiry of the queue; QUEUE_REST: what is left of it in ms;
                     * SHARE_EXTEND: the fence; REPLICATED: how many replicas */
    const bwl_compat_rules *rules;  /* NULL: the token is the value */
    bwl_signal              signal; /* DELETE_IF_MINE: what the release publishes */
    const bwl_queue_self   *self;   /* for the commands of protocol/store/queue.h */
    bwl_share               share;  /* for those that share */
    bool                    moving; /* SHARE_EXTEND: its slot moves: name the lock alone as a key */
    const char             *who;    /* QUEUE_REST: the user and the host */
} bwl_redis_command_args;

/* Bytes of the command, at most. */
size_t bwl_redis_size_max(bwl_redis_command command, size_t key_size);

void bwl_redis_write(bwl_resp_writer *writer, const bwl_redis_command_args *args);

/* Frames of its reply. */
unsigned bwl_redis_frames(bwl_redis_command command);

/* True if the reply may be a value of any length.  A value too long for a frame is foreign. */
bool bwl_redis_shows_value(bwl_redis_command command);

/* HELLO 3, with AUTH unless password is NULL.  user may be NULL. */
void bwl_redis_write_hello(bwl_resp_writer *writer, const char *user, const char *password);

struct bwl_script; /* engine/redis/wire/scripts.h, which is generated */

/* The beginning of a script's command: `arguments` items follow, that many keys first. */
void bwl_redis_write_script(bwl_resp_writer *writer, const struct bwl_script *script, bool use_eval,
                            unsigned keys, unsigned arguments);

/* The value of these arguments. */
void bwl_redis_write_value(bwl_resp_writer *writer, const bwl_redis_command_args *args);

typedef enum bwl_redis_verdict {
    BWL_REDIS_ANSWER = 1,
    BWL_REDIS_NOSCRIPT, /* not carried out: send the text of the script */
    BWL_REDIS_STRANGE,  /* no possible reply to this command: close the connection */
} bwl_redis_verdict;

/* See bwl_event in core/core.h. */
typedef struct bwl_redis_reply {
    bwl_answer       answer;
    bowline_loss     loss; /* of NO */
    uint64_t         number;
    bwl_redis_value  value;        /* YES that shows a value */
    bwl_queue_status queue_status; /* kind 0: none */
} bwl_redis_reply;

/* Reads the nth frame (from 0) of the reply.  Accepts only the replies that the command can have.
 * YES for a frame before the last: it is as expected. */
bwl_redis_verdict bwl_redis_read(const bwl_redis_command_args *args, unsigned nth,
                                 const char *bytes, size_t size, bwl_redis_reply *ret_reply);

/* The verdict about a reply that is an error: RETRYABLE or REFUSED, or NOSCRIPT. */
bwl_redis_verdict bwl_redis_read_error(const char *bytes, size_t size, bwl_answer *ret_answer);

/* Writes the query for the holder of a lock; its script depends on the protocol.  tag: that of the
 * client info's keys, "" without one. */
void bwl_redis_write_holder_query(bwl_resp_writer *writer, const struct bwl_script *script,
                                  bwl_bytes key, const char *tag, bool use_eval);

/* Bytes that are read: of the value, one more than any value of bowline has; of a text. */
enum { BWL_HOLDER_REPLY_VALUE_MAX = BWL_VALUE_MAX + 1, BWL_HOLDER_REPLY_TEXT_MAX = 64 };

typedef struct bwl_holder_reply {
    char    kind[16]; /* "none", "string", "list" ... */
    int64_t left_ms;  /* -1: no expiry, -2: no key */
    size_t  value_size;
    char    value[BWL_HOLDER_REPLY_VALUE_MAX + 1];

    /* With protocol queue; 0 and "": not known. */
    int64_t uid;
    int64_t pid;
    char    host[BWL_HOLDER_REPLY_TEXT_MAX];
    char    program[BWL_HOLDER_REPLY_TEXT_MAX];

    uint32_t waiting;  /* in the queue behind the holder */
    int64_t  since_ms; /* these three: what the holder has published of its hold */
    uint64_t fence;
    int64_t  command_pid;

    uint32_t sharers; /* of a lock that clients share; else 0 */
    uint32_t permits;
    uint32_t limit; /* of the permits, as the holder has published it; 0: none, or not known */
} bwl_holder_reply;

/* The next four items of a reply: uid, pid, host, program.  A text that is too long counts as
 * missing.  False: malformed. */
bool bwl_redis_read_client_info(bwl_resp_cursor *cursor, bwl_holder_reply *ret_holder);

bwl_redis_verdict bwl_redis_read_holder_query(const char *bytes, size_t size,
                                              bwl_answer *ret_answer, bwl_holder_reply *ret_holder);

/* The query for all who hold a lock: scripts/queue_holders.lua.  A page of the reply. */
typedef struct bwl_holders_page {
    bwl_holder_reply lock;    /* its kind, expiry and value, and how many wait */
    uint64_t         score;   /* where the next page begins, with `skipped`; both 0: at the end */
    uint64_t         skipped; /* members of that score */
    size_t           count;   /* of the holds on this page */
    bwl_resp_cursor  rows;
} bwl_holders_page;

enum { BWL_HOLDERS_PAGE_MAX = 64 };

/* write: the page that begins at `from`, whose score and `skipped` are read.  read: the page, and
 * then each hold of it; false: malformed. */
void              bwl_redis_write_holders(bwl_resp_writer *writer, bwl_bytes key, const char *tag,
                                          const bwl_holders_page *from, bool use_eval);
bwl_redis_verdict bwl_redis_read_holders(const char *bytes, size_t size, bwl_answer *ret_answer,
                                         bwl_holders_page *ret_page);
bool              bwl_redis_next_holder(bwl_holders_page *page, bwl_holder_reply *ret_holder);

/* ---- batches */

/* Many commands as one call of a script, with one reply for each: extensions, TAKE, heartbeats.
 * Each has the meaning of protocol/store/redis.h and protocol/store/queue.h, all of them at the
 * same time.  An error of one is the reply to that one, or it has to be sent alone; if the whole
 * call fails, none was carried out.
 *
 * MAX: a server does nothing else during the call, and a larger batch is not cheaper for each.
 * min: a smaller batch costs as much as single commands.  See docs/design/renewals.md and
 * several-names.md. */
enum { BWL_BATCH_MAX = 32 };
size_t bwl_batch_min(bwl_redis_command command);

/* True for a command that can be in a batch.  number: as in bwl_redis_command_args. */
bool bwl_batch_takes(bwl_redis_command command, int64_t number);

/* Bytes of the command, at most.  keys_size: of the keys of all locks together. */
size_t bwl_batch_size_max(bwl_redis_command command, unsigned count, size_t keys_size);

/* write: the beginning of the command, from `command` and `use_eval`; of TAKE, also from `self`.
 * The keys of each follow, the arguments of each, and the common lease, except of heartbeats. */
void bwl_batch_write(bwl_resp_writer *writer, const bwl_redis_command_args *args, unsigned count);
void bwl_batch_write_keys(bwl_resp_writer *writer, const bwl_redis_command_args *args);
void bwl_batch_write_arguments(bwl_resp_writer *writer, const bwl_redis_command_args *args);

typedef enum bwl_batch_verdict {
    BWL_BATCH_EACH = 1,  /* each has its reply */
    BWL_BATCH_RETRYABLE, /* the server cannot serve now: none was carried out */
    BWL_BATCH_ALONE,     /* the whole call was refused: send each alone */
    BWL_BATCH_ELSEWHERE, /* a cluster moves or has moved the slot: likewise */
    BWL_BATCH_NOSCRIPT,  /* as BWL_REDIS_NOSCRIPT */
    BWL_BATCH_STRANGE,   /* as BWL_REDIS_STRANGE */
} bwl_batch_verdict;

/* YES or NO for each; 0: send this one alone.  Of TAKE and heartbeats, the status of each; of TAKE,
 * the fence of each YES. */
typedef struct bwl_batch_reply {
    bwl_answer       answers[BWL_BATCH_MAX];
    bwl_queue_status statuses[BWL_BATCH_MAX];
    uint64_t         fences[BWL_BATCH_MAX];
} bwl_batch_reply;

/* Reads the frame that replies to a batch of `count`.  Writes the reply if the verdict is EACH. */
bwl_batch_verdict bwl_batch_read(bwl_redis_command command, unsigned count, const char *bytes,
                                 size_t size, bwl_batch_reply *ret_reply);

/* ---- errors.c */

/* If the frame is an error: its text as printable characters with a NUL.  It lacks the arguments
 * that the server quotes, which may contain a token or a password, and what Redis before 7 puts
 * before the error of a script.  "" otherwise. */
void bwl_redis_error_text(char *ret_text, size_t capacity, const char *bytes, size_t size);

/* The code in such a text: its first word if that is in capitals.  "": none. */
void bwl_redis_error_code(char ret_code[BOWLINE_SERVER_CODE_MAX], const char *text);

/* True if the frame is an error ... whose code means that the server cannot serve now (is_not_now)
 * ... that has this code (error_is). */
bool bwl_redis_is_error(const char *bytes, size_t size);
bool bwl_redis_is_not_now(const char *bytes, size_t size);
bool bwl_redis_error_is(const char *bytes, size_t size, const char *code);
