/*
 * sentinels.h -- a service of the test's own: a primary, its replicas, and three sentinels that
 * watch it under the name of "m".
 */
#ifndef TEST_SENTINELS_H
#define TEST_SENTINELS_H

#include "tests/lib/net.h"
#include "tests/lib/server.h"

enum { SERVICE_SENTINELS = 3, SERVICE_NODES_MAX = 3 };

typedef struct service {
    unsigned   nodes_count;
    server    *nodes[SERVICE_NODES_MAX]; /* the first one is the primary at first                 */
    server    *sentinels[SERVICE_SENTINELS];
    const net *hosts;    /* NULL: all of it is on the loopback interface                       */
    char       url[256]; /* redis+sentinel://..., all three, and the service                     */
} service;

/* Starts it, and waits until the sentinels know of each other and of every replica.  Free it with
 * service_stop. */
service *service_start(unsigned nodes_count, const char *options);
void     service_stop(service *s); /* also NULL */

/* The same, each on a host of its own: the nodes on the first ones, then the sentinels. */
service *service_start_apart(const net *hosts, unsigned nodes_count, const char *options);

/* Which of the nodes says of itself that it is a primary, and two sentinels say so too; waits for
 * that, a minute at most, for as long as it is `but`. */
server *service_primary(service *s, const server *but);

/* A switch by hand, away from this one. */
server *service_switch(service *s, const server *from);

/* Waits until every other node that runs follows it. */
void service_settles(service *s, server *primary);

#endif
