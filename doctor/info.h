/*
 * info.h -- reads a field of the reply to INFO: lines of NAME:VALUE.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { INFO_VALUE_MAX = 64 };

/* The value, cut off if too long. False, and "": no such line. */
bool info_text(char ret_value[INFO_VALUE_MAX], const char *info, const char *name);

/* The value as a number, or `otherwise`. */
int64_t info_number(const char *info, const char *name, int64_t otherwise);
