/*
 * sentinels.h -- a service for a test: a primary, its replicas, and three sentinels that monitor it
 * under the name "m".
 */
#ifndef TEST_SENTINELS_H
#define TEST_SENTINELS_H

#include "tests/lib/net.h"
#include "tests/lib/server.h"

#include <bowline/bowline.h>

enum { SERVICE_SENTINELS = 3, SERVICE_NODES_MAX = 3 };

typedef struct service {
    unsigned   nodes_count;
    server    *nodes[SERVICE_NODES_MAX]; /* the first one starts as the primary */
    server    *sentinels[SERVICE_SENTINELS];
    const net *hosts;    /* NULL: all are on the loopback interface */
    char       url[256]; /* redis+sentinel://..., all three, and the service */
} service;

/* Starts it, and waits until the sentinels know each other and every replica.  Free it with
 * service_stop. */
service *service_start(unsigned nodes_count, const char *options);
void     service_stop(service *s); /* also NULL */

/* The same with a host for each: the nodes on the first ones, then the sentinels. */
service *service_start_apart(const net *hosts, unsigned nodes_count, const char *options);

/* From now on, a node that is silent for a second is down.  Before, it takes ten seconds: on a busy
 * machine, a node that runs may get no CPU for a second. */
void service_allow_failover(service *s);

/* The node that reports to be the primary, and that two sentinels name; waits for that, a minute at
 * most, while it is `but`.  Allows a failover meanwhile, and no longer. */
server *service_primary(service *s, const server *but);

/* Fails over to another node than this one. */
server *service_switch(service *s, const server *from);

/* Waits until every other running node replicates it. */
void service_await_replicas(service *s, server *primary);

/* Extends until it is OK.  A sentinel may still name the old primary: then the extension is
 * UNREACHABLE.  The old primary may also read it, and not answer before its failover: then it is
 * UNKNOWN. */
void must_extend_in_failover(bowline_hold *hold);

#endif
