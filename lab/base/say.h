/*
 * say.h -- short texts by value, complaints in three lines, and guesses at what was meant.
 */
#ifndef BWL_LAB_BASE_SAY_H
#define BWL_LAB_BASE_SAY_H

#include <stddef.h>

enum { BWL_TEXT_MAX = 160 };

/* Cut off where it is too long. */
typedef struct bwl_text {
    char of[BWL_TEXT_MAX];
} bwl_text;

bwl_text bwl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What goes to a terminal as it was typed or read: control characters become ?. */
bwl_text bwl_shown(const char *text);

/* To standard error, each line after the name of the program; "" is left out.  Returns EXIT_USAGE,
 * so that a caller can end with it. */
int bwl_complain(bwl_text what, bwl_text why, bwl_text type);

enum { BWL_EXIT_USAGE = 2, BWL_EXIT_MEMORY = 3 };

#endif
