/*
 * look.h -- what the commands share that look at locks: break, who, ls, watch, top.
 *
 * A look is a snapshot: when it is written, the lock may already have another holder.
 */
#pragma once

#include <bowline/bowline.h>

#include "cli/settings/config.h"
#include "cli/settings/options.h"

typedef struct look {
    const option_table *table;
    run_options         options;
    settings            settings;
    bowline_client     *client;
} look;

/* A command that looks.  Returns its exit code, or below 0 with *reterr. */
typedef int look_function(look *l, failure *reterr);

/* Runs such a command: parses, shows the help, or finds the URL and calls the function, which opens
 * the client itself; reports errors.  Returns the exit code.  `takes_name`: the operand is the name
 * of a lock, and needed; else it is a pattern, and not. */
int look_main(const option_table *t, look_function *function, bool takes_name, int argc,
              char **argv);

/* Opens the client.  `thread:` is refused. */
int look_open(look *l, failure *reterr);

/* Finds the holder of the lock.  Returns 0, or below 0 with *reterr. */
int look_at_holder(look *l, bowline_holder *ret_holder, failure *reterr);

/* All who hold it, in ret_holders, which the caller frees; returns how many, or below 0. */
int look_at_all(look *l, bowline_holder **ret_holders, failure *reterr);

/* Writes the holder as the JSON object of `who` and `ls`, with those that share the lock as an
 * array if there are any here. */
void look_write_json(const char *name, const bowline_holder *holder, const bowline_holder shares[],
                     int count);

/* The same array, in the object that is open; nothing without shares. */
void look_write_shares(const bowline_holder shares[], int count);

/* Pauses, and ends the program if the reader of a pipe is gone: without an event, nothing would be
 * written to it.  Call (void)signal(SIGPIPE, SIG_DFL) first: a caller may ignore it. */
void look_pause(int64_t pause_ms);

/* Standard output, if it is a pipe; below 0: it is none. */
int look_pipe(void);

/* The width of the terminal of standard output; SIZE_MAX: it is not a terminal. */
size_t look_columns(void);
