/*
 * transaction.h -- the commands about a key of the caller on a Redis server, and their meaning:
 * one transaction of an optimistic update.  It needs a connection of its own from the first
 * command to the last.
 *
 *  TRANSACTION_READ    (WATCH, GET, MULTI)   the key is watched from here on
 *                      key is a string         -> returns its bytes                    YES
 *                      no key                  -> returns that there is none           YES
 *                      no string, or longer than a frame can hold -> nothing    FOREIGN_VALUE
 *  TRANSACTION_SET     (SET, EXEC)           the key was touched since READ -> nothing     NO
 *                      otherwise         -> set it to value; its expiry is kept, or
 *                                           removed, or set to lasts_ms from now       YES
 *  TRANSACTION_DELETE  (DEL, EXEC)           the key was touched since READ -> nothing     NO
 *                      otherwise         -> delete it, if it exists                    YES
 *  TRANSACTION_LEAVE   (DISCARD)             nothing; the key is not watched any more      YES
 *
 * "Touched": written, deleted, expired or given another expiry, by any client, also by this one on
 * another connection, and also if the value is the same again.  Each command but READ ends the
 * transaction.
 *
 * RETRYABLE and REFUSED: nothing was carried out.  The state of the connection is not known then,
 * and it must not be used for another transaction.
 *
 * MULTI is sent with the READ.  If it were sent after the value, it would be in one packet with
 * the SET.  A server that refuses MULTI, but not SET, would then carry out the SET at once,
 * watched or not.
 */
#pragma once

#include "core/core.h"

typedef enum bwl_transaction_command {
    TRANSACTION_READ = 1,
    TRANSACTION_SET,
    TRANSACTION_DELETE,
    TRANSACTION_LEAVE,
} bwl_transaction_command;

/* The arguments of a command.  Borrowed. */
typedef struct bwl_transaction_args {
    bwl_transaction_command command;
    const char             *key;
    size_t                  key_size;
    const char             *value; /* SET */
    size_t                  value_size;
    bwl_ms                  lasts_ms; /* SET.  0: keeps the expiry; BWL_NEVER: removes it */
} bwl_transaction_args;

/* One command and its result.  It is sent through a lock that was prepared and is never acquired,
 * on a client without other users (runtime/client.h).  It lives as long as that client, because the
 * caller may leave before the reply.  What `args` borrows must stay valid until the command has
 * ended. */
typedef struct bwl_transaction {
    bwl_transaction_args args;

    /* The result. */
    bwl_event_kind kind;      /* REPLY or DOWN */
    bwl_answer     answer;    /* REPLY */
    bool           is_there;  /* READ, YES: the key exists */
    bool           is_long;   /* READ, FOREIGN_VALUE: a string, but longer than can be read */
    bool           no_memory; /* RETRYABLE, NOT_SENT: this machine has no memory */
    char          *seen;      /* READ, YES: the value and a NUL; allocated; see forget */
    size_t         seen_size;
    size_t         seen_capacity;

    uint64_t opened; /* of the engine: the connection that replied to READ */
} bwl_transaction;
