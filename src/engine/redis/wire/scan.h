/*
 * scan.h -- the keys of a server, step by step.  No I/O.
 *
 *      SCAN cursor MATCH pattern COUNT n [TYPE kind]      [cursor, [key ...]]
 *      DBSIZE                                             :n
 *
 * A scan begins and ends with the cursor 0.  It shows every key that is there all the time, perhaps
 * twice.  A cursor is valid in one server process only.
 */
#pragma once

#include "engine/redis/wire/commands.h"
#include "engine/redis/wire/key.h"

/* Keys that the server looks at in one step.  Fewer than BWL_RESP_ELEMENTS_MAX, and as many of the
 * longest keys of locks fit into a frame. */
enum { BWL_SCAN_COUNT = 250, BWL_SCAN_SIZE_MAX = BWL_KEY_PATTERN_MAX + 256 };

/* kind: only keys of this type, "string" for example; NULL: of any. */
void bwl_scan_write(bwl_resp_writer *writer, uint64_t cursor, const char *pattern,
                    const char *kind);

/* Reads the cursor; the keys follow in the frame: *ret_count of them. */
bwl_redis_verdict bwl_scan_read(const char *bytes, size_t size, bwl_answer *ret_answer,
                                bwl_resp_cursor *ret_keys, uint64_t *ret_cursor,
                                uint32_t *ret_count);

/* The next key.  False: it is no text. */
bool bwl_scan_next(bwl_resp_cursor *keys, bwl_bytes *ret_key);

/* 0: an error, or no number. */
uint64_t bwl_scan_read_size(const char *bytes, size_t size);
