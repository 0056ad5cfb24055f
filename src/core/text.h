/*
 * text.h -- reading and writing tokens, numbers, durations, names and percent-encoding; a hash.
 */
#ifndef BWL_TEXT_H
#define BWL_TEXT_H

#include "core/core.h"

enum { BWL_TOKEN_SIZE = 22 }; /* characters of a token of bowline */

/* The token for 128 random bits: 22 characters of A-Z a-z 0-9 - _ (RFC 4648 section 5,
 * unpadded). */
void bwl_token_write(char ret_token[BWL_TOKEN_MAX + 1], const bwl_random *random);

/* Reads a decimal number: digits only, at least one, no superfluous leading zero, at most max.
 * Writes ret_number only on true. */
bool bwl_number_parse(uint64_t *ret_number, const char *text, size_t size, uint64_t max);

/* Reads a duration: "250ms", "30s", "5m", "2h", "1d", or several units from large to small
 * ("1m30s"). False for any other text, and above 2^53 ms. */
bool bwl_duration_parse(bwl_ms *ret_ms, const char *text, size_t size);

/* What is wrong with the name of a lock, or NULL.  A name has 1 .. BWL_NAME_MAX bytes, and no
 * control character. */
const char *bwl_name_fault(const char *name, size_t size);

/* Percent-encodes every byte except A-Z a-z 0-9 - _ . ~ and the bytes in `also`.  Two texts never
 * have the same encoding.  Returns the size, or 0 if the result and its NUL do not fit. */
size_t bwl_percent_encode(char *ret_text, size_t capacity, const char *bytes, size_t size,
                          const char *also);

/* Decodes it, and writes a NUL.  False for an incomplete escape, for %00, and without room. */
bool bwl_percent_decode(char *ret_bytes, size_t capacity, const char *text, size_t size);

/* Copies a text of others, which a terminal may show: `?` stands for each control character.  At
 * most capacity - 1 bytes, and a NUL. */
void bwl_printable_copy(char *ret_text, size_t capacity, const char *text, size_t size);

/* Replaces the password of each URL in the text, SCHEME://USER:PASSWORD@, with ***.  The password
 * ends before the last '@' of a run without blanks and quotes.  is_cut: the text was truncated, and
 * that '@' may be missing. */
void bwl_hide_passwords(char *text, bool is_cut);

/* For a truncated text: shortens it to whole words and ends it with "...".  Does not change a text
 * of less than 12 bytes. */
void bwl_mark_cut(char *text);

/* A hash of the bytes: FNV-1a, 64 bits. */
uint64_t bwl_hash(const char *bytes, size_t size);

#endif
