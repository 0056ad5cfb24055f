/*
 * commands.h -- the words of protocol/store/redis.h as commands, and replies as answers.  Pure.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_COMMANDS_H
#define BWL_ENGINE_REDIS_WIRE_COMMANDS_H

#include "core/compat_rules.h"
#include "core/status.h"
#include "engine/redis/wire/resp.h"
#include "engine/redis/wire/signal.h"
#include "protocol/store/queue.h"
#include "protocol/store/redis.h"

typedef struct bwl_queue_self bwl_queue_self; /* engine/redis/wire/queue.h */

/* Everything that a word needs.  Borrowed. */
typedef struct bwl_redis_command_args {
    bwl_redis_command command;
    bool        use_eval; /* the whole script, because the server does not know its SHA-1     */
    const char *key;
    size_t      key_size;
    const char *token;
    const char *previous_token; /* of REDIS_QUEUE_REQUEUE */
    bool        is_of_cluster;  /* the server is one of several that share the keys             */
    const char *value; /* exactly this, whatever token and rules would make; NULL: what they do */
    size_t      value_size;
    bwl_ms      lease_ms;
    int64_t     timestamp;
    const bwl_compat_rules *rules; /* NULL: the token is the value */
    bwl_signal signal; /* DELETE_IF_MINE: who is to be woken                              */
    const bwl_queue_self
        *self; /* of the words of protocol/store/queue.h: who asks                     */
} bwl_redis_command_args;

/* The room that the command takes, at most. */
size_t bwl_redis_size_max(bwl_redis_command command, size_t key_size);

void bwl_redis_write(bwl_resp_writer *writer, const bwl_redis_command_args *args);

/* How many frames answer it. */
unsigned bwl_redis_frames(bwl_redis_command command);

/* May the answer be a value of any length?  Beyond what a frame can hold it is a stranger's. */
bool bwl_redis_shows_value(bwl_redis_command command);

/* Beside the protocols: who holds the key?  Answered by bwl_redis_read_holder_query. */
void bwl_redis_write_holder_query(bwl_resp_writer *writer, const char *key, size_t key_size,
                                  bool use_eval);

typedef enum bwl_redis_verdict {
    BWL_REDIS_ANSWER = 1,
    BWL_REDIS_NOSCRIPT, /* not carried out: ask again by text                                  */
    BWL_REDIS_STRANGE,  /* nothing that a server answers to this: whose reply is it?           */
} bwl_redis_verdict;

/* See bwl_event in core/core.h. */
typedef struct bwl_redis_reply {
    bwl_answer       answer;
    uint64_t         number;
    bwl_redis_value  value;        /* YES that shows a value */
    bwl_queue_status queue_status; /* kind 0: none */
} bwl_redis_reply;

/* What a whole frame, the nth (from 0) that answers the question, says to it.  Accepts exactly the
 * expected reply.  YES of a frame that is not the last: as it should be. */
bwl_redis_verdict bwl_redis_read(const bwl_redis_command_args *args, unsigned nth,
                                 const char *bytes, size_t size, bwl_redis_reply *ret_reply);

/* Bytes that are looked at: of the value, one more than any of ours has; of a text. */
enum { BWL_HOLDER_REPLY_VALUE_MAX = BWL_VALUE_MAX + 1, BWL_HOLDER_REPLY_TEXT_MAX = 64 };

typedef struct bwl_holder_reply {
    char    kind[16]; /* "none", "string", "list" ...                                          */
    int64_t left_ms;  /* -1: for ever, -2: no key                                              */
    size_t  value_size;
    char    value[BWL_HOLDER_REPLY_VALUE_MAX + 1];

    /* Where bwl_queue_write_holder_query has asked; 0 and "": it is not said. */
    int64_t uid;
    int64_t pid;
    char    host[BWL_HOLDER_REPLY_TEXT_MAX];
    char    program[BWL_HOLDER_REPLY_TEXT_MAX];
} bwl_holder_reply;

bwl_redis_verdict bwl_redis_read_holder_query(const char *bytes, size_t size,
                                              bwl_answer *ret_answer, bwl_holder_reply *ret_holder);

/* If the frame is an error: its text, without what the server quotes of our command (that may
 * hold a token or a password), as a NUL-terminated text of printable characters.  "" otherwise. */
void bwl_redis_error_text(char *ret_text, size_t capacity, const char *bytes, size_t size);

/* The code in such a text: its first word if that is in capitals, or the code of the error that the
 * server quotes behind ERR (Redis before 7, from a script).  "" if there is none. */
void bwl_redis_error_code(char ret_code[BOWLINE_SERVER_CODE_MAX], const char *text);

/* Is it an error, and does its code say that the server cannot serve for now? */
bool bwl_redis_is_error(const char *bytes, size_t size);
bool bwl_redis_is_not_now(const char *bytes, size_t size);
bool bwl_redis_error_is(const char *bytes, size_t size, const char *code);

#endif
