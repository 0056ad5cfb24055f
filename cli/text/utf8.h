/*
 * utf8.h -- one character of a text at a time, for those who must not pass on what is not text.
 */
#ifndef BOWLINE_CLI_TEXT_UTF8_H
#define BOWLINE_CLI_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What utf8_next says of a byte that begins no character. */
#define UTF8_BROKEN UINT32_MAX

/* The character at the start of `text`, which is not empty, and how many bytes it has.  Overlong
 * forms, surrogates and what is beyond U+10FFFF are broken, one byte each. */
size_t utf8_next(uint32_t *ret_character, const char *text);

/* True for what a terminal may take as an order: C0, DEL, C1, and what turns the direction of
 * writing. */
bool utf8_is_control(uint32_t character);

#endif
