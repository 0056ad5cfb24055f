/*
 * copy.h -- copies of strings.  Free them with free(), a password with bwl_secret_free.
 */
#pragma once

#include "core/status.h"

/* NOMEM. */
int bwl_copy(char **ret_copy, const char *text, bwl_fault *fault);

/* For several copies: NULL for NULL.  Sets `all` to false if there is no memory. */
char *bwl_copy_of(const char *text, bool *all);
