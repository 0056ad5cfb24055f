/*
 * info.h -- reads a field of the reply to INFO: lines of NAME:VALUE.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { INFO_VALUE_MAX = 64 };

bool info_text(char ret_value[INFO_VALUE_MAX], const char *info, const char *name);

int64_t info_number(const char *info, const char *name, int64_t otherwise);
