/*
 * utf8.h -- the characters of a text: UTF-8, characters that control a terminal, and how wide a
 * terminal shows the others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The result for a byte that begins no character. */
#define UTF8_BROKEN UINT32_MAX

/* Reads the first character of `text`, which is not empty, and returns its size in bytes (RFC
 * 3629).  Overlong forms, surrogates and values above U+10FFFF are broken: one byte each. */
size_t utf8_next(uint32_t *ret_character, const char *text);

/* True for characters that control a terminal: C0, DEL, C1, and changes of the writing
 * direction. */
bool utf8_is_control(uint32_t character);

/* How many columns of a terminal the character takes: 0 if it combines with the one before it, 2 if
 * it is of East Asia or a picture, else 1. */
size_t utf8_columns(uint32_t character);

/* The same of a text without control characters. */
size_t utf8_columns_of(const char *text);
