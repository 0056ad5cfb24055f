/*
 * transaction.h -- the commands that MULTI has queued.
 */
#pragma once

#include "sim/redis/core/command.h"

typedef struct model_queued {
    const model_command *command;
    model_text          *argv; /* one piece of memory with the texts */
    size_t               argc;
} model_queued;

typedef struct model_transaction {
    model_queued *commands;
    size_t        count;
    size_t        room;
    unsigned      flags; /* of the commands, together */
    bool          is_open;
    bool          has_failed; /* a command was not accepted */
} model_transaction;

/* Copies the command.  A transaction that has failed keeps none. */
void model_transaction_queue(model_transaction *transaction, const model_command *command,
                             const model_text *argv, size_t argc);
/* No transaction is open. */
void model_transaction_clear(model_transaction *transaction);
void model_transaction_free(model_transaction *transaction);
