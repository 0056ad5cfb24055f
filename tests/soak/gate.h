/*
 * gate.h -- a proxy with a switch in front of a server: clients, replicas and sentinels know the
 * server only by the port of its gate. A gate that is shut forwards nothing, refuses nothing and
 * closes nothing, like a cut cable; after it is opened, everything continues.
 */
#ifndef SOAK_GATE_H
#define SOAK_GATE_H

#include "tests/lib/server.h"

typedef struct gate gate;

/* Forwards to a port of the loopback interface that is set when the server runs. Free with
 * gate_free. */
gate *gate_new(void);
void  gate_free(gate *g); /* also NULL */

void gate_set_target(gate *g, int port);
int  gate_port(const gate *g);

void gate_shut(gate *g, bool is_shut);

/* Closes every connection through it. */
void gate_cut(gate *g);

#endif
