/*
 * gate.h -- the only way to a host: whoever talks with a server, be it a client, a replica or a
 * sentinel, knows it by the port of its gate.  A gate that is shut lets nothing pass, refuses
 * nothing and tells nobody, as when a cable is pulled; when it is opened all goes on.
 */
#ifndef SOAK_GATE_H
#define SOAK_GATE_H

#include "tests/lib/server.h"

typedef struct gate gate;

/* To a port of the loopback interface that is named when the server runs.  Free with gate_free. */
gate *gate_new(void);
void  gate_free(gate *g); /* also NULL */

void gate_lead_to(gate *g, int port);
int  gate_port(const gate *g);

void gate_shut(gate *g, bool is_shut);

/* Ends every connection through it. */
void gate_cut(gate *g);

#endif
