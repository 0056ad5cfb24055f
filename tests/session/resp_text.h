/*
 * resp_text.h -- RESP as text of one line, and back.
 *
 * A reply:   +OK   -ERR any text   :1   _   $word   $"two words"   =word   #1   *2 $a :1   >3 ...
 *            \n in a word is the end of a line.
 * A command: its arguments between spaces.  A script is shown by its name, a token as <1>, <2>, ...
 * in the order in which tokens are shown first (<1.>: so much of it as is in a value of protocol
 * queue), the id of a client as <client>, the name of a
 * waiter as <nonce>.  Replies may have these marks too.
 */
#ifndef RESP_TEXT_H
#define RESP_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { RESP_TEXT_MAX = 8192 };

/* No token was shown yet. */
void resp_text_begin(void);

/* Replaces <1> by the token, or the other way round. */
void resp_text_expand(char ret_text[RESP_TEXT_MAX], const char *text);
void resp_text_mask(char ret_text[RESP_TEXT_MAX], const char *text);

/* The bytes of a reply; how many. */
size_t resp_text_encode(char ret_bytes[RESP_TEXT_MAX], const char *text);

/* The first command of these bytes: how many of them it takes; 0: it is not whole. */
size_t resp_text_decode(char ret_text[RESP_TEXT_MAX], const char *bytes, size_t size);

#endif
