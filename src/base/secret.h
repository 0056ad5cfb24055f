/*
 * secret.h -- passwords, read from a private file and erased; and copies of strings.
 */
#pragma once

#include "core/status.h"

/* Reads its first line.  REFUSED: the file is not trusted as a secret (trusted_file.h), or has no
 * password; SYSTEM, NOMEM.  Free it with bwl_secret_free. */
int bwl_secret_read(char **ret_secret, const char *name, bwl_fault *fault);

/* Whether the bytes contain it.  False for NULL or "". */
bool bwl_secret_is_in(const char *secret, const char *bytes, size_t size);

/* Whether the bytes repeat a part of it: three characters in a row, or all of a shorter one, in
 * upper or lower case.  A server or proxy that quotes its input may cut it anywhere.  False for
 * NULL or "". */
bool bwl_secret_part_is_in(const char *secret, const char *bytes, size_t size);

/* Overwrites it first.  Also NULL. */
void bwl_secret_free(char *secret);

/* A copy of a string.  Free it with free(), a password with bwl_secret_free.  NOMEM. */
int bwl_copy(char **ret_copy, const char *text, bwl_fault *fault);

/* For several copies: NULL for NULL.  Sets `all` to false if there is no memory. */
char *bwl_copy_of(const char *text, bool *all);
