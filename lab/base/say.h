/*
 * say.h -- short texts by value, error messages of three lines, files that are written whole or not
 * at all, and a check of standard output.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { BWL_TEXT_MAX = 320 };

/* A longer text is cut before a character, and ends with three dots. */
typedef struct bwl_text {
    char of[BWL_TEXT_MAX];
} bwl_text;

bwl_text bwl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

bwl_text bwl_shown(const char *text);

/* As "%*s", in columns of a terminal: blanks in front; behind it if `width` is negative. */
bwl_text bwl_padded(const char *text, int width);

/* Writes what, why and what to type to standard error, each line after the name of the program,
 * without empty lines.  Returns EXIT_USAGE. */
int bwl_complain(bwl_text what, const char *why, const char *type);

/* The same for the caller to report: what, why, and what to type.  Always false. */
bool bwl_refuse(bwl_text reterr[3], bwl_text what, bwl_text why, const char *type);

enum { BWL_EXIT_USAGE = 2, BWL_EXIT_MEMORY = 3 };

/* As fprintf; errors are checked when the file is closed. */
void bwl_put(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

enum { BWL_PATH_MAX = 4096 };

/* A temporary file beside the one that it will replace. */
typedef struct bwl_output {
    FILE *out;
    char  path[BWL_PATH_MAX];
    char  beside[BWL_PATH_MAX + 8];
} bwl_output;

/* False on failure, with a message. */
bool bwl_output_open(bwl_output *ret_output, const char *path);

/* Renames it into place.  False if a write failed: then the old file stays. */
bool bwl_output_close(bwl_output *output);

/* False, with a message, if a write to standard output failed. */
bool bwl_output_done(void);
