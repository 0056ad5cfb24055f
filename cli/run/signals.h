/*
 * signals.h -- the signals that come to bowline, and those that its command is to find.
 *
 * What we want to hear is blocked and read from a descriptor, so it arrives in our one poll loop
 * and never in the middle of something.  What the caller had ignored (nohup: HUP; a shell's
 * background job: INT and QUIT) stays ignored, for us and for the command.
 */
#ifndef BOWLINE_CLI_RUN_SIGNALS_H
#define BOWLINE_CLI_RUN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "cli/text/say.h"

typedef struct signals {
    int              fd;
    sigset_t         mask; /* ours at present                        */
    sigset_t         mask_before;
    struct sigaction pipe_before;
    struct sigaction child_before;
} signals;

/* Takes INT TERM HUP QUIT USR1 USR2 CHLD, and TTOU, which is only blocked.  Until
 * signals_take_stops, TSTP stops us as it stops anybody. */
int signals_take(signals *ret_signals, failure *reterr);

/* From now on we hear TSTP and CONT too. */
int signals_take_stops(signals *s, failure *reterr);

/* The number of the next one that has come, or 0.  *ret_by_terminal: a key was pressed. */
int signals_next(signals *s, bool *ret_by_terminal);

/* In the command, before exec: everything is as the caller left it. */
void signals_give_back(const signals *s);

/* Stops us as the terminal would, all of our process group or only ourselves, and returns when we
 * go on; at once if we have been continued already.  False, and at once, where the kernel does not
 * stop us because nobody could continue us. */
bool signals_stop(signals *s, int number, bool whole_group);

/* Ends us by INT, as if we had never caught it.  To the whole group if nobody else told it. */
void signals_die_of_interrupt(bool whole_group);

#endif
