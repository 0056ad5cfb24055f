/*
 * listeners.h -- which service listens at which address.
 */
#pragma once

#include "sim/kernel/network.h"

typedef struct sim_listener {
    sim_host           host;
    uint16_t           port;
    const sim_service *service; /* NULL: none */
    void              *arg;
} sim_listener;

/* Nothing listens. */
void sim_listeners_begin(void);

/* Nothing may listen there yet. */
void sim_listen(sim_host host, uint16_t port, const sim_service *service, void *arg);
void sim_unlisten_all(sim_host host);

/* NULL: connections are refused. */
const sim_listener *sim_listener_find(sim_host host, uint16_t port);
