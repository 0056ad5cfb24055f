/*
 * net.h -- hosts of the test's own, each with an address, and a way from each to each other that
 * the test can cut.
 *
 * A host is a network namespace, and all of them are on one bridge in another.  A way is cut by
 * sending what goes along it to a card that nobody has: nothing is refused, nothing is closed, and
 * neither end is told, as when a switch between two rooms fails.  All other ways stay as they are.
 *
 * It needs a kernel that lets this process make namespaces: root, or a user who may be root in a
 * namespace of its own.  All of it is gone with the process.
 */
#ifndef TEST_NET_H
#define TEST_NET_H

#include <stdbool.h>

enum { NET_HOSTS_MAX = 9 };

typedef struct net net;

/* Call it before there are threads.  NULL: this machine does not allow it; says why on the test's
 * output.  Free with net_free. */
net *net_make(unsigned hosts_count);
void net_free(net *n); /* also NULL; when nothing runs on its hosts any more */

/* "10.117.0.1" */
const char *net_address(const net *n, unsigned host);

/* From now on what this thread opens, and the threads and processes that it begins, is on this
 * host; then, no more. */
void net_enter(const net *n, unsigned host);
void net_leave(const net *n);

/* What either sends to the other is lost. */
void net_cut(const net *n, unsigned one, unsigned other);

/* Everything arrives again. */
void net_mend_all(const net *n);

#endif
