/*
 * utf8.h -- text as characters, and the columns that they take in a fixed-width font: two for a
 * Chinese character, none for an accent that joins the character before it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What stands for a byte that begins no character, and for one that no XML may have. */
#define BWL_UTF8_REPLACEMENT 0xFFFD

/* The character at *at, which moves behind it; 0: the end, and it stays. */
uint32_t bwl_utf8_next(const char **at);

unsigned bwl_utf8_columns(const char *text);

/* How many bytes go on a line of this many columns: all up to a newline; or those before a space,
 * or beside a Chinese character where no mark forbids it; or as many characters as there is room
 * for, and at least one. */
size_t bwl_utf8_fit(const char *text, unsigned columns);
