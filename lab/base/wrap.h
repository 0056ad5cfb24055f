/*
 * wrap.h -- texts in lines that fit the terminal.
 *
 * A Chinese character takes two columns, and a line may end between two of them, but not before a
 * closing mark, nor behind an opening one.
 */
#pragma once

#include <stdio.h>

/* The width of the terminal that `out` is; 80 if it is none. */
unsigned bwl_wrap_width(FILE *out);

/* Writes `text`, of paragraphs in one line each, after `indent` blanks.  What follows "- " or "1. "
 * is one item of a list; what follows "# " is a title, without blanks before it; a line that
 * begins with four blanks stays as it is. */
void bwl_wrap(FILE *out, unsigned indent, unsigned width, const char *text);
