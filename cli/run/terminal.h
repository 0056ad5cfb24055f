/*
 * terminal.h -- the foreground of the terminal: the process group of bowline, or that of the
 * command.
 *
 * The command has its own process group, so that all of it can be stopped. A terminal serves only
 * its foreground group, and sends Ctrl-C only there. If a shell has started bowline as a job of its
 * own (it leads its process group, standard input and output are the terminal), the command gets
 * the foreground at once, as it would from the shell. Otherwise other processes use the terminal
 * too (`bowline run ... | less`, a script, make), and the command gets the foreground only when the
 * kernel stops it for reading or writing there.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

typedef struct terminal {
    int   fd;     /* below 0: no terminal */
    pid_t lent;   /* the group that has the foreground from bowline; 0: none */
    bool  wanted; /* lend it whenever bowline is in the foreground */
} terminal;

void terminal_open(terminal *ret_terminal);

/* True if the process group of bowline is in the foreground. */
bool terminal_is_ours(const terminal *t);

/* Gives the foreground to `group`. Bowline must have it. */
void terminal_lend(terminal *t, pid_t group);

/* Takes the foreground back, unless another group has taken it meanwhile. */
void terminal_take_back(terminal *t);
