/*
 * value.h -- writes the value of a lock, byte for byte as other programs write it, and reads it.
 * No I/O, no locale, no floating point.
 *
 * Reading accepts exactly the bytes that writing can produce.  Any other value is foreign, and
 * bowline never takes over or deletes a foreign lock.
 */
#pragma once

#include "protocol/format/compat_rules.h"
#include "engine/redis/wire/resp.h"

/* Writes the value of these rules (NULL: the token), without a NUL; returns its size.  0: the
 * timestamp is outside the range of the format (floats: at least 1 and below 1e15; PHP: below
 * 1e14). */
size_t bwl_value_write(char ret_bytes[BWL_VALUE_MAX], const bwl_compat_rules *rules,
                       const char *token, int64_t timestamp);

/* True if these rules can have written the value.  Writes its timestamp, 0 if the format has none.
 * A float is read as the nearest timestamp. */
bool bwl_value_read(int64_t *ret_timestamp, const bwl_compat_rules *rules, const char *bytes,
                    size_t size);

/* The same, and the timestamp is plausible: see protocol/format/timestamps.h.  Any other value is
 * foreign. */
bool bwl_value_read_plausible(int64_t *ret_timestamp, const bwl_compat_rules *rules,
                              const char *bytes, size_t size);

/* A hash of the bytes (FNV-1a, 64 bits); never 0. */
uint64_t bwl_value_hash(const char *bytes, size_t size);

enum { BWL_TAKE_TIMESTAMP_ARGUMENTS = 10 };

/* Writes the ARGV of scripts/take_timestamp.lua: how to make this client's value, and how to read
 * that of any holder. */
void bwl_take_timestamp_write(bwl_resp_writer *writer, const bwl_compat_rules *rules,
                              const char *token, bwl_ms lease_ms);
