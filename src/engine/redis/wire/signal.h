/*
 * signal.h -- a release that also wakes the waiters of another program.  No I/O.
 *
 * It is DELETE_IF_MINE of protocol/store/redis.h, with the same replies, and it signals the
 * waiters.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_SIGNAL_H
#define BWL_ENGINE_REDIS_WIRE_SIGNAL_H

#include "core/core.h"
#include "engine/redis/wire/resp.h"

typedef enum bwl_signal_kind {
    BWL_SIGNAL_NONE = 0,
    BWL_SIGNAL_LIST,    /* DEL list; LPUSH list 1; PEXPIRE list 1000 */
    BWL_SIGNAL_EVENT,   /* LPUSH list 1; LTRIM list 0 0 */
    BWL_SIGNAL_CHANNEL, /* PUBLISH channel key; also to a second channel if there is one */
} bwl_signal_kind;

/* The name of a list or a channel, and of a second channel.  Borrowed. */
typedef struct bwl_signal {
    bwl_signal_kind kind;
    const char     *name;
    size_t          size;
    const char     *second;
    size_t          second_size; /* 0: no second channel */
} bwl_signal;

typedef struct bwl_bytes {
    const char *at;
    size_t      size;
} bwl_bytes;

/* Writes the command that deletes the key if it has this value, and sends the signal. */
void bwl_signal_write(bwl_resp_writer *writer, const bwl_signal *signal, bool use_eval,
                      bwl_bytes key, bwl_bytes value);

#endif
