/*
 * hiredis_minimum.h -- the other side on Redis: the same commands by blocking hiredis.
 *
 * It is the minimum of a careful program without the library: SET NX PX with a new token for
 * each attempt, and compare-and-delete by the script of the library. It does not retry, renew,
 * track the lease or survive a broken connection.
 */
#ifndef BOWLINE_BENCH_SIDES_HIREDIS_MINIMUM_H
#define BOWLINE_BENCH_SIDES_HIREDIS_MINIMUM_H

#include <stddef.h>
#include <stdint.h>

#include "bench/base/say.h"

struct redisContext;

enum { BENCH_KEY_MAX = 128, BENCH_TOKEN_SIZE = 22 /* as the library */ };

typedef struct bench_minimum {
    struct redisContext *context;
    uint64_t             attempts;
    size_t               key_size;
    char                 key[BENCH_KEY_MAX]; /* the key of the library for this name */
    char                 token[BENCH_TOKEN_SIZE + 1];
} bench_minimum;

/* Connects to 127.0.0.1 and loads the script. Close with bench_minimum_close. */
int  bench_minimum_open(bench_minimum *ret_minimum, int port, const char *name,
                        bench_failure *reterr);
void bench_minimum_close(bench_minimum *minimum);

/* Acquires and releases, and waits for each reply. arg: bench_minimum. */
int bench_minimum_pair(void *arg, bench_failure *reterr);

/* One PING. arg: bench_minimum. */
int bench_minimum_ping(void *arg, bench_failure *reterr);

/* Two PINGs, one after the other. arg: bench_minimum. */
int bench_minimum_pings(void *arg, bench_failure *reterr);

/* GET of a number, then SET of the next one. */
int bench_minimum_add_one(bench_minimum *minimum, const char *key, bench_failure *reterr);

/* The number in the reply to a command, or in a field of INFO. */
int bench_minimum_number(bench_minimum *minimum, const char *command, int64_t *ret_number,
                         bench_failure *reterr);
int bench_minimum_info(bench_minimum *minimum, const char *field, int64_t *ret_number,
                       bench_failure *reterr);

/* SET with a token of 16 bytes and a lease, without waiting; and the wait for the reply. */
int bench_minimum_set_later(bench_minimum *minimum, const char *name, bench_failure *reterr);
int bench_minimum_await(bench_minimum *minimum, size_t count, bench_failure *reterr);

/* The version of hiredis, "1.2.0". */
bench_text bench_minimum_version(void);

#endif
