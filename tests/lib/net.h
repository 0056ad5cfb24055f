/*
 * net.h -- hosts for a test, each with an address, and links between them that the test can cut.
 *
 * A host is a network namespace, and all of them are on one bridge in another.  A link is cut by
 * sending its packets to an unused interface: nothing is refused, nothing is closed, and neither
 * end is notified, as when a switch fails.  All other links stay.
 *
 * It needs a kernel that lets this process create namespaces: root, or a user who may be root in a
 * namespace.  Everything disappears with the process.
 */
#ifndef TEST_NET_H
#define TEST_NET_H

#include <stdbool.h>

enum { NET_HOSTS_MAX = 9 };

typedef struct net net;

/* Call it before there are threads.  NULL: this machine does not allow it; the reason is in the
 * test's output.  Free with net_free. */
net *net_make(unsigned hosts_count);
void net_free(net *n); /* also NULL; when no process runs on its hosts any more */

/* "10.117.0.1" */
const char *net_address(const net *n, unsigned host);

/* Enter: all that this thread opens, and the threads and processes that it starts, are on this
 * host; leave: no longer. */
void net_enter(const net *n, unsigned host);
void net_leave(const net *n);

/* Cut: packets between the two are lost; mend: they arrive again. */
void net_cut(const net *n, unsigned one, unsigned other);

/* Everything arrives again. */
void net_mend_all(const net *n);

#endif
