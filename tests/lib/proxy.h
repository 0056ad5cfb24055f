/*
 * proxy.h -- a bad line between a client and a real server: it breaks, falls silent or dawdles at a
 * byte that the test chooses.
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
    PROXY_CLOSE, /* both ends are closed                                                       */
    PROXY_STALL, /* nothing passes that way any more                                           */
    PROXY_LATE,  /* likewise; the rest is handed on by proxy_stop, if the server still takes it  */
    PROXY_PAUSE, /* all goes on after pause_ms                                                  */
} proxy_fault;

typedef struct proxy_plan {
    proxy_fault fault;
    bool        to_client;   /* what the server says is counted; else what the client says     */
    int64_t     at;          /* the fault comes after so many bytes of a connection            */
    int         connections; /* the first so many have it, those behind them pass as they are  */
    int64_t     pause_ms;
    size_t      piece;  /* at most so many bytes at a time; 0: as they come               */
    bool        is_tls; /* to the server's port for TLS; what passes is encrypted           */
} proxy_plan;

typedef struct proxy proxy;

/* Free with proxy_stop. */
proxy *proxy_start(const server *s, const proxy_plan *plan);
void   proxy_stop(proxy *p);

const char *proxy_url(proxy *p); /* redis://127.0.0.1:PORT, rediss://127.0.0.1:PORT?ca=... */

/* Breaks the connection that there is now. */
void proxy_cut(proxy *p);

/* In so many ms, and for so long, nothing passes that way, or no connection is taken; then all that
 * was held back goes on.  The latest order counts. */
void proxy_hold_back(proxy *p, bool to_client, int64_t in_ms, int64_t for_ms);

/* How many bytes have passed, of the connection with the most. */
int64_t proxy_bytes_to_client(proxy *p);
int64_t proxy_bytes_to_server(proxy *p);

#endif
