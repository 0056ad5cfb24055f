/*
 * text.h -- small texts that every room reads or writes the same way: tokens, numbers, durations.
 */
#ifndef BWL_TEXT_H
#define BWL_TEXT_H

#include "core/core.h"

enum { BWL_TOKEN_SIZE = 22 }; /* characters of a token of ours */

/* The token for 128 random bits: 22 characters of A-Z a-z 0-9 - _ (RFC 4648 section 5,
 * unpadded). */
void bwl_token_write(char ret_token[BWL_TOKEN_MAX + 1], const bwl_random *random);

/* True if every byte is a digit, there is at least one, no superfluous leading zero, and the number
 * is at most max; the number then. */
bool bwl_number_parse(uint64_t *ret_number, const char *text, size_t size, uint64_t max);

/* "250ms", "30s", "5m", "2h", "1d", and several of them from large to small ("1m30s").  False for
 * anything else, and beyond 2^53 ms. */
bool bwl_duration_parse(bwl_ms *ret_ms, const char *text, size_t size);

/* A name is 1 .. BWL_NAME_MAX bytes, none of them a control character: what is wrong, or NULL. */
const char *bwl_name_fault(const char *name, size_t size);

/* Percent-encodes every byte but A-Z a-z 0-9 - _ . ~ and those in `also`, so that no two texts have
 * the same encoding.  Returns the size, or 0 if it would not fit with its NUL. */
size_t bwl_percent_encode(char *ret_text, size_t capacity, const char *bytes, size_t size,
                          const char *also);

/* The reverse.  False for a broken escape and for %00; writes a NUL. */
bool bwl_percent_decode(char *ret_bytes, size_t capacity, const char *text, size_t size);

/* Writes the password of each URL in the text, SCHEME://USER:PASSWORD@, as *** in its place.  It
 * ends before the last '@' of a run without blanks and quotes; where the text was cut off,
 * that '@' may be missing. */
void bwl_hide_passwords(char *text, bool is_cut);

/* For a text that was cut off where its room ends: cuts it behind the last whole word, and ends it
 * with "...".  A text of less than 12 bytes is left as it is. */
void bwl_mark_cut(char *text);

#endif
