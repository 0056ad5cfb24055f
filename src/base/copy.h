/*
 * copy.h -- a text of our own.  Free it with free(), and a password with bwl_secret_free.
 */
#pragma once

#include "core/status.h"

/* NOMEM. */
int bwl_copy(char **ret_copy, const char *text, bwl_fault *fault);

/* One of many: NULL of NULL.  `all` is false from the first on for which there is no memory. */
char *bwl_copy_of(const char *text, bool *all);
