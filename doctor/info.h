/*
 * info.h -- a field of what INFO says: lines of NAME:VALUE.
 */
#ifndef DOCTOR_INFO_H
#define DOCTOR_INFO_H

#include <stdbool.h>
#include <stdint.h>

enum { INFO_VALUE_MAX = 64 };

/* The value, cut off where it is too long.  False, and "": there is no such line. */
bool info_text(char ret_value[INFO_VALUE_MAX], const char *info, const char *name);

/* The same as a number; `otherwise` if there is none. */
int64_t info_number(const char *info, const char *name, int64_t otherwise);

#endif
