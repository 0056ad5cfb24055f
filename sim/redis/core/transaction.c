/*
 * transaction.c -- see transaction.h.
 */
#include "sim/redis/core/transaction.h"

#include <stdlib.h>
#include <string.h>

enum { QUEUE_MIN = 4 };

void model_transaction_queue(model_transaction *transaction, const model_command *command,
                             const model_text *argv, size_t argc)
{
    size_t size = argc * sizeof(model_text);

    if (transaction->has_failed)
        return;
    for (size_t i = 0; i < argc; i++)
        size += argv[i].size;
    if (transaction->count == transaction->room) {
        transaction->room = transaction->room == 0 ? QUEUE_MIN : transaction->room * 2;
        transaction->commands =
            model_resize(transaction->commands, transaction->room * sizeof(model_queued));
    }
    model_text *copy = model_allocate(size);
    char       *text = (char *)(copy + argc);
    for (size_t i = 0; i < argc; i++) {
        if (argv[i].size != 0)
            memcpy(text, argv[i].at, argv[i].size);
        copy[i] = (model_text){ text, argv[i].size };
        text += argv[i].size;
    }
    transaction->commands[transaction->count++] = (model_queued){ command, copy, argc };
    transaction->flags |= command->flags;
}

void model_transaction_clear(model_transaction *transaction)
{
    for (size_t i = 0; i < transaction->count; i++)
        free(transaction->commands[i].argv);
    transaction->count      = 0;
    transaction->flags      = 0;
    transaction->is_open    = false;
    transaction->has_failed = false;
}

void model_transaction_free(model_transaction *transaction)
{
    model_transaction_clear(transaction);
    free(transaction->commands);
}
