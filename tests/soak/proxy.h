/*
 * proxy.h -- a proxy between clients and a real server that breaks or holds back the connection.
 *
 * It listens on a free port of the loopback interface, in a thread, one connection at a time.
 */
#ifndef TEST_PROXY_H
#define TEST_PROXY_H

#include "tests/lib/server.h"

#include <stdint.h>

typedef struct proxy proxy;

/* Free with proxy_stop. */
proxy *proxy_start(const server *s);
void   proxy_stop(proxy *p); /* also NULL */

const char *proxy_url(proxy *p); /* redis://127.0.0.1:PORT */

/* Breaks the current connection. */
void proxy_cut(proxy *p);

/* After in_ms, and for for_ms, forwards nothing in that direction, or accepts no connection; then
 * forwards all that was held back.  A later call replaces this. */
void proxy_hold_back(proxy *p, bool to_client, int64_t in_ms, int64_t for_ms);

#endif
