/*
 * say.h -- short texts by value, and error messages of three lines.
 */
#pragma once

#include <stddef.h>

enum { BWL_TEXT_MAX = 160 };

/* A longer text is cut. */
typedef struct bwl_text {
    char of[BWL_TEXT_MAX];
} bwl_text;

bwl_text bwl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

bwl_text bwl_shown(const char *text);

/* Writes to standard error, each line after the name of the program, without empty
 * lines.  Returns EXIT_USAGE. */
int bwl_complain(bwl_text what, bwl_text why, bwl_text type);

enum { BWL_EXIT_USAGE = 2, BWL_EXIT_MEMORY = 3 };
