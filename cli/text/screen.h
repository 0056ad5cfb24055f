/*
 * screen.h -- the whole terminal as a page that is drawn again and again: `bowline top`.
 *
 *      open --draw, key, ...--> close
 *
 * While it is open, keys are read without echo, and the terminal shows its other buffer, so that
 * what was there before comes back at the end.  The end may be close(), a signal that ends the
 * program, or a failed assertion; a stop (Ctrl-Z) restores the terminal too, until the program is
 * continued.  Only SIGKILL leaves the terminal as it is: `reset` mends it.
 *
 * One screen in a program.
 */
#pragma once

#include <stdint.h>

#include "cli/text/say.h"

typedef enum screen_key {
    SCREEN_NOTHING = 1, /* the time is over */
    SCREEN_QUIT,        /* q, or the terminal is gone */
    SCREEN_UP,
    SCREEN_DOWN,
    SCREEN_PAGE_UP,
    SCREEN_PAGE_DOWN,
    SCREEN_HOME,
    SCREEN_END,
    SCREEN_CHANGED, /* the size has changed, or the program was continued: draw */
    SCREEN_OTHER,
} screen_key;

/* Fails without a terminal on standard input and output. */
int  screen_open(failure *reterr);
void screen_close(void);

size_t screen_rows(void);
size_t screen_columns(void);

/* Waits for a key, at most wait_ms. */
screen_key screen_read(int wait_ms);

/* Draws a page: begin, then at most screen_rows() lines, then end.  A line is escaped and cut off
 * to the width; the rest of the screen is blank. */
void screen_begin(void);
void screen_line(const char *text);
void screen_title(const char *text); /* the same in reverse video */
void screen_end(void);
