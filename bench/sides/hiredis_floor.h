/*
 * hiredis_floor.h -- their side of a duel on Redis: the same commands by blocking hiredis.
 *
 * It is the least that a careful program does without the library: SET NX PX with a token that is
 * new for every attempt, and a compare-and-delete by the library's own script.  It does not retry,
 * renew, count the lease or survive a broken connection.
 */
#ifndef BOWLINE_BENCH_SIDES_HIREDIS_FLOOR_H
#define BOWLINE_BENCH_SIDES_HIREDIS_FLOOR_H

#include <stddef.h>
#include <stdint.h>

#include "bench/base/say.h"

struct redisContext;

enum { BENCH_KEY_MAX = 128, BENCH_TOKEN_SIZE = 22 /* as ours */ };

typedef struct bench_floor {
    struct redisContext *context;
    uint64_t             attempts;
    size_t               key_size;
    char                 key[BENCH_KEY_MAX]; /* the one that the library uses for the name */
    char                 token[BENCH_TOKEN_SIZE + 1];
} bench_floor;

/* Connects to 127.0.0.1, and has the server learn the script.  Close with bench_floor_close. */
int  bench_floor_open(bench_floor *ret_floor, int port, const char *name, bench_failure *reterr);
void bench_floor_close(bench_floor *floor);

/* Take and give back, each awaited.  arg: bench_floor. */
int bench_floor_pair(void *arg, bench_failure *reterr);

/* A PING, awaited: a round trip with nothing in it.  arg: bench_floor. */
int bench_floor_ping(void *arg, bench_failure *reterr);

/* Two PINGs, each awaited: two round trips with nothing in them.  arg: bench_floor. */
int bench_floor_pings(void *arg, bench_failure *reterr);

/* GET of a number, SET of the next one, each awaited. */
int bench_floor_add_one(bench_floor *floor, const char *key, bench_failure *reterr);

/* The number that is the answer to a command, or that is in the field of the answer to INFO. */
int bench_floor_number(bench_floor *floor, const char *command, int64_t *ret_number,
                       bench_failure *reterr);
int bench_floor_info(bench_floor *floor, const char *field, int64_t *ret_number,
                     bench_failure *reterr);

/* SET with a token of 16 bytes and a lease, without waiting for the answer; and the wait. */
int bench_floor_set_later(bench_floor *floor, const char *name, bench_failure *reterr);
int bench_floor_await(bench_floor *floor, size_t count, bench_failure *reterr);

/* The version of hiredis, "1.2.0". */
bench_text bench_floor_version(void);

#endif
