/*
 * hiredis_floor.h -- the other side on Redis: the same commands by blocking hiredis.
 *
 * It is the least that a careful program does without the library: SET NX PX with a new token for
 * each attempt, and compare-and-delete by the script of the library. It does not retry, renew,
 * track the lease or survive a broken connection.
 */
#ifndef BOWLINE_BENCH_SIDES_HIREDIS_FLOOR_H
#define BOWLINE_BENCH_SIDES_HIREDIS_FLOOR_H

#include <stddef.h>
#include <stdint.h>

#include "bench/base/say.h"

struct redisContext;

enum { BENCH_KEY_MAX = 128, BENCH_TOKEN_SIZE = 22 /* as the library */ };

typedef struct bench_floor {
    struct redisContext *context;
    uint64_t             attempts;
    size_t               key_size;
    char                 key[BENCH_KEY_MAX]; /* the key of the library for this name */
    char                 token[BENCH_TOKEN_SIZE + 1];
} bench_floor;

/* Connects to 127.0.0.1 and loads the script. Close with bench_floor_close. */
int  bench_floor_open(bench_floor *ret_floor, int port, const char *name, bench_failure *reterr);
void bench_floor_close(bench_floor *floor);

/* Acquires and releases, and waits for each reply. arg: bench_floor. */
int bench_floor_pair(void *arg, bench_failure *reterr);

/* One PING. arg: bench_floor. */
int bench_floor_ping(void *arg, bench_failure *reterr);

/* Two PINGs, one after the other. arg: bench_floor. */
int bench_floor_pings(void *arg, bench_failure *reterr);

/* GET of a number, then SET of the next one. */
int bench_floor_add_one(bench_floor *floor, const char *key, bench_failure *reterr);

/* The number in the reply to a command, or in a field of INFO. */
int bench_floor_number(bench_floor *floor, const char *command, int64_t *ret_number,
                       bench_failure *reterr);
int bench_floor_info(bench_floor *floor, const char *field, int64_t *ret_number,
                     bench_failure *reterr);

/* SET with a token of 16 bytes and a lease, without waiting; and the wait for the reply. */
int bench_floor_set_later(bench_floor *floor, const char *name, bench_failure *reterr);
int bench_floor_await(bench_floor *floor, size_t count, bench_failure *reterr);

/* The version of hiredis, "1.2.0". */
bench_text bench_floor_version(void);

#endif
