/*
 * network.h -- a simulated TCP/IP network: hosts, services that listen, connections, and what goes
 * wrong on the way.
 *
 * Bytes of a connection arrive in order and once, but late, in other pieces than they were sent,
 * and perhaps never: TCP without the retransmissions.  While the way from one host to another is
 * cut, they are kept, and arrive after it has healed.
 *
 *      client process --socket--> [ bytes under way ] --> service (a model server)
 *                     <---------- [ bytes under way ] <--
 *
 * How a connection ends, as the client sees it:
 *
 *      the service closes it, or its process is killed     FIN, or RST if bytes were not read
 *      its host loses power                                nothing, until a time limit of TCP
 *      sim_connection_reset                                RST at any byte
 *      the way is cut for longer than the client waits     ETIMEDOUT
 *
 * A service runs in the world, not in a process: its functions are called when bytes arrive.
 */
#pragma once

#include "sim/kernel/process.h"

#include <netinet/in.h>

enum { SIM_HOSTS_MAX = 32 };

typedef unsigned              sim_host; /* below SIM_HOSTS_MAX; its address is 10.0.0.(host + 1) */
typedef struct sim_connection sim_connection;

/* The arg of a connection is what `accepted` returns; NULL: the service refuses it (RST). */
typedef struct sim_service {
    void *(*accepted)(void *service, sim_connection *connection, sim_host from);
    void (*received)(void *arg, const char *bytes, size_t size);
    void (*ended)(void *arg); /* by the client or the network; the connection is gone afterwards */
} sim_service;

/* How the ways between hosts behave. */
typedef struct sim_network_settings {
    uint64_t seed;
    int64_t  delay_min_ns;
    int64_t  delay_max_ns;
    uint32_t slow_in; /* one segment of so many needs up to slow_ns more; 0: none */
    int64_t  slow_ns;
    uint32_t split_in;  /* one write of so many arrives in two pieces; 0: none */
    uint32_t short_in;  /* one read or write of so many handles only a part; 0: none */
    uint32_t send_room; /* bytes under way in one direction */
} sim_network_settings;

void sim_network_begin(const sim_network_settings *settings);
void sim_network_end(void);
void sim_network_change(const sim_network_settings *settings); /* for what is sent from now on */

/* ---- the side of the services ---------------------------------------------------------------- */

/* The service sends, or closes the connection after what it has sent. */
void sim_connection_send(sim_connection *connection, const char *bytes, size_t size);
void sim_connection_close(sim_connection *connection);

/* The process of the service has died: its connections end, and nothing listens.  `silent`: the
 * host has lost power.  `ended` is not called. */
void sim_host_kill(sim_host host, bool silent);

/* The host answers again, with RST to what belongs to old connections. */
void sim_host_start(sim_host host);

/* The services of this host do not read (their processes are stopped). */
void sim_host_pause(sim_host host, bool pauses);

/* ---- faults ---------------------------------------------------------------------------------- */

void sim_way_cut(sim_host from, sim_host to, bool is_cut);
bool sim_way_is_open(sim_host from, sim_host to);

/* Open connections; the nth one, in the order in which they were opened. */
unsigned        sim_connections_count(void);
sim_connection *sim_connection_at(unsigned nth);
sim_host        sim_connection_client(const sim_connection *connection);

/* RST for both ends. Of what is under way, `keep` bytes still arrive, in each direction. */
void sim_connection_reset(sim_connection *connection, size_t keep);

/* The address of a host, in network order. */
static inline in_addr_t sim_host_address(sim_host host)
{
    return htonl((in_addr_t)(10u << 24 | (host + 1)));
}

/* ---- the side of a client -------------------------------------------------------------------- */

/* What a connection tells its client.  After `failed` (errno) it is gone. */
typedef struct sim_client {
    void (*connected)(void *arg);
    void (*changed)(void *arg); /* something to read, the end, or room to write */
    void (*failed)(void *arg, int error);
} sim_client;

/* silence_ns: how long unacknowledged bytes, or a connect without an answer, are tolerated; an idle
 * connection twice as long. */
sim_connection *sim_connection_open(sim_host from, in_addr_t address, uint16_t port,
                                    int64_t silence_ns, const sim_client *client, void *arg);
/* The most connects of one host that were refused within a second, so far. */
unsigned sim_connections_most_refused(void);

/* The client closes it.  Bytes that it did not read make that a reset. */
void sim_connection_leave(sim_connection *connection);
void sim_connection_shut(sim_connection *connection); /* sends FIN, and reads on */

/* Returns how many bytes were taken, perhaps fewer; 0: there is no room. */
size_t sim_connection_write(sim_connection *connection, const char *bytes, size_t size);
size_t sim_connection_room(const sim_connection *connection);

/* Since when bytes lie there unread; SIM_NEVER: none do. */
int64_t sim_connection_unread_since(const sim_connection *connection);
/* Reads some of them. */
size_t sim_connection_read(sim_connection *connection, char *bytes, size_t size, bool peeks);

/* Everything was read, and no more will come. */
bool sim_connection_at_end(const sim_connection *connection);

/* The host on which a process runs. */
void     sim_process_host(const sim_process *process, sim_host host);
sim_host sim_host_of(const sim_process *process);
