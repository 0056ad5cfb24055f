/*
 * say.h -- short texts by value, and error messages of three lines.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { BWL_TEXT_MAX = 160 };

/* A longer text is cut. */
typedef struct bwl_text {
    char of[BWL_TEXT_MAX];
} bwl_text;

bwl_text bwl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

bwl_text bwl_shown(const char *text);

/* Writes what, why and what to type to standard error, each line after the name of the program,
 * without empty lines.  Returns EXIT_USAGE. */
int bwl_complain(bwl_text what, const char *why, const char *type);

/* The same for the caller to report: what, why, and what to type.  Always false. */
bool bwl_refuse(bwl_text reterr[3], bwl_text what, bwl_text why, const char *type);

enum { BWL_EXIT_USAGE = 2, BWL_EXIT_MEMORY = 3 };
