/*
 * secret.h -- a password out of a file that is private, and back to nothing.
 */
#pragma once

#include "core/status.h"

/* Its first line.  REFUSED: it is not trusted as a secret (trusted_file.h), or there is no password
 * in it; SYSTEM, NOMEM.  Free it with bwl_secret_free. */
int bwl_secret_read(char **ret_secret, const char *name, bwl_fault *fault);

/* Do the bytes hold it?  Never that of NULL, or of "". */
bool bwl_secret_is_in(const char *secret, const char *bytes, size_t size);

/* Do the bytes repeat a part of it?  Three characters in a row are a part, or all of a shorter
 * one, in either case of letters: a server or proxy that quotes its input may cut it off
 * anywhere.  Never a part of NULL, or of "". */
bool bwl_secret_part_is_in(const char *secret, const char *bytes, size_t size);

/* Overwrites it first.  Also NULL. */
void bwl_secret_free(char *secret);
