/*
 * status_line.h -- one line on the terminal of standard error, which is updated in place and erased
 * at the end: with blanks and not with an escape sequence, because every terminal knows a carriage
 * return.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct status_line {
    size_t columns; /* width of the present line; 0: none */
} status_line;

/* True if standard error is a terminal. */
bool status_line_is_possible(void);

/* Replaces the line by the text, escaped and cut off to the width of the terminal.  Does nothing in
 * the background: the terminal belongs to another program then. */
void status_line_show(status_line *l, const char *text);

void status_line_erase(status_line *l);

/* From now on, a signal that ends the program erases the line first.  For one line in a program. */
void status_line_erase_on_signals(void);
