/*
 * driver.h -- the contract of bench/peers/README.md for drivers in C: what each of them brings, and
 * the loop that they share.
 */
#ifndef BOWLINE_BENCH_PEERS_DRIVER_H
#define BOWLINE_BENCH_PEERS_DRIVER_H

#include <stdint.h>

enum { PEER_WHY_MAX = 200 };

/* Where everybody meets. */
typedef struct peer_place {
    const char *host;
    int         port;
    const char *name; /* of the lock */
} peer_place;

/* How a lock is used.  A client is used by one thread at a time.  Each returns 0, or -1 with why,
 * of PEER_WHY_MAX bytes. */
typedef struct peer_ways {
    int (*open)(void **ret_client, const peer_place *place, char *why);
    int (*acquire)(void *client, char *why); /* waits as long as it takes */
    int (*release)(void *client, char *why);
    int (*ping)(void *client, char *why); /* NULL: there is none */
    void (*close)(void *client);
} peer_ways;

/* Obeys standard input until it ends; the status of main. */
int peer_serve(const peer_ways *ways, const peer_place *place);

/* The last three words of the command line. */
peer_place peer_place_of(int argc, char **argv);

int64_t peer_now_ns(void);
void    peer_sleep_us(int64_t us);

#endif
