/*
 * transaction.h -- what we say to a Redis server about a key that is the caller's, and exactly
 * what it means: one section of an optimistic update, which needs a connection of its own from its
 * first word to its last.
 *
 *  TRANSACTION_READ    (WATCH, GET, MULTI)   the key is watched from here on
 *                      key is a string         -> its bytes are shown                  YES
 *                      no key                  -> shown to be absent                   YES
 *                      no string, or longer than a frame can hold -> nothing          FOREIGN_VALUE
 *  TRANSACTION_SET     (SET, EXEC)           the key was touched since READ -> nothing     NO
 *                      otherwise         -> set it to value; its expiry is kept, or
 *                                           taken away, or put at lasts_ms from now    YES
 *  TRANSACTION_DELETE  (DEL, EXEC)           the key was touched since READ -> nothing     NO
 *                      otherwise         -> delete it, if it is there                  YES
 *  TRANSACTION_LEAVE   (DISCARD)             nothing; the key is not watched any more      YES
 *
 * "Touched": written, deleted, expired, given another expiry, by anybody: also by us over another
 * connection, and also if it is as before by now.  Each word but READ ends the section.
 *
 * RETRYABLE and REFUSED mean that nothing was carried out, and that the state of the connection is
 * not known: it must not be used for another section.
 *
 * MULTI goes out with the READ.  Behind the value it would stand in one packet with the SET, and
 * where a server refuses MULTI to us and not SET, that is carried out at once, watched or not.
 */
#ifndef BWL_PROTOCOL_STORE_TRANSACTION_H
#define BWL_PROTOCOL_STORE_TRANSACTION_H

#include "core/core.h"

typedef enum bwl_transaction_command {
    TRANSACTION_READ = 1,
    TRANSACTION_SET,
    TRANSACTION_DELETE,
    TRANSACTION_LEAVE,
} bwl_transaction_command;

/* What a word needs.  Borrowed. */
typedef struct bwl_transaction_args {
    bwl_transaction_command command;
    const char             *key;
    size_t                  key_size;
    const char             *value; /* SET */
    size_t                  value_size;
    bwl_ms lasts_ms; /* SET.  0: the expiry that the key has, or none; NEVER: none    */
} bwl_transaction_args;

/* One word and how it came out.  It is asked through a lock that was prepared and never sought, on
 * a client that nobody else uses (runtime/pool.h), and lives as long as that client: the caller may
 * leave before the answer comes.  What `question` borrows must be there until the word has
 * ended. */
typedef struct bwl_transaction {
    bwl_transaction_args args;

    /* How it came out. */
    bwl_event_kind kind;      /* REPLY or DOWN */
    bwl_answer     answer;    /* REPLY */
    bool           is_there;  /* READ, YES: the key is                                           */
    bool           is_long;   /* READ, FOREIGN_VALUE: a string, but longer than can be read */
    bool           no_memory; /* RETRYABLE, NOT_SENT: on our side */
    char          *seen;      /* READ, YES: the value, and a NUL behind it; see forget           */
    size_t         seen_size;
    size_t         seen_capacity;

    uint64_t opened; /* the engine's: on which connection READ was answered                     */
} bwl_transaction;

#endif
