/*
 * driver.h -- the contract of bench/peers/README.md for drivers in C: what a driver provides, and
 * the shared loop.
 */
#ifndef BOWLINE_BENCH_PEERS_DRIVER_H
#define BOWLINE_BENCH_PEERS_DRIVER_H

#include <stdint.h>

enum { PEER_WHY_MAX = 200 };

/* The synchronisation of the waiters. */
typedef struct peer_place {
    const char *host;
    int         port;
    const char *name; /* of the lock */
} peer_place;

/* The lock. One thread at a time uses a client. Each function returns 0, or -1 with `why`, of
 * PEER_WHY_MAX bytes. */
typedef struct peer_ways {
    int (*open)(void **ret_client, const peer_place *place, char *why);
    int (*acquire)(void *client, char *why); /* waits without a time limit */
    int (*release)(void *client, char *why);
    int (*ping)(void *client, char *why); /* NULL: there is none */
    void (*close)(void *client);
} peer_ways;

/* Executes commands from standard input until it ends; returns the status of main. */
int peer_serve(const peer_ways *ways, const peer_place *place);

/* The last three arguments of the command line. */
peer_place peer_place_of(int argc, char **argv);

int64_t peer_now_ns(void);
void    peer_sleep_us(int64_t us);

#endif
