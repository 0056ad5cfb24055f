/*
 * proxy.h -- a proxy between a client and a real server that breaks, stalls or delays the
 * connection at a byte that the test chooses.
 *
 * It listens on a free port of the loopback interface, in a thread, one connection at a time.
 */
#ifndef TEST_PROXY_H
#define TEST_PROXY_H

#include "tests/lib/server.h"

#include <stddef.h>
#include <stdint.h>

typedef enum proxy_fault {
    PROXY_NONE = 1,
    PROXY_CLOSE, /* closes both ends */
    PROXY_STALL, /* forwards nothing more in that direction */
    PROXY_LATE,  /* likewise; proxy_stop forwards the rest, if the server still accepts it */
    PROXY_PAUSE, /* continues after pause_ms */
} proxy_fault;

typedef struct proxy_plan {
    proxy_fault fault;
    bool        to_client;   /* counts the server's bytes; else the client's */
    int64_t     at;          /* the fault comes after so many bytes of a connection */
    int         connections; /* number of connections with the fault; later ones have none */
    int64_t     pause_ms;
    size_t      piece;  /* at most so many bytes at a time; 0: no limit */
    bool        is_tls; /* connects to the server's TLS port */
} proxy_plan;

typedef struct proxy proxy;

/* Free with proxy_stop. */
proxy *proxy_start(const server *s, const proxy_plan *plan);
void   proxy_stop(proxy *p);

const char *proxy_url(proxy *p); /* redis://127.0.0.1:PORT, rediss://127.0.0.1:PORT?ca=... */

/* Breaks the current connection. */
void proxy_cut(proxy *p);

/* After in_ms, and for for_ms, forwards nothing in that direction, or accepts no connection; then
 * forwards all that was held back.  A later call replaces this. */
void proxy_hold_back(proxy *p, bool to_client, int64_t in_ms, int64_t for_ms);

/* The number of bytes forwarded, of the connection with the most. */
int64_t proxy_bytes_to_client(proxy *p);
int64_t proxy_bytes_to_server(proxy *p);

#endif
