/*
 * utf8.h -- reads a text one character at a time, and detects what is not UTF-8.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The result for a byte that begins no character. */
#define UTF8_BROKEN UINT32_MAX

/* Reads the first character of `text`, which is not empty, and returns its size in bytes. Overlong
 * forms, surrogates and values above U+10FFFF are broken: one byte each. */
size_t utf8_next(uint32_t *ret_character, const char *text);

/* True for characters that control a terminal: C0, DEL, C1, and changes of the writing
 * direction. */
bool utf8_is_control(uint32_t character);
