/*
 * terminal.h -- who has the terminal: bowline's process group, or the command's.
 *
 * The command has a process group of its own, so that it can be ended whole.  The terminal reads
 * for one group only and sends Ctrl-C to that one.  Where a shell has started bowline as a job by
 * itself (it leads its group, its input and output are the terminal), the command gets the terminal
 * at once, as it would from that shell.  Elsewhere others use it too (`bowline run ... | less`, a
 * script, a make): then the command gets it when it asks for it, that is, when the kernel stops it
 * for reading.
 */
#ifndef BOWLINE_CLI_RUN_TERMINAL_H
#define BOWLINE_CLI_RUN_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct terminal {
    int   fd;     /* below 0: there is none                      */
    pid_t lent;   /* the group that we gave it to; 0: none       */
    bool  wanted; /* it should be lent whenever we are in front  */
} terminal;

void terminal_open(terminal *ret_terminal);

/* True if our group is the one in front. */
bool terminal_is_ours(const terminal *t);

/* Gives it, which is ours, to `group`. */
void terminal_lend(terminal *t, pid_t group);

/* Takes it back, unless somebody else has taken it meanwhile. */
void terminal_take_back(terminal *t);

#endif
