/*
 * value.h -- the value that a lock writes, byte for byte as other people's programs write it, and
 * what can be read from one.  Pure: no locale, no floating point unit.
 *
 * Reading is strict: exactly the bytes that writing could produce are ours.  Whatever else is there
 * is a stranger's, which nobody here steals or deletes.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_VALUE_H
#define BWL_ENGINE_REDIS_WIRE_VALUE_H

#include "core/compat_rules.h"

/* The value of these rules (NULL: the token): its size, and no NUL behind it.  0: the stamp is
 * outside of what the shape can hold (floats: at least 1 and below 1e15, with PHP 1e14). */
size_t bwl_value_write(char ret_bytes[BWL_VALUE_MAX], const bwl_compat_rules *rules,
                       const char *token, int64_t timestamp);

/* Could these rules have written it?  Its stamp then, 0 if the shape has none.  A float is read as
 * the stamp that is nearest. */
bool bwl_value_read(int64_t *ret_timestamp, const bwl_compat_rules *rules, const char *bytes,
                    size_t size);

/* bwl_value_read, of a stamp that is plausible: see core/timestamps.h.  Whatever else a key
 * holds is a foreign value, and is never taken over or deleted. */
bool bwl_value_read_plausible(int64_t *ret_timestamp, const bwl_compat_rules *rules,
                              const char *bytes, size_t size);

/* The same for the same bytes, and for other bytes another (FNV-1a, 64 bits); never 0. */
uint64_t bwl_value_hash(const char *bytes, size_t size);

#endif
