/*
 * resp_text.h -- RESP as text of one line, and back.
 *
 * A reply:   +OK   -ERR any text   :1   _   $word   $"two words"   =word   #1   *2 $a :1   >3 ...
 * \n in a word is the end of a line.
 *
 * A command: its arguments between spaces.  A script is shown by its name, a token as <1>, <2>, ...
 * in the order in which tokens are first shown (<1.>: the part of it in a value of protocol queue),
 * the id of a client as <client>, the name of a waiter as <nonce>.  Replies may use them too.
 */
#pragma once

#include <stddef.h>

enum { RESP_TEXT_MAX = 8192 };

/* Starts a case: no token was shown yet. */
void resp_text_begin(void);

/* Replaces <1> by the token, or the token by <1>. */
void resp_text_expand(char ret_text[RESP_TEXT_MAX], const char *text);
void resp_text_mask(char ret_text[RESP_TEXT_MAX], const char *text);

/* Writes the bytes of a reply.  Returns their number. */
size_t resp_text_encode(char ret_bytes[RESP_TEXT_MAX], const char *text);

/* Reads the first command of these bytes.  Returns its size in bytes; 0: it is incomplete. */
size_t resp_text_decode(char ret_text[RESP_TEXT_MAX], const char *bytes, size_t size);
